"""Reads from the job schema which values a user of the chart, or an environment, may set: the tunables.

    >>> values({"image": "x:1", "roles": {"worker": {"replicas": 4}}})["roles"]["worker"]["replicas"]
    4

A field with `x-tunable: true` in the schema is tunable. In this module, a record is a mapping with fixed keys, such as
a role. For a record, the keyword applies to all fields of the record, except for fields with `x-tunable: false`. A
values path is the path in the spec without `spec`.

A record without a default is a section, such as a role or the gang. A job has the tunables of a section only if the job
has the section. A key with `x-section` belongs to the section of the key that `x-section` names: a role has the
tunables `deviceClass` and `selectors` of `gpu` only if the job sets the `deviceClass` of the role. A job has no tunable
for a value that its workload kind does not support (`kinds.unsupported_keys`), and no tunable for an idle value, which
has no effect in the job (`kinds.idle_values`). For example, `completion.evaluatorGrace` is idle in a job without an
evaluator.

values.yaml, values.schema.json and the allowed keys of an environment all come from this module. values.schema.json
also accepts idle values, because an environment may set idle values.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import UNKNOWN, ValueType
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema import kinds
from tfgen.schema.file import Schema, is_record, resolve

# -- chart values without a key in the job file ------------------------------------------------------------------------
#
# nameOverride and fullnameOverride are in Helm's starter chart, and Helm users expect them:
# https://helm.sh/docs/chart_best_practices/conventions/. A chart needs the name of its environment if the environments
# have different patches. The values file of an environment sets the name.


_NAME_MAX: Final = 63
"""Maximum number of characters of a label value and of a DNS label."""

ENVIRONMENT: Final = "environment"
"""The key of the chart value that contains the name of the environment."""

_NAMES: Final[Mapping[str, Schema]] = {
    "nameOverride": {
        "description": "Replaces the name of the chart in the names and labels of the objects.",
        "type": "string",
        "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$",
        "maxLength": _NAME_MAX,
        "default": "",
    },
    "fullnameOverride": {
        "description": "Replaces RELEASE-CHART at the start of the names of the objects.",
        "type": "string",
        "pattern": "^([a-z]([-a-z0-9]*[a-z0-9])?)?$",
        "maxLength": _NAME_MAX,
        "default": "",
    },
}


def chart_values(environments: Sequence[str]) -> Mapping[str, Schema]:
    """Return the schemas of the chart values that have no key in the job file, by the name of the value.

    Example: ``{"nameOverride": {"type": "string", "default": "", ...}, ...}``. Each value is empty by default.

    Args:
        environments: the result of `environments_if_patched`. If it is empty, the chart has no value `environment`.
    """
    if not environments:
        return _NAMES
    environment = {
        "description": (
            "Environment whose patches apply to the objects. Empty means that only the patches of the job apply."
        ),
        "type": "string",
        "enum": ["", *environments],
        "default": "",
    }
    return {**_NAMES, ENVIRONMENT: environment}


def environments_if_patched(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of all environments of a job if at least one environment sets `patches`, or else an empty tuple.

    Without `patches` in an environment, the objects of the chart do not depend on the name of the environment.
    """
    environments = spec.get("environments", {})
    return tuple(sorted(environments)) if any("patches" in environment for environment in environments.values()) else ()


# -- tunables ----------------------------------------------------------------------------------------------------------


ValuesPath = tuple[str, ...]

CHART_ACCEPTS: Final = "x-chart-accepts"
"""The schema keyword for types that only the chart accepts (`Tunable.chart_types`). job.yaml accepts only text."""

_TYPES: Mapping[str, ValueType] = {
    "string": "string",
    "integer": "integer",
    "boolean": "boolean",
    "object": "map",
    "array": "list",
}


class Tunable(Record):
    """A value that users of the chart may set.

    Attributes:
        path: the path of the value.
        type: the type of the value.
        default: the default; None for an optional value, which is absent from the values unless the job sets it.
        schema: the resolved schema node of the value.
        written: the schema node of the value, as in the schema file. The node may have a `$ref`.
        sections: the paths of the sections that contain the value, such as `("gang",)`.
    """

    path: ValuesPath
    type: ValueType
    default: Any
    schema: Schema
    written: Schema
    sections: tuple[ValuesPath, ...]

    @property
    def is_optional(self) -> bool:
        """Whether the value has no default. An optional value of a role overrides the value of the job."""
        return "default" not in self.schema

    @property
    def has_amounts(self) -> bool:
        """Whether the value is a map of quantities, such as the requests of a role."""
        return is_map_of_amounts(self.schema)

    @property
    def chart_types(self) -> Sequence[str]:
        """The JSON types, such as "integer", that the chart accepts in addition to a text.

        A user may run Helm with `--set run=2`, and Helm then sets an integer.
        """
        types: Sequence[str] = self.schema.get(CHART_ACCEPTS, ())
        return types


