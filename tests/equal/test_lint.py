"""Tests that linters find no problem in charts and overlays, and that each value has an effect."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from hypothesis import given

from tests.support import tools
from tests.support.draws import drawn
from tests.support.examples import each_environment, each_example
from tests.support.generated import Document, jobs
from tests.support.tools import ROOT
from tfgen import data_path
from tfgen.graph.fill import Scope, failing_scopes
from tfgen.graph.graph import graph, objects
from tfgen.graph.guards import guards
from tfgen.graph.holes import Bound, Call, Hole, Let, Parameter, Value
from tfgen.graph.schedulers import GANGS
from tfgen.job.training_job import TrainingJob
from tfgen.schema import file as schema_file
from tfgen.schema.kinds import WORKLOAD_KINDS
from tfgen.schema.tunables import at as tunable_at
from tfgen.schema.tunables import merge, tunables
from tfgen.targets.chart.texts import notes
from tfgen.text.parse import parse


@each_environment
def test_helm_lint_finds_nothing(rendered, environment):
    printed = tools.helm_lint(rendered.chart, "--strict", *rendered.values_args(environment))
    assert "[WARNING]" not in printed
    assert "[ERROR]" not in printed


@each_example
def test_kubernetes_knows_every_field(rendered):
    rendered.kubeconform(None, *rendered.environments)


@each_environment
def test_kustomization_has_only_known_fields(rendered, environment):
    """kustomize itself warns about deprecated fields, and a warning fails the tests that build."""
    kustomization = yaml.safe_load((rendered.overlay(environment) / "kustomization.yaml").read_text(encoding="utf-8"))
    fields = {"apiVersion", "kind", "namespace", "resources", "configMapGenerator", "images", "replicas", "patches"}
    assert kustomization.keys() <= {*fields, "sortOptions"}  # sortOptions affects only the order of the output


# -- each value has an effect ---------------------------------------------------------------------------------------


@pytest.mark.long
@drawn(15)
@given(document=jobs(environments=0))
def test_every_value_is_read_by_some_template(document):
    """Each value of values.yaml is in a hole of a template, of NOTES.txt or of a guard."""
    structure = TrainingJob.from_document(document).structure
    templates = [template.node for template in graph(structure)]
    checks = [node for guard in guards(structure) for node in (guard.when, guard.message)]
    unread = {".".join(path) for path in tunables(document["spec"])} - {
        *_read([*templates, *checks, notes(structure)], {})
    }
    assert unread == set()


def _read(node: Any, bound: Mapping[str, str]) -> Iterator[str]:
    """Yield the values paths in a graph. `bound` contains the values path of a bound name or of a parameter."""
    match node:
        case Call(part, arguments):
            yield from _read(arguments, bound)
            given = {name: _path(argument, bound) for name, argument in arguments}
            yield from _read(part.node, {name: path for name, path in given.items() if path})
        case Parameter(name, _, path) if name in bound:
            yield f"{bound[name]}.{path}"
        case Value(path):
            yield path
        case Bound(name, _, path) if name in bound:
            yield f"{bound[name]}.{path}"
        case Let(name, Value(path), body):
            yield from _read(body, {**bound, name: path})
        case Hole():
            yield from _read([getattr(node, field) for field in node.__match_args__], bound)
        case Mapping():
            yield from _read([*node.keys(), *node.values()], bound)
        case list() | tuple():
            for child in node:
                yield from _read(child, bound)


def _path(node: Any, bound: Mapping[str, str]) -> str | None:
    """Return the values path of an argument, or None for other arguments."""
    match node:
        case Value(path):
            return path
        case Bound(name, _, "") | Parameter(name, _, ""):
            return bound.get(name)
    return None


FOLDERS = ("examples", "tests/golden", "tests/data/gangs")
CASES = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*/job.yaml"))]

RUN_FOLDERS = {"storage.model": {"mountPath": "/m", "runs": "Separate", "claim": {"size": "1Gi"}}}
ISOLATED = {"network.policy": "Isolated"}
LIMITED = {**ISOLATED, "network.egress.limited": True}
TIER_BY_NAME = {
    "workload.volcanoJob.networkTopology.mode": "hard",
    "workload.volcanoJob.networkTopology.highestTierAllowed": 0,
}
COMPANIONS: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("resumeFrom", {"run": "9", **RUN_FOLDERS}),
    ("lockWait", {"deadline": 60, **RUN_FOLDERS}),
    ("helpers.*", RUN_FOLDERS),
    ("shm", {"roles.worker.shm": None}),
    ("startDeadline", {"gang.enabled": False}),
    ("completion.*", {"startDeadline": 60}),
    ("completion.notify.secretKeyRef.key", {"completion.notify.secretKeyRef.name": "webhook"}),
    ("workload.volcanoJob.networkTopology.highestTierAllowed", {"workload.volcanoJob.networkTopology.mode": "hard"}),
    ("workload.volcanoJob.networkTopology.highestTierName", TIER_BY_NAME),
    ("cloud.eci.spot.*", {"cloud.eci.spot.strategy": "SpotWithPriceLimit"}),
    ("gang.networkTopology.highestTier*", {"gang.networkTopology.mode": "hard"}),
    # With v1beta1, a guard requires one priority class for all pods and the PodGroup.
    ("gang.priorityClassName", {"gang.apiVersion": "v1alpha2"}),
    ("roles.*.priorityClassName", {"gang.apiVersion": "v1alpha2"}),
    ("gang.*Topology", {"gang.preferredTopology": "", "gang.requiredTopology": ""}),
    ("network.egress.limited", ISOLATED),
    ("network.egress.rules", LIMITED),
    ("network.egress.apiServer", {**LIMITED, "startDeadline": 60, "gang.enabled": False}),
    ("network.policy", {"network.egress.limited": False}),
    ("roles.*.nodeName", {"gang.enabled": False}),
    ("roles.*.resources.gpu.*", {"roles.*.resources.gpu.count": 2, "roles.*.resources.gpu.product": "A"}),
    ("roles.*.resources.gpu.resource", {"roles.*.resources.gpu.count": 2, "roles.*.resources.gpu.deviceClass": ""}),
    ("roles.*.resources.limits", {"roles.*.resources.cpu": "", "roles.*.resources.memory": ""}),
    ("roles.*.resources.memory", {"roles.*.resources.requests": None, "roles.*.resources.limits": None}),
)
"""Values that have an effect only with other values, and the other values. `*` is the name of the role."""


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.parent.name)
def test_every_value_changes_the_objects(case):
    """Each value has a setting that changes the objects of tfgen, and that tfgen accepts."""
    document = _read_job(case)
    job, name = TrainingJob.from_document(document), document["metadata"]["name"]
    templates, checks = graph(job.structure), guards(job.structure)

    def fill(values: Mapping[str, Any]) -> Any:
        scope = Scope(merge(job.values, values), name, name)
        return (
            None if any(True for check in checks for _ in failing_scopes(check, scope)) else objects(templates, scope)
        )

    assert set(_dead(document, fill)) == set()


def _read_job(case: Path) -> Document:
    return parse(case.read_text(encoding="utf-8"), str(case)).documents[0].data


def test_cases_have_every_workload_kind_and_gang():
    structures = [TrainingJob.from_document(_read_job(case)).structure for case in CASES]
    assert {structure.kind for structure in structures} == {*WORKLOAD_KINDS}
    assert {structure.gang for structure in structures} == {*GANGS, None}


def _dead(document: Document, render: Callable[[Mapping[str, Any]], Any]) -> Iterator[str]:
    """Yield the values without a setting that changes the rendered objects. `render` returns None for a refusal."""
    values = TrainingJob.from_document(document).values
    rendered = functools.cache(lambda settings: render(json.loads(settings)))

    def renders(*settings: Mapping[str, Any]) -> Any:
        return rendered(json.dumps(functools.reduce(_over, settings, {}), sort_keys=True))

    assert renders({}) is not None
    for path, node in ((path, tunable.schema) for path, tunable in tunables(document["spec"]).items()):
        others = [_nested(path, other) for other in _others(node, data_path.at(values, path))]
        companies = [each for each in ({}, *_companies(path, values)) if renders(each) is not None]
        if not any(renders(each, other) not in (None, renders(each)) for each in companies for other in others):
            yield ".".join(path)


def _companies(path: tuple[str, ...], values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield settings of other values that a value may need for an effect."""
    role = path[1] if path[0] == "roles" else ""
    for pattern, settings in COMPANIONS:
        if fnmatchcase(".".join(path), pattern):
            paths = {tuple(key.replace("*", role).split(".")): value for key, value in settings.items()}
            present = [_nested(key, value) for key, value in paths.items() if key[0] in values and key != path]
            yield functools.reduce(_over, present, {})
    # The value of a role may be equal to the value of the job.
    if role and path[2] in values:
        empty = (
            tunable_at((path[2],)).default
            if not isinstance(values[path[2]], Mapping)
            else dict.fromkeys(values[path[2]])
        )
        yield {path[2]: empty}


