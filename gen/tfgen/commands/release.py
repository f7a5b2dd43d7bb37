"""``tfgen release``: free the GPUs of a run, even before the run ends."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.cli.arguments import flag, release_arguments, run_arguments
from tfgen.cli.live import clusters_of, read_live_job, target_of
from tfgen.cli.output import OK, PROBLEMS, print_json, print_result
from tfgen.errors import TfgenError
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, identity
from tfgen.live.api import CONFLICT, NOT_FOUND, ONCE, Api, ApiError, find
from tfgen.live.clusters import read_pods
from tfgen.live.run import DeclaredRun, Identity, check_place, end_of, find_run, suspend_path
from tfgen.live.run_state import query_parameters, queue_of, workload_kind
from tfgen.live.target import Target, delete_object, ownership, patch_object, resource_of
from tfgen.live.tasks import LEASE_NAMESPACE, holds_a_node, sign_of_life
from tfgen.record import EMPTY, Record

EXAMPLE: Final = "tfgen release job.yaml --env prod"


def arguments(parser: ArgumentParser) -> None:
    run_arguments(parser, may_be_removed=True)
    flag(parser, "--lost", "delete only the pods on nodes that do not answer; their controllers create new pods")
    release_arguments(parser)


def run(args: Namespace) -> int:
    document = read_live_job(args)
    run = find_run(document, args.env, may_be_retired=True).run
    clusters = clusters_of(args, ONCE)
    if not clusters.is_place_set:
        check_place(run, "release")
    run = clusters.with_release_names(run, args.release)
    target = target_of(args, document, run, needs_inventory=False).replaced(run=run.run)
    is_left, rows = False, []
    for item in release_lost(target, run) if args.lost else release_run(target, run):
        is_left |= item.outcome == LEFT
        _, kind, name = item.identity
        row = {"kind": kind, "name": name, "outcome": item.outcome}
        if item.node:
            row["node"] = item.node
        if item.node or item.reason:
            row["reason"] = item.reason
        rows.append(row)
        if args.format != "json":  # as soon as tfgen has changed the object
            print_result(f"{kind} {name} {item.outcome}{f': {item.reason}' if item.reason else ''}", flush=True)
    if args.format == "json":
        print_json({"objects": rows})
    return PROBLEMS if is_left and not args.lost else OK


_ABSENT: Final = "not found"
_RELEASED_BEFORE: Final = "already released"
_ENDED_BEFORE: Final = "already ended"
LEFT: Final = "left"
"""The outcome for an object that the job did not create, and for a pod on a node that answers."""


class Released(Record):
    """The result of a release for an object.

    Attributes:
        identity: the object.
        outcome: "released", "already released", "already ended", "not found" or "left"; with --lost, "deleted" or
            "left".
        reason: the reason for the outcome "left", or a note about the object; may be empty.
        node: with --lost, the node of the pod.
    """

    identity: Identity
    outcome: str
    reason: str = ""
    node: str = ""


def release_run(target: Target, run: DeclaredRun) -> Iterator[Released]:
    """Free the GPUs of a run: scale its StatefulSets to 0, and suspend its Jobs, including the Job of the finisher.

    Helm, `kubectl apply` and GitOps tools do not reset `replicas` and `suspend` (docs/runs.md). The function releases
    the object that decides when the run ends, such as the chief's Job, after all other objects. So after an interrupt,
    this object is not yet released, and the next `tfgen release` frees the remaining objects.

    A suspended object gets an annotation, so that Argo CD ignores the object in the health of the Application. An
    Application with a suspended Job would otherwise never be Healthy again.

    Kueue starts a suspended object again. So for an object in a queue of Kueue, the function deactivates the Workload
    of the object. Then Kueue frees the quota and suspends the object.

    An object of the same name that the job did not create stays unchanged.

    Raises:
        ApiError: the user may not change the objects.
        TfgenError: an object of the run has no field that stops its pods, or the server does not answer in time.
    """
    last = run.deciding_object
    parts = [*run.controllers.values(), *([run.finisher] if run.finisher else [])]
    objects = [item for item in parts if item != last] + ([last] if last else [])
    # Plan all steps before the first request, so that an error leaves every object unchanged.
    for step in [_plan(target, item, run) for item in objects]:
        try:
            for path in step.paths:
                patch_object(target, step.live, path, step.patch)
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            yield Released(step.result.identity, _ABSENT)
        else:
            yield step.result


class _Step(Record):
    """The plan for the release of an object of a run: the requests to send, and the result to report.

    Attributes:
        result: the result to report after all requests have succeeded.
        live: the object in the cluster; empty for a missing object.
        paths: the URL paths of the requests; empty if the object needs no request. For an object in a queue of Kueue,
            the requests change the Workloads of the object. For any other object, the only request changes the object.
        patch: the merge patch, which all requests send.
    """

    result: Released
    live: Object = EMPTY
    paths: tuple[str, ...] = ()
    patch: Mapping[str, Any] = EMPTY


def _plan(target: Target, identity: Identity, run: DeclaredRun) -> _Step:
    resource = target.api.resource(*identity[:2])
    is_set = identity[1] == "StatefulSet"
    field = ("spec", "replicas") if is_set else suspend_path(*identity[:2])
    if not field:
        name = resource.full_name if resource else identity[1].lower()
        raise TfgenError(
            f"{run.title}: a {identity[1]} has no field that stops its pods; to free the GPUs, delete the object: "
            f"kubectl delete {name} {identity[2]} --namespace {target.namespace}"
        )
    answer = find(target.api, resource.at(target.namespace, identity[2])) if resource else None
    if resource is None or answer is None:
        return _Step(Released(identity, _ABSENT))
    live = {"apiVersion": identity[0], "kind": identity[1], **answer}
    owner = ownership(target, live)
    if not owner.is_own:
        return _Step(Released(identity, LEFT, owner.reason))
    if not is_set and end_of(live):
        return _Step(Released(identity, _ENDED_BEFORE))
    if queue_of(live):
        return _deactivation(target, live, identity, run)
    released: Any = 0 if is_set else True
    if (data_path.at(live, field) or 0) == released:
        return _Step(Released(identity, _RELEASED_BEFORE))
    path = resource.at(target.namespace, identity[2], *(["scale"] if is_set else []))
    annotations = {} if is_set else {"metadata": {"annotations": {keys.IGNORE_HEALTH: "true"}}}
    patch = data_path.with_value(annotations, field, released)
    return _Step(Released(identity, "released", owner.reason), live, (path,), patch)


def _deactivation(target: Target, live: Object, identity: Identity, run: DeclaredRun) -> _Step:
    """Return the requests that deactivate the Workloads of an object in a queue of Kueue.

    `live` is the object in the cluster.

    Raises:
        ApiError: the user may not list Workloads.
        TfgenError: the object has no Workload, so nothing stops its pods.
    """
    resource = target.api.resource(*workload_kind(target.api))
    workloads = target.api.objects(resource, target.namespace, query_parameters([live])) if resource else []
    if resource is None or not workloads:
        raise TfgenError(
            f"{run.title}: {identity[1]} {identity[2]} is in the queue {queue_of(live)}, but the cluster has no "
            "Workload for the object, so Kueue cannot free the quota; to free the GPUs, delete the job: "
            "tfgen delete JOB"
        )
    active = [workload for workload in workloads if (workload.get("spec") or {}).get("active", True)]
    paths = tuple(resource.at(target.namespace, workload["metadata"]["name"]) for workload in active)
    result = Released(identity, "released" if active else _RELEASED_BEFORE)
    return _Step(result, live, paths, {"spec": {"active": False}})


_STRATEGIC_MERGE: Final = "application/strategic-merge-patch+json"
_GONE: Final = (NOT_FOUND, CONFLICT)
"""The HTTP statuses for a pod that no longer exists, and for a new pod with the same name and a different uid."""


def release_lost(target: Target, run: DeclaredRun) -> Iterator[Released]:
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
    for pod in on_nodes:
        if not (reasons[pod["spec"]["nodeName"]] or pod["metadata"].get("ownerReferences")):
            raise TfgenError(
                f"{run.title}: no controller replaces the pod {pod['metadata']['name']}; delete the run and start a "
                "new one: tfgen delete JOB, tfgen rerun JOB"
            )
    for pod in on_nodes:
        name, node = ("v1", "Pod", pod["metadata"]["name"]), pod["spec"]["nodeName"]
        if not reasons[node]:
            _delete(target, {"apiVersion": "v1", "kind": "Pod", **pod})
        yield Released(name, LEFT if reasons[node] else "deleted", reasons[node], node)


def _sign_of_life(api: Api, name: str) -> str:
    """Return the reason why the node `name` may still run its pods; empty for a node that does not answer."""
    node = find(api, resource_of(api, ("v1", "Node", name)).at("", name))
    if node is None:
        return f"the cluster has no node {name}, so Kubernetes deletes its pods within a minute"
    lease = find(api, resource_of(api, ("coordination.k8s.io/v1", "Lease", name)).at(LEASE_NAMESPACE, name))
    return sign_of_life(node, lease, api.time)


def _delete(target: Target, pod: Object) -> None:
    """Mark a lost pod as failed, and delete the pod."""
    path = resource_of(target.api, identity(pod)).at(target.namespace, pod["metadata"]["name"], "status")
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByTfgen",
        "message": f"tfgen release --lost: the node {pod['spec']['nodeName']} does not answer",
        "lastTransitionTime": target.api.time.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    status = {"phase": "Failed", "conditions": [condition]}
    patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
    try:
        patch_object(target, pod, path, patch, _STRATEGIC_MERGE)
        delete_object(target, pod, {"gracePeriodSeconds": 0})
    except ApiError as error:
        if error.status not in _GONE:
            raise
