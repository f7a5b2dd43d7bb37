"""The templates of a chart: printed once for a structure, with the name put in last."""

from __future__ import annotations

import pytest

from tfgen.graph.graph import graph
from tfgen.job.training_job import Structure, TrainingJob
from tfgen.targets.chart.go_template.context import Context
from tfgen.targets.chart.go_template.template_file import template_file
from tfgen.targets.chart.templates import template_files
from tfgen.targets.chart.wrap import wrap


def structure(name: str) -> Structure:
    spec = {"roles": {"chief": {}, "ps": {}, "worker": {}}, "gang": {"scheduler": "volcano"}}
    return TrainingJob.from_document({"metadata": {"name": name}, "spec": spec}).structure


@pytest.mark.parametrize("name", ["m", "mnist", "a-job-whose-name-has-forty-characters-00"])
def test_the_lines_of_a_template_are_broken_for_the_name_that_is_in_them(name: str) -> None:
    """As they are where the printer is given the name itself."""
    job = structure(name)
    files = template_files(job)
    printed = {f"templates/{one.name}.yaml": wrap(template_file(one.node, Context(name))) for one in graph(job)}
    assert {path: files[path] for path in printed} == printed
    assert f'{{{{- define "{name}.fullname" -}}}}' in files["templates/_helpers.tpl"]
