"""Check for namespaces, environments, Argo CD projects and `unlistedFiles` that a change of tfgen.yaml newly allows.

base      allowedNamespaces: [ads-dev, ads]
change    allowedNamespaces: [ads-dev, ads, kube-system]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from tfgen import data_path
from tfgen.change.guard_rails.layers import Layers, Loosening
from tfgen.check.allowed import NAME_LISTS, PROJECT
from tfgen.data_path import Path
from tfgen.text.document import Document
from tfgen.words import either, path_name, shown

UNLISTED_FILES: Final = "unlistedFiles"
"""Key of the root tfgen.yaml that lists patterns for files which tfgen does not write."""

_ANY: Final = {"allowedNamespaces": "namespace", "allowedEnvironments": "environment"}


def find_unenforced_projects(layers: Layers) -> Iterator[Loosening]:
    """Yield a loosening for each Argo CD project that a change no longer enforces."""
    projects = {data_path.at(layer.data, PROJECT): layer for layer in layers.layers_after()}
    for layer in layers.layers_before():
        project = data_path.at(layer.data, PROJECT)
        if project is None or project in projects:
            continue
        rail = layer.place(PROJECT)
        new = next((name for name in projects if name is not None), None)
        change = "jobs may now name any Argo CD project" if new is None else f"{path_name(PROJECT)}: found {shown(new)}"
        yield layers.loosening(rail, PROJECT, f"{change}, but {layers.in_base(rail)} enforces {shown(project)}")


def find_added_names(layers: Layers) -> Iterator[Loosening]:
    """Yield a loosening for each namespace and each environment that the change allows and the base does not allow."""
    for layer in layers.layers_before():
        for key in NAME_LISTS:
            if key in layer.data:
                yield from _added_names(layers, layer, key)


def _added_names(layers: Layers, layer: Document, key: str) -> Iterator[Loosening]:
    rail, allowed = layer.place((key,)), layer.data[key]
    lists = [new.data[key] for new in layers.layers_after() if key in new.data]
    base = layers.in_base(rail)
    if not lists:
        message = f"jobs may now name any {_ANY[key]}, but {base} allows only {either(map(shown, allowed))}"
        yield layers.loosening(rail, (key,), message)
        return
    for name in lists[0]:
        if name not in allowed and all(name in names for names in lists):
            message = f"{key}: found {shown(name)}, which {base} does not list"
            yield layers.loosening(rail, (key, *_index(layers, rail.file, key, name)), message)


def _index(layers: Layers, file: str, key: str, name: str) -> Path:
    """Return the path of `name` in the list `key` of the tfgen.yaml `file`, such as (2,), or () for a missing name."""
    names = (new.data.get(key, ()) for new in layers.layers_after() if new.file == file)
    return tuple(listed.index(name) for listed in names if name in listed)


def find_added_files(layers: Layers) -> Iterator[Loosening]:
    """Yield a loosening for each new pattern under `unlistedFiles`, apart from patterns that the base covers."""
    before = {layer.file: layer.data.get(UNLISTED_FILES, ()) for layer in layers.layers_before()}
    for layer in layers.layers_after():
        for index, pattern in enumerate(layer.data.get(UNLISTED_FILES, ())):
            if not _covers(before.get(layer.file, ()), pattern):
                place = layer.place((UNLISTED_FILES, index))
                message = f"{UNLISTED_FILES}: found {shown(pattern)}, which {layers.revision} does not list"
                yield Loosening(place, place, message)


def _covers(patterns: Sequence[str], pattern: str) -> bool:
    """Return True if one of `patterns` matches every file that `pattern` matches.

    >>> _covers(["overlays/shared/"], "overlays/shared/*.yaml"), _covers(["charts/a*"], "charts/abc.yaml")
    (True, True)
    """
    is_path = not any(character in pattern for character in "*?[")
    return pattern in patterns or any(
        pattern.startswith(listed) if listed.endswith("/") else is_path and fnmatchcase(pattern, listed)
        for listed in patterns
    )
