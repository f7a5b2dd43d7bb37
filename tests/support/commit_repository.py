"""A repository to commit jobs in."""

from __future__ import annotations

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


def commit_all() -> None:
    git("add", "--all")
    git("commit", "--quiet", "--message=x")


def hook(name: str, script: str) -> None:
    path = Path(git("rev-parse", "--git-path", "hooks").strip()) / name
    write(path, f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
