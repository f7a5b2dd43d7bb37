"""Check for changes of rendered files that need a new run, and whose cause is a newer tfgen or a changed layer.

    job.yaml:3:18: StatefulSet mnist-ps: spec.template.spec.enableServiceLinks was true and is false, because the
    version of tfgen changed from 0.1.0 to 0.2.0: the pods of the StatefulSet mnist-ps would stay unchanged; for a ...

This module compares the committed overlays with the overlays on disk, or with the overlays that tfgen is about to
write. The result does not include the changes of the job itself, because the module `new_run` reports these changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from tfgen.change.committed import FindNames, jobs_with_changed_overlays
from tfgen.change.comparison import FindCached, PairPlaces
from tfgen.change.field_diff import FieldChange, field_changes, in_words
from tfgen.change.new_run import NEW_RUN, ForbiddenChange, advice, environments_enabled_in_both, find_forbidden_changes
from tfgen.check.checked import read_cached_files
from tfgen.errors import Problem, TfgenError, in_order
from tfgen.git.tree import CommitTree, Tree
from tfgen.graph.graph import plain_objects
from tfgen.job.facts import environments_of, own_data
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object
from tfgen.places import OVERLAYS
from tfgen.record import Record
from tfgen.targets.kustomize.overlays import build_objects, has_overlay
from tfgen.targets.render import input_digest
from tfgen.text.document import Document
from tfgen.tree.files import digest_of
from tfgen.tree.folder import open_tree
from tfgen.tree.ledger import Ledger, ledger_path, parse_ledger
from tfgen.tree.plan import FileAction, PlannedJob, WritePlan
from tfgen.workers import map_items

_LONGEST: Final = 60
"""Maximum number of characters of a value in a message."""

_Files = Mapping[str, str]
"""The text of each file in a job's folder below overlays/, by path. Example of a path: prod/kustomization.yaml."""


class Rerendered(Record):
    """The result of a comparison of overlays with the committed overlays.

    Attributes:
        problems: changes that need a new run.
        notes: messages about overlays that could not be compared, with the reason.
    """

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def compare_overlays(
    pairs: Sequence[PairPlaces],
    plan: WritePlan,
    revision: str,
    *,
    is_written: bool,
    find_changed: FindNames,
    find_cached: FindCached = read_cached_files,
) -> Rerendered:
    """Compare the overlays of jobs with the committed overlays.

    Args:
        pairs: jobs without errors.
        plan: plan of a render of the jobs.
        revision: revision of the committed overlays.
        is_written: True to compare the overlays that tfgen is about to write. False to compare the overlays on disk for
            each job that is unchanged since its last render.
        find_changed: function that returns the rendered files that differ from the revision.
        find_cached: function that takes committed job files, and returns the cached check results by file name.

    Raises:
        TfgenError: git or the disk fails.
    """
    planned = {job.name: job for job in plan.jobs if job.counts.keys() - {FileAction.KEEP}}
    overlays_changed = jobs_with_changed_overlays(find_changed())
    names = planned.keys() | overlays_changed
    changed_pairs = [pair for pair in pairs if pair.before and pair.after and pair.name in names]
    sources = [pair.before.source for pair in changed_pairs if pair.before]
    rendered = {job: digest for file in find_cached(sources).values() for job, digest in file.ledgers.items()}
    compare_job = partial(_compare_job, plan, revision, planned, overlays_changed, rendered, is_written=is_written)
    compared = [*map_items(compare_job, changed_pairs)]
    return Rerendered(
        in_order(problem for result in compared for problem in result.problems),
        tuple(note for result in compared for note in result.notes),
    )


def _compare_job(
    plan: WritePlan,
    revision: str,
    planned: Mapping[str, PlannedJob],
    overlays_changed: Collection[str],
    rendered: Mapping[str, str],
    pair: PairPlaces,
    *,
    is_written: bool,
) -> Rerendered:
    """Compare the overlays of a job.

    Args:
        plan: as in `compare_overlays`.
        revision: revision of the committed overlays. For a job with `gitops.rendered`, the overlays are in a different
            branch than the job file, so `pair.revision` may be a different revision.
        planned: each job whose files the render would change, by name.
        overlays_changed: names of the jobs whose overlays on disk differ from the committed overlays.
        rendered: digest of the ledger that the running tfgen would write for the committed version of a job, by job
            name. The mapping contains only the jobs in the cache.
        pair: locations of the versions of the job.
        is_written: as in `compare_overlays`.
    """
    name = pair.name
    files: _Files | None = None
    ledger = plan.ledgers.get(name)
    if job := planned[name].plan if name in planned else None:
        is_as_rendered = job.before is not None and job.before.is_of_same_job(job.target)
        folder = f"{OVERLAYS}/{name}/"
        if (is_written or not is_as_rendered) and any(
            change.path.startswith(folder) and change.action is not FileAction.KEEP for change in job.changes
        ):
            ledger, files = job.target, _overlays_of(job.rendering.tree.files, name)
    if not (ledger and (files or name in overlays_changed)):
        return Rerendered((), ())
    versions_of_job = pair.read()
    old, new = versions_of_job.before, versions_of_job.after
    if not (old and new):
        return Rerendered((), ())
    try:
        before = _committed_overlays(plan.out, name, revision)
        if before and files and rendered.get(name) == digest_of(before[1].to_text()):
            digests = {path: digest_of(text) for path, text in before[0].items()}
            if _overlays_of(before[1].files, name) == digests:
                # The running tfgen would render the committed job to exactly the committed overlays, so only the job
                # itself causes the changes, and `new_run` reports these changes.
                return Rerendered((), ())
        files = files or present_overlays(plan.out, plan.request.tree, name, ledger)
        versions = _Versions(*before, files, ledger) if before and files else None
        return Rerendered(tuple(_problems_of_job(old, new, versions)) if versions else (), ())
    except TfgenError as error:
        return Rerendered((), (f"tfgen cannot compare the overlays of {name} with {revision}: {error}",))


