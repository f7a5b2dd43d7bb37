"""Jobs for hypothesis, drawn from the job's own schema, with hostile text wherever it takes text.

    @given(jobs())
    def test_law(document): ...

hypothesis-jsonschema cannot be used: it unfolds references, and the schema's refer to themselves. This walks the
schema instead, so a new property is drawn as soon as it stands there. Only what the schema leaves open (Kubernetes'
own structures) is given a realistic shape here, since garbage there would test kustomize's manners, not ours.
"""

from __future__ import annotations

import functools
import itertools
import json
import operator
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, assume, settings
from hypothesis import strategies as st

from tests.tools import ROOT
from tfgen.check import check
from tfgen.problems import has_errors

Schema = Mapping[str, Any]
Document = Mapping[str, Any]
Strategy = st.SearchStrategy[Any]

SCHEMA: Schema = json.loads((ROOT / "schemas" / "trainingjob.v1alpha1.schema.json").read_text(encoding="utf-8"))

HOSTILE = (
    "",
    "y",
    "N",
    "on",
    "no",
    "null",
    "true",
    "~",
    "=",
    "1e3",
    "1234e56",
    "08",
    "0o17",
    "0x1F",
    "0b1",
    "1_000",
    ".5",
    "-",
    "2026-01-01",
    "12:30:45",
    "- item",
    "key: value",
    "#no comment",
    "trailing ",
    " leading",
    "a\ttab",
    "two\nlines",
    "two\nlines\n",
    "\n\n",
    " \n indented\n",
    "'single' and \"double\"",
    "back\\slash\\n",
    "{{ .Values.image }}",
    "{{- fail `x` -}}",
    "{{",
    "}}",
    "{{{{",
    '{"a":{"b":{}}}',
    "{{/* no comment */}}",
    "$(TASK_INDEX)",
    "$(MISSING) $$(ESCAPED)",
    "${HOME}",
    "$patch",
    "%s %d %%",
    "`backtick`",
    "*alias &anchor !tag",
    "<<",
    "--- ",
    "...",
    "Grüße, 世界",
    "e\u0301\u200d\u202e\u00a0\u00ad",
    "\U0001f680",
    "x" * 200,
    "words " * 40,
)
"""Text that YAML, Go's templates, printf, the shell or Kubernetes could take for something else."""

_REFUSED = "\x7f\u2028\u2029\ufeff"
_CHARACTERS = st.characters(
    exclude_categories=["Cs", "Cn", "Cc"], include_characters="\t\n", exclude_characters=_REFUSED
)
TEXT: Strategy = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(_CHARACTERS, max_size=12),
    st.lists(st.sampled_from(HOSTILE[:-2]), min_size=2, max_size=4).map("".join),
)


# -- what the schema leaves open ----------------------------------------------------------------------------------

_ALWAYS = {"name", "key", "operator", "values", "topologyKey", "nodeSelectorTerms"}


def like(example: Any) -> Strategy:
    """Structures of the example's shape: its keys (all but those of `_ALWAYS` may be missing), its kinds of item."""
    if isinstance(example, st.SearchStrategy):
        return example
    if isinstance(example, dict):
        inner = {key: like(value) for key, value in example.items()}
        always = {key: node for key, node in inner.items() if key in _ALWAYS}
        return st.fixed_dictionaries(always, optional={key: inner[key] for key in inner if key not in always})
    if isinstance(example, list):
        unique = (lambda item: item["name"]) if isinstance(example[0], dict) and "name" in example[0] else None
        return st.lists(like(example[0]), min_size=1, max_size=2, unique_by=unique)
    return st.just(example)


