"""Reads the Workload that Kueue creates for an object in a queue: https://kueue.sigs.k8s.io/docs/concepts/workload/.

While the Workload of an object, such as a Job, has quota, Kueue starts the object again after a user suspends the
object. A Workload with `spec.active: false` has no quota, so Kueue suspends the object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, creation_time
from tfgen.live.api import Api
from tfgen.live.run_end import is_suspended
from tfgen.live.task_state import Reason

KIND: Final = "Workload"
_VERSIONS: Final = ("kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1")
"""Versions of Kueue's API, the newest first. Each version has all fields that this module reads."""


def workload_kind(api: Api) -> tuple[str, str]:
    """Return the API version and the kind of Kueue's Workload, such as ("kueue.x-k8s.io/v1beta1", "Workload").

    The API version is the newest version that both tfgen and the cluster support. For a cluster without Kueue, return
    the newest version that tfgen supports.
    """
    return next((version for version in _VERSIONS if api.resource(version, KIND)), _VERSIONS[0]), KIND


def query_parameters(items: Iterable[Object]) -> Mapping[str, str]:
    """Return the query parameters of a request that lists the Workloads of the given objects.

    Example: {"labelSelector": "kueue.x-k8s.io/job-uid in (c6f0..., e1b2...)"}.
    """
    uids = ",".join(sorted(item["metadata"]["uid"] for item in items))
    return {"labelSelector": f"{keys.QUEUED_OBJECT} in ({uids})"}


def workload_of(item: Object, workloads: Iterable[Object]) -> Object | None:
    """Return the newest Workload of an object; None for an object without a Workload."""
    uid = item["metadata"]["uid"]
    matches = [item for item in workloads if item["metadata"].get("labels", {}).get(keys.QUEUED_OBJECT) == uid]
    return max(matches, key=creation_time, default=None)


def queue_of(item: Object) -> str:
    """Return the name of the Kueue queue in an object's label; empty for an object without a queue."""
    queue: str = (item["metadata"].get("labels") or {}).get(keys.QUEUE, "")
    return queue


def queue_reason(item: Object, workload: Object | None) -> Reason | None:
    """Return the reason why an object waits in the queue; None after Kueue has admitted the object."""
    if workload is None:
        text = "Kueue has created no Workload; check that Kueue runs and manages this kind of object"
        return Reason("NoWorkload", text) if is_suspended(item) else None
    conditions: dict[str, Mapping[str, Any]] = {
        condition["type"]: condition for condition in (workload.get("status") or {}).get("conditions") or ()
    }
    if _is_true(conditions, "Finished") or _is_true(conditions, "Admitted"):
        return None
    if (workload.get("spec") or {}).get("active") is False:
        return Reason("Deactivated", conditions.get("Evicted", {}).get("message") or "the Workload is inactive")
    if _is_true(conditions, "QuotaReserved"):
        return _reason(conditions.get("Admitted")) or Reason("QuotaReserved", _waiting_checks(workload))
    waiting, evicted = _reason(conditions.get("QuotaReserved")), conditions.get("Evicted")
    if evicted and _is_true(conditions, "Evicted"):
        message = evicted.get("message", "")
        suffix = f"; {waiting.message}" if waiting and waiting.message != message else ""
        return Reason("Evicted", f"{evicted.get('reason', '')}: {message}{suffix}")
    return waiting or Reason("Pending", "Kueue has not processed the Workload yet")


def _waiting_checks(workload: Object) -> str:
    """Return a text with each admission check of a Workload that is not ready.

    Example: "the quota is reserved; the Workload waits for CHECK: Pending".
    """
    checks = (workload.get("status") or {}).get("admissionChecks") or ()
    texts = [
        f"{check['name']}: {check.get('message') or check['state']}" for check in checks if check["state"] != "Ready"
    ]
    return f"the quota is reserved; the Workload waits for {'; '.join(texts) or 'the admission checks'}"


def _is_true(conditions: Mapping[str, Mapping[str, Any]], name: str) -> bool:
    return conditions.get(name, {}).get("status") == "True"


def _reason(condition: Mapping[str, Any] | None) -> Reason | None:
    return Reason(condition.get("reason", condition["type"]), condition.get("message", "")) if condition else None
