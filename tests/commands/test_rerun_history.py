"""``tfgen rerun`` gives a run a name that no earlier commit has used, also after a reverted rerun."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.repository import Printed, clone_with, git, tfgen, write
from tfgen.git.command import Git

pytestmark = pytest.mark.long

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.internal/mnist:1
  roles: {chief: {}, ps: {}, worker: {}}
  environments:
    dev: {namespace: dev}
    prod: {namespace: prod}
"""
RENDERED = "  gitops: {repository: 'https://git.internal/jobs.git', rendered: {branch: rendered}, argocd: {}}\n"
FILE = "jobs/mnist.yaml"


@pytest.fixture(params=["main", "rendered"])
def branch(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a clone with the runs 2 and 3 in prod, pushed. The clone becomes the current folder.

    Return the branch of the rendered files.
    """
    rendered: str = request.param
    monkeypatch.chdir(clone_with(_two_runs if rendered == "main" else _two_runs_rendered_elsewhere, tmp_path))
    return rendered


def _two_runs(job: str = JOB) -> None:
    write(FILE, job)
    tfgen("commit", "jobs", "--push")
    for _ in range(2):
        tfgen("rerun", FILE, "--env", "prod", "--commit", "--push")
    write("README.md", "the jobs\n")


def _two_runs_rendered_elsewhere() -> None:
    _two_runs(JOB + RENDERED)


def rerun(*arguments: str, code: int = 0) -> Printed:
    return tfgen("rerun", FILE, "--env", "prod", *arguments, code=code)


def run_of(revision: str, environment: str = "prod", file: str = FILE) -> str:
    spec = yaml.safe_load(git("show", f"{revision}:{file}"))["spec"]
    name: str = spec["environments"][environment].get("run", "")
    return name


def applied(branch: str) -> str:
    """Return the run in the overlay of prod in the branch of the remote that Argo CD reads."""
    git("fetch", "--quiet", "origin")
    return git("show", f"origin/{branch}:overlays/mnist/prod/kustomization.yaml")


def revert_rerun() -> None:
    """Revert the commit of the run 3, and push."""
    git("revert", "--no-edit", "HEAD~1")
    git("push", "--quiet")
    assert run_of("origin/main") == "2"


def test_a_rerun_after_a_reverted_rerun_has_a_name_that_no_run_had(branch: str) -> None:
    revert_rerun()
    rerun("--commit", "--push")
    assert (run_of("origin/main"), "mnist-4" in applied(branch)) == ("4", True)
    rerun("--commit", "--push")
    assert (run_of("origin/main"), "mnist-5" in applied(branch)) == ("5", True)


def test_a_rerun_without_a_commit_has_this_name_too(branch: str) -> None:
    revert_rerun()
    printed = rerun().out
    command = "render" if branch == "main" else "commit"
    assert printed == f"{FILE}: run 2 -> 4 in prod\n\nNext:\n\n  tfgen {command} {FILE}\n"
    tfgen(command, FILE)
    tfgen("check", "jobs")


@pytest.mark.parametrize("options", [(), ("--commit", "--push")])
def test_a_shallow_clone_is_refused(branch: str, tmp_path: Path, options: tuple[str, ...]) -> None:
    git("clone", "--quiet", "--depth=1", f"file://{tmp_path}/remote.git", tmp_path / "shallow")
    pushed = git("for-each-ref", folder=tmp_path / "remote.git")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / "shallow")
        error = rerun(*options, code=2).err
        assert f"{FILE}: the clone is shallow" in error
        assert "fetch-depth: 0" in error
        assert git("status", "--porcelain") == ""
        git("fetch", "--quiet", "--unshallow")
        git("fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*")
        assert git("for-each-ref", folder=tmp_path / "remote.git") == pushed
        assert "run 3 -> 4 in prod" in rerun(*options).out


def test_each_environment_has_its_own_names(branch: str) -> None:
    tfgen("rerun", FILE, "--env", "dev", "--commit")
    assert run_of("HEAD", "dev") == "2"  # the runs 2 and 3 are runs of prod
    tfgen("rerun", FILE, "--commit")
    spec = yaml.safe_load(git("show", f"HEAD:{FILE}"))["spec"]
    # A new run of the job must have a new name in each environment, because each environment may follow the job.
    assert (spec["run"], spec["environments"]["dev"]["run"], spec["environments"]["prod"]["run"]) == ("4", "3", "4")


def test_a_renamed_job_file_keeps_its_history(branch: str) -> None:
    revert_rerun()
    write("jobs/team/.keep", "")
    git("mv", FILE, "jobs/team/mnist.yaml")
    git("commit", "--quiet", "--message", "Move the job")
    tfgen("rerun", "jobs/team/mnist.yaml", "--env", "prod", "--commit")
    assert run_of("HEAD", file="jobs/team/mnist.yaml") == "4"


def test_a_rerun_that_another_clone_was_faster_with_fails(
    branch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("clone", "--quiet", tmp_path / "remote.git", tmp_path / "second")
    rerun("--commit", "--push")
    monkeypatch.chdir(tmp_path / "second")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Grace")
    assert (
        f"{FILE}: no run starts, because another commit has already started a run"
        in rerun("--commit", "--push", code=1).err
    )
    rerun("--commit", "--push")
    assert (run_of("origin/main"), "mnist-5" in applied(branch)) == ("5", True)


def test_a_run_that_the_branch_of_rendered_files_has_already_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clone_with(_two_runs_rendered_elsewhere, tmp_path))
    git("reset", "--quiet", "--hard", "HEAD~2")  # somebody removes the commit of the run 3 from main
    git("push", "--quiet", "--force")
    assert (
        f"{FILE}: no run starts, because another commit has already started a run"
        in rerun("--commit", "--push", code=1).err
    )
    rerun("--commit", "--push")
    assert "mnist-4" in applied("rendered")


def test_no_run_starts_where_the_job_is_retired_in_each_environment(branch: str) -> None:
    for environment in ("dev", "prod"):
        tfgen("rm", FILE, "--env", environment)
    before = Path(FILE).read_text(encoding="utf-8")
    assert f"run tfgen rerun {FILE} --env dev --enable" in tfgen("rerun", FILE, code=2).err
    assert Path(FILE).read_text(encoding="utf-8") == before
    tfgen("rerun", FILE, "--env", "dev", "--enable")
    tfgen("rerun", FILE)


@pytest.mark.parametrize(("against", "was"), [("HEAD~1", "3"), ("HEAD~4", "without a name")])
def test_check_reports_a_pushed_revert(branch: str, against: str, was: str) -> None:
    """The runs are without a name (HEAD~4), 2, 3 (HEAD~2 and HEAD~1), and 2 after the revert."""
    revert_rerun()
    printed = tfgen("check", "jobs", "--against", against, code=1).out
    named = f'"{was}"' if was == "3" else was
    assert (
        f'run was {named} and is "2", the name of an earlier run: the earlier run would start again in its old folder; '
        f"for a new run: tfgen set {FILE} --env prod run=4 [run-goes-back]"
    ) in printed


def test_a_rerun_needs_no_git_process_for_each_commit(branch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start = Git.start
    started: list[Git] = []

    def counted(command: Git, *, has_errors: bool = True) -> subprocess.Popen[bytes]:
        started.append(command)
        return start(command, has_errors=has_errors)

    monkeypatch.setattr(Git, "start", counted)
    counts = []
    for _ in range(2):
        started.clear()
        rerun()
        counts.append(len(started))
        for number in range(5):
            write(FILE, f"{JOB}  retries: {number + 1}\n")
            git("commit", "--quiet", "--all", f"--message={number}")
    assert counts[0] == counts[1] <= 6
