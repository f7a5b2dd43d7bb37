"""The results of a job file, stored in the cache for the next run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from tfgen.check.admission.folder import folder_paths
from tfgen.check.checked import ReadFile, Reported
from tfgen.check.limits import has_limited_sums
from tfgen.check.manifests import Manifest
from tfgen.commands.pipeline.cached_files import CachedFile, store
from tfgen.job.facts import rendered_branch
from tfgen.problems import Problem, has_errors


def store_file(
    file: ReadFile,
    object_report: Reported,
    unused: tuple[Problem, ...],
    digests: Mapping[str, Callable[[], str]],
    manifests: Sequence[Manifest],
) -> None:
    """Store the results of a file in the cache. The results are valid while the ledgers of its jobs are on disk.

    The function does not store:

    - a file with errors;
    - a job with `gitops.rendered`, because its rendered files are not on disk;
    - a job with policies in folders, because the results depend on the files in these folders;
    - a job with a limit on a sum, because the result depends on other jobs.

    Args:
        file: the file, with its documents.
        object_report: the problems of the objects of the jobs.
        unused: the problems of comments that ignore nothing.
        digests: for each job, a function that returns the digest of its ledger after the write.
        manifests: the objects of the repository that apply to the namespaces of the jobs.
    """
    if has_errors((*file.result.reported.problems, *object_report.problems, *unused)) or any(
        rendered_branch(document) or folder_paths(document) or has_limited_sums(document) for document in file.documents
    ):
        return
    ledgers = {job: digest() for job, digest in digests.items()}
    results = CachedFile(file.result.reported.problems, object_report.problems, unused, file.result.records, ledgers)
    jobs = json.dumps([document.data for document in file.documents], separators=(",", ":"))
    store(file.source, results, jobs, manifests)
