"""The state of a node, from the node's condition Ready and from the lease that the node's kubelet renews.

The node controller sets the status of Ready to Unknown if the kubelet does not report for a grace period, by default 50
seconds (https://kubernetes.io/docs/reference/node/node-status/). A working kubelet sets the status to True or False.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from tfgen.kubernetes.object import Object
from tfgen.record import EMPTY

LEASE_NAMESPACE: Final = "kube-node-lease"
_DURATION: Final = 40
"""Seconds for which a lease is valid, unless the lease sets another duration."""


def ready_condition(node: Object) -> Mapping[str, Any]:
    """Return the condition Ready of a node; empty for a node whose kubelet has never reported."""
    conditions: list[Mapping[str, Any]] = (node.get("status") or {}).get("conditions") or []
    return next((condition for condition in conditions if condition["type"] == "Ready"), EMPTY)


def is_ready(node: Object) -> bool:
    """Test whether a node is ready."""
    return ready_condition(node).get("status") == "True"


def is_silent(node: Object) -> bool:
    """Test whether the kubelet of a node has sent no report for the grace period of the node controller."""
    return ready_condition(node).get("status") == "Unknown"


def sign_of_life(node: Object, lease: Object | None, now: datetime) -> str:
    """Return the reason why a node may still run its pods; empty for a node that does not answer.

    Args:
        node: the node.
        lease: the lease that the node's kubelet renews; None for a node without a lease.
        now: the time of the API server.
    """
    name = node["metadata"]["name"]
    if is_ready(node):
        return f"{name} is ready"
    if not is_silent(node):
        condition = ready_condition(node)
        reason = condition.get("message") or condition.get("reason") or "no message"
        return f"the kubelet of {name} answers, and reports that the node is not ready ({reason})"
    spec: Mapping[str, Any] = (lease or {}).get("spec") or {}
    if not spec.get("renewTime"):
        return ""
    seconds = (now - datetime.fromisoformat(spec["renewTime"])).total_seconds()
    is_old = seconds > (spec.get("leaseDurationSeconds") or _DURATION)
    return "" if is_old else f"the kubelet of {name} renewed its lease {max(seconds, 0):.0f} s ago"