class _Versions(Record):
    """A job's overlays and ledger in the committed version and in the new version."""

    before: _Files
    before_ledger: Ledger
    after: _Files
    after_ledger: Ledger


# -- the files ---------------------------------------------------------------------------------------------------


def _overlays_of(files: _Files, name: str) -> dict[str, str]:
    folder = f"{OVERLAYS}/{name}/"
    return {path.removeprefix(folder): text for path, text in files.items() if path.startswith(folder)}


def _committed_overlays(out: Path, name: str, revision: str) -> tuple[_Files, Ledger] | None:
    """Return the committed overlays and the committed ledger of a job; None if the commit has no ledger of the job."""
    tree = CommitTree(revision)
    ledger = tree.read(out / ledger_path(name))
    if ledger is None:
        return None
    folder = out / OVERLAYS / name
    contents = tree.read_all(folder / path for path in tree.files_below(folder))
    texts = {
        path.relative_to(folder).as_posix(): content.decode("utf-8", errors="replace")
        for path, content in contents.items()
    }
    return texts, parse_ledger(name, ledger.decode("utf-8", errors="replace"))


def present_overlays(out: Path, tree: Tree, name: str, ledger: Ledger) -> _Files | None:
    """Return the overlays in a tree; None if a file was edited by hand, which `tfgen check` reports separately."""
    paths = [path for path in ledger.files if path.startswith(f"{OVERLAYS}/{name}/")]
    with open_tree(out, tree) as folder:
        on_disk = folder.states(paths)
        if any(on_disk[path].digest != ledger.files[path] for path in paths):
            return None
        return _overlays_of({path: folder.read_text(path) for path in paths}, name)


# -- forbidden changes -------------------------------------------------------------------------------------------


def _problems_of_job(before: Document, after: Document, versions: _Versions) -> Iterator[Problem]:
    """Yield a problem for each rule that the overlays of a job break.

    For most rules, yield only the first problem. For the rule `new-run`, also yield the first problem of each
    environment that sets the key `run`, because such an environment needs a separate new run.
    """
    runs_itself = not environments_of(before)
    reported: set[tuple[str | None, str]] = set()
    for environment in (*((None,) if runs_itself else ()), *environments_enabled_in_both(before, after)):
        names_run = environment and "run" in after.data["spec"]["environments"][environment]
        for rule, change in _forbidden_changes(before, after, environment, versions).items():
            target = environment if names_run and rule == NEW_RUN else None
            if (target, rule) not in reported:
                reported.add((target, rule))
                if versions.before_ledger.input_digest != input_digest(before):
                    cause = "the committed files were rendered from a different version of the job"
                else:
                    causes = versions.before_ledger.causes_of_change(versions.after_ledger)
                    cause = " and ".join(causes) or "a different build of the same tfgen version rendered the files"
                message = f"{_field(change)}, because {cause}: {change.effect}; {advice(after, target, rule)}"
                path = ("metadata", "name") if target is None else ("spec", "environments", target)
                yield Problem(*after.place(path), message, rule)


def _forbidden_changes(
    before: Document, after: Document, environment: str | None, versions: _Versions
) -> Mapping[str, ForbiddenChange]:
    """Return the forbidden change for each rule that the overlay of an environment breaks, by rule id.

    Omit the rules that the changes of the job itself break, because the module `new_run` reports these rules.
    """
    if not (has_overlay(versions.before, environment) and has_overlay(versions.after, environment)):
        return {}
    was, now = build_objects(versions.before, environment), build_objects(versions.after, environment)
    forbidden = find_forbidden_changes(was, now)
    if _runs(was).isdisjoint(_runs(now)):
        forbidden.pop(NEW_RUN, None)
    if forbidden and own_data(before) != own_data(after):
        for rule in find_forbidden_changes(
            *(plain_objects(document.data, environment) for document in (before, after))
        ):
            forbidden.pop(rule, None)
    return forbidden


def _runs(objects: Sequence[Object]) -> set[str]:
    """Return the names of the runs in the labels of the pod templates of `objects`."""
    templates = (item["spec"].get("template") if "spec" in item else None for item in objects)
    all_labels = (
        template.get("metadata", {}).get("labels", {}) for template in templates if isinstance(template, Mapping)
    )
    return {labels[keys.RUN] for labels in all_labels if keys.RUN in labels}


# -- words of a problem ------------------------------------------------------------------------------------------


def _field(change: ForbiddenChange) -> str:
    """Describe an object and its most important changed field for a message."""
    item = change.after or change.before or {}
    title = f"{item['kind']} {item['metadata']['name']}"
    if change.before is None or change.after is None:
        return f"{title} {'is new' if change.before is None else 'was removed'}"
    changes = field_changes(change.before, change.after)
    first = min(changes, key=_rank)
    return f"{title}: {first.path} {in_words(first.before, first.after, _LONGEST)}"


def _rank(change: FieldChange) -> int:
    """Return the rank of a changed field. A message names the changed field with the lowest rank."""
    steps = change.path.steps
    if keys.POD_TEMPLATE_HASH in steps:
        return 3
    return 2 if steps[0] in ("metadata", "apiVersion", "kind") else 0 if "template" in steps else 1
