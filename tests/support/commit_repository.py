"""A repository in which tests commit jobs."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.support.command import Command

JOB = """\
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


def git(*arguments: str | Path, folder: Path | str = ".") -> str:
    return Command(("git", *arguments), cwd=Path(folder)).run()


def write(path: str | Path, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


Prepared = Callable[[], None]
"""A function that writes files into a new clone, which is the current folder. The files are committed and pushed."""


def clone_with(prepare: Prepared, folder: Path) -> Path:
    """Make a clone, at `folder`/clone, of a bare repository at `folder`/remote.git, both with the prepared changes.

    A process prepares the repositories once and copies them: a copy is cheaper than ten calls of git.
    """
    shutil.copytree(_prepared(prepare), folder, symlinks=True, dirs_exist_ok=True)
    git("remote", "set-url", "origin", folder / "remote.git", folder=folder / "clone")
    git("update-index", "-q", "--refresh", folder=folder / "clone")  # the copied files have new times
    return folder / "clone"


@functools.cache
def _prepared(prepare: Prepared) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tfgen-repositories-"))
    atexit.register(shutil.rmtree, folder)
    before = Path.cwd()
    git("init", "--quiet", "--bare", "--template=", "--initial-branch=main", folder / "remote.git", folder=folder)
    git("clone", "--quiet", "--template=", folder / "remote.git", folder / "clone", folder=folder)
    os.chdir(folder / "clone")
    try:
        git("checkout", "--quiet", "-B", "main")
        prepare()
        commit_all()
        git("push", "--quiet", "--set-upstream", "origin", "main")
        for path in (folder / "remote.git", folder / "clone"):
            git("gc", "--quiet", folder=path)  # one pack is cheaper to copy than a folder for each object
    finally:
        os.chdir(before)
    return folder


def commit_all() -> None:
    git("add", "--all")
    git("commit", "--quiet", "--message=x")


def hook(name: str, script: str) -> None:
    path = Path(git("rev-parse", "--git-path", "hooks").strip()) / name
    write(path, f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
