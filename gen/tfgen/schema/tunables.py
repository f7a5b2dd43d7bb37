"""What a chart's user or an environment may set, read off the job schema.

    >>> values({"image": "x:1", "roles": {"worker": {"replicas": 4}}})["roles"]["worker"]["replicas"]
    4

A property with `x-tunable: true` is tunable; on a record it holds for all that the record has, but for what says
`x-tunable: false`. A values path is the spec's path without `spec`. A record without a default is a *section* (each
role, the gang): it has tunables only in a job that has the section. A job has no tunable for what its workload kind
never reads (`workload_kinds`), nor for what it has no part for (`idle_values`). values.yaml, values.schema.json and
what an environment may say all come from here. values.schema.json also accepts an idle value, because the check accepts
the value in an environment.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from tfgen import data_path
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema import workload_kinds as kinds
from tfgen.schema.chart_values import ENVIRONMENT, told_environments
from tfgen.schema.file import Schema, is_record, resolve
from tfgen.schema.idle_values import idle_values

if TYPE_CHECKING:
    from tfgen.value_type import ValueType

ValuesPath = tuple[str, ...]

CHART_ACCEPTS: Final = "x-chart-accepts"
"""The keyword of the job schema for `Tunable.chart_types`. job.yaml itself accepts text alone."""

_TYPES: Mapping[str, ValueType] = {
    "string": "string",
    "integer": "integer",
    "boolean": "boolean",
    "object": "map",
    "array": "list",
}


class Tunable(Record):
    """One value of the chart. `schema` is the resolved node of the property."""

    path: ValuesPath
    type: ValueType
    default: Any
    description: str
    schema: Schema

    @property
    def chart_types(self) -> Sequence[str]:
        """The types that a chart accepts in place of a text, here or in each entry: `--set run=2` is an integer."""
        types: Sequence[str] = self.schema.get(CHART_ACCEPTS, ())
        return types


class _Present(Record):
    """The tunables that jobs of one kind have, and how they are looked up."""

    tunables: tuple[Tunable, ...]

    @cached_property
    def by_path(self) -> Mapping[ValuesPath, Tunable]:
        """Each by its path."""
        return {tunable.path: tunable for tunable in self.tunables}

    @cached_property
    def by_record(self) -> Sequence[tuple[ValuesPath, Sequence[tuple[str, Tunable]]]]:
        """Those that follow each other in one record, by their names, with the record's path."""
        groups = groupby(self.tunables, key=lambda tunable: tunable.path[:-1])
        return [(record, [(tunable.path[-1], tunable) for tunable in group]) for record, group in groups]

    @cached_property
    def records(self) -> frozenset[ValuesPath]:
        """The paths of all that they stand in."""
        return frozenset(path[:depth] for path in self.by_path for depth in range(len(path)))


class Leaf(Record):
    """A tunable, its node as the file has it (a `$ref` not followed), and the sections that it is in."""

    tunable: Tunable
    written: Schema
    sections: tuple[ValuesPath, ...]


def tunables(spec: Mapping[str, Any], *, of_any_kind: bool = False) -> tuple[Tunable, ...]:
    """The tunables of a job, in the schema's order: those of the sections that its spec has.

    Args:
        spec: the job's.
        of_any_kind: also those that nothing of the job reads.
    """
    return _present(spec, of_any_kind=of_any_kind).tunables


def idle_paths(spec: Mapping[str, Any]) -> tuple[ValuesPath, ...]:
    """Return the paths of the tunables that a job may set although nothing of the job reads the values.

    The check refuses values of sections that the job lacks, and values that the workload kind lacks. The paths of these
    values are left out.
    """
    without = [lack.path.split(".") for lack in kinds.without(spec)]
    paths = (tuple(idle.path.split(".")) for idle in idle_values(spec))
    return tuple(
        path
        for path in dict.fromkeys(paths)
        if all(data_path.has(spec, section) for section in all_leaves()[path].sections)
        and not any(kinds.covers(steps, path) for steps in without)
    )


