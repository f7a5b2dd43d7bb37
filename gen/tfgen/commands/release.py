"""``tfgen release``: free the GPUs of a run, as the finisher does when the run ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.commands.cluster.target import Target, ownership, patch_object
from tfgen.errors import TfgenError
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object
from tfgen.live.api import NOT_FOUND, ApiError, find
from tfgen.live.run import DeclaredRun, Identity, end_of, suspend_path
from tfgen.live.run_state import query_parameters, queue_of, workload_kind
from tfgen.record import EMPTY, Record

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
    for step in [_plan(target, identity, run) for identity in objects]:
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
