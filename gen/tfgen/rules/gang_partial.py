"""Gangs that start although the cluster cannot run all tasks of the gang at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.graph.schedulers.gang import member_count
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View


def _check(view: View) -> Iterator[Finding]:
    gang = view.values.get("gang")
    # Equal workers need every worker, so the guard gang-all-workers reports an error.
    if gang is None or not gang["enabled"] or view.job.structure.has_equal_workers:
        return
    min_available, task_count = gang["minAvailable"], view.evaluate(member_count(view.job.structure))
    if 0 < min_available < task_count:
        message = (
            f"gang.minAvailable is {min_available}, but TensorFlow waits for all {task_count} tasks, so the first "
            "tasks would occupy GPUs without training; write 0, which means all tasks"
        )
        yield Finding(("gang", "minAvailable"), message)


RULES: Final = (
    Rule(
        "gang-partial", "warning", "A gang starts before the cluster has enough free resources for all tasks.", _check
    ),
)
