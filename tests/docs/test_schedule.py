"""The workflow of docs/runs.md that repeats a training on a timer. The test runs its steps as a CI runner does."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.command import Command, CommandError
from tests.support.tools import ROOT

pytestmark = pytest.mark.long

ENVIRONMENT = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def steps() -> list[str]:
    """Return the commands of the workflow without the installation of tfgen."""
    page = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
    (block,) = (block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "schedule:" in block)
    recipe = yaml.safe_load(block)["jobs"]["rerun"]["steps"]
    commands = [step["run"] for step in recipe if "run" in step]
    assert commands[0] == 'pip install "$TFGEN"'
    return commands[1:]


def shell(command: str, folder: Path) -> str:
    return Command(("bash", "-e", "-o", "pipefail", "-c", command), cwd=folder, env=ENVIRONMENT).run()


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """Make a bare repository with a job, as `tfgen init --repo` lays out a repository."""
    shell("git init --quiet --bare --initial-branch=main remote.git && git clone --quiet remote.git author", tmp_path)
    shell(
        "git checkout --quiet -B main && tfgen init mnist --repo && tfgen render jobs && git add --all"
        " && git commit --quiet --message=x && git push --quiet origin main",
        tmp_path / "author",
    )
    return tmp_path / "remote.git"


def on_timer(remote: Path, number: int) -> None:
    """Run the workflow once in a new clone, as a CI runner does."""
    clone = remote.parent / f"runner-{number}"
    shell(f"git clone --quiet {remote} {clone}", remote.parent)
    for step in steps():
        shell(step, clone)


def test_each_time_the_job_gets_its_next_run_in_the_remote(remote: Path) -> None:
    on_timer(remote, 1)
    on_timer(remote, 2)
    assert shell("git log --format=%s -2", remote).splitlines() == ["mnist: run 3 in prod", "mnist: run 2 in prod"]
    overlay = shell("git show HEAD:overlays/mnist/prod/kustomization.yaml HEAD:jobs/mnist/job.yaml", remote)
    assert 'run: "3"' in overlay
    assert "mnist-3" in shell("git grep -h mnist-3 HEAD -- overlays/mnist/prod", remote)


def test_a_timer_starts_nothing_where_the_job_is_retired(remote: Path) -> None:
    author = remote.parent / "author"
    shell("tfgen rm jobs/mnist/job.yaml --env prod && tfgen commit jobs --push", author)
    before = shell("git rev-parse HEAD", remote)
    with pytest.raises(CommandError, match="retired in prod"):
        on_timer(remote, 1)
    assert shell("git rev-parse HEAD", remote) == before
