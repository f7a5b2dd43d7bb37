"""The main container's resources.

``cpu`` and ``memory`` are both request and limit, because a training pod that is squeezed or evicted takes the whole
job with it; ``requests`` and ``limits``, by resource name, win over them. Of a GPU only the limit is said: Kubernetes
takes it for the request too (https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/).
"""

from __future__ import annotations

from typing import Final

from tfgen.holes import Bound, Hole, Merged, Node
from tfgen.job import RoleName
from tfgen.objects.values import own

REQUESTS: Final = Bound("requests", "map")
LIMITS: Final = Bound("limits", "map")
CPU_LIMIT: Final = Bound("limits", "quantity", "cpu")


def gpus(role: RoleName) -> Hole:
    """How many GPUs each task of the role has."""
    return own(role, "resources.gpu.count")


def requests(role: RoleName) -> Merged:
    """What `REQUESTS` is bound to."""
    return Merged((_short(role), own(role, "resources.requests")))


def limits(role: RoleName) -> Merged:
    """What `LIMITS` is bound to."""
    gpu = {own(role, "resources.gpu.resource"): gpus(role)}
    return Merged(({**_short(role), **gpu}, own(role, "resources.limits")))


def resources() -> Node:
    """The container's field, where both maps are bound."""
    return {"requests": REQUESTS, "limits": LIMITS}


def _short(role: RoleName) -> dict[str | Hole, Node]:
    return {"cpu": own(role, "resources.cpu"), "memory": own(role, "resources.memory")}