_IMAGES = st.sampled_from(["registry.example.com/ml/train:1", "a", "r:5000/a:b@sha256:" + "1" * 64])
_LABELS = {"zone": "", "example.com/on": "y", "08": "N"}
_TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": _LABELS}}
_AFFINITY = like(
    {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "08", "operator": "In", "values": [TEXT]}]}]
            }
        },
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_TERM]},
        "podAntiAffinity": {},
    }
)
_CONTAINER = {
    "image": _IMAGES,
    "command": [TEXT],
    "env": [{"name": st.sampled_from(["A", "N"]), "value": TEXT}],
    "resources": st.sampled_from([{}, {"limits": {"cpu": 1, "memory": "1Gi"}}]),
    "volumeMounts": st.just([{"name": "tmp", "mountPath": "/tmp"}]),
    "securityContext": st.sampled_from([{}, {"runAsUser": 7}, {"readOnlyRootFilesystem": False}]),
}
_POD_TEMPLATE = like(
    {
        "metadata": {"annotations": {"example.com/note": TEXT, "1e3": TEXT}, "labels": {"example.com/y": "08"}},
        "spec": {
            "hostAliases": st.just([{"ip": "10.0.0.1", "hostnames": ["a", "1e3"]}]),
            "dnsConfig": {"searches": [TEXT]},
            "enableServiceLinks": st.sampled_from([None, True]),
            "containers": st.lists(
                like(
                    {
                        "name": "tensorflow",
                        "readinessProbe": None,
                        "lifecycle": {"preStop": {"exec": {"command": [TEXT]}, "sleep": {"seconds": 2**53 - 1}}},
                    }
                ),
                min_size=1,
                max_size=1,
            ),
            "volumes": [{"name": st.sampled_from(["of-template", "tmp"]), "emptyDir": {"sizeLimit": "1Gi"}}],
        },
    }
)
_BY_DEFINITION: Mapping[str, Strategy] = {
    "text": TEXT,
    "affinityRule": _AFFINITY,
    "podTemplate": _POD_TEMPLATE,
    # kustomize breaks an annotation whose whole name reads as a number, a date or null, however it is quoted.
    "annotations": st.dictionaries(st.sampled_from(["y", "N", "on", "example.com/1e3", "a"]), TEXT, max_size=4),
}
_BY_KEY: Mapping[str, Strategy] = {
    "by": st.just(""),
    "image": st.one_of(_IMAGES, st.from_regex("[A-Za-z0-9][A-Za-z0-9._:/@-]*", fullmatch=True)),
    "initContainers": like([{"name": st.sampled_from(["first", "second"]), **_CONTAINER}]),
    "sidecars": like([{"name": st.sampled_from(["log", "metrics"]), **_CONTAINER}]),
    "labelSelector": like({"matchLabels": _LABELS}),
    # The rest of these ranges takes time, or is refused.
    "replicas": st.integers(1, 12),
    "minAvailable": st.integers(0, 4),
    "containerPort": st.sampled_from([53, 8080, 9090]),
    "sources": st.lists(
        st.sampled_from(
            [{"configMap": {"name": "y"}}, {"secret": {"name": "08"}}, {"serviceAccountToken": {"path": "on"}}]
        ),
        min_size=1,
        max_size=3,
    ),
}
# Kubernetes takes these lists for maps by these keys, and refuses what is there twice.
_MAP_KEYS = (("topologyKey", "whenUnsatisfiable"), ("containerPort",), ("name",))


# -- what the schema says -----------------------------------------------------------------------------------------


def drawn_from(found: Schema) -> Strategy:
    """A strategy for the values of a schema node."""
    if "$ref" in found:
        return _referred(found["$ref"])
    if "const" in found:
        return st.just(found["const"])
    if "enum" in found:
        return st.sampled_from(found["enum"])
    types = [found["type"]] if isinstance(found["type"], str) else found["type"]
    return st.one_of([_OF_TYPE[kind](found) for kind in types])


@functools.cache
def _referred(ref: str) -> Strategy:
    name = ref.removeprefix("#/definitions/")
    if name in _BY_DEFINITION:
        return _BY_DEFINITION[name]
    return st.deferred(lambda: drawn_from(SCHEMA["definitions"][name]))


def _string(found: Schema) -> Strategy:
    pattern, longest, banned = found.get("pattern", ""), found.get("maxLength", 10_000), found.get("not", {})

    def fits(text: str) -> bool:
        # Python's $ also matches before a last line break.
        return (
            re.search(pattern.replace("$", r"\Z"), text) is not None
            and len(text) <= longest
            and text not in banned.get("enum", ())
            and not ("pattern" in banned and re.search(banned["pattern"], text))
        )

    if "[^" in pattern:  # free text, perhaps after a slash
        slash = "" if re.search(pattern, "a") else "/"
        return TEXT.map(lambda text: slash + text.replace(":", "")).filter(fits)
    made = st.from_regex(pattern, fullmatch=True).filter(fits)
    known = [text for text in HOSTILE if fits(text)]
    return st.one_of(st.sampled_from(known), made) if known else made


def _integer(found: Schema) -> Strategy:
    low, high = found["minimum"], found["maximum"]
    return st.one_of(st.sampled_from([low, high]), st.integers(low, high))


