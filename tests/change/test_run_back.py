"""Tests of a run with the name of an earlier run, which tfgen recognizes by its number and by the git history."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repository import commit_all, git, repository_fixture, run_tfgen, tfgen
from tfgen.change.new_run import find_runs_back
from tfgen.check.jobs import check
from tfgen.job.facts import precedes
from tfgen.report.problems import as_text
from tfgen.text.document import Document

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: mnist:1
  roles: {chief: {}, ps: {}, worker: {}}
"""
ENVIRONMENTS = "  environments: {dev: {}, prod: {run: PROD}}\n"


def document(text: str) -> Document:
    checked = check(text, "job.yaml")
    assert as_text(checked.problems) == ""
    return checked.documents[0]


def said(before: str, after: str) -> str:
    return as_text(find_runs_back(document(before), document(after)))


@pytest.mark.parametrize(
    ("run", "later"), [("", "2"), ("2", "3"), ("9", "10"), ("lr", "lr-2"), ("lr-2", "lr-3"), ("v09", "v10")]
)
def test_numbers_go_up(run: str, later: str) -> None:
    assert precedes(run, later)
    assert not precedes(later, run)


@pytest.mark.parametrize(("run", "other"), [("", "lr"), ("", "lr-2"), ("2", "lr-3"), ("a", "b"), ("2", "2")])
def test_names_without_an_order(run: str, other: str) -> None:
    assert not precedes(run, other)


def test_a_lower_number_is_an_earlier_run() -> None:
    assert said(f'{JOB}  run: "3"\n', f'{JOB}  run: "2"\n') == (
        'job.yaml:7:8: run was "3" and is "2", the name of an earlier run: the earlier run would start again in its '
        "old folder; for a new run: tfgen set job.yaml run=4 [run-goes-back]\n"
    )
    assert said(f'{JOB}  run: "2"\n', JOB) == (
        'job.yaml:4:1: run was "2" and is without a name, like an earlier run: the earlier run would start '
        "again in its old folder; for a new run: tfgen set job.yaml run=3 [run-goes-back]\n"
    )


def test_an_environment_that_names_its_run_stands_for_itself() -> None:
    before, after = (JOB + ENVIRONMENTS.replace("PROD", f'"{run}"') for run in (3, 2))
    assert said(before, after) == (
        'job.yaml:7:39: run was "3" and is "2", the name of an earlier run: the earlier run would start again in its '
        "old folder; for a new run: tfgen set job.yaml --env prod run=4 [run-goes-back]\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param('  run: "2"\n', '  run: "3"\n', id="the next run"),
        pytest.param("  run: a\n", "  run: b\n", id="another name"),
        pytest.param('  run: "3"\n', '  run: "3"\n  retries: 1\n', id="the same run"),
        pytest.param(
            '  environments: {prod: {run: "3"}}\n',
            '  environments: {prod: {run: "2", enabled: false}}\n',
            id="where the job is retired",
        ),
    ],
)
def test_no_run_goes_back(before: str, after: str) -> None:
    assert said(JOB + before, JOB + after) == ""


# -- in git --------------------------------------------------------------------------------------------------------


@repository_fixture()
def repository() -> None:
    """Return the current folder. The first commit has the run `a`; the second has the run `b` with another image."""
    for run, image in (("a", 1), ("b", 2)):
        Path("job.yaml").write_text(f"{JOB.replace('mnist:1', f'mnist:{image}')}  run: {run}\n", encoding="utf-8")
        tfgen("render", "job.yaml")
        commit_all()


def test_a_revert_is_said_with_the_way_out(repository: Path) -> None:
    git("revert", "--no-edit", "HEAD")
    (line,) = tfgen("check", "job.yaml", "--against", "HEAD~1", code=1).out.splitlines()
    assert line == (
        'job.yaml:7:8: run was "b" and is "a", the name of an earlier run: the earlier run would start again in its '
        "old folder; for a new run: tfgen set job.yaml run=b-2 [run-goes-back]"
    )
    tfgen("set", "job.yaml", "run=b-2")
    tfgen("render", "job.yaml")
    tfgen("check", "job.yaml", "--against", "HEAD~1")
    assert "image: mnist:1" in Path("job.yaml").read_text(encoding="utf-8")


def test_nothing_is_committed_that_goes_back(repository: Path) -> None:
    text = Path("job.yaml").read_text(encoding="utf-8")
    Path("job.yaml").write_text(text.replace("run: b", "run: a"), encoding="utf-8")
    assert "[run-goes-back]" in tfgen("commit", "job.yaml", code=1).err


def test_a_name_that_the_cure_gives_was_never_a_runs(repository: Path) -> None:
    for run in ("b-2", "b"):
        text = Path("job.yaml").read_text(encoding="utf-8")
        Path("job.yaml").write_text(f"{text.rpartition('  run:')[0]}  run: {run}\n", encoding="utf-8")
        tfgen("render", "job.yaml")
        commit_all()
    Path("job.yaml").write_text(f"{text.rpartition('  run:')[0]}  run: a\n", encoding="utf-8")
    assert "tfgen set job.yaml run=b-3 [run-goes-back]" in tfgen("check", "job.yaml", "--no-files", code=1).out


# -- retired, and enabled again ------------------------------------------------------------------------------------


def retired(environments: str, *, run: str = "") -> None:
    Path("job.yaml").write_text(f"{JOB}{run}  environments: {{{environments}}}\n", encoding="utf-8")
    tfgen("render", "job.yaml")
    commit_all()


def checked(environments: str, *, run: str = "") -> str:
    Path("job.yaml").write_text(f"{JOB}{run}  environments: {{{environments}}}\n", encoding="utf-8")
    return run_tfgen("check", "job.yaml", "--no-files")[1]


def test_the_way_back_of_a_retired_job_is_a_new_run(repository: Path) -> None:
    retired("dev: {namespace: dev}, prod: {run: '3'}")
    retired("dev: {namespace: dev}, prod: {enabled: false, run: '3'}")
    assert checked("dev: {namespace: dev}, prod: {run: '3'}") == (
        'job.yaml:7:41: the environment prod is enabled again with the run "3", which has ended: the run would start '
        "again in its old folder; for a new run: tfgen set job.yaml --env prod run=4 [run-goes-back]\n"
    )
    assert checked("dev: {namespace: dev}, prod: {run: '4'}") == ""


def test_a_retired_environment_that_follows_the_jobs_run(repository: Path) -> None:
    retired("dev: {namespace: dev}, prod: {}")
    retired("dev: {namespace: dev}, prod: {enabled: false}")
    assert checked("dev: {namespace: dev}, prod: {enabled: true}") == (
        "job.yaml:7:57: the environment prod is enabled again with the run without a name, which has ended: the run "
        "would start again in its old folder; for a new run: tfgen set job.yaml --env prod run=2 "
        "[run-goes-back]\n"
    )
    assert checked("dev: {namespace: dev}, prod: {}", run='  run: "2"\n') == ""


def test_an_environment_that_never_ran_is_enabled_as_it_is(repository: Path) -> None:
    retired("dev: {namespace: dev}, prod: {enabled: false}")
    assert checked("dev: {namespace: dev}, prod: {}") == ""


def test_an_environment_of_the_defaults_ran_where_the_job_said_nothing_of_it(repository: Path) -> None:
    Path("tfgen.yaml").write_text(
        "apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec: {environments: {prod: {namespace: ml}}}\n", encoding="utf-8"
    )
    retired("dev: {}")
    retired("dev: {}, prod: {enabled: false}")
    assert "the environment prod is enabled again with the run without a name" in checked("dev: {}")
