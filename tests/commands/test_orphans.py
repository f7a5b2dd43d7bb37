"""Rendered files that are still applied after the removal of their job: each check reports the files with a fix."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.support.repository import JOB, OTHER, commit_all, git, repository_fixture, run_tfgen, tfgen
from tests.support.tools import ROOT
from tfgen.cli.parser import read_arguments
from tfgen.commands.init import new_repository

pytestmark = pytest.mark.long

GONE = (
    ".tfgen/mnist.json:1:1: jobs/mnist.yaml no longer has the job mnist, but GitOps tools still apply its "
    "rendered files; to remove the files: tfgen rm mnist; to keep the job, restore the job in jobs/mnist.yaml "
    "[orphan]\n"
)


@repository_fixture(autouse=True)
def repository() -> None:
    """Make a repository with two rendered and committed jobs the current folder."""
    Path("jobs").mkdir()
    Path("jobs/mnist.yaml").write_text(JOB, encoding="utf-8")
    Path("jobs/other.yaml").write_text(OTHER, encoding="utf-8")
    tfgen("render", "jobs")
    commit_all()


def checked(*arguments: str) -> tuple[int, str]:
    code, out, err = run_tfgen("check", *arguments)
    return code, out or err


@pytest.mark.parametrize(
    "arguments",
    [
        ("jobs",),
        (".",),
        ("jobs/mnist.yaml",),
        ("jobs", "--against", "HEAD~1"),
        ("jobs", "--changed"),
    ],
)
def test_a_job_that_is_gone_is_an_error_of_each_gate(arguments: tuple[str, ...]) -> None:
    git("rm", "--quiet", "jobs/mnist.yaml")
    commit_all()
    assert checked(*arguments) == (1, GONE)


def test_ci_names_it_on_the_ledgers_line() -> None:
    Path("jobs/mnist.yaml").unlink()
    code, out = checked(".", "--format", "github")
    assert code == 1
    assert out.startswith(
        "::error file=.tfgen/mnist.json,line=1,col=1,title=orphan::jobs/mnist.yaml no longer has the job mnist"
    )


def test_a_job_that_has_another_name_leaves_an_orphan() -> None:
    Path("jobs/mnist.yaml").write_text(JOB.replace("mnist}", "digits}"), encoding="utf-8")
    code, out = checked("jobs", "--format", "json")
    assert code == 1
    assert [problem["rule"] for problem in json.loads(out)["problems"]] == ["orphan", "not-rendered"]


def test_the_last_job_is_missed_too() -> None:
    git("rm", "--quiet", "-r", "jobs")
    code, out = checked("jobs")
    assert code == 1
    assert [line.partition(":")[0] for line in out.splitlines()] == [".tfgen/mnist.json", ".tfgen/other.json"]


@pytest.mark.parametrize("way", [("rm", "mnist"), ("render", "jobs"), ("commit", "jobs")])
def test_each_way_out_leads_out(way: tuple[str, ...]) -> None:
    Path("jobs/mnist.yaml").unlink()
    tfgen(*way)
    assert checked("jobs") == (0, "0 errors, 0 warnings; 1 job compared with HEAD\n")
    assert not Path("overlays/mnist").exists()


def test_a_job_that_moved_is_none() -> None:
    Path("teams").mkdir()
    Path("jobs/mnist.yaml").rename("teams/mnist.yaml")
    assert checked("jobs")[0] == 0


def test_a_job_that_cannot_be_read_is_none() -> None:
    Path("jobs/mnist.yaml").write_text(JOB.replace("{name: mnist}", "{name: [mnist"), encoding="utf-8")
    code, out = checked("jobs")
    assert code == 1
    assert [line.partition(":")[0] for line in out.splitlines()] == ["jobs/mnist.yaml"]


def test_a_file_is_no_gate_for_the_others() -> None:
    Path("jobs/mnist.yaml").unlink()
    assert checked("jobs/other.yaml")[0] == 0


def test_the_hooks_run_where_a_commit_only_removes_files() -> None:
    """Without `always_run`, pre-commit skips a hook that has no files: https://pre-commit.com/#hooks-always_run."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (published,) = (hook for hook in hooks if hook["id"] == "tfgen-check")
    files = new_repository(read_arguments(["init", "mnist", "--repo", "--out", str(ROOT)])).files
    (config,) = (file for file in files if file.path == ".pre-commit-config.yaml")
    (local,) = (repository["hooks"] for repository in yaml.safe_load(config.text)["repos"])
    assert [hook["always_run"] for hook in (published, *local)] == [True, True, True]


def test_the_files_of_a_job_in_a_hidden_folder_stay() -> None:
    """The search in a folder skips a hidden file. The job still exists, so a render of the folder removes nothing."""
    Path(".drafts").mkdir()
    Path(".drafts/draft.yaml").write_text(JOB.replace("mnist}", "draft}"), encoding="utf-8")
    tfgen("render", ".drafts/draft.yaml")
    assert ", 0 removed," in tfgen("render", ".").out
    assert Path("charts/draft/Chart.yaml").exists()