def _array(found: Schema) -> Strategy:
    items, least = found["items"], found.get("minItems", 0)
    for keys in _MAP_KEYS:
        if items.get("properties", {}).keys() >= {*keys}:
            named = operator.itemgetter(*keys)
            return st.lists(drawn_from(items), min_size=least, max_size=3, unique_by=named)
    return st.lists(drawn_from(items), min_size=least, max_size=3, unique=found.get("uniqueItems", False))


def _object(found: Schema) -> Strategy:
    if "properties" in found:
        return _record(found)
    return st.dictionaries(
        drawn_from({"type": "string", **found["propertyNames"]}),
        drawn_from(found["additionalProperties"]),
        min_size=found.get("minProperties", 0),
        max_size=4,
    )


def _record(found: Schema) -> Strategy:
    """An object with named properties: all that are required, and a few of the others."""
    properties = {
        key: _BY_KEY[key] if key in _BY_KEY else drawn_from(written) for key, written in found["properties"].items()
    }
    required = {*found.get("required", ())}
    choices = [choice["required"][0] for choice in found.get("oneOf", ())]

    @st.composite
    def record(draw: st.DrawFn) -> dict[str, Any]:
        there = required | ({draw(st.sampled_from(choices))} if choices else set())
        others = sorted(properties.keys() - there - {*choices})
        if found.get("maxProperties") == 1:
            there |= {draw(st.sampled_from(others))}
        elif others:
            there |= draw(st.sets(st.sampled_from(others), min_size=found.get("minProperties", 0), max_size=6))
        for key, needed in found.get("dependencies", {}).items():
            there -= {key} if not there.issuperset(needed) else set()
        return {key: draw(node) for key, node in properties.items() if key in there}

    return record()


_OF_TYPE: Mapping[str, Callable[[Schema], Strategy]] = {
    "string": _string,
    "integer": _integer,
    "boolean": lambda _: st.booleans(),
    "array": _array,
    "object": _object,
}


# -- whole jobs ---------------------------------------------------------------------------------------------------

_SPEC_SCHEMA = SCHEMA["properties"]["spec"]
_NOT_DRAWN = ("strategy", "legacyFlags", "image", "roles", "environments")
_SPEC = _record({"properties": {key: n for key, n in _SPEC_SCHEMA["properties"].items() if key not in _NOT_DRAWN}})
# Strategy, what ends the job where it is not the default, and the roles that go with them.
_STRATEGIES: Sequence[tuple[str, str, Sequence[str]]] = (
    ("ParameterServer", "", ("chief", "ps", "worker")),
    ("ParameterServer", "", ("chief", "ps", "worker", "evaluator")),
    ("ParameterServer", "Worker0", ("ps", "worker", "evaluator")),
    ("ParameterServer", "AllWorkers", ("ps", "worker")),
    ("MultiWorkerMirrored", "", ("worker",)),
    ("MultiWorkerMirrored", "AllWorkers", ("worker", "evaluator")),
    ("Single", "", ("chief",)),
)
_ROLES = {role: drawn_from(node) for role, node in _SPEC_SCHEMA["properties"]["roles"]["properties"].items()}
_JOB_NAMES = st.one_of(
    st.sampled_from(["dist-mnist", "y", "on", "null", "e1"]),
    st.from_regex(r"[a-z][-a-z0-9]{0,8}[a-z0-9]", fullmatch=True),
)
_ENVIRONMENT_NAMES = st.sampled_from(["dev", "prod", "y", "on", "1e3", "08", "null"])


@st.composite
def jobs(draw: st.DrawFn, *, environments: int = 2) -> dict[str, Any]:
    """Documents that tfgen's own check accepts, each with as many environments."""
    strategy, by, names = draw(st.sampled_from(_STRATEGIES))
    roles = {role: draw(_ROLES[role]) for role in draw(st.permutations(names))}
    spec = {**draw(_SPEC), "strategy": strategy, "image": draw(_IMAGES), "roles": roles}
    if by:
        spec["completion"] = {**spec.get("completion", {}), "by": by}
    for role, key in itertools.product(roles.values(), ("initContainers", "sidecars")):
        if key in spec:
            role.pop(key, None)  # or a name could be there twice
    names = draw(st.sets(_ENVIRONMENT_NAMES, min_size=environments, max_size=environments))
    spec["environments"] = {name: draw(overrides(spec)) for name in sorted(names)}
    document = {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": draw(_JOB_NAMES)},
        "spec": spec,
    }
    assume(accepted(document))
    return document


