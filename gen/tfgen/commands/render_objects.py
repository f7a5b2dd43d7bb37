"""The objects of checked jobs, for who prints or applies them: no module that writes files is loaded for it."""

from __future__ import annotations

from collections.abc import Sequence

from tfgen.check.admission.folder import read_policy_folders
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.check.severities import weigh
from tfgen.graph.built import build
from tfgen.job.facts import check_environment
from tfgen.kubernetes.object import Object
from tfgen.problems import Problem, in_order
from tfgen.text.document import Document


def render_objects(documents: Sequence[Document], environment: str | None) -> tuple[list[Object], tuple[Problem, ...]]:
    """The objects of the jobs in some documents without errors, and what is wrong with them: with these objects alone.

    Args:
        documents: the jobs.
        environment: whose objects; None for those of the jobs themselves.

    Raises:
        UsageError: a job has no such environment.
    """
    if environment is not None:
        for document in documents:
            check_environment(document, environment)
    policies = read_policy_folders(documents)
    objects: list[Object] = []
    problems: list[Problem] = []
    for document in documents:
        built = build(document.data, () if environment is None else (environment,))
        problems += weigh(document, check_objects(document, built, ObjectSchemas(), policies=policies)).problems
        objects += (built.base if environment is None else built.environments[environment]).values()
    return objects, in_order(problems)
