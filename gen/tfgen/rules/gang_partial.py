"""A gang that starts before all of its tasks can."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.graph.schedulers.gang import member_count
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View


def _check(view: View) -> Iterator[Finding]:
    gang = view.values.get("gang")
    # Where every worker is needed, it is an error: the guard gang-all-workers.
    if gang is None or not gang["enabled"] or view.job.structure.strategy == "MultiWorkerMirrored":
        return
    wanted, all_ = gang["minAvailable"], view.evaluate(member_count(view.job.structure))
    if 0 < wanted < all_:
        message = (
            f"gang.minAvailable is {wanted}, but TensorFlow waits for all {all_} tasks: the first would hold their "
            "GPUs, and wait for the rest; 0 means all of them"
        )
        yield Finding(("gang", "minAvailable"), message)


RULES: Final = (Rule("gang-partial", "warning", "A gang starts before all of its tasks can.", _check),)
