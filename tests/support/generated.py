"""Jobs for hypothesis, drawn from the schema of a job, with hostile text in every text field.

    @given(jobs())
    def test_law(data): ...          # data["spec"]["roles"] ...

hypothesis-jsonschema is not suitable: it expands references, and the schema refers to itself. This module walks the
schema, and so draws a new property as soon as the schema has the property. The module contains realistic structures
only for values that the schema leaves open (Kubernetes' own structures), because random values there would test
kustomize in place of tfgen.
"""

from __future__ import annotations

import copy
import functools
import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import jsonschema_rs
from hypothesis import assume
from hypothesis import strategies as st

from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.errors import has_errors
from tfgen.graph.graph import build
from tfgen.kubernetes.object import group, literal_name
from tfgen.rules.objects import NOT_TEXT
from tfgen.schema import kinds
from tfgen.schema.kinds import GANG_FIELDS, GangField
from tfgen.text.document import Document as Parsed
from tfgen.text.parse import parse
from tfgen.text.yaml_text import dump

Schema = Mapping[str, Any]
Document = Mapping[str, Any]
Strategy = st.SearchStrategy[Any]

SCHEMA: Schema = json.loads((ROOT / "schemas" / "trainingjob.v1alpha1.schema.json").read_text(encoding="utf-8"))

# fmt: off
HOSTILE = (
    "", "y", "N", "on", "no", "null", "true", "~", "=", "1e3", "1234e56", "08", "0o17", "0x1F", "0b1", "1_000", ".5",
    "-", "2026-01-01", "12:30:45", "- item", "key: value", "#no comment", "trailing ", " leading", "a\ttab",
    "\ta tab\nfirst", "two\nlines", "two\nlines\n", "\n\n", " \n indented\n", "'single' and \"double\"",
    "back\\slash\\n", "{{ .Values.image }}", "{{- fail `x` -}}", "{{", "}}", "{{{{", '{"a":{"b":{}}}',
    "{{/* no comment */}}", "$(TASK_INDEX)", "$(MISSING) $$(ESCAPED)", "${HOME}", "$patch", "%s %d %%", "`backtick`",
    "*alias &anchor !tag", "<<", "--- ", "a\n---\nb", "---\napiVersion: v1\n", "...",
    "# Source: chart/templates/worker.yaml", "<no", " value>", "<no  value>", "%!s(<nil>)",
    "HELM_ERR_START text HELM_ERR_END", "text\n\u3000", "Grüße, 世界", "e\u0301\u200d\u202e\u00a0\u00ad", "\U0001f680",
    "x" * 200, "words " * 40,
)
# fmt: on
"""Text that YAML, Go templates, Helm, printf, the shell or Kubernetes could interpret differently. Helm's own words are
from pkg/engine and pkg/release/v1/util.
"""

_REFUSED = "\x7f\u2028\u2029\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_CHARACTERS = st.characters(
    exclude_categories=["Cs", "Cn", "Cc"], include_characters="\t\n", exclude_characters=_REFUSED
)
TEXT: Strategy = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(_CHARACTERS, max_size=12),
    st.lists(st.sampled_from(HOSTILE[:-2]), min_size=2, max_size=4).map("".join),
).filter(lambda text: "<no value>" not in text)  # Helm deletes this text, and the schema refuses this text


# -- values that the schema leaves open -----------------------------------------------------------------------------

_ALWAYS = {"name", "image", "key", "operator", "values", "topologyKey", "nodeSelectorTerms"}


def like(example: Any) -> Strategy:
    """Draw structures like the example. All keys except those of `_ALWAYS` may be missing, and lists vary in length."""
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
_FROM_GRAMMAR = st.from_regex(SCHEMA["definitions"]["image"]["pattern"].strip("^$"), fullmatch=True).filter(
    lambda image: 0 < len(image) <= 1024
)
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
_SELECTOR = like(
    {
        "matchLabels": _LABELS,
        "matchExpressions": st.sampled_from(
            [
                [],
                [{"key": "08", "operator": "Exists"}],
                [{"key": "example.com/on", "operator": "NotIn", "values": ["", "N"]}],
            ]
        ),
    }
)
_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")
_TOLERATION = st.one_of(
    st.sampled_from([{"operator": "Exists"}, {"operator": "Exists", "key": "", "value": ""}]),
    like({"key": "08", "operator": "Exists", "effect": st.sampled_from(_EFFECTS)}),
    like({"key": "example.com/on", "value": st.sampled_from(["", "N", "1e3"]), "effect": "NoSchedule"}),
    st.builds(
        lambda seconds: {"key": "on", "effect": "NoExecute", "tolerationSeconds": seconds},
        st.sampled_from([0, 300, 2**31 - 1]),
    ),
)
_METADATA = {"labels": _LABELS, "annotations": {"example.com/note": TEXT, "argocd.argoproj.io/sync-wave": "3"}}


