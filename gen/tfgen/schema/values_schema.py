"""values.schema.json: what a chart's user may set, in draft-07 and in few words.

    {"worker": {"allOf": [{"$ref": "#/definitions/role"}], "required": ["replicas"]}}

It accepts of the values what the job schema accepts of a job. What several places have alike stands once, as a
definition: a role, which characters a text may have, and whatever else is said twice. What a value is for, values.yaml
says. Both libraries that Helm has had read it (gojsonschema until 3.17,
santhosh-tekuri/jsonschema since): in draft-07 nothing counts that stands beside a `$ref`, so what does not stand alone
stands in `allOf`.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.schema import file as schema_file
from tfgen.schema.chart_values import chart_values
from tfgen.schema.file import Schema, target, used_definitions
from tfgen.schema.tunables import CHART_ACCEPTS, ValuesPath, all_leaves
from tfgen.schema.values_form import ValuesForm, once_a_form
from tfgen.text import json_text
from tfgen.value_type import MAX_INTEGER

_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_ROLE: Final = "role"
_CHARACTERS: Final = "characters"
_IN_VALUES: Final = "InValues"
"""The end of the name of a definition whose texts a chart's user may set as numbers."""
_LONG: Final = 80
"""Characters of a node that is worth a definition."""
_NAMED: Final = ("properties", "definitions")
"""Keywords whose keys are names, and no keywords."""
_BELOW: Final = ("items", "propertyNames", "additionalProperties", *_NAMED)
"""Keywords that say of what is in a value what it may be. They stand behind those that speak of the value itself."""


@once_a_form
def values_schema(form: ValuesForm) -> Schema:
    """The schema of a chart's values. It is shared: nobody changes it.

    Every key that a template reads is required, so that a null (which Helm takes for "remove") is refused instead of
    printed. A key that no template reads is optional, because an environment of the job may set the key. Helm adds
    `global` to a subchart's values, and `enabled` is where a parent's condition stands.
    """
    root = _closed()
    own = {name: _short(node) for name, node in chart_values(form.environments).items()}
    root["properties"] = {"global": {"type": "object"}, "enabled": {"type": "boolean"}, **own}
    for path in form.paths:
        *records, key = path
        place = root
        for record in records:
            place["required"] += [record] if record not in place["required"] else []
            place = place["properties"].setdefault(record, _closed())
        place["properties"][key] = _accepted(all_leaves()[path].written)
        place["required"].append(key)
    for path in form.idle:
        *records, key = path
        place = root
        for record in records:
            place = place["properties"].setdefault(record, _closed())
        leaf = all_leaves()[path]
        # The guards of a gang refuse each value that the scheduler does not know, but for the default.
        is_of_gang = path[0] == "gang"
        place["properties"][key] = {"enum": [leaf.tunable.default]} if is_of_gang else _accepted(leaf.written)
    schema = {"$schema": _DRAFT, **root, "definitions": json.loads(_definitions())}
    _keep_roles(schema["definitions"]["volume"]["properties"]["for"], form.paths)
    for lacking in form.lacks:
        _take_out(schema, lacking.split("."))
    roles = root["properties"]["roles"]["properties"]
    schema["definitions"][_ROLE] = _shared(roles)
    roles.update({name: _of_shared(role, schema["definitions"][_ROLE]) for name, role in roles.items()})
    schema["definitions"] = used_definitions(root, schema["definitions"])
    _share(schema)
    _refer_to_bases(schema)
    return {**schema, "definitions": dict(sorted(schema["definitions"].items()))}


def _accepted(node: Schema) -> Any:
    """The node of a value, in short, with the types that the chart accepts in place of a text."""
    types = schema_file.resolve(schema_file.load(), node).get(CHART_ACCEPTS)
    if not types:
        return _short(node)
    return {"$ref": f"{node['$ref']}{_IN_VALUES}"} if "$ref" in node else _short(_with_types(node, types))


def _in_values(node: Schema) -> Any:
    """The node of a map or list of texts, in short, with the types that the chart accepts in place of each text."""
    (place,) = (key for key in ("additionalProperties", "items") if key in node)
    entry = schema_file.resolve(schema_file.load(), node[place])
    return _short({**node, place: _with_types(entry, node[CHART_ACCEPTS])})


def _with_types(node: Schema, types: Sequence[str]) -> Schema:
    """The node of a text with more types, and with the range of the integers whose digits the text allows."""
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
    """The same as the chart's file has it."""
    return json_text.dump(values_schema(form), listings=_NAMED)


@functools.cache
def _definitions() -> str:
    """The definitions that values may refer to, in short. As text, of which each schema has a copy that it changes."""
    values = {"values": [leaf.written for leaf in all_leaves().values()]}
    used = used_definitions(values, schema_file.load()["definitions"])
    accepting = {f"{name}{_IN_VALUES}": _in_values(node) for name, node in used.items() if CHART_ACCEPTS in node}
    return json.dumps({**{name: _short(node) for name, node in used.items()}, **accepting, _CHARACTERS: _characters()})


# -- what several places have alike --------------------------------------------------------------------------------


def _shared(roles: Mapping[str, Schema]) -> dict[str, Any]:
    """What all roles are: they have the same keys, but some lack one."""
    properties = {key: node for role in roles.values() for key, node in role["properties"].items()}
    return {
        **_closed(),
        "required": [key for key in properties if all(key in role["required"] for role in roles.values())],
        "properties": properties,
    }


