"""Check the committed overlays of jobs against their guard rails.

The check is for jobs that keep their committed files, although the version of tfgen or the defaults have changed. The
clusters run the committed objects of such a job, so a check of newly rendered objects would prove nothing about the
clusters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from tfgen.change.rerendered import present_overlays
from tfgen.check.objects import check_guard_rails
from tfgen.check.severities import set_severities
from tfgen.errors import Problem, TfgenError
from tfgen.git.tree import Tree
from tfgen.graph.built import BuiltJob, Objects, build
from tfgen.job.facts import name_of
from tfgen.kubernetes.object import Object, identity
from tfgen.places import OVERLAYS
from tfgen.rails.limits import JobUse, has_limited_sums, uses
from tfgen.record import Record
from tfgen.targets.kustomize.build import build_objects, has_overlay
from tfgen.text.document import Document
from tfgen.tree.ledger import Ledger
from tfgen.workers import map_items


class CommittedObjects(Record):
    """The result of `check_committed`.

    Attributes:
        problems: a problem for each guard rail that a committed object breaks.
        uses: the resources that the committed objects request, for each job whose tfgen.yaml limits the sum of several
            jobs.
        notes: a message for each job whose overlays could not be read, with the reason.
    """

    problems: tuple[Problem, ...] = ()
    uses: tuple[JobUse, ...] = ()
    notes: tuple[str, ...] = ()


_GUARD_RAILS: Final = ("limits", "enforce")
"""The keys of a tfgen.yaml whose guard rails apply to objects."""


def has_guard_rails(defaults: Document) -> bool:
    """Return True if a tfgen.yaml, or a tfgen.yaml in a parent folder, has guard rails for objects."""
    return any(layer.data.get(key) for layer in defaults.layers() for key in _GUARD_RAILS)


def check_committed(
    out: Path, tree: Tree, ledgers: Mapping[str, Ledger], documents: Sequence[Document]
) -> CommittedObjects:
    """Check the committed overlays of jobs against the guard rails in their tfgen.yaml files.

    Args:
        out: the output folder.
        tree: the version of the overlays.
        ledgers: the ledgers of the jobs.
        documents: the jobs.
    """
    checked = [*map_items(partial(_check, out, tree, ledgers), documents)]
    return CommittedObjects(
        tuple(problem for result in checked for problem in result.problems),
        tuple(use for result in checked for use in result.uses),
        tuple(note for result in checked for note in result.notes),
    )


def _check(out: Path, tree: Tree, ledgers: Mapping[str, Ledger], document: Document) -> CommittedObjects:
    name = name_of(document)
    try:
        files = present_overlays(out, tree, name, ledgers[name])
        objects = _built(document, files) if files else None
    except TfgenError as error:
        return CommittedObjects(
            notes=(f"tfgen did not validate the overlays of {name} against the guard rails: {error}",)
        )
    if objects is None:
        return CommittedObjects()
    reported = set_severities(document, check_guard_rails(document, objects))
    return CommittedObjects(
        tuple(
            problem.replaced(message=f"{problem.message}; the value is in the committed files of {OVERLAYS}/{name}")
            for problem in reported.problems
        ),
        uses(objects) if has_limited_sums(document) else (),
    )


def _built(document: Document, files: Mapping[str, str]) -> BuiltJob | None:
    """Build a job with the objects of its committed overlays; None for a job without overlays."""
    if not has_overlay(files, None):
        return None
    fresh = build(document.data)
    environments = {name: build_objects(files, name) for name in fresh.environments if has_overlay(files, name)}
    return fresh.replaced(
        base=_by_name(build_objects(files)),
        environments={name: _by_name(items) for name, items in environments.items()},
    )


def _by_name(items: Sequence[Object]) -> Objects:
    return {" ".join(identity(item)): item for item in items}
