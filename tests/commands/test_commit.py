"""``tfgen commit`` in real repositories: the committed files, the files of the user, and the reasons for a refusal."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import Command, CommandError
from tests.support.repository import GANG_JOB, OTHER, clone_fixture, commit_all, git, hook, tfgen, write
from tests.support.tools import ROOT
from tfgen import cli
from tfgen.commands import commit as commit_command
from tfgen.tree.plan import FileAction, JobPlan, WritePlan
from tfgen.tree.write import apply

pytestmark = pytest.mark.long

QUEUE = GANG_JOB.replace("production", "night")
SMALL = GANG_JOB.partition("  environments:")[0]
SUBJECT = "mnist: gang.queue production -> night in prod"


def lines(*arguments: str | Path, folder: Path | str = ".") -> list[str]:
    return git(*arguments, folder=folder).splitlines()


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """Create a bare repository."""
    git("init", "--quiet", "--bare", "--initial-branch=main", tmp_path / "remote.git", folder=tmp_path)
    return tmp_path / "remote.git"


@clone_fixture()
def clone() -> None:
    """Make a clone with the job, rendered, committed and pushed. The clone becomes the current folder."""
    write("jobs/mnist.yaml", GANG_JOB)
    tfgen("render", "jobs")


def run(*arguments: str, code: int = 0) -> str:
    """Return the output of `tfgen commit` on both streams."""
    return "".join(tfgen("commit", *arguments, code=code))


def subject(folder: Path | str = ".") -> str:
    return git("log", "-1", "--format=%s", folder=folder).strip()


def committed_files() -> list[str]:
    return lines("show", "--format=", "--name-only", "HEAD")


# -- contents of the commit ------------------------------------------------------------------------------------------


def test_no_text_of_a_file_that_stays_is_read(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[FileAction] = []
    text = JobPlan.text

    def noted(job: JobPlan, path: str) -> str:
        read.extend(change.action for change in job.changes if change.path == path)
        return text(job, path)

    monkeypatch.setattr(JobPlan, "text", noted)
    write("jobs/mnist.yaml", QUEUE)
    assert SUBJECT in run("jobs")
    assert {*read} == {FileAction.CHANGE}


def test_a_change_is_rendered_and_committed_with_its_job(clone: Path) -> None:
    write("jobs/mnist.yaml", QUEUE)
    output = run("jobs")
    assert subject() == SUBJECT
    assert output.startswith("main ")
    assert SUBJECT in output
    assert "jobs/mnist.yaml" in committed_files()
    assert ".tfgen/mnist.json" in committed_files()
    assert git("status", "--porcelain") == ""
    tfgen("check", "jobs")
    assert "nothing to commit" in run("jobs")


def test_other_work_stays_as_it_is(clone: Path) -> None:
    """Other changes of the user remain: staged, not staged, both in one file, new, and removed files."""
    for name in ("staged", "dirty", "both", "gone"):
        write(name, "1\n")
    commit_all()
    write("staged", "2\n")
    write("both", "2\n")
    write("new", "1\n")
    git("add", "staged", "both", "new")
    write("both", "3\n")
    write("dirty", "2\n")
    write("untracked", "1\n")
    git("rm", "--quiet", "gone")
    before = git("status", "--porcelain"), git("diff", "--cached"), git("diff")
    write("jobs/mnist.yaml", QUEUE)
    git("add", "jobs/mnist.yaml")
    run("jobs/mnist.yaml")
    assert (git("status", "--porcelain"), git("diff", "--cached"), git("diff")) == before
    assert all(name.startswith(("charts/", "overlays/", ".tfgen/", "jobs/")) for name in committed_files())


def test_a_new_job_and_one_that_loses_an_environment(clone: Path) -> None:
    write("jobs/mnist.yaml", GANG_JOB.replace("    dev: {}\n", ""))
    write("jobs/other.yaml", GANG_JOB.replace("mnist}", "other}"))
    assert run("jobs").startswith("main ")
    assert git("log", "-1", "--format=%B") == (
        "Change mnist and other\n\n- mnist: environment dev removed\n- other: new job\n\n"
    )
    assert git("status", "--porcelain") == ""
    assert "D\toverlays/mnist/dev/kustomization.yaml" in lines(
        "show", "--format=", "--name-status", "--no-renames", "HEAD"
    )


def test_only_the_jobs_that_are_named(clone: Path) -> None:
    write("jobs/other.yaml", GANG_JOB.replace("mnist}", "other}"))
    write("jobs/mnist.yaml", QUEUE)
    run("jobs/other.yaml")
    assert subject() == "other: new job"
    assert git("status", "--porcelain") == " M jobs/mnist.yaml\n"


def test_a_message_of_ones_own(clone: Path) -> None:
    write("jobs/mnist.yaml", QUEUE)
    run("jobs", "--message", "# Nights are cheap\n\nand quiet")
    assert git("log", "-1", "--format=%B").strip() == "# Nights are cheap\n\nand quiet"


def test_a_job_that_moves_is_no_new_one(clone: Path) -> None:
    Path("teams").mkdir()
    Path("jobs/mnist.yaml").rename("teams/mnist.yaml")
    run(".")
    assert git("log", "-1", "--format=%B").strip() == "mnist: moved to teams/mnist.yaml"


@pytest.mark.parametrize("way", ["mv", "git mv", "render", "comment"])
def test_a_commit_of_the_new_file_of_a_job_removes_the_old_file(clone: Path, tmp_path: Path, way: str) -> None:
    Path("a b").mkdir()
    if way == "git mv":
        git("mv", "jobs/mnist.yaml", "a b/job.yaml")
    else:
        Path("jobs/mnist.yaml").rename("a b/job.yaml")
    if way == "render":
        tfgen("render", "a b")
    if way == "comment":
        write("jobs/mnist.yaml", "# moved\n")
    run("a b/job.yaml")
    assert git("log", "-1", "--format=%B").strip() == "mnist: moved to a b/job.yaml"
    assert lines("show", "--format=", "--name-status", "--no-renames", "HEAD") == [
        "M\t.tfgen/mnist.json",
        "A\ta b/job.yaml",
        f"{'M' if way == 'comment' else 'D'}\tjobs/mnist.yaml",
    ]
    assert git("status", "--porcelain") == ""
    git("clone", "--quiet", ".", tmp_path / "fresh")
    tfgen("check", tmp_path / "fresh")


MOVED = (
    "tfgen: error: new.yaml: the job mnist moved from jobs/mnist.yaml to new.yaml, so a commit of new.yaml alone would "
    "leave the job in both files; to commit all changes of the files: tfgen commit new.yaml jobs/mnist.yaml"
)
LEFT = {
    "another job": ({"jobs/mnist.yaml": OTHER}, ""),
    "a new job": ({"jobs/mnist.yaml": OTHER.replace("other}", "third}")}, ""),
    "another job in another file": (
        {"jobs/mnist.yaml": None, "jobs/other file.yaml": OTHER},
        " 'jobs/other file.yaml'",
    ),
    "a removed job": ({"jobs/mnist.yaml": None}, ""),
}
"""The files after the move of one of two jobs, and the end of the command in the message."""


@pytest.mark.parametrize("case", LEFT)
def test_a_moved_job_whose_old_file_has_more_is_committed_with_this_file(clone: Path, case: str) -> None:
    files, end = LEFT[case]
    write("jobs/mnist.yaml", GANG_JOB if case == "a new job" else f"{GANG_JOB}---\n{OTHER}")
    run("jobs")
    before = git("rev-parse", "HEAD")
    write("new.yaml", GANG_JOB)
    for path, text in files.items():
        if text is None:
            Path(path).unlink()
        else:
            write(path, text)
    assert tfgen("commit", "new.yaml", code=1) == ("", f"{MOVED}{end}\n")
    assert git("rev-parse", "HEAD") == before
    tfgen(*shlex.split(f"{MOVED}{end}".partition(": tfgen ")[2]))
    assert git("status", "--porcelain") == ""
    tfgen("check", ".")


def test_a_moved_job_is_compared_with_its_old_file(clone: Path) -> None:
    Path("jobs/mnist.yaml").unlink()
    write("new.yaml", GANG_JOB.replace("1.4.0", "1.5.0"))
    assert tfgen("commit", "new.yaml", code=1) == (
        "",
        'new.yaml:5:10: image was "registry.example.com/ml/mnist:1.4.0" and is '
        '"registry.example.com/ml/mnist:1.5.0": Kubernetes refuses to change the template of the Job mnist-chief; '
        "for a new run: tfgen rerun new.yaml [new-run]\n"
        "nothing was committed: the jobs have errors\n",
    )


def test_words_for_what_changes_no_object(clone: Path) -> None:
    write("jobs/mnist.yaml", f"# Numbers.\n{GANG_JOB}")
    run("jobs")
    assert subject() == "mnist: comments or layout changed"


def test_json(clone: Path) -> None:
    write("jobs/mnist.yaml", QUEUE)
    result = json.loads(run("jobs", "--format", "json"))
    assert result["commit"] == git("rev-parse", "HEAD").strip()
    assert (result["branch"], result["pushedTo"]) == ("main", None)
    assert result["files"] == committed_files()
    assert json.loads(run("jobs", "--format", "json"))["commit"] is None


def test_the_defaults_of_a_team_come_along(clone: Path) -> None:
    write("tfgen.yaml", "apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec: {labels: {team: vision}}\n")
    write("jobs/mnist.yaml", GANG_JOB.replace("spec:\n", "spec:\n  run: b\n"))
    run("jobs")
    assert "tfgen.yaml" in committed_files()
    assert git("status", "--porcelain") == ""


def test_other_defaults_alone_are_named_and_a_note_tells_that_the_rendered_files_stay(clone: Path) -> None:
    write("tfgen.yaml", "apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec: {labels: {team: vision}, retries: 3}\n")
    printed = run("jobs")
    assert committed_files() == ["tfgen.yaml"]
    assert git("log", "-1", "--format=%s").strip() == "mnist: other defaults, rendered files unchanged"
    assert (
        "mnist keeps its rendered files until the job changes; "
        "to render the job: tfgen render --upgrade jobs/mnist.yaml" in printed
    )


def test_what_git_ignores_is_left_out(clone: Path) -> None:
    write(".gitignore", "charts/\n")
    git("rm", "-r", "--quiet", "--cached", "charts")
    commit_all()
    write("jobs/mnist.yaml", QUEUE)
    run("jobs")
    assert not [name for name in committed_files() if name.startswith("charts/")]
    assert git("status", "--porcelain") == ""


KUSTOMIZATION = "overlays/mnist/prod/kustomization.yaml"
LEDGER = ".tfgen/mnist.json"


def test_a_file_that_git_is_told_not_to_look_at_is_not_left_out(clone: Path) -> None:
    git("update-index", "--assume-unchanged", "jobs/mnist.yaml")
    git("update-index", "--skip-worktree", LEDGER)
    for flag in ("--assume-unchanged", "--skip-worktree"):
        git("update-index", flag, "charts/mnist/Chart.yaml")
    git("update-index", "--assume-unchanged", "charts/mnist/README.md")  # a file that the render does not change
    write("jobs/mnist.yaml", QUEUE)
    before = git("log", "--format=%H")
    assert refused("jobs") == (
        "tfgen: error: nothing was written or committed:\n"
        ".tfgen/mnist.json: git ignores the change, because the file is marked as skip-worktree; run "
        "git update-index --no-skip-worktree "
        ".tfgen/mnist.json\n"
        "charts/mnist/Chart.yaml: git ignores the change, because the file is marked as assume-unchanged; run "
        "git update-index --no-assume-unchanged "
        "charts/mnist/Chart.yaml\n"
        "charts/mnist/Chart.yaml: git ignores the change, because the file is marked as skip-worktree; run "
        "git update-index --no-skip-worktree "
        "charts/mnist/Chart.yaml\n"
        "jobs/mnist.yaml: git ignores the change, because the file is marked as assume-unchanged; run "
        "git update-index --no-assume-unchanged "
        "jobs/mnist.yaml\n"
    )
    assert git("log", "--format=%H") == before
    assert "night" not in Path("charts/mnist/values-prod.yaml").read_text()  # tfgen wrote no file
    git("update-index", "--no-assume-unchanged", "jobs/mnist.yaml", "charts/mnist/Chart.yaml")
    git("update-index", "--no-skip-worktree", LEDGER, "charts/mnist/Chart.yaml")
    run("jobs")
    assert {"jobs/mnist.yaml", LEDGER, "charts/mnist/Chart.yaml"} <= {*committed_files()}


def test_a_file_that_goes_though_git_is_told_not_to_look_at_it(clone: Path) -> None:
    git("update-index", "--skip-worktree", KUSTOMIZATION)
    write("jobs/mnist.yaml", SMALL)
    assert f"{KUSTOMIZATION}: git ignores the change, because the file is marked as skip-worktree" in refused("jobs")
    assert Path(KUSTOMIZATION).exists()


def test_a_file_outside_of_a_sparse_checkout(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("sparse-checkout", "set", "jobs", ".tfgen", "overlays")
    write("jobs/mnist.yaml", QUEUE)
    assert not Path("charts").exists()
    monkeypatch.chdir("jobs")
    cause = "git ignores the change, because the file is marked as skip-worktree"
    cure = f"{cause}; run git sparse-checkout add ../charts/mnist\n"
    assert f"charts/mnist/values-prod.yaml: {cure}" in refused("mnist.yaml")
    assert not (clone / "charts").exists()


@pytest.mark.parametrize("kind", ["submodule", "submodule that is not there", "nested", "jobs"])
def test_no_commit_is_in_two_repositories(
    remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    git("init", "--quiet", "--initial-branch=main", tmp_path / "outer", folder=tmp_path)
    monkeypatch.chdir(tmp_path / "outer")
    write("jobs/mnist.yaml", GANG_JOB)
    folder = "jobs" if kind == "jobs" else "charts"
    if kind.startswith("submodule"):
        git("clone", "--quiet", remote, tmp_path / "filled", folder=tmp_path)
        write(tmp_path / "filled/x", "x\n")
        git("add", "x", folder=tmp_path / "filled")
        git("commit", "--quiet", "--message=x", folder=tmp_path / "filled")
        git("push", "--quiet", folder=tmp_path / "filled")
        git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", remote, "charts")
        git("commit", "--quiet", "--message=x")
        if kind != "submodule":
            git("submodule", "--quiet", "deinit", "charts")
    else:
        git("commit", "--quiet", "--allow-empty", "--message=x")
        git("init", "--quiet", folder)
    before = git("status", "--porcelain", "--untracked-files=all")
    assert refused("jobs", "--out", ".") == (
        "tfgen: error: nothing was written or committed:\n"
        f"{folder} is a separate repository, and a commit cannot contain files of two repositories: "
        f"move the folder out of {tmp_path / 'outer'}, or choose another folder with --out\n"
    )
    assert git("status", "--porcelain", "--untracked-files=all") == before
    assert not Path(".tfgen").exists()


def test_another_repository_that_is_ignored_is_left_out(clone: Path) -> None:
    write(".gitignore", "charts/\n")
    git("rm", "-r", "--quiet", "--cached", "charts")
    commit_all()
    git("init", "--quiet", "charts")
    write("jobs/mnist.yaml", QUEUE)
    run("jobs")
    assert not [name for name in committed_files() if name.startswith("charts/")]


def test_a_broken_ledger_that_is_committed_is_mended_by_a_commit(clone: Path) -> None:
    write("README.md", "precious\n")
    text = Path(LEDGER).read_text()
    write(LEDGER, text.replace('"files": {', '"files": {"README.md": "' + "0" * 64 + '",'))
    commit_all()
    assert "files has 'README.md'" in run("jobs", code=3)
    Path(LEDGER).unlink()
    run("jobs")
    assert committed_files() == [LEDGER]
    assert Path(LEDGER).read_text() == text
    assert Path("README.md").read_text() == "precious\n"


# -- branches --------------------------------------------------------------------------------------------------------


def test_the_first_commit_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("init", "--quiet", "--initial-branch=main", tmp_path / "new", folder=tmp_path)
    monkeypatch.chdir(tmp_path / "new")
    write("jobs/mnist.yaml", GANG_JOB)
    write("mine", "1\n")
    git("add", "mine")
    run("jobs")
    assert subject() == "mnist: new job"
    assert git("status", "--porcelain") == "A  mine\n"


def test_a_sub_folder(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("jobs/mnist.yaml", QUEUE)
    monkeypatch.chdir("jobs")
    run("mnist.yaml")
    assert subject() == SUBJECT
    assert git("status", "--porcelain") == ""


def test_an_output_folder_below_the_root(clone: Path) -> None:
    run("jobs", "--out", "clusters/a")
    assert "clusters/a/.tfgen/mnist.json" in committed_files()
    assert git("status", "--porcelain") == ""


def test_a_worktree_and_a_submodule(clone: Path, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("worktree", "add", "--quiet", "-b", "other", tmp_path / "worktree")
    monkeypatch.chdir(tmp_path / "worktree")
    write("jobs/mnist.yaml", QUEUE)
    run("jobs", "--push")
    assert (subject(), subject(clone)) == (SUBJECT, "x")
    assert git("log", "-1", "--format=%s", "other", folder=remote).strip() == SUBJECT

    git("init", "--quiet", "--initial-branch=main", tmp_path / "outer", folder=tmp_path)
    add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", remote, "inner")
    git(*add, folder=tmp_path / "outer")
    monkeypatch.chdir(tmp_path / "outer" / "inner")
    write("jobs/mnist.yaml", QUEUE)
    run("jobs", "--push")
    assert git("log", "-1", "--format=%s", "main", folder=remote).strip() == SUBJECT
    assert git("rev-parse", "--verify", "--quiet", "HEAD", folder=tmp_path / "outer/inner") != ""


def test_a_new_branch(clone: Path, remote: Path) -> None:
    write("mine", "1\n")
    git("add", "mine")
    write("jobs/mnist.yaml", QUEUE)
    run("jobs", "--branch", "nights", "--push")
    assert git("branch", "--show-current") == "nights\n"
    assert subject(remote) == "x"
    assert git("log", "-1", "--format=%s", "nights", folder=remote).strip() == SUBJECT
    assert git("rev-parse", "--abbrev-ref", "nights@{upstream}") == "origin/nights\n"
    assert git("status", "--porcelain") == "A  mine\n"
    write("jobs/mnist.yaml", GANG_JOB)
    assert "the branch main exists already" in run("jobs", "--branch", "main", code=2)
    assert "is not a valid name of a branch" in run("jobs", "--branch", "a..b", code=2)
    assert git("status", "--porcelain") == " M jobs/mnist.yaml\nA  mine\n"  # tfgen rendered no file
    run("jobs", "--branch", "nights")
    assert subject() == "mnist: gang.queue night -> production in prod"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("@", "'@' is not a valid name of a branch: git reads the name as another revision"),
        ("HEAD", "'HEAD' is not a valid name of a branch"),
        ("FETCH_HEAD", "'FETCH_HEAD' is not a valid name of a branch: git reads the name as another revision"),
        (
            "CHERRY_PICK_HEAD",
            "'CHERRY_PICK_HEAD' is not a valid name of a branch: git reads the name as another revision",
        ),
        ("@{-1}", "'@{-1}' is not a valid name of a branch"),
        ("-", "'-' is not a valid name of a branch"),
        ("-q", "'-q' is not a valid name of a branch"),
        (
            "0123456789abcdef0123456789abcdef01234567",
            "is not a valid name of a branch: git reads the name as another revision",
        ),
        (
            "refs/heads/nights",
            "'refs/heads/nights' is not a valid name of a branch: git reads the name as another revision",
        ),
        ("heads/nights", "'heads/nights' is not a valid name of a branch: git reads the name as another revision"),
        ("v1", "'v1' is not a usable name of a branch here: git reads the name as refs/tags/v1"),
        (
            "origin/main",
            "'origin/main' is not a usable name of a branch here: git reads the name as refs/remotes/origin/main",
        ),
    ],
)
def test_a_branch_that_git_would_read_as_something_else(clone: Path, name: str, message: str) -> None:
    git("checkout", "--quiet", "-b", "before")  # so that @{-1} names a branch
    git("checkout", "--quiet", "main")
    git("tag", "v1")
    refs = git("for-each-ref")
    write("jobs/mnist.yaml", QUEUE)
    assert message in run("jobs", f"--branch={name}", code=2)
    assert git("for-each-ref") == refs
    assert git("symbolic-ref", "HEAD") == "refs/heads/main\n"
    assert git("status", "--porcelain") == " M jobs/mnist.yaml\n"


@pytest.mark.parametrize("name", ["PROD", "a@b", "topic/HEAD", "deadbeef"])
def test_a_branch_that_only_looks_odd(clone: Path, name: str) -> None:
    write("jobs/mnist.yaml", QUEUE)
    run("jobs", f"--branch={name}")
    assert git("symbolic-ref", "HEAD") == f"refs/heads/{name}\n"


def test_a_branch_and_a_tag_of_one_name(clone: Path, remote: Path) -> None:
    git("tag", "main")
    write("jobs/mnist.yaml", QUEUE)
    assert "pushed to origin/main" in run("jobs", "--push")
    assert git("log", "-1", "--format=%s", "refs/heads/main", folder=remote).strip() == SUBJECT


def test_nothing_for_a_new_branch(clone: Path, remote: Path) -> None:
    """The command reports the problem before it writes a file, because a render would equal the committed files."""
    rendered = clone / "overlays/mnist/prod/kustomization.yaml"
    rendered.unlink()
    output = run("jobs", "--branch", "nights", "--push", code=2)
    assert "nothing has changed, so tfgen does not create the branch nights" in output
    assert not rendered.exists()
    assert lines("branch", "--list", folder=remote) == ["* main"]
    write(rendered, "# mine\n")
    assert "the file was edited by hand" in refused("jobs", "--branch", "nights", "--push")
    rendered.unlink()
    run("jobs", "--push")
    assert rendered.exists()
    rendered.unlink()
    write("jobs/mnist.yaml", QUEUE)
    run("jobs", "--branch", "nights", "--push")
    assert rendered.exists()
    assert git("log", "-1", "--format=%s", "nights", folder=remote).strip() == SUBJECT


@pytest.mark.parametrize("change", ["ignored", "untracked"])
def test_a_new_branch_for_a_file_that_git_does_not_have(clone: Path, remote: Path, change: str) -> None:
    """A rendered file that git does not have is a reason for a new branch, unless git ignores the file."""
    git("rm", "--quiet", "--cached", "overlays/mnist/prod/kustomization.yaml")
    git("commit", "--quiet", "--message=y")
    if change == "ignored":
        write(".git/info/exclude", "overlays/mnist/prod/kustomization.yaml\n")
    run("jobs", "--branch", "nights", "--push", code=2 if change == "ignored" else 0)
    assert len(lines("branch", "--list", folder=remote)) == (1 if change == "ignored" else 2)


def test_a_detached_head_wants_a_branch(clone: Path) -> None:
    git("checkout", "--quiet", "--detach")
    write("jobs/mnist.yaml", QUEUE)
    before = git("status", "--porcelain")
    assert "no branch is checked out (a detached HEAD); name a new branch with --branch" in run("jobs", code=2)
    assert git("status", "--porcelain") == before
    run("jobs", "--branch", "nights")
    assert subject() == SUBJECT


def test_a_shallow_clone(clone: Path, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("more", "1\n")
    commit_all()
    git("push", "--quiet")
    git("clone", "--quiet", "--depth=1", remote.as_uri(), tmp_path / "shallow", folder=tmp_path)
    write("more", "2\n")
    commit_all()
    git("push", "--quiet")
    monkeypatch.chdir(tmp_path / "shallow")
    write("jobs/mnist.yaml", QUEUE)
    run("jobs", "--push")
    assert subject(remote) == SUBJECT
    assert Path("more").read_text() == "2\n"


# -- reasons for a refusal -------------------------------------------------------------------------------------------


def refused(*arguments: str, code: int = 1) -> str:
    """Return the message, and check that branch, last commit and index are unchanged."""

    def state() -> tuple[str, ...]:
        head = git("rev-parse", "--verify", "--quiet", "HEAD") if Path(".git").exists() else ""
        return head, git("symbolic-ref", "--quiet", "HEAD"), git("ls-files", "--stage"), git("branch")

    before = state()
    output = run(*arguments, code=code)
    assert state() == before
    return output


def test_errors_of_the_job(clone: Path) -> None:
    write("jobs/mnist.yaml", GANG_JOB.replace("replicas: 2", "replica: 2"))
    assert "[unknown-key]" in refused("jobs")
    write("jobs/mnist.yaml", GANG_JOB.replace("1.4.0", "1.5.0"))
    assert "[new-run]" in refused("jobs")
    assert git("status", "--porcelain") == " M jobs/mnist.yaml\n"
    assert json.loads(tfgen("commit", "jobs", "--format", "json", code=1).out)["problems"][0]["rule"] == "new-run"


def test_errors_of_the_job_are_said_though_a_ledger_is_broken(clone: Path) -> None:
    write(LEDGER, "{")
    write("jobs/mnist.yaml", GANG_JOB.replace("image:", "imag:"))
    assert 'unknown key "imag"' in run("jobs", code=1)
    write("jobs/mnist.yaml", GANG_JOB)
    assert f"{LEDGER}: not JSON" in run("jobs", code=3)


def test_a_file_that_was_edited_by_hand(clone: Path) -> None:
    name = "overlays/mnist/prod/podgroup.patch.yaml"
    write(name, "# mine\n")
    write("jobs/mnist.yaml", QUEUE)
    error = refused("jobs")
    assert f"nothing was written:\n{name}: the file was edited by hand; tfgen render --force replaces the file" in error
    assert git("status", "--porcelain") == f" M jobs/mnist.yaml\n M {name}\n"


def test_no_git_and_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("job.yaml", GANG_JOB)
    assert "the folder is not in a git repository" in run("job.yaml", code=2)
    monkeypatch.setenv("PATH", "")
    assert "git is not on the PATH" in run("job.yaml", code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["job.yaml"]


def test_no_remote_and_several(clone: Path) -> None:
    write("jobs/mnist.yaml", QUEUE)
    git("branch", "--unset-upstream")
    git("remote", "rename", "origin", "a")
    git("remote", "add", "b", "nowhere")
    assert "several remotes exist (a, b); choose a remote" in refused("jobs", "--push", code=2)
    git("remote", "remove", "a")
    git("remote", "remove", "b")
    assert "no remote exists to push main to" in refused("jobs", "--push", code=2)
    assert git("status", "--porcelain") == " M jobs/mnist.yaml\n"


def start_conflict(command: str) -> None:
    """Start an operation of git that stops at a conflict in the job file: each branch sets a different queue."""
    git("checkout", "--quiet", "-b", "other")
    write("jobs/mnist.yaml", QUEUE)
    tfgen("commit", "jobs")
    patch = git("format-patch", "-1", "--stdout", "--no-signature")
    git("checkout", "--quiet", "main")
    write("jobs/mnist.yaml", GANG_JOB.replace("production", "day"))
    tfgen("commit", "jobs")
    write("../x.patch", patch)
    options = {"revert": ["--no-edit", "HEAD~1"], "am": ["--3way", "../x.patch"]}
    with pytest.raises(CommandError):
        git(command, *options.get(command, ["other"]))


@pytest.mark.parametrize("command", ["merge", "rebase", "cherry-pick", "revert", "am"])
def test_an_unfinished_operation(clone: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("GIT_EDITOR", "true")
    start_conflict(command)
    state = git("status", "--porcelain")
    message = run("jobs", code=1)
    assert f"{command} is under way in {clone}. To finish:\n" in message
    assert git("status", "--porcelain") == state
    write("jobs/mnist.yaml", QUEUE)
    steps = [line.strip() for line in message.splitlines() if line.startswith("  ")]
    for step in steps:
        subprocess.run(
            ["bash", "-c", step],
            check=True,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        )
    assert git("status", "--porcelain") == ""
    assert "night" in Path("overlays/mnist/prod/podgroup.patch.yaml").read_text(encoding="utf-8")
    run("jobs")
    tfgen("check", "jobs")


@pytest.mark.parametrize("command", ["merge", "rebase", "cherry-pick", "revert", "am"])
def test_an_aborted_operation(clone: Path, command: str) -> None:
    start_conflict(command)
    (abort,) = (line for line in run("jobs", code=1).splitlines() if line.startswith("To abort: git "))
    git(*abort.removeprefix("To abort: git ").split())
    assert "nothing" in run("jobs")


def test_a_hook_that_refuses(clone: Path) -> None:
    hook("pre-commit", "echo 'not on a Friday' >&2; exit 1")
    write("jobs/mnist.yaml", QUEUE)
    write("jobs/other.yaml", GANG_JOB.replace("mnist}", "other}"))
    output = refused("jobs", "--branch", "nights")
    assert "not on a Friday" in output
    assert "nothing is committed" in output
    assert "?? jobs/other.yaml" in git("status", "--porcelain")
    hook("pre-commit", "exit 0")
    hook("commit-msg", "echo 'no ticket' >&2; exit 1")
    assert "no ticket" in refused("jobs")


def test_a_hook_sees_what_is_committed_and_its_own_settings(clone: Path) -> None:
    hook(
        "pre-commit",
        'git diff --cached --name-only > seen; echo "${LC_ALL-unset} ${GIT_LITERAL_PATHSPECS-unset}" >> seen',
    )
    write("mine", "1\n")
    git("add", "mine")
    write("jobs/mnist.yaml", QUEUE)
    run("jobs")
    *names, settings = Path("seen").read_text().splitlines()
    assert names == committed_files()
    assert settings == f"{os.environ.get('LC_ALL', 'unset')} unset"


def test_a_hook_that_rewrites(clone: Path) -> None:
    """The command commits and reports the content that a hook wrote, because tfgen treats the file as edited."""
    hook("pre-commit", "echo '# checked' >> overlays/mnist/prod/kustomization.yaml; git add overlays")
    hook("commit-msg", "echo 'Ticket: 7' >> \"$1\"")
    write("jobs/mnist.yaml", QUEUE)
    output = run("jobs")
    assert "note: a git hook changed a rendered file: overlays/mnist/prod/kustomization.yaml:" in output
    assert git("show", "HEAD:overlays/mnist/prod/kustomization.yaml").endswith("# checked\n")
    assert git("log", "-1", "--format=%B").strip() == f"{SUBJECT}\nTicket: 7"
    assert git("status", "--porcelain") == ""


def test_a_signing_program_that_fails(clone: Path) -> None:
    git("config", "commit.gpgsign", "true")
    git("config", "gpg.program", "false")
    write("jobs/mnist.yaml", QUEUE)
    assert "failed to sign" in refused("jobs")


def test_a_lock_of_another_git(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfgen.git.commit._ATTEMPTS", 2)
    write("jobs/mnist.yaml", QUEUE)
    write(".git/index.lock", "")
    assert "index.lock" in run("jobs", code=1)
    Path(".git/index.lock").unlink()
    run("jobs")
    assert subject() == SUBJECT


@pytest.mark.parametrize("named", ["jobs", "jobs/mnist.yaml", "."])
def test_what_rm_took_away_is_committed_by_its_name(clone: Path, named: str) -> None:
    """`tfgen rm` of the last job of a folder also removes the folder."""
    tfgen("rm", "jobs/mnist.yaml")
    assert not Path("jobs").exists()
    run(named)
    assert subject() == "mnist: removed"
    assert lines("ls-files") == []
    tfgen("commit", "jobs", code=cli.USAGE)


# -- pushing ---------------------------------------------------------------------------------------------------------


def other_clone(remote: Path, tmp_path: Path, change: Callable[[Path], object]) -> None:
    """Push a commit from another clone."""
    folder = tmp_path / f"other-{len(list(tmp_path.iterdir()))}"
    git("clone", "--quiet", remote, folder, folder=tmp_path)
    change(folder)
    git("add", "--all", folder=folder)
    git("commit", "--quiet", "--message=theirs", folder=folder)
    git("push", "--quiet", folder=folder)


def test_a_remote_that_moved(clone: Path, remote: Path, tmp_path: Path) -> None:
    write("dirty", "1\n")
    write("staged", "1\n")
    commit_all()
    git("push", "--quiet")
    other_clone(remote, tmp_path, lambda folder: write(folder / "theirs", "1\n"))
    write("dirty", "2\n")
    write("staged", "2\n")
    git("add", "staged")
    write("jobs/mnist.yaml", QUEUE)
    run("jobs", "--push")
    assert lines("log", "--format=%s", folder=remote) == [SUBJECT, "theirs", "x", "x"]
    assert lines("log", "--format=%s") == lines("log", "--format=%s", folder=remote)
    assert Path("theirs").exists()
    assert lines("status", "--porcelain") == [" M dirty", "M  staged"]
    assert lines("worktree", "list")[1:] == []


def test_another_change_of_the_same_job(clone: Path, remote: Path, tmp_path: Path) -> None:
    other_clone(
        remote, tmp_path, lambda folder: write(folder / "jobs/mnist.yaml", GANG_JOB.replace("production", "day"))
    )
    write("jobs/mnist.yaml", QUEUE)
    output = run("jobs", "--push", code=1)
    assert "origin/main also changed jobs/mnist.yaml" in output
    assert "\n  git pull --rebase origin main\n" in output
    assert (subject(), subject(remote)) == (SUBJECT, "theirs")
    assert git("status", "--porcelain") == ""
    assert lines("worktree", "list")[1:] == []
    assert Path("jobs/mnist.yaml").read_text(encoding="utf-8") == QUEUE


DAY = GANG_JOB.replace("queue: research", "queue: day")
"""A change by another user, which git merges with `QUEUE` without a conflict."""
MERGED = QUEUE.replace("queue: research", "queue: day")


def _rendered(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the job into a clone, and render the job there."""
    write(folder / "jobs/mnist.yaml", text)
    with monkeypatch.context() as patch:
        patch.chdir(folder)
        tfgen("render", "jobs")


