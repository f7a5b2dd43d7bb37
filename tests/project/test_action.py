"""Tests that run action.yml and .pre-commit-hooks.yaml.

bash runs the steps of the action as GitHub's runner does. tests/project/test_packaging.py runs the step that installs
tfgen.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.project.test_packaging import INSTALL_S, PATIENT_PIP
from tests.support.command import Command, CommandError
from tests.support.small_job import JOB
from tests.support.tools import ROOT

pytestmark = pytest.mark.long

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
WRONG = JOB.replace("replicas: 2", "replica: 2")


def git(folder: Path, *arguments: str | Path) -> str:
    return Command(("git", *arguments), cwd=folder).run()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make a repository with a rendered and committed job."""
    folder = tmp_path / "repository"
    (folder / "jobs").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "jobs" / "mnist.yaml").write_text(JOB, encoding="utf-8")
    Command((sys.executable, "-m", "tfgen", "render", "jobs"), cwd=folder).run()
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=x")
    return folder


# -- the action ----------------------------------------------------------------------------------------------------


def steps(inputs: dict[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the script of each step, and its variables with the values of the inputs."""
    for step in ACTION["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an expression in a script is a way to inject one"
        env = {
            name: re.sub(r"\$\{\{ inputs\.(\S+) }}", lambda m: inputs[m[1]], value)
            for name, value in step["env"].items()
        }
        assert not any("${{" in value for value in env.values())
        yield step["run"], env


def inputs(**given: str) -> dict[str, str]:
    defaults = {name: each["default"] for name, each in ACTION["inputs"].items()}
    return {**defaults, "against": "HEAD", **{name.replace("_", "-"): value for name, value in given.items()}}


def bash(script: str, folder: Path, path: str, env: dict[str, str]) -> str:
    shell = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
    environment = {**env, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    return Command(shell, cwd=folder, env=environment).run()


def run_action(folder: Path, **given: str) -> str:
    """Return the output of the action. The tested tfgen replaces the installation."""
    (_, (script, env), _) = steps(inputs(**given))
    return bash(script, folder, str(Path(sys.executable).parent), env)


def test_the_action_installs_the_schemas_that_a_version_of_kubernetes_needs(tmp_path: Path) -> None:
    """A stand-in for `python3 -m venv` makes a pip that prints its arguments."""
    pip = "#!/bin/sh\necho $*\n"
    stand_in = f"python3() {{ mkdir -p $3/bin; printf %s '{pip}' > $3/bin/pip; chmod +x $3/bin/pip; }}\n"
    (script, env), *_ = steps(inputs(kubernetes_version="1.33"))
    runner = {"RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_PATH": "/action", "GITHUB_PATH": str(tmp_path / "path")}
    printed = bash(stand_in + script, tmp_path, "", {**runner, **env})
    assert printed == "install --quiet /action[kubernetes]\n"


def test_the_action_annotates_what_is_wrong(repository: Path) -> None:
    assert run_action(repository) == ""
    (repository / "jobs" / "mnist.yaml").write_text(WRONG, encoding="utf-8")
    git(repository, "commit", "--quiet", "--all", "--message=x")
    (repository / "jobs" / "mnist.yaml").write_text(JOB, encoding="utf-8")  # the action reads the commit
    with pytest.raises(CommandError) as error:
        run_action(repository, jobs="jobs\n\n", kubernetes_version="1.33")
    assert error.value.code == 1
    assert error.value.stdout.startswith("::error file=jobs/mnist.yaml,line=6,col=39,title=unknown-key::")


def test_the_action_shows_what_a_change_does(repository: Path, tmp_path: Path) -> None:
    """The action writes Markdown to the summary of the run. If the check has errors, the action writes nothing."""
    *_, (script, env) = steps(inputs(jobs="jobs"))
    assert ACTION["runs"]["steps"][-1]["if"] == "${{ !cancelled() && inputs.against != '' }}"
    summary = tmp_path / "summary.md"
    environment = {**env, "GITHUB_STEP_SUMMARY": str(summary)}
    path = str(Path(sys.executable).parent)
    changed, shown = JOB.replace("mnist:1.4.0", "mnist:1.5.0"), "Needs a new run. Objects: 4 changed.\n\n### mnist\n\n"
    for job, shows in ((changed, shown), (WRONG, "")):
        (repository / "jobs" / "mnist.yaml").write_text(job, encoding="utf-8")
        summary.write_text("", encoding="utf-8")
        bash(script, repository, path, environment)
        assert summary.read_text(encoding="utf-8").startswith(shows)
        assert bool(summary.read_text(encoding="utf-8")) == bool(shows)


def test_the_action_fetches_what_a_pull_request_is_compared_with(repository: Path, tmp_path: Path) -> None:
    base = git(repository, "rev-parse", "HEAD").strip()
    (repository / "jobs" / "mnist.yaml").write_text(JOB.replace("mnist:1.4.0", "mnist:1.5.0"), encoding="utf-8")
    Command((sys.executable, "-m", "tfgen", "render", "jobs"), cwd=repository).run()
    git(repository, "commit", "--quiet", "--all", "--message=x")
    git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "--quiet", "--depth=1", repository.as_uri(), "checkout")
    with pytest.raises(CommandError) as error:
        run_action(tmp_path / "checkout", against=base)
    assert "title=new-run::image was " in error.value.stdout


def test_without_a_commit_to_compare_with_the_action_renders_all_jobs(repository: Path) -> None:
    """The first push of a branch has no commit before it. A comparison with HEAD would accept the committed files."""
    assert "'HEAD'" not in ACTION["inputs"]["against"]["default"]
    assert run_action(repository, against="") == ""
    (repository / "overlays" / "mnist" / "base" / "service.yaml").write_text("# forged\n", encoding="utf-8")
    git(repository, "commit", "--quiet", "--all", "--message=x")
    with pytest.raises(CommandError) as error:
        run_action(repository, against="")
    assert "overlays/mnist/base/service.yaml" in error.value.stdout


def test_an_input_is_no_script(repository: Path) -> None:
    with pytest.raises(CommandError) as error:
        run_action(repository, jobs="$(touch pwned)\n--debug", against="HEAD; touch pwned")
    assert not (repository / "pwned").exists()
    assert error.value.code in (1, 2, 128)


# -- the hook ------------------------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make a clone of this checkout that includes uncommitted changes."""
    git(tmp_path, "clone", "--quiet", "--no-hardlinks", ROOT, "tfgen")
    changed = git(ROOT, "ls-files", "--modified", "--others", "--exclude-standard").splitlines()
    for name in changed:
        if (ROOT / name).is_file():
            (tmp_path / "tfgen" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "tfgen" / name).write_bytes((ROOT / name).read_bytes())
    git(tmp_path / "tfgen", "add", "--all")
    git(tmp_path / "tfgen", "commit", "--quiet", "--allow-empty", "--message=x")
    return tmp_path / "tfgen"


@pytest.fixture
def hooks(tmp_path: Path) -> Path:
    """Make a repository that has only the hooks of this checkout."""
    folder = tmp_path / "hooks"
    git(tmp_path, "init", "--quiet", "hooks")
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", folder)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=x")
    return folder


def test_pre_commit_runs_the_hook(repository: Path, hooks: Path, tmp_path: Path) -> None:
    """The hooks start the tested tfgen. tests/project/test_packaging.py installs tfgen as pre-commit does."""
    assert_hooks_run(repository, hooks, tmp_path, {"language": "system"})


@pytest.mark.nightly
@pytest.mark.may_skip("pre-commit installs the hook with pip, which needs its index")
def test_pre_commit_installs_the_hook(repository: Path, checkout: Path, tmp_path: Path) -> None:
    assert_hooks_run(repository, checkout, tmp_path, {})


def assert_hooks_run(repository: Path, source: Path, tmp_path: Path, options: Mapping[str, str]) -> None:
    """Commit a correct job, a job in another format, and a rendered file that someone edited."""
    revision = git(source, "rev-parse", "HEAD").strip()
    hooks = [{"id": "tfgen-fmt", **options}, {"id": "tfgen-check", **options}]
    config: dict[str, Any] = {"repos": [{"repo": str(source), "rev": revision, "hooks": hooks}]}
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    git(repository, "add", "--all")
    own = {"PRE_COMMIT_HOME": str(tmp_path / "cache"), "PRE_COMMIT_COLOR": "never"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**PATIENT_PIP, **own, "PATH": path}
    pre_commit = (sys.executable, "-m", "pre_commit")
    Command((*pre_commit, "install"), cwd=repository, env=environment).run()
    git_commit = Command(("git", "commit", "--quiet", "--message=x"), cwd=repository, env=environment)
    try:
        git_commit.run(timeout=INSTALL_S)
    except CommandError as error:
        if "No matching distribution found" in error.stderr:
            pytest.skip("pip reaches no index")
        raise

    (repository / "jobs" / "mnist.yaml").write_text(JOB.replace("{name: mnist}", "{ 'name': mnist }"), encoding="utf-8")
    git(repository, "add", "--all")
    with pytest.raises(CommandError) as error:
        git_commit.run()
    assert "files were modified by this hook" in error.value.stderr
    assert (repository / "jobs" / "mnist.yaml").read_text(encoding="utf-8") == JOB

    (repository / "overlays" / "mnist" / "base" / "service.yaml").write_text("# mine\n", encoding="utf-8")
    git(repository, "add", "--all")
    with pytest.raises(CommandError) as error:
        git_commit.run()
    assert "overlays/mnist/base/service.yaml:1:1: " in error.value.stderr
    assert git(repository, "rev-list", "--count", "HEAD") == "2\n"
