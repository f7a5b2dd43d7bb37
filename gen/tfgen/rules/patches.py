"""Patches that find nothing to change, or change what tfgen or another key of the job says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.graph.fill import Scope
from tfgen.graph.graph import patched
from tfgen.graph.patches import likely, target_path
from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View
from tfgen.rules.wrong_shape import has_objects, misfits_of_patches

_TARGET: Final = "target"


def _check_targets(view: View) -> Iterator[Finding]:
    if not _has_patches(view):
        return
    result = patched(view.job.structure)
    yield from (Finding(fault.path, fault.message) for fault in result.faults if fault.path[2] == _TARGET)
    scopes = [Scope(values, release=view.job.name, chart=view.job.name) for values in view.all_values]
    for patch, template in ((entry.patch, entry.template) for entry in result.entries):
        names = [*dict.fromkeys(name for scope in scopes for name, _ in template.objects(scope))]
        if patch.target not in names:
            message = f"the job has no {patch.kind} {patch.target}{likely(patch.target, names)}"
            yield Finding((*target_path(patch), "name"), message)


def _check_fields(view: View) -> Iterator[Finding]:
    """What is no pod at all, the rules of its shape say."""
    if not _has_patches(view):
        return
    misfits = [misfit.path for misfit in misfits_of_patches(view)]
    for fault in patched(view.job.structure).faults:
        if fault.path[2] != _TARGET and not any(path[: len(fault.path)] == fault.path for path in misfits):
            yield Finding(fault.path, fault.message)


def _has_patches(view: View) -> bool:
    return view.environment is None and bool(view.job.structure.patches) and has_objects(view)


RULES: Final = (
    Rule("patch-field", "error", "A patch changes what tfgen, or another key of the job, says.", _check_fields),
    Rule("patch-target", "error", "A patch is for an object that the job does not have.", _check_targets),
)
