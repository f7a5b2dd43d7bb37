"""Repositories that tests copy, a job, and changes of the job."""

from __future__ import annotations

import atexit
import contextlib
import functools
import shutil
import tempfile
from collections.abc import Callable
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


def git(*arguments: str) -> None:
    who = {f"GIT_{role}_{what}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    Command(("git", *arguments), env=who).run()


def commit() -> None:
    git("add", "--all")
    git("commit", "--quiet", "--allow-empty", "--message=x")


def copy_repository(prepare: Callable[[], None], folder: Path) -> None:
    """Copy a git repository with the branch main into a folder.

    Args:
        prepare: A function that writes and commits files in the current folder, a new repository. A process calls the
            function once: a copy is cheaper than a render and several calls of git.
        folder: The empty folder.
    """
    shutil.copytree(_prepared(prepare), folder, symlinks=True, dirs_exist_ok=True)


@functools.cache
def _prepared(prepare: Callable[[], None]) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tfgen-repository-"))
    atexit.register(shutil.rmtree, folder)
    with contextlib.chdir(folder):
        git("init", "--quiet", "--template=", "--initial-branch=main")
        prepare()
    return folder
