"""The commands of docs/live.md, each with the Role of its section."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from tests.support.repository import Printed, tfgen
from tests.support.tools import ROOT

PAGE = (ROOT / "docs" / "live.md").read_text(encoding="utf-8")


def role(command: str, number: int = 0) -> dict[str, object]:
    """Return the Role of a command in docs/live.md. `number` is the number of the block in the section."""
    section = PAGE.split(f"## `tfgen {command}`\n", 1)[1].partition("\n## ")[0]
    document: dict[str, object] = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)[number])
    return document


def status(job: Path, kubeconfig: Path, *more: str, code: int = 0) -> Printed:
    return tfgen("status", job, "--kubeconfig", kubeconfig, *more, code=code)


def execute(job: Path, kubeconfig: Path, *more: str, code: int = 0) -> Printed:
    return tfgen("exec", job, "--kubeconfig", kubeconfig, *more, "--", "true", code=code)


def tensorboard(job: Path, kubeconfig: Path, *more: str, code: int = 0) -> Printed:
    return tfgen("tensorboard", job, "--kubeconfig", kubeconfig, *more, code=code)
