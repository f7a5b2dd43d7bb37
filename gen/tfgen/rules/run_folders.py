"""Volumes that have a folder for each run (`runs`), although no task can lock the volume."""

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
                f"storage.{name} has runs, but a task cannot write to the volume; remove runs, or use a writable "
                "volume",
            )
        elif ends not in volume.get("for", [ends]):
            yield Finding(
                ("storage", name, "runs"),
                f"storage.{name} has runs, but {ends}, which locks the volume, does not mount the volume; add {ends} "
                f"to storage.{name}.for",
            )


RULES: Final = (Rule("volume-runs", "error", "A volume sets `runs`, but no task can lock the volume.", _check),)
