"""``tfgen commit``: commit jobs with their rendered files, and push the commit."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from tfgen.check.manifests import read_foreign_manifests
from tfgen.commands.git.commit_steps import CommitOptions, Outcome
from tfgen.commands.git.job_branch import commit_jobs
from tfgen.commands.git.operation_steps import operation_steps
from tfgen.commands.git.rendered_branch import commit_rendered, rendered_branches
from tfgen.commands.pipeline.check_files import check_files
from tfgen.commands.pipeline.check_scope import CheckScope
from tfgen.commands.pipeline.track import Track, untracked
from tfgen.errors import TfgenError
from tfgen.git.commit import RefusedError, UnderWayError
from tfgen.job.sources import Source
from tfgen.tree.spool import Spool
from tfgen.tree.write import read_ledgers


def commit_paths(
    jobs: Sequence[Path],
    sources: Sequence[Source],
    options: CommitOptions,
    *,
    has_out_option: bool = False,
    track: Track = untracked,
) -> Outcome:
    """Check and render jobs, and commit the job files and the rendered files.

    The rendered files go to the branch of the job files, or to the branch that `gitops.rendered` names.

    Args:
        jobs: the files and folders of the command line.
        sources: the job files in these files and folders.
        options: the options of the commit.
        has_out_option: whether the user passed `--out`. If so, tfgen ignores `gitops.rendered` of the jobs.
        track: reports the progress.

    Raises:
        UsageError: the jobs name different branches for their rendered files.
        TfgenError: `commit_jobs` or `commit_rendered` fails.
    """
    out = options.out
    find_manifests = cache(lambda: read_foreign_manifests(out, read_ledgers(out)))
    if sources:
        # An error of the manifests matters only for a valid job. For a valid job, the next call raises the error again.
        with suppress(TfgenError):
            find_manifests()  # fill the cache here, so that the processes of check_files inherit the cache
    with Spool(out) as spool:
        results = check_files(sources, {}, spool, CheckScope(find_manifests=find_manifests), track)
        branches = None if has_out_option else rendered_branches(jobs, results.checked)
        try:
            if branches is None:
                return commit_jobs(jobs, results, spool, options)
            return commit_rendered(jobs, results, spool, branches, options)
        except UnderWayError as error:
            raise RefusedError(f"{error}. {operation_steps(error.operation, jobs, out)}") from error
