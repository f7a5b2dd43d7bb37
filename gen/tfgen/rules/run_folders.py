"""Runs and the folders that they write to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.graph.objects.storage import WRITABLE
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View


def _check(view: View) -> Iterator[Finding]:
    ends = view.job.structure.ends
    for name, volume in view.values["storage"].items():
        if "runs" not in volume:
            continue
        if volume.get("readOnly") or not any(source in volume for source in WRITABLE):
            yield Finding(
                ("storage", name, "runs"),
                f"storage.{name} has runs, but is none that a task writes to and a later run reads",
            )
        elif ends not in volume.get("for", [ends]):
            yield Finding(
                ("storage", name, "runs"),
                f"storage.{name} has runs, but is not for {ends}, which holds the lock on it; add {ends}",
            )


RULES: Final = (Rule("volume-runs", "error", "Runs are to take turns on a volume that cannot be locked.", _check),)