def _merging(**parts: Any) -> Strategy:
    return st.fixed_dictionaries({"merge": st.fixed_dictionaries({key: like(part) for key, part in parts.items()})})


_OBJECT_METADATA = {
    "labels": {"zone": st.just("08"), "example.com/on": "y"},
    "annotations": {"example.com/note": TEXT.filter(bool), "zone": st.just("1e3")},
}
# Changes that a patch may make outside metadata, by the API group and the kind of the object.
_CHANGES: Mapping[tuple[str, str], Sequence[Strategy]] = {
    ("apps", "Deployment"): (
        st.builds(
            lambda *items: {"merge": {"spec": {"template": {"spec": {"containers": [*items]}}}}},
            st.just({"name": "tensorboard", "env": [{"name": "LEVEL", "value": "{{ 08 }}"}]}),
            st.fixed_dictionaries({"name": st.just("proxy"), "image": st.just("proxy:1"), "args": st.lists(TEXT)}),
        ),
    ),
    ("batch", "Job"): (
        st.fixed_dictionaries(
            {
                "op": st.just("add"),
                "path": st.sampled_from(["/spec/podFailurePolicy/rules/0", "/spec/podFailurePolicy/rules/-"]),
                "value": st.just({"action": "FailJob", "onExitCodes": {"operator": "In", "values": [3]}}),
            }
        ).map(lambda operation: {"json": [operation]}),
    ),
    ("networking.k8s.io", "NetworkPolicy"): (
        st.just({"json": [{"op": "add", "path": "/spec/ingress/-", "value": {"from": []}}]}),
    ),
    ("", "PersistentVolumeClaim"): (_merging(spec=st.just({"volumeMode": "Block"})),),
    ("apps", "StatefulSet"): (
        _merging(spec=st.fixed_dictionaries({"minReadySeconds": st.integers(0, 9)})),
        st.just({"json": [{"op": "add", "path": "/spec/minReadySeconds", "value": 5}]}),
    ),
}
_OBJECT = st.one_of(
    like(
        {
            "apiVersion": st.just("v1"),
            "kind": st.just("ConfigMap"),
            "metadata": _METADATA,
            "data": {"08": TEXT, "y": TEXT},
        }
    ),
    like(
        {
            "apiVersion": st.just("v1"),
            "kind": st.just("ServiceAccount"),
            "metadata": {"name": st.sampled_from(["a", "1e3", ""]), **_METADATA},
            "secrets": [{"name": st.sampled_from(["one", "two"])}],
            "imagePullSecrets": [{"name": st.sampled_from(["one", "two"])}],
        }
    ),
    like(
        {
            "apiVersion": st.just("v1"),
            "kind": st.just("Service"),
            "spec": {"type": "ClusterIP", "ports": [{"port": st.sampled_from([80, 81]), "protocol": "TCP"}]},
        }
    ),
    like(
        {
            "apiVersion": st.just("apps/v1"),
            "kind": st.just("Deployment"),
            "spec": {
                "replicas": st.integers(0, 3),
                "template": {"metadata": {"labels": _LABELS}, "spec": {"containers": [{"name": "a", **_CONTAINER}]}},
            },
        }
    ),
    like(
        {
            "apiVersion": st.just("example.com/v1"),
            "kind": st.just("Own"),
            "spec": {"a": TEXT, "b": {"c": st.integers(-(2**53) + 1, 2**53 - 1), "d": st.booleans()}, "env": [TEXT]},
            "values": [{"name": TEXT}],
        }
    ),
)
_BY_DEFINITION: Mapping[str, Strategy] = {
    "text": TEXT,
    "affinityRule": _AFFINITY,
    "labelSelector": _SELECTOR,
    "tolerations": st.lists(_TOLERATION, max_size=3),
    "podTemplate": _POD_TEMPLATE,
    "object": _OBJECT,
}
_AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "ephemeral-storage"]),
    st.sampled_from([1, 500, 0.5, 2.0, 1e-05, "500m", "1e3", "1.5Gi", "08"]),
    max_size=3,
)
_DEVICES = st.dictionaries(
    st.sampled_from(["nvidia.com/gpucores", "nvidia.com/gpumem", "example.com/1e3"]),
    st.sampled_from([0, 1, "0", "2", "1e3", "4Ki"]),
    max_size=2,
)
_BY_KEY: Mapping[str, Strategy] = {
    # A device is always whole, and its request needs the same limit.
    "requests": _AMOUNTS,
    "limits": st.builds(lambda amounts, devices: {**amounts, **devices}, _AMOUNTS, _DEVICES),
    "share": _DEVICES,
    "by": st.just(""),
    "workerPriority": st.sampled_from(["", "high", "low", "0.5", ".25"]),
    "image": st.one_of(_IMAGES, _FROM_GRAMMAR),
    "initContainers": like([{"name": st.sampled_from(["first", "second"]), **_CONTAINER}]),
    "sidecars": like([{"name": st.sampled_from(["log", "metrics"]), **_CONTAINER}]),
    "labelSelector": like({"matchLabels": _LABELS}),
    "ipBlock": st.sampled_from(
        [{"cidr": "10.20.0.0/16"}, {"cidr": "::/0", "except": ["2001:db8::/32"]}, {"cidr": "0.0.0.0/0", "except": []}]
    ),
    "endPort": st.just(65535),
    # Other values of these ranges take time, or tfgen refuses them.
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
# A container of tfgen has default amounts. Each request here is below the default limit, and each limit above the
# default request.
_OF_HELPER: Mapping[str, Strategy] = {
    "requests": st.fixed_dictionaries(
        {}, optional={"cpu": st.sampled_from(["10m", "0.05", 0]), "memory": st.sampled_from(["32Mi", "1e6"])}
    ),
    "limits": st.fixed_dictionaries(
        {}, optional={"cpu": st.sampled_from([1, "1.5", "08"]), "memory": st.sampled_from(["2Gi", "1e9"])}
    ),
}


# -- strategies for the nodes of the schema -------------------------------------------------------------------------


def drawn_from(found: Schema) -> Strategy:
    """Return a strategy for the values of a schema node."""
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
    pattern: str = found.get("pattern", "")
    longest, banned = found.get("maxLength", 10_000), found.get("not", {})

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


def _number(found: Schema) -> Strategy:
    low, high = found["minimum"], found["maximum"]
    return st.one_of(_integer(found), st.sampled_from([0.5, float(high), 1e-300]), st.floats(low, high))


def _array(found: Schema) -> Strategy:
    items, least = found["items"], found.get("minItems", 0)
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
    """Draw an object with named properties: all required properties, and some of the others."""
    by_key = [
        (key, _OF_HELPER if "properties" in written else _BY_KEY, written)
        for key, written in found["properties"].items()
    ]
    properties = {key: known[key] if key in known else drawn_from(written) for key, known, written in by_key}
    required = {*found.get("required", ())}
    choices = [choice["required"][0] for choice in found.get("oneOf", ())]
    refused = jsonschema_rs.Draft7Validator(found.get("not", False))

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
        made = {key: draw(node) for key, node in properties.items() if key in there}
        for key in others:
            if refused.is_valid(made):
                made.pop(key, None)
        return made

    return record()


_OF_TYPE: Mapping[str, Callable[[Schema], Strategy]] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": lambda _: st.booleans(),
    "array": _array,
    "object": _object,
}