def _of_shared(role: Schema, shared: Schema) -> dict[str, Any]:
    """A role, by what it has beyond the required keys of all, and by what it lacks of the others."""
    more = [key for key in role["required"] if key not in shared["required"]]
    lacks = {key: False for key in shared["properties"] if key not in role["properties"]}
    own = {**({"required": more} if more else {}), **({"properties": lacks} if lacks else {})}
    reference = {"$ref": f"#/definitions/{_ROLE}"}
    return {"allOf": [reference], **own} if own else reference


def _share(schema: dict[str, Any]) -> None:
    """Makes a definition of each long node that stands in several places, by the name of the first that has one."""
    places: dict[str, list[tuple[dict[str, Any], str, bool]]] = {}
    for place in _nodes(schema):
        places.setdefault(json.dumps(place[0][place[1]]), []).append(place)
    gone: set[int] = set()
    for text, alike in sorted(places.items(), key=lambda item: -len(item[0])):  # the whole before its parts
        there = [place for place in alike if id(place[0]) not in gone]
        names = [name for _, name, is_property in there if is_property and name not in schema["definitions"]]
        if len(text) < _LONG or len(there) < 2 or not names:
            continue
        first, *copies = [parent[key] for parent, key, _ in there]
        gone.update(id(parent) for copy in copies for parent, _, _ in _nodes(copy))
        schema["definitions"][names[0]] = first
        for parent, key, _ in there:
            parent[key] = {"$ref": f"#/definitions/{names[0]}"}


def _refer_to_bases(schema: dict[str, Any]) -> None:
    """Makes of each text that is a definition's, but for some that it may not be, a reference with these alone."""
    definitions = schema["definitions"]
    bases = {name: node for name, node in definitions.items() if "pattern" in node and "not" not in node}
    inner = [(parent, key) for parent, key, _ in _nodes(schema)]
    for parent, key in [*inner, *((definitions, name) for name in definitions)]:
        node = parent[key]
        name = next((name for name, base in bases.items() if "not" in node and base.items() <= node.items()), None)
        if name is not None:
            more = {keyword: value for keyword, value in node.items() if keyword not in bases[name]}
            parent[key] = {"allOf": [{"$ref": f"#/definitions/{name}"}], **more}


def _nodes(node: Any) -> Iterator[tuple[dict[str, Any], str, bool]]:
    """Each node below another: what has it, its key there, and whether the key is a property's name."""
    for keyword in ("properties", "definitions"):
        for name, inner in node.get(keyword, {}).items():
            if isinstance(inner, dict):
                if keyword == "properties":
                    yield node[keyword], name, True
                yield from _nodes(inner)
    for keyword in ("items", "additionalProperties", "propertyNames"):
        if isinstance(node.get(keyword), dict):
            yield node, keyword, False
            yield from _nodes(node[keyword])


@functools.cache
def _uncarried() -> str:
    """The characters that no text may have, as they stand in a class of a regular expression."""
    pattern: str = schema_file.load()["definitions"]["text"]["pattern"]
    return pattern.removeprefix("^[^").removesuffix("]*$")


def _characters() -> dict[str, Any]:
    """The characters that a text may have; it says nothing of other values."""
    text = schema_file.load()["definitions"]["text"]
    return {"pattern": text["pattern"], "not": text["not"]}


def _short(node: Any) -> Any:
    """A copy of a node without what a validator passes over, and with the characters of texts by reference."""
    if not isinstance(node, dict):
        return [_short(item) for item in node] if isinstance(node, list) else node
    copy: dict[str, Any] = {
        keyword: {name: _short(inner) for name, inner in value.items()} if keyword in _NAMED else _short(value)
        for keyword, value in node.items()
        if keyword not in ("description", "default", "examples", "$comment") and not keyword.startswith("x-")
    }
    pattern: str = copy.get("pattern", "")
    uncarried = _uncarried()
    if uncarried not in pattern:
        return _ordered(copy)
    # Nothing else in such a pattern takes one of these characters, so that they may be refused apart from it.
    del copy["pattern"]
    if copy.get("not") == _characters()["not"]:
        del copy["not"]
    rest = pattern.replace(f"[^{uncarried}]", r"[\s\S]").replace(uncarried, "")
    more = {} if rest == r"^[\s\S]*$" else {"pattern": rest}
    return _ordered({**copy, **more, "allOf": [{"$ref": f"#/definitions/{_CHARACTERS}"}]})


def _ordered(node: dict[str, Any]) -> dict[str, Any]:
    below = {keyword: node[keyword] for keyword in _BELOW if isinstance(node.get(keyword), dict)}
    return {**{keyword: value for keyword, value in node.items() if keyword not in below}, **below}


# -- what a workload kind, or a profile, does without -------------------------------------------------------------


def _keep_roles(mounted_by: dict[str, Any], paths: Sequence[ValuesPath]) -> None:
    """Leaves, of those that may mount a volume, the job's roles, and TensorBoard where the job has it."""
    there = {path[1] if path[0] == "roles" else path[0] for path in paths}
    mounted_by["items"]["enum"] = [role for role in mounted_by["items"]["enum"] if role in there]


def _take_out(schema: dict[str, Any], path: Sequence[str]) -> None:
    """Takes a key out of the entries of a map, such as ``storage.*.nfs``, where the values schema has it."""
    *above, key = path
    node: Any = schema
    for step in above:
        node = node.get("additionalProperties") if step == "*" else node.get("properties", {}).get(step)
        if not isinstance(node, dict):
            return
        if "$ref" in node:
            node = target(schema, node["$ref"])
    if node.get("properties", {}).pop(key, None) is not None and "oneOf" in node:
        node["oneOf"] = [choice for choice in node["oneOf"] if choice.get("required") != [key]]
