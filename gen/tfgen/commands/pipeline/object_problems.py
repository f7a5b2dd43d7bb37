"""Check the objects of jobs, and apply the severities that tfgen.yaml files set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.check.severities import set_severities
from tfgen.errors import Problem
from tfgen.graph.built import BuiltJob
from tfgen.text.document import Document


def find_object_problems(jobs: Sequence[tuple[Document, BuiltJob]]) -> Iterator[Problem]:
    """Yield the problems of the objects of jobs, without a check against hand-written manifests such as quotas.

    Args:
        jobs: the valid jobs, each with the objects of some or all environments.
    """
    for document, built in jobs:
        yield from set_severities(document, check_objects(document, built, ObjectSchemas())).problems
