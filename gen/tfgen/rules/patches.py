"""Patches of objects that the job does not have, and patches of fields that tfgen or a key of the job controls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeVar

from tfgen.graph.fill import Scope
from tfgen.graph.graph import patched_graph
from tfgen.graph.patches.field import Fault
from tfgen.graph.patches.targets import name_hint, target_path
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.rules.wrong_shape import has_objects, misfits_of_patches

_Item = TypeVar("_Item")


def _check_targets(view: View) -> Iterator[Finding]:
    if not _has_patches(view):
        return
    yield from (Finding(fault.path, fault.message) for fault in _faults(view) if fault.has_no_target)
    entries = patched_graph(view.job.structure).entry_patches
    variants = view.all_values if view.environment is None else (view.values,)
    scopes = [Scope(values, release=view.job.name, chart=view.job.name) for values in variants]
    for patch, template in ((entry.patch, entry.template) for entry in _items_of_variant(view, entries)):
        names = [*dict.fromkeys(name for scope in scopes for name, _ in template.objects(scope))]
        if patch.target not in names:
            message = f"the job has no {patch.kind} {patch.target}{name_hint(patch.target, names)}"
            yield Finding((*target_path(patch), "name"), message)


def _check_fields(view: View) -> Iterator[Finding]:
    """Report the fields that a patch may not change. Skip a patch that the rule wrong-shape reports."""
    if not _has_patches(view):
        return
    misfits = [misfit.path for misfit in misfits_of_patches(view)]
    for fault in _faults(view):
        if not fault.has_no_target and not any(path[: len(fault.path)] == fault.path for path in misfits):
            yield Finding(fault.path, fault.message)


def _has_patches(view: View) -> bool:
    return bool(view.patches) and has_objects(view)


def _faults(view: View) -> Sequence[Fault]:
    """Return the faults in the patches of this variant.

    If the patches that the environment itself sets have faults, return only the faults in these patches.
    """
    faults = _items_of_variant(view, patched_graph(view.job.structure).faults)
    return [fault for fault in faults if fault.path[1] in view.variant_data.get("patches", {})] or faults


def _items_of_variant(view: View, by_environment: Mapping[str, Sequence[_Item]]) -> Sequence[_Item]:
    """Return the faults or patches in `by_environment` that belong to this variant.

    The mapping `by_environment` has a list for each environment, and a list for the job itself with the key "". For an
    environment, omit the items that are also in the list of the job.
    """
    if view.environment is None:
        return by_environment[""]
    return [item for item in by_environment.get(view.environment, ()) if item not in by_environment[""]]


RULES: Final = (
    Rule("patch-field", "error", "A patch changes a field that tfgen, or a key of the job, controls.", _check_fields),
    Rule("patch-target", "error", "A patch targets an object that the job does not have.", _check_targets),
)
