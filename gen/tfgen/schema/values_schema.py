"""Writes values.schema.json: the schema of a chart's values, in draft-07 and as short as possible.

    {"worker": {"allOf": [{"$ref": "#/definitions/role"}], "required": ["replicas"]}}

The schema accepts the values that the job schema accepts. Repeated nodes, such as the node of a role, share a
definition. Each of Helm's two libraries can read the schema: gojsonschema (until Helm 3.17) and
santhosh-tekuri/jsonschema. In draft-07, keywords next to a `$ref` have no effect, so such keywords are in `allOf`. Only
a description is next to a `$ref`: editors show the description, and Helm ignores it.
"""

from __future__ import annotations

import copy
import functools
import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Self

from tfgen import data_path
from tfgen.data_path import MAX_INTEGER
from tfgen.kubernetes.pods import Profile, refuses
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema import kinds, tunables
from tfgen.schema.file import Schema, target, used_definitions
from tfgen.schema.tunables import CHART_ACCEPTS, ValuesPath, all_leaves, chart_values, environments_if_patched
from tfgen.text import json_text

# -- the paths of the values -------------------------------------------------------------------------------------------
#
# Most jobs of a team have the same paths in values.yaml. tfgen therefore caches the texts that depend only on the
# paths, and the text of the default values.


class ValuesForm(Record):
    """The paths of a chart's values, without the values. Charts with equal `ValuesForm` share cached texts.

    Attributes:
        paths: the paths of the values, in the order of the schema.
        unsupported_paths: the paths that the workload kind or the Pod Security profile of a job does not support, such
            as ``storage.*.nfs``.
        environments: the names of all environments if an environment of the job sets `patches`; or else empty.
        idle: the paths of values that a job or an environment may set, but that no template reads.
    """

    paths: tuple[ValuesPath, ...]
    unsupported_paths: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    idle: tuple[ValuesPath, ...] = ()


once_a_form: Final = functools.lru_cache(maxsize=64)
"""Decorator that caches the results of a function for the 64 most recently used `ValuesForm` arguments."""


class ValuesPart(Record):
    """A part of a chart file that contains values, such as an entry of values.yaml with its comment.

    Attributes:
        paths: the paths of the values.
        start: the text before the values.
        write: function that returns the text of the values. The argument has the value of each path, in the same order;
            None for an optional value that is not set.
        end: the text after the values.
        defaults: the default of the value at each path.
        of_defaults: the text that `write` returns for `defaults`.
    """

    paths: tuple[ValuesPath, ...]
    start: str
    write: Callable[[Sequence[Any]], str]
    end: str
    defaults: tuple[Any, ...]
    of_defaults: str

    @classmethod
    def of(cls, paths: Iterable[ValuesPath], start: str, write: Callable[[Sequence[Any]], str], end: str = "") -> Self:
        """Create a part of a chart file. The text of the default values is computed once."""
        places = tuple(paths)
        defaults = tuple(tunables.at(path).default for path in places)
        return cls(places, start, write, end, defaults, write(defaults))

    def text(self, values: Mapping[str, Any]) -> str:
        """Return the text of the part. `values` are the complete values of a job."""
        current = [data_path.at(values, path) for path in self.paths]
        # Equal values are not sufficient: True equals 1, but has a different text.
        is_default = all(map(operator.is_, current, self.defaults))
        return f"{self.start}{self.of_defaults if is_default else self.write(current)}{self.end}"


def values_form(spec: Mapping[str, Any]) -> ValuesForm:
    """Return the paths of the values in the chart of a job."""
    paths = tuple(tunable.path for tunable in tunables.tunables(spec))
    return ValuesForm(paths, _unsupported_paths(spec), environments_if_patched(spec), tunables.idle_paths(spec))


def _unsupported_paths(spec: Mapping[str, Any]) -> tuple[str, ...]:
    profile = spec.get("security", {}).get("profile", "restricted")
    return tuple(dict.fromkeys([*(lack.path for lack in kinds.unsupported_keys(spec)), *_refused_volumes(profile)]))


@functools.cache
def _refused_volumes(profile: Profile) -> tuple[str, ...]:
    """Return the paths of the volume sources that a Pod Security profile refuses, such as ``storage.*.nfs``."""
    keys = schema_file.load()["definitions"]["volume"]["oneOf"]
    sources = (choice["required"][0] for choice in keys)
    return tuple(f"storage.*.{source}" for source in sources if source != "claim" and refuses(profile, source))


# -- descriptions ------------------------------------------------------------------------------------------------------
#
# Each value gets the description of its field in the job schema, next to its `$ref`, so that fields with different
# descriptions can share one definition.


