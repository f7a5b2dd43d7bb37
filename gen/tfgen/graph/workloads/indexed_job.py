"""Every role as an Indexed Job, whose pods have stable host names: it ends, or is ended by suspending it.

https://kubernetes.io/docs/tasks/job/job-with-pod-to-pod-communication/
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from tfgen.graph.holes import ABSENT, Absent, AllOf, Comment, Key, Named, Node, When
from tfgen.graph.objects import cluster_spec, disruption, labels, name_guards, names, tensorboard
from tfgen.graph.objects.finisher import Kind, Plan
from tfgen.graph.objects.pod_template_hash import hashed
from tfgen.graph.objects.values import value
from tfgen.graph.schedulers import gang, queue_labels
from tfgen.graph.template import Template
from tfgen.graph.workloads import pod
from tfgen.graph.workloads.workload import Workload
from tfgen.job.training_job import Role, RoleName, Structure
from tfgen.kubernetes import keys


def controller(structure: Structure) -> pod.Controller:
    """What a pod has of its Job."""
    subdomain: dict[Key, Node] = {"subdomain": names.RUN} if structure.is_distributed else {}
    return pod.Controller(keys.JOB_INDEX, {**subdomain, "restartPolicy": "Never"})


def indexed_job(structure: Structure, role: Role, template: Named) -> Node:
    """The Job of a role: each task one index. A pod is replaced only once it has ended: never two chiefs at once."""
    queue = queue_labels(structure) if role.name != "evaluator" else {}
    metadata = labels.metadata(names.workload(role.name), role.name, labels=queue)
    job: dict[Key, Node] = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    return hashed(template, pod.arguments(role.name), lambda pod: {**job, "spec": job_spec(structure, role, pod)})


def job_spec(structure: Structure, role: Role, template: Node) -> dict[Key, Node]:
    """The spec of the Job of a role, around its pod template."""
    replicas = cluster_spec.replicas(role.name)
    return {
        "completions": replicas,
        "parallelism": replicas,
        "completionMode": "Indexed",
        **_retries(role),
        **_success(structure, role),
        Comment("A pod is replaced once it has ended: there are never two of one task."): None,
        "podReplacementPolicy": "Failed",
        disruption.NO_FAILURE: None,
        "podFailurePolicy": disruption.failure_policy(disruption.IGNORE_EXIT_CODES),
        "template": template,
    }


def _retries(role: Role) -> dict[Key, Node]:
    """How often a task may fail. By index where there are several.

    The peers of a lost worker fail with it; counted together, eight of them end the job at once, or wait ten minutes
    for the next try. https://kubernetes.io/docs/concepts/workloads/controllers/job/#backoff-limit-per-index
    """
    if role.name in cluster_spec.SINGLE:
        return {"backoffLimit": value("retries")}
    by_index = Comment(
        "By index, since the peers of a lost task fail with it: counted together, they would end the Job."
    )
    return {by_index: None, "backoffLimitPerIndex": value("retries"), "maxFailedIndexes": 0}


def _success(structure: Structure, role: Role) -> dict[Key, Node]:
    """Worker 0's success is the job's, where it is waited for; the others are ended then."""
    if role.name == structure.ends and structure.completion == "Worker0":
        ends = Comment("Worker 0 ends the job; the others are ended then.")
        return {ends: None, "successPolicy": {"rules": [{"succeededIndexes": "0"}]}}
    return {}


def finisher_plan(structure: Structure, stateful: Collection[RoleName]) -> Plan:
    """What the finisher does: it scales StatefulSets to 0 and suspends the other Jobs, unless all is to be kept."""
    starts: list[tuple[Kind, RoleName]] = [
        ("statefulsets" if role.name in stateful else "jobs", role.name) for role in gang.roles(structure)
    ]
    plan = Plan(structure.ends, starts=tuple(starts), start_with=_start_with(structure))
    if not structure.releases:
        return plan
    jobs = tuple(role.name for role in structure.roles if role.name not in (structure.ends, *stateful))
    boards = (tensorboard.released_deployment(),) if structure.tensorboard_port else ()
    return plan.replaced(scale=tuple(stateful), suspend=jobs, deployments=boards)


def _start_with(structure: Structure) -> When | Absent:
    """How many tasks are a start where the gang may begin before all of them can."""
    if not gang.may_be_partial(structure):
        return ABSENT
    return When(AllOf((gang.ENABLED, gang.is_partial(structure))), gang.MIN_AVAILABLE)


def _templates(structure: Structure) -> tuple[Template, ...]:
    controllers = {role.name: controller(structure) for role in structure.roles}
    template = pod.pods(structure, controllers, has_hash=True).template
    return tuple(Template(role.name, indexed_job(structure, role, template)) for role in structure.roles)


WORKLOAD: Final = Workload(
    templates=_templates,
    guards=lambda _: [name_guards.short_hosts(names.pod)],
    plan=lambda structure: finisher_plan(structure, ()),
)
