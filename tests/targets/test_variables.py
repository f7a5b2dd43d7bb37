"""The variables of a chart's templates: each declaration has a name that is not yet visible.

Go accepts a declaration of a visible name, and the later lines then read the new variable.
https://pkg.go.dev/text/template
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given

from tests.support.draws import drawn
from tests.support.generated import jobs
from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.graph.holes import Bound, Filtered, ForEach, Let, MapOf, Merged, Text, Value
from tfgen.targets.chart.go_template.lines import template_file
from tfgen.targets.chart.go_template.syntax import Context
from tfgen.targets.render import render

_ACTION = re.compile(r'\{\{-?\s*(/\*.*?\*/|(?:"(?:\\.|[^"\\])*"|`[^`]*`|[^"`}]|\}(?!\}))*?)\s*-?\}\}', re.DOTALL)
_TEXT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"|`[^`]*`', re.DOTALL)
_DECLARATION = re.compile(r"((?:\$\w+\s*,\s*)?\$\w+)\s*:=")
_DISCARDED = "$_"
"""The name of a variable that no line reads: its declaration calls a function, such as ``set``, for its effect."""

GOLDEN = sorted((ROOT / "tests" / "golden").glob("*/job.yaml"))

ACCOUNT = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {}}
  serviceAccount: {annotations: {iam.gke.io/gcp-service-account: trainer@project}}
  environments:
    dev: {patches: {a: {target: {kind: ServiceAccount, name: serviceaccount}, merge: {metadata: {labels: {x: "y"}}}}}}
    prod:
      patches: {a: {target: {kind: ServiceAccount, name: serviceaccount}, merge: {metadata: {annotations: {x: "y"}}}}}
"""


def repeated_declarations(template: str) -> Iterator[str]:
    """Yield each variable that a template declares while a variable with the same name is already visible."""
    scopes: list[set[str]] = [set()]
    for action in _ACTION.finditer(template):
        text = _TEXT.sub('""', action[1])
        word = re.match(r"\w*", text)[0]
        if word in ("else", "end"):
            scopes.pop()
        if word in ("if", "with", "range", "define", "block", "else"):
            scopes.append(set())
        for names in _DECLARATION.findall(text):
            for name in re.findall(r"\$\w+", names):
                if name != _DISCARDED and any(name in scope for scope in scopes):
                    yield name
                scopes[-1].add(name)
    if len(scopes) != 1:
        raise ValueError(f"found {len(scopes) - 1} actions without an end")


@pytest.mark.parametrize("case", GOLDEN, ids=lambda path: path.parent.name)
def test_each_variable_of_a_template_has_a_new_name(case: Path) -> None:
    assert _repeated(check(case.read_bytes(), "job.yaml").documents[0].data) == {}


@pytest.mark.long
@drawn(15)
@given(document=jobs())
def test_each_variable_of_a_random_job_has_a_new_name(document: dict[str, object]) -> None:
    assert _repeated(document) == {}


def test_each_variable_of_an_account_that_an_environment_patches_has_a_new_name() -> None:
    assert _repeated(check(ACCOUNT, "job.yaml").documents[0].data) == {}


def test_inner_name_hides_an_outer_name_only_in_its_body() -> None:
    """Each expression reads the name that is visible at its place, although two names have the same text."""
    labels, more = Value("labels", "map"), Value("more", "map")
    text = Text((Bound("name"), "-", Bound("value", path="image")))
    item = {"kind": "ConfigMap", "data": Bound("labels", "map"), "metadata": {"name": text}}
    node = Let(
        "labels",
        Merged((MapOf({"a": "b"}), labels)),
        Let("labels", Merged((MapOf({}), Bound("labels", "map"))), ForEach(more, ForEach(labels, item))),
    )
    assert template_file(node, Context("mnist")).splitlines()[:5] == [
        '{{- $labels := mergeOverwrite (dict "a" "b") .Values.labels }}',
        "{{- $labels2 := mergeOverwrite (dict) $labels }}",
        "{{- range $name, $value := .Values.more }}",
        "{{- range $name2, $value2 := $.Values.labels }}",
        "---",
    ]
    assert "{{- with $labels2 }}" in template_file(node, Context("mnist"))
    assert 'name: {{ printf "%v-%v" $name2 $value2.image | quote }}' in template_file(node, Context("mnist"))


def test_map_that_a_loop_fills_differs_from_the_names_of_the_loop() -> None:
    node = Let("key", Filtered(Value("labels", "map"), Bound("value"), key="key"), {"kind": Bound("key", "map")})
    assert list(repeated_declarations(template_file(node, Context("mnist")))) == []
    assert "{{- $_ := set $key $key2 $value }}" in template_file(node, Context("mnist"))


def test_walk_finds_a_second_declaration() -> None:
    """A variable ends with its block: the same name may appear in two branches, and after the end."""
    assert list(repeated_declarations("{{ if .a }}{{ $x := 1 }}{{ else }}{{ $x := 2 }}{{ end }}{{ $x := 3 }}")) == []
    assert list(repeated_declarations("{{ $x := 1 }}{{ range $k, $x := .a }}{{ end }}")) == ["$x"]
    assert list(repeated_declarations('{{- $x := dict }}{{ "$x := 1" }}{{/* $x := 2 */}}{{- $x := merge $x }}')) == [
        "$x"
    ]


def _repeated(document: dict[str, object]) -> dict[str, list[str]]:
    files = {path: text for path, text in render(document).tree.files.items() if "/templates/" in path}
    found = {path: list(repeated_declarations(text)) for path, text in files.items()}
    return {path: names for path, names in found.items() if names}
