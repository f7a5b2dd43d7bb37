"""The resources of the main container.

``cpu`` and ``memory`` set both the request and the limit, because a throttled or evicted task stops the whole job.
``requests`` and ``limits``, by resource name, override ``cpu`` and ``memory``. Only the limit of a GPU is set, because
Kubernetes uses the limit as the request (https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/).
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

# The resource names of device plugins for a GPU, a part of a GPU or a share of GPU memory: nvidia.com/gpu,
# nvidia.com/mig-1g.5gb, amd.com/gpu, gpu.intel.com/i915, aliyun.com/gpu-mem, volcano.sh/vgpu-number,
# tencent.com/vcuda-core.
IS_GPU: Final = "gpu|nvidia|vcuda"


_GPU_COUNT: Final = role_value("resources.gpu.count")


def has_gpus() -> Expression:
    """Return a test that is true if the tasks of a role request a GPU or a share of a GPU.

    The test uses the maps `LIMITS` and `DEVICES`. The caller must define both names around the test: Let(LIMITS.name,
    limits(), Let(DEVICES.name, devices(), ...)).
    """
    return AnyOf((_GPU_COUNT, DEVICES))


def devices() -> Filtered:
    """Return the GPU entries of the map `LIMITS`: the limits of a role for GPUs and shares of GPUs.

    The caller must define the name `LIMITS` around the result: Let(LIMITS.name, limits(), ...).
    """
    name, amount = Bound("name"), Text((Bound("value"),))
    return Filtered(LIMITS, AllOf((Matches(name, IS_GPU), Not(Equal(amount, "0")))))


def requests() -> Merged:
    """Return the map of a role's resource requests. The caller gives the map the name `REQUESTS`, in a `Let`."""
    return Merged((MapOf(_cpu_and_memory()), role_value("resources.requests")))


def limits() -> Merged:
    """Return the map of a role's resource limits. The caller gives the map the name `LIMITS`, in a `Let`."""
    gpu: dict[Name, Node] = {role_value("resources.gpu.resource"): _GPU_COUNT}
    share = When(_GPU_COUNT, role_value("resources.gpu.share"), MapOf({}))
    return Merged((MapOf({**_cpu_and_memory(), **gpu}), share, role_value("resources.limits")))


def resources() -> Node:
    """Return the field `resources` of a container. The field has the maps `REQUESTS` and `LIMITS` as its values.

    The caller must define both names around the result, as in Let(LIMITS.name, limits(), ...).
    """
    return {"requests": REQUESTS, "limits": LIMITS}


def helper_resources(path: str) -> Node:
    """Return the `resources` of a helper container of tfgen: requests and limits of CPU and memory.

    If a quota limits one of these amounts, Kubernetes rejects each pod with a container that does not set the amount:
    https://kubernetes.io/docs/concepts/policy/resource-quotas/. By default, the requests equal the limits. A lower
    request would change the quality of service of the pod from Guaranteed to Burstable, and Kubernetes would evict the
    pod sooner.

    Args:
        path: the values path above `resources`.
    """
    return {
        map_: {name: value(f"{path}.resources.{map_}.{name}") for name in ("cpu", "memory")}
        for map_ in ("requests", "limits")
    }


def _cpu_and_memory() -> dict[Name, Node]:
    return {"cpu": role_value("resources.cpu"), "memory": role_value("resources.memory")}