@st.composite
def overrides(draw: st.DrawFn, spec: Mapping[str, Any]) -> dict[str, Any]:
    """What an environment, or a user of the chart, may set in the sections that the job has.

    New entries in the job's maps, and for some of the old ones a null, which removes them, or another content.
    """
    said = _in_sections(draw(_OVERRIDES), spec, _OVERRIDABLE)
    roles = {role: draw(_ROLE_OVERRIDES[role]) for role in sorted(spec["roles"]) if draw(st.booleans())}
    volumes = {name: draw(_changed(old)) for name, old in spec.get("storage", {}).items() if draw(st.booleans())}
    if volumes or "storage" in said:
        new = {name: v for name, v in said.get("storage", {}).items() if name not in spec.get("storage", {})}
        said["storage"] = {**new, **volumes}
    _remove_some(draw, said, spec)
    for role, inner in roles.items():
        _remove_some(draw, inner, spec["roles"][role])
    return {**said, "roles": roles} if roles else said


def _tunable(written: Schema, inherited: bool = False) -> Schema | None:
    """What an environment may say of a node: of a record, the tunable properties, each as the job says it."""
    shape = SCHEMA["definitions"][written["$ref"].removeprefix("#/definitions/")] if "$ref" in written else written
    tunable = written.get("x-tunable", shape.get("x-tunable", inherited))
    if "properties" not in shape:
        return written if tunable else None
    inner = {key: _tunable(node, tunable) for key, node in shape["properties"].items()}
    properties = {key: node for key, node in inner.items() if node}
    if not properties:
        return None
    return {"properties": properties, "type": "object", "section": "default" not in {**shape, **written}}


def _in_sections(said: Mapping[str, Any], under: Mapping[str, Any], properties: Mapping[str, Schema]) -> dict[str, Any]:
    """What is said, without the records that have no default and that the job lacks."""
    kept: dict[str, Any] = {}
    for key, value in said.items():
        if "section" not in properties[key]:
            kept[key] = value
        elif key in under or not properties[key]["section"]:
            kept[key] = _in_sections(value, under.get(key, {}), properties[key]["properties"])
    return kept


_OVERRIDABLE = _tunable(_SPEC_SCHEMA)["properties"]
_OVERRIDES = _record({"properties": {key: node for key, node in _OVERRIDABLE.items() if key != "roles"}})
_ROLE_OVERRIDES = {role: drawn_from(node) for role, node in _OVERRIDABLE["roles"]["properties"].items()}
_MAPS = ("env", "labels", "annotations", "nodeSelector", "affinity")


def _remove_some(draw: st.DrawFn, said: dict[str, Any], under: Mapping[str, Any]) -> None:
    """Puts nulls for keys that the maps by name under it have."""
    for key in _MAPS:
        gone = [name for name in under.get(key, {}) if name not in said.get(key, {}) and draw(st.booleans())]
        if gone:
            said[key] = {**said.get(key, {}), **dict.fromkeys(gone)}


_VOLUME = SCHEMA["definitions"]["volume"]
_SOURCES = {choice["required"][0]: _VOLUME["properties"][choice["required"][0]] for choice in _VOLUME["oneOf"]}
_SOURCE_STRATEGIES = {source: drawn_from(node) for source, node in _SOURCES.items()}
_MOUNTS = _record({"properties": {key: node for key, node in _VOLUME["properties"].items() if key not in _SOURCES}})


def _changed(volume: Mapping[str, Any]) -> Strategy:
    """A volume gone, mounted in another way, or with another source."""
    old = next(source for source in _SOURCES if source in volume)
    switches = [
        node.map(lambda new, source=source: {old: None, source: new})
        for source, node in _SOURCE_STRATEGIES.items()
        if source != old
    ]
    return st.one_of(st.none(), _MOUNTS, *switches)


def drawn(count: int) -> settings:
    """Settings for a test of so many jobs. For a small one that fails too, a search of minutes, CI does not wait."""
    phases = [phase for phase in Phase if phase is not Phase.shrink or "CI" not in os.environ]
    return settings(
        max_examples=count, phases=phases, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
    )


def accepted(document: Mapping[str, Any]) -> bool:
    """Whether tfgen's own check finds no error in a document (JSON is YAML, and written without our help)."""
    return not has_errors(check(json.dumps(document, ensure_ascii=False), "job.yaml").problems)


def saying(document: Document, values: Mapping[str, Any]) -> Document:
    """The job with the values in its spec: a JSON merge patch (RFC 7386)."""
    return {**document, "spec": _merged(document["spec"], values)}


def _merged(under: Any, over: Any) -> Any:
    if not isinstance(over, Mapping):
        return over
    merged = dict(under) if isinstance(under, Mapping) else {}
    for key, value in over.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged
