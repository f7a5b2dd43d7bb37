"""The description of a workload kind: the objects of the roles, and the additional objects that the kind needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tfgen.graph.holes import Guard, Node
from tfgen.graph.objects import naming
from tfgen.graph.objects.finisher import Plan
from tfgen.graph.objects.naming import PodName
from tfgen.graph.template import Template
from tfgen.job.training_job import Role, Structure
from tfgen.record import Record

Test: TypeAlias = Callable[[Structure], bool]


def always(_: Structure) -> bool:
    """Return True. A `Workload` uses this function for a property that all jobs of the kind have."""
    return True


def never(_: Structure | Role) -> bool:
    """Return False. A `Workload` uses this function for a property that no job or role of the kind has."""
    return False


def lead_role(structure: Structure) -> str:
    """Return the name of the chief, or of the last role for a job without a chief."""
    return "chief" if structure.role("chief") else structure.roles[-1].name


def no_plan(_: Structure) -> None:
    """Return None as the plan of the finisher, for a kind that needs no finisher."""


def is_distributed(structure: Structure) -> bool:
    """Return whether the job has several tasks, which form a TensorFlow cluster."""
    return structure.is_distributed


class Workload(Record):
    """A workload kind. Most attributes are functions of the structure of a job, such as `has_service(structure)`.

    Attributes:
        templates: returns the templates of the roles, in the order in which the objects must be applied.
        guards: returns the guards of the kind, for example for the lengths of object names.
        has_service: returns whether the tasks need the headless Service of tfgen for their names.
        has_config_map: returns whether the tasks read the cluster from the ConfigMap of tfgen.
        has_pod_group: returns whether the gang needs the PodGroup of tfgen.
        pod_name: returns the name of the pod of a task, which is also the host name.
        port_name: the name of the port of TensorFlow in the pods.
        pods: the labels that select every pod of a run.
        is_scalable: returns whether the controller of the pods of a role has a scale subresource.
        log_role: returns the role whose log shows the progress of the training.
        has_run_lock: whether the pods may contain the run lock.
        plan: returns the plan of the finisher; None if the controller of the kind releases the tasks.
    """

    templates: Callable[[Structure], tuple[Template, ...]]
    guards: Callable[[Structure], Sequence[Guard]]
    has_service: Test = is_distributed
    has_config_map: Test = is_distributed
    has_pod_group: Test = always
    pod_name: PodName = naming.pod
    port_name: str = naming.PORT_NAME
    pods: Node = naming.run_selector()
    is_scalable: Callable[[Role], bool] = never
    log_role: Callable[[Structure], str] = lead_role
    has_run_lock: bool = True
    plan: Callable[[Structure], Plan | None] = no_plan
