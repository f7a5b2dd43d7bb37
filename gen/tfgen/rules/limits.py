"""Requests above their limits, which Kubernetes refuses."""

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
    ("a helper container", ("helpers",)),
    ("the container that fetches the code", ("code", "git")),
)


class ContainerAmounts(NamedTuple):
    """Resources of a container.

    Attributes:
        owner: the name of the container in messages, for example ``role worker``.
        path: the path of the resources.
        requests: the requested amount of each resource, as in ``{"cpu": "2", "memory": "4Gi"}``.
        limits: the limit of each resource, as in ``{"nvidia.com/gpu": 1}``.
    """

    owner: str
    path: Path
    requests: Amounts
    limits: Amounts


def list_amounts(view: View) -> Iterator[ContainerAmounts]:
    """Yield the resources of each role, of the helper containers, and of TensorBoard if TensorBoard is enabled."""
    for role in view.roles:
        bound = view.template_variables(role.name)
        path: Path = ("roles", role.name, "resources")
        yield ContainerAmounts(f"role {role.name}", path, bound[REQUESTS.name], bound[LIMITS.name])
    for owner, path in _HELPERS:
        resources = data_path.at(view.values, (*path, "resources"))
        if resources:
            yield ContainerAmounts(owner, (*path, "resources"), resources["requests"], resources["limits"])
    if view.has_tensorboard:
        requests, limits = view.evaluate(tensorboard.requests()), view.evaluate(tensorboard.limits())
        yield ContainerAmounts("TensorBoard", ("tensorboard", "resources"), requests, limits)


def _check(view: View) -> Iterator[Finding]:
    for owner, path, requests, limits in list_amounts(view):
        for name in requests:
            if name in limits and quantity.parse(requests[name]) > quantity.parse(limits[name]):
                paths = [locate_amount(view, path, amounts_key, name) for amounts_key in ("requests", "limits")]
                message = (
                    f"{owner} requests {requests[name]} of {name}, but its limit is {limits[name]}; raise the limit, "
                    "or lower the request"
                )
                yield Finding(view.reported_path(*paths), message)


def locate_amount(view: View, path: Path, amounts_key: str, name: str) -> Path:
    """Return the path of the field that sets a request or a limit, such as (*path, "requests", "cpu").

    The field may also be the short form `cpu`, or `gpu.count`.

    Args:
        view: the variant.
        path: the path of a key `resources`.
        amounts_key: "requests" or "limits".
        name: the name of the resource, such as "cpu".
    """
    resources: Any = view.values
    for key in path:
        resources = resources[key]
    if name in resources[amounts_key]:
        return (*path, amounts_key, name)
    if name in resources:
        return (*path, name)
    return (*path, "gpu", "count")


RULES: Final = (
    Rule(
        "limits-below-requests",
        "error",
        "A role requests more of a resource than the limit of the role allows.",
        _check,
    ),
)
