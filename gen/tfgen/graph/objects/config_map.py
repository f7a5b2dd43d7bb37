"""The run's ConfigMap: the cluster, once, from which every task's TF_CONFIG is made."""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import Comment, Key, Node
from tfgen.graph.objects import cluster_spec, labels, names
from tfgen.job.training_job import Structure
from tfgen.kubernetes import keys

CLUSTER: Final = "cluster"
EVALUATOR_CLUSTER: Final = "evaluatorCluster"
PS_HOSTS: Final = "psHosts"
WORKER_HOSTS: Final = "workerHosts"


def config_map(structure: Structure, pod: cluster_spec.PodName) -> Node:
    """The ConfigMap. It cannot be changed: a task that is started again must see the cluster that its peers saw."""
    data: dict[Key, Node] = {CLUSTER: cluster_spec.cluster(structure, pod)}
    if structure.role("evaluator"):
        data[EVALUATOR_CLUSTER] = cluster_spec.evaluator_cluster(structure, pod)
    if structure.legacy_flags or structure.legacy_variables:
        data[PS_HOSTS] = cluster_spec.host_list(structure, "ps", pod)
        data[WORKER_HOSTS] = cluster_spec.host_list(structure, "worker", pod)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": labels.metadata(names.RUN, annotations=keys.BEFORE_PODS),
        Comment("A task that is started again must see the cluster that its peers saw."): None,
        "immutable": True,
        "data": data,
    }
