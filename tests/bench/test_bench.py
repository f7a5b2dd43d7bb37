"""Tests of the benchmark that do not depend on the measured times."""

from __future__ import annotations

import re
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.bench.bars import bars
from tests.bench.jobs import STRUCTURES, job_text
from tests.bench.measure import Cost
from tests.bench.mnist_jobs import STRUCTURES as MNIST_STRUCTURES
from tests.bench.mnist_jobs import mnist_job
from tests.bench.page import Machine, page
from tests.bench.plans import write_plan
from tests.bench.plot import plot
from tests.bench.results import Point, Results, Row, Sizes
from tests.bench.rounds import factor
from tests.support.command import Command, CommandError
from tests.support.tools import ROOT, helm_program, kustomize_program
from tfgen.check.jobs import check
from tfgen.cli.output import check_jobs
from tfgen.commands.plan import plan_runs, read_cluster_file
from tfgen.job.training_job import TrainingJob
from tfgen.live.run import declared_runs

SMALL = ("--jobs", "2", "--structures", "2", "--most", "2", "--workers", "5", "--rounds", "1", "--nodes", "20")

RESULTS = Results(
    rows=[Row("one job rendered", 0.05, ("helm template", 0.04), 1.25, "at most 1.4", "tfgen render jobs")],
    jobs=[Point(1, Cost(0.1, 40)), Point(1_000, Cost(100, 50.0))],
    workers=[Point(4, Cost(0.1, 40)), Point(3_000, Cost(0.15, 44))],
    environments=[Point(1, Cost(0.1, 40)), Point(30, Cost(1.5, 41))],
)


def bench(*arguments: str | Path, **variables: str) -> str:
    if not Path(sys.executable).with_name("tfgen").exists():
        pytest.skip("tfgen is not installed for this Python")
    return Command((sys.executable, "-m", "tests.bench", *arguments), cwd=ROOT, env=variables).run()


def table(text: str) -> list[str]:
    """Return the lines of the first table without their numbers."""
    lines = text[text.index("| Subject |") :].partition("\n\n")[0].splitlines()
    return [re.sub(r"\d[\d.,]*( ms| s)? ", "N ", line.replace(": **missed**", "")) for line in lines]


@pytest.mark.long
def test_the_page_and_the_plot_are_written_of_real_runs(tmp_path: Path) -> None:
    helm_program()
    kustomize_program()
    printed = bench(*SMALL, "--docs", tmp_path)
    assert (tmp_path / "performance.md").read_text(encoding="utf-8") == printed
    assert table(printed) == table((ROOT / "docs" / "performance.md").read_text(encoding="utf-8"))
    circles = ET.parse(tmp_path / "performance.svg").iterfind(".//{http://www.w3.org/2000/svg}circle")
    assert len([*circles]) == 2 * (len(["jobs:", "1", "2"][1:]) + len([4, 5]) + len([1, 3, 10, 30]))


def rows_of_page() -> list[Row]:
    """Return the rows of the table in docs/performance.md."""
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    lines = text[text.index("| Subject |") :].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [
        Row(
            title,
            seconds(ours),
            (peer, seconds(theirs)),
            float(factor),
            goal.removesuffix(": **missed**"),
            command.strip("`"),
        )
        for title, command, ours, peer, theirs, factor, goal in cells
    ]


def seconds(text: str) -> float:
    """Return the seconds of a time such as 71 ms or 16.4 s."""
    number, unit = text.split()
    return float(number) / {"ms": 1000, "s": 1}[unit]


def test_the_bars_show_the_times_of_the_table() -> None:
    assert (ROOT / "docs" / "performance-bars.svg").read_text(encoding="utf-8") == bars(rows_of_page())


@pytest.mark.parametrize(
    ("goal", "factor", "seconds", "is_missed"),
    [
        ("at most 2.5", 2.5, 1, False),
        ("at most 2.5", 2.6, 1, True),
        ("at least 30", 29.3, 1, True),
        ("in 3 s", 9, 3.1, True),
        ("at most 4, in 10 s", 3.9, 10.1, True),
        ("at most 4, in 10 s", 3.9, 9.9, False),
    ],
)
def test_missed_goal_is_marked(goal: str, factor: float, seconds: float, is_missed: bool) -> None:
    assert Row("", seconds, ("", 1), factor, goal, "").is_missed == is_missed


