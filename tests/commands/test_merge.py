"""Merges of two versions of a job, with git in the clone of another user."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.support.command import CommandError
from tests.support.repository import GANG_JOB, clone_with, commit_all, git, tfgen, write
from tests.support.tools import ROOT

pytestmark = pytest.mark.long

THEIRS = GANG_JOB.replace("queue: research", "queue: day")
OURS = GANG_JOB.replace("production", "night")
MERGED = THEIRS.replace("production", "night")
DRIVER = f"PYTHONPATH={shlex.quote(str(ROOT / 'gen'))} {shlex.quote(sys.executable)} -m tfgen merge-driver %O %A %B %P"
CHART = Path("charts/mnist/Chart.yaml")
LEDGER = Path(".tfgen/mnist.json")


@pytest.fixture(autouse=True)
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the git settings of the user."""
    monkeypatch.setenv("GIT_EDITOR", "true")


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a clone, the new current folder, with a commit of OURS. The remote has a commit of THEIRS."""
    first = clone_with(_repository, tmp_path)
    fresh = tmp_path / "fresh"
    git("clone", "--quiet", tmp_path / "remote.git", fresh, folder=tmp_path)
    monkeypatch.chdir(first)
    write("jobs/mnist.yaml", THEIRS)
    tfgen("commit", "jobs", "--push")
    monkeypatch.chdir(fresh)
    write("jobs/mnist.yaml", OURS)
    tfgen("commit", "jobs")
    git("fetch", "--quiet")
    return fresh


def _repository() -> None:
    tfgen("init", "other", "--repo")
    write("jobs/mnist.yaml", GANG_JOB)
    write("charts/ours/values.yaml", "".join(f"line{number}: 1\n" for number in range(9)))
    tfgen("render", "jobs")


def run(*arguments: str, code: int = 0) -> str:
    return "".join(tfgen(*arguments, code=code))


def conflict(*arguments: str) -> None:
    with pytest.raises(CommandError):
        git(*arguments)


def is_like_a_first_render(tmp_path: Path) -> bool:
    """Test whether charts and overlays equal those of the merged job, except the version of the chart."""
    folder = tmp_path / "rendered"
    tfgen("render", "jobs/mnist.yaml", "--out", str(folder))
    paths = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    compared = [path for path in paths if path not in (CHART, LEDGER)]
    assert len(compared) > 20
    return all(path.read_bytes() == (folder / path).read_bytes() for path in compared)


ENDS = {"merge": ("merge", "--continue"), "rebase": ("rebase", "--continue")}


@pytest.mark.parametrize("driver", ["", "a-program-that-is-not-installed %A"])
@pytest.mark.parametrize("command", ENDS)
def test_in_a_fresh_clone_one_render_resolves_all_conflicts(
    clone: Path, tmp_path: Path, command: str, driver: str
) -> None:
    if driver:
        git("config", "merge.tfgen.driver", driver)
    conflict(command, "origin/main")
    unmerged = git("diff", "--name-only", "--diff-filter=U").splitlines()
    assert {str(CHART), str(LEDGER)} <= {*unmerged}
    assert "jobs/mnist.yaml" not in unmerged
    if not driver:
        for arguments in (["check", "jobs"], ["rm", "mnist"]):
            assert "then render the files again: tfgen render jobs/mnist.yaml\n" in run(*arguments, code=1)
    printed = run("render", "jobs/mnist.yaml")
    assert f"note: resolved {len(unmerged)} merge conflicts in rendered files\n" in printed
    assert git("diff", "--name-only") == ""
    git(*ENDS[command])
    assert git("status", "--porcelain") == ""
    assert Path("jobs/mnist.yaml").read_text(encoding="utf-8") == MERGED
    assert "0 errors, " in run("check", "jobs", "--verify")
    assert is_like_a_first_render(tmp_path)


@pytest.mark.parametrize("command", ENDS)
def test_with_the_driver_a_merge_has_no_conflict_and_check_fails_until_the_next_render(
    clone: Path, tmp_path: Path, command: str
) -> None:
    git("config", "merge.tfgen.driver", DRIVER)
    git(command, "origin/main")
    assert git("status", "--porcelain") == ""
    printed = run("check", "jobs", code=1)
    assert "the files of mnist are from a merge, or from a render that was interrupted: " in printed
    assert "run tfgen render jobs/mnist.yaml [not-rendered]" in printed
    run("commit", "jobs", "--push")
    assert Path("jobs/mnist.yaml").read_text(encoding="utf-8") == MERGED
    assert "0 errors, " in run("check", "jobs", "--verify")
    assert is_like_a_first_render(tmp_path)


@pytest.mark.parametrize("driver", ["", DRIVER])
@pytest.mark.parametrize("command", ENDS)
def test_a_merge_of_a_renamed_and_an_edited_job(clone: Path, command: str, driver: str) -> None:
    """git detects the rendered files of the renamed job as renamed files, and merges the edits into them."""
    if driver:
        git("config", "merge.tfgen.driver", driver)
    git("checkout", "--quiet", "-b", "theirs", "HEAD~1")
    tfgen("rename", "mnist", "digits")
    tfgen("commit", "jobs")
    git("checkout", "--quiet", "main")
    conflict(command, "theirs")
    run("check", "jobs", code=1)
    run("render", "jobs")
    assert git("diff", "--name-only") == ""
    git(*ENDS[command])
    assert Path("jobs/mnist.yaml").read_text(encoding="utf-8") == OURS.replace("mnist}", "digits}")
    assert not [path for path in git("ls-files").splitlines() if "/mnist/" in path]
    assert "0 errors, " in run("check", "jobs", "--verify")


def test_a_job_that_one_side_removed_and_that_stays(clone: Path) -> None:
    git("checkout", "--quiet", "-b", "theirs", "HEAD~1")
    tfgen("rm", "jobs/mnist.yaml")
    tfgen("commit", "jobs")
    git("checkout", "--quiet", "main")
    conflict("merge", "theirs")
    run("check", "jobs", code=1)
    run("render", "jobs")
    assert git("diff", "--name-only", "--diff-filter=U") == "jobs/mnist.yaml\n"
    git("add", "jobs")
    git("merge", "--continue")
    assert git("status", "--porcelain") == ""
    assert Path("jobs/mnist.yaml").read_text(encoding="utf-8") == OURS
    assert "0 errors, " in run("check", "jobs", "--verify")


@pytest.mark.parametrize("driver", ["", DRIVER])
def test_both_edits_of_a_hand_written_chart_stay(clone: Path, driver: str) -> None:
    if driver:
        git("config", "merge.tfgen.driver", driver)
    git("checkout", "--quiet", "-b", "theirs", "HEAD~1")
    values = Path("charts/ours/values.yaml")
    before = values.read_text(encoding="utf-8")
    write(values, before.replace("line0: 1", "line0: theirs"))
    commit_all()
    git("checkout", "--quiet", "main")
    write(values, before.replace("line8: 1", "line8: ours"))
    commit_all()
    git("merge", "--quiet", "theirs")
    text = values.read_text(encoding="utf-8")
    assert "line0: theirs" in text
    assert "line8: ours" in text


def test_the_driver_reports_a_conflict_of_a_hand_written_chart(clone: Path) -> None:
    git("config", "merge.tfgen.driver", DRIVER)
    git("checkout", "--quiet", "-b", "theirs", "HEAD~1")
    values = Path("charts/ours/values.yaml")
    write(values, "theirs: 1\n")
    commit_all()
    git("checkout", "--quiet", "main")
    write(values, "ours: 1\n")
    commit_all()
    conflict("merge", "theirs")
    assert git("diff", "--name-only", "--diff-filter=U") == "charts/ours/values.yaml\n"
    assert "<<<<<<<" in values.read_text(encoding="utf-8")


def test_committed_conflict_markers_are_replaced_by_the_next_render(clone: Path, tmp_path: Path) -> None:
    conflict("merge", "origin/main")
    commit_all()
    assert "tfgen render jobs/mnist.yaml\n" in run("check", "jobs", code=1)
    run("render", "jobs")
    commit_all()
    assert "0 errors, " in run("check", "jobs", "--verify")
    assert is_like_a_first_render(tmp_path)


def test_a_side_that_is_not_a_ledger(clone: Path) -> None:
    write(LEDGER, LEDGER.read_text(encoding="utf-8").replace('"tool":', '"tools":'))
    commit_all()
    conflict("merge", "origin/main")
    before = git("status", "--porcelain"), LEDGER.read_bytes()
    printed = run("render", "jobs", code=3)
    assert ".tfgen/mnist.json: its keys are " in printed
    assert "or delete the ledger" in printed
    assert (git("status", "--porcelain"), LEDGER.read_bytes()) == before


def test_a_ledger_that_is_no_text_is_merged_line_by_line(clone: Path) -> None:
    LEDGER.write_bytes(LEDGER.read_bytes().replace(b'"tool":', b'"tool\xff":'))
    commit_all()
    conflict("merge", "origin/main")
    assert ".tfgen/mnist.json: the file is not UTF-8 text; " in run("render", "jobs", code=3)


def test_markers_in_a_rendered_file_alone(clone: Path) -> None:
    git("reset", "--quiet", "--hard", "origin/main")
    text = CHART.read_text(encoding="utf-8")
    write(CHART, f"<<<<<<< HEAD\n{text}=======\n# theirs\n>>>>>>> theirs\n")
    printed = run("check", "jobs", code=1)
    message = (
        "the file has a merge conflict; resolve the conflict in jobs/mnist.yaml, then run: tfgen render jobs/mnist.yaml"
    )
    assert f"charts/mnist/Chart.yaml:1:1: {message} [hand-edited]" in printed
    run("render", "jobs/mnist.yaml")
    assert CHART.read_text(encoding="utf-8") == text


def test_a_file_that_somebody_edited_after_the_merge_is_not_lost(clone: Path) -> None:
    conflict("merge", "origin/main")
    edited = Path("overlays/mnist/base/worker.yaml")
    write(edited, f"{edited.read_text(encoding='utf-8')}# mine\n")
    before = LEDGER.read_bytes()
    printed = run("render", "jobs", code=1)
    assert "overlays/mnist/base/worker.yaml: the file was edited by hand" in printed
    assert LEDGER.read_bytes() == before
    assert edited.read_text(encoding="utf-8").endswith("# mine\n")


def test_a_conflict_in_the_job_file_comes_first(clone: Path) -> None:
    write("jobs/mnist.yaml", OURS.replace("queue: research", "queue: ours"))
    commit_all()
    conflict("merge", "origin/main")
    before = LEDGER.read_bytes()
    assert "jobs/mnist.yaml:" in run("render", "jobs", code=1)
    assert LEDGER.read_bytes() == before
    write("jobs/mnist.yaml", MERGED)
    run("render", "jobs")
    git("add", "jobs")
    git("merge", "--continue")
    assert "0 errors, " in run("check", "jobs", "--verify")


def test_init_configures_the_driver_in_the_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet")
    tfgen("init", "mnist", "--repo")
    assert git("config", "merge.tfgen.driver") == "tfgen merge-driver %O %A %B %P\n"
    assert git("check-attr", "merge", "charts/mnist/Chart.yaml") == "charts/mnist/Chart.yaml: merge: tfgen\n"
