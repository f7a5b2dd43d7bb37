"""What is wrong with the objects of jobs, as `tfgen.yaml` weighs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfgen.check.admission.folder import read_policy_folders
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.check.severities import set_severities
from tfgen.graph.built import BuiltJob
from tfgen.problems import Problem
from tfgen.text.document import Document


def find_object_problems(jobs: Sequence[tuple[Document, BuiltJob]]) -> Iterator[Problem]:
    """What is wrong with objects alone, whatever the repository has beside them.

    Args:
        jobs: each without errors, and as much of it as is built.

    Raises:
        UsageError: the jobs' tfgen.yaml names policies, and there is nothing that evaluates them.
        TfgenError: the disk fails.
    """
    policies = read_policy_folders(document for document, _ in jobs)
    for document, built in jobs:
        yield from set_severities(document, check_objects(document, built, ObjectSchemas(), policies=policies)).problems