_ENTRY: Final = "additionalProperties"


def described(values_schema: Schema, environments: Sequence[str]) -> Schema:
    """Return a copy of a schema of chart values, with a description of each value.

    Args:
        values_schema: the schema of the values, without descriptions.
        environments: the result of `environments_if_patched` for the job.
    """
    schema: dict[str, Any] = copy.deepcopy(dict(values_schema))
    job = schema_file.load()
    spec = schema_file.resolve(job, job["properties"]["spec"])
    source = {**spec, "properties": {**chart_values(environments), **spec["properties"]}}
    _describe(schema, source, schema)
    return schema


def _describe(node: dict[str, Any], source: Schema, schema: Schema) -> None:
    """Add descriptions to all schema nodes inside the schema node `node`.

    Args:
        node: the node of a value.
        source: the resolved node of the same value in the job schema.
        schema: the complete schema of the values, which contains the definitions.
    """
    target = _target(node, schema)
    for name, child in target.get("properties", {}).items():
        field = schema_file.entry(schema_file.load(), source, name)
        if field and "description" in field and isinstance(child, dict):
            child["description"] = field["description"]
            _describe(child, field, schema)
    entry = schema_file.entry(schema_file.load(), source, "*")
    if entry is not None and isinstance(target.get(_ENTRY), dict):
        _describe(target[_ENTRY], entry, schema)


def _target(node: Schema, schema: Schema) -> Schema:
    """Follow the `$ref` of a node, or the `$ref` in the `allOf` of the node. Return other nodes unchanged."""
    parts = [node, *node.get("allOf", ())]
    reference = next((part["$ref"] for part in parts if "$ref" in part), None)
    return node if reference is None else _target(schema_file.target(schema, reference), schema)


# -- values.schema.json ------------------------------------------------------------------------------------------------


_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_ROLE: Final = "role"
_CHARACTERS: Final = "characters"
_IN_VALUES: Final = "InValues"
"""The suffix of the name of a definition that accepts numbers as well as texts."""
_LONG: Final = 80
"""Minimum length of a repeated node that becomes a definition, in characters."""
_NAMED: Final = ("properties", "definitions")
"""Keywords whose keys are names and not keywords."""
_BELOW: Final = ("items", "propertyNames", "additionalProperties", *_NAMED)
"""Keywords that constrain nested values. Keywords that constrain the value itself are written first."""


@once_a_form
def values_schema(form: ValuesForm) -> Schema:
    """Return the schema of a chart's values. The schema is cached and shared, so callers must not change it.

    Every key that a template reads is required, except for an optional tunable, such as the image of a role. So the
    schema refuses a null, with which Helm removes a key. A key that no template reads is optional, because an
    environment of the job may set the key.

    The schema allows `global`, which Helm adds to the values of subcharts. The schema also allows `enabled`, because a
    parent chart may use `enabled` as the condition for this chart.
    """
    root = _closed()
    chart_only = {name: _short(node) for name, node in chart_values(form.environments).items()}
    root["properties"] = {"global": {"type": "object"}, "enabled": {"type": "boolean"}, **chart_only}
    for path in form.paths:
        *records, key = path
        place = root
        for record in records:
            place["required"] += [record] if record not in place["required"] else []
            place = place["properties"].setdefault(record, _closed())
        place["properties"][key] = _accepted(all_leaves()[path].written)
        if not all_leaves()[path].tunable.is_optional:
            place["required"].append(key)
    for path in form.idle:
        *records, key = path
        place = root
        for record in records:
            place = place["properties"].setdefault(record, _closed())
        leaf = all_leaves()[path]
        # The guards of a gang refuse each value that the scheduler does not support, except the default.
        is_of_gang = path[0] == "gang"
        place["properties"][key] = {"enum": [leaf.tunable.default]} if is_of_gang else _accepted(leaf.written)
    schema = {"$schema": _DRAFT, **root, "definitions": json.loads(_definitions())}
    _keep_roles(schema["definitions"]["volume"]["properties"]["for"], form.paths)
    for lacking in form.unsupported_paths:
        _remove_key(schema, lacking.split("."))
    roles = root["properties"]["roles"]["properties"]
    schema["definitions"][_ROLE] = _shared(roles)
    roles.update({name: _reference_to_shared(role, schema["definitions"][_ROLE]) for name, role in roles.items()})
    schema["definitions"] = used_definitions(root, schema["definitions"])
    _share(schema)
    _refer_to_bases(schema)
    return {**schema, "definitions": dict(sorted(schema["definitions"].items()))}


