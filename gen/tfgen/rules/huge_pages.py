"""Huge pages, of which Kubernetes gives out whole ones, and none to a container without cpu or memory.

https://kubernetes.io/docs/tasks/manage-hugepages/scheduling-hugepages/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.data_path import Path
from tfgen.kubernetes import quantity
from tfgen.rules import limits
from tfgen.rules.limits import Asked
from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View

_PREFIX: Final = "hugepages-"


def _check(view: View) -> Iterator[Finding]:
    for asked in limits.asked(view):
        for name in {**asked.requests, **asked.limits}:
            if name.startswith(_PREFIX):
                yield from _of_size(view, asked, name)


def _of_size(view: View, asked: Asked, name: str) -> Iterator[Finding]:
    path, limit = _said(view, asked, name), asked.limits.get(name)
    if limit is None or quantity.parse(asked.requests.get(name, limit)) != quantity.parse(limit):
        yield Finding(path, f"{asked.who} requests {name} without the same limit; say the limit alone")
        return
    if {"cpu", "memory"}.isdisjoint((*asked.requests, *asked.limits)):
        message = f"{asked.who} asks for {name} alone, which Kubernetes refuses; say its cpu or memory too"
        yield Finding(path, message)
    page = quantity.parse(name.removeprefix(_PREFIX))
    if quantity.parse(limit) % page:
        message = f"{asked.who} asks for {limit} of {name}, which is no whole number of such pages"
        yield Finding(path, message)


def _said(view: View, asked: Asked, name: str) -> Path:
    paths = [limits.path(view, asked.said, map_, name) for map_ in ("limits", "requests")]
    return next((path for path in paths if view.has(path)), paths[0])


RULES: Final = (Rule("huge-pages", "error", "Huge pages are asked for as Kubernetes gives none out.", _check),)