# -- complete jobs --------------------------------------------------------------------------------------------------

_SPEC_SCHEMA = SCHEMA["properties"]["spec"]
_NOT_DRAWN = ("strategy", "image", "roles", "environments", "workload", "patches")
_SPEC = _record({"properties": {key: n for key, n in _SPEC_SCHEMA["properties"].items() if key not in _NOT_DRAWN}})
# The strategy, a `completion.by` other than the default (or ""), and the roles of the strategy.
_STRATEGIES: Sequence[tuple[str, str, Sequence[str]]] = (
    ("ParameterServer", "", ("chief", "ps", "worker")),
    ("ParameterServer", "", ("chief", "ps", "worker", "evaluator")),
    ("ParameterServer", "Worker0", ("ps", "worker", "evaluator")),
    ("ParameterServer", "AllWorkers", ("ps", "worker")),
    ("MultiWorkerMirrored", "", ("worker",)),
    ("MultiWorkerMirrored", "AllWorkers", ("worker", "evaluator")),
    ("KerasDistribution", "", ("worker",)),
    ("KerasDistribution", "AllWorkers", ("worker",)),
    ("Single", "", ("chief",)),
)
# Most jobs have the default kind. `sayable` removes the keys that another kind does not support.
_WORKLOAD = drawn_from(_SPEC_SCHEMA["properties"]["workload"])
_KINDS: Strategy = st.one_of(st.just("StatefulSet"), st.sampled_from(kinds.WORKLOAD_KINDS))
_ROLES = {role: drawn_from(node) for role, node in _SPEC_SCHEMA["properties"]["roles"]["properties"].items()}
_OF_CLASS = {key: drawn_from(SCHEMA["definitions"]["gpu"]["properties"][key]) for key in ("deviceClass", "selectors")}
_CLAIM = st.fixed_dictionaries(
    {"count": st.integers(0, 4), "deviceClass": _OF_CLASS["deviceClass"]},
    optional={"selectors": _OF_CLASS["selectors"]},
)
_OTHER_CLAIM = st.fixed_dictionaries({}, optional={"count": st.integers(0, 4), **_OF_CLASS})
_JOB_NAMES = st.one_of(
    st.sampled_from(["dist-mnist", "y", "on", "null", "e1"]),
    st.from_regex(r"[a-z][-a-z0-9]{0,8}[a-z0-9]", fullmatch=True),
)
_ENVIRONMENT_NAMES = st.sampled_from(["dev", "prod", "y", "on", "1e3", "08", "null"])


