"""Roles that serve until the job is done as StatefulSets, whose pods always restart; the others as Indexed Jobs."""

from __future__ import annotations

from typing import Final

from tfgen import cluster_spec
from tfgen.holes import Guard, Node
from tfgen.job import Role, Structure
from tfgen.objects import labels, name_guards, names, pod
from tfgen.objects.finisher import Plan
from tfgen.objects.template import Template
from tfgen.workloads.indexed_job import indexed_job, released
from tfgen.workloads.workload import Workload

_CONTROLLER: Final = pod.Controller(index_label=labels.STATEFUL_SET_INDEX, fields={})


def stateful_set(structure: Structure, role: Role) -> Node:
    """The StatefulSet of a role.

    All pods at once, because an ordered start under a gang is a deadlock
    (https://github.com/kubernetes-sigs/kueue/issues/3189); and no pod restarted by a new template, because the chief's
    Job refuses the same edit, and the tasks of one run must stay alike.
    """
    spec: dict[str, Node] = {
        "serviceName": names.RUN,
        "replicas": cluster_spec.replicas(role.name),
        "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "OnDelete"},
        "selector": {"matchLabels": labels.role_selector(role.name)},
        "template": pod.template(structure, role, _CONTROLLER),
    }
    metadata = labels.metadata(names.workload(role.name), role.name)
    return pod.document(
        structure, role.name, {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}
    )


def _is_stateful(role: Role) -> bool:
    return role.serves


def _templates(structure: Structure) -> tuple[Template, ...]:
    return tuple(
        Template(role.name, ((stateful_set if _is_stateful(role) else indexed_job)(structure, role),))
        for role in structure.roles
    )


def _guards(structure: Structure) -> list[Guard]:
    return [
        *name_guards.short_stateful_sets(filter(_is_stateful, structure.roles)),
        *name_guards.short_hosts(structure, names.pod),
    ]


def _plan(structure: Structure) -> Plan:
    return released(structure, [role.name for role in structure.roles if _is_stateful(role)])


WORKLOAD: Final = Workload(templates=_templates, guards=_guards, is_scalable=_is_stateful, plan=_plan)
