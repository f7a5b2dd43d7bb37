"""The keys of job.yaml that set the fields of an object, by experiment: change one key, and fill the object again.

    >>> keys_of_fields(build(job), None, "worker")["spec", "replicas"]
    frozenset({('spec', 'roles', 'worker', 'replicas')})

`keys_of_fields` changes the values of a job one by one. A value, such as `retries`, does not change the structure of
the job, so the object graph remains the same. `jobs_without_a_key` removes the keys that decide the structure, such as
`sidecars`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.graph import BuiltJob, filled
from tfgen.job.training_job import TrainingJob
from tfgen.schema import file as schema_file
from tfgen.schema.file import Schema

JOB_NAME: Final[Path] = ("metadata", "name")
"""The path of the job's name, which is also the name of the Helm release and of the chart."""

_NUMBER: Final = re.compile(r"[0-9]+")
_TAG: Final = re.compile(r":(?=[^:/]*$)|$")
"""The end of a text, and the colon before the tag of an image. A change of an image changes its name and its tag."""


def keys_of_fields(built: BuiltJob, environment: str | None, name: str) -> Mapping[Path, frozenset[Path]]:
    """Return the keys that set each field of an object, by the path of the field.

    The fields are the scalars and the empty mappings and lists of the object. A field that no key sets is absent from
    the result. The key of an item in a list, such as `args`, is the key of the list.

    Args:
        built: the job and its objects.
        environment: the environment of the object; None for the job without an environment.
        name: the file name of the object, such as `worker`.
    """
    objects = built.base if environment is None else built.environments[environment]
    templates = [template for template in built.templates if f"{name}-".startswith(f"{template.name}-")]
    keys: dict[Path, set[Path]] = {}
    for key, job in changed_jobs(built.job, environment, of_base=False):
        changed = filled(job, templates, environment).get(name)
        if changed is not None:
            for path in _changed_fields(objects[name], changed):
                keys.setdefault(path, set()).add(key)
    return {path: frozenset(of_field) for path, of_field in keys.items()}


def keys_at(keys: Mapping[Path, frozenset[Path]], item: Any, path: Path) -> frozenset[Path]:
    """Return the keys that set a field of an object; for a mapping or list, the common parent of the keys of its parts.

    The result is empty if a part of the mapping or list has no key, or if the keys have no common parent below `spec`.

    Args:
        keys: the result of `keys_of_fields` for the object.
        item: the object.
        path: the path of the field.
    """
    try:
        value = data_path.follow(item, path)
    except (LookupError, TypeError):
        return frozenset()
    parts = [keys.get((*path, *steps), frozenset()) for steps, _ in _parts(value)]
    if parts == [keys.get(path)]:
        return keys[path]
    common = data_path.shared(key for of_part in parts for key in of_part)
    return frozenset((common,)) if all(parts) and len(common) > 1 else frozenset()


def changed_jobs(job: TrainingJob, environment: str | None, *, of_base: bool) -> Iterator[tuple[Path, TrainingJob]]:
    """Yield copies of a job in which one value differs, each with the key of the value.

    Args:
        job: the job.
        environment: the environment whose values change; None for the job without an environment.
        of_base: whether to change also the values of the job without an environment, one by one.
    """
    if environment is None or of_base:
        yield from ((key, job.replaced(values=values)) for key, values in _changed_values(job.values))
    for index, variant in enumerate(job.environments):
        if variant.name == environment:
            before, after = job.environments[:index], job.environments[index + 1 :]
            for key, values in _changed_values(variant.values):
                yield key, job.replaced(environments=(*before, variant.replaced(values=values), *after))
    yield JOB_NAME, job.replaced(name=f"{job.name}x")


