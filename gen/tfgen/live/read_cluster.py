"""Reads of a whole cluster what decides where pods go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tfgen.kubernetes.object import Object
from tfgen.live.api import Api, ApiError
from tfgen.scheduling.cluster import KINDS

_NEEDED: Final = ("Node", "Pod")


def read_cluster(api: Api, tell: Callable[[str], None]) -> list[Object]:
    """All nodes, all pods, and what pods name.

    Args:
        api: the cluster.
        tell: is told, in a line, of what the account may not list.

    Raises:
        ApiError: the account may not list the nodes or the pods of all namespaces.
        TfgenError: there is no answer in time.
    """
    objects: list[Object] = []
    for kind, version in KINDS.items():
        resource = api.resource(version, kind)
        if resource is None:
            continue
        try:
            items = api.objects(resource.replaced(is_namespaced=False), "")
        except ApiError as error:
            if kind in _NEEDED or not error.is_forbidden:
                raise
            tell(f"{resource.full_name}: left out, since the account may not list them")
            continue
        objects += ({**item, "apiVersion": version, "kind": kind} for item in items)
    return objects