def _accepted(node: Schema) -> Any:
    """Convert a node of the job schema to the short schema of the same value in the chart.

    If the node has the keyword `CHART_ACCEPTS`, the chart also accepts the types that the keyword lists, for example an
    integer instead of a text.
    """
    types = schema_file.resolve(schema_file.load(), node).get(CHART_ACCEPTS)
    if not types:
        return _short(node)
    return {"$ref": f"{node['$ref']}{_IN_VALUES}"} if "$ref" in node else _short(_with_types(node, types))


def _in_values(node: Schema) -> Any:
    """Return the short schema of a map or list of texts. Each text may also have another type, such as integer.

    The keyword `CHART_ACCEPTS` of `node` lists the other types.
    """
    (place,) = (key for key in ("additionalProperties", "items") if key in node)
    entry = schema_file.resolve(schema_file.load(), node[place])
    return _short({**node, place: _with_types(entry, node[CHART_ACCEPTS])})


def _with_types(node: Schema, types: Sequence[str]) -> Schema:
    """Return the schema of a text, with additional types. Integers have the range that the text's pattern allows."""
    text = node["type"] if isinstance(node["type"], list) else [node["type"]]
    is_long = node.get("maxLength", MAX_INTEGER) >= len(str(MAX_INTEGER))
    range_of_text = {
        "minimum": -MAX_INTEGER if re.search(node["pattern"], "-1") else 0,
        "maximum": MAX_INTEGER if is_long else 10 ** node["maxLength"] - 1,
    }
    return {**node, "type": [*text, *types], **range_of_text}


def _closed() -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": [], "properties": {}}


@once_a_form
def values_schema_text(form: ValuesForm) -> str:
    """Return the text of values.schema.json, with descriptions."""
    return json_text.dump(described(values_schema(form), form.environments), listings=_NAMED)


@functools.cache
def _definitions() -> str:
    """Return the definitions of the job schema that chart values use, without descriptions and defaults, as JSON text.

    The result is a text, because each caller needs a separate copy of the definitions that the caller may change.
    """
    values = {"values": [leaf.written for leaf in all_leaves().values()]}
    used = used_definitions(values, schema_file.load()["definitions"])
    accepting = {f"{name}{_IN_VALUES}": _in_values(node) for name, node in used.items() if CHART_ACCEPTS in node}
    return json.dumps({**{name: _short(node) for name, node in used.items()}, **accepting, _CHARACTERS: _characters()})


# -- shared definitions --------------------------------------------------------------------------------------------


def _shared(roles: Mapping[str, Schema]) -> dict[str, Any]:
    """Return the shared definition of all roles, with each key that at least one role has."""
    properties = {key: node for role in roles.values() for key, node in role["properties"].items()}
    return {
        **_closed(),
        "required": [key for key in properties if all(key in role["required"] for role in roles.values())],
        "properties": properties,
    }


def _reference_to_shared(role: Schema, shared: Schema) -> dict[str, Any]:
    """Return the schema of a role as a `$ref` to `shared`, the schema of all roles.

    If the role requires more keys than `shared`, the result lists these keys under `required`. If the role lacks keys,
    the result forbids these keys.
    """
    required = [key for key in role["required"] if key not in shared["required"]]
    lacks = {key: False for key in shared["properties"] if key not in role["properties"]}
    differences = {**({"required": required} if required else {}), **({"properties": lacks} if lacks else {})}
    reference = {"$ref": f"#/definitions/{_ROLE}"}
    return {"allOf": [reference], **differences} if differences else reference


def _share(schema: dict[str, Any]) -> None:
    """Replace each long repeated node of a schema by a reference to a definition.

    The definition has the name of the first property whose schema is the node.
    """
    places: dict[str, list[tuple[dict[str, Any], str, bool]]] = {}
    for place in _nodes(schema):
        places.setdefault(json.dumps(place[0][place[1]]), []).append(place)
    gone: set[int] = set()
    for text, alike in sorted(places.items(), key=lambda item: -len(item[0])):  # parents before children
        remaining = [place for place in alike if id(place[0]) not in gone]
        names = [name for _, name, is_property in remaining if is_property and name not in schema["definitions"]]
        if len(text) < _LONG or len(remaining) < 2 or not names:
            continue
        first, *copies = [parent[key] for parent, key, _ in remaining]
        gone.update(id(parent) for copy in copies for parent, _, _ in _nodes(copy))
        schema["definitions"][names[0]] = first
        for parent, key, _ in remaining:
            parent[key] = {"$ref": f"#/definitions/{names[0]}"}


