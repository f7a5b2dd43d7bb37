"""All that `tfgen check` looks at in jobs that have changed, and that `tfgen commit` refuses to pass over.

    full_check(judge_files(sources, {}, spool, CheckScope(), untracked), spool, against="HEAD", out=Path("."))
        ->  Report(problems=..., notes=..., ...)

After the job itself and its objects come its files, and what is committed of it. A job that has errors is not looked at
any further: its objects and files would only be wrong in their turn.
"""

from __future__ import annotations

from pathlib import Path

from tfgen.change.comparison import compare
from tfgen.change.rerendered import compare_overlays
from tfgen.check.checked import CheckedFile
from tfgen.check.files import FileComparison, compare_files
from tfgen.check.severities import weigh_unused
from tfgen.commands.check_report import Report
from tfgen.commands.judged_files import JudgedFiles
from tfgen.commands.rendered_file import RenderedFile, render_files
from tfgen.commands.sums import find_sums
from tfgen.job.facts import name_of
from tfgen.problems import Problem, in_order
from tfgen.tree.rendering import Rendering
from tfgen.tree.spool import Spool, Spooled
from tfgen.tree.write import plan_write


def full_check(judged: JudgedFiles, spool: Spool, *, against: str, out: Path, is_written: bool = False) -> Report:
    """Check jobs beside their files on disk, and beside what is committed.

    Args:
        judged: the jobs' files.
        spool: where what is rendered of them is.
        against: the revision that is compared with.
        out: the output folder.
        is_written: whether the files are about to be written anyway, so that those on disk are no matter.

    Raises:
        UsageError: there is no such revision, or nothing that evaluates the policies that the jobs' tfgen.yaml names.
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    checked, scope = judged.checked, judged.scope
    read = [file for file in checked.whole_files if not file.is_known]
    clashing = [file.source for file in read if file.source.file not in judged.rendered]
    rendered = {**judged.rendered, **dict(render_files(judged.checker, spool, clashing, scope) if clashing else ())}
    whole = [(file, rendered[file.source.file]) for file in read]
    for _, of_file in whole:
        of_file.require_policies()
    compared = compare(checked, against)
    problems = [*checked.problems, *compared.problems]
    problems += (problem for _, of_file in whole for problem in of_file.of_objects.problems)
    problems += (problem for file, of_file in whole for problem in _find_unused(judged, file, of_file))
    uses = {file.source.file: of_file.uses for file, of_file in whole}
    problems += find_sums(judged.checker, checked.sources, uses)
    notes = [*compared.notes]
    if unknown := sorted({kind for _, of_file in whole for kind in of_file.unknown}):
        notes.append(f"no schemas for {', '.join(unknown)}, so such objects are not held against one")
    jobs = [job for _, of_file in whole for job in of_file.jobs]
    if beside := [job for job in jobs if not job.branch]:
        renderings: Spooled[Rendering] = Spooled(job.rendering for job in beside)
        plan = plan_write(out, renderings, upgrade=not is_written, put=spool.put)
        again = compare_overlays(compared.pairs, plan, against, is_written=is_written)
        files = FileComparison((), ()) if is_written else compare_files({job.name: job.place for job in beside}, plan)
        problems += (*again.problems, *files.problems)
        notes += (*again.notes, *files.notes)
    return Report(in_order(problems), tuple(notes), len(compared.pairs), tuple(jobs))


def _find_unused(judged: JudgedFiles, file: CheckedFile, rendered: RenderedFile) -> tuple[Problem, ...]:
    """The comments of a file that ignore nothing, not even a clash with another file."""
    if not file.clashes:
        return rendered.unused
    jobs = {job.name for job in rendered.jobs}
    documents = [one for one in judged.checker.check(file.source).documents if name_of(one) in jobs]
    return weigh_unused(documents, (*judged.checked.ignored, *rendered.of_objects.ignored))
