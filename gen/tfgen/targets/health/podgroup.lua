-- A gang of pods. It is applied before its pods, and a wave of a sync waits for the health of the one before it: a
-- group that were not healthy until its pods run would never have any.
local hs = {status = "Healthy", message = "waits for its pods"}
if obj.status ~= nil and obj.status.phase ~= nil then
  hs.message = "is " .. obj.status.phase
end
return hs