def at(path: Sequence[str]) -> Tunable:
    """The tunable at a values path, whichever sections a job has.

    Raises:
        LookupError: there is none, so that a misspelt path never becomes a value that is silently empty.
    """
    leaf = all_leaves().get(tuple(path))
    if leaf is None:
        raise LookupError(f"no tunable at values path {'.'.join(path)}")
    return leaf.tunable


def values(spec: Mapping[str, Any], *, of_any_kind: bool = False) -> dict[str, Any]:
    """The complete values of a job: each tunable, with its default where the spec says nothing.

    Keys are in the schema's order, and sorted where the schema has none, so that equal specs print alike.

    Args:
        spec: the job's.
        of_any_kind: also those that nothing of the job reads.
    """
    return _complete(spec, _present(spec, of_any_kind=of_any_kind))


def environment_values(spec: Mapping[str, Any], name: str, *, of_any_kind: bool = False) -> dict[str, Any]:
    """The complete values of one environment, as Helm merges them over the job's.

    Raises:
        KeyError: the spec has no such environment.
    """
    there = _present(spec, of_any_kind=of_any_kind)
    return _of_environment(spec, _complete(spec, there), name, there)


def all_values(spec: Mapping[str, Any], *, of_any_kind: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `values` gives, and what `environment_values` gives for each environment by its name."""
    there = _present(spec, of_any_kind=of_any_kind)
    own = _complete(spec, there)
    return own, {name: _of_environment(spec, own, name, there) for name in spec.get("environments", ())}


def without_environments(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of the job itself: all but its environments."""
    return {key: value for key, value in spec.items() if key != "environments"}


def overrides(environment: Mapping[str, Any]) -> dict[str, Any]:
    """What an environment changes of the chart's values: all but its place."""
    place = schema_file.load()["definitions"]["place"]["properties"]
    return {key: value for key, value in environment.items() if key not in place}


def chart_overrides(spec: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The same of each environment by its name, without what the job's chart has no value for."""
    there = _present(spec)
    return {
        name: {**_of_chart(spec, name), **_known(overrides(environment), (), there)}
        for name, environment in spec.get("environments", {}).items()
    }


def _known(data: Mapping[str, Any], above: ValuesPath, there: _Present) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for key, value in data.items():
        path = (*above, key)
        if path in there.by_path:
            known[key] = value
        elif path in there.records:
            known[key] = _known(value, path, there)
    return known


def merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """What Helm makes of a chart's values and a user's: maps merge, lists and scalars are replaced, null removes.

    A null for a key that `under` lacks stays a null, as it does in Helm 4. Neither argument is changed.
    """
    merged = {key: value for key, value in under.items() if key not in over or over[key] is not None}
    for key, value in over.items():
        below = under.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            merged[key] = merge(below, value)
        elif value is not None or key not in under:
            merged[key] = value
    return merged


def missing_sections(spec: Mapping[str, Any], environment: Mapping[str, Any]) -> tuple[ValuesPath, ...]:
    """The sections that an environment changes and the job does not have."""
    return tuple(
        section for section in _sections() if data_path.has(environment, section) and not data_path.has(spec, section)
    )


def order_keys(value: Any, node: Schema) -> Any:
    """A copy with the keys of its mappings in the order of the schema node, and sorted where that has none.

    Helm has one kind of number, so that a fraction that is whole, such as 2.0, is 2.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, (dict, list)):
        return value
    schema = schema_file.load()
    if isinstance(value, dict):
        known = [key for key in node.get("properties", ()) if key in value]
        keys = known + sorted(key for key in value if key not in known)
        return {key: order_keys(value[key], schema_file.entry(schema, node, key) or {}) for key in keys}
    items = schema_file.entry(schema, node, 0) or {}
    return [order_keys(item, items) for item in value]


def _of_environment(spec: Mapping[str, Any], own: Mapping[str, Any], name: str, there: _Present) -> dict[str, Any]:
    laid = _laid_over(own, overrides(spec["environments"][name]), (), there.by_path)
    return {**laid, **_of_chart(spec, name)}


def _of_chart(spec: Mapping[str, Any], name: str) -> dict[str, str]:
    """What an environment sets that is a value of the chart alone."""
    return {ENVIRONMENT: name} if told_environments(spec) else {}


def _laid_over(
    own: Mapping[str, Any], over: Mapping[str, Any], above: ValuesPath, by_path: Mapping[ValuesPath, Tunable]
) -> dict[str, Any]:
    """Complete values with others over them, as `merge` has it; what is removed has its default."""
    laid = dict(own)
    for key, value in over.items():
        path, below = (*above, key), own.get(key)
        if tunable := by_path.get(path):
            merged = merge({key: below}, {key: value})
            laid[key] = order_keys(merged[key], tunable.schema) if key in merged else tunable.default
        elif isinstance(below, dict):
            laid[key] = _laid_over(below, dict.fromkeys(below) if value is None else value, path, by_path)
    return laid


def _complete(spec: Mapping[str, Any], there: _Present) -> dict[str, Any]:
    """The values that a spec gives, in order, and the defaults of all others."""
    complete: dict[str, Any] = {}
    for records, tunables_there in there.by_record:
        place, source = complete, spec
        for record in records:
            place = place.setdefault(record, {})
            source = source.get(record, {})
        for name, tunable in tunables_there:
            place[name] = order_keys(source[name], tunable.schema) if name in source else tunable.default
    return complete


def _present(spec: Mapping[str, Any], *, of_any_kind: bool = False) -> _Present:
    has = frozenset(section for section in _sections() if data_path.has(spec, section))
    return _with(has, () if of_any_kind else tuple(_unread(spec)))


def _unread(spec: Mapping[str, Any]) -> Iterator[str]:
    """The paths of what nothing of the job reads."""
    yield from (lack.path for lack in kinds.without(spec))
    yield from (idle.path for idle in idle_values(spec))


@functools.cache
def _with(has: frozenset[ValuesPath], lacks: tuple[str, ...]) -> _Present:
    """The tunables of a job that has these sections, less those that nothing of it reads."""
    without = [path.split(".") for path in lacks]
    leaves_there = (leaf for leaf in all_leaves().values() if has.issuperset(leaf.sections))
    return _Present(
        tuple(
            leaf.tunable
            for leaf in leaves_there
            if not any(kinds.covers(steps, leaf.tunable.path) for steps in without)
        )
    )


@functools.cache
def _sections() -> tuple[ValuesPath, ...]:
    """Every section that the schema knows, in its order."""
    return tuple(dict.fromkeys(section for leaf in all_leaves().values() for section in leaf.sections))


@functools.cache
def all_leaves() -> Mapping[ValuesPath, Leaf]:
    """Every tunable that the schema knows, in its order."""
    return {leaf.tunable.path: leaf for leaf in leaves(schema_file.load())}


def leaves(schema: Schema) -> Iterator[Leaf]:
    """Every tunable of a job schema."""
    return _walk(schema, schema["properties"]["spec"], (), (), inherited=False)


def _walk(
    schema: Schema, record: Schema, path: ValuesPath, sections: tuple[ValuesPath, ...], *, inherited: bool
) -> Iterator[Leaf]:
    for key, written in record["properties"].items():
        node, here = resolve(schema, written), (*path, key)
        tunable = node.get("x-tunable", inherited)
        if is_record(node):
            inside = sections if "default" in node else (*sections, here)
            yield from _walk(schema, node, here, inside, inherited=tunable)
        elif tunable:
            yield Leaf(Tunable(here, type_of(node), node["default"], node["description"], node), written, sections)


def type_of(node: Schema) -> ValueType:
    """The type of the values that a resolved leaf allows."""
    return "quantity" if node.get("x-kind") == "quantity" else _TYPES[node["type"]]
