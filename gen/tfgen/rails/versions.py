"""The guard rails on disk, compared with the guard rails of a commit.

    tfgen.yaml:3:22: warning: limits.job.gpus: found 32, but tfgen.yaml:3:22 of origin/main allows 16 [...]

The tfgen.yaml of the commit sets the severity of such a problem. So nobody can loosen a guard rail and switch off the
problem in the same change. A tfgen.yaml with errors loosens only the guard rails that tfgen cannot read, in the base of
comparison and in the change.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path as DataPath
from tfgen.disk_file import whole_path
from tfgen.errors import Place, Problem
from tfgen.git.tree import DISK, CommitTree, Tree
from tfgen.job import sources
from tfgen.job.sources import FILE, Source, defaults_in, parse_source
from tfgen.rails.allowed import ALLOWED_RAILS
from tfgen.rails.enforce import check_enforced_paths, find_unenforced
from tfgen.rails.limits import LIMITS
from tfgen.rails.rail import (
    LOOSENED,
    SEVERITY_RAILS,
    Layers,
    Loosening,
    find_looser_than_before,
    find_looser_than_parents,
    severities_of,
)
from tfgen.record import Record
from tfgen.schema import validate as schema
from tfgen.text.document import Document

RAILS: Final = (LIMITS, *SEVERITY_RAILS, *ALLOWED_RAILS)
"""The guard rails that consist of settings. The module `rails.enforce` compares the entries of `enforce`."""

GUARD_RAILS: Final = (
    "allowedEnvironments",
    "allowedKinds",
    "allowedNamespaces",
    "argocd",
    "enforce",
    "limits",
    "rules",
    "warningsAsErrors",
)
"""The keys of a tfgen.yaml that jobs below the layer cannot override."""

_KEYS_WITH_RAILS: Final = (*GUARD_RAILS, "unlistedFiles")


def find_loosenings(root: Path, files: Collection[str], against: str, tree: Tree = DISK) -> Iterator[Problem]:
    """Yield a problem for each guard rail that the changed files of a repository loosen.

    Args:
        root: the root of the repository.
        files: the files that differ from the commit, as paths relative to the root.
        against: the commit.
        tree: the version of the changed files.

    Raises:
        UsageError: the commit does not exist, or a tfgen.yaml cannot be read.
        TfgenError: git or the disk fails.
    """
    paths = [Path(os.path.relpath(root / name)) for name in files]
    trees: tuple[tuple[Tree, dict[str, ReadLayer]], ...] = ((CommitTree(against), {}), (tree, {}))
    concerned = {path.parent for path in paths if path.name == FILE}
    reported: set[Place] = set()
    for folder in sorted(concerned, key=lambda folder: (len(whole_path(folder).parts), folder)):
        rails, changed = (_read_rails(defaults_in(version, folder / FILE), read) for version, read in trees)
        layers = Layers(rails.defaults, changed.defaults, against)
        broken = [*_broken_file_loosening(layers, changed.problems)]
        known = reported | {loosening.rail for loosening in broken}
        new = [loosening for loosening in broken if loosening.rail not in reported]
        new += (loosening for loosening in find_loosened(layers) if loosening.rail not in known)
        reported |= {loosening.rail for loosening in new}
        problems = (Problem(*loosening.place, loosening.message, LOOSENED, "warning") for loosening in new)
        applied = map(severities_of(rails.defaults).applied, problems)
        yield from (problem for problem in applied if problem is not None)


def find_loosened(layers: Layers) -> Iterator[Loosening]:
    """Yield a loosening for each guard rail that is looser for the jobs of a folder in the change than in the base."""
    yield from find_unenforced(layers)
    yield from find_looser_than_before(RAILS, layers)


def check_rails(layer: Document) -> Iterator[Problem]:
    """Yield a problem for each setting of a tfgen.yaml that is looser than the setting of a parent folder."""
    yield from find_looser_than_parents(RAILS, layer)


class ReadLayer(Record):
    """The readable part of a tfgen.yaml, merged over the files of parent folders, and the problems of these files."""

    defaults: Document | None = None
    problems: tuple[Problem, ...] = ()


def _read_rails(source: Source | None, layers: dict[str, ReadLayer]) -> ReadLayer:
    """Read a tfgen.yaml, without the keys that have errors, and add the file to `layers`, the files already read.

    The problems do not include guard rails that are looser than in a parent folder.
    """
    if source is None:
        return ReadLayer()
    if source.file in layers:
        return layers[source.file]
    parent, parsed = _read_rails(source.defaults, layers), parse_source(source)
    problems = [*parsed.problems, *parent.problems]
    readable = parent.defaults
    for document in parsed.documents[:1]:
        faults = [*schema.check_defaults_alone(document)]
        merged = sources.merge_layer(document, parent.defaults)
        faults += schema.check_defaults(merged) if not faults else ()
        faults += check_enforced_paths(merged) if not faults else ()
        if isinstance(document.data, Mapping):
            is_whole = not faults and not parsed.problems
            corrected = document if is_whole else document.replaced(data=_without_faults(document))
            readable = sources.merge_layer(corrected, parent.defaults)
        problems += faults
    layers[source.file] = ReadLayer(readable, tuple(problems))
    return layers[source.file]


def _without_faults(document: Document) -> dict[str, Any]:
    """Return the data of a tfgen.yaml without each key and each list item that has errors."""
    head = {"apiVersion": "tfgen/v1alpha1", "kind": "Defaults"}

    def is_valid(path: DataPath, value: Any) -> bool:
        alone = document.replaced(data=data_path.with_value(head, path, value))
        return not any(schema.check_defaults_alone(alone)) and not any(check_enforced_paths(alone))

    def readable(path: DataPath, value: Any) -> Any:
        if is_valid(path, value):
            return value
        if isinstance(value, Mapping):
            parts = {key: readable((*path, key), child) for key, child in value.items()}
            return {key: part for key, part in parts.items() if part is not None}
        return [item for item in value if is_valid(path, [item])] if isinstance(value, list) else None

    parts = {key: readable((key,), value) for key, value in document.data.items() if key not in head}
    return {**head, **{key: part for key, part in parts.items() if part and is_valid((key,), part)}}


def _broken_file_loosening(layers: Layers, problems: Collection[Problem]) -> Iterator[Loosening]:
    """Yield a loosening if a tfgen.yaml has errors after the change, because tfgen cannot read its guard rails.

    Yield nothing if the tfgen.yaml files of the base contain no guard rail.
    """
    for problem in [*problems][:1]:
        for layer in () if layers.before is None else layers.before.layers():
            if rail := next((key for key in _KEYS_WITH_RAILS if key in layer.data), None):
                place = layer.place((rail,))
                message = (
                    f"the file has errors, so tfgen cannot read its guard rails, but {place} of {layers.revision} sets "
                    f"{rail}; correct the errors"
                )
                yield Loosening(place, problem.place, message)
                return
