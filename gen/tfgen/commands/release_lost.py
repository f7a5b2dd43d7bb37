"""``tfgen release --lost``: delete the pods of a run on nodes that do not answer, so that controllers replace the pods.

tfgen takes the steps of Kubernetes' pod garbage collector for a node with the taint `out-of-service`
(pkg/controller/podgc/gc_controller.go): the pod gets the phase Failed and the condition DisruptionTarget, and is then
deleted without a grace period. Because of the condition, a Job does not count the pod as a retry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tfgen.commands.cluster.target import Target, delete_object, patch_object, resource_of
from tfgen.errors import TfgenError
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, identity
from tfgen.live.api import CONFLICT, NOT_FOUND, Api, ApiError, find
from tfgen.live.nodes import LEASE_NAMESPACE, holds_a_node, sign_of_life
from tfgen.live.read_cluster import read_pods
from tfgen.live.run import DeclaredRun
from tfgen.record import Record

_STRATEGIC_MERGE: Final = "application/strategic-merge-patch+json"
_REASON: Final = "DeletionByTfgen"
_GONE: Final = (NOT_FOUND, CONFLICT)
"""The HTTP statuses for a pod that no longer exists, and for a new pod with the same name and a different uid."""


class ReleasedPod(Record):
    """The outcome of `tfgen release --lost` for a pod.

    Attributes:
        pod: the name of the pod.
        node: the node of the pod.
        is_deleted: whether the pod is deleted.
        reason: the reason why the pod is not deleted; empty for a deleted pod.
    """

    pod: str
    node: str
    is_deleted: bool
    reason: str = ""


def release_lost(target: Target, run: DeclaredRun) -> Iterator[ReleasedPod]:
    """Delete the pods of a run on nodes that do not answer. Yield the outcome for each pod.

    Raises:
        ApiError: the user may not read the nodes or their leases, or may not delete the pods.
        TfgenError: no pod is on a node that does not answer, or the server does not answer in time.
    """
    api, namespace = target.api, target.namespace
    pods = read_pods(api, namespace, {keys.JOB: run.full_name, keys.RUN: run.run})
    on_nodes = sorted(filter(holds_a_node, pods), key=lambda pod: str(pod["metadata"]["name"]))
    reasons = {name: _sign_of_life(api, name) for name in sorted({pod["spec"]["nodeName"] for pod in on_nodes})}
    if all(reasons.values()):
        signs = "; ".join(reasons.values()) or f"the namespace {namespace} has no pod of the run that occupies a node"
        raise TfgenError(f"{run.title}: no pod is on a node that does not answer: {signs}")
    _check_controllers(run, (pod for pod in on_nodes if not reasons[pod["spec"]["nodeName"]]))
    for pod in on_nodes:
        node = pod["spec"]["nodeName"]
        if reasons[node]:
            yield ReleasedPod(pod["metadata"]["name"], node, is_deleted=False, reason=reasons[node])
        else:
            _delete(target, {"apiVersion": "v1", "kind": "Pod", **pod})
            yield ReleasedPod(pod["metadata"]["name"], node, is_deleted=True)


def _sign_of_life(api: Api, name: str) -> str:
    """Return the reason why the node `name` may still run its pods; empty for a node that does not answer."""
    node = find(api, resource_of(api, ("v1", "Node", name)).at("", name))
    if node is None:
        return f"the cluster has no node {name}, so Kubernetes deletes its pods within a minute"
    lease = find(api, resource_of(api, ("coordination.k8s.io/v1", "Lease", name)).at(LEASE_NAMESPACE, name))
    return sign_of_life(node, lease, api.time)


def _check_controllers(run: DeclaredRun, pods: Iterable[Object]) -> None:
    """Raise TfgenError if a pod in `pods` has no controller, because nothing would replace the deleted pod."""
    bare = [pod["metadata"]["name"] for pod in pods if not pod["metadata"].get("ownerReferences")]
    if bare:
        raise TfgenError(
            f"{run.title}: no controller replaces the pod {bare[0]}; delete the run and start a new one: "
            "tfgen delete JOB, tfgen rerun JOB"
        )


def _delete(target: Target, pod: Object) -> None:
    path = resource_of(target.api, identity(pod)).at(target.namespace, pod["metadata"]["name"], "status")
    try:
        patch_object(target, pod, path, _failure(pod, target.api), _STRATEGIC_MERGE)
        delete_object(target, pod, {"gracePeriodSeconds": 0})
    except ApiError as error:
        if error.status not in _GONE:
            raise


def _failure(pod: Object, api: Api) -> Mapping[str, Any]:
    """Return the status patch that marks a lost pod as failed."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": _REASON,
        "message": f"tfgen release --lost: the node {pod['spec']['nodeName']} does not answer",
        "lastTransitionTime": api.time.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"phase": "Failed", "conditions": [condition]}}
