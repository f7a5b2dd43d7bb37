"""The workflow and the hooks that `tfgen init --repo` writes: bash runs their steps in clones, as a CI runner does.

Each test has a branch with a forged file, or a branch without one. The author of the branch chooses names of refs, the
target branch and the time, but not the commit with which the workflow compares.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.support.command import Command, CommandError
from tests.support.repository import tfgen

pytestmark = pytest.mark.long

Run = Callable[..., str]
ZEROS = "0" * 40
SERVICE = Path("overlays/mnist/base/service.yaml")
LEDGER = Path(".tfgen/mnist.json")


def git(*arguments: str | Path, cwd: Path | None = None) -> str:
    return Command(("git", *arguments), cwd=cwd).run().strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a clone of a remote the current folder. The branch main has a job and both workflows."""
    git("init", "--quiet", "--bare", "--initial-branch=main", "origin.git", cwd=tmp_path)
    git("clone", "--quiet", "origin.git", "dev", cwd=tmp_path)
    monkeypatch.chdir(tmp_path / "dev")
    git("checkout", "--quiet", "-B", "main")
    for ci, name in (("github", "mnist"), ("gitlab", "other")):
        tfgen("init", name, "--repo", "--ci", ci)
    tfgen("commit", "jobs")
    git("push", "--quiet", "origin", "main")
    git("checkout", "--quiet", "-b", "change")
    return tmp_path


def forge() -> None:
    """Commit a changed port, which the ledger lists."""
    SERVICE.write_text(SERVICE.read_text(encoding="utf-8").replace("2222", "2223"), encoding="utf-8")
    ledger = LEDGER.read_text(encoding="utf-8")
    before = ledger.index('"', ledger.index('base/service.yaml":') + 19) + 1
    digest = hashlib.sha256(SERVICE.read_bytes()).hexdigest()
    LEDGER.write_text(ledger[:before] + digest + ledger[before + 64 :], encoding="utf-8")
    git("commit", "--quiet", "--all", "--message=Forge a port")


def note() -> None:
    """Commit a harmless change."""
    Path("notes.md").write_text("note\n", encoding="utf-8")
    git("add", "--all")
    git("commit", "--quiet", "--message=Add a note")


def push(branch: str) -> None:
    git("push", "--quiet", "--force", "--tags", "origin", f"HEAD:refs/heads/{branch}")


def bash(script: str, cwd: Path, env: dict[str, str]) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return Command(("bash", "-e", "-o", "pipefail", "-c", script), cwd=cwd, env={"PATH": path, **env}).run()


def clone(folder: Path, remote: str, head: str) -> Path:
    """Clone all branches and tags, as CI does, and check out a commit."""
    checkout = folder / f"ci-{len([*folder.iterdir()])}"
    git("clone", "--quiet", "--no-checkout", remote, checkout, cwd=folder)
    git("checkout", "--quiet", "--detach", head, cwd=checkout)
    return checkout


def github(folder: Path, event: str, head: str, *, target: str = "main", before: str = "") -> str:
    """Run the step of the GitHub workflow for an event, and return its output."""
    workflow = yaml.safe_load(Path(".github/workflows/tfgen.yaml").read_text(encoding="utf-8"))["jobs"]["check"]
    test = "==" if event == "pull_request" else "!="
    (step,) = (step for step in workflow["steps"] if step.get("if") == f"github.event_name {test} 'pull_request'")
    values = {
        "${{ github.event.pull_request.base.ref }}": target,
        "${{ github.event.merge_group.base_sha || github.event.before }}": before,
    }
    ((name, value),) = step["env"].items()
    for expression, replacement in values.items():
        value = value.replace(expression, replacement)
    assert "${{" not in value + step["run"]
    environment = {name: value, "KUBERNETES": workflow["env"]["KUBERNETES"], "GITHUB_ENV": str(folder / "env")}
    return bash(step["run"], clone(folder, "origin.git", head), environment)


def gitlab(folder: Path, head: str, *, target: str = "", project: str = "origin", before: str = ZEROS) -> str:
    """Run the check of the GitLab pipeline in a project, and return its output.

    A pipeline with a target branch is for a merge request into `origin`.
    """
    job = yaml.safe_load(Path(".gitlab-ci.yml").read_text(encoding="utf-8"))["tfgen"]
    (script,) = (script for script in job["script"] if "tfgen check" in script)
    request = {
        "CI_MERGE_REQUEST_IID": "5",
        "CI_MERGE_REQUEST_PROJECT_PATH": "origin",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": target,
    }
    environment = {
        "CI_REPOSITORY_URL": f"{folder.as_uri()}/{project}.git",
        "CI_PROJECT_PATH": project,
        "CI_COMMIT_BEFORE_SHA": before,
        "KUBERNETES": job["variables"]["KUBERNETES"],
        **(request if target else {}),
    }
    return bash(script, clone(folder, f"{project}.git", head), environment)


def refuses(check: Callable[[], str]) -> bool:
    """Return whether a check reports the forged file."""
    try:
        check()
    except CommandError as error:
        if "not-reproduced" not in error.stdout:
            raise
        return True
    return False


def test_a_change_passes_and_a_forged_file_does_not(repository: Path) -> None:
    tfgen("set", "jobs/mnist/job.yaml", "env.STEPS=5")
    tfgen("rerun", "jobs/mnist/job.yaml")
    tfgen("commit", "jobs")
    push("change")
    head = git("rev-parse", "HEAD")
    assert not refuses(lambda: github(repository, "pull_request", head))
    assert not refuses(lambda: gitlab(repository, head, target="main"))
    forge()
    push("change")
    head = git("rev-parse", "HEAD")
    assert refuses(lambda: github(repository, "pull_request", head))
    assert refuses(lambda: gitlab(repository, head, target="main"))


