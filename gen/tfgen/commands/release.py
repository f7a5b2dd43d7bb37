"""``tfgen release``: free the GPUs of a run, even before the run ends."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.cli.arguments import release_arguments, run_arguments
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
    parser.add_argument(
        "--lost",
        action="store_true",
        help="delete only the pods on nodes that do not answer; their controllers create new pods",
    )
    release_arguments(parser)


def run(args: Namespace) -> int:
    document = read_live_job(args)
    run = find_run(document, args.env, may_be_retired=True).run
    clusters = clusters_of(args, ONCE)
    if not clusters.is_place_set:
        check_place(run, "release")
    run = clusters.with_release_names(run, args.release)
    target = target_of(args, document, run, needs_inventory=False).replaced(run=run.run)
    if args.lost:
        _print_rows(args, _lost_rows(release_lost(target, run)))
        return OK
    outcomes = _print_rows(args, _rows(release_run(target, run)))
    return PROBLEMS if LEFT in outcomes else OK


def _print_rows(args: Namespace, rows: Iterable[Mapping[str, str]]) -> set[str]:
    """Print a row for each object as soon as tfgen has changed the object: kind, name, outcome and reason.

    Return the outcomes.
    """
    outcomes = set()
    printed = []
    for row in rows:
        outcomes.add(row["outcome"])
        printed.append(row)
        if args.format != "json":
            reason = f": {row['reason']}" if row.get("reason") else ""
            print_result(f"{row['kind']} {row['name']} {row['outcome']}{reason}", flush=True)
    if args.format == "json":
        print_json({"objects": printed})
    return outcomes


def _rows(items: Iterable[Released]) -> Iterator[Mapping[str, str]]:
    for item in items:
        _, kind, name = item.identity
        yield {"kind": kind, "name": name, "outcome": item.outcome, **({"reason": item.reason} if item.reason else {})}


def _lost_rows(items: Iterable[ReleasedPod]) -> Iterator[Mapping[str, str]]:
    for item in items:
        outcome = "deleted" if item.is_deleted else "left"
        yield {"kind": "Pod", "name": item.pod, "outcome": outcome, "node": item.node, "reason": item.reason}


_ABSENT: Final = "not found"
_RELEASED_BEFORE: Final = "already released"
_ENDED_BEFORE: Final = "already ended"
LEFT: Final = "left"
"""The outcome for an object that the job did not create."""


class Released(Record):
    """The result of a release for an object.

    Attributes:
        identity: the object.
        outcome: "released", "already released", "already ended", "not found" or "left".
        reason: the reason for the outcome "left", or a note about the object; may be empty.
    """

    identity: Identity
    outcome: str
    reason: str = ""


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
        yield _free(target, step)


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


def _free(target: Target, step: _Step) -> Released:
    try:
        for path in step.paths:
            patch_object(target, step.live, path, step.patch)
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        return Released(step.result.identity, _ABSENT)
    return step.result


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
