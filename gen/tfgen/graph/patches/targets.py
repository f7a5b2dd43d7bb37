"""Functions that find the templates whose objects a patch changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tfgen.data_path import Path
from tfgen.graph.holes import (
    ForEach,
    Let,
    Node,
    When,
)
from tfgen.graph.objects.literal import LITERAL
from tfgen.graph.patches.field import Fault
from tfgen.graph.template import Template
from tfgen.job.training_job import Patch
from tfgen.record import Record
from tfgen.words import either, meant, nearest

_MAX_NAMES: Final = 12
"""Maximum number of names that a message lists."""


class EntryPatch(Record):
    """A patch for a single object of a template that renders an object for each map entry.

    For example, the target of the patch is `claim-model`, the claim of the volume `model`.

    Attributes:
        template: the template, such as the template of all claims.
    """

    patch: Patch
    template: Template


def is_target(template: Template, patch: Patch) -> bool:
    """Return whether a patch changes objects of a template."""
    if template.chart_only or patch.kind not in _kinds(template.node):
        return False
    return patch.target in ("", template.name) or entry_of(template, patch) is not None


def entry_of(template: Template, patch: Patch) -> str | None:
    """Return the key of the map entry that is the target of a patch, such as "model" for the target `claim-model`.

    Return None if the target is the whole template.
    """
    prefix = f"{template.name}-"
    is_entry = isinstance(template.node, ForEach) and patch.target.startswith(prefix)
    return patch.target.removeprefix(prefix) if is_entry else None


def _kinds(node: Node) -> Iterator[str]:
    """Yield the kinds of the objects of a template, except for objects under `objects` of the job."""
    match node:
        case Let(body=body) | ForEach(body=body):
            yield from _kinds(body)
        case When(_, if_true, if_false):
            yield from _kinds(if_true)
            yield from _kinds(if_false)
        case dict() if isinstance(kind := node["kind"], str):
            yield kind


def missing_target(templates: Sequence[Template], patch: Patch) -> Fault:
    """Return the fault for a patch whose target does not exist."""
    path = target_path(patch)
    if patch.target.startswith(f"{LITERAL}-"):
        name = patch.target.removeprefix(f"{LITERAL}-")
        return Fault(
            (*path, "name"), f"{patch.target} is an object of the job file; change the object in objects.{name}", True
        )
    targets = [(kind, t.name) for t in templates if not t.chart_only for kind in dict.fromkeys(_kinds(t.node))]
    candidates = [name for kind, name in targets if kind == patch.kind]
    if candidates:
        return Fault(
            (*path, "name"), f"the job has no {patch.kind} {patch.target}{name_hint(patch.target, candidates)}", True
        )
    kinds = [*dict.fromkeys(kind for kind, _ in targets)]
    target_kind = next((kind for kind, name in targets if name == patch.target), None)
    hint = f"; {patch.target} is a {target_kind}" if target_kind else name_hint(patch.kind, kinds)
    return Fault((*path, "kind"), f"the job has no {patch.kind}{hint}", has_no_target=True)


def target_path(patch: Patch) -> Path:
    """Return the path of a patch's `target` in the spec of the job."""
    return ("patches", patch.name, "target")


def name_hint(name: str, names: Sequence[str]) -> str:
    """Return a hint for an unknown name: `; did you mean "worker"?`, or `; choose ...` with the existing names."""
    if not names:
        return ""
    omitted = len(names) - _MAX_NAMES
    listed = either(names) if omitted <= 0 else f"{', '.join(names[:_MAX_NAMES])} or one of {omitted} more"
    return meant(nearest(name, names)) or f"; choose {listed}"
