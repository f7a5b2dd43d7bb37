"""A role that serves until the job is done: a StatefulSet, whose pods always restart."""

from __future__ import annotations

from tfgen import cluster_spec
from tfgen.holes import Node
from tfgen.job import Role, Structure
from tfgen.objects import labels, names, pod


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
        "template": pod.template(structure, role, index_label=labels.STATEFUL_SET_INDEX, restart={}),
    }
    metadata = labels.metadata(names.workload(role.name), role.name)
    return pod.document(role.name, {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec})
