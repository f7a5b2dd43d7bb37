"""`tfgen diff`: compare the objects of jobs with the objects of the same jobs in a git revision."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tfgen.change.comparison import PairPlaces, pair_jobs
from tfgen.change.job_diff import JobDiff, claim_users, diff_job
from tfgen.check.checked import Checked
from tfgen.commands.pipeline.track import Track, untracked
from tfgen.git.tree import CommitTree
from tfgen.job.sources import removed_files
from tfgen.record import Record
from tfgen.workers import map_items


class Diff(Record):
    """The result of `tfgen diff`.

    Attributes:
        changed: the changes of each changed job.
        compared: the number of compared jobs, including removed jobs.
        notes: messages about jobs that tfgen did not compare, and about jobs that keep their rendered files. A job
            keeps its rendered files if only a tfgen.yaml has changed, and not the job file.
    """

    changed: tuple[JobDiff, ...]
    compared: int
    notes: tuple[str, ...]


def diff_jobs(jobs: Checked, paths: Sequence[Path], against: str, track: Track = untracked) -> Diff:
    """Compare the objects of valid jobs with the objects in a git revision.

    Args:
        jobs: the checked jobs.
        paths: the files and folders of the command line.
        against: the revision.
        track: reports the progress.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git fails.
    """
    matched = pair_jobs(jobs, against, removed_files(paths, CommitTree(against)))
    diffs = [*track(map_items(_diff, matched.pairs), len(matched.pairs))]
    staying = (
        f"{diff.name} keeps its committed files until its job file changes, or until tfgen render --upgrade"
        for diff, stays, _ in diffs
        if diff and stays
    )
    users = {claim: job for _, _, users_of_job in diffs for claim, job in users_of_job.items()}
    changed = tuple(diff.with_users(users) for diff, _, _ in diffs if diff)
    return Diff(changed, len(diffs), (*matched.notes, *staying))


def _diff(places: PairPlaces) -> tuple[JobDiff | None, bool, dict[str, str]]:
    """Return the changes of a job, whether the text of the job is unchanged, and the user of each claim.

    The changes are None if the job file and its tfgen.yaml files are unchanged. The third item is a mapping from the
    name of each claim of the job to the name of the job, such as {"mnist-model": "mnist"}.
    """
    if places.is_unchanged:
        return None, True, {}
    pair = places.read()
    return diff_job(pair), pair.has_same_text, claim_users(pair.after)
