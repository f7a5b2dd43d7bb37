"""All that `tfgen check` looks at in jobs that have changed, and that `tfgen commit` refuses to pass over.

    full_check(check_all(sources), against="HEAD", out=Path("."))   ->  Report(problems=..., notes=..., ...)

After the job itself (`check`) come its objects, its files, and what is committed of it. A job that has errors is not
looked at any further: its objects and files would only be wrong in their turn.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from pathlib import Path

from tfgen.change.comparison import Comparison, compare
from tfgen.change.rerendered import compare_overlays
from tfgen.check.admission.folder import folder_paths
from tfgen.check.checked import Checked
from tfgen.check.files import FileComparison, compare_files
from tfgen.check.manifests import Manifest, read_foreign_manifests
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.severities import find_unused, weigh
from tfgen.commands.check_report import Report
from tfgen.commands.keep_files import describe_file, keep_files
from tfgen.commands.rendered_job import render_jobs
from tfgen.commands.sums import find_sums
from tfgen.commands.track import Track, untracked
from tfgen.git import read as git
from tfgen.job.facts import name_of, rendered_branch
from tfgen.problems import in_order
from tfgen.real_path import real_path
from tfgen.text.document import Document
from tfgen.tree.ledger import ledger_path
from tfgen.tree.write import plan_write, read_ledgers


def full_check(
    checked: Checked,
    *,
    against: str,
    out: Path,
    is_written: bool = False,
    is_quick: bool = False,
    kubernetes_version: str | None = None,
    manifests: Sequence[Manifest] | None = None,
    track: Track = untracked,
) -> Report:
    """Check jobs, the objects and the files that come of them, and what has changed.

    Args:
        checked: the jobs.
        against: the revision that is compared with.
        out: the output folder.
        is_written: whether the files are about to be written anyway, so that those on disk are no matter.
        is_quick: whether a job is passed over, but for the checks above, where its file, its defaults and what was
            rendered of it are as they are committed.
        kubernetes_version: whose schemas the objects are held against; none where it is None.
        manifests: what the repository has of namespaces, where it is read already.
        track: what is told of each job.

    Raises:
        UsageError: there is no such revision, or no schemas of that version.
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    ObjectSchemas(kubernetes_version)  # so that an error is raised before all the work
    whole = checked.whole
    compared = compare(checked, against)
    if is_quick:
        whole = _changed_jobs(whole, compared, out, against)
    if manifests is None:
        manifests = read_foreign_manifests(out, read_ledgers(out).values()) if whole else ()
    results = [*track(render_jobs(whole, manifests, kubernetes_version), len(whole))]
    renderings = tuple(result.rendering for result in results)
    problems = [*checked.problems, *compared.problems]
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
        if not is_written and kubernetes_version is None:
            of_objects = {name_of(document): result.weighed for document, result in zip(whole, results, strict=True)}
            rendered = (
                (file, [of_objects.get(name_of(document)) for document in file.documents])
                for file in checked.whole_files
                if not file.is_known
            )
            described = (
                (file, describe_file(file, [weighed for weighed in of_file if weighed]))
                for file, of_file in rendered
                if all(of_file)
            )
            keep_files(((file, one) for file, one in described if one), plan, manifests)
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