def _refer_to_bases(schema: dict[str, Any]) -> None:
    """Shorten each node that has the keyword `not` and repeats all keywords of a definition, such as its `pattern`.

    A `$ref` to the definition replaces the repeated keywords.
    """
    definitions = schema["definitions"]
    bases = {name: node for name, node in definitions.items() if "pattern" in node and "not" not in node}
    candidates = [(parent, key) for parent, key, _ in _nodes(schema)]
    for parent, key in [*candidates, *((definitions, name) for name in definitions)]:
        node = parent[key]
        name = next((name for name, base in bases.items() if "not" in node and base.items() <= node.items()), None)
        if name is not None:
            keywords = {keyword: value for keyword, value in node.items() if keyword not in bases[name]}
            parent[key] = {"allOf": [{"$ref": f"#/definitions/{name}"}], **keywords}


def _nodes(node: Any) -> Iterator[tuple[dict[str, Any], str, bool]]:
    """Yield the parent and the key of each node inside `node`, and whether the key is the name of a property.

    Example: ``({"replicas": {...}}, "replicas", True)``.
    """
    for keyword in ("properties", "definitions"):
        for name, child in node.get(keyword, {}).items():
            if isinstance(child, dict):
                if keyword == "properties":
                    yield node[keyword], name, True
                yield from _nodes(child)
    for keyword in ("items", "additionalProperties", "propertyNames"):
        if isinstance(node.get(keyword), dict):
            yield node, keyword, False
            yield from _nodes(node[keyword])


@functools.cache
def _forbidden_characters() -> str:
    """Return the characters that are forbidden in every text, as the inside of a character class `[...]`."""
    pattern: str = schema_file.load()["definitions"]["text"]["pattern"]
    return pattern.removeprefix("^[^").removesuffix("]*$")


def _characters() -> dict[str, Any]:
    """Return the schema that refuses the forbidden characters in a text. Values of other types are allowed."""
    text = schema_file.load()["definitions"]["text"]
    return {"pattern": text["pattern"], "not": text["not"]}


def _short(node: Any) -> Any:
    """Return a copy of a schema node without descriptions, defaults, examples and keywords of tfgen.

    If a pattern forbids special characters, a reference to a shared definition forbids these characters instead.
    """
    if not isinstance(node, dict):
        return [_short(item) for item in node] if isinstance(node, list) else node
    copy: dict[str, Any] = {
        keyword: {name: _short(child) for name, child in value.items()} if keyword in _NAMED else _short(value)
        for keyword, value in node.items()
        if keyword not in ("description", "default", "examples", "$comment") and not keyword.startswith("x-")
    }
    pattern: str = copy.get("pattern", "")
    forbidden = _forbidden_characters()
    if forbidden not in pattern:
        return _ordered(copy)
    # No other part of such a pattern matches one of these characters, so a separate constraint can refuse them.
    del copy["pattern"]
    if copy.get("not") == _characters()["not"]:
        del copy["not"]
    remaining = pattern.replace(f"[^{forbidden}]", r"[\s\S]").replace(forbidden, "")
    constraint = {} if remaining == r"^[\s\S]*$" else {"pattern": remaining}
    return _ordered({**copy, **constraint, "allOf": [{"$ref": f"#/definitions/{_CHARACTERS}"}]})


def _ordered(node: dict[str, Any]) -> dict[str, Any]:
    parts = {keyword: node[keyword] for keyword in _BELOW if isinstance(node.get(keyword), dict)}
    return {**{keyword: value for keyword, value in node.items() if keyword not in parts}, **parts}


# -- values that a workload kind or a profile lacks ---------------------------------------------------------------


def _keep_roles(mounted_by: dict[str, Any], paths: Sequence[ValuesPath]) -> None:
    """Remove the roles that the job does not have from `mounted_by`, the schema of the list `storage.NAME.for`.

    The values paths `paths` show the roles of the job, such as `roles.worker.replicas`. TensorBoard counts as a role.
    """
    mounting = {path[1] if path[0] == "roles" else path[0] for path in paths}
    mounted_by["items"]["enum"] = [role for role in mounted_by["items"]["enum"] if role in mounting]


def _remove_key(schema: dict[str, Any], path: Sequence[str]) -> None:
    """Remove the key at a path from a schema. The path may contain ``*`` for any key, as in ``storage.*.nfs``."""
    *parents, key = path
    node: Any = schema
    for step in parents:
        node = node.get("additionalProperties") if step == "*" else node.get("properties", {}).get(step)
        if not isinstance(node, dict):
            return
        if "$ref" in node:
            node = target(schema, node["$ref"])
    if node.get("properties", {}).pop(key, None) is not None and "oneOf" in node:
        node["oneOf"] = [choice for choice in node["oneOf"] if choice.get("required") != [key]]
