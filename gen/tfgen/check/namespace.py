"""Whether a namespace takes a job's pods: its quotas and ranges of amounts, and the way out of it.

    quota_faults(objects, manifests)  ->  [Fault(chief, (..., "resources"), "ResourceQuota a of k8s/a.yaml wants ...")]

https://kubernetes.io/docs/concepts/policy/resource-quotas/ and .../limit-range/. A pod that is refused is no object
that anybody sees: the Job or StatefulSet is there, and stays empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.check.manifests import Manifest
from tfgen.check.object_checks import policies
from tfgen.check.object_checks.fault import Fault, Objects
from tfgen.check.object_checks.pods import Pods
from tfgen.kubernetes import keys, quantity
from tfgen.kubernetes.object import Object

# What a quota makes each container say; of all else it counts what is said.
# https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/quota/v1/evaluator/core/pods.go (validationSet)
_WANTED: Final[Mapping[str, tuple[str, str]]] = {
    "cpu": ("requests", "cpu"),
    "memory": ("requests", "memory"),
    **{f"{part}.{name}": (part, name) for part in ("requests", "limits") for name in ("cpu", "memory")},
}

_ROLES: Final = ("chief", "ps", "worker", "evaluator")
_API_SERVER: Final = (443, 6443)  # of its Service, and that it listens at

NAMESPACE_EGRESS: Final = "namespace-egress"
NAMESPACE_QUOTA: Final = "namespace-quota"

RULES: Final[Mapping[str, str]] = {
    NAMESPACE_EGRESS: "A policy of the namespace keeps a job from what it needs.",
    NAMESPACE_QUOTA: "A quota or a range of the namespace refuses a container of a job.",
}
"""What each rule says; it begins the rule's section of docs/rules.md. All are warnings: a manifest may be another
cluster's."""

Amounts = dict[str, dict[str, Any]]


def namespace_faults(
    objects: Objects, manifests: Sequence[Manifest], namespace: str | None
) -> Iterator[tuple[str, Fault]]:
    """All faults, each with its rule, by the manifests of a namespace."""
    of_namespace = [manifest for manifest in manifests if manifest.namespace == namespace]
    if not of_namespace:
        return
    yield from ((NAMESPACE_QUOTA, fault) for fault in quota_faults(objects, of_namespace))
    yield from ((NAMESPACE_EGRESS, fault) for fault in egress_faults(objects, of_namespace))


def quota_faults(objects: Objects, manifests: Sequence[Manifest]) -> Iterator[Fault]:
    """Each container that a quota or a range of the job's namespace refuses."""
    ranges = [
        (manifest, limit) for manifest in _of_kind(manifests, "LimitRange") for limit in _container_limits(manifest)
    ]
    quotas = [manifest for manifest in _of_kind(manifests, "ResourceQuota") if _is_for_all(manifest)]
    for pods in objects.pods:
        for path, container in pods.containers:
            amounts = _defaulted(container, [limit for _, limit in ranges])
            what = f"the container {container['name']}"
            for quota in quotas:
                for name in sorted(_WANTED.keys() & _map(quota.item["spec"].get("hard"))):
                    part, resource = _WANTED[name]
                    if resource not in amounts[part]:
                        message = f"{quota} counts {name}, so that {what} must say its {part} of {resource}"
                        yield Fault(pods.owner, (*path, "resources", part, resource), message)
            for manifest, limit in ranges:
                for part, resource, message in _beyond(amounts, limit):
                    yield Fault(pods.owner, (*path, "resources", part, resource), f"{manifest} {message} of {what}")


def egress_faults(objects: Objects, manifests: Sequence[Manifest]) -> Iterator[Fault]:
    """The first of the job's pods that a policy of its namespace keeps from what they need."""
    theirs = _of_kind(manifests, "NetworkPolicy")
    every = (*objects.of_kind("NetworkPolicy"), *(manifest.item for manifest in theirs))
    for pods in objects.pods:
        governing = [manifest for manifest in theirs if policies.governing([manifest.item], pods, "Egress")]
        closed = _closed(objects, every, pods) if governing else ""
        if closed:
            message = (
                f"{governing[0]} keeps the pods from {closed}, so that the job never starts, or never ends; set "
                "network.egress.limited to true, which writes the rules that it needs"
            )
            yield Fault(pods.owner, (), message)
            return


