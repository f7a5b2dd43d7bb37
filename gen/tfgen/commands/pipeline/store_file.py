"""Store the check results of a job file in the cache for the next command."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from tfgen.check.cached_files import CachedFile, store
from tfgen.check.checked import ReadFile, Reported
from tfgen.check.manifests import Manifest
from tfgen.errors import Problem, has_errors
from tfgen.job.facts import rendered_branch
from tfgen.rails.limits import has_limited_sums


def store_file(
    file: ReadFile,
    object_report: Reported,
    unused: tuple[Problem, ...],
    digests: Mapping[str, Callable[[], str]],
    manifests: Sequence[Manifest],
) -> None:
    """Store the check results of a job file in the cache, together with the digests of the jobs' ledgers.

    The function does not store a file with:

    - errors;
    - a job with `gitops.rendered`, because its rendered files are not on disk;
    - a job with a limit on the sum of several jobs, because the result depends on other jobs.

    Args:
        file: the job file, with its documents.
        object_report: the problems of the objects of the jobs.
        unused: the problems about ignore comments that have no effect.
        digests: for each job, a function that computes the digest of the ledger that a render writes, by the name of
            the job.
        manifests: the hand-written manifests of the repository, such as quotas.
    """
    if has_errors((*file.result.reported.problems, *object_report.problems, *unused)) or any(
        rendered_branch(document) or has_limited_sums(document) for document in file.documents
    ):
        return
    ledgers = {job: digest() for job, digest in digests.items()}
    results = CachedFile(file.result.reported.problems, object_report.problems, unused, file.result.records, ledgers)
    jobs = json.dumps([document.data for document in file.documents], separators=(",", ":"))
    store(file.source, results, jobs, manifests)
