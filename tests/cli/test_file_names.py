"""Tests of every command with paths that are not UTF-8, and with paths that are not regular files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import Command
from tfgen import cli

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  strategy: Single
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}}
  environments: {prod: {}}
"""
WRONG = JOB.replace("chief", "cheif")
NAMES = {
    "file": b"jobs/m\xff.yaml",
    "folder": b"jobs/m\xff/job.yaml",
}
"""Paths in Latin-1, which are not valid UTF-8."""

Printed = pytest.CaptureFixture[str]


def run(arguments: list[str], expected: int, printed: Printed) -> str:
    """Return the output of a command, and check its exit code."""
    code = cli.run(arguments)
    out, err = printed.readouterr()
    assert "internal error" not in err
    assert code == expected, err
    return out + err


@pytest.fixture(params=NAMES.values(), ids=NAMES)
def job(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the path of a job in a repository, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    Command(("git", "init", "--quiet", "--initial-branch=main")).run()
    path = os.fsdecode(request.param)
    Path(path).parent.mkdir(parents=True)
    Path(path).write_text(JOB)
    return path


def test_every_command_takes_a_name_that_is_not_utf_8(job: str, capsys: Printed) -> None:
    assert "1 job, " in run(["render", job], 0, capsys)
    assert "mnist: new job" in run(["commit", job], 0, capsys)
    escaped = f'"{job}"'.replace("\udcff", r"\377")  # as git prints the path
    assert {escaped, ".tfgen/mnist.json", "charts/mnist/Chart.yaml"} <= {*Command(("git", "ls-files")).run().split()}
    assert run(["check", "jobs"], 0, capsys) == "0 errors, 0 warnings; 1 job compared with HEAD\n"
    assert run(["diff", job], 0, capsys) == "0 jobs of 1 changed since HEAD\n"
    report = {"problems": [], "notes": [], "read": "the files on disk"}
    assert json.loads(run(["check", job, "--format", "json"], 0, capsys)) == report
    assert "run (none) -> 2" in run(["rerun", job], 0, capsys)
    assert "run 2" in run(["commit", "jobs"], 0, capsys)
    assert "retired in prod" in run(["rm", job, "--env", "prod"], 0, capsys)
    assert "default" in run(["explain", job, "--origin"], 0, capsys)
    assert "retired" in run(["commit", job], 0, capsys)
    assert "removed  charts/mnist/Chart.yaml" in run(["rm", job], 0, capsys)
    assert "mnist: removed" in run(["commit", "."], 0, capsys)
    assert Command(("git", "ls-files")).run() == ""
    assert Command(("git", "status", "--porcelain")).run() == ""


def test_a_problem_in_a_file_whose_name_is_not_utf_8(job: str, capsys: Printed) -> None:
    Path(job).write_text(WRONG)
    escaped = job.encode("utf-8", "backslashreplace").decode()
    assert run(["check", job], 1, capsys).startswith(rf'{escaped}:7:11: unknown key "cheif"')
    assert run(["check", job, "--format", "github"], 1, capsys).startswith(f"::error file={escaped},line=7,col=11")
    (problem,) = json.loads(run(["check", job, "--format", "json"], 1, capsys))["problems"]
    assert problem["file"] == job
    for path, uri in (
        (job, "jobs/m%FF"),  # RFC 3986: the bytes, each as %XX
        (str(Path(job).absolute()), f"{Path.cwd().as_uri()}/jobs/m%FF"),
    ):
        (result,) = json.loads(run(["check", path, "--format", "sarif"], 1, capsys))["runs"][0]["results"]
        result_uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert result_uri == uri + job.partition("\udcff")[2]


def test_an_output_folder_whose_name_is_not_utf_8(job: str, capsys: Printed) -> None:
    out = os.fsdecode(b"out\xff")
    assert "1 job, " in run(["render", job, "--out", out], 0, capsys)
    assert Path(out, "charts/mnist/Chart.yaml").is_file()
    assert "0 errors" in run(["check", job, "--out", out], 0, capsys)


def test_ledgers_of_names_that_no_job_has(job: str, capsys: Printed) -> None:
    ledger = {"files": {}, "input": "", "tool": "0.1.0", "version": 1}
    Path(".tfgen").mkdir()
    for name in (b".tfgen/\xff.json", b".tfgen/.json", b".tfgen/..json"):
        Path(os.fsdecode(name)).write_text(json.dumps(ledger))
    assert "1 job, " in run(["render", job], 0, capsys)


# Paths that are not regular files.


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def dangle(path: Path) -> None:
    path.symlink_to("nowhere")


def device(path: Path) -> None:
    path.symlink_to(os.devnull)


THINGS: dict[str, tuple[Callable[[Path], None], str]] = {
    "loop": (loop, "tfgen.yaml: Too many levels of symbolic links"),
    "nowhere": (dangle, "tfgen.yaml: No such file or directory"),
    "folder": (Path.mkdir, "tfgen.yaml is a folder, where tfgen needs a file"),
    "fifo": (os.mkfifo, "tfgen.yaml is a device, pipe or socket, where tfgen needs a file"),
    "device": (device, "tfgen.yaml is a device, pipe or socket, where tfgen needs a file"),
}


@pytest.mark.parametrize(("make", "message"), THINGS.values(), ids=THINGS)
@pytest.mark.parametrize("command", ["render", "check", "diff", "commit"])
def test_defaults_that_are_no_file_are_not_passed_over(
    job: str, capsys: Printed, make: Callable[[Path], None], message: str, command: str
) -> None:
    make(Path("tfgen.yaml"))
    assert run([command, job], cli.USAGE, capsys) == (
        f"tfgen: error: {message}; jobs inherit defaults from this file, so make tfgen.yaml a readable file, or delete "
        "tfgen.yaml\n"
    )
    assert {path.name for path in Path().iterdir()} == {".git", "jobs", "tfgen.yaml"}


def test_defaults_may_be_a_link_to_a_file(job: str, capsys: Printed) -> None:
    Path("team.yaml").write_text("apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec: {env: {TEAM: vision}}\n")
    Path("tfgen.yaml").symlink_to("team.yaml")
    assert "TEAM" in run(["render", job, "--stdout"], 0, capsys)


@pytest.mark.parametrize("command", ["render", "commit"])
def test_a_job_whose_file_leads_in_a_circle_is_not_gone(job: str, capsys: Printed, command: str) -> None:
    run(["commit", job], 0, capsys)
    Path(job).unlink()
    loop(Path(job))
    assert "Too many levels of symbolic links" in run([command, "jobs"], cli.USAGE, capsys)
    assert Path("charts/mnist/Chart.yaml").is_file()
