"""Prints the states of runs as a tree: first the reasons of problems, then the roles of each run with their tasks.

why:      worker-1: Unschedulable: 0/3 nodes are available

mnist in ml: Partial for 8s
├─ chief   █   1/1
│  └─ chief-0   Running  node-2  8s
└─ worker  █░  1/2
   ├─ worker-0  Running  node-1  8s
   └─ worker-1  Pending          7s
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import repeat
from typing import Final

from tfgen.live.run_state import RoleState, RunState
from tfgen.live.tasks import TaskState
from tfgen.report.status import age, listed_tasks, note_lines, progress_lines, reason_lines, title
from tfgen.words import count

_LABEL: Final = 10
"""Number of characters of a label such as "why:", including the spaces after the label."""
_READY, _WAITING = "█", "░"
_LONGEST_BAR: Final = 20
"""Maximum number of characters of a bar. A shorter bar has one character for each task."""
_GREEN, _YELLOW = 32, 33


def tree_lines(states: Sequence[RunState], now: datetime) -> list[str]:
    """Return the lines of the tree. For several runs, the tree omits the tasks of roles that are ready."""
    is_single = len(states) == 1
    lines = []
    for state in states:
        run = "" if is_single else f"{state.run.title}: "
        lines += [f"{line[:_LABEL]}{run}{line[_LABEL:]}" for line in reason_lines(state, now)]
    lines += [""] if lines else []
    for state in states:
        roles = [role for role in state.roles if role.tasks or state.phase not in ("Absent", "Disabled")]
        lines += [title(state, now), *_role_lines(roles, now, is_single=is_single)]
        if is_single and roles:
            lines += ["", *progress_lines(state), *note_lines(state)]
    return lines


def screen(lines: Iterable[str], columns: int, rows: int, *, colour: bool) -> str:
    """Join lines into a text that fits a terminal. If lines do not fit, the last line shows their number."""
    fitting = [part for line in lines for part in (_wrapped(line, columns) if len(line) > columns else [line])]
    room = max(rows - 1, 1)
    if len(fitting) > room:
        fitting = [*fitting[: room - 1], f"... and {count(len(fitting) - room + 1, 'more line')}"]
    return "".join(f"{_painted(line) if colour else line}\n" for line in fitting)


def _wrapped(line: str, columns: int) -> list[str]:
    """Split a long line into at most three lines. Indent the later lines by the width of a label such as "why:"."""
    indent = " " * _LABEL
    return textwrap.wrap(
        line, columns, subsequent_indent=indent, max_lines=3, placeholder=" ...", break_on_hyphens=False
    )


def _role_lines(roles: Sequence[RoleState], now: datetime, *, is_single: bool) -> Iterator[str]:
    bars = [_bar(role) for role in roles]
    names_width = max((len(role.role) for role in roles), default=0)
    bars_width = max(map(len, bars), default=0)
    tasks = [listed_tasks(role) if is_single else listed_tasks(role, 0) for role in roles]
    widths = _widths([task for of_role in tasks for task in of_role])
    for (branch, indent), role, bar, of_role in zip(_tree_prefixes(roles), roles, bars, tasks, strict=True):
        restarts = f"  {count(role.restarts, 'restart')}" if role.restarts else ""
        yield f"{branch}{role.role:<{names_width}}  {bar:<{bars_width}}  {role.ready}/{role.requested}{restarts}"
        for (task_branch, _), task in zip(_tree_prefixes(of_role), of_role, strict=True):
            yield f"{indent}{task_branch}{_task_text(task, widths, now)}".rstrip()


def _tree_prefixes(items: Sequence[object]) -> Iterator[tuple[str, str]]:
    """Yield two prefixes for each item of the tree: for the line of the item, and for the lines below.

    Example: ("├─ ", "│  "), and for the last item ("└─ ", "   ").
    """
    if items:
        yield from repeat(("├─ ", "│  "), len(items) - 1)
        yield "└─ ", "   "


def _bar(role: RoleState) -> str:
    """Return a bar that shows the share of ready tasks. The last character is full only if all tasks are ready."""
    size = min(role.requested, _LONGEST_BAR)
    ready = min(role.ready, role.requested) * size // max(role.requested, 1)
    return _READY * ready + _WAITING * (size - ready)


def _widths(tasks: Iterable[TaskState]) -> list[int]:
    rows = [_cells(task) for task in tasks]
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _cells(task: TaskState) -> tuple[str, str, str]:
    return task.task, task.word, task.node


def _task_text(task: TaskState, widths: Sequence[int], now: datetime) -> str:
    cells = [f"{cell:<{width}}" for cell, width in zip(_cells(task), widths, strict=True)]
    restarts = f"  {count(task.restarts, 'restart')}" if task.restarts else ""
    return f"{'  '.join(cells)}  {age(task.since, now)}{restarts}"


def _painted(line: str) -> str:
    for symbol, code in ((_READY, _GREEN), (_WAITING, _YELLOW)):
        line = re.sub(f"({symbol}+)", f"\033[{code}m\\1\033[0m", line)
    return line