def _others(node: Mapping[str, Any], old: Any) -> list[Any]:
    """Return other values of a node of the job schema: values from the schema, and values similar to the old value."""
    validator = _validator(json.dumps(node))
    near: list[Any] = []
    match old:
        case bool():
            near = [not old]
        case int():
            near = [old + 1, 1, 2]
        case str():
            near = [f"{old}x", f"{old}1"]
        case None:
            near = ["x", 1, False]
        case Mapping():
            near = [{key: None} for key in old]  # Helm removes a key whose value is null
    own = [*node.get("examples", ()), *node.get("enum", ()), *([node["default"]] if "default" in node else [])]
    return [
        other
        for other in [*own, *near]
        if other != old and (validator.is_valid(other) or (isinstance(old, Mapping) and other in near))
    ]


@functools.cache
def _validator(node: str) -> jsonschema_rs.Draft7Validator:
    """Return a cached validator for a node of the job schema as JSON, because its definitions take long to compile."""
    return jsonschema_rs.Draft7Validator(
        {"allOf": [json.loads(node)], "definitions": schema_file.load()["definitions"]}
    )


def _over(under: Mapping[str, Any], over: Mapping[str, Any]) -> Mapping[str, Any]:
    """Merge settings over settings. A null remains, and Helm then removes the key."""
    both = {key: _over(under[key], over[key]) for key in under.keys() & over.keys() if isinstance(over[key], Mapping)}
    return {**under, **over, **both}


def _nested(path: tuple[str, ...], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value
