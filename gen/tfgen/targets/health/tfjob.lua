-- A TFJob of the training operator: https://www.kubeflow.org/docs/components/trainer/legacy-v1/
local hs = {status = "Progressing", message = "waits for the operator"}
local says = {Succeeded = "Healthy", Failed = "Degraded", Suspended = "Suspended", Running = "Progressing"}
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, condition in ipairs(obj.status.conditions) do
    if condition.status == "True" and says[condition.type] ~= nil then
      hs.status = says[condition.type]
      hs.message = condition.message or condition.type
    end
  end
end
return hs
