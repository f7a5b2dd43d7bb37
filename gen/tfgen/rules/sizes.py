"""Arguments, variables and annotations that are larger than Linux or Kubernetes takes.

Kubernetes accepts such arguments and variables, and no container starts. What `$(X)` stands for is counted where the
job says it; what comes out of Secrets, ConfigMaps and envFrom is not known here, and counts nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tfgen.data_path import Path
from tfgen.graph.objects import labels, names
from tfgen.job.training_job import RoleName
from tfgen.kubernetes.limits import ANNOTATIONS_MAX, PROGRAM_MAX, STRING_COST, STRING_MAX
from tfgen.rules import pod_parts
from tfgen.rules.expansion import measure_expanded
from tfgen.rules.finding import Finding
from tfgen.rules.pod_parts import Part
from tfgen.rules.rule import Rule
from tfgen.rules.view import View


class _String(NamedTuple):
    """An argument or a variable: where it is said, the variable's name (an argument has none), and its bytes."""

    path: Path
    variable: str | None
    size: int


def _check_programs(view: View) -> Iterator[Finding]:
    for role in view.roles:
        yield from _of_program(_main_program(view, role.name))
        others = (part for part in pod_parts.patched(view, role.name, "containers") if not _is_main(part))
        for container in (*pod_parts.beside(view, role.name), *others):
            variables = [(item.path, item.data) for item in pod_parts.items(container, "env")]
            sizes: dict[str, int] = {}
            yield from _of_program([*_variables(variables, sizes), *_arguments_of(container, sizes)])


def _of_program(strings: Sequence[_String]) -> Iterator[Finding]:
    for path, variable, size in strings:
        if size > STRING_MAX:
            name = "this argument" if variable is None else f"the variable {variable}"
            message = (
                f"{name} has {size:,} bytes, more than the {STRING_MAX:,} that one may have, and no container would "
                "start; put the text into a file, by code or a ConfigMap in storage"
            )
            yield Finding(path, message)
    total = sum(string.size + STRING_COST for string in strings)
    if total > PROGRAM_MAX:
        message = (
            f"the arguments and variables of a container have {total:,} bytes together, more than the {PROGRAM_MAX:,} "
            "that Linux gives a program; put their texts into files, by code or a ConfigMap in storage"
        )
        yield Finding(max(strings, key=lambda string: string.size).path, message)


def _main_program(view: View, role: RoleName) -> list[_String]:
    variables = [(view.env_path(role, str(item["name"])), item) for item in view.variables(role)]
    parts = list(pod_parts.main_container(view, role))
    variables += [(item.path, item.data) for part in parts for item in pod_parts.items(part, "env")]
    sizes: dict[str, int] = {}
    strings = list(_variables(variables, sizes))
    for field in ("command", "args"):
        path, texts = view.effective(role, field)
        strings += _arguments(path, texts, sizes)
    return strings


def _is_main(part: Part) -> bool:
    return pod_parts.name(part) == names.CONTAINER


def _variables(items: Sequence[tuple[Path, Mapping[str, Any]]], sizes: dict[str, int]) -> Iterator[_String]:
    """The variables of a list, in its order; notes the size of each one's value, by its name."""
    for path, item in items:
        name, value = item.get("name"), item.get("value", "")
        if isinstance(name, str):
            sizes[name] = measure_expanded(value, sizes) if isinstance(value, str) else 0
            yield _String(path, name, len(f"{name}=".encode()) + sizes[name])


def _arguments_of(container: Part, sizes: Mapping[str, int]) -> Iterator[_String]:
    for field in ("command", "args"):
        texts = container.data.get(field)
        yield from _arguments((*container.path, field), texts if isinstance(texts, list) else (), sizes)


def _arguments(path: Path, texts: Sequence[Any], sizes: Mapping[str, int]) -> Iterator[_String]:
    for index, text in enumerate(texts):
        if isinstance(text, str):
            yield _String((*path, index), None, measure_expanded(text, sizes))


def _check_annotations(view: View) -> Iterator[Finding]:
    for role in view.roles:
        bound: Mapping[str, str] = view.bound(role.name)[labels.POD_ANNOTATIONS.name]
        annotations = {key: (_annotation_path(view, role.name, key), text) for key, text in bound.items()}
        for template in pod_parts.templates(view, role.name):
            for metadata in pod_parts.child(template, "metadata"):
                for part in pod_parts.child(metadata, "annotations"):
                    annotations |= {
                        key: ((*part.path, key), text) for key, text in part.data.items() if isinstance(text, str)
                    }
        sizes = {key: len(key.encode()) + len(text.encode()) for key, (_, text) in annotations.items()}
        total = sum(sizes.values())
        if total > ANNOTATIONS_MAX:
            path, _ = annotations[max(sizes, key=lambda key: sizes[key])]
            message = (
                f"the annotations of a pod have {total:,} bytes together, more than the {ANNOTATIONS_MAX:,} that "
                "Kubernetes takes; put long texts into a ConfigMap"
            )
            yield Finding(path, message)


def _annotation_path(view: View, role: RoleName, key: str) -> Path:
    own: Path = ("roles", role, "annotations", key)
    return own if key in view.values["roles"][role]["annotations"] else ("annotations", key)


RULES: Final = (
    Rule("annotations-size", "error", "Annotations are larger than Kubernetes takes.", _check_annotations),
    Rule("program-size", "error", "Arguments or variables are larger than Linux gives a program.", _check_programs),
)
