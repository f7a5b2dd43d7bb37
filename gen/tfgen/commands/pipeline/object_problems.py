"""The problems of the objects of jobs, with the severities of `tfgen.yaml`."""

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
    """Yield the problems of objects. Further manifests of the repository are not read.

    Args:
        jobs: the jobs without errors, with the objects of some or all environments.

    Raises:
        UsageError: a tfgen.yaml names policies, and no package is installed that evaluates policies.
        TfgenError: the disk fails.
    """
    policies = read_policy_folders(document for document, _ in jobs)
    for document, built in jobs:
        yield from set_severities(document, check_objects(document, built, ObjectSchemas(), policies=policies)).problems
