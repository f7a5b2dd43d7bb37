"""What a committed run cannot take over from a render of the same job: by a newer tfgen, or with other defaults.

    job.yaml:3:18: StatefulSet mnist-ps: spec.template.spec.enableServiceLinks was true and is false, since tfgen 0.1.0
    rendered the files, and this is tfgen 0.2.0: the pods of the StatefulSet mnist-ps would stay as they are; for a ...

`new_run` says what a change of the job does, rendered twice by this tfgen. Here the overlays that are committed are
read, and compared with those on disk, or with what is about to be written. What the job itself changes is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from tfgen.change.comparison import PairPlaces
from tfgen.change.field_diff import FieldChange, field_changes, in_words
from tfgen.change.immutable import NEW_RUN, Loss, find_losses
from tfgen.change.new_run import environments_at_work, way_out
from tfgen.errors import TfgenError
from tfgen.git import read as git
from tfgen.graph.built import plain_objects
from tfgen.job.facts import environments_of
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object
from tfgen.places import OVERLAYS
from tfgen.problems import Place, Problem, in_order
from tfgen.record import Record
from tfgen.targets.kustomize.build import build_objects, has_overlay
from tfgen.targets.render import input_digest
from tfgen.text.document import Document
from tfgen.tree.ledger import Ledger, ledger_path, parse_ledger
from tfgen.tree.output_folder import OutputFolder
from tfgen.tree.plan import FileAction, JobPlan, WritePlan
from tfgen.workers import map_items

_LONGEST: Final = 60
"""Characters of a value in a message."""

_Files = Mapping[str, str]
"""The text of each file in a job's folder of overlays/."""


class Rerendered(Record):
    """What the overlays change in committed runs. A note is about overlays that could not be compared."""

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def compare_overlays(pairs: Sequence[PairPlaces], plan: WritePlan, revision: str, *, is_written: bool) -> Rerendered:
    """Compare the overlays of jobs with those that are committed.

    Args:
        pairs: the jobs, which have no errors.
        plan: what a render of them would do.
        revision: where the others are.
        is_written: whether that render is about to be written. If not, it counts only for the jobs that changed since
            they were rendered; of the others the files on disk are compared.

    Raises:
        TfgenError: git or the disk fails.
    """
    planned = {
        plan.jobs[at].rendering.job: at
        for at, counts in enumerate(plan.jobs.counts)
        if counts.keys() - {FileAction.KEEP}
    }
    overlays_changed = {path.partition("/")[0] for path in git.changed(plan.out / OVERLAYS, revision)}
    concerned = planned.keys() | overlays_changed
    both = [pair for pair in pairs if pair.before and pair.after and pair.name in concerned]
    compare_job = partial(_compare_job, plan, revision, planned, overlays_changed, is_written=is_written)
    compared = [*map_items(compare_job, both)]
    return Rerendered(
        in_order(problem for one in compared for problem in one.problems),
        tuple(note for one in compared for note in one.notes),
    )


def _compare_job(
    plan: WritePlan,
    revision: str,
    planned: Mapping[str, int],
    overlays_changed: Collection[str],
    pair: PairPlaces,
    *,
    is_written: bool,
) -> Rerendered:
    """Compare one job.

    Args:
        plan: as `compare_overlays` has it.
        revision: as `compare_overlays` has it; not the pair's, which may be of the branch that the job itself is in.
        planned: the places in the plan of the jobs that it changes.
        overlays_changed: the names of the jobs whose overlays on disk are not as they are committed.
        pair: the job.
        is_written: as `compare_overlays` has it.
    """
    name = pair.name
    job = plan.jobs[planned[name]] if name in planned else None
    ledger = plan.ledgers.get(name)
    files: _Files | None = None
    if job and (is_written or not _is_as_rendered(job)) and _changes_overlays(job):
        ledger, files = job.target, _overlays_of(job.rendering.tree.files, name)
    both = pair.read()
    if not (both.before and both.after and ledger and (files or name in overlays_changed)):
        return Rerendered((), ())
    try:
        before = _committed_overlays(plan.out, name, revision)
        files = files or overlays_on_disk(plan.out, name, ledger)
        versions = _Versions(*before, files, ledger) if before and files else None
        return Rerendered(tuple(_problems_of_job(both.before, both.after, versions)) if versions else (), ())
    except TfgenError as error:
        return Rerendered((), (f"the overlays of {name} are not compared with those in {revision}: {error}",))


class _Versions(Record):
    """A job's overlays and ledger as they are committed, and as they are to be."""

    before: _Files
    before_ledger: Ledger
    after: _Files
    after_ledger: Ledger


def _is_as_rendered(job: JobPlan) -> bool:
    return job.before is not None and job.before.is_of_same_job(job.target)


