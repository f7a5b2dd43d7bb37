"""The lines of a chart's templates with the nodes that print them."""

from __future__ import annotations

import pytest

from tests.support.tools import ROOT
from tfgen.graph.provenance import sources
from tfgen.job.training_job import TrainingJob
from tfgen.targets.chart.go_template.syntax import Line
from tfgen.targets.chart.template_lines import chart_lines
from tfgen.targets.render import render
from tfgen.text.parse import parse


@pytest.mark.parametrize("case", ["everything", "eci", "elastic-dl", "tfjob"])
def test_the_lines_are_those_of_the_rendered_templates(case: str) -> None:
    data = parse((ROOT / "tests/golden" / case / "job.yaml").read_text(encoding="utf-8"), case).documents[0].data
    job = TrainingJob.from_document(data)
    prefix = f"charts/{job.name}/"
    rendered = {path.removeprefix(prefix): text for path, text in render(data).tree.files.items()}
    files = chart_lines(job.structure, [form.name for form in job.environments if form.enabled])
    assert files.keys() == {path for path in rendered if path.startswith("templates/")}
    for path, lines in files.items():
        assert "".join(f"{line}\n" for line in lines) == rendered[path]


def test_a_line_has_the_node_that_it_prints_and_the_reason_above_it() -> None:
    spec = {"roles": {"chief": {}, "ps": {}, "worker": {}}}
    job = TrainingJob.from_document({"metadata": {"name": "mnist"}, "spec": spec})
    lines = chart_lines(job.structure, [])["templates/worker.yaml"]
    released, replicas = [line for line in lines if line.startswith("  replicas:")]
    assert isinstance(released, Line)
    assert sources(released.node, released.context.bindings) == frozenset()
    assert isinstance(replicas, Line)
    assert sources(replicas.node, replicas.context.bindings) == {("spec", "roles", "worker", "replicas")}
    (policy,) = [line for line in lines if line.startswith("  podManagementPolicy:")]
    assert isinstance(policy, Line)
    assert policy.context.reason == "All pods start together. A gang whose pods start one by one never starts."
    assert replicas.context.reason == ""
