"""Search for the path in a job that sets a field of an object.

A field of an entry of `objects`, and a field that a patch sets, have the same path in the job. For a field with a hole,
the object graph names the keys of the job that set the value. Each other field comes from a part of the job in the
syntax of Kubernetes, such as a sidecar, whose path ends with the same steps as the path in the object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any, Final

from tfgen import data_path
from tfgen.check.literal_path import literal_path
from tfgen.check.object_checks.fault import Fault, FieldPath
from tfgen.data_path import Path
from tfgen.graph.built import BuiltJob, object_parts
from tfgen.graph.provenance import JOB_NAME, Part
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, literal_name
from tfgen.record import EMPTY, Record
from tfgen.text.document import Document, SourceTree

_QUOTED: Final = re.compile(r"'([^']+)'")
"""Pattern of a quoted key in a message of the schema validator."""

_MIN_COMMON_STEPS: Final = 2
"""Minimum number of equal last steps for which tfgen relates a path in an object to a path in the job."""


class Origins(Record):
    """The search for the paths in one job."""

    document: Document
    built: BuiltJob

    def find(self, environment: str | None, fault: Fault) -> Path | None:
        """Return the path in the job that sets the field of a fault, or the common parent of several such paths."""
        document = self.document
        if (name := literal_name(fault.item)) is not None:
            return literal_path(document, environment, ("objects", name, *fault.path))
        if (patched := _in_patch(document, environment, fault)) is not None:
            return patched
        # The validator reports an unknown field at its parent, and quotes the field.
        fields = [*((*fault.path, key) for key in _QUOTED.findall(fault.message)), fault.path]
        parts = self._parts(environment, fault.item)
        for field in fields:
            holes = _written_keys(document, environment, parts.get(field))
            matches = _longest_matches(document, environment, fault.item, field)
            nested = [path for path in matches if not holes or any(path[: len(hole)] == hole for hole in holes)]
            equal = [path for path in nested if _value(document.data, path) == _value(fault.item, field)]
            if equal and len({path[:-1] for path in equal}) == 1:
                return equal[-1]  # Of two equal items in a list, the last item is the mistake.
            if len(data_path.shared(equal or nested)) > 1 or holes:
                return _common(equal or nested or holes)
        ends = range(len(fault.path), 0, -1)
        parents = (_nearest_keys(document, environment, parts.get(fault.path[:end])) for end in ends)
        return next((_common(holes) for holes in parents if holes), None)

    def _parts(self, environment: str | None, item: Object) -> Mapping[Path, Part]:
        """Return the parts of an object by path; empty for an object that is not in the graph."""
        if environment not in self._parts_by_environment:
            self._parts_by_environment[environment] = object_parts(self.built, environment)
        objects = self.built.base if environment is None else self.built.environments[environment]
        name = next((name for name, candidate in objects.items() if candidate is item), "")
        return self._parts_by_environment[environment].get(name, EMPTY)

    @cached_property
    def _parts_by_environment(self) -> dict[str | None, Mapping[str, Mapping[Path, Part]]]:
        return {}


def _written_keys(document: Document, environment: str | None, part: Part | None) -> list[Path]:
    """Return the keys of the job that set a part of an object. Omit defaults, which the job does not write.

    For an environment, omit also the name of the job, because the line of the environment is more helpful.
    """
    bases: list[Path] = [("spec", "environments", environment)] if environment is not None else []
    bases.append(("spec",))
    written: list[Path] = []
    for path in part.sources if part else ():
        of_job = [path] if environment is None else []
        places = of_job if path == JOB_NAME else [(*base, *path[1:]) for base in bases]
        written += [place for place in places if data_path.has(document.data, place)][:1]
    longest = max(map(len, written), default=0)
    return sorted((path for path in written if len(path) == longest), key=str)


def _nearest_keys(document: Document, environment: str | None, part: Part | None) -> list[Path]:
    """Return the keys that set a part of an object. If the job writes no such key, return their nearest parents."""
    while part and part.sources:
        if keys_of_job := _written_keys(document, environment, part):
            return keys_of_job
        part = part.replaced(sources=frozenset(path[:-1] for path in part.sources if len(path) > _MIN_COMMON_STEPS))
    return []


def _common(paths: Sequence[Path]) -> Path:
    """Return the common parent of several paths, or the first path if the paths have no common key below `spec`."""
    common = data_path.shared(paths)
    return common if len(common) > 1 else paths[0]


def _longest_matches(document: Document, environment: str | None, item: Object, field: FieldPath) -> Sequence[Path]:
    """Return the paths in the job that end with the most steps of a field's path.

    For the field `spec.template.spec.nodeSelector.pool` of an object, for example, return the path of
    `spec.podTemplate.spec.nodeSelector.pool` in the job.
    """
    role = _role_of(item)
    matches: list[Path] = []
    best = _MIN_COMMON_STEPS
    for path in _paths_of(document.root):
        if path[:1] != ("spec",) or not _is_of(path, environment, role):
            continue
        steps = _common_steps(path, field)
        if steps >= best and _has_same_names(document.data, path, item, field, steps):
            matches, best = [*(matches if steps == best else ()), path], steps
    return matches


def _has_same_names(data: Any, path: Path, item: Object, field: FieldPath, steps: int) -> bool:
    """Return True if no list item on a path of the job has another name than the item on the path of the object.

    Args:
        data: the data of the job.
        path: the path in the job.
        item: the object.
        field: the path in the object.
        steps: the number of equal last steps of the two paths.
    """
    for end in range(steps):
        if isinstance(path[len(path) - 1 - end], int):
            entries = (data_path.follow(data, path[: len(path) - end]), _value(item, field[: len(field) - end]))
            names = [entry.get("name") for entry in entries if isinstance(entry, Mapping)]
            if len(set(names)) > 1:
                return False
    return True


def _value(item: Any, field: FieldPath) -> Any:
    try:
        return data_path.follow(item, field)
    except (LookupError, TypeError):
        return None


def _in_patch(document: Document, environment: str | None, fault: Fault) -> Path | None:
    """Return the path in a patch of the job that sets the faulty field; None if no patch sets the field.

    The faulty field is the field of `fault`, or a key of this field that the message quotes, such as an unknown key.
    """
    spec = document.data["spec"]
    bases: list[Path] = [("environments", environment)] if environment is not None else []
    for base in (*bases, ()):
        for name, patch in (data_path.at(spec, (*base, "patches")) or {}).items():
            if patch is None or data_path.at(patch, ("target", "kind")) != fault.item["kind"]:
                continue
            merge = data_path.at(patch, ("merge",))
            quoted = _QUOTED.findall(fault.message)
            named = next((key for key in quoted if data_path.has(merge, (*fault.path, key))), None)
            if named is not None:
                return ("spec", *base, "patches", name, "merge", *fault.path, named)
            if fault.path and data_path.has(merge, fault.path):
                return ("spec", *base, "patches", name, "merge", *fault.path)
            for index, operation in enumerate(data_path.at(patch, ("json",)) or ()):
                steps = tuple(str(operation.get("path", "")).split("/")[1:])
                field = tuple(map(str, fault.path))
                if steps[: len(field)] == field and (steps == field or steps[-1] in quoted):
                    return ("spec", *base, "patches", name, "json", index)
    return None


def _role_of(item: Object) -> str | None:
    """Return the role or the component (such as TensorBoard) of an object; None for an object of all roles."""
    pods = data_path.at(item, ("spec", "template"))
    all_labels = (data_path.at(owner, ("metadata", "labels")) or {} for owner in (item, pods))
    return next((labels[keys.COMPONENT] for labels in all_labels if keys.COMPONENT in labels), None)


def _is_of(path: Path, environment: str | None, role: str | None) -> bool:
    """Return True if the value at a path of a job can affect the objects of a role in an environment."""
    if path[1:2] == ("environments",):
        if path[2:3] != (environment,):
            return False
        path = path[2:]
    return path[1:2] != ("roles",) or role is None or path[2:3] in ((), (role,))


def _paths_of(tree: SourceTree, parent: Path = ()) -> Iterator[Path]:
    """Yield the path of each value in a tree, the path `parent` of the tree first."""
    yield parent
    for key, (_, child) in tree.children.items():
        yield from _paths_of(child, (*parent, key))


def _common_steps(path: Path, field: FieldPath) -> int:
    """Return the number of equal last steps of two paths.

    All list indexes count as equal, because a list item may have different indexes in the job and in the object.
    """
    pairs = zip(reversed(path), reversed(field), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1] or all(isinstance(x, int) for x in pair), pairs))
