"""The workload kind Pod, which runs the only task of a job in a Pod without a controller.

The kind is useful on a serverless instance. If the node is lost or the Pod is deleted, no controller replaces the Pod.
https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
"""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import Node, Splice
from tfgen.graph.objects import naming
from tfgen.graph.schedulers import queue_labels
from tfgen.graph.template import Template
from tfgen.graph.workloads import role_pod
from tfgen.graph.workloads.workload import Workload
from tfgen.job.training_job import Role, Structure

# A single Pod has no index, and no other task looks up its name.
_CONTROLLER: Final = role_pod.Controller(index_label="", fields={"restartPolicy": "OnFailure"})


def single_pod(structure: Structure, role: Role) -> Node:
    """Return the Pod of the only task of a job. The kubelet restarts the container until the container succeeds."""
    pods = role_pod.pods(structure, dict.fromkeys((member.name for member in structure.roles), _CONTROLLER))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": naming.workload(role.name),
            "labels": {
                **naming.INSTALLED,
                Splice("pod"): role_pod.call_for_role(pods.labels, role.name),
                **queue_labels(structure),
            },
            "annotations": role_pod.call_for_role(pods.annotations, role.name),
        },
        "spec": role_pod.call_for_role(pods.spec, role.name),
    }


WORKLOAD: Final = Workload(
    templates=lambda structure: tuple(Template(role.name, single_pod(structure, role)) for role in structure.roles),
    guards=lambda _: (),
)
