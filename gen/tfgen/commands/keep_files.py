"""What is worked out for job files is kept (`known_files`), until their bytes or the defaults under them change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tfgen.check.admission.folder import folder_paths
from tfgen.check.checked import CheckedFile, Weighed
from tfgen.check.limits import has_limited_sums
from tfgen.check.manifests import Manifest
from tfgen.commands.known_files import Description, KnownFile, keep
from tfgen.job.facts import name_of, rendered_branch
from tfgen.problems import Problem, has_errors
from tfgen.tree.file_tree import digest_of
from tfgen.tree.plan import WritePlan


def keep_files(
    files: Iterable[tuple[CheckedFile, Description]], plan: WritePlan, manifests: Sequence[Manifest] = ()
) -> None:
    """Keep what is known of files that clash with none. It counts once the disk is as the plan has it.

    Args:
        files: each with what `describe_file` says of it.
        plan: what a render of those writes.
        manifests: what the objects were held against beside.
    """
    ledgers = {job.rendering.job: digest_of(job.target.to_text()) for job in plan.jobs}
    for file, described in files:
        if not file.clashes and described.known.ledgers.keys() <= ledgers.keys():
            known = described.known.replaced(ledgers={job: ledgers[job] for job in described.known.ledgers})
            keep(file.source, described.replaced(known=known), manifests)


def describe_file(file: CheckedFile, of_objects: Weighed, unused: tuple[Problem, ...]) -> Description | None:
    """What is known of a file; None where it has errors, or where anything else has a part in what is said of it.

    Of a job whose files are in a branch of their own, those on disk say nothing. Where policies are in folders, their
    files count as well; and a limit of a sum is of other jobs, too.

    Args:
        file: the file, with its documents.
        of_objects: what is wrong with the objects of its jobs.
        unused: the comments that ignore nothing.
    """
    if has_errors((*file.weighed.problems, *of_objects.problems)) or any(
        rendered_branch(document) or folder_paths(document) or has_limited_sums(document) for document in file.documents
    ):
        return None
    known = KnownFile(
        of_rules=file.weighed.problems,
        of_objects=of_objects.problems,
        unused=unused,
        records=file.records,
        ledgers={name_of(document): "" for document in file.documents},
    )
    return Description(known, json.dumps([document.data for document in file.documents], separators=(",", ":")))
