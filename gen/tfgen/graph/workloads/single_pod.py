"""The one task of a job as a plain Pod, which is what a serverless container instance is billed by.

Nothing makes it anew: not when its node is lost, and not when it is deleted.
https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
"""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import Node, Splice
from tfgen.graph.objects import labels, names
from tfgen.graph.schedulers import queue_labels
from tfgen.graph.template import Template
from tfgen.graph.workloads import pod
from tfgen.graph.workloads.workload import Workload
from tfgen.job.training_job import Role, Structure

# It is there once: it has no index, and no peers that would name it.
_CONTROLLER: Final = pod.Controller(index_label="", fields={"restartPolicy": "OnFailure"})


def single_pod(structure: Structure, role: Role) -> Node:
    """The Pod of the job's one task. Its container is started again until it succeeds."""
    pods = pod.pods(structure, dict.fromkeys((member.name for member in structure.roles), _CONTROLLER))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": names.workload(role.name),
            "labels": {
                **labels.INSTALLED,
                Splice("pod"): pod.call_for_role(pods.labels, role.name),
                **queue_labels(structure),
            },
            "annotations": pod.call_for_role(pods.annotations, role.name),
        },
        "spec": pod.call_for_role(pods.spec, role.name),
    }


WORKLOAD: Final = Workload(
    templates=lambda structure: tuple(Template(role.name, single_pod(structure, role)) for role in structure.roles),
    guards=lambda _: (),
)
