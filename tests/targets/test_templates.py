"""The templates of a chart: printed once for a structure, and then completed with the name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfgen import cli
from tfgen.graph.graph import graph
from tfgen.job.training_job import Structure, TrainingJob
from tfgen.targets.chart import print_templates, templates
from tfgen.targets.chart.go_template.lines import template_file
from tfgen.targets.chart.go_template.syntax import Context
from tfgen.targets.chart.print_templates import wrap
from tfgen.targets.chart.templates import template_files
from tfgen.tree import cache

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: ml.example.org/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {}}
"""


def structure(name: str) -> Structure:
    spec = {"roles": {"chief": {}, "ps": {}, "worker": {}}, "gang": {"scheduler": "volcano"}}
    return TrainingJob.from_document({"metadata": {"name": name}, "spec": spec}).structure


@pytest.mark.parametrize("name", ["m", "mnist", "a-job-whose-name-has-forty-characters-00"])
def test_the_lines_of_a_template_are_broken_for_the_name_that_is_in_them(name: str) -> None:
    """The lines break at the same positions as in a template that is printed with the name."""
    job = structure(name)
    files = template_files(job)
    printed = {f"templates/{one.name}.yaml": wrap(template_file(one.node, Context(name))) for one in graph(job)}
    assert {path: files[path] for path in printed} == printed
    assert f'{{{{- define "{name}.fullname" -}}}}' in files["templates/_helpers.tpl"]


def test_cached_templates_equal_printed_templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    job = structure("mnist")
    printed = template_files(job)
    assert template_files(job, uses_cache=True) == printed
    templates._printed.cache_clear()
    monkeypatch.setattr(print_templates, "print_templates", None)
    assert template_files(job, uses_cache=True) == printed
    assert template_files(structure("mnest"), uses_cache=True)["templates/_helpers.tpl"].count('"mnest.fullname"')


@pytest.mark.parametrize("content", [[], {}, ["a"], {"templates/NOTES.txt": 1}, "text", 1])
def test_a_cache_entry_of_another_shape_is_no_entry(
    content: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    texts = {"templates/NOTES.txt": "notes"}
    cache.store_results({cache.cache_key([b"input"]): content})
    assert cache.cached_texts([b"input"], lambda: texts) == texts
    assert cache.cached_texts([b"input"], dict) == texts


def test_verify_prints_the_templates_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(JOB, encoding="utf-8")
    assert cli.run(["render", "job.yaml"]) == cli.OK
    templates._printed.cache_clear()
    monkeypatch.setattr(cache, "cached_result", lambda _: pytest.fail("the command reads the cache"))
    assert cli.run(["check", "--verify", "job.yaml"]) == cli.OK
