"""Tests that the examples have the layout of `tfgen fmt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tools import ROOT
from tfgen.cli import run

JOBS = sorted((ROOT / "examples").glob("*/job.yaml"))


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.parent.name)
def test_fmt_changes_nothing(job: Path):
    assert run(["fmt", "--check", str(job)]) == 0
