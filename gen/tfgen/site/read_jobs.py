"""Reads the facts about all jobs of a repository from the job files, the Kubernetes objects and git."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tfgen.check.checked import CheckedJobs
from tfgen.git.history import Revision, histories
from tfgen.git.tree import DISK, by_repository, has_commit
from tfgen.job.facts import name_of
from tfgen.places import CHARTS, OVERLAYS
from tfgen.plural import count
from tfgen.problems import Problem
from tfgen.record import Record
from tfgen.site.facts import JobFacts
from tfgen.site.history import changes, difference, job_data
from tfgen.site.job_facts import job_facts
from tfgen.site.problem_lines import problem_lines
from tfgen.text.document import Document
from tfgen.workers import map_items

_HISTORY: Final = 10
"""Maximum number of commits that the page of a job lists."""


def read_jobs(jobs: CheckedJobs, root: Path) -> list[JobFacts]:
    """Return the facts about the jobs without errors, sorted by the name of the job.

    Args:
        jobs: the checked jobs.
        root: the folder with charts/ and overlays/.

    Raises:
        TfgenError: git fails.
    """
    documents = jobs.valid_jobs
    paths = {document.file: Path(document.file) for document in documents}
    revisions = histories(paths.values(), _HISTORY + 1)
    committed = {
        path: is_committed
        for root_of_git, names in by_repository(paths.values()).items()
        for is_committed in [has_commit(root_of_git)]  # only one git process for each repository
        for path in names
    }
    rendered = _changed_files(root)
    items = [
        _Input(
            document,
            tuple(problem for problem in jobs.problems if problem.file == document.file),
            revisions[paths[document.file]],
            committed[paths[document.file]],
            rendered.get(name_of(document), 0),
        )
        for document in documents
    ]
    return sorted(map_items(_facts, items), key=lambda job: job.name)


class _Input(Record):
    """The data from which tfgen computes the facts about one job.

    Attributes:
        revisions: the revisions of the job file, the newest first.
        is_in_git: whether the job file is in a git repository that has a commit.
        changed_files: number of the job's rendered files that differ from the last commit.
    """

    document: Document
    problems: tuple[Problem, ...]
    revisions: tuple[Revision, ...]
    is_in_git: bool
    changed_files: int


def _facts(item: _Input) -> JobFacts:
    file, name = item.document.file, name_of(item.document)
    history = tuple(changes(file, name, item.revisions, _HISTORY))
    return job_facts(item.document, tuple(problem_lines(item.problems)), history, tuple(_uncommitted_changes(item)))


def _uncommitted_changes(item: _Input) -> Iterator[str]:
    """Yield a text for each uncommitted change of a job."""
    file, name = item.document.file, name_of(item.document)
    if item.is_in_git:
        committed = job_data(file, name, item.revisions[0].content) if item.revisions else None
        yield from difference(committed, job_data(file, name, Path(file).read_bytes()))
    if item.changed_files:
        yield f"changes to {count(item.changed_files, 'rendered file')} are not committed"


def _changed_files(root: Path) -> Mapping[str, int]:
    """Return the number of changed files in charts/ and overlays/ for each job, by name of the job."""
    numbers: dict[str, int] = {}
    for path in DISK.changed(root, places=(CHARTS, OVERLAYS)):
        name = path.split("/")[1]
        numbers[name] = numbers.get(name, 0) + 1
    return numbers
