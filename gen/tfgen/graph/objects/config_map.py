"""The ConfigMap of a run. The environment variables of every task read the hosts of the cluster from the ConfigMap."""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import Comment, Key, Node
from tfgen.graph.objects import cluster_spec, labels, names
from tfgen.job.training_job import Structure

CLUSTER: Final = "cluster"
EVALUATOR_CLUSTER: Final = "evaluatorCluster"
PS_HOSTS: Final = "psHosts"
WORKER_HOSTS: Final = "workerHosts"


def config_map(structure: Structure, pod: cluster_spec.PodName) -> Node:
    """Return the ConfigMap of a run. The ConfigMap is immutable, so that a restarted task sees the same cluster."""
    data: dict[Key, Node] = {CLUSTER: cluster_spec.cluster(structure, pod)}
    if structure.role("evaluator"):
        data[EVALUATOR_CLUSTER] = cluster_spec.evaluator_cluster(structure, pod)
    if structure.legacy_flags or structure.legacy_variables:
        data[PS_HOSTS] = cluster_spec.host_list(structure, "ps", pod)
    if structure.legacy_flags or structure.legacy_variables or structure.uses_keras_distribution:
        data[WORKER_HOSTS] = cluster_spec.host_list(structure, "worker", pod)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": labels.metadata(names.RUN, annotations=labels.BEFORE_PODS),
        Comment("A restarted task must see the same cluster as the running tasks."): None,
        "immutable": True,
        "data": data,
    }
