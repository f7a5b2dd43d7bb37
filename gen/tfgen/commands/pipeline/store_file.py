"""What is worked out for a job file is kept (`known_files`), until anything changes that it follows from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from tfgen.check.admission.folder import folder_paths
from tfgen.check.checked import ReadFile, Weighed
from tfgen.check.limits import has_limited_sums
from tfgen.check.manifests import Manifest
from tfgen.commands.pipeline.cached_files import KnownFile, keep
from tfgen.job.facts import rendered_branch
from tfgen.problems import Problem, has_errors


def keep_file(
    file: ReadFile,
    of_objects: Weighed,
    unused: tuple[Problem, ...],
    digests: Mapping[str, Callable[[], str]],
    manifests: Sequence[Manifest],
) -> None:
    """Keep what is known of a file. It counts while the disk has its ledgers, and so once they are written.

    A file with errors is not kept, nor one of which other files have a part in what is said. Of a job whose files are
    in a branch of their own, those on disk say nothing. Where policies are in folders, their files count as well; and a
    limit of a sum is of other jobs, too. But a clash with another file is looked for anew each time, and a file that
    has one is read again.

    Args:
        file: the file, with its documents.
        of_objects: what is wrong with the objects of its jobs.
        unused: the comments that ignore nothing.
        digests: by job, what gives the digest of its ledger, once all that is rendered of it is written.
        manifests: what the objects were held against beside.
    """
    if has_errors((*file.result.weighed.problems, *of_objects.problems, *unused)) or any(
        rendered_branch(document) or folder_paths(document) or has_limited_sums(document) for document in file.documents
    ):
        return
    ledgers = {job: digest() for job, digest in digests.items()}
    known = KnownFile(file.result.weighed.problems, of_objects.problems, unused, file.result.records, ledgers)
    jobs = json.dumps([document.data for document in file.documents], separators=(",", ":"))
    keep(file.source, known, jobs, manifests)
