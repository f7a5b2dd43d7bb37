"""The problems of a job file and of the objects of its jobs, as `tfgen check` prints them."""

from __future__ import annotations

from tfgen.check.jobs import check
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.check.source import set_severities
from tfgen.errors import Problem, has_errors, in_order
from tfgen.graph.graph import build
from tfgen.job.sources import Source


def all_problems(
    content: str | bytes, file: str = "job.yaml", under: Source | None = None, version: str | None = None
) -> tuple[Problem, ...]:
    """Return the problems of a file. tfgen checks the objects only if the file has no errors.

    Args:
        content: the content of the file.
        file: the name of the file.
        under: the tfgen.yaml that applies to the file.
        version: the version of Kubernetes whose schemas validate the objects.
    """
    checked = check(content, file, under)
    found = [*checked.problems]
    for document in () if has_errors(found) else checked.documents:
        of_objects = check_objects(document, build(document.data), ObjectSchemas(version))
        found += set_severities(document, of_objects).problems
    return in_order(found)
