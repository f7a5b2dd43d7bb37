"""Objects of a job that have the same kind and name as a different object of the job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.data_path import Path
from tfgen.graph.identities import identities
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.shared_object import rank_cause
from tfgen.rules.view import View
from tfgen.rules.wrong_shape import has_objects

_CURES: Final = {
    "objects": "choose a different metadata.name",
    "priorityClasses": "rename the class",
    "serviceAccountName": "choose a different serviceAccountName",
    "storage": "rename the volume",
}
"""The advice of a message, by the first key of the path that causes the name."""


def _check(view: View) -> Iterator[Finding]:
    if not has_objects(view):
        return
    owner_by_key: dict[tuple[str, str, str], str] = {}
    # The names that the job chooses come last, because the job can change these names.
    for item in sorted(identities(view.job.structure, view.scope), key=lambda item: rank_cause(item.cause)):
        key = (item.group, item.kind, item.name)
        if key in owner_by_key and item.cause == ("run",):
            continue  # The guard `tensorboard-name` reports a run whose objects have the names of TensorBoard.
        if key in owner_by_key:
            path: Path = (*item.cause, "metadata", "name") if item.cause[:1] == ("objects",) else item.cause
            cure = _CURES[str(path[0])] if path else "rename the job"
            message = f"the {item.kind} {item.name} has the same kind and name as {owner_by_key[key]}; {cure}"
            yield Finding(path, message)
        else:
            is_entry = len(item.cause) > 1
            owner_by_key[key] = ".".join(map(str, item.cause)) if is_entry else "an object that tfgen creates"


RULES: Final = (Rule("object-name", "error", "Two objects of a job have the same kind and name.", _check),)
