"""All that comes of job files, each in some process as a whole: little of it is in memory, its texts are in a spool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from tfgen.check.across import JobRecord
from tfgen.check.admission.folder import PolicyFolders, read_folders_of
from tfgen.check.checked import Weighed
from tfgen.check.jobs import Checker
from tfgen.commands.keep_files import describe_file
from tfgen.commands.rendered_job import render_job
from tfgen.job.facts import rendered_branch
from tfgen.job.sources import Source
from tfgen.problems import Problem, has_errors
from tfgen.record import Record
from tfgen.tree.spool import Slot, Spool
from tfgen.workers import map_items

# From the start of a word alone: to look for a key from each letter of a long text takes time by the square of them.
_KEYS: Final = re.compile(r"(?<![\w-])[\w-]+[\"']?:(?=\s)")


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


def render_files(checker: Checker, spool: Spool, sources: Sequence[Source]) -> Iterator[tuple[str, RenderedFile]]:
    """Check files, and render the jobs of those without errors; give each with its name as soon as it is done.

    They come in an order of their own: files that look alike are next to each other, and in one process. For their jobs
    mostly have one structure, and what follows from that is made once (`graph.shape`).

    Args:
        checker: reads the defaults under them.
        spool: has the renderings in the end. Once a file has errors, nothing more comes to it: nobody will read it.
        sources: the files.

    Raises:
        UsageError: the jobs' tfgen.yaml names policies, and there is nothing that evaluates them.
        TfgenError: the disk fails.
    """
    policies = read_folders_of(checker.read_defaults(sources))
    looks: dict[int, int] = {}
    look_of = {source.file: looks.setdefault(_look(source), len(looks)) for source in sources}
    in_turn = sorted(sources, key=lambda source: look_of[source.file])
    files = map_items(
        partial(_render_file, checker, policies, spool), in_turn, alike=lambda source: look_of[source.file]
    )
    return zip((source.file for source in in_turn), files, strict=True)


def _look(source: Source) -> int:
    """The same for files whose texts have what look like the same keys: to parse them takes far longer."""
    text = source.text()
    return 0 if isinstance(text, Problem) else hash(tuple(_KEYS.findall(text)))


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