def test_a_bar_is_as_long_as_its_time() -> None:
    rows = [
        Row("edited", 0.2, ("helm template", 0.05), 4, "", ""),
        Row("cached", 0.1, ("helm template", 0.05), 2, "", ""),
    ]
    drawn = ET.fromstring(bars(rows)).findall(".//{http://www.w3.org/2000/svg}rect")
    assert [float(bar.attrib["width"]) for bar in drawn] == [420, 210, 105]


def test_a_command_that_fails_is_shown_with_what_it_said(tmp_path: Path) -> None:
    kustomize_program()
    for name, script in {"helm": "echo 'out of charts' >&2; exit 7", "kustomize": "exit 0"}.items():
        program = tmp_path / "tfgen" / "bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
    with pytest.raises(CommandError) as raised:
        bench(*SMALL, "--docs", tmp_path, XDG_CACHE_HOME=str(tmp_path))
    assert "/helm template job-00000 charts/job-00000\nended with code 7" in raised.value.stderr
    assert "out of charts" in raised.value.stderr
    assert not (tmp_path / "performance.md").exists()


def test_the_jobs_are_right_and_of_as_many_structures_as_is_said() -> None:
    results = [check(job_text(number), "job.yaml") for number in range(STRUCTURES)]
    assert [problem.message for one in results for problem in one.problems if problem.severity == "error"] == []
    jobs = (TrainingJob.from_document(one.documents[0].data) for one in results)
    structures = {job.structure for job in jobs}
    assert len(structures) == STRUCTURES


def test_the_jobs_made_of_dist_mnist_have_no_problem_and_differ_in_structure() -> None:
    results = [check(mnist_job(number), "job.yaml") for number in range(2 * MNIST_STRUCTURES)]
    assert [problem for one in results for problem in one.problems] == []
    jobs = (TrainingJob.from_document(one.documents[0].data) for one in results)
    structures = {job.structure for job in jobs}
    assert len(structures) == MNIST_STRUCTURES


def test_a_factor_is_the_median_of_those_of_the_rounds() -> None:
    assert factor([2, 9, 4], [1, 3, 4]) == 2  # the ratios are 2, 3 and 1; the ratio of the medians is 4/3


def test_the_page_contains_the_growth_of_the_memory_and_the_load() -> None:
    text = page(RESULTS, Sizes(rounds=7), Machine("2026-01-31", 2, (0.25, 1.5), {"tfgen": "1.2.3", "helm": "4.5.6"}))
    assert "| one job rendered | `tfgen render jobs` | 50 ms | helm template | 40 ms | 1.25 | at most 1.4 |\n" in text
    words = " ".join(text.split())
    assert "the median of 7 runs, or of 5 for a row with many jobs" in words
    assert "Measured on 2026-01-31, on 2 cores, with tfgen 1.2.3, helm 4.5.6." in words
    assert "The load of the machine was 0.2 at the start and 1.5 at the end." in words
    assert "From 1 to 1,000 jobs, the memory grows by 10.3 KiB for each job." in words  # 10 MiB over 999 jobs


def test_what_costs_twice_as_much_for_twice_as_many_lies_on_the_broken_line() -> None:
    panels = ET.fromstring(plot(RESULTS)).findall(".//{http://www.w3.org/2000/svg}g")
    ends = []
    for panel in panels:
        line, slope = (panel.find(f"*[@class='{name}']") for name in ("line", "slope"))
        assert line is not None
        assert slope is not None
        ends.append((line.get("points", "").split()[-1], f"{slope.get('x2')},{slope.get('y2')}"))
    assert [end == of_slope for end, of_slope in ends] == [True, False, False, False, False, False]


@pytest.mark.long
@pytest.mark.parametrize(("nodes", "jobs", "are_apart", "most"), [(500, 50, False, 5), (1_000, 20, True, 3)])
def test_the_time_of_a_plan_has_a_bound(tmp_path: Path, nodes: int, jobs: int, are_apart: bool, most: float) -> None:
    """The goal is 10 CPU seconds for four times the first plan, including the start and the files."""
    write_plan(tmp_path, nodes, jobs, are_apart=are_apart)
    objects = read_cluster_file(tmp_path / "nodes.json")
    runs = [(item, "ml") for item in declared_runs(check_jobs([tmp_path / "jobs"]).documents, None)]
    began = time.process_time()
    verdicts = plan_runs(runs, objects).verdicts
    assert time.process_time() - began < most
    assert len(verdicts) == jobs
