"""Tables of durations in Markdown, and the comparison of tiers with their budgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Final

from tests.timings.record import Duration, Kind

SLOWEST: Final = 30
FOLDERS: Final[Mapping[str, str]] = {
    "tests/train/": "train",
    "tests/e2e/server/": "server",
    "tests/e2e/gitops/": "gitops",
    "tests/e2e/node/": "cluster",
}
"""Tier of the tests in each folder. The tier of other tests is `long` with the mark `long`, or else `fast`."""
FAST: Final = "fast"
LONG: Final = "long"
TIERS: Final = (FAST, LONG, *FOLDERS.values())

MARGIN: Final = 1.2
"""Ratio of the budget to the median of three runs."""


def tier_of(test: str, marks: Container[str]) -> str:
    """Return the tier of a test, by its path and its marks."""
    return next((tier for folder, tier in FOLDERS.items() if test.startswith(folder)), LONG if LONG in marks else FAST)


def tier_times(run: Iterable[Duration]) -> Mapping[str, float]:
    """Return the seconds that the tests of each tier took, one after the other."""
    total: Counter[str] = Counter()
    for item in run:
        if item.kind == "test":
            total[item.tier] += item.wall_s  # type: ignore[assignment]
    return {tier: total[tier] for tier in TIERS if tier in total}


def compare_with_budgets(run: Iterable[Duration], budgets: Mapping[str, float]) -> Iterator[str]:
    """Yield a line for each tier with its time and its budget, and a last line with the tiers above their budgets."""
    times = tier_times(run)
    above = []
    for tier, wall_s in times.items():
        budget = budgets.get(tier)
        yield f"{tier}: {wall_s:.0f} s, " + ("no budget yet" if budget is None else f"budget {budget:.0f} s")
        if budget is not None and wall_s > budget:
            above.append(f"{tier} ({wall_s:.0f} s of {budget:.0f} s)")
    without = ", ".join(tier for tier in times if tier not in budgets)
    result = f"above budget: {', '.join(above)}" if above else "no tier is above its budget"
    yield f"{result}; without a budget: {without}" if without else result


def budgets_of(runs: Sequence[Iterable[Duration]]) -> Mapping[str, int]:
    """Return the budget of each tier: the median of the runs, and a fifth more."""
    times = [tier_times(run) for run in runs]
    tiers = [tier for tier in TIERS if any(tier in run for run in times)]
    return {tier: round(MARGIN * median(run[tier] for run in times if tier in run)) for tier in tiers}


def tables(runs: Mapping[str, Sequence[Duration]]) -> str:
    """Return the tables of runs by the name of the run: steps, tiers, servers and programs, then the slowest tests."""
    parts = [
        _table("Step", runs, "step"),
        _columns("Tier", {name: tier_times(run) for name, run in runs.items()}),
        _table("Start of a server: median, and number", runs, "server"),
        _table("Build of a program", runs, "build"),
        *(_slowest(name, run) for name, run in runs.items()),
    ]
    return "\n".join(part for part in parts if part)


def _table(title: str, runs: Mapping[str, Sequence[Duration]], kind: Kind) -> str:
    return _columns(title, {name: _cells(run, kind) for name, run in runs.items()})


def _cells(run: Sequence[Duration], kind: Kind) -> Mapping[str, float | str]:
    found: dict[str, list[float]] = {}
    for item in run:
        if item.kind == kind:
            found.setdefault(item.name, []).append(item.wall_s)
    if kind == "server":
        return {name: f"{median(times):.1f} s, {len(times)}" for name, times in sorted(found.items())}
    return {name: sum(times) for name, times in found.items()}


def _columns(title: str, columns: Mapping[str, Mapping[str, float | str]]) -> str:
    rows = dict.fromkeys(row for column in columns.values() for row in column)
    if not rows:
        return ""
    head = f"| {title} | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}\n"
    return head + "".join(
        f"| {row} | {' | '.join(_cell(column.get(row, '')) for column in columns.values())} |\n" for row in rows
    )


def _cell(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.0f} s"


def _slowest(name: str, run: Sequence[Duration]) -> str:
    tests = sorted((item for item in run if item.kind == "test"), key=lambda item: -item.wall_s)[:SLOWEST]
    rows = "".join(f"| `{test.name}` | {test.wall_s:.1f} s | {test.cpu_s:.1f} s |\n" for test in tests)
    return f"| Slowest tests, {name} | Time | Processor time |\n|---|---:|---:|\n{rows}" if tests else ""
