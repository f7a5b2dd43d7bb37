"""Huge page requests that Kubernetes refuses: partial pages, a missing limit, or missing amounts of cpu and memory.

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
                yield from _check_size(view, amounts, name)


def _check_size(view: View, amounts: ContainerAmounts, name: str) -> Iterator[Finding]:
    path, limit = _locate(view, amounts, name), amounts.limits.get(name)
    if limit is None or quantity.parse(amounts.requests.get(name, limit)) != quantity.parse(limit):
        yield Finding(path, f"{amounts.owner} requests {name} without an equal limit; set only the limit")
        return
    if {"cpu", "memory"}.isdisjoint((*amounts.requests, *amounts.limits)):
        message = f"{amounts.owner} requests {name} without cpu or memory, which Kubernetes refuses; set cpu or memory"
        yield Finding(path, message)
    page = quantity.parse(name.removeprefix(_PREFIX))
    if quantity.parse(limit) % page:
        message = f"{amounts.owner} requests {limit} of {name}; set a multiple of the page size"
        yield Finding(path, message)


def _locate(view: View, amounts: ContainerAmounts, name: str) -> Path:
    paths = [limits.locate_amount(view, amounts.path, amounts_key, name) for amounts_key in ("limits", "requests")]
    return next((path for path in paths if view.is_set(path)), paths[0])


RULES: Final = (Rule("huge-pages", "error", "Kubernetes refuses a request for huge pages.", _check),)