def _closed(objects: Objects, every: Sequence[Object], pods: Pods) -> str:
    """What pods of the job need and do not reach; empty where there is none."""
    if pods.spec.get("automountServiceAccountToken"):
        own = policies.governing(objects.of_kind("NetworkPolicy"), pods, "Egress")
        reaches = own or any(policies.may_leave(every, pods, port, "TCP") for port in _API_SERVER)
        return "" if reaches else "the API server"  # the job's own policies are told its ports
    if pods.labels.get(keys.ROLE) not in _ROLES:
        return ""
    if not all(policies.may_leave(every, pods, 53, protocol) for protocol in ("UDP", "TCP")):
        return "DNS"
    peers = [peer for peer in objects.pods if peer.labels.get(keys.ROLE) in _ROLES]
    ways = [(peer, port["containerPort"]) for peer in peers for port in peer.ports]
    return "" if all(policies.leaves(every, pods, peer, port, "TCP") for peer, port in ways) else "each other"


def _of_kind(manifests: Sequence[Manifest], kind: str) -> list[Manifest]:
    return [manifest for manifest in manifests if manifest.item["kind"] == kind]


def _is_for_all(quota: Manifest) -> bool:
    """Whether a quota is about all pods: those of a scope are few, and the scope may be none that a job is in."""
    spec = quota.item["spec"]
    return not spec.get("scopes") and not spec.get("scopeSelector")


# -- amounts -------------------------------------------------------------------------------------------------------


def _map(value: Any) -> dict[str, Any]:
    """The amounts of a map; nothing where it is none, or where one of them is no quantity."""
    amounts = value if isinstance(value, dict) else {}
    return {name: amount for name, amount in amounts.items() if quantity.is_quantity(amount)}


def _container_limits(manifest: Manifest) -> list[Mapping[str, Any]]:
    limits = manifest.item["spec"].get("limits")
    items = limits if isinstance(limits, list) else []
    return [limit for limit in items if isinstance(limit, dict) and limit.get("type") == "Container"]


def _defaulted(container: Mapping[str, Any], ranges: Sequence[Mapping[str, Any]]) -> Amounts:
    """A container's amounts as they stand once the API server has filled them in.

    https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/v1/defaults.go (SetDefaults_LimitRangeItem,
    SetDefaults_Pod)
    """
    resources = container.get("resources") or {}
    limits, requests = dict(resources.get("limits") or {}), dict(resources.get("requests") or {})
    requests = {**limits, **requests}
    for limit in ranges:
        default = {**_map(limit.get("max")), **_map(limit.get("default"))}
        default_request = {**_map(limit.get("min")), **default, **_map(limit.get("defaultRequest"))}
        limits = {**default, **limits}
        requests = {**default_request, **requests}
    return {"limits": limits, "requests": requests}


def _beyond(amounts: Amounts, limit: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Each amount outside a range: whether it is a request or a limit, of what, and how it is refused."""
    for resource, least in sorted(_map(limit.get("min")).items()):
        asked = amounts["requests"].get(resource)
        if asked is not None and quantity.parse(asked) < quantity.parse(least):
            yield "requests", resource, f"wants {least} of {resource} at least, more than the {asked} requested"
    for resource, most in sorted(_map(limit.get("max")).items()):
        allowed = amounts["limits"].get(resource)
        if allowed is not None and quantity.parse(allowed) > quantity.parse(most):
            yield "limits", resource, f"allows {most} of {resource} at most, less than the limit {allowed}"
    for resource, ratio in sorted(_map(limit.get("maxLimitRequestRatio")).items()):
        asked, allowed = amounts["requests"].get(resource), amounts["limits"].get(resource)
        if asked and allowed and quantity.parse(allowed) > quantity.parse(asked) * quantity.parse(ratio):
            yield "limits", resource, f"allows a limit of {ratio} times the request of {resource}, less than {allowed}"
