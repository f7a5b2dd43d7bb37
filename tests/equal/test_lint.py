"""What linters and readers find in charts and overlays: nothing, and no value that does nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given

from tests import tools
from tests.command import CommandError
from tests.equal.normal import GoLoader
from tests.equal.rendered import Rendered
from tests.equal.test_examples import each_environment
from tests.generated import drawn, jobs
from tests.helm import HelmLibrary
from tfgen.graph.graph import graph
from tfgen.graph.guards import guards
from tfgen.graph.holes import Bound, Hole, Let, Value
from tfgen.job.training_job import Structure, TrainingJob
from tfgen.schema.tunables import values_schema
from tfgen.targets.chart.notes import notes
from tfgen.text.document import parse


@pytest.fixture
def rendered(job, tmp_path) -> Rendered:
    return Rendered.write(parse(job.read_text(encoding="utf-8"), str(job)).documents[0].data, tmp_path)


@each_environment
def test_helm_lint_finds_nothing(rendered, environment):
    printed = tools.helm_lint(rendered.chart, "--strict", *rendered.values_args(environment))
    assert "[WARNING]" not in printed
    assert "[ERROR]" not in printed


@each_environment
def test_kubernetes_knows_every_field(rendered, environment):
    rendered.kubeconform(environment)


@each_environment
def test_a_kustomization_has_no_field_that_reaches_too_far(rendered, environment):
    """kustomize itself warns of deprecated fields, and a warning fails the tests that build."""
    kustomization = yaml.safe_load((rendered.overlay(environment) / "kustomization.yaml").read_text(encoding="utf-8"))
    assert kustomization.keys() <= {"apiVersion", "kind", "resources", "images", "replicas", "patches"}


# -- no value does nothing ------------------------------------------------------------------------------------------

IDLE: Mapping[str, Callable[[Structure], bool]] = {
    "completion.evaluatorGrace": lambda structure: not structure.releases or structure.role("evaluator") is None,
    # A Job's pods are not replaced on purpose: none of them may be evicted, whatever this says.
    "podDisruptionBudget.maxUnavailable": lambda structure: (
        structure.kind == "StatefulSet" and not any(role.serves for role in structure.roles)
    ),
}
"""Values that a job has whose part of it is missing."""


@drawn(60)
@given(document=jobs(environments=0))
def test_every_value_is_read_by_some_template(document):
    """By the graph: each value of values.schema.json stands in a hole of a template, of NOTES.txt or of a guard."""
    structure = TrainingJob.from_document(document).structure
    templates = [node for template in graph(structure) for node in template.objects]
    checks = [node for guard in guards(structure) for node in (guard.test, guard.message)]
    schema = values_schema(document["spec"])
    unread = {".".join(path) for path, _ in _leaves(schema)} - {*_read([*templates, *checks, notes(structure)], {})}
    assert {path for path in unread if not (path in IDLE and IDLE[path](structure))} == set()


def _read(node: Any, bound: Mapping[str, str]) -> Iterator[str]:
    """The values paths in a graph; `bound` says which of them a name stands for."""
    match node:
        case Value(path):
            yield path
        case Bound(name, _, path) if name in bound:
            yield f"{bound[name]}.{path}"
        case Let(name, Value(path), body):
            yield from _read(body, {**bound, name: path})
        case Hole():
            yield from _read(list(vars(node).values()), bound)
        case Mapping():
            yield from _read([*node.keys(), *node.values()], bound)
        case list() | tuple():
            for child in node:
                yield from _read(child, bound)


def _leaves(
    schema: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """The values of a values.schema.json, but for the two that are a parent chart's."""
    for key, node in schema["properties"].items():
        if "properties" in node:
            yield from _leaves(node, (*path, key))
        elif (*path, key) not in (("global",), ("enabled",)):
            yield (*path, key), node


EVERY_SECTION: Mapping[str, Any] = {
    "apiVersion": "tfgen/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "all"},
    "spec": {
        # Some values show only where another is set.
        "run": "2",
        "image": "a:1",
        "code": {"mountPath": "/src", "git": {"repository": "https://git.example.com/a.git"}},
        "gang": {"scheduler": "volcano"},
        "tensorboard": {"logDir": "/runs"},
        "podDisruptionBudget": {},
        "network": {"egress": {"limited": True}},
        "roles": {
            role: {"resources": {"gpu": {"count": 2, "product": "A"}}}
            for role in ("chief", "ps", "worker", "evaluator")
        },
    },
}


def test_every_value_changes_what_helm_gives(tmp_path):
    """By Helm: with another value in place of the chart's own, it gives something else, or refuses."""
    rendered = Rendered.write(EVERY_SECTION, tmp_path)
    schema = json.loads((rendered.chart / "values.schema.json").read_text(encoding="utf-8"))
    values = yaml.load((rendered.chart / "values.yaml").read_text(encoding="utf-8"), GoLoader)
    before = _by_helm(rendered, {})
    dead = [
        ".".join(leaf)
        for leaf, node in _leaves(schema)
        if _by_helm(rendered, _nested(leaf, _other(node, _at(values, leaf)))) == before
    ]
    assert dead == []


def _by_helm(rendered: Rendered, values: Mapping[str, Any]) -> str:
    """What Helm prints, or why the chart refuses."""
    file = rendered.out / "values-of-the-test.json"
    file.write_text(json.dumps(values), encoding="utf-8")
    try:
        return HelmLibrary().template(rendered.chart, rendered.name, "--skip-tests", "--values", str(file))
    except CommandError as error:
        if "execution error at" in error.stderr:
            return error.stderr
        raise


def _other(node: Mapping[str, Any], old: Any) -> Any:
    """Another value of a schema node."""
    edges = [node[edge] for edge in ("minimum", "maximum") if edge in node]
    others = [not old] if isinstance(old, bool) else [*node["examples"], *node.get("enum", ()), *edges, node["default"]]
    return next(other for other in others if other != old)


def _nested(path: tuple[str, ...], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _at(values: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        values = values[key]
    return values
