"""A workload kind, as data: the objects that carry the roles, and which of the objects around them it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tfgen.graph.holes import Guard, Node
from tfgen.graph.objects import labels, names
from tfgen.graph.objects.cluster_spec import PodName
from tfgen.graph.objects.finisher import Plan
from tfgen.graph.template import Template
from tfgen.job.training_job import Role, Structure
from tfgen.record import Record

Test: TypeAlias = Callable[[Structure], bool]


def always(_: Structure) -> bool:
    """A test that every job passes."""
    return True


def never(_: Structure | Role) -> bool:
    """A test that nothing passes."""
    return False


def lead_role(structure: Structure) -> str:
    """The chief where there is one, else the last role."""
    return "chief" if structure.role("chief") else structure.roles[-1].name


def no_plan(_: Structure) -> None:
    """The plan of a kind that needs no finisher."""


def is_distributed(structure: Structure) -> bool:
    """Whether the tasks form a cluster."""
    return structure.is_distributed


class Workload(Record):
    """How one kind runs a job. All of it is decided by the structure alone.

    Attributes:
        templates: the objects that carry the roles, in the order in which they are to be applied.
        guards: what only this kind's values must not be, such as a name too long for it.
        makes_service: whether its tasks need our headless Service to have names.
        tells_cluster: whether its tasks learn their cluster from our ConfigMap.
        makes_pod_group: whether its gang, where there is one, is our PodGroup.
        pod_name: the name of a task's pod, and its host name.
        port_name: the name that TensorFlow's port has in its pods.
        pods: the labels that select every pod of a run.
        is_scalable: whether the controller of a role's pods can be scaled.
        follow: whose log tells how the training goes: the role label of its pod.
        locks_volumes: whether a pod may hold the lock of a volume to which one run at a time writes.
        plan: what the finisher does when the run ends; none where the kind's own controller does it all.
    """

    templates: Callable[[Structure], tuple[Template, ...]]
    guards: Callable[[Structure], Sequence[Guard]]
    has_service: Test = is_distributed
    has_config_map: Test = is_distributed
    has_pod_group: Test = always
    pod_name: PodName = names.pod
    port_name: str = names.PORT_NAME
    pods: Node = labels.run_selector()
    is_scalable: Callable[[Role], bool] = never
    log_role: Callable[[Structure], str] = lead_role
    has_run_lock: bool = True
    plan: Callable[[Structure], Plan | None] = no_plan
