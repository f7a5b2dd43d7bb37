"""Tests of the tree that `tfgen status --watch` draws. The folder of a recorded run contains its tree in tree.txt."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.support.recorded_run import read_recorded, read_run
from tests.support.tools import ROOT
from tfgen import cli
from tfgen.live.run_state import RunState, state_of_run
from tfgen.report.status import screen, tree_lines

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/tree.txt"))
COLUMNS, ROWS = 110, 40


def recorded_state(case: Path) -> RunState:
    snapshot, environment, _ = read_recorded(case / "cluster.json")
    return state_of_run(read_run(case / "job.yaml", environment), snapshot, "ml")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_recorded_run_is_drawn(case: Path) -> None:
    _, _, now = read_recorded(case / "cluster.json")
    drawn = screen(tree_lines([recorded_state(case)], now), COLUMNS, ROWS, colour=False)
    assert drawn == (case / "tree.txt").read_text(encoding="utf-8")


def test_the_page_shows_the_tree_of_a_recorded_run() -> None:
    page = (ROOT / "docs" / "live.md").read_text(encoding="utf-8")
    assert f"```\n{(HERE / 'gpus' / 'tree.txt').read_text(encoding='utf-8')}```\n" in page


def test_several_runs_list_the_tasks_of_roles_that_are_not_ready() -> None:
    _, _, now = read_recorded(HERE / "gpus" / "cluster.json")
    states = [recorded_state(HERE / name) for name in ("gpus", "released")]
    assert (
        screen(tree_lines(states, now), 80, 20, colour=False)
        == """\
why:      mnist: worker-3: Unschedulable: 0/3 nodes are available: 3
          Insufficient nvidia.com/gpu. no new claims to deallocate, preemption:
          0/3 nodes are available: 3 No preemption victims found for ...

mnist in ml: Partial for 8s
├─ chief   █     1/1
├─ ps      ██    2/2
└─ worker  ███░  3/4
   ├─ worker-0  Running  node-1  8s
   ├─ worker-1  Running  node-0  7s
   ├─ worker-2  Running  node-2  7s
   └─ worker-3  Pending          7s
mnist in ml: Succeeded 0s ago
├─ chief   █     1/1
├─ ps      ░░    0/2
└─ worker  ░░░░  0/4
"""
    )


def test_a_small_terminal_counts_the_lines_that_do_not_fit() -> None:
    _, _, now = read_recorded(HERE / "gang" / "cluster.json")
    text = screen(tree_lines([recorded_state(HERE / "gang")], now), COLUMNS, 8, colour=False)
    assert len(text.splitlines()) == 7
    assert text.endswith("mnist in ml: Pending for 52s\n... and 13 more lines\n")


def test_the_command_redraws_on_a_terminal_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each drawing begins at the first line, and clears the remainder of each line and of the screen."""
    states = iter([recorded_state(HERE / "gpus"), recorded_state(HERE / "succeeded")])
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr("tfgen.live.clusters.read_states", lambda *_, **__: [next(states)])
    monkeypatch.setattr("tfgen.live.clusters.Clusters.with_release_names", lambda _, run, __: run)
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LINES", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    assert cli.run(["status", str(HERE / "gpus" / "job.yaml"), "--watch"]) == 0
    clear, *drawings = terminal.getvalue().split("\033[H")
    assert clear == "\033[2J"
    assert [drawing.endswith("\033[K\n\033[J") for drawing in drawings] == [True, True]
    partial, succeeded = (drawing.replace("\033[K", "").splitlines() for drawing in drawings)
    assert partial[0].startswith("why:      worker-3: Unschedulable: ")
    assert "├─ chief   █     1/1" in partial
    assert succeeded[0].startswith("mnist in ml: Succeeded ")


def test_bars_have_colours() -> None:
    text = screen(["└─ worker  ███░  3/4"], COLUMNS, ROWS, colour=True)
    assert text == "└─ worker  \033[32m███\033[0m\033[33m░\033[0m  3/4\n"


def test_a_bar_of_many_tasks_is_full_only_if_all_are_ready() -> None:
    _, _, now = read_recorded(HERE / "gpus" / "cluster.json")
    state = recorded_state(HERE / "gpus")
    *_, worker = state.roles
    ready = [task for task in worker.tasks if task.is_ready]
    for number, full in ((99, 19), (100, 20)):
        role = worker.replaced(requested=100, tasks=tuple((ready * 40)[:number]))
        (line,) = (line for line in tree_lines([state.replaced(roles=(role,))], now) if " worker " in line)
        assert line.count("█") == full
        assert line.endswith(f"{number}/100")
