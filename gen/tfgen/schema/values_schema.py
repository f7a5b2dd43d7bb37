"""Writes values.schema.json: the schema of a chart's values, in draft-07 and as short as possible.

    {"worker": {"allOf": [{"$ref": "#/definitions/role"}], "required": ["replicas"]}}

The schema accepts the values that the job schema accepts. Repeated nodes, such as the node of a role, share a
definition. Each of Helm's two libraries can read the schema: gojsonschema (until Helm 3.17) and
santhosh-tekuri/jsonschema. In draft-07, keywords next to a `$ref` have no effect, so such keywords are in `allOf`. Only
a description is next to a `$ref`: editors show the description, and Helm ignores it.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.data_path import MAX_INTEGER
from tfgen.kubernetes.pods import Profile, refuses
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema import kinds, tunables
from tfgen.schema.file import Schema, target, used_definitions
from tfgen.schema.hints import CHART_WORDS, choices
from tfgen.schema.tunables import CHART_ACCEPTS, ValuesPath, all_tunables, chart_values, environments_if_patched
from tfgen.text import yaml_text
from tfgen.words import either

# -- the paths of the values -------------------------------------------------------------------------------------------
#
# Most jobs of a team have the same paths in values.yaml. tfgen therefore caches the texts that depend only on the
# paths.


class ValuesForm(Record):
    """The paths of a chart's values, without the values. Charts with equal `ValuesForm` share cached texts.

    Attributes:
        paths: the paths of the values, in the order of the schema.
        unsupported_paths: the paths that the workload kind or the Pod Security profile of a job does not support, such
            as ``storage.*.nfs``.
        environments: the names of all environments if an environment of the job sets `patches`; or else empty.
        idle: the paths of values that a job or an environment may set, but that no template reads.
        volumes: the name and the source of each volume in the job, such as ``("model", "claim")``. The source of an
            existing claim is ``claim.name``.
    """

    paths: tuple[ValuesPath, ...]
    unsupported_paths: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    idle: tuple[ValuesPath, ...] = ()
    volumes: tuple[tuple[str, str], ...] = ()


once_a_form: Final = functools.lru_cache(maxsize=64)
"""Decorator that caches the results of a function for the 64 most recently used `ValuesForm` arguments."""


class ValuesPart(NamedTuple):
    """A part of a chart file that contains values, such as an entry of values.yaml with its comment.

    Attributes:
        paths: the paths of the values.
        start: the text before the values.
        write: function that returns the text of the values. The argument has the value of each path, in the same order;
            None for an optional value that is not set.
        end: the text after the values.
    """

    paths: Sequence[ValuesPath]
    start: str
    write: Callable[[Sequence[Any]], str]
    end: str = ""

    def text(self, values: Mapping[str, Any]) -> str:
        """Return the text of the part. `values` are the complete values of a job."""
        return f"{self.start}{self.write([data_path.at(values, path) for path in self.paths])}{self.end}"


def values_form(spec: Mapping[str, Any]) -> ValuesForm:
    """Return the paths of the values in the chart of a job."""
    sources = choices(schema_file.load()["definitions"]["volume"])
    profile: Profile = spec.get("security", {}).get("profile", "restricted")
    refused = (f"storage.*.{source}" for source in sources if source != "claim" and refuses(profile, source))
    volumes = (
        (name, "claim.name" if "name" in volume.get("claim", {}) else next(key for key in sources if key in volume))
        for name, volume in sorted(spec.get("storage", {}).items())
    )
    return ValuesForm(
        paths=tuple(tunables.tunables(spec)),
        unsupported_paths=tuple(dict.fromkeys([*(key.path for key in kinds.unsupported_keys(spec)), *refused])),
        environments=environments_if_patched(spec),
        idle=tunables.idle_paths(spec),
        volumes=tuple(volumes),
    )


# -- descriptions ------------------------------------------------------------------------------------------------------
#
# Each value gets the description of its field in the job schema, next to its `$ref`, so that fields with different
# descriptions can share one definition.


_ENTRY: Final = "additionalProperties"


def _describe(node: dict[str, Any], source: Schema, schema: Schema) -> None:
    """Add descriptions to all schema nodes inside the schema node `node`.

    Args:
        node: the node of a value.
        source: the resolved node of the same value in the job schema.
        schema: the complete schema of the values, which contains the definitions.
    """
    target = _target(node, schema)
    for part in (node,) if target is node else (node, target):
        for name, child in part.get("properties", {}).items():
            field = schema_file.entry(schema_file.load(), source, name)
            if field and "description" in field and isinstance(child, dict):
                child["description"] = field["description"]
                _describe(child, field, schema)
    entry = schema_file.entry(schema_file.load(), source, "*")
    if entry is not None and isinstance(target.get(_ENTRY), dict):
        _describe(target[_ENTRY], entry, schema)


def _target(node: Schema, schema: Schema) -> Schema:
    """Follow the `$ref` of a node, or the `$ref` in the `allOf` of the node. Return other nodes unchanged."""
    if "properties" in node and node.get(_ENTRY) is False:
        return node
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


def values_schema(form: ValuesForm) -> dict[str, Any]:
    """Return the schema of a chart's values, without descriptions.

    Every key that a template reads is required, except for an optional tunable, such as the image of a role. So the
    schema refuses a null, with which Helm removes a key. A key that no template reads is optional, because an
    environment of the job may set the key.

    The schema allows `global`, which Helm adds to the values of subcharts. The schema also allows `enabled: true`,
    because a parent chart may use `enabled` as the condition for this chart. Helm validates no chart that a condition
    disables, so a validated `enabled: false` has no effect, and the schema refuses this value.
    """
    root = _closed()
    chart_only = {name: _short(node) for name, node in chart_values(form.environments).items()}
    root["properties"] = {"global": {"type": "object"}, "enabled": {"const": True}, **chart_only}
    for path in (*form.paths, *form.idle):
        tunable, is_read = all_tunables()[path], path not in form.idle
        *records, key = path
        place = root
        for record in records:
            if is_read and record not in place["required"]:
                place["required"].append(record)
            place = place["properties"].setdefault(record, _closed())
        # The guards of a gang refuse each value that the scheduler does not support, except the default.
        is_refused = not is_read and path[0] == "gang"
        place["properties"][key] = {"enum": [tunable.default]} if is_refused else _accepted(tunable.written)
        if is_read and not tunable.is_optional:
            place["required"].append(key)
    schema = {"$schema": _DRAFT, **root, "definitions": json.loads(_definitions())}
    # Only the roles of the job can mount a volume. TensorBoard counts as a role.
    mounting = {path[1] if path[0] == "roles" else path[0] for path in form.paths}
    mounted_by = schema["definitions"]["volume"]["properties"]["for"]["items"]
    mounted_by["enum"] = [role for role in mounted_by["enum"] if role in mounting]
    for lacking in form.unsupported_paths:
        _remove_key(schema, lacking.split("."))
    roles = root["properties"]["roles"]["properties"]
    schema["definitions"][_ROLE] = _shared(roles)
    roles.update({name: _reference_to_shared(role, schema["definitions"][_ROLE]) for name, role in roles.items()})
    schema["definitions"] = used_definitions(root, schema["definitions"])
    _share(schema)
    _advise(schema, form)
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


def values_schema_text(form: ValuesForm) -> str:
    """Return the text of values.schema.json, with descriptions."""
    schema = values_schema(form)
    job = schema_file.load()
    spec = schema_file.resolve(job, job["properties"]["spec"])
    source = {**spec, "properties": {**chart_values(form.environments), **spec["properties"]}}
    _describe(schema, source, schema)
    return yaml_text.json_lines(schema, listings=_NAMED)


@functools.cache
def _definitions() -> str:
    """Return the definitions of the job schema that chart values use, without descriptions and defaults, as JSON text.

    The result is a text, because each caller needs a separate copy of the definitions that the caller may change.
    """
    values = {"values": [tunable.written for tunable in all_tunables().values()]}
    used = used_definitions(values, schema_file.load()["definitions"])
    definitions = {name: _short(node) for name, node in used.items()}
    for name, node in used.items():
        if CHART_ACCEPTS in node:  # a map or a list of texts
            place = "items" if "items" in node else "additionalProperties"
            entry = schema_file.resolve(schema_file.load(), node[place])
            definitions[f"{name}{_IN_VALUES}"] = _short({**node, place: _with_types(entry, node[CHART_ACCEPTS])})
    # The characters that are forbidden in every text. Values of other types are allowed.
    text = schema_file.load()["definitions"]["text"]
    return json.dumps({**definitions, _CHARACTERS: {"pattern": text["pattern"], "not": text["not"]}})


# -- advice --------------------------------------------------------------------------------------------------------
#
# Helm prints the value of a `const` that does not match, so a sentence as the `const` tells users what to set. A schema
# such as `{"podLabels": {"const": "unset; use labels"}}` gives these messages of Helm 4 and of Helm 3.14:
#
#     at '/podLabels': value must be 'unset; use labels'
#     podLabels: podLabels does not match: "unset; use labels"


_RESERVED: Final = {"const": "unset; the name is reserved"}


def _advise(schema: dict[str, Any], form: ValuesForm) -> None:
    """Add messages about mistakes of people who know other charts. The messages name the key that works here."""
    values, definitions = schema["properties"], schema["definitions"]
    image = values["image"]["$ref"].rpartition("/")[2]
    definitions[image] = _unless({"type": "object"}, "a text: REGISTRY/NAME:TAG", definitions[image])
    if secrets := values.get("imagePullSecrets"):
        mapping = "a mapping: {name: SECRET}"
        secrets["items"] = _unless({"type": "string"}, mapping, secrets["items"])
    schema["patternProperties"] = {
        f"^({'|'.join(words)})$": {"const": f"unset; use {key}"} for key, words in _other_words(values, form).items()
    }
    _advise_on_volumes(values["storage"], definitions, form)
    _locate_reserved_names(schema)


def _insert(node: dict[str, Any], keyword: str, value: Any) -> None:
    """Add a keyword to a schema node, before the keywords that constrain nested values."""
    ordered = _ordered({**node, keyword: value})
    node.clear()
    node.update(ordered)


def _at(key: str, node: Schema) -> dict[str, Any]:
    """Return a schema for a single key. Unlike `properties`, the text of a pattern has no line of its own."""
    return {"patternProperties": {f"^{key}$": node}}


def _unless(mistake: Schema, message: str, node: Any) -> dict[str, Any]:
    return {"if": mistake, "then": {"const": message}, "else": node}


def _other_words(values: Mapping[str, Any], form: ValuesForm) -> Mapping[str, list[str]]:
    """Return the names that other charts have for a value of this chart, by the name of the value."""
    words: dict[str, list[str]] = {}
    for word, key in CHART_WORDS.items():
        is_of_role, last = key.startswith("roles."), key.rpartition(".")[2]
        paths = (path for path in form.paths if is_of_role and path[0] == "roles" and path[2] == last)
        roles = [*dict.fromkeys(path[1] for path in paths)]
        if len(roles) > 1:
            key = f"roles.ROLE.{last}, where ROLE is {either(roles)}"
        elif roles:
            key = f"roles.{roles[0]}.{last}"
        if word not in values and (roles or key in values):
            words.setdefault(key, []).append(word)
    return words


def _locate_reserved_names(schema: dict[str, Any]) -> None:
    """Replace each `not` of a `propertyNames` by a pattern of properties.

    Helm 4 reports a violated `propertyNames` at an arbitrary place.
    """
    definitions = schema["definitions"]
    for node in [*_objects(schema)]:
        names = node.get("propertyNames", {})
        name = names.get("$ref", "").rpartition("/")[2]
        allowed = dict(definitions[name] if name else names)
        refused = allowed.pop("not", {})
        patterns = (
            [f"^({'|'.join(refused['enum'])})$"]
            if "enum" in refused
            else [one["pattern"] for one in refused.get("anyOf", [refused]) if one.get("pattern", "").startswith("^")]
        )
        if not patterns:
            continue
        base = next((base for base, definition in definitions.items() if definition == allowed), None)
        rules = {
            "propertyNames": {"$ref": f"#/definitions/{base}"} if base else allowed,
            "patternProperties": dict.fromkeys(patterns, _RESERVED),
        }
        if name:
            del node["propertyNames"]
            definitions[f"{name}s"] = rules
            _insert(node, "allOf", [{"$ref": f"#/definitions/{name}s"}])
        else:
            node.update(rules)
    schema["definitions"] = used_definitions({**schema, "definitions": {}}, definitions)


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    """Yield each mapping in a schema."""
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _objects(child)


def _advise_on_volumes(storage: dict[str, Any], definitions: dict[str, Any], form: ValuesForm) -> None:
    """Let the name of an existing claim replace a new claim, and add messages about volumes with several sources.

    Helm merges a user's name of a claim over the claim of the job, so the claim also has the keys of the new claim. The
    reverse is a mistake: without a message, the size of a new claim would have no effect beside the name in the job.
    """
    volume = definitions["volume"]
    claim = volume["properties"]["claim"]
    _insert(claim, "anyOf", claim.pop("oneOf"))
    del claim["dependencies"]
    definitions["oneSource"] = {"oneOf": volume.pop("oneOf")}
    _insert(volume, "allOf", [{"$ref": "#/definitions/oneSource"}])
    volumes: dict[str, Any] = {}
    for name, source_path in form.volumes:
        source, *key = source_path.split(".")
        path = f"storage.{name}.{source}"
        remove = {"const": f"null, by --set {path}=null"}
        volumes[name] = {
            "allOf": [{"$ref": "#/definitions/volume"}],
            "if": {"$ref": "#/definitions/oneSource"},
            "else": _at(source, remove),
        }
        if key:
            size = {"const": f"unset; for a new claim, add --set {path}.name=null"}
            volumes[name] |= _at("claim", {"if": {"required": ["name"]}, "then": _at("size", size)})
    if volumes:
        storage["properties"] = volumes


# -- shared definitions --------------------------------------------------------------------------------------------


def _shared(roles: Mapping[str, Schema]) -> dict[str, Any]:
    """Return the shared definition of all roles, with each key that at least one role has.

    If the schemas of a key differ, as for the resources of a role with a device class, the definition accepts each
    value of the key.
    """
    properties: dict[str, Any] = {}
    for role in roles.values():
        for key, node in role["properties"].items():
            properties[key] = node if properties.get(key, node) == node else {}
    return {
        **_closed(),
        "required": [key for key in properties if all(key in role["required"] for role in roles.values())],
        "properties": properties,
    }


def _reference_to_shared(role: Schema, shared: Schema) -> dict[str, Any]:
    """Return the schema of a role as a `$ref` to `shared`, the schema of all roles.

    If the role requires more keys than `shared`, the result lists these keys under `required`. If the role lacks keys,
    the result forbids these keys. If `shared` accepts each value of a key, the result has the schema of the key.
    """
    required = [key for key in role["required"] if key not in shared["required"]]
    own = {
        key: role["properties"].get(key, False)
        for key, node in shared["properties"].items()
        if key not in role["properties"] or node == {}
    }
    differences = {**({"required": required} if required else {}), **({"properties": own} if own else {})}
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
    text = schema_file.load()["definitions"]["text"]
    pattern: str = copy.get("pattern", "")
    forbidden: str = text["pattern"].removeprefix("^[^").removesuffix("]*$")
    if forbidden not in pattern:
        return _ordered(copy)
    # No other part of such a pattern matches one of these characters, so a separate constraint can refuse them.
    del copy["pattern"]
    if copy.get("not") == text["not"]:
        del copy["not"]
    remaining = pattern.replace(f"[^{forbidden}]", r"[\s\S]").replace(forbidden, "")
    constraint = {} if remaining == r"^[\s\S]*$" else {"pattern": remaining}
    return _ordered({**copy, **constraint, "allOf": [{"$ref": f"#/definitions/{_CHARACTERS}"}]})


def _ordered(node: dict[str, Any]) -> dict[str, Any]:
    parts = {keyword: node[keyword] for keyword in _BELOW if isinstance(node.get(keyword), dict)}
    return {**{keyword: value for keyword, value in node.items() if keyword not in parts}, **parts}


# -- values that a workload kind or a profile lacks ---------------------------------------------------------------


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