def test_a_tag_with_the_name_of_the_target_is_not_the_target(repository: Path) -> None:
    forge()
    for tag in ("main", "origin/main", "refs/heads/main", "refs/remotes/origin/main"):
        git("update-ref", f"refs/tags/{tag}", "HEAD")
    push("change")
    head = git("rev-parse", "HEAD")
    assert refuses(lambda: github(repository, "pull_request", head))
    assert refuses(lambda: gitlab(repository, head, target="main"))


def test_a_new_target_gets_a_new_check(repository: Path) -> None:
    """The author compares with a branch of their own, and then changes the target branch."""
    forge()
    push("evil-base")
    note()
    push("change")
    head = git("rev-parse", "HEAD")
    assert not refuses(lambda: github(repository, "pull_request", head, target="evil-base"))
    assert refuses(lambda: github(repository, "pull_request", head, target="main"))
    workflow = yaml.load(Path(".github/workflows/tfgen.yaml").read_text(encoding="utf-8"), yaml.BaseLoader)
    assert workflow["on"]["pull_request"] == {
        "branches": ["main"],
        "types": ["opened", "synchronize", "reopened", "edited"],
    }


def test_a_change_of_the_target_is_not_a_change_of_the_request(repository: Path) -> None:
    """The target has a changed job and a removed job, which a request from an older commit still has."""
    note()
    push("change")
    head = git("rev-parse", "HEAD")
    git("checkout", "--quiet", "main")
    tfgen("set", "jobs/mnist/job.yaml", "env.STEPS=5")
    tfgen("rerun", "jobs/mnist/job.yaml")
    tfgen("rm", "jobs/other/job.yaml", "--force")
    tfgen("commit", "jobs")
    push("main")
    assert "::error" not in github(repository, "pull_request", head)
    assert not refuses(lambda: gitlab(repository, head, target="main"))


def test_a_request_with_a_conflict_fails(repository: Path) -> None:
    note()
    push("change")
    head = git("rev-parse", "HEAD")
    git("checkout", "--quiet", "main")
    Path("notes.md").write_text("another note\n", encoding="utf-8")
    git("add", "--all")
    git("commit", "--quiet", "--message=x")
    push("main")
    for check in (
        lambda: github(repository, "pull_request", head),
        lambda: gitlab(repository, head, target="main"),
    ):
        with pytest.raises(CommandError) as error:
            check()
        assert "CONFLICT" in error.value.stdout


def test_after_a_merge_each_file_is_rendered_again(repository: Path) -> None:
    before = git("rev-parse", "HEAD")
    assert not refuses(lambda: github(repository, "push", before, before=ZEROS))
    assert not refuses(lambda: gitlab(repository, before, before=ZEROS))
    forge()
    forged = git("rev-parse", "HEAD")
    note()
    push("main")
    head = git("rev-parse", "HEAD")
    for base in (before, forged, ZEROS):  # compared with the forged commit, the file has not changed
        assert refuses(lambda base=base: github(repository, "push", head, before=base))
        assert refuses(lambda base=base: gitlab(repository, head, before=base))
    assert refuses(lambda: github(repository, "merge_group", head, before=forged))


def test_without_the_commit_before_the_push_nothing_passes(repository: Path) -> None:
    head = git("rev-parse", "HEAD")
    for check in (
        lambda: github(repository, "push", head, before="1" * 40),
        lambda: github(repository, "pull_request", head, target="none"),
        lambda: gitlab(repository, head, before="1" * 40),
        lambda: gitlab(repository, head, target="none"),
    ):
        with pytest.raises(CommandError):
            check()


def test_a_fork_is_compared_with_the_target_project(repository: Path) -> None:
    """The branch main of the fork has the forged file already."""
    forge()
    git("clone", "--quiet", "--bare", "origin.git", "fork.git", cwd=repository)
    for branch in ("main", "change"):
        git("push", "--quiet", repository / "fork.git", f"HEAD:refs/heads/{branch}")
    head = git("rev-parse", "HEAD")
    assert refuses(lambda: gitlab(repository, head, target="main", project="fork"))
    git("checkout", "--quiet", "--detach", "origin/main")
    note()
    git("push", "--quiet", "--force", repository / "fork.git", "HEAD:refs/heads/change")
    head = git("rev-parse", "HEAD")
    assert not refuses(lambda: gitlab(repository, head, target="main", project="fork"))


def test_a_push_checks_a_revert_which_no_commit_hook_saw(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("PRE_COMMIT_HOME", str(repository / "cache"))
    tfgen("set", "jobs/mnist/job.yaml", "env.STEPS=5")
    tfgen("rerun", "jobs/mnist/job.yaml")
    tfgen("commit", "jobs")
    git("push", "--quiet", "origin", "change")
    Command((sys.executable, "-m", "pre_commit", "install")).run()
    git("revert", "--no-edit", "HEAD")
    with pytest.raises(CommandError) as error:
        git("push", "--quiet", "origin", "change")
    assert "tfgen check before a push" in error.value.stdout
    assert "[run-goes-back]" in error.value.stdout
    git("reset", "--quiet", "--hard", "HEAD~1")
    note()
    git("push", "--quiet", "origin", "change")