@st.composite
def jobs(draw: st.DrawFn, *, environments: int = 2) -> dict[str, Any]:
    """Draw documents that the check of tfgen accepts, each with `environments` environments."""
    strategy, by, names = draw(st.sampled_from(_STRATEGIES))
    roles = {role: draw(_ROLES[role]) for role in draw(st.permutations(names))}
    spec = {**draw(_SPEC), "strategy": strategy, "image": draw(_IMAGES), "roles": roles}
    for role in roles.values():
        if draw(st.integers(0, 3)) == 0:
            role["resources"] = {**role.get("resources", {}), "gpu": draw(_CLAIM)}
        _leave_one_source(_gpu(role), _gpu(role))
    if "gang" in spec:
        spec["gang"] = _of_scheduler(spec["gang"], spec)
        if spec["gang"]["scheduler"] in ("kai", "kueue"):  # a queue is required
            spec["gang"]["queue"] = spec["gang"].get("queue") or "research"
    if strategy != "ParameterServer":
        for key in ("legacyFlags", "legacyVariables"):
            spec.pop(key, None)  # only ParameterServer supports these keys
    if by:
        spec["completion"] = {**spec.get("completion", {}), "by": by}
    spec["workload"] = {**draw(_WORKLOAD), "kind": draw(_KINDS)}
    for only in kinds.limited_keys(spec):
        if kinds.value_of(spec, only.path) not in (None, *only.values):
            spec = _merged(spec, _at(only.path, draw(st.sampled_from(only.values))))
    spec = sayable(spec, spec)
    for role, key in itertools.product(roles.values(), ("initContainers", "sidecars")):
        if key in spec:
            role.pop(key, None)  # prevents two containers with the same name
    _carry(spec, spec)
    drawn_names = draw(st.sets(_ENVIRONMENT_NAMES, min_size=environments, max_size=environments))
    spec["environments"] = {name: sayable(spec, draw(overrides(spec))) for name in sorted(drawn_names)}
    for environment in spec["environments"].values():
        _carry(spec, environment)
    document = {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": draw(_JOB_NAMES)},
        "spec": spec,
    }
    assume(accepted(document))
    patched: dict[str, Any] = draw(_with_patches(document))
    return patched


