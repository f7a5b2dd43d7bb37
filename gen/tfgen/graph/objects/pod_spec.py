"""The PodSpec of all pods that tfgen renders: tasks, the finisher, TensorBoard, tests and the ElasticDL master.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#PodSpec
"""

from __future__ import annotations

from collections.abc import Mapping

from tfgen.graph.holes import ABSENT, Comment, Key, Node
from tfgen.record import EMPTY, Record

_NO_SERVICE_LINKS = Comment(
    "No environment variables for Services: the variables of many Services can exceed the size limit of a process."
)


class PodParts(Record):
    """The parts of a PodSpec that differ between pods.

    Attributes:
        scheduler: the fields for a gang scheduler.
        copied: the fields that keys of the job set unchanged, such as `priorityClassName`.
        account: the name of the service account.
        needs_token: whether the pod calls the API server.
        lifecycle: the fields for restarts and deadlines, and the subdomain.
        scheduling: the fields for the placement on nodes.
        init_containers: the init containers and sidecars.
    """

    security_context: Node
    containers: Node
    scheduler: Mapping[Key, Node] = EMPTY
    copied: Mapping[Key, Node] = EMPTY
    account: Node = ABSENT
    needs_token: bool = False
    lifecycle: Mapping[Key, Node] = EMPTY
    scheduling: Mapping[Key, Node] = EMPTY
    pull_secrets: Node = ABSENT
    init_containers: Node = ABSENT
    volumes: Node = ABSENT


def pod_spec(parts: PodParts) -> dict[Key, Node]:
    """Return a PodSpec, with the scheduling fields before the security fields, and the containers last."""
    spec: dict[Key, Node] = {
        **parts.scheduler,
        **parts.copied,
        "serviceAccountName": parts.account,
        "automountServiceAccountToken": parts.needs_token,
        _NO_SERVICE_LINKS: None,
        "enableServiceLinks": False,
        **parts.lifecycle,
        "securityContext": parts.security_context,
        **parts.scheduling,
        "imagePullSecrets": parts.pull_secrets,
        "volumes": parts.volumes,
        "initContainers": parts.init_containers,
        "containers": parts.containers,
    }
    return {key: node for key, node in spec.items() if node is not ABSENT}
