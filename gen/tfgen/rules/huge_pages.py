"""Huge pages, of which Kubernetes gives out whole ones, and none to a container without cpu or memory.

https://kubernetes.io/docs/tasks/manage-hugepages/scheduling-hugepages/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.data_path import Path
from tfgen.kubernetes import quantity
from tfgen.rules import limits
from tfgen.rules.finding import Finding
from tfgen.rules.limits import ContainerAmounts
from tfgen.rules.rule import Rule
from tfgen.rules.view import View

_PREFIX: Final = "hugepages-"


def _check(view: View) -> Iterator[Finding]:
    for amounts in limits.list_amounts(view):
        for name in {**amounts.requests, **amounts.limits}:
            if name.startswith(_PREFIX):
                yield from _of_size(view, amounts, name)


def _of_size(view: View, amounts: ContainerAmounts, name: str) -> Iterator[Finding]:
    path, limit = _locate(view, amounts, name), amounts.limits.get(name)
    if limit is None or quantity.parse(amounts.requests.get(name, limit)) != quantity.parse(limit):
        yield Finding(path, f"{amounts.who} requests {name} without the same limit; say the limit alone")
        return
    if {"cpu", "memory"}.isdisjoint((*amounts.requests, *amounts.limits)):
        message = f"{amounts.who} asks for {name} alone, which Kubernetes refuses; say its cpu or memory too"
        yield Finding(path, message)
    page = quantity.parse(name.removeprefix(_PREFIX))
    if quantity.parse(limit) % page:
        message = f"{amounts.who} asks for {limit} of {name}, which is no whole number of such pages"
        yield Finding(path, message)


def _locate(view: View, amounts: ContainerAmounts, name: str) -> Path:
    paths = [limits.locate_amount(view, amounts.path, map_, name) for map_ in ("limits", "requests")]
    return next((path for path in paths if view.has(path)), paths[0])


RULES: Final = (Rule("huge-pages", "error", "A request for huge pages has a form that Kubernetes refuses.", _check),)
