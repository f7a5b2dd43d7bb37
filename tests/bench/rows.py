"""Rows of the benchmark: tfgen compared with the real Helm and kustomize, and the growth of tfgen's cost.

The benchmark removes no file before its end. For some minutes after many files are removed, some disks create new files
at a fifth of their speed, for example ext4 without a journal, which does not reuse recently freed blocks.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from tests.bench.edits import edit_rows
from tests.bench.jobs import job_text
from tests.bench.measure import Cost, program
from tests.bench.mnist_rows import mnist_rows
from tests.bench.plans import write_plan
from tests.bench.repository import commit, peer_seconds, repository, run
from tests.bench.results import Point, Results, Row, Sizes, few_rounds
from tests.bench.rounds import factor, in_turn, tell

ENVIRONMENTS = 3


RENDER = ("tfgen", "render", "jobs")
CHECK = ("tfgen", "check", "jobs")
STDOUT = ("tfgen", "render", "--stdout", "jobs/00000.yaml")
PLAN = ("tfgen", "plan", "jobs", "--nodes", "nodes.json")
SITE = ("tfgen", "site", "jobs", "--out", "public")
HELM = ("helm", "template", "job-00000", "charts/job-00000")


def run_all(sizes: Sizes, folder: Path) -> Results:
    """Run all measurements in subfolders of `folder`."""
    for name in ("helm", "kustomize"):
        program(name)  # fails before the measurements
    rows = [*_one_job(folder / "one", sizes), *edit_rows(folder / "edits", sizes.rounds)]
    rows += _many_jobs(folder / "many", sizes)
    rows += mnist_rows(folder / "mnist", sizes)
    workers = _grow(folder, sizes, _up_to(sizes.workers, 4, 100, 1_000), lambda n: job_text(3, workers=n))
    rows.append(_row_of_workers(workers, sizes))
    rows.append(_row_of_plans(folder, sizes))
    rows.append(_row_of_sites(folder, sizes))
    environments = _grow(folder, sizes, (1, 3, 10, 30), lambda n: job_text(3, environments=n))
    jobs = [_render_jobs(folder / f"jobs-{count}", count, sizes) for count in _up_to(sizes.most, 1, 10, 100, 1_000)]
    return Results(rows, jobs, _medians(workers), _medians(environments))


def _one_job(folder: Path, sizes: Sizes) -> list[Row]:
    """Measure tfgen on one job, alternately with Helm on the chart of the job."""
    repository(folder, 1, 1)
    run(RENDER, folder)
    run(CHECK, folder)  # compiles all measured Python modules
    commit(folder)
    commands = {"stdout": STDOUT, "again": RENDER, "check": CHECK, "helm": HELM}
    times = in_turn({name: partial(run, command, folder) for name, command in commands.items()}, sizes.rounds)
    peer = ("helm template", median(times["helm"]))
    return [
        Row(title, median(times[name]), peer, factor(times[name], times["helm"]), goal, " ".join(commands[name]))
        for name, title, goal in (
            ("stdout", "objects of one cached job printed", "at most 1.4"),
            ("again", "one cached job rendered, with nothing to do", "at most 1.3"),
            ("check", "one cached job checked, as committed", "at most 1.5"),
        )
    ]


def _many_jobs(folder: Path, sizes: Sizes) -> list[Row]:
    """Measure many jobs, alternately with Helm and kustomize for each environment of a job of each structure."""
    structures = min(sizes.structures, sizes.jobs)
    repository(folder, sizes.jobs, structures)
    run(RENDER, folder)
    commit(folder)

    def peers() -> Cost:
        names = [f"job-{number:05}" for number in range(structures)]
        environments = [f"env-{number}" for number in range(ENVIRONMENTS)]
        return Cost(peer_seconds(folder, names, environments) * sizes.jobs / structures, 0)

    def put_aside(*names: str) -> None:
        aside = Path(tempfile.mkdtemp(dir=folder.parent))
        for name in names:
            (folder / name).rename(aside / name)

    def cold(cores: int) -> Cost:
        put_aside("charts", "overlays", ".tfgen", ".cache")
        return run(RENDER, folder, cores)

    def unknown() -> Cost:
        put_aside(".cache")
        return run(CHECK, folder)

    times = in_turn(
        {
            "peers": peers,
            "two": partial(cold, 2),
            "one": partial(cold, 1),
            "again": partial(run, RENDER, folder, 1),
            "check": partial(run, CHECK, folder),
            "unknown": unknown,
        },
        few_rounds(sizes),
    )
    what = f"{sizes.jobs:,} jobs of {structures} structures"
    peer = ("helm template and kustomize build", median(times["peers"]))
    rows = [
        Row(title, median(times[name]), peer, factor(times["peers"], times[name]), goal, " ".join(command))
        for name, title, goal, command in (
            ("one", f"{what} rendered, on one core", "at least 30", RENDER),
            ("again", "the same again, with nothing to do", "at least 150", RENDER),
            ("check", "the same checked, as committed, on all cores", "at least 40", CHECK),
            ("unknown", "the same checked as CI has it, without a cache", "at least 40", CHECK),
        )
    ]
    title, peer = f"{what} rendered, on two cores", ("the same on one core", median(times["one"]))
    gain = factor(times["one"], times["two"])
    return [*rows, Row(title, median(times["two"]), peer, gain, "at least 1.7", " ".join(RENDER))]


def _row_of_workers(runs: Mapping[int, Sequence[Cost]], sizes: Sizes) -> Row:
    few, most = ([cost.seconds for cost in runs[count]] for count in (min(runs), sizes.workers))
    title = f"a job with {sizes.workers:,} workers rendered"
    peer = (f"the same with {min(runs)}", median(few))
    return Row(title, median(most), peer, factor(most, few), "at most 2", " ".join(RENDER))


def _row_of_plans(folder: Path, sizes: Sizes) -> Row:
    """Measure plans of jobs, alternately with half of the jobs on half of the nodes.

    The time may grow in proportion to nodes times jobs.
    """
    nodes = {"whole": sizes.nodes, "half": max(sizes.nodes // 2, 1)}
    folders = {name: folder / f"plan-{name}" for name in nodes}
    for name, count in nodes.items():
        write_plan(folders[name], count, max(count // 10, 1))
        run(PLAN, folders[name])
    times = in_turn({name: partial(run, PLAN, folders[name], 1) for name in nodes}, few_rounds(sizes))
    title = f"{max(sizes.nodes // 10, 1):,} jobs planned on {sizes.nodes:,} nodes, on one core"
    peer = ("half of the jobs on half of the nodes", median(times["half"]))
    gain = factor(times["whole"], times["half"])
    return Row(title, median(times["whole"]), peer, gain, "at most 4, in 10 s", " ".join(PLAN))


def _row_of_sites(folder: Path, sizes: Sizes) -> Row:
    """Measure sites of jobs, alternately with half of the jobs, on all cores."""
    jobs = {"whole": sizes.jobs, "half": max(sizes.jobs // 2, 1)}
    folders = {name: folder / f"site-{name}" for name in jobs}
    for name, count in jobs.items():
        repository(folders[name], count, min(sizes.structures, count))
        commit(folders[name])
    times = in_turn({name: partial(run, SITE, folders[name]) for name in jobs}, few_rounds(sizes))
    title = f"the site of {sizes.jobs:,} jobs, on all cores"
    peer = ("half of the jobs", median(times["half"]))
    gain = factor(times["whole"], times["half"])
    return Row(title, median(times["whole"]), peer, gain, "at most 2.2", " ".join(SITE))


def _grow(
    folder: Path, sizes: Sizes, counts: Sequence[int], text: Callable[[int], str]
) -> Mapping[int, Sequence[Cost]]:
    """Return the costs of uncached renders of one job on one core, by the number of its workers or environments."""

    def cost(count: int) -> Cost:
        here = Path(tempfile.mkdtemp(dir=folder))
        repository(here, 1, 1)
        (here / "jobs" / "00000.yaml").write_text(text(count), encoding="utf-8")
        return run(RENDER, here, 1)

    runs: dict[int, list[Cost]] = {count: [] for count in counts}
    for _ in range(sizes.rounds):
        for count in counts:
            runs[count].append(cost(count))
    return runs


def _medians(runs: Mapping[int, Sequence[Cost]]) -> list[Point]:
    return [Point(count, Cost(*map(median, zip(*costs, strict=True)))) for count, costs in runs.items()]


def _render_jobs(folder: Path, count: int, sizes: Sizes) -> Point:
    tell(f"{count:,} jobs")
    repository(folder, count, min(sizes.structures, count))
    return Point(count, run(RENDER, folder, 1))


def _up_to(most: int, *counts: int) -> tuple[int, ...]:
    return (*(count for count in counts if count < most), most)
