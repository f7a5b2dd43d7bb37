"""What is worked out for job files is kept (`known_files`), until their bytes or the defaults under them change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tfgen.check.admission.folder import folder_paths
from tfgen.check.checked import Checked, CheckedFile, Weighed
from tfgen.check.limits import layers_with_sums
from tfgen.check.manifests import Manifest
from tfgen.check.severities import find_unused, weigh
from tfgen.commands.known_files import KnownFile, keep
from tfgen.commands.rendered_job import RenderedJob
from tfgen.job.facts import name_of, rendered_branch
from tfgen.problems import has_errors
from tfgen.tree.file_tree import digest_of
from tfgen.tree.plan import WritePlan


def keep_files(
    checked: Checked, results: Iterable[RenderedJob], plan: WritePlan, manifests: Sequence[Manifest] = ()
) -> None:
    """Keep what is known of the files whose jobs have no errors. It counts once the disk is as the plan has it.

    Args:
        checked: the jobs of the files.
        results: what came of those without errors.
        plan: what a render of those writes.
        manifests: what the objects were held against beside.
    """
    ledgers = {job.rendering.job: digest_of(job.target.to_text()) for job in plan.jobs}
    weighed = {
        result.rendering.job: result.weighed
        for result in results
        if result.rendering.job in ledgers and not has_errors(result.weighed.problems)
    }
    files = (file for file in checked.whole_files if not file.is_known and _stands_alone(file))
    known = {
        file.source: _known_file(file, weighed, ledgers)
        for file in files
        if weighed.keys() >= set(map(name_of, file.documents))
    }
    keep(known, manifests)


def _stands_alone(file: CheckedFile) -> bool:
    """Whether no other job has a part in what is said of a file: it clashes with none, and no limit is of a sum.

    Of a job whose files are in a branch of their own, those on disk say nothing; and where policies are in folders,
    their files count as well.
    """
    return not file.clashes and not any(
        rendered_branch(document) or folder_paths(document) or any(True for _ in layers_with_sums(document))
        for document in file.documents
    )


def _known_file(file: CheckedFile, weighed: Mapping[str, Weighed], ledgers: Mapping[str, str]) -> KnownFile:
    of_jobs = {name_of(document): weighed[name_of(document)] for document in file.documents}
    ignored = [problem for one in (file.weighed, *of_jobs.values()) for problem in one.ignored]
    unused = (weigh(document, find_unused((document,), ignored)) for document in file.documents)
    return KnownFile(
        of_rules=file.weighed.problems,
        of_objects=tuple(problem for one in of_jobs.values() for problem in one.problems),
        unused=tuple(problem for one in unused for problem in one.problems),
        records=file.records,
        ledgers={job: ledgers[job] for job in of_jobs},
    )