@st.composite
def _with_patches(draw: st.DrawFn, document: Document) -> Any:
    """Draw patches for the job and for one of its environments. Leave out patches that tfgen rejects."""
    spec = document["spec"]
    patches = draw(_patches(document))
    if patches and accepted(patched := saying(document, {"patches": patches})):
        document = patched
    name = draw(st.sampled_from([*spec["environments"], ""]))
    own = {**dict.fromkeys(document["spec"].get("patches", {})), **draw(_patches(document))} if name else {}
    if own:
        environment = {**spec["environments"][name], "patches": own}
        environments = {**spec["environments"], name: environment}
        patched = {**document, "spec": {**document["spec"], "environments": environments}}
        return patched if accepted(patched) else document
    return document


def _patches(document: Document) -> Strategy:
    """Draw patches for the objects of a job, or for all objects of a kind."""
    objects = build(document).base
    targets = [(name, item) for name, item in objects.items() if literal_name(item) is None]
    patch = st.sampled_from(targets).flatmap(lambda target: object_patches(*target))
    return st.dictionaries(st.sampled_from(["a", "08", "on"]), patch, max_size=2)


def object_patches(name: str, item: Mapping[str, Any]) -> Strategy:
    """Draw patches that Kubernetes accepts for the object that the job calls `name`."""
    target = {"kind": item["kind"], "name": name}
    changes = [_merging(metadata=_OBJECT_METADATA), *_CHANGES.get((group(item), item["kind"]), ())]
    targets = st.sampled_from([target, {"kind": target["kind"]}])
    return st.builds(lambda target, change: {"target": target, **change}, targets, st.one_of(changes))


def _carry(spec: Mapping[str, Any], said: dict[str, Any]) -> None:
    """Leave out the labels and annotations that kustomize does not read as text."""
    makes_pods = kinds.FACTS[kinds.of_spec(spec)].makes_pods
    owners = [said, said.get("serviceAccount"), *(said.get("roles", {}).values() if makes_pods else ())]
    for owner, field in itertools.product(owners, ("labels", "annotations")):
        if owner and owner.get(field):
            owner[field] = {key: text for key, text in owner[field].items() if not NOT_TEXT.fullmatch(key)}


