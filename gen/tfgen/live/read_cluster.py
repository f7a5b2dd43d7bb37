"""Reads the objects that the scheduler needs to choose a node for a pod, such as nodes, pods and priority classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tfgen.kubernetes.object import Object
from tfgen.live.api import Api, ApiError
from tfgen.scheduling.cluster import KINDS

_NEEDED: Final = ("Node", "Pod")


def read_cluster(api: Api, tell: Callable[[str], None]) -> list[Object]:
    """Return all nodes, all pods, and the objects that pods refer to, such as priority classes and claims.

    Args:
        api: client of the cluster.
        tell: receives a message for each kind that the account may not list.

    Raises:
        ApiError: the account may not list the nodes or the pods of all namespaces.
        TfgenError: the server does not answer in time.
    """
    objects: list[Object] = []
    for kind, version in KINDS.items():
        resource = api.resource(version, kind)
        if resource is None:
            continue
        try:
            items = api.objects(resource.replaced(is_namespaced=False), "")
        except ApiError as error:
            if kind in _NEEDED or not error.is_unreadable:
                raise
            reason = "the account may not list the objects" if error.is_forbidden else f"the server answers {error}"
            tell(f"{resource.full_name}: tfgen ignores these objects, because {reason}")
            continue
        objects += ({**item, "apiVersion": version, "kind": kind} for item in items)
    return objects
