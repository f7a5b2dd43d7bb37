"""The templates of a chart: printed once for a structure, then completed with the name, and cached."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.generated import job
from tests.support.repository import tfgen
from tests.support.small_job import JOB
from tfgen.graph.graph import graph
from tfgen.job.training_job import TrainingJob
from tfgen.targets.chart import chart, print_templates
from tfgen.targets.chart.chart import template_files
from tfgen.targets.chart.go_template.lines import template_file
from tfgen.targets.chart.go_template.syntax import Context
from tfgen.targets.chart.print_templates import wrap
from tfgen.tree import cache


def job_named(name="mnist", **spec):
    return TrainingJob.from_document(job(name, **spec))


@pytest.mark.parametrize("name", ["m", "mnist", "a-job-whose-name-has-forty-characters-00"])
def test_lines_of_a_template_break_for_the_name_of_the_job(name):
    """The lines break at the same positions as in a template that is printed with the name."""
    named = job_named(name, gang={"scheduler": "volcano"})
    files = template_files(named)
    printed = {
        f"templates/{one.name}.yaml": wrap(template_file(one.node, Context(name))) for one in graph(named.structure)
    }
    assert {path: files[path] for path in printed} == printed
    assert f'{{{{- define "{name}.fullname" -}}}}' in files["templates/_helpers.tpl"]


def test_cached_templates_equal_printed_templates(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    printed = template_files(job_named())
    chart._printed.cache_clear()
    assert template_files(job_named(), uses_cache=True) == printed
    chart._printed.cache_clear()
    monkeypatch.setattr(print_templates, "print_templates", None)
    assert template_files(job_named(), uses_cache=True) == printed
    assert '"mnest.fullname"' in template_files(job_named("mnest"), uses_cache=True)["templates/_helpers.tpl"]


@pytest.mark.parametrize("content", [[], {}, ["a"], {"templates/NOTES.txt": 1}, "text", 1])
def test_cache_entry_of_another_shape_is_ignored(content, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    texts = {"templates/NOTES.txt": "notes"}
    cache.store_results({cache.cache_key([b"input"]): content})
    assert cache.cached_texts([b"input"], lambda: texts) == texts
    assert cache.cached_texts([b"input"], dict) == texts


def test_verify_prints_the_templates_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(JOB, encoding="utf-8")
    tfgen("render", "job.yaml")
    chart._printed.cache_clear()
    monkeypatch.setattr(cache, "cached_result", lambda _: pytest.fail("the command reads the cache"))
    tfgen("check", "--verify", "job.yaml")


def patch(path):
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [3]}}
    operation = {"op": "add", "path": f"/spec/podFailurePolicy/rules/{path}", "value": rule}
    return {"patches": {"p": {"target": {"kind": "Job"}, "json": [operation]}}}


@pytest.mark.parametrize(
    ("spec", "guarded"),
    [
        ({}, True),
        (patch("0"), True),
        (patch("-"), False),
        ({"environments": {"prod": patch("0")}}, True),
        ({"environments": {"prod": patch("-")}}, False),
    ],
    ids=["no patch", "first", "last", "first in an environment", "last in an environment"],
)
def test_guard_of_an_upgrade_compares_the_exit_codes_of_the_last_rule(spec, guarded):
    guards = template_files(job_named(**spec))["templates/guards.yaml"]
    assert ('(last (dig "spec" "podFailurePolicy" "rules"' in " ".join(guards.split())) == guarded
    assert ('"podFailurePolicy"' in guards) == guarded
