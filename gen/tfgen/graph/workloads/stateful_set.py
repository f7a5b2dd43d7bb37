"""The workload kind StatefulSet, which runs each role in a StatefulSet or in an Indexed Job.

A role whose tasks run until the job is complete, such as ps, has a StatefulSet. A role whose tasks exit by themselves,
such as chief, has an Indexed Job.
"""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import Comment, Guard, Key, NamedTemplate, Node, Splice
from tfgen.graph.objects import cluster, naming
from tfgen.graph.objects.finisher import Plan
from tfgen.graph.objects.podspec import HASH, hashed
from tfgen.graph.template import Template
from tfgen.graph.workloads import role_pod
from tfgen.graph.workloads.indexed_job import controller, finisher_plan, indexed_job
from tfgen.graph.workloads.workload import Workload
from tfgen.job.training_job import Role, Structure
from tfgen.kubernetes import keys

_CONTROLLER: Final = role_pod.Controller(index_label=keys.STATEFUL_SET_INDEX, fields={})


def stateful_set(role: Role, template: NamedTemplate) -> Node:
    """Return the StatefulSet of a role.

    The StatefulSet creates all pods at once, because a gang that starts its pods in order causes a deadlock
    (https://github.com/kubernetes-sigs/kueue/issues/3189).

    All tasks of a run must have the same pod template. So the selector contains the hash of the template, and
    Kubernetes rejects an update to a different template.
    """
    spec: dict[Key, Node] = {
        "serviceName": naming.RUN,
        "replicas": cluster.replicas(role.name),
        Comment("All pods start together. A gang whose pods start one by one never starts."): None,
        "podManagementPolicy": "Parallel",
        Comment("No update restarts a single task of a run, so all tasks have the same pod template."): None,
        "updateStrategy": {"type": "OnDelete"},
        Comment(
            "Because of the hash, Kubernetes rejects a new pod template. Only a new run may have a new template."
        ): None,
        "selector": {
            "matchLabels": {
                Splice("role"): naming.role_selector(role.name),
                keys.POD_TEMPLATE_HASH: HASH,
            }
        },
    }
    metadata = naming.metadata(naming.workload(role.name), role.name)
    workload: dict[Key, Node] = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata}
    return hashed(template, role_pod.arguments(role.name), lambda pod: {**workload, "spec": {**spec, "template": pod}})


def _is_stateful(role: Role) -> bool:
    return role.serves


def _templates(structure: Structure) -> tuple[Template, ...]:
    controllers = {role.name: _CONTROLLER if _is_stateful(role) else controller(structure) for role in structure.roles}
    template = role_pod.pods(structure, controllers, has_hash=True).template

    def workload(role: Role) -> Node:
        return stateful_set(role, template) if _is_stateful(role) else indexed_job(structure, role, template)

    return tuple(Template(role.name, workload(role)) for role in structure.roles)


def _guards(structure: Structure) -> list[Guard]:
    return [
        *naming.stateful_set_guards(filter(_is_stateful, structure.roles)),
        naming.role_hosts_guard(naming.pod),
    ]


def _plan(structure: Structure) -> Plan:
    return finisher_plan(structure, [role.name for role in structure.roles if _is_stateful(role)])


WORKLOAD: Final = Workload(templates=_templates, guards=_guards, is_scalable=_is_stateful, plan=_plan)
