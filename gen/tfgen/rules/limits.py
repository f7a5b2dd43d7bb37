"""Requests that are above their limits, which Kubernetes refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.objects import tensorboard
from tfgen.graph.objects.resources import LIMITS, REQUESTS
from tfgen.kubernetes import quantity
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View

Amounts: TypeAlias = Mapping[str, str | int]


_HELPERS: Final[tuple[tuple[str, Path], ...]] = (
    ("a container of tfgen's own", ("helpers",)),
    ("the container that fetches the code", ("code", "git")),
)


class ContainerAmounts(NamedTuple):
    """What a role's main container, or TensorBoard, asks for: whose it is, where it is said, and its two maps."""

    who: str
    path: Path
    requests: Amounts
    limits: Amounts


def list_amounts(view: View) -> Iterator[ContainerAmounts]:
    """The resources of each role, and those of TensorBoard where it runs."""
    for role in view.roles:
        bound = view.bound(role.name)
        path: Path = ("roles", role.name, "resources")
        yield ContainerAmounts(f"role {role.name}", path, bound[REQUESTS.name], bound[LIMITS.name])
    for who, path in _HELPERS:
        resources = data_path.at(view.values, (*path, "resources"))
        if resources:
            yield ContainerAmounts(who, (*path, "resources"), resources["requests"], resources["limits"])
    if view.has_tensorboard:
        requests, limits = view.evaluate(tensorboard.requests()), view.evaluate(tensorboard.limits())
        yield ContainerAmounts("TensorBoard", ("tensorboard", "resources"), requests, limits)


def _check(view: View) -> Iterator[Finding]:
    for who, path, requests, limits in list_amounts(view):
        for name in requests:
            if name in limits and quantity.parse(requests[name]) > quantity.parse(limits[name]):
                paths = [locate_amount(view, path, map_, name) for map_ in ("requests", "limits")]
                message = (
                    f"{who} requests {requests[name]} of {name}, "
                    f"more than its limit of {limits[name]}; raise the limit, or request less"
                )
                yield Finding(view.blamed(*paths), message)


def locate_amount(view: View, path: Path, map_: str, name: str) -> Path:
    """Where the amount is said: in the map itself, or by the short word for both."""
    resources: Any = view.values
    for key in path:
        resources = resources[key]
    if name in resources[map_]:
        return (*path, map_, name)
    if name in resources:
        return (*path, name)
    return (*path, "gpu", "count")


RULES: Final = (Rule("limits-below-requests", "error", "A role requests more than its limit allows.", _check),)
