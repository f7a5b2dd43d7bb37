"""Computes the plan that the site shows. The plan places the pods of the jobs on the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tfgen.commands.cluster.declared_runs import declared_runs
from tfgen.commands.plan import plan_runs
from tfgen.job.facts import environments_of
from tfgen.kubernetes.object import Object
from tfgen.scheduling.verdict import Verdict
from tfgen.site.plan_facts import PlanFacts, VerdictFacts, plan_facts
from tfgen.text.document import Document


def read_plan(
    documents: Iterable[Document],
    environment: str | None,
    source: str,
    objects: Sequence[Object],
    text: Callable[[Verdict], str],
) -> PlanFacts:
    """Return the plan for all jobs that have the given environment and are enabled in this environment.

    Args:
        documents: the documents of the jobs.
        environment: the name of the environment; None to plan each job without an environment.
        source: the file with the objects of the cluster.
        objects: the objects of the cluster.
        text: function that returns a verdict as one line. The line begins with the title of the run.
    """
    planned = [item for item in documents if environment is None or environment in environments_of(item)]
    runs = [item for item in declared_runs(planned, environment) if item.run.is_enabled]
    plan = plan_runs([(item, item.run.namespace) for item in runs], objects)
    jobs = {item.run.title: item.run.job for item in runs}
    verdicts = (
        VerdictFacts(jobs[title], title, text(verdict).removeprefix(f"{title}: "))
        for verdict in plan.verdicts
        for title in [verdict.run.title]
    )
    return plan_facts(source, plan.nodes, verdicts, jobs)
