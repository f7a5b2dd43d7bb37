"""The main container's resources.

``cpu`` and ``memory`` are both request and limit, because a training pod that is squeezed or evicted takes the whole
job with it; ``requests`` and ``limits``, by resource name, win over them. Of a GPU only the limit is said: Kubernetes
takes it for the request too (https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/).
"""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import (
    AllOf,
    AnyOf,
    Bound,
    Equal,
    Expression,
    Filtered,
    MapOf,
    Matches,
    Merged,
    Name,
    Node,
    Not,
    Parameter,
    Text,
    When,
)
from tfgen.graph.objects.values import role_value, value

REQUESTS: Final = Bound("requests", "map")
LIMITS: Final = Bound("limits", "map")
DEVICES: Final = Bound("devices", "map")
GPUS: Final = Parameter("gpus", "boolean")
CPU_LIMIT: Final = Parameter("cpuLimit", "quantity")

# What device plugins call a GPU, a part of one, or a share of its memory: nvidia.com/gpu, nvidia.com/mig-1g.5gb,
# amd.com/gpu, gpu.intel.com/i915, aliyun.com/gpu-mem, volcano.sh/vgpu-number, tencent.com/vcuda-core.
IS_GPU: Final = "gpu|nvidia|vcuda"


_GPU_COUNT: Final = role_value("resources.gpu.count")


def has_gpus() -> Expression:
    """Whether each task of a role has a GPU, or a part of one, by whatever word it is asked for; `GPUS` in a part."""
    return AnyOf((_GPU_COUNT, DEVICES))


def devices() -> Filtered:
    """What `DEVICES` is bound to, where the limits are bound: those that are GPUs."""
    name, amount = Bound("name"), Text((Bound("value"),))
    return Filtered(LIMITS, AllOf((Matches(name, IS_GPU), Not(Equal(amount, "0")))))


def requests() -> Merged:
    """What `REQUESTS` is bound to."""
    return Merged((MapOf(_short()), role_value("resources.requests")))


def limits() -> Merged:
    """What `LIMITS` is bound to."""
    gpu: dict[Name, Node] = {role_value("resources.gpu.resource"): _GPU_COUNT}
    share = When(_GPU_COUNT, role_value("resources.gpu.share"), MapOf({}))
    return Merged((MapOf({**_short(), **gpu}), share, role_value("resources.limits")))


def resources() -> Node:
    """The container's field, where both maps are bound."""
    return {"requests": REQUESTS, "limits": LIMITS}


def helper_resources(path: str) -> Node:
    """The resources of a container of tfgen's own, by the values path above them: all four amounts.

    A quota on one of them refuses each pod with a container that does not say it:
    https://kubernetes.io/docs/concepts/policy/resource-quotas/. As much is asked for as may be used, unless somebody
    says otherwise: or a pod of the class Guaranteed would be Burstable, and be evicted sooner.
    """
    return {
        map_: {name: value(f"{path}.resources.{map_}.{name}") for name in ("cpu", "memory")}
        for map_ in ("requests", "limits")
    }


def _short() -> dict[Name, Node]:
    return {"cpu": role_value("resources.cpu"), "memory": role_value("resources.memory")}