def test_edits_of_one_job_that_merge_cleanly_are_rendered_again_and_pushed(
    clone: Path, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_clone(remote, tmp_path, lambda folder: _rendered(folder, DAY, monkeypatch))
    write("mine", "1\n")
    write("jobs/mnist.yaml", QUEUE)
    printed = run("jobs", "--push")
    note = "note: rebased the commit on origin/main, and rendered the merged job files again: jobs/mnist.yaml\n"
    assert note in printed
    assert "\npushed to origin/main\n" in printed
    assert lines("log", "--format=%s", folder=remote) == [SUBJECT, "theirs", "x"]
    assert git("rev-parse", "main", folder=remote) == git("rev-parse", "HEAD")
    assert Path("jobs/mnist.yaml").read_text(encoding="utf-8") == MERGED
    assert lines("status", "--porcelain") == ["?? mine"]
    assert lines("worktree", "list")[1:] == []
    tfgen("check", "jobs", "--against", "HEAD~1")
    tfgen("check", "jobs", "--verify")
    fresh = tmp_path / "fresh"
    _rendered(fresh, MERGED, monkeypatch)
    rendered = [path for path in fresh.rglob("*.yaml") if path.name != "Chart.yaml"]
    assert len(rendered) > 20
    for path in rendered:
        assert Path(path.relative_to(fresh)).read_bytes() == path.read_bytes()


def test_a_rename_of_a_job_that_another_edited_is_rendered_with_the_edit(
    clone: Path, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git detects the rendered files of the renamed job as renamed files, and reports conflicts in them."""
    other_clone(remote, tmp_path, lambda folder: _rendered(folder, QUEUE, monkeypatch))
    write("jobs/mnist.yaml", GANG_JOB.replace("mnist}", "digits}"))
    run("jobs", "--push")
    assert Path("jobs/mnist.yaml").read_text(encoding="utf-8") == QUEUE.replace("mnist}", "digits}")
    assert not [path for path in lines("ls-files") if "/mnist/" in path]
    tfgen("check", "jobs", "--verify")
    assert git("rev-parse", "main", folder=remote) == git("rev-parse", "HEAD")


@pytest.mark.parametrize("file", ["jobs/mnist.yaml", "jobs/digits.yaml"])
def test_an_edit_of_a_job_that_another_renamed_is_refused_and_the_advice_is_followed(
    clone: Path, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """git would move the edit of mnist into digits without a conflict, also if the file has another name."""

    def rename(folder: Path) -> None:
        (folder / "jobs/mnist.yaml").rename(folder / file)
        write(folder / file, GANG_JOB.replace("mnist}", "digits}"))
        with monkeypatch.context() as patch:
            patch.chdir(folder)
            tfgen("render", "jobs")

    other_clone(remote, tmp_path, rename)
    write("jobs/mnist.yaml", QUEUE)
    write("mine", "1\n")
    printed = run("jobs", "--push", code=1)
    commit = git("rev-parse", "HEAD")[:12]
    assert (
        f"origin/main renamed the job mnist to digits, so the commit {commit} would change digits; the commit stays in "
        "the local branch main and is not pushed. To continue:\n"
    ) in printed
    assert (subject(), subject(remote)) == (SUBJECT, "theirs")
    assert lines("worktree", "list")[1:] == []
    steps = [line.strip() for line in printed.partition("To continue:\n")[2].splitlines()]
    assert steps[2] == f"# change the job digits in {file}; git show mnist-edit prints the change of mnist"
    for step in steps[:2]:
        Command(("sh", "-c", step), cwd=clone).run()
    write(file, QUEUE.replace("mnist}", "digits}"))
    assert steps[3:] == [f"tfgen commit {file} --push"]
    run(*steps[3].split()[2:])
    assert subject(remote) == SUBJECT.replace("mnist", "digits")
    assert lines("ls-files", "charts") == [path for path in lines("ls-files", "charts") if "/digits/" in path]
    assert lines("status", "--porcelain") == ["?? mine"]
    assert lines("log", "-1", "--format=%s", "mnist-edit") == [SUBJECT]


# -- a copy of a job file --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["check"], ["render"], ["render", "--force"], ["commit"]])
@pytest.mark.parametrize("text", [pytest.param(GANG_JOB, id="equal"), pytest.param(QUEUE, id="edited")])
def test_a_copy_of_a_job_file_does_not_take_over_the_rendered_files(clone: Path, command: list[str], text: str) -> None:
    write("jobs/copy.yaml", text)
    ledger = Path(".tfgen/mnist.json").read_text(encoding="utf-8")
    assert (
        ".tfgen/mnist.json: the rendered files of mnist belong to jobs/mnist.yaml, which still has a job with the name "
        "mnist; for a new job, set another metadata.name in jobs/copy.yaml; for a moved job, remove jobs/mnist.yaml"
    ) in "".join(tfgen(*command, "jobs/copy.yaml", code=1))
    assert Path(".tfgen/mnist.json").read_text(encoding="utf-8") == ledger
    assert subject() == "x"


@pytest.mark.parametrize("cure", ["name", "removal", "other name there"])
def test_a_cure_for_a_copy_of_a_job_file(clone: Path, cure: str) -> None:
    write("jobs/copy.yaml", GANG_JOB)
    if cure == "name":
        write("jobs/copy.yaml", GANG_JOB.replace("mnist}", "copy}"))
    elif cure == "removal":
        Path("jobs/mnist.yaml").unlink()
    else:
        write("jobs/mnist.yaml", GANG_JOB.replace("mnist}", "digits}"))
    run("jobs" if cure == "other name there" else "jobs/copy.yaml")
    name = "copy" if cure == "name" else "mnist"
    assert json.loads(Path(f".tfgen/{name}.json").read_text(encoding="utf-8"))["source"] == "jobs/copy.yaml"
    tfgen("check", "jobs/copy.yaml")


# -- local commits ---------------------------------------------------------------------------------------------------


def test_each_local_commit_is_rendered_again(
    clone: Path, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_clone(remote, tmp_path, lambda folder: _rendered(folder, DAY, monkeypatch))
    write("jobs/mnist.yaml", QUEUE)
    run("jobs")
    write("notes", "1\n")
    commit_all()
    write("jobs/other.yaml", SMALL.replace("mnist}", "other}"))
    run("jobs", "--push")
    assert lines("log", "--format=%s", folder=remote) == ["other: new job", "x", SUBJECT, "theirs", "x"]
    for revision in ("HEAD~2", "HEAD"):
        git("checkout", "--quiet", revision)
        tfgen("check", "jobs", "--verify")


def test_a_job_that_needs_a_new_run_after_the_merge_is_not_pushed(
    clone: Path, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two users change the pods in different lines, and give their next run the same name."""
    run_2 = f'{GANG_JOB}  run: "2"\n'
    theirs = run_2.replace("mnist:1.4.0", "mnist:1.5.0")
    mine = run_2.replace("worker: {replicas: 2}", "worker: {replicas: 2, resources: {cpu: 3}}")
    other_clone(remote, tmp_path, lambda folder: _rendered(folder, theirs, monkeypatch))
    write("jobs/mnist.yaml", mine)
    printed = run("jobs", "--push", code=1)
    assert "jobs/mnist.yaml:" in printed
    assert "[new-run]" in printed
    assert "; for a new run: tfgen rerun jobs/mnist.yaml [new-run]" in printed
    assert "tfgen-rebase-" not in printed
    assert "nothing was pushed: the jobs have errors when merged with origin/main" in printed
    assert subject(remote) == "theirs"
    assert Path("jobs/mnist.yaml").read_text(encoding="utf-8") == mine
    assert git("status", "--porcelain") == ""
    assert lines("worktree", "list")[1:] == []
    tfgen("rerun", "jobs/mnist.yaml", "--commit", "--push")
    assert 'run: "3"' in git("show", "main:jobs/mnist.yaml", folder=remote)
    tfgen("check", "jobs", "--against", "HEAD~2")


def test_a_file_that_somebody_edited_by_hand_and_pushed_stops_the_push(
    clone: Path, remote: Path, tmp_path: Path
) -> None:
    def theirs(folder: Path) -> None:
        with (folder / "charts/mnist/Chart.yaml").open("a", encoding="utf-8") as chart:
            chart.write("# theirs\n")

    other_clone(remote, tmp_path, theirs)
    write("jobs/mnist.yaml", QUEUE)
    printed = run("jobs", "--push", code=1)
    assert "charts/mnist/Chart.yaml: the file was edited by hand" in printed
    assert "the commit stays in the local branch main and is not pushed" in printed
    assert subject(remote) == "theirs"
    assert lines("status", "--porcelain") == lines("worktree", "list")[1:] == []


def test_a_removed_job_that_somebody_rendered_again_stays_removed(
    clone: Path, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new defaults change each rendered file, but no line of the job file."""

    def theirs(folder: Path) -> None:
        write(folder / "tfgen.yaml", "apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec: {labels: {team: ads}}\n")
        with monkeypatch.context() as patch:
            patch.chdir(folder)
            tfgen("render", "jobs", "--upgrade")

    other_clone(remote, tmp_path, theirs)
    write("jobs/other.yaml", SMALL.replace("mnist}", "other}"))
    git("rm", "--quiet", "jobs/mnist.yaml")
    run("jobs", "--push")
    assert subject(remote) == "Change other and mnist"
    files = lines("ls-tree", "-r", "--name-only", "main", folder=remote)
    assert not [path for path in files if "mnist" in path]
    assert "team: ads" in Path("overlays/other/base/worker.yaml").read_text(encoding="utf-8")
    tfgen("check", "jobs", "--verify")


@pytest.mark.long
def test_the_way_on_leads_by_the_check_for_a_new_run(
    clone: Path, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two users change the worker, and each starts run 2. The second push needs a run with another name."""

    def change(folder: Path, cpu: int) -> None:
        monkeypatch.chdir(folder)
        write("jobs/mnist.yaml", GANG_JOB.replace("replicas: 2", f"replicas: 2, resources: {{cpu: {cpu}}}"))
        tfgen("rerun", "jobs/mnist.yaml")

    def theirs(folder: Path) -> None:
        change(folder, 3)
        tfgen("render", "jobs")

    other_clone(remote, tmp_path, theirs)
    change(clone, 4)
    mine = Path("jobs/mnist.yaml").read_text(encoding="utf-8")
    output = run("jobs", "--push", code=1)
    steps = [line.strip() for line in output.splitlines() if line.startswith("  ")]
    pull, keep, again, *conflict_steps = [step.replace("JOB...", "jobs") for step in steps]

    def shell(line: str, *, fails: bool = False) -> str:
        tfgen = f'tfgen() {{ "{sys.executable}" -m tfgen "$@"; }}'
        command = Command(("bash", "-c", f"{tfgen}; {line}"), env={"GIT_EDITOR": "true"})
        if not fails:
            return command.run()
        with pytest.raises(CommandError) as raised:
            command.run()
        return raised.value.stdout + raised.value.stderr

    assert "CONFLICT" in shell(pull, fails=True)
    assert keep.startswith("# ")
    write("jobs/mnist.yaml", mine)
    assert "[new-run]" in shell(again, fails=True)
    shell("tfgen rerun jobs")
    shell(again)
    for step in conflict_steps:
        shell(step)
    assert [subject(remote), *lines("log", "--format=%s", folder=remote)[1:]] == [subject(), "theirs", "x"]
    assert 'run: "3"' in git("show", "main:jobs/mnist.yaml", folder=remote)
    assert git("status", "--porcelain") == ""
    tfgen("check", "jobs", "--against", "HEAD~1")


def test_a_dirty_file_that_the_remote_changed(clone: Path, remote: Path, tmp_path: Path) -> None:
    write("file", "1\n")
    commit_all()
    git("push", "--quiet")
    other_clone(remote, tmp_path, lambda folder: write(folder / "file", "theirs\n"))
    write("file", "mine\n")
    write("jobs/mnist.yaml", QUEUE)
    assert "change files that you have modified" in run("jobs", "--push", code=1)
    assert Path("file").read_text() == "mine\n"
    assert (subject(), subject(remote)) == (SUBJECT, "theirs")


def test_a_remote_that_refuses(clone: Path, remote: Path) -> None:
    write(remote / "hooks" / "pre-receive", "#!/bin/sh\necho 'ask Ada'; exit 1\n")
    (remote / "hooks" / "pre-receive").chmod(0o755)
    write("jobs/mnist.yaml", QUEUE)
    output = run("jobs", "--push", code=1)
    assert "ask Ada" in output
    assert "the commit stays in main" in output
    assert (subject(), subject(remote)) == (SUBJECT, "x")
    (remote / "hooks" / "pre-receive").unlink()
    assert "pushed to origin/main" in run("jobs", "--push")
    assert subject(remote) == SUBJECT


def test_a_pre_push_hook_and_a_remote_that_is_not_there(clone: Path, remote: Path) -> None:
    hook("pre-push", "echo 'tests fail' >&2; exit 1")
    write("jobs/mnist.yaml", QUEUE)
    assert "tests fail" in run("jobs", "--push", code=1)
    hook("pre-push", "exit 0")
    remote.rename(remote.with_name("moved.git"))
    assert "the push to " in run("jobs", "--push", code=1)
    assert subject() == SUBJECT


def test_a_remote_that_is_always_ahead(
    clone: Path, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfgen.git.publish.ATTEMPTS", 2)
    steps = (
        f"cd {tmp_path}",
        f"git clone -q {remote} c$$",
        "cd c$$",
        "echo $$ > f$$",
        "git add .",
        "git commit -qm theirs",
        "git push -q --no-verify",
    )
    hook("pre-push", " && ".join(("unset GIT_DIR", *steps)))
    write("jobs/mnist.yaml", QUEUE)
    output = run("jobs", "--push", code=1)
    assert "had new commits in each of 2 attempts; the commit stays in main" in output
    assert subject() == SUBJECT


ENVIRONMENTS = [f"env-{number:02}" for number in range(12)]
CROWDED = SMALL + "  environments:\n" + "".join(f"    {name}:\n      run: a\n" for name in ENVIRONMENTS)


@pytest.mark.parametrize("is_one_job", [False, True])
def test_twelve_committers_at_once_all_land(clone: Path, remote: Path, tmp_path: Path, is_one_job: bool) -> None:
    """Each process commits a separate job, or the run of a separate environment of one job, in its own clone."""
    if is_one_job:
        write("jobs/crowded.yaml", CROWDED.replace("mnist}", "crowded}"))
        tfgen("commit", "jobs/crowded.yaml", "--push")
    before = lines("log", "--format=%s", folder=remote)
    names = ENVIRONMENTS if is_one_job else [f"job-{number:02}" for number in range(12)]
    running = []
    for name in names:
        git("clone", "--quiet", remote, tmp_path / name, folder=tmp_path)
        file = f"jobs/{'crowded' if is_one_job else name}.yaml"
        text = (
            (tmp_path / name / file).read_text(encoding="utf-8") if is_one_job else SMALL.replace("mnist}", f"{name}}}")
        )
        write(tmp_path / name / file, text.replace(f"{name}:\n      run: a", f"{name}:\n      run: b"))
    for name in names:
        file = f"jobs/{'crowded' if is_one_job else name}.yaml"
        running.append(
            subprocess.Popen(
                (sys.executable, "-m", "tfgen", "commit", "--push", file),
                cwd=tmp_path / name,
                env={**os.environ, "PYTHONPATH": str(ROOT / "gen")},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    outputs = [process.communicate(timeout=1800)[0] for process in running]
    assert [process.returncode for process in running] == [0] * len(names), outputs
    landed = [f"crowded: run b in {name}" if is_one_job else f"{name}: new job" for name in names]
    assert sorted(lines("log", "--format=%s", folder=remote)) == sorted([*before, *landed])
    git("pull", "--quiet")
    tfgen("check", "jobs", "--verify")
    if is_one_job:
        assert Path("jobs/crowded.yaml").read_text(encoding="utf-8").count("run: b") == len(names)


@pytest.mark.long
def test_committers_at_once_in_one_clone_lose_nothing(clone: Path) -> None:
    names = [f"job-{number}" for number in range(4)]
    for name in names:
        write(f"jobs/{name}.yaml", GANG_JOB.replace("mnist}", f"{name}}}"))
    argv = (sys.executable, "-m", "tfgen", "commit")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "gen")}
    running = [subprocess.Popen((*argv, f"jobs/{name}.yaml"), env=environment) for name in names]
    assert [process.wait(timeout=1800) for process in running] == [0] * len(names)
    assert sorted(lines("log", "--format=%s")) == sorted(["x", *(f"{name}: new job" for name in names)])
    assert git("status", "--porcelain") == ""
    tfgen("check", "jobs")


# -- a job whose job file was removed --------------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["jobs", "jobs/mnist.yaml", "."])
@pytest.mark.parametrize("is_last", [False, True])
def test_a_job_whose_file_was_removed_goes_with_its_files(clone: Path, named: str, is_last: bool) -> None:
    if not is_last:
        write("other/job.yaml", GANG_JOB.replace("mnist}", "other}"))
        tfgen("commit", "other")
    git("rm", "--quiet", "jobs/mnist.yaml")
    tfgen("commit", named)
    assert lines("log", "-1", "--format=%s") == ["mnist: removed"]
    assert git("status", "--porcelain") == ""
    left = lines("ls-tree", "-r", "--name-only", "HEAD")
    assert not [path for path in left if "mnist" in path]
    assert bool(left) == (not is_last)


@pytest.mark.parametrize("command", ["commit", "render"])
def test_a_path_that_no_job_came_of(clone: Path, command: str) -> None:
    assert tfgen(command, "jobs/mnits.yaml", code=2).err == "tfgen: error: jobs/mnits.yaml: No such file or directory\n"


# -- tfgen rerun --commit --------------------------------------------------------------------------------------------


def test_a_rerun_is_committed_and_pushed(clone: Path, remote: Path) -> None:
    out = tfgen("rerun", "jobs/mnist.yaml", "--env", "prod", "--commit", "--push").out
    assert "jobs/mnist.yaml: run (none) -> 2 in prod\nmain " in out
    assert out.endswith("pushed to origin/main\n")
    assert subject(remote) == subject() == "mnist: run 2 in prod"
    assert lines("status", "--porcelain") == []


@pytest.mark.parametrize("options", [(), ("--branch", "back")])
def test_a_reverted_new_run_is_not_pushed(clone: Path, remote: Path, options: tuple[str, ...]) -> None:
    tfgen("rerun", "jobs/mnist.yaml", "--env", "prod", "--commit", "--push")
    git("revert", "--no-edit", "HEAD")
    if options:  # a new branch needs another change
        write("jobs/mnist.yaml", f"# why\n{Path('jobs/mnist.yaml').read_text(encoding='utf-8')}")
    before = git("rev-parse", "HEAD")
    printed = run("jobs", "--push", *options, code=1)
    assert "[run-goes-back]" in printed
    assert "nothing was committed or pushed" in printed
    assert git("rev-parse", "HEAD") == before
    assert lines("log", "--all", "--format=%s", folder=remote) == ["mnist: run 2 in prod", "x"]
    if not options:
        tfgen("check", "jobs", "--against", "origin/main", code=1)


def test_a_new_branch_without_an_upstream_is_compared_with_all_branches_of_the_remote(
    clone: Path, remote: Path
) -> None:
    tfgen("rerun", "jobs/mnist.yaml", "--env", "prod", "--commit", "--push")
    git("remote", "set-head", "origin", "--delete")  # the state after `git init` and `git remote add`
    git("switch", "--quiet", "--no-track", "--create", "back")
    git("revert", "--no-edit", "HEAD")
    assert "[run-goes-back]" in run("jobs", "--push", code=1)
    assert lines("branch", "--format=%(refname:short)", folder=remote) == ["main"]


def test_a_reverted_run_that_was_never_pushed_is_pushed(clone: Path, remote: Path) -> None:
    tfgen("rerun", "jobs/mnist.yaml", "--env", "prod", "--commit")
    git("revert", "--no-edit", "HEAD")
    run("jobs", "--push")
    assert git("rev-parse", "main", folder=remote) == git("rev-parse", "HEAD")


def test_a_rerun_as_json_has_its_commit(clone: Path) -> None:
    done = json.loads(tfgen("rerun", "jobs/mnist.yaml", "--commit", "--format", "json").out)
    assert done["runs"] == [{"environment": None, "before": "", "after": "2"}]
    assert done["commit"]["commit"] == git("rev-parse", "HEAD").strip()
    assert done["commit"]["pushedTo"] is None


def test_a_rerun_that_is_not_committed_leaves_the_job_as_it_was(clone: Path) -> None:
    with Path("charts/mnist/Chart.yaml").open("a", encoding="utf-8") as chart:
        chart.write("edited: true\n")
    assert "the file was edited by hand" in tfgen("rerun", "jobs/mnist.yaml", "--commit", code=1).err
    assert lines("status", "--porcelain") == [" M charts/mnist/Chart.yaml"]


def test_a_run_that_a_hook_refuses_is_on_disk_as_it_was_rendered(clone: Path) -> None:
    hook("pre-commit", "exit 1")
    tfgen("rerun", "jobs/mnist.yaml", "--commit", code=1)
    assert subject() == "x"
    assert 'run: "2"' in Path("jobs/mnist.yaml").read_text(encoding="utf-8")
    tfgen("check", "jobs")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--push"], "--push needs --commit"),
        (["--enable"], "--enable needs --env"),
        (
            ["--env", "prod", "--enable"],
            "jobs/mnist.yaml:10:5: the job is not retired in prod; for a new run, remove --enable",
        ),
    ],
)
def test_a_rerun_with_options_that_contradict_it(clone: Path, options: list[str], message: str) -> None:
    assert message in tfgen("rerun", "jobs/mnist.yaml", *options, code=cli.USAGE).err
    assert lines("status", "--porcelain") == []


def test_a_retired_job_is_enabled_with_its_next_run(clone: Path) -> None:
    before = Path("jobs/mnist.yaml").read_text(encoding="utf-8")
    tfgen("rm", "jobs/mnist.yaml", "--env", "prod")
    tfgen("commit", "jobs")
    printed = tfgen("rerun", "jobs/mnist.yaml", "--env", "prod", code=cli.USAGE).err
    assert "to enable the job again, run tfgen rerun jobs/mnist.yaml --env prod --enable" in printed
    tfgen("rerun", "jobs/mnist.yaml", "--env", "prod", "--enable", "--commit")
    assert Path("jobs/mnist.yaml").read_text(encoding="utf-8") == before.replace(
        "prod: {gang", 'prod: {run: "2", enabled: true, gang'
    )
    patches = "".join(path.read_text(encoding="utf-8") for path in Path("overlays/mnist/prod").iterdir())
    assert "mnist-2-worker" in patches


def test_a_ledger_that_a_formatter_wrote_anew_is_as_good(clone: Path) -> None:
    ledger = clone / ".tfgen/mnist.json"
    ledger.write_text(json.dumps(json.loads(ledger.read_text()), indent=8))
    commit_all()
    write("jobs/mnist.yaml", f"# why\n{GANG_JOB}")
    run("jobs")
    assert committed_files() == ["jobs/mnist.yaml"]


# -- another tfgen process in the same folder ------------------------------------------------------------------------


@pytest.fixture
def kept_clone(clone: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a clone with a job that an older tfgen rendered without README.md. Another process upgrades the job."""
    write("jobs/other.yaml", SMALL.replace("mnist", "other"))
    tfgen("render", "jobs")
    readme, ledger = clone / "charts/mnist/README.md", clone / ".tfgen/mnist.json"
    readme.unlink()
    data = json.loads(ledger.read_text())
    del data["files"]["charts/mnist/README.md"]
    ledger.write_text(json.dumps({**data, "tool": "0.0.1"}))
    commit_all()

    def apply_late(plan: WritePlan) -> WritePlan:
        tfgen("render", "jobs/mnist.yaml", "--upgrade")
        return apply(plan)

    monkeypatch.setattr(commit_command, "apply", apply_late)
    return readme


def test_what_another_renders_between_plan_and_writing_is_committed_whole(kept_clone: Path) -> None:
    write("jobs/other.yaml", SMALL.replace("mnist", "other").replace("research", "night"))
    run("jobs")
    assert {"charts/mnist/README.md", ".tfgen/mnist.json", "jobs/other.yaml"} <= {*committed_files()}
    assert kept_clone.exists()
    assert git("status", "--porcelain") == ""


def test_what_another_renders_where_nothing_is_to_be_written_is_not_committed_in_part(kept_clone: Path) -> None:
    write("jobs/other.yaml", SMALL.replace("mnist", "other") + "# no more\n")
    output = run("jobs", code=3)
    assert ".tfgen/mnist.json: another tfgen process rendered mnist; run the command again" in output
    assert kept_clone.exists()
