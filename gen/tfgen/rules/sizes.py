"""Arguments, variables and annotations that are larger than Linux or Kubernetes allows.

Kubernetes accepts such arguments and variables, but the container does not start. If the job sets X, the rules count
the value of X in place of `$(X)`. Values from Secrets, ConfigMaps and envFrom count as 0 bytes, because tfgen cannot
read them.
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
    """An argument or an environment variable of a container.

    Attributes:
        path: the path of the argument or variable.
        variable: the name of the variable; None for an argument.
        size: the number of bytes.
    """

    path: Path
    variable: str | None
    size: int


def _check_programs(view: View) -> Iterator[Finding]:
    for role in view.roles:
        yield from _check_strings(_main_program(view, role.name))
        added = (part for part in pod_parts.template_items(view, role.name, "containers") if not _is_main(part))
        for container in (*pod_parts.extra_containers(view, role.name), *added):
            variables = [(item.path, item.data) for item in pod_parts.items(container, "env")]
            sizes: dict[str, int] = {}
            yield from _check_strings([*_variables(variables, sizes), *_arguments_of(container, sizes)])


def _check_strings(strings: Sequence[_String]) -> Iterator[Finding]:
    for path, variable, size in strings:
        if size > STRING_MAX:
            name = "this argument" if variable is None else f"the variable {variable}"
            message = (
                f"{name} has {size:,} bytes, but Linux allows at most {STRING_MAX:,}, so the container would not "
                "start; move the text to a file, with spec.code or with a ConfigMap in spec.storage"
            )
            yield Finding(path, message)
    total = sum(string.size + STRING_COST for string in strings)
    if total > PROGRAM_MAX:
        message = (
            f"the arguments and variables of a container have {total:,} bytes, but Linux allows at most "
            f"{PROGRAM_MAX:,}; move long texts to files, with spec.code or with a ConfigMap in spec.storage"
        )
        yield Finding(max(strings, key=lambda string: string.size).path, message)


def _main_program(view: View, role: RoleName) -> list[_String]:
    variables = [(view.env_path(role, str(item["name"])), item) for item in view.variables(role)]
    parts = list(pod_parts.main_container(view, role))
    variables += [(item.path, item.data) for part in parts for item in pod_parts.items(part, "env")]
    sizes: dict[str, int] = {}
    strings = list(_variables(variables, sizes))
    for field in ("command", "args"):
        path, texts = view.effective_field(role, field)
        strings += _arguments(path, texts, sizes)
    return strings


def _is_main(part: Part) -> bool:
    return pod_parts.name(part) == names.CONTAINER


def _variables(items: Sequence[tuple[Path, Mapping[str, Any]]], sizes: dict[str, int]) -> Iterator[_String]:
    """Yield a `_String` for each environment variable of a container. Each item of `items` is a path and a variable.

    Also add the number of bytes of each value to `sizes`, because later texts may refer to the variable.
    """
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
        bound: Mapping[str, str] = view.template_variables(role.name)[labels.POD_ANNOTATIONS.name]
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
                f"the annotations of a pod have {total:,} bytes, but Kubernetes allows at most {ANNOTATIONS_MAX:,}; "
                "write long texts to a ConfigMap"
            )
            yield Finding(path, message)


def _annotation_path(view: View, role: RoleName, key: str) -> Path:
    role_path: Path = ("roles", role, "annotations", key)
    return role_path if key in view.values["roles"][role]["annotations"] else ("annotations", key)


RULES: Final = (
    Rule(
        "annotations-size",
        "error",
        "The annotations of an object are larger than Kubernetes allows.",
        _check_annotations,
    ),
    Rule(
        "program-size",
        "error",
        "The arguments or variables of a container are larger than Linux allows.",
        _check_programs,
    ),
)
