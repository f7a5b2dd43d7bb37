"""The skeleton of every pod that tfgen makes: a task's, the finisher's, TensorBoard's, a test's, ElasticDL's master's.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#PodSpec
"""

from __future__ import annotations

from collections.abc import Mapping

from tfgen.graph.holes import ABSENT, Comment, Key, Node
from tfgen.record import EMPTY

_NO_SERVICE_LINKS = Comment(
    "No variables for the Services of the namespace: many of them can fill a container's environment."
)


def pod_spec(
    *,
    security_context: Node,
    containers: Node,
    scheduler: Mapping[Key, Node] = EMPTY,
    priority: Node = ABSENT,
    runtime_class: Node = ABSENT,
    account: Node = ABSENT,
    needs_token: bool = False,
    ending: Mapping[Key, Node] = EMPTY,
    scheduling: Mapping[Key, Node] = EMPTY,
    pull_secrets: Node = ABSENT,
    init_containers: Node = ABSENT,
    volumes: Node = ABSENT,
) -> dict[Key, Node]:
    """The spec of a pod, in the order in which a reader looks for its fields.

    Args:
        security_context: the pod's.
        containers: its containers.
        scheduler: what a gang's scheduler asks for.
        priority: the name of its priority class.
        runtime_class: the name of its runtime class.
        account: the name of its service account.
        needs_token: whether it talks to the API server.
        ending: what says whether and when it ends, and whether it is started again; its subdomain.
        scheduling: what says where it may run.
        pull_secrets: the secrets by which its images are pulled.
        init_containers: what runs before the containers, or beside them.
        volumes: its volumes.
    """
    spec: dict[Key, Node] = {
        **scheduler,
        "priorityClassName": priority,
        "runtimeClassName": runtime_class,
        "serviceAccountName": account,
        "automountServiceAccountToken": needs_token,
        _NO_SERVICE_LINKS: None,
        "enableServiceLinks": False,
        **ending,
        "securityContext": security_context,
        **scheduling,
        "imagePullSecrets": pull_secrets,
        "volumes": volumes,
        "initContainers": init_containers,
        "containers": containers,
    }
    return {key: node for key, node in spec.items() if node is not ABSENT}
