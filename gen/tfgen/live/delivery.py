"""Reads the reason why a GitOps tool cannot apply a job, from the object of the tool that delivers the job.

The object is an Application of Argo CD, or a Kustomization or a HelmRelease of Flux:

- https://argo-cd.readthedocs.io/en/stable/operator-manual/application.yaml
- https://fluxcd.io/flux/components/kustomize/kustomizations/#conditions
- https://fluxcd.io/flux/components/helm/helmreleases/#conditions
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.kubernetes.object import Object
from tfgen.live.declared_run import APPLICATION
from tfgen.live.refusal import brief_reason
from tfgen.live.task_state import Reason
from tfgen.plural import count

_NOISE: Final = re.compile(
    r"\AHelm \w+ failed for release \S+ with chart \S+: |error when \w+ \"[^\"]*\": |\.? Retrying attempt #.*",
    re.DOTALL,
)
"""Parts of a message that repeat the name of the release, or change with each retry."""


def delivery_reason(item: Object) -> Reason | None:
    """Return the reason why a GitOps tool cannot apply a commit; None while the tool has no error."""
    status: Mapping[str, Any] = item.get("status") or {}
    conditions: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
    if item["kind"] == APPLICATION[1]:
        error = next((each for each in conditions if each["type"].endswith("Error")), None)
        return _reason(error["type"], error) if error else _sync_reason(status)
    # While Flux retries an upgrade, the condition Ready contains only the time of the next try.
    failed = {each["type"]: each for each in conditions if each["status"] == "False"}
    condition = failed.get("Released") or failed.get("Ready")
    return _reason(condition["reason"], condition) if condition else None


def _sync_reason(status: Mapping[str, Any]) -> Reason | None:
    """Return the reason why the last sync of an Application failed.

    If the cluster has the newest commit, the failure of an earlier commit is no reason.
    """
    operation: Mapping[str, Any] = status.get("operationState") or {}
    is_failed = operation.get("phase") in ("Failed", "Error") or operation.get("retryCount")
    if not is_failed or (status.get("sync") or {}).get("status") == "Synced":
        return None
    results: Sequence[Mapping[str, Any]] = (operation.get("syncResult") or {}).get("resources") or ()
    failed = sorted(
        (each for each in results if each.get("status") == "SyncFailed"), key=lambda each: (each["kind"], each["name"])
    )
    if not failed:
        return _reason("SyncFailed", operation)
    first = failed[0]
    others = f"; Argo CD could not apply {count(len(failed) - 1, 'more object')}" if len(failed) > 1 else ""
    return Reason("SyncFailed", f"{first['kind']} {first['name']}: {_reason('SyncFailed', first).message}{others}")


def _reason(word: str, item: Mapping[str, Any]) -> Reason:
    """Return a reason with the message of a condition, an operation or a result."""
    message = _NOISE.sub("", item.get("message") or "").strip()
    return Reason(word, brief_reason({"message": message}) if message else "")
