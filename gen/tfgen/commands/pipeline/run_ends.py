"""Find the runs that a change of jobs ends or starts, and the claims that remain in the cluster.

A run ends if a job is removed, gets another name, or is retired in an environment. Each result is a JobDiff, as for
`tfgen diff`, with only the environments in which a run ends or a claim remains. For the cluster, a job with another
name is a new job, so its runs start at once.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tfgen import data_path
from tfgen.change.comparison import Pair, PairPlaces
from tfgen.change.job_diff import JobDiff, claim_users, diff_job
from tfgen.commands.pipeline.removed_jobs import versions_of_job
from tfgen.graph.built import build
from tfgen.rails.limits import JobUse, uses
from tfgen.text.document import Document
from tfgen.words import count
from tfgen.workers import map_items

_DECIDING_KEYS = ("enabled", "namespace", "cluster", "storage")
"""The keys of an environment that decide whether a change ends a run or leaves a claim."""


def find_run_ends(places: Iterable[PairPlaces]) -> tuple[JobDiff, ...]:
    """Return the runs that the change of each job ends, and the claims that the change leaves in the cluster.

    A job whose change ends no run and leaves no claim has no item in the result.

    Args:
        places: the committed version and the current version of each job, as locations in files.

    Raises:
        TfgenError: git or the disk fails.
    """
    results = [*map_items(_ends_at, [place for place in places if not place.is_unchanged])]
    users = {claim: job for _, users_of_job in results for claim, job in users_of_job.items()}
    return tuple(ends.with_users(users) for ends, _ in results if ends)


def run_ends(pair: Pair) -> JobDiff | None:
    """Return the runs that a change of a job ends, and the remaining claims; None if the change ends no run."""
    if (
        pair.before is None
        or pair.has_same_text
        or (pair.after and _deciding_settings(pair.before.data) == _deciding_settings(pair.after.data))
    ):
        return None
    diff = diff_job(pair)
    environments = tuple(environment for environment in diff.environments if environment.ends_run_or_keeps_claim)
    removed = tuple(item for item in diff.delivery if item.action == "removed" and not item.is_shared)
    return diff.replaced(environments=environments, delivery=removed, needs_new_run=()) if environments else None


def removal_ends(job: str, file: Path) -> tuple[JobDiff, ...]:
    """Return the runs that the removal of a job ends, and the claims that remain after the removal.

    The function reads the job from its file, or from the last commit that has the file. The result is empty if neither
    contains a valid job with this name.

    Args:
        job: the name of the job.
        file: the job file, which may be missing.

    Raises:
        TfgenError: git or the disk fails.
    """
    ends = (run_ends(Pair(document, None)) for document in versions_of_job(job, file))
    return next(((item,) for item in ends if item), ())


def find_run_starts(unpaired: Sequence[PairPlaces]) -> Iterator[str]:
    """Yield a sentence for each run of a new job, if a job is removed as well, because the job may have a new name.

    Args:
        unpaired: the new jobs and the removed jobs.

    Raises:
        TfgenError: git or the disk fails.
    """
    if any(place.after is None for place in unpaired):
        for place in unpaired:
            if document := place.read().after:
                yield from run_starts(document)


def run_starts(document: Document) -> Iterator[str]:
    """Yield a sentence for each run that starts with the next sync if a job is new or has another name."""
    built = build(document.data)
    retired = {environment.name for environment in built.job.environments if not environment.enabled}
    for use in uses(built):
        if use.environment not in retired:
            place = f" in {use.environment}" if use.environment else ""
            gpus = count(int(use.total["gpus"]), "GPU")
            yield f"{document.file}: the change starts a run of {use.job} now ({gpus}){place}{_no_start(document, use)}"


def _no_start(document: Document, use: JobUse) -> str:
    """Return the command that prevents the start of a run; empty for a job without environments."""
    command = ["tfgen", "rm", document.file, "--env", str(use.environment)]
    return f"; for no run: {shlex.join(command)}" if use.environment else ""


def _ends_at(place: PairPlaces) -> tuple[JobDiff | None, dict[str, str]]:
    pair = place.read()
    return run_ends(pair), claim_users(pair.after)


def _deciding_settings(data: Any) -> tuple[Any, ...]:
    """Return the settings of a job, such as the namespace, that decide which runs end and which claims remain.

    If a changed job has the same settings, the change ends no run and leaves no claim.
    """
    environments = data_path.at(data, ("spec", "environments")) or {}
    by_name = {name: [values.get(key) for key in _DECIDING_KEYS] for name, values in environments.items()}
    return (data_path.at(data, ("metadata", "namespace")), data_path.at(data, ("spec", "storage")), by_name)
