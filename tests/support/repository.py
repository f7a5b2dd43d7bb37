"""Git repositories that tests copy, jobs in them, and `tfgen` in the process of the test."""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.support.command import Command
from tfgen import cli

GIT_SETTINGS: Final[Mapping[str, str]] = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "ada@example.com" for who in ("AUTHOR", "COMMITTER")},
}
"""Variables of all tests: git with an author and without settings of the user or the machine."""

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

GANG_JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  gang: {scheduler: volcano, queue: research}
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
  environments:
    dev: {}
    prod: {gang: {queue: production}}
"""

Prepare = Callable[[], None]
"""A function that writes files in the current folder, a new repository. A process calls the function once."""


class Printed(NamedTuple):
    """The output of `tfgen` on both streams."""

    out: str
    err: str


def run_tfgen(*arguments: str | Path) -> tuple[int, str, str]:
    """Run `tfgen` in this process, and return the exit code and the output on both streams."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.run([str(argument) for argument in arguments])
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]
    assert "Traceback" not in texts[1]
    return code, texts[0], texts[1]


def tfgen(*arguments: str | Path, code: int = 0) -> Printed:
    """Run `tfgen` in this process, check the exit code, and return the output."""
    found, *printed = run_tfgen(*arguments)
    assert found == code, (arguments, found, *printed)
    return Printed(*printed)


def git(*arguments: str | Path, folder: Path | str = ".") -> str:
    return Command(("git", *arguments), cwd=Path(folder)).run()


def write(path: str | Path, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def commit_all(folder: Path | str = ".") -> None:
    git("add", "--all", folder=folder)
    git("commit", "--quiet", "--allow-empty", "--message=x", folder=folder)


def commit_files(folder: Path, files: Mapping[str, str | None]) -> str:
    """Write files, remove the files without a text, and commit all files of a repository. Return the commit."""
    for name, text in files.items():
        if text is None:
            (folder / name).unlink(missing_ok=True)
        else:
            write(folder / name, text)
    commit_all(folder)
    return git("rev-parse", "HEAD", folder=folder).strip()


def hook(name: str, script: str) -> None:
    path = Path(git("rev-parse", "--git-path", "hooks").strip()) / name
    write(path, f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def repository_fixture(*, autouse: bool = False) -> Callable[[Prepare], Any]:
    """Return a decorator that makes a fixture of a function: a copy of its repository, the current folder of the test.

    A copy is cheaper than a render and several calls of git.
    """

    def decorate(prepare: Prepare) -> Any:
        @pytest.fixture(autouse=autouse, name=prepare.__name__)
        def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
            copy_repository(prepare, tmp_path)
            monkeypatch.chdir(tmp_path)
            return tmp_path

        return copied

    return decorate


def clone_fixture(*, autouse: bool = False) -> Callable[[Prepare], Any]:
    """Return a decorator as `repository_fixture`: the current folder is a clone of a remote, as in `clone_with`."""

    def decorate(prepare: Prepare) -> Any:
        @pytest.fixture(autouse=autouse, name=prepare.__name__)
        def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
            folder = clone_with(prepare, tmp_path)
            monkeypatch.chdir(folder)
            return folder

        return copied

    return decorate


def copy_repository(prepare: Prepare, folder: Path) -> None:
    """Copy a repository with the branch main, in which `prepare` has written and committed files, into a folder."""
    shutil.copytree(_repository(prepare), folder, symlinks=True, dirs_exist_ok=True)


def clone_with(prepare: Prepare, folder: Path) -> Path:
    """Make a clone, at `folder`/clone, of a bare repository at `folder`/remote.git, both with the prepared changes."""
    shutil.copytree(_clone(prepare), folder, symlinks=True, dirs_exist_ok=True)
    git("remote", "set-url", "origin", folder / "remote.git", folder=folder / "clone")
    git("update-index", "-q", "--refresh", folder=folder / "clone")  # the copied files have new times
    return folder / "clone"


@functools.cache
def _repository(prepare: Prepare) -> Path:
    folder = _temporary_folder()
    with contextlib.chdir(folder):
        git("init", "--quiet", "--template=", "--initial-branch=main")
        prepare()
    return folder


@functools.cache
def _clone(prepare: Prepare) -> Path:
    folder = _temporary_folder()
    git("init", "--quiet", "--bare", "--template=", "--initial-branch=main", folder / "remote.git", folder=folder)
    git("clone", "--quiet", "--template=", folder / "remote.git", folder / "clone", folder=folder)
    with contextlib.chdir(folder / "clone"):
        git("checkout", "--quiet", "-B", "main")
        prepare()
        commit_all()
        git("push", "--quiet", "--set-upstream", "origin", "main")
        for path in (folder / "remote.git", folder / "clone"):
            git("gc", "--quiet", folder=path)  # one pack is cheaper to copy than a folder for each object
    return folder


def _temporary_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tfgen-repository-"))
    atexit.register(shutil.rmtree, folder)
    return folder
