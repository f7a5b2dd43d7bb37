"""Tests of the explanation of a key in an editor."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lsp.conftest import Open
from tfgen.commands.explain import explain
from tfgen.lsp.hover import explain_key

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: mnist:1.4.0
  strategy: MultiWorkerMirrored
  roles:
    worker: {replicas: 4}
  gang: {scheduler: volcano}
  environments:
    dev: {gang: {minAvailable: 1}}
"""
DEFAULTS = """\
apiVersion: tfgen/v1alpha1
kind: Defaults
registry: ml.example.org
spec:
  gang: {queue: research}
  environments:
    dev: {gang: {queue: night}}
"""

Hover = Callable[..., str | None]


@pytest.fixture
def hover(open_file: Open) -> Hover:
    """Return a function that explains the key at the mark of a file. The layer of the file is `DEFAULTS`."""

    def explained(text: str, file: str = "job.yaml") -> str | None:
        analysis, cursor = open_file(text, DEFAULTS, file)
        return explain_key(analysis, cursor) if cursor else None

    return explained


def test_a_key_is_explained(hover: Hover) -> None:
    assert hover(JOB.replace("replicas", "repl|icas")) == explain("spec.roles.worker.replicas")


def test_the_line_of_an_inherited_value_is_shown(hover: Hover) -> None:
    text = hover(JOB.replace("gang: {s", "ga|ng: {s"))
    assert text == f'{explain("spec.gang")}\nInherited:\n\n  spec.gang.queue: "research", from tfgen.yaml:5:17\n'


def test_an_environment_inherits_too(hover: Hover) -> None:
    text = hover(JOB.replace("dev: {gang", "dev: {ga|ng")) or ""
    assert text.partition("Inherited:\n\n")[2] == '  spec.gang.queue: "night", from tfgen.yaml:7:25\n'


def test_the_line_of_a_registry_is_shown(hover: Hover) -> None:
    text = hover(JOB.replace("image: mnist", "image: mn|ist")) or ""
    assert text.endswith('spec.image: "ml.example.org/mnist:1.4.0", registry of tfgen.yaml:3:11\n')


def test_a_job_that_sets_a_value_inherits_none(hover: Hover) -> None:
    assert "Inherited" not in (hover(JOB.replace("volcano}", "volcano, qu|eue: mine}")) or "Inherited")


def test_a_job_with_errors_is_explained_without_its_layers(hover: Hover) -> None:
    assert hover(JOB.replace("gang: {s", "ga|ng: {typo: 1, s")) == explain("spec.gang")


def test_a_key_of_the_defaults_is_explained_by_their_schema(hover: Hover) -> None:
    assert (hover(DEFAULTS.replace("kind", "ki|nd"), "tfgen.yaml") or "").startswith("kind: always Defaults\n")


def test_a_long_list_of_inherited_values_is_cut(hover: Hover, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfgen.lsp.hover._MOST", 0)
    assert (hover(JOB.replace("gang: {s", "ga|ng: {s")) or "").endswith("Inherited:\n\n  and 1 more value\n")


@pytest.mark.parametrize("line", ["  tpyo|: 1\n", "  # a wo|rd\n"])
def test_all_else_has_no_explanation(line: str, hover: Hover) -> None:
    assert hover(JOB + line) is None
