"""Prints the step times of tasks as a table and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfgen.commands.profile import TaskProfile
from tfgen.text.columns import columns


def as_table(profiles: Sequence[TaskProfile]) -> str:
    """Return a table of step times, with a line for each task."""
    lines = [["TASK", "STEPS", "STEP", "ACTIVE", ""]]
    for item in profiles:
        times = item.steps
        cells = [str(times.steps), f"{times.step_ms:.1f} ms", f"{times.active_ms:.1f} ms"] if times else ["0", "", ""]
        lines.append([item.task, *cells, "slowest" if item.is_slowest else ""])
    return columns(lines)


def rows(profiles: Sequence[TaskProfile]) -> list[dict[str, Any]]:
    """Return the step times as plain data for JSON."""
    return [
        {
            "task": item.task,
            "steps": item.steps.steps if item.steps else 0,
            "stepMs": round(item.steps.step_ms, 3) if item.steps else None,
            "activeMs": round(item.steps.active_ms, 3) if item.steps else None,
            "slowest": item.is_slowest,
        }
        for item in profiles
    ]
