"""The workload kind Job, which runs each role in an Indexed Job.

The pods have stable host names, and a suspended Job has no pods.

https://kubernetes.io/docs/tasks/job/job-with-pod-to-pod-communication/
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from tfgen.graph import schedulers
from tfgen.graph.holes import ABSENT, Absent, AllOf, Comment, Key, NamedTemplate, Node, When
from tfgen.graph.objects import cluster, naming, supporting, tensorboard
from tfgen.graph.objects.finisher import Kind, Plan
from tfgen.graph.objects.podspec import hashed
from tfgen.graph.objects.values import value
from tfgen.graph.schedulers import queue_labels
from tfgen.graph.template import Template
from tfgen.graph.workloads import role_pod
from tfgen.graph.workloads.workload import Workload
from tfgen.job.training_job import Role, RoleName, Structure
from tfgen.kubernetes import keys


def controller(structure: Structure) -> role_pod.Controller:
    """Return a `Controller` that describes an Indexed Job, which creates the pods."""
    subdomain: dict[Key, Node] = {"subdomain": naming.RUN} if structure.is_distributed else {}
    return role_pod.Controller(keys.JOB_INDEX, {**subdomain, "restartPolicy": "Never"})


def indexed_job(structure: Structure, role: Role, template: NamedTemplate) -> Node:
    """Return the Job of a role, in which each task has an index."""
    queue = queue_labels(structure) if role.name != "evaluator" else {}
    metadata = naming.metadata(naming.workload(role.name), role.name, labels=queue)
    job: dict[Key, Node] = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    return hashed(template, role_pod.arguments(role.name), lambda pod: {**job, "spec": job_spec(structure, role, pod)})


def job_spec(structure: Structure, role: Role, template: Node) -> dict[Key, Node]:
    """Return the spec of a role's Job with the given pod template."""
    replicas = cluster.replicas(role.name)
    return {
        "completions": replicas,
        "parallelism": replicas,
        "completionMode": "Indexed",
        **_retries(role),
        **_success(structure, role),
        Comment("A task never has two pods, because the Job replaces a pod only after the end of the pod."): None,
        "podReplacementPolicy": "Failed",
        supporting.NO_FAILURE: None,
        "podFailurePolicy": supporting.failure_policy(supporting.IGNORE_EXIT_CODES),
        "template": template,
    }


def _retries(role: Role) -> dict[Key, Node]:
    """Return the fields that limit the retries. For a role with several tasks, the limit applies to each index.

    If a worker is lost, all other workers fail as well. These failures would exceed a limit for the whole Job at once,
    or would increase the backoff of the whole Job to ten minutes.

    https://kubernetes.io/docs/concepts/workloads/controllers/job/#backoff-limit-per-index
    """
    if role.name in cluster.SINGLE_TASK_ROLES:
        return {"backoffLimit": value("retries")}
    by_index = Comment(
        "The limit applies to each index. The peers of a lost task fail too, and would exceed a common limit."
    )
    return {by_index: None, "backoffLimitPerIndex": value("retries"), "maxFailedIndexes": 0}


def _success(structure: Structure, role: Role) -> dict[Key, Node]:
    """Return the field `successPolicy` for the workers of a job that ends with worker 0. For other roles, return {}."""
    if role.name == structure.ends and structure.completion == "Worker0":
        reason = Comment("When worker 0 succeeds, the Job ends all other workers.")
        return {reason: None, "successPolicy": {"rules": [{"succeededIndexes": "0"}]}}
    return {}


def finisher_plan(structure: Structure, stateful: Collection[RoleName]) -> Plan:
    """Return the `Plan` of the finisher: the roles to watch, and the roles to release at the end of the run.

    To release a role, the finisher scales the StatefulSet of the role to 0, or suspends the Job of the role. If
    `structure.releases` is False, the finisher releases no role.

    Args:
        structure: the structure of the job.
        stateful: the roles with a StatefulSet.
    """
    starts: list[tuple[Kind, RoleName]] = [
        ("statefulsets" if role.name in stateful else "jobs", role.name) for role in schedulers.roles(structure)
    ]
    plan = Plan(structure.ends, starts=tuple(starts), start_with=_start_with(structure))
    if not structure.releases:
        return plan
    jobs = tuple(role.name for role in structure.roles if role.name not in (structure.ends, *stateful))
    boards = (tensorboard.released_deployment(),) if structure.tensorboard_port else ()
    return plan.replaced(scale=tuple(stateful), suspend=jobs, deployments=boards)


def _start_with(structure: Structure) -> When | Absent:
    """Return `gang.minAvailable`, the number of tasks with which the gang may start.

    Return `ABSENT` for a job without a gang, or for a gang that needs all tasks to start.
    """
    if not schedulers.may_be_partial(structure):
        return ABSENT
    return When(AllOf((schedulers.ENABLED, schedulers.is_partial(structure))), schedulers.MIN_AVAILABLE)


def _templates(structure: Structure) -> tuple[Template, ...]:
    controllers = {role.name: controller(structure) for role in structure.roles}
    template = role_pod.pods(structure, controllers, has_hash=True).template
    return tuple(Template(role.name, indexed_job(structure, role, template)) for role in structure.roles)


WORKLOAD: Final = Workload(
    templates=_templates,
    guards=lambda _: [naming.role_hosts_guard(naming.pod)],
    plan=lambda structure: finisher_plan(structure, ()),
)
