-- A JobSet: https://jobset.sigs.k8s.io/docs/overview/
local hs = {status = "Progressing", message = "is running"}
local says = {Completed = "Healthy", Failed = "Degraded", Suspended = "Suspended"}
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, condition in ipairs(obj.status.conditions) do
    if condition.status == "True" and says[condition.type] ~= nil then
      hs.status = says[condition.type]
      hs.message = condition.message or condition.type
    end
  end
end
return hs
