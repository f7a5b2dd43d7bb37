"""All that `tfgen check` looks at, and that `tfgen commit` refuses to pass over.

    check_paths([Path("jobs")], against="HEAD", out=Path("."))      ->  Report(problems=..., notes=..., ...)
    full_check(check_all(sources), against="HEAD", out=Path("."))   ->  the same, of jobs that are checked already

After the job itself (`check`) come its objects, its files, and what is committed of it. A job that has errors is not
looked at any further: its objects and files would only be wrong in their turn. Last come the jobs that are no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import partial
from pathlib import Path

from tfgen.change.comparison import Comparison, compare, find_committed
from tfgen.change.rerendered import compare_overlays
from tfgen.check.admission.folder import folder_paths, read_policy_folders
from tfgen.check.files import FileComparison, compare_files
from tfgen.check.jobs import Checked, check_all
from tfgen.check.manifests import Manifest, read_manifests
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.severities import find_unused, weigh
from tfgen.commands.known_files import KnownFile, find_known, keep_files
from tfgen.commands.orphans import find_orphans
from tfgen.commands.rendered_job import render_job
from tfgen.commands.sums import find_sums
from tfgen.commands.workers import map_items
from tfgen.git import read as git
from tfgen.job.facts import name_of, rendered_branch
from tfgen.job.output_root import output_root_of
from tfgen.job.sources import STDIN, Source, no_job_below, read_sources
from tfgen.places import OVERLAYS
from tfgen.problems import Problem, in_order
from tfgen.real_path import real_path
from tfgen.record import EMPTY, Record
from tfgen.text.document import Document
from tfgen.tree.ledger import Ledger, ledger_path
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


def check_paths(
    paths: Sequence[Path],
    *,
    against: str,
    out: Path | None = None,
    is_written: bool = False,
    is_quick: bool = False,
    kubernetes_version: str | None = None,
) -> Report:
    """Check the jobs in some files and folders: those of which nothing has changed by what is known of them.

    The arguments are those of `full_check`. The output folder is by default where the files of the jobs are.

    Raises:
        UsageError: a path cannot be read, or no output folder follows from them; and what `full_check` raises.
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    sources = read_sources(paths, may_be_none=True, takes_stdin=True)
    out = out or output_root_of(paths, (source.file for source in sources))
    is_stdin = [*paths] == [STDIN]
    is_known = STDIN not in paths and not is_written and kubernetes_version is None
    known = _find_known(sources, out, against) if is_known else None
    return full_check(
        check_all(sources, {name: file.records for name, file in known.files.items()} if known else EMPTY),
        against=against,
        out=out,
        paths=() if is_stdin else paths,
        is_written=is_written or is_stdin,  # what is on disk did not come of it
        is_quick=is_quick,
        kubernetes_version=kubernetes_version,
        known=known,
    )


class _Known(Record):
    """The files of which nothing has changed, by name, and the manifests that were read to know it."""

    files: Mapping[str, KnownFile] = EMPTY
    manifests: tuple[Manifest, ...] | None = None


def _find_known(sources: Sequence[Source], out: Path, against: str) -> _Known:
    """The files of which nothing has changed since they were committed, either."""
    manifests = _read_manifests(out, read_ledgers(out)) if sources else ()
    known = find_known(sources, out, manifests)
    if known:
        committed = find_committed([source for source in sources if source.file in known], against)
        touched = {path.partition("/")[0] for path in git.changed(out / OVERLAYS, against)}
        known = {name: file for name, file in known.items() if name in committed and touched.isdisjoint(file.ledgers)}
    return _Known(known, manifests)


def _read_manifests(out: Path, ledgers: Mapping[str, Ledger]) -> tuple[Manifest, ...]:
    return read_manifests(out, {path for ledger in ledgers.values() for path in ledger.files})


def full_check(
    checked: Checked,
    *,
    against: str,
    out: Path,
    paths: Sequence[Path] = (),
    is_written: bool = False,
    is_quick: bool = False,
    kubernetes_version: str | None = None,
    known: _Known | None = None,
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
        known: what is known of the files that were not read.

    Raises:
        UsageError: there is no such revision, or no schemas of that version; or no job in the paths, nor one gone.
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    ObjectSchemas(kubernetes_version)  # so that an error is raised before all the work
    known = known or _Known()
    whole = checked.whole
    compared = compare(checked, against)
    if is_quick:
        whole = _changed_jobs(whole, compared, out, against)
    ledgers = read_ledgers(out)
    orphans = tuple(find_orphans(checked, paths, out, ledgers))
    if paths and not (checked.sources or orphans):
        raise no_job_below(paths)
    manifests = known.manifests
    if manifests is None:
        manifests = _read_manifests(out, ledgers) if whole else ()
    policies = read_policy_folders(whole)
    results = [*map_items(partial(render_job, kubernetes_version, manifests, policies), whole)]
    renderings = tuple(result.rendering for result in results)
    passed_over = [known.files[file.source.file] for file in checked.files if file.is_known]
    unchanged = [known.files[file.source.file] for file in checked.whole_files if file.is_known]
    problems = [*checked.problems, *compared.problems, *orphans]
    problems += (problem for file in passed_over for problem in file.of_rules)
    if not is_quick:
        problems += (problem for file in unchanged for problem in (*file.of_objects, *file.unused))
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
            keep_files(checked, results, plan, manifests)
    number = len(compared.pairs) + sum(len(file.ledgers) for file in unchanged)
    return Report(in_order(problems), tuple(notes), number, renderings)


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
