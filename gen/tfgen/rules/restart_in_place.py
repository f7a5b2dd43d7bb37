"""Jobs with `restart.inPlace` that list no exit code for a restart in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.schema import workload_kinds as kinds

_KEY: Final = ("restart", "inPlace")


def _check(view: View) -> Iterator[Finding]:
    is_supported = all(lack.path != ".".join(_KEY) for lack in kinds.unsupported_keys(view.spec))
    if view.job.structure.in_place and is_supported and not view.values["restart"]["ignoreExitCodes"]:
        message = (
            "restart.inPlace has no effect, because restart.ignoreExitCodes lists no exit code; list the exit codes "
            "after which a task starts again in its pod"
        )
        yield Finding(_KEY, message)


RULES: Final = (
    Rule(
        "restart-in-place",
        "warning",
        "The job sets `restart.inPlace`, but lists no exit code for a restart in place.",
        _check,
    ),
)
