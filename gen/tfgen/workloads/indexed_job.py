"""A role that ends, or that is ended by suspending it: an Indexed Job, whose pods have stable host names.

https://kubernetes.io/docs/tasks/job/job-with-pod-to-pod-communication/
"""

from __future__ import annotations

from typing import Final

from tfgen import cluster_spec
from tfgen.holes import Node
from tfgen.job import Role, Structure
from tfgen.objects import labels, names, pod
from tfgen.objects.values import value

# A pod that its node or the scheduler takes away is no failure of the program.
IGNORE_DISRUPTIONS: Final[Node] = {
    "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
}


def indexed_job(structure: Structure, role: Role) -> Node:
    """The Job of a role: each task one index. A pod is replaced only once it has ended: never two chiefs at once."""
    replicas = cluster_spec.replicas(role.name)
    subdomain: dict[str, Node] = {"subdomain": names.RUN} if structure.is_distributed else {}
    spec: dict[str, Node] = {
        "completions": replicas,
        "parallelism": replicas,
        "completionMode": "Indexed",
        **_retries(role),
        **_success(structure, role),
        "podReplacementPolicy": "Failed",
        "podFailurePolicy": IGNORE_DISRUPTIONS,
        "template": pod.template(
            structure, role, index_label=labels.JOB_INDEX, restart={**subdomain, "restartPolicy": "Never"}
        ),
    }
    metadata = labels.metadata(names.workload(role.name), role.name)
    return pod.document(role.name, {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})


def _retries(role: Role) -> dict[str, Node]:
    """How often a task may fail. By index where there are several.

    The peers of a lost worker fail with it; counted together, eight of them end the job at once, or wait ten minutes
    for the next try. https://kubernetes.io/docs/concepts/workloads/controllers/job/#backoff-limit-per-index
    """
    if role.name in cluster_spec.SINGLE:
        return {"backoffLimit": value("retries")}
    return {"backoffLimitPerIndex": value("retries"), "maxFailedIndexes": 0}


def _success(structure: Structure, role: Role) -> dict[str, Node]:
    """Worker 0's success is the job's, where it is waited for; the others are ended then."""
    if role.name == structure.ends and structure.completion == "Worker0":
        return {"successPolicy": {"rules": [{"succeededIndexes": "0"}]}}
    return {}