def tunables(spec: Mapping[str, Any], *, of_any_kind: bool = False) -> Mapping[ValuesPath, Tunable]:
    """Return the tunables in the sections of a job by the values path, in the order of the schema.

    Jobs with the same sections, and with the same unsupported and idle values, share one result.

    Args:
        spec: the spec of the job.
        of_any_kind: whether to include the tunables without effect in the job, such as tunables for other workload
            kinds.
    """
    without_effect = () if of_any_kind else (*kinds.unsupported_keys(spec), *kinds.idle_values(spec))
    return _tunables_with(_sections_of(spec), tuple(key.path for key in without_effect))


def idle_paths(spec: Mapping[str, Any]) -> tuple[ValuesPath, ...]:
    """Return the paths of the tunables that a job may set, but that have no effect in the job.

    For example, `completion.evaluatorGrace` has no effect in a job without an evaluator.
    """
    unsupported = tuple(key.path for key in kinds.unsupported_keys(spec))
    tunables_of_job = _tunables_with(_sections_of(spec), unsupported)
    paths = dict.fromkeys(tuple(idle.path.split(".")) for idle in kinds.idle_values(spec))
    return tuple(path for path in paths if path in tunables_of_job)


def at(path: Sequence[str]) -> Tunable:
    """Return the tunable at a values path, independent of the sections of a job.

    Raises:
        LookupError: no tunable has this path, for example because the path is misspelt.
    """
    tunable = all_tunables().get(tuple(path))
    if tunable is None:
        raise LookupError(f"no tunable has the values path {'.'.join(path)}")
    return tunable


def values(spec: Mapping[str, Any], environment: str | None = None, *, of_any_kind: bool = False) -> dict[str, Any]:
    """Return the complete values of a job: each tunable, with its default if the spec does not set it.

    An optional tunable, such as the image of a role, is absent if the spec does not set it.

    Keys have the order of the schema. Keys without an order in the schema are sorted. So equal specs have equal output.

    Args:
        spec: the spec of the job.
        environment: the name of the environment whose values override the values of the job, as in Helm; None for the
            values of the job without an environment.
        of_any_kind: whether to include the values without effect in the job, such as values for other workload kinds.

    Raises:
        KeyError: the spec has no such environment.
    """
    present = tunables(spec, of_any_kind=of_any_kind)
    job_values = _complete(spec, present)
    return job_values if environment is None else _of_environment(spec, job_values, environment, present)