def _changes_overlays(job: JobPlan) -> bool:
    below = f"{OVERLAYS}/{job.rendering.job}/"
    return any(change.path.startswith(below) and change.action is not FileAction.KEEP for change in job.changes)


# -- the files ---------------------------------------------------------------------------------------------------


def _overlays_of(files: _Files, name: str) -> dict[str, str]:
    folder = f"{OVERLAYS}/{name}/"
    return {path.removeprefix(folder): text for path, text in files.items() if path.startswith(folder)}


def _committed_overlays(out: Path, name: str, revision: str) -> tuple[_Files, Ledger] | None:
    """The overlays and the ledger; None where the job was not rendered by then."""
    path = out / ledger_path(name)
    ledger = git.committed(path, revision)
    if ledger is None:
        return None
    files = git.committed_below(out / OVERLAYS / name, revision)
    texts = {path: content.decode("utf-8", errors="replace") for path, content in files.items()}
    return texts, parse_ledger(name, ledger.decode("utf-8", errors="replace"))


def overlays_on_disk(out: Path, name: str, ledger: Ledger) -> _Files | None:
    """The overlays; None where one was edited by hand, which is a problem of its own."""
    paths = [path for path in ledger.files if path.startswith(f"{OVERLAYS}/{name}/")]
    with OutputFolder(out) as folder:
        on_disk = folder.survey(paths)
        if any(on_disk[path].digest != ledger.files[path] for path in paths):
            return None
        return _overlays_of({path: folder.read_text(path) for path in paths}, name)


# -- what is lost ------------------------------------------------------------------------------------------------


def _problems_of_job(before: Document, after: Document, versions: _Versions) -> Iterator[Problem]:
    """A problem for the job, and one for each environment that names its run itself, for each rule."""
    runs_itself = not environments_of(before)
    reported: set[tuple[str | None, str]] = set()
    for environment in (*((None,) if runs_itself else ()), *environments_at_work(before, after)):
        own = environment and "run" in after.data["spec"]["environments"][environment]
        for rule, loss in _losses(before, after, environment, versions).items():
            of = environment if own and rule == NEW_RUN else None
            if (of, rule) not in reported:
                reported.add((of, rule))
                message = f"{_field(loss)}, since {_cause(before, versions)}: {loss.why}; {way_out(after, of, rule)}"
                yield Problem(*_place(after, of), message, rule)


def _losses(before: Document, after: Document, environment: str | None, versions: _Versions) -> Mapping[str, Loss]:
    """The losses of an environment's committed objects, without those by the job's own change."""
    if not (has_overlay(versions.before, environment) and has_overlay(versions.after, environment)):
        return {}
    was, now = build_objects(versions.before, environment), build_objects(versions.after, environment)
    losses = find_losses(was, now)
    if _runs(was).isdisjoint(_runs(now)):
        losses.pop(NEW_RUN, None)
    if losses and before.data != after.data:
        both = (plain_objects(document.data, environment) for document in (before, after))
        for rule in find_losses(*both):
            losses.pop(rule, None)
    return losses


def _runs(objects: Sequence[Object]) -> set[str]:
    """The names of the runs that the pods belong to."""
    templates = (item["spec"].get("template") if "spec" in item else None for item in objects)
    all_labels = (
        template.get("metadata", {}).get("labels", {}) for template in templates if isinstance(template, Mapping)
    )
    return {labels[keys.RUN] for labels in all_labels if keys.RUN in labels}


# -- how it is said ----------------------------------------------------------------------------------------------


def _place(document: Document, environment: str | None) -> Place:
    return document.place(("metadata", "name") if environment is None else ("spec", "environments", environment))


def _field(loss: Loss) -> str:
    """The object, and the first of its fields that counts."""
    item = loss.after or loss.before or {}
    title = f"{item['kind']} {item['metadata']['name']}"
    if loss.before is None or loss.after is None:
        return f"{title} is {'new' if loss.before is None else 'gone'}"
    changes = field_changes(loss.before, loss.after)
    first = min(changes, key=_weight)
    return f"{title}: {first.path} {in_words(first.before, first.after, _LONGEST)}"


def _weight(change: FieldChange) -> int:
    """Labels of the object itself may change; of a Job, so may what is beside its template. A hash says the least."""
    steps = change.path.steps
    if keys.POD_TEMPLATE_HASH in steps:
        return 3
    return 2 if steps[0] in ("metadata", "apiVersion", "kind") else 0 if "template" in steps else 1


def _cause(before: Document, versions: _Versions) -> str:
    if versions.before_ledger.input_digest != input_digest(before):
        return "what is committed was rendered from another job"
    causes = versions.before_ledger.causes_of_change(versions.after_ledger)
    return " and ".join(causes) or "another build of this tfgen rendered it"
