"""Test of the time between an edit in an editor and its problem on the screen, for a problem that only a rule finds."""

from __future__ import annotations

import asyncio
from pathlib import Path
from statistics import median
from time import perf_counter

import pytest

from tests.support.editor import editor
from tests.support.repository import tfgen

RUNS = 9


@pytest.mark.long
@pytest.mark.parametrize(("workers", "goal"), [(4, 0.150), (3000, 0.300)])
def test_the_problems_of_an_edit_are_there_in_time(workers: int, goal: float, tmp_path: Path) -> None:
    tfgen("init", "mnist", "--out", str(tmp_path))
    job = (tmp_path / "mnist" / "job.yaml").read_text(encoding="utf-8")
    job = job.replace("replicas: 4", f"replicas: {workers}").replace("replicas: 2", f"replicas: {workers}")

    async def seconds() -> list[float]:
        passed = []
        async with editor(tmp_path) as connected:
            connected.open("mnist/job.yaml", job)
            assert await connected.diagnostics("mnist/job.yaml") == []
            for run in range(RUNS):
                start = perf_counter()
                connected.change("mnist/job.yaml", job.replace(":1.0.0", f"-{run}:latest"))
                (problem,) = await connected.diagnostics("mnist/job.yaml")
                passed.append(perf_counter() - start)
                assert (problem.code, f"mnist-{run}:" in problem.message) == ("latest-tag", True)
        return passed

    passed = asyncio.run(seconds())
    print(f"{workers} workers: median {median(passed) * 1000:.0f} ms, longest {max(passed) * 1000:.0f} ms")
    assert median(passed) <= goal
