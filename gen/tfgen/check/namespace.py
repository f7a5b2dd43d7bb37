"""Restrictions of a namespace on the pods of a job: quotas, limit ranges and egress policies.

https://kubernetes.io/docs/concepts/policy/resource-quotas/ and .../limit-range/. These problems are hard to see in a
cluster: Kubernetes accepts the Job or StatefulSet, and then refuses its pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.check.manifests import Manifest
from tfgen.check.object_links import ObjectFault, Objects, Port, allows, allows_egress_outside, policies_for
from tfgen.kubernetes import keys, quantity
from tfgen.kubernetes.object import Object
from tfgen.kubernetes.pods import Pods

# The amounts that each container must set if a quota counts the resource.
# https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/quota/v1/evaluator/core/pods.go (validationSet)
_REQUIRED: Final[Mapping[str, tuple[str, str]]] = {
    "cpu": ("requests", "cpu"),
    "memory": ("requests", "memory"),
    **{f"{part}.{name}": (part, name) for part in ("requests", "limits") for name in ("cpu", "memory")},
}

_ROLES: Final = ("chief", "ps", "worker", "evaluator")
_API_SERVER_PORTS: Final = (443, 6443)  # the port of the Service kubernetes, and the usual port of the API server

NAMESPACE_EGRESS: Final = "namespace-egress"
NAMESPACE_QUOTA: Final = "namespace-quota"

RULES: Final[Mapping[str, str]] = {
    NAMESPACE_EGRESS: "A network policy of the namespace blocks a connection that a job needs.",
    NAMESPACE_QUOTA: "A ResourceQuota or LimitRange of the namespace refuses a container of a job.",
}
"""The summary of each rule, which begins the section of the rule in docs/rules.md. All rules are warnings, because a
manifest may be for a different cluster."""

Amounts = dict[str, dict[str, Any]]


def namespace_faults(objects: Objects, manifests: Sequence[Manifest], namespace: str | None) -> Iterator[ObjectFault]:
    """Yield each fault that the manifests of a namespace cause in a job's objects.

    The function ignores the manifests of other namespaces than `namespace`.
    """
    in_namespace = [manifest for manifest in manifests if manifest.namespace == namespace]
    if in_namespace:
        yield from _quota_faults(objects, in_namespace)
        yield from _egress_faults(objects, in_namespace)


def _quota_faults(objects: Objects, manifests: Sequence[Manifest]) -> Iterator[ObjectFault]:
    """Yield a fault for each container that a ResourceQuota or a LimitRange of the namespace refuses."""
    ranges = [
        (manifest, limit) for manifest in _of_kind(manifests, "LimitRange") for limit in _container_limits(manifest)
    ]
    quotas = [
        manifest
        for manifest in _of_kind(manifests, "ResourceQuota")
        # A quota with scopes may count no pods of the job.
        if not manifest.item["spec"].get("scopes") and not manifest.item["spec"].get("scopeSelector")
    ]
    for pods in objects.pods:
        for path, container in pods.containers:
            amounts = _defaulted(container, [limit for _, limit in ranges])
            subject = f"the container {container['name']}"
            refused: list[tuple[str, str, str]] = []
            for quota in quotas:
                for name in sorted(_REQUIRED.keys() & _quantities(quota.item["spec"].get("hard"))):
                    part, resource = _REQUIRED[name]
                    if resource not in amounts[part]:
                        message = f"{quota} counts {name}, so {subject} must set {part}.{resource}"
                        refused.append((part, resource, message))
            for manifest, limit in ranges:
                for part, resource, reason in _out_of_range(amounts, limit):
                    refused.append((part, resource, f"{manifest} {reason} of {subject}"))
            for part, resource, message in refused:
                yield ObjectFault(pods.owner, (*path, "resources", part, resource), message, NAMESPACE_QUOTA, "warning")


def _egress_faults(objects: Objects, manifests: Sequence[Manifest]) -> Iterator[ObjectFault]:
    """Yield a fault if a network policy of the namespace blocks a connection that pods of the job need."""
    foreign = _of_kind(manifests, "NetworkPolicy")
    all_policies = (*objects.of_kind("NetworkPolicy"), *(manifest.item for manifest in foreign))
    for pods in objects.pods:
        applied = [manifest for manifest in foreign if policies_for([manifest.item], pods, "Egress")]
        target = _blocked_target(objects, all_policies, pods) if applied else ""
        if target:
            message = (
                f"{applied[0]} blocks connections of the pods to {target}, so the job would never start, or never "
                "end; set network.egress.limited to true, which adds the required rules"
            )
            yield ObjectFault(pods.owner, (), message, NAMESPACE_EGRESS, "warning")
            return


def _blocked_target(objects: Objects, all_policies: Sequence[Object], pods: Pods) -> str:
    """Return the name of a target that pods need but cannot reach, such as `DNS`; empty if no target is blocked."""
    if pods.spec.get("automountServiceAccountToken"):
        # The policies of the job have the ports of the API server, so they always allow the connection.
        job_policies = policies_for(objects.of_kind("NetworkPolicy"), pods, "Egress")
        reaches = job_policies or any(
            allows_egress_outside(all_policies, pods, Port(port)) for port in _API_SERVER_PORTS
        )
        return "" if reaches else "the API server"
    if pods.labels.get(keys.ROLE) not in _ROLES:
        return ""
    if not all(allows_egress_outside(all_policies, pods, Port(53, protocol)) for protocol in ("UDP", "TCP")):
        return "DNS"
    peers = [peer for peer in objects.pods if peer.labels.get(keys.ROLE) in _ROLES]
    targets = [(peer, Port(port["containerPort"])) for peer in peers for port in peer.ports]
    return "" if all(allows(all_policies, pods, "Egress", peer, port) for peer, port in targets) else "each other"


def _of_kind(manifests: Sequence[Manifest], kind: str) -> list[Manifest]:
    return [manifest for manifest in manifests if manifest.item["kind"] == kind]


# -- amounts -------------------------------------------------------------------------------------------------------


def _quantities(value: Any) -> dict[str, Any]:
    """Return only the quantities in a mapping. For a value that is not a mapping, return an empty mapping."""
    amounts = value if isinstance(value, dict) else {}
    return {name: amount for name, amount in amounts.items() if quantity.is_quantity(amount)}


def _container_limits(manifest: Manifest) -> list[Mapping[str, Any]]:
    limits = manifest.item["spec"].get("limits")
    items = limits if isinstance(limits, list) else []
    return [limit for limit in items if isinstance(limit, dict) and limit.get("type") == "Container"]


def _defaulted(container: Mapping[str, Any], ranges: Sequence[Mapping[str, Any]]) -> Amounts:
    """Return the limits and the requests of a container, including the defaults that the API server adds.

    The defaults come from `ranges`, which are items of LimitRanges.

    https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/v1/defaults.go (SetDefaults_LimitRangeItem,
    SetDefaults_Pod)
    """
    resources = container.get("resources") or {}
    limits, requests = dict(resources.get("limits") or {}), dict(resources.get("requests") or {})
    requests = {**limits, **requests}
    for limit in ranges:
        default = {**_quantities(limit.get("max")), **_quantities(limit.get("default"))}
        default_request = {**_quantities(limit.get("min")), **default, **_quantities(limit.get("defaultRequest"))}
        limits = {**default, **limits}
        requests = {**default_request, **requests}
    return {"limits": limits, "requests": requests}


def _out_of_range(amounts: Amounts, limit: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield each amount of a container that `limit`, an item of a LimitRange, refuses.

    Example: ("limits", "cpu", "allows at most 4 of cpu, less than the limit 8"). The first item is `requests` or
    `limits`, the second item is the resource, and the text is for a message.
    """
    for resource, minimum in sorted(_quantities(limit.get("min")).items()):
        request = amounts["requests"].get(resource)
        if request is not None and quantity.parse(request) < quantity.parse(minimum):
            yield "requests", resource, f"requires at least {minimum} of {resource}, more than the request {request}"
    for resource, maximum in sorted(_quantities(limit.get("max")).items()):
        cap = amounts["limits"].get(resource)
        if cap is not None and quantity.parse(cap) > quantity.parse(maximum):
            yield "limits", resource, f"allows at most {maximum} of {resource}, less than the limit {cap}"
    for resource, ratio in sorted(_quantities(limit.get("maxLimitRequestRatio")).items()):
        request, cap = amounts["requests"].get(resource), amounts["limits"].get(resource)
        if request and cap and quantity.parse(cap) > quantity.parse(request) * quantity.parse(ratio):
            yield "limits", resource, f"allows a limit of {ratio} times the request of {resource}, less than {cap}"
