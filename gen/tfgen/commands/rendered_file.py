"""All that comes of job files, each in some process as a whole: little of it is in memory, its texts are in a spool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from tfgen.check.across import JobRecord
from tfgen.check.admission.folder import PolicyFolders, read_folders_of
from tfgen.check.checked import Weighed
from tfgen.check.jobs import Checker
from tfgen.commands.keep_files import describe_file
from tfgen.commands.rendered_job import render_job
from tfgen.commands.workers import map_items
from tfgen.job.facts import rendered_branch
from tfgen.job.sources import Source
from tfgen.problems import Problem, has_errors
from tfgen.record import Record
from tfgen.tree.spool import Slot, Spool


class RenderedFile(Record):
    """One file.

    Attributes:
        of_rules: what is wrong with it by itself, and what is ignored.
        records: what its jobs are judged by beside others.
        of_objects: what is wrong with the objects of its jobs.
        renderings: what is rendered of each job (`Rendering`).
        branch: the branch that charts/ and overlays/ of a job are kept in; empty where they are beside it.
        description: what is kept of it from run to run (`Description`).
    """

    of_rules: Weighed
    records: tuple[JobRecord, ...]
    of_objects: tuple[Problem, ...] = ()
    renderings: tuple[Slot, ...] = ()
    branch: str = ""
    description: Slot | None = None


def render_files(checker: Checker, spool: Spool, sources: Sequence[Source]) -> Iterator[RenderedFile]:
    """Check files, and render the jobs of those without errors, in their order, each as soon as it is done.

    Args:
        checker: reads the defaults under them.
        spool: has the renderings in the end. Once a file has errors, nothing more comes to it: nobody will read it.
        sources: the files.

    Raises:
        UsageError: the jobs' tfgen.yaml names policies, and there is nothing that evaluates them.
        TfgenError: the disk fails.
    """
    policies = read_folders_of(checker.read_defaults(sources))
    return map_items(partial(_render_file, checker, policies, spool), sources)


def _render_file(checker: Checker, policies: PolicyFolders, spool: Spool, source: Source) -> RenderedFile:
    file = checker.check(source)
    if has_errors(file.weighed.problems) or len(file.accepted) < len(file.documents):
        spool.give_up()
    if spool.is_given_up():
        return RenderedFile(file.weighed, file.records)
    jobs = [render_job(None, (), policies, document) for document in file.documents]
    description = describe_file(file, [job.weighed for job in jobs])
    return RenderedFile(
        of_rules=file.weighed,
        records=file.records,
        of_objects=tuple(problem for job in jobs for problem in job.weighed.problems),
        renderings=tuple(spool.put(job.rendering.spooled(spool)) for job in jobs),
        branch=next(filter(None, map(rendered_branch, file.documents)), ""),
        description=spool.put(description) if description else None,
    )
