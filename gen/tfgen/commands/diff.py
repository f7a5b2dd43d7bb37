"""What `tfgen diff` does with checked jobs: it compares their objects with those of a revision."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tfgen.change.comparison import PairPlaces, pair_jobs
from tfgen.change.job_diff import JobDiff, claim_users, diff_job
from tfgen.check.checked import Checked
from tfgen.commands.pipeline.removed_sources import removed_sources
from tfgen.commands.pipeline.track import Track, untracked
from tfgen.record import Record
from tfgen.workers import map_items


class Diff(Record):
    """What some jobs change.

    Attributes:
        changed: the jobs that change anything.
        compared: how many jobs there are, with those that are gone.
        notes: why a job was not compared, or stays as it is.
    """

    changed: tuple[JobDiff, ...]
    compared: int
    notes: tuple[str, ...]


def diff_jobs(jobs: Checked, paths: Sequence[Path], against: str, track: Track = untracked) -> Diff:
    """The differences of jobs without errors from a revision.

    Args:
        jobs: as they are.
        paths: the files and folders that were named.
        against: the revision.
        track: what is told of each job.

    Raises:
        UsageError: there is no such revision.
        TfgenError: git fails.
    """
    matched = pair_jobs(jobs, against, removed_sources(paths, against))
    diffs = [*track(map_items(_diff, matched.pairs), len(matched.pairs))]
    staying = (
        f"{diff.name} stays as it is committed until its own file changes, or tfgen render --upgrade"
        for diff, stays, _ in diffs
        if diff and stays
    )
    users = {claim: job for _, _, users_of_job in diffs for claim, job in users_of_job.items()}
    changed = tuple(diff.with_users(users) for diff, _, _ in diffs if diff)
    return Diff(changed, len(diffs), (*matched.notes, *staying))


def _diff(places: PairPlaces) -> tuple[JobDiff | None, bool, dict[str, str]]:
    """Return the changes of a job, whether the job stays as it is committed, and the claims that the job names."""
    if places.is_unchanged:
        return None, True, {}
    pair = places.read()
    return diff_job(pair), pair.stays, claim_users(pair.after)