def sayable(spec: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec or an environment without the keys that the workload kind does not support."""
    kept = copy.deepcopy(dict(said))
    for lack in kinds.unsupported_keys(spec):
        _remove(kept, lack.path.split("."))
    if "storage" in kept:  # the remaining keys may not form a volume
        kept["storage"] = {name: v for name, v in kept["storage"].items() if v is None or not {*v}.isdisjoint(_SOURCES)}
    return {key: value for key, value in kept.items() if value or key not in ("workload", "completion")}


def _remove(found: Any, steps: Sequence[str]) -> None:
    *above, last = steps
    if not isinstance(found, dict):
        return
    if not above:
        found.pop(last, None)
    for key in list(found) if steps[0] == "*" else [steps[0]]:
        if above and key in found:
            _remove(found[key], steps[1:])


def _at(path: str, value: Any) -> Any:
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


@st.composite
def overrides(draw: st.DrawFn, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the values that an environment, or a user of the chart, may set in the sections of the job.

    The values contain new entries for the job's maps. Some old entries become null, which removes them, or change.
    """
    said = _in_sections(draw(_OVERRIDES), spec, _OVERRIDABLE)
    roles = {role: draw(_ROLE_OVERRIDES[role]) for role in sorted(spec["roles"]) if draw(st.booleans())}
    volumes = {name: draw(_changed(old)) for name, old in spec.get("storage", {}).items() if draw(st.booleans())}
    if "gang" in said:
        said["gang"] = _of_scheduler(said["gang"], spec)
    if volumes or "storage" in said:
        new = {name: v for name, v in said.get("storage", {}).items() if name not in spec.get("storage", {})}
        said["storage"] = {**new, **volumes}
    _remove_some(draw, said, spec)
    for role, inner in roles.items():
        _remove_some(draw, inner, spec["roles"][role])
        of_job = _gpu(spec["roles"][role])
        if "deviceClass" in of_job:
            inner["resources"] = {**inner.get("resources", {}), "gpu": draw(_OTHER_CLAIM)}
        _leave_one_source(_gpu(inner), of_job)
    return {**said, "roles": roles} if roles else said


def _leave_one_source(gpu: dict[str, Any], of_job: Mapping[str, Any]) -> None:
    """Leave out the keys of a device class, or the keys that a class excludes if the role of the job has a class."""
    has_class = "deviceClass" in of_job
    for key in ("product", "resource", "share") if has_class else ("deviceClass", "selectors"):
        gpu.pop(key, None)
    if has_class and "count" in gpu:
        gpu["count"] %= 33  # the most devices of a claim are 32


def _gpu(role: Mapping[str, Any]) -> dict[str, Any]:
    gpu: dict[str, Any] = role.get("resources", {}).get("gpu", {})
    return gpu


def _of_scheduler(gang: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the gang of a job without the keys that the scheduler does not support."""
    foreign = {path.partition(".")[0] for path in {*get_args(GangField)} - GANG_FIELDS[spec["gang"]["scheduler"]]}
    if gang.get("requiredTopology") and spec["gang"]["scheduler"] == "kueue":
        foreign |= {"preferredTopology"}  # Kueue accepts only one of the two keys
    return {key: value for key, value in gang.items() if key not in foreign}


def _tunable(written: Schema, inherited: bool = False) -> Schema | None:
    """Return the schema of a node in an environment: only the tunable properties of a record."""
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
    """Return values without the records that have no default and that the job does not have."""
    kept: dict[str, Any] = {}
    for key, value in said.items():
        if "section" not in properties[key]:
            kept[key] = value
        elif key in under or not properties[key]["section"]:
            kept[key] = _in_sections(value, under.get(key, {}), properties[key]["properties"])
    return kept


_OVERRIDABLE: Schema = (_tunable(_SPEC_SCHEMA) or {})["properties"]
_OVERRIDES = _record({"properties": {key: node for key, node in _OVERRIDABLE.items() if key != "roles"}})
_ROLE_OVERRIDES = {role: drawn_from(node) for role, node in _OVERRIDABLE["roles"]["properties"].items()}
_MAPS = ("env", "labels", "annotations", "nodeSelector", "affinity")


def _remove_some(draw: st.DrawFn, said: dict[str, Any], under: Mapping[str, Any]) -> None:
    """Set some keys of the job's maps to null."""
    for key in _MAPS:
        gone = [name for name in under.get(key, {}) if name not in said.get(key, {}) and draw(st.booleans())]
        if gone:
            said[key] = {**said.get(key, {}), **dict.fromkeys(gone)}


_VOLUME = SCHEMA["definitions"]["volume"]
_SOURCES = {choice["required"][0]: _VOLUME["properties"][choice["required"][0]] for choice in _VOLUME["oneOf"]}
_SOURCE_STRATEGIES = {source: drawn_from(node) for source, node in _SOURCES.items()}
_MOUNTS = _record({"properties": {key: node for key, node in _VOLUME["properties"].items() if key not in _SOURCES}})


def _changed(volume: Mapping[str, Any]) -> Strategy:
    """Draw null, other mounts or another source for a volume."""
    old = next(source for source in _SOURCES if source in volume)
    switches = [node.map(_switched(old, new)) for new, node in _SOURCE_STRATEGIES.items() if new != old]
    return st.one_of(st.none(), _MOUNTS, *switches)


def _switched(old: str, new: str) -> Callable[[Any], dict[str, Any]]:
    return lambda source: {old: None, new: source}


def document(data: Document) -> Parsed:
    """Parse the data to a document with positions. Fail on data that YAML cannot express."""
    parsed = parse(dump(data), "job.yaml")
    assert not parsed.problems, parsed.problems
    (found,) = parsed.documents
    assert found.data == data
    return found


def job(name: str = "mnist", **spec: Any) -> dict[str, Any]:
    """Return a job with an image, whose roles are a chief, a ps and a worker unless the spec has other roles."""
    least = {"image": "registry.example.com/ml/mnist:1", "roles": {"chief": {}, "ps": {}, "worker": {}}}
    head = {"apiVersion": "tfgen/v1alpha1", "kind": "TrainingJob", "metadata": {"name": name}}
    return {**head, "spec": {**least, **spec}}


def accepted(document: Mapping[str, Any]) -> bool:
    """Test whether tfgen finds no error in a document.

    The document is JSON, so the test does not depend on the YAML writer of tfgen.
    """
    return not has_errors(check(json.dumps(document, ensure_ascii=False), "job.yaml").problems)


def saying(document: Document, values: Mapping[str, Any]) -> Document:
    """Return the job with the values in its spec: a JSON merge patch (RFC 7386)."""
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
