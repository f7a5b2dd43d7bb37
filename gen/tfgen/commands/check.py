"""All that `tfgen check` looks at, and that `tfgen commit` refuses to pass over.

    full_check(check_all(sources), against="HEAD", out=Path("."))  ->  Report(problems=..., notes=..., ...)

Last come the jobs that are no more.

After the job itself (`check`) come its objects, its files, and what is committed of it. A job that has errors is not
looked at any further: its objects and files would only be wrong in their turn.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial
from pathlib import Path

from tfgen.change.comparison import Comparison, compare
from tfgen.change.rerendered import compare_overlays
from tfgen.check.admission.folder import PolicyFolders, folder_paths, read_policy_folders
from tfgen.check.files import FileComparison, compare_files
from tfgen.check.jobs import Checked
from tfgen.check.manifests import Manifest, read_manifests
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.check.severities import Weighed, find_unused, weigh
from tfgen.commands.orphans import find_orphans
from tfgen.commands.sums import find_sums
from tfgen.commands.workers import map_items
from tfgen.git import read as git
from tfgen.graph.built import build
from tfgen.job.facts import name_of, rendered_branch
from tfgen.job.sources import no_job_below
from tfgen.problems import Problem, in_order
from tfgen.real_path import real_path
from tfgen.record import Record
from tfgen.targets.render import render_document
from tfgen.text.document import Document
from tfgen.tree.ledger import ledger_path
from tfgen.tree.rendering import Rendering
from tfgen.tree.write import plan_write, read_ledgers


class Report(Record):
    """What came of it.

    Attributes:
        problems: in order.
        notes: what is no problem and worth knowing: what was not looked at, and what would change one day.
        compared: how many jobs were compared with what is committed.
        renderings: of the jobs without errors.
    """

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    compared: int
    renderings: tuple[Rendering, ...]


def full_check(
    checked: Checked,
    *,
    against: str,
    out: Path,
    paths: Sequence[Path] = (),
    is_written: bool = False,
    is_quick: bool = False,
    kubernetes_version: str | None = None,
) -> Report:
    """Check jobs, the objects and the files that come of them, and what has changed.

    Args:
        checked: the jobs.
        against: the revision that is compared with.
        out: the output folder.
        paths: the files and folders that the jobs are in, of which the jobs that are gone are looked for; none where
            the caller takes away what was rendered of those.
        is_written: whether the files are about to be written anyway, so that those on disk are no matter.
        is_quick: whether a job is passed over, but for the checks above, where its file, its defaults and what was
            rendered of it are as they are committed.
        kubernetes_version: whose schemas the objects are held against; none where it is None.

    Raises:
        UsageError: there is no such revision, or no schemas of that version; or no job in the paths, nor one gone.
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    ObjectSchemas(kubernetes_version)  # so that an error is raised before all the work
    whole = checked.whole
    compared = compare(checked, against)
    if is_quick:
        whole = _changed_jobs(whole, compared, out, against)
    ledgers = read_ledgers(out)
    orphans = tuple(find_orphans(checked, paths, out, ledgers))
    if paths and not (checked.sources or orphans):
        raise no_job_below(paths)
    rendered = {path for ledger in ledgers.values() for path in ledger.files}
    manifests = read_manifests(out, rendered) if whole else ()
    policies = read_policy_folders(whole)
    results = map_items(partial(_check_job, kubernetes_version, manifests, policies), whole)
    renderings = tuple(result.rendering for result in results)
    problems = [*checked.problems, *compared.problems, *orphans]
    problems += (problem for result in results for problem in result.weighed.problems)
    ignored = (*checked.ignored, *(problem for result in results for problem in result.weighed.ignored))
    problems += (
        problem for document in whole for problem in weigh(document, find_unused((document,), ignored)).problems
    )
    notes = [*compared.notes]
    problems += find_sums(checked)
    if unknown := sorted({kind for result in results for kind in result.unknown}):
        notes.append(f"no schemas for {', '.join(unknown)}, so such objects are not held against one")
    beside = [(doc, r) for doc, r in zip(whole, renderings, strict=True) if not rendered_branch(doc)]
    if beside:
        documents, rendered_beside = zip(*beside, strict=True)
        plan = plan_write(out, rendered_beside, upgrade=not is_written)
        again = compare_overlays(compared.pairs, plan, against, is_written=is_written)
        files = FileComparison((), ()) if is_written else compare_files(documents, plan)
        problems += (*again.problems, *files.problems)
        notes += (*again.notes, *files.notes)
    return Report(in_order(problems), tuple(notes), len(compared.pairs), renderings)


def _changed_jobs(documents: Sequence[Document], compared: Comparison, out: Path, against: str) -> tuple[Document, ...]:
    """The jobs of which a file or a policy differs from the committed one, and those that were never rendered."""
    ledgers = read_ledgers(out)
    paths = git.changed(out, against)
    same = {pair.name for pair in compared.pairs if pair.before is pair.after}
    untouched = {job for job in same & ledgers.keys() if paths.isdisjoint({ledger_path(job), *ledgers[job].files})}
    changed = {real_path(out / path) for path in paths}
    return tuple(
        document
        for document in documents
        if name_of(document) not in untouched or _has_other_policies(document, changed)
    )


def _has_other_policies(document: Document, changed: Set[Path]) -> bool:
    folders = [real_path(folder) for folder in folder_paths(document)]
    return any(path.is_relative_to(folder) for folder in folders for path in changed)


class _CheckedJob(Record):
    """One job: what is wrong with its objects, the kinds that no schema is known of, and its files."""

    weighed: Weighed
    unknown: frozenset[str]
    rendering: Rendering


def _check_job(
    kubernetes_version: str | None, manifests: tuple[Manifest, ...], policies: PolicyFolders, document: Document
) -> _CheckedJob:
    schemas = ObjectSchemas(kubernetes_version)
    built = build(document.data)
    problems = check_objects(document, built, schemas, manifests, policies)
    items = [item for objects in (built.base, *built.environments.values()) for item in objects.values()]
    return _CheckedJob(weigh(document, problems), schemas.unknown(items), render_document(document, built))
