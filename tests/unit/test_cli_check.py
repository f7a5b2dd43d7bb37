"""``tfgen check``: what it prints where, what it compares with, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import Command
from tfgen import cli

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: mnist:1
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
"""
OTHER = JOB.replace("mnist}", "other}")
CHANGED = JOB.replace("mnist:1", "mnist:2")
CHANGE = (
    'image was "mnist:1" and is "mnist:2": Kubernetes refuses another template for the Job mnist-chief; '
    "for a new run: tfgen rerun job.yaml"
)
WRONG = JOB.replace("replicas: 2", "replica: 2")

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job that is committed, in a repository that is the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    path = tmp_path / "job.yaml"
    path.write_text(JOB, encoding="utf-8")
    git("init", "--quiet", "--initial-branch=main")
    commit()
    return path


def git(*arguments: str) -> None:
    who = {f"GIT_{role}_{what}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    Command(("git", *arguments), env=who).run()


def commit() -> None:
    git("add", "--all")
    git("commit", "--quiet", "--allow-empty", "--message=x")


def test_a_job_as_it_is_committed_is_fine(job: Path, capsys: Printed) -> None:
    assert cli.run(["check", "job.yaml"]) == 0
    assert capsys.readouterr() == ("", "0 errors, 0 warnings; 1 job compared with HEAD\n")


def test_problems_are_the_data(job: Path, capsys: Printed) -> None:
    job.write_text(CHANGED + "  env: {HUB_TOKEN: abc}\n", encoding="utf-8")
    assert cli.run(["check", "job.yaml"]) == 1
    out, err = capsys.readouterr()
    first, second, third = out.splitlines()
    assert first == f"job.yaml:5:10: {CHANGE} [new-run]"
    assert second.startswith("job.yaml:7:20: env.HUB_TOKEN is new: ")
    assert third.startswith("job.yaml:7:20: warning: ")
    assert err == "2 errors, 1 warning; 1 job compared with HEAD\n"


def test_a_warning_is_no_failure(job: Path, capsys: Printed) -> None:
    job.write_text(JOB.replace("mnist:1", "mnist"), encoding="utf-8")
    commit()
    assert cli.run(["check", "job.yaml"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("job.yaml:5:10: warning: ")
    assert err == "0 errors, 1 warning; 1 job compared with HEAD\n"


def test_json(job: Path, capsys: Printed) -> None:
    job.write_text(CHANGED, encoding="utf-8")
    assert cli.run(["check", "job.yaml", "--format", "json"]) == 1
    out, err = capsys.readouterr()
    row = {"file": "job.yaml", "line": 5, "column": 10, "message": CHANGE, "rule": "new-run", "severity": "error"}
    assert json.loads(out) == {"problems": [row]}
    assert err == ""


def test_github(job: Path, capsys: Printed) -> None:
    job.write_text(CHANGED, encoding="utf-8")
    assert cli.run(["check", "job.yaml", "--format", "github"]) == 1
    assert capsys.readouterr().out == f"::error file=job.yaml,line=5,col=10,title=new-run::{CHANGE}\n"


def test_another_revision(job: Path, capsys: Printed) -> None:
    job.write_text(CHANGED, encoding="utf-8")
    commit()
    assert cli.run(["check", "job.yaml"]) == 0
    assert cli.run(["check", "job.yaml", "--against", "HEAD~1"]) == 1
    assert capsys.readouterr().err.endswith("1 error, 0 warnings; 1 job compared with HEAD~1\n")
    assert cli.run(["check", "job.yaml", "--against", "nowhere"]) == 2
    assert capsys.readouterr() == ("", "tfgen: error: job.yaml: git has no revision 'nowhere' where it is\n")


def test_jobs_are_compared_by_their_names(job: Path, capsys: Printed) -> None:
    """Those of one file, in any order; a new one and a renamed one have nothing to be compared with."""
    job.write_text(f"{OTHER}---\n{CHANGED}", encoding="utf-8")
    Path("more").mkdir()
    Path("more/job.yaml").write_text(JOB.replace("mnist}", "new}"), encoding="utf-8")
    assert cli.run(["check", "."]) == 1
    assert capsys.readouterr() == (
        f"job.yaml:12:10: {CHANGE} [new-run]\n",
        "1 error, 0 warnings; 1 job compared with HEAD\n",
    )


def test_what_is_wrong_now_is_said_first(job: Path, capsys: Printed) -> None:
    job.write_text(WRONG.replace("mnist:1", "mnist:2"), encoding="utf-8")
    assert cli.run(["check", "job.yaml"]) == 1
    out, err = capsys.readouterr()
    assert "new-run" not in out
    assert err == "1 error, 0 warnings; 0 jobs compared with HEAD\n"


def test_what_was_wrong_then_is_a_note(job: Path, capsys: Printed) -> None:
    job.write_text(WRONG, encoding="utf-8")
    commit()
    job.write_text(JOB, encoding="utf-8")
    assert cli.run(["check", "job.yaml"]) == 0
    assert capsys.readouterr() == (
        "",
        "note: job.yaml has errors in HEAD, so it is not compared with that\n"
        "0 errors, 0 warnings; 0 jobs compared with HEAD\n",
    )


def test_without_git_the_rest_is_checked(job: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    job.write_text(CHANGED, encoding="utf-8")
    assert cli.run(["check", "job.yaml"]) == 0
    assert capsys.readouterr() == (
        "",
        "note: there is no git on the PATH, so nothing is compared with what is committed\n"
        "0 errors, 0 warnings; 0 jobs compared with HEAD\n",
    )


def test_a_new_run_is_the_way_out(job: Path, capsys: Printed) -> None:
    job.write_text(CHANGED, encoding="utf-8")
    assert cli.run(["rerun", "job.yaml"]) == 0
    assert cli.run(["check", "job.yaml"]) == 0
    capsys.readouterr()