def jobs_without_a_key(data: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield copies of the data of a job, each without one of the optional keys that decide the structure of the job.

    A copy comes with the path of the removed key, such as ("spec", "gang").
    """
    return ((path, data_path.without(data, path)) for path in structure_keys(data))


def structure_keys(data: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the optional keys of a job that decide its structure."""
    spec = data["spec"]
    if "namespace" in data["metadata"]:
        yield "metadata", "namespace"
    yield from _structure_keys(("spec",), spec)
    for role, settings in spec["roles"].items():
        yield from _structure_keys(("spec", "roles", role), settings or {})
    for name, environment in spec.get("environments", {}).items():
        around = ("spec", "environments", name)
        yield from ((*around, key) for key in ("enabled", "namespace") if key in environment)
        yield from ((*around, "patches", patch) for patch in environment.get("patches", ()))


def _structure_keys(around: Path, settings: Mapping[str, Any]) -> Iterator[Path]:
    schema = schema_file.load()
    node = schema_file.node(schema, around) or {}
    for key, value in settings.items():
        if key in ("environments", "roles", "outputs", "gitops") or key in node.get("required", ()):
            continue
        if (schema_file.entry(schema, node, key) or {}).get("x-tunable"):
            continue
        if key == "patches":
            yield from ((*around, key, name) for name in value)
        else:
            yield (*around, key)


# -- changes of values ---------------------------------------------------------------------------------------------


def _changed_values(values: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield copies of the complete values of a job, each with a change at one key."""
    node = schema_file.load()["properties"]["spec"]
    return ((("spec", *key), changed) for key, changed in _changes(values, node))


def _changes(value: Any, node: Schema) -> Iterator[tuple[Path, Any]]:
    """Yield (key, changed value) for each change of a value. The key is the path of the change in the value."""
    schema = schema_file.load()
    if isinstance(value, Mapping):
        for name, part in value.items():
            for key, changed in _changes(part, schema_file.entry(schema, node, name) or {}):
                yield (name, *key), {**value, name: changed}
            if name not in node.get("properties", ()):
                yield (name,), {f"{each}x" if each == name else each: part for each, part in value.items()}
                yield (name,), {each: part for each, part in value.items() if each != name}
        if value and "properties" not in node:
            yield (), {}
    elif isinstance(value, list):
        for index, item in enumerate(value):
            for _, changed in _changes(item, schema_file.entry(schema, node, 0) or {}):
                yield (), [*value[:index], changed, *value[index + 1 :]]
        if value:
            yield (), []
    else:
        yield from (((), changed) for changed in _other_scalars(value, node))


def _other_scalars(value: Any, node: Schema) -> Sequence[Any]:
    """Return other scalars of the same type that the schema node of a value allows.

    The results include an empty value, because a template may test whether a value is empty.
    """
    if "enum" in node:
        return [other for other in node["enum"] if other != value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, 0] if value else [1]
    if not isinstance(value, str):
        return []
    if node.get("x-kind") == "quantity" and (number := _NUMBER.match(value)):
        return [f"{int(number[0]) + 1}{value[number.end() :]}", ""]
    return [_TAG.sub(r"x\g<0>", value), ""] if value else ["x"]


# -- comparison of objects -----------------------------------------------------------------------------------------


def _changed_fields(before: Any, after: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each field in `before` that has another value in `after`. A field of only one is no change."""
    if isinstance(before, Mapping) and before and isinstance(after, Mapping):
        for key in before.keys() & after.keys():
            yield from _changed_fields(before[key], after[key], (*path, key))
    elif isinstance(before, list) and before and isinstance(after, list):
        for index, other in _pairs(before, after):
            yield from _changed_fields(before[index], after[other], (*path, index))
    elif before != after:
        yield path


def _parts(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield (path, value) for each scalar, empty mapping and empty list."""
    if value and isinstance(value, Mapping | list):
        for key, part in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _parts(part, (*path, key))
    else:
        yield path, value


def _pairs(before: Sequence[Any], after: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Yield the indexes of the items that two lists share: by the name of the items if the lengths differ."""
    if len(before) == len(after):
        yield from ((index, index) for index in range(len(before)))
        return
    places = {_name(item): index for index, item in enumerate(after)}
    yield from ((index, places[_name(item)]) for index, item in enumerate(before) if _name(item) in places)


def _name(item: Any) -> str:
    return str(item.get("name", item)) if isinstance(item, Mapping) else str(item)
