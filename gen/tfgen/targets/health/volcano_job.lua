-- A Job of Volcano: https://volcano.sh/en/docs/vcjob/
local hs = {status = "Progressing", message = "waits for Volcano"}
local says = {Completed = "Healthy", Failed = "Degraded", Terminated = "Degraded", Aborted = "Suspended"}
if obj.status ~= nil and obj.status.state ~= nil and obj.status.state.phase ~= nil then
  local state = obj.status.state
  hs.status = says[state.phase] or "Progressing"
  hs.message = state.message or state.phase
end
return hs
