"""What `tfgen render` does with checked jobs: their files, without those of removed jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tfgen.check.admission.folder import read_policy_folders
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.check.severities import weigh
from tfgen.commands.removed_jobs import find_removed_jobs
from tfgen.errors import UsageError
from tfgen.graph.built import build
from tfgen.job.facts import rendered_branch
from tfgen.job.sources import no_job_below
from tfgen.problems import Problem, in_order
from tfgen.targets.render import render_document
from tfgen.text.document import Document
from tfgen.tree.plan import WritePlan
from tfgen.tree.rendering import Rendering
from tfgen.tree.write import apply, plan_write, read_ledgers


def check_place(documents: Iterable[Document]) -> None:
    """See that charts/ and overlays/ of some jobs are kept beside them.

    Raises:
        UsageError: they are kept in a branch of their own.
    """
    for document in documents:
        if branch := rendered_branch(document):
            raise UsageError(
                f"{document.file}: charts/ and overlays/ are kept in the branch {branch} (gitops.rendered), which "
                "tfgen commit writes; to have them on disk, too, say where by --out"
            )


def render_jobs(
    documents: Sequence[Document], progress: Callable[[Sequence[Document]], Iterable[Document]] = iter
) -> tuple[list[Rendering], tuple[Problem, ...]]:
    """The files of the jobs in some documents without errors, and what is wrong with the objects in them.

    Args:
        documents: the jobs.
        progress: gives them one by one, and may show how many are done.

    Raises:
        UsageError: there are policies, and nothing that evaluates them.
    """
    policies = read_policy_folders(documents)
    renderings: list[Rendering] = []
    problems: list[Problem] = []
    for document in progress(documents):
        built = build(document.data)
        problems += weigh(document, check_objects(document, built, ObjectSchemas(), policies=policies)).problems
        renderings.append(render_document(document, built))
    return renderings, in_order(problems)


def write_jobs(
    paths: Sequence[Path], renderings: Sequence[Rendering], out: Path, *, force: bool = False, upgrade: bool = False
) -> WritePlan:
    """Write all files of some jobs, and remove those of jobs that the paths have no more.

    Args:
        paths: the files and folders that were named.
        renderings: of the jobs in them.
        out: the output folder.
        force: whether files that were edited by hand are replaced.
        upgrade: whether a job is rendered anew where only tfgen or the defaults under it changed.

    Raises:
        UsageError: there is no job, and none was removed.
        ConflictsError: a file was edited by hand, and it is not `force`.
        TfgenError: the disk fails.
    """
    removals = find_removed_jobs(read_ledgers(out), paths, {rendering.job for rendering in renderings})
    if not renderings and not removals:
        raise no_job_below(paths)
    return apply(plan_write(out, [*renderings, *removals], force=force, upgrade=upgrade))
