"""Rendered files whose line endings git converted: check reports the files once, with a fix, and not as edited."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support import git_author
from tests.support.checked_repository import JOB, commit, copy_repository, git
from tfgen import cli

Printed = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with a rendered and committed job the current folder."""
    for name, value in git_author.VARIABLES.items():
        monkeypatch.setenv(name, value)
    copy_repository(_rendered_job, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _rendered_job() -> None:
    Path("jobs").mkdir()
    Path("jobs/mnist.yaml").write_text(JOB, encoding="utf-8")
    assert cli.run(["render", "jobs"]) == 0
    commit()


def check_out_anew() -> None:
    """Check out all files again, as in a clone whose git converts line endings."""
    git("config", "core.autocrlf", "true")
    git("rm", "--quiet", "--cached", "-r", ".")
    git("reset", "--quiet", "--hard")


def checked(capsys: Printed) -> list[str]:
    capsys.readouterr()
    cli.run(["check", "jobs"])
    return capsys.readouterr().out.splitlines()


def test_all_of_them_are_one_problem_and_a_render_mends_it(capsys: Printed) -> None:
    check_out_anew()
    assert b"\r\n" in Path("charts/mnist/Chart.yaml").read_bytes()
    files = sum(path.is_file() for folder in ("charts", "overlays") for path in Path(folder).rglob("*"))
    assert checked(capsys) == [
        f"charts/mnist/.helmignore:1:1: found {files} rendered files with CRLF line endings, but tfgen writes LF; if "
        "git converts line endings (core.autocrlf), write charts/** -text, overlays/** -text and .tfgen/** -text into "
        ".gitattributes; then render the jobs [line-ends]"
    ]
    assert cli.run(["render", "jobs"]) == 0
    assert checked(capsys) == []
    assert cli.run(["commit", "jobs"]) == 0
    assert capsys.readouterr().out.startswith("nothing to commit")


def test_the_attributes_of_a_new_repository_keep_git_from_it(capsys: Printed) -> None:
    assert cli.run(["init", "other", "--repo"]) == 0
    Path("tfgen.yaml").unlink()
    for folder in ("jobs/other", ".github"):
        shutil.rmtree(folder)
    commit()
    check_out_anew()
    assert b"\r\n" in Path("jobs/mnist.yaml").read_bytes()
    assert checked(capsys) == []


def test_an_edit_is_still_one(capsys: Printed) -> None:
    check_out_anew()
    with Path("charts/mnist/Chart.yaml").open("ab") as file:
        file.write(b"# mine\r\n")
    rules = sorted(line.rpartition(" ")[2] for line in checked(capsys))
    assert rules == ["[hand-edited]", "[line-ends]"]
    assert cli.run(["render", "jobs"]) == 1
    assert "the file was edited by hand" in capsys.readouterr().err


def test_a_jobs_file_with_other_line_ends_is_as_git_has_it(capsys: Printed) -> None:
    check_out_anew()
    assert cli.run(["rm", "jobs/mnist.yaml"]) == 0
    assert not Path("charts").exists()


def test_many_edits_are_counted(capsys: Printed) -> None:
    for path in [path for path in Path("overlays").rglob("*") if path.is_file()]:
        path.write_text("# mine\n", encoding="utf-8")
    output = checked(capsys)
    summary = " more files were edited by hand; to discard the edits: tfgen render --force "
    assert len(output) == 11
    assert {line.rpartition(" ")[2] for line in output} == {"[hand-edited]"}
    assert sum(summary in line for line in output) == 1
