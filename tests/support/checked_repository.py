"""A repository with a committed job, and changes of the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Command

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


WRONG = JOB.replace("replicas: 2", "replica: 2")


Printed = pytest.CaptureFixture[str]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commit a job in a new repository, which becomes the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    path = tmp_path / "job.yaml"
    path.write_text(JOB, encoding="utf-8")
    git("init", "--quiet", "--template=", "--initial-branch=main")
    commit()
    return path


def git(*arguments: str) -> None:
    who = {f"GIT_{role}_{what}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    Command(("git", *arguments), env=who).run()


def commit() -> None:
    git("add", "--all")
    git("commit", "--quiet", "--allow-empty", "--message=x")
