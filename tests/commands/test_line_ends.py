"""Rendered files whose line endings git converted: check reports the files once, with a fix, and not as edited."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.repository import JOB, commit_all, git, repository_fixture, run_tfgen, tfgen


@repository_fixture(autouse=True)
def repository() -> None:
    """Make a repository with a rendered and committed job the current folder."""
    Path("jobs").mkdir()
    Path("jobs/mnist.yaml").write_text(JOB, encoding="utf-8")
    tfgen("render", "jobs")
    commit_all()


def check_out_anew() -> None:
    """Check out all files again, as in a clone whose git converts line endings."""
    git("config", "core.autocrlf", "true")
    git("rm", "--quiet", "--cached", "-r", ".")
    git("reset", "--quiet", "--hard")


def checked() -> list[str]:
    return run_tfgen("check", "jobs")[1].splitlines()


def test_all_of_them_are_one_problem_and_a_render_mends_it() -> None:
    check_out_anew()
    assert b"\r\n" in Path("charts/mnist/Chart.yaml").read_bytes()
    files = sum(path.is_file() for folder in ("charts", "overlays") for path in Path(folder).rglob("*"))
    assert checked() == [
        f"charts/mnist/.helmignore:1:1: found {files} rendered files with CRLF line endings, but tfgen writes LF; if "
        "git converts line endings (core.autocrlf), write charts/** -text, overlays/** -text and .tfgen/** -text into "
        ".gitattributes; then render the jobs [line-ends]"
    ]
    tfgen("render", "jobs")
    assert checked() == []
    assert tfgen("commit", "jobs").out.startswith("nothing to commit")


def test_the_attributes_of_a_new_repository_keep_git_from_it() -> None:
    tfgen("init", "other", "--repo")
    Path("tfgen.yaml").unlink()
    for folder in ("jobs/other", ".github"):
        shutil.rmtree(folder)
    commit_all()
    check_out_anew()
    assert b"\r\n" in Path("jobs/mnist.yaml").read_bytes()
    assert checked() == []


def test_an_edit_is_still_one() -> None:
    check_out_anew()
    with Path("charts/mnist/Chart.yaml").open("ab") as file:
        file.write(b"# mine\r\n")
    rules = sorted(line.rpartition(" ")[2] for line in checked())
    assert rules == ["[hand-edited]", "[line-ends]"]
    assert "the file was edited by hand" in tfgen("render", "jobs", code=1).err


def test_a_jobs_file_with_other_line_ends_is_as_git_has_it() -> None:
    check_out_anew()
    tfgen("rm", "jobs/mnist.yaml")
    assert not Path("charts").exists()


def test_many_edits_are_counted() -> None:
    for path in [path for path in Path("overlays").rglob("*") if path.is_file()]:
        path.write_text("# mine\n", encoding="utf-8")
    output = checked()
    summary = " more files were edited by hand; to discard the edits: tfgen render --force "
    assert len(output) == 11
    assert {line.rpartition(" ")[2] for line in output} == {"[hand-edited]"}
    assert sum(summary in line for line in output) == 1