def all_values(spec: Mapping[str, Any], *, of_any_kind: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the complete values of a job, and the complete values of each environment by name.

    Example: ``({"run": "", ...}, {"dev": {"run": "2", ...}})``. The function `values` returns the same values.
    """
    present = tunables(spec, of_any_kind=of_any_kind)
    job_values = _complete(spec, present)
    return job_values, {name: _of_environment(spec, job_values, name, present) for name in spec.get("environments", ())}


def without_environments(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec without its environments."""
    return {key: value for key, value in spec.items() if key != "environments"}


def overrides(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chart values that an environment sets: all keys but `namespace`, `cluster`, `enabled`, `patches`."""
    place = schema_file.load()["definitions"]["place"]["properties"]
    return {key: value for key, value in environment.items() if key not in place}


def chart_overrides(spec: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the chart values that each environment of a job sets, by the name of the environment.

    Example: ``{"dev": {"roles": {"worker": {"replicas": 1}}}, "prod": {}}``. Omit each value that has no effect in the
    job, because the chart has no such value.
    """
    present = tunables(spec)
    records = {path[:depth] for path in present for depth in range(len(path))}

    def chart_part(data: Mapping[str, Any], parent: ValuesPath) -> dict[str, Any]:
        part: dict[str, Any] = {}
        for key, value in data.items():
            path = (*parent, key)
            if path in present:
                part[key] = order_keys(value, present[path].schema)
            elif path in records and value is not UNKNOWN:
                part[key] = chart_part(value, path)
        return part

    return {
        name: {**_environment_name_value(spec, name), **chart_part(overrides(environment), ())}
        for name, environment in spec.get("environments", {}).items()
    }


def merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the values of a user over a chart's values, as Helm does. Both arguments remain unchanged.

    Two maps are merged key by key, at any depth. A null of the user removes the value of the chart. Any other value of
    the user replaces the value of the chart. A null for a key that `under` does not have remains, as in Helm 4. A map
    over an unknown value (`data_path.UNKNOWN`) is unknown, because the keys of the lower map are unknown.
    """
    merged = {key: value for key, value in under.items() if key not in over or over[key] is not None}
    for key, value in over.items():
        lower = under.get(key)
        if value is UNKNOWN or (lower is UNKNOWN and isinstance(value, dict)):
            merged[key] = UNKNOWN
        elif isinstance(value, dict) and isinstance(lower, dict):
            merged[key] = merge(lower, value)
        elif value is not None or key not in under:
            merged[key] = value
    return merged


def missing_sections(spec: Mapping[str, Any], environment: Mapping[str, Any]) -> tuple[ValuesPath, ...]:
    """Return the paths of the sections, such as `gang`, that an environment changes and the job does not have."""
    return tuple(
        section
        for section in _all_sections()
        if data_path.has(environment, section) and not data_path.has(spec, section)
    )


def is_map_of_amounts(node: Schema) -> bool:
    """Test whether a schema node describes a map of quantities."""
    entry = node.get("additionalProperties")
    return isinstance(entry, dict) and schema_file.resolve(schema_file.load(), entry).get("x-kind") == "quantity"


def order_keys(value: Any, node: Schema) -> Any:
    """Return a copy of a value in which the keys of each mapping have the order of the schema node `node`.

    If the schema node has no order, the keys are sorted. A number such as 2.0 becomes 2, because Helm has only one type
    of number. A number in a map of quantities becomes a text: the schemas of custom kinds refuse a fraction, and
    kustomize keeps the quotes of a text that becomes a number.
    """
    if value is UNKNOWN:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, (dict, list)):
        return value
    schema = schema_file.load()
    if isinstance(value, dict):
        ordered_keys = [key for key in node.get("properties", ()) if key in value]
        keys = ordered_keys + sorted(key for key in value if key not in ordered_keys)
        ordered = {key: order_keys(value[key], schema_file.entry(schema, node, key) or {}) for key in keys}
        if is_map_of_amounts(node):
            return {
                key: str(amount) if amount is not UNKNOWN and isinstance(amount, int | float) else amount
                for key, amount in ordered.items()
            }
        return ordered
    items = schema_file.entry(schema, node, 0) or {}
    return [order_keys(item, items) for item in value]


def _of_environment(
    spec: Mapping[str, Any], job_values: Mapping[str, Any], name: str, present: Mapping[ValuesPath, Tunable]
) -> dict[str, Any]:
    changes = overrides(spec["environments"][name])
    changed = {path: tunable for path, tunable in present.items() if path[0] in changes}
    return {**job_values, **_complete(merge(job_values, changes), changed), **_environment_name_value(spec, name)}


def _environment_name_value(spec: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return {"environment": `name`} if an environment of the job sets `patches`, or else {}.

    Only a chart with patches for environments needs the name of the environment as a value.
    """
    return {ENVIRONMENT: name} if environments_if_patched(spec) else {}


def _complete(source: Mapping[str, Any], present: Mapping[ValuesPath, Tunable]) -> dict[str, Any]:
    """Return the value of each tunable in `present`, in the order of the schema.

    The value comes from `source`, or is the default of the tunable. The result omits an optional value that `source`
    does not set.
    """
    complete: dict[str, Any] = {}
    record: ValuesPath = ()
    place, value = complete, source
    for (*parent, name), tunable in present.items():
        if tuple(parent) != record:
            record, place, value = tuple(parent), complete, source
            for key in record:
                place = place.setdefault(key, {})
                value = UNKNOWN if value is UNKNOWN else value.get(key, {})
        if value is UNKNOWN:
            place[name] = UNKNOWN
        elif name in value:
            place[name] = order_keys(value[name], tunable.schema)
        elif not tunable.is_optional:
            place[name] = tunable.default
    return complete


def _sections_of(spec: Mapping[str, Any]) -> frozenset[ValuesPath]:
    return frozenset(section for section in _all_sections() if data_path.has(spec, section))


@functools.lru_cache(256)
def _tunables_with(sections: frozenset[ValuesPath], omitted: tuple[str, ...]) -> Mapping[ValuesPath, Tunable]:
    """Return the tunables of a job with the given sections. Omit each tunable at or below a path in `omitted`.

    A path in `omitted` may contain ``*`` for any key, as in ``roles.*.args``.
    """
    without = [path.split(".") for path in omitted]
    return {
        path: tunable
        for path, tunable in all_tunables().items()
        if sections.issuperset(tunable.sections) and not any(kinds.covers(steps, path) for steps in without)
    }


@functools.cache
def _all_sections() -> tuple[ValuesPath, ...]:
    """Return the paths of all sections in the job schema, in the order of the schema."""
    return tuple(dict.fromkeys(section for tunable in all_tunables().values() for section in tunable.sections))


@functools.cache
def all_tunables() -> Mapping[ValuesPath, Tunable]:
    """Return the tunables of the job schema by the values path, in the order of the schema."""
    return {tunable.path: tunable for tunable in tunables_in(schema_file.load())}


def tunables_in(schema: Schema) -> Iterator[Tunable]:
    """Yield every tunable of a job schema."""
    return _walk(schema, schema["properties"]["spec"], (), (), inherited=False)


def _walk(
    schema: Schema, record: Schema, parent: ValuesPath, sections: tuple[ValuesPath, ...], *, inherited: bool
) -> Iterator[Tunable]:
    for key, written in record["properties"].items():
        node, path = resolve(schema, written), (*parent, key)
        is_tunable = node.get("x-tunable", inherited)
        if is_record(node):
            inside = sections if "default" in node else (*sections, path)
            yield from _walk(schema, node, path, inside, inherited=is_tunable)
        elif is_tunable:
            inside = (*sections, (*parent, node["x-section"])) if "x-section" in node else sections
            yield Tunable(path, type_of(node), node.get("default"), node, written, inside)


def type_of(node: Schema) -> ValueType:
    """Return the type of a tunable from its resolved schema node."""
    return "quantity" if node.get("x-kind") == "quantity" else _TYPES[node["type"]]
