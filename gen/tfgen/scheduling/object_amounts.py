"""The amounts that a ResourceQuota counts for an object, other than a pod, and the limits of a LimitRange for claims.

https://kubernetes.io/docs/concepts/policy/resource-quotas/
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from tfgen import data_path
from tfgen.kubernetes import quantity
from tfgen.kubernetes.object import KINDS, Object, group, literal_name, resource_name
from tfgen.kubernetes.pods import amount
from tfgen.scheduling.cluster import NOT_FOUND, Cluster, claim_class

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount

_STORAGE: Final = "requests.storage"
_CLAIM: Final = "persistentvolumeclaims"
_OF_CLASS: Final = ".storageclass.storage.k8s.io/"
_COUNT: Final = "count/"
_BY_NAME: Final = (_CLAIM, "configmaps", "replicationcontrollers", "resourcequotas", "secrets", "services")
"""The resources that a quota also counts without the prefix `count/`."""
_MADE: Final[Mapping[str, str]] = {
    "statefulsets.apps": "controllerrevisions.apps",
    "daemonsets.apps": "controllerrevisions.apps",
    "deployments.apps": "replicasets.apps",
}
"""The object that the controller of another object creates before the pods."""
_SIZE: Final = ("resources", "requests", "storage")


def amounts_of(item: Object, cluster: Cluster) -> dict[str, int]:
    """Return the amounts that a quota counts for an object, by key of the quota."""
    resource, spec = resource_name(item), item.get("spec")
    amounts = {f"{_COUNT}{name}": 1 for name in (resource, _MADE.get(resource)) if name}
    if resource in _BY_NAME:
        amounts[resource] = 1
    if resource == "services" and isinstance(spec, Mapping):
        amounts |= _amounts_of_service(spec)
    if resource == _CLAIM:
        amounts[_STORAGE] = math.ceil(quantity.parse(data_path.at(spec, _SIZE) or 0))
        name = claim_class(spec or {}, cluster)
        amounts |= {f"{name}{_OF_CLASS}{key}": amounts[key] for key in (_CLAIM, _STORAGE) if name}
    return amounts


def _amounts_of_service(spec: Mapping[str, Any]) -> dict[str, int]:
    ports = [port for port in spec.get("ports") or () if isinstance(port, Mapping)]
    is_balancer = spec.get("type") == "LoadBalancer"
    if is_balancer and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    return {
        "services.loadbalancers": int(is_balancer),
        "services.nodeports": len(ports) if is_balancer or spec.get("type") == "NodePort" else 0,
    }


def counts_claims(key: str) -> bool:
    """Return whether a key of a quota counts claims, or their storage."""
    return key.endswith((_CLAIM, _STORAGE))


def amount_text(key: str, number: Amount) -> str:
    """Return the text of an amount of a quota. Storage is in the largest unit, as in `10Gi`."""
    if key.endswith(_STORAGE):
        return amount("memory", number)
    return str(number) if isinstance(number, int) else f"{float(number):g}"


def uncounted(item: Object, keys: Iterable[str], cluster: Cluster) -> Iterator[str]:
    """Yield a text for each key of a quota for which tfgen cannot decide if the key counts an object."""
    resource = resource_name(item)
    for key in keys:
        if resource == _CLAIM and _OF_CLASS in key and claim_class(item.get("spec") or {}, cluster) is None:
            yield f"limits {key}, and tfgen finds no default StorageClass {NOT_FOUND}"
        # The plural of a kind that tfgen does not know may be irregular.
        of_group = key.startswith(_COUNT) and key.partition(".")[2] == group(item)
        if of_group and literal_name(item) and group(item) not in KINDS and key != f"{_COUNT}{resource}":
            yield f"limits {key}, which tfgen does not count"


def ephemeral_claims(spec: Mapping[str, Any]) -> Iterator[Object]:
    """Yield the claims that Kubernetes creates for the ephemeral volumes of each pod of a PodSpec."""
    for volume in spec.get("volumes") or ():
        if volume.get("ephemeral"):
            template = volume["ephemeral"].get("volumeClaimTemplate") or {}
            metadata = {"name": f"of the ephemeral volume {volume['name']}"}
            yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, **template}


def claim_out_of_range(claim: Object, limits: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    """Yield a text for each amount of a claim that a LimitRange refuses.

    Args:
        claim: the claim.
        limits: the items of all LimitRanges of the namespace, each with the name of its LimitRange.
    """
    requests = data_path.at(claim, ("spec", "resources", "requests")) or {}
    title = f"of the claim {claim['metadata']['name']}"
    for name, limit in limits:
        if limit.get("type") != "PersistentVolumeClaim":
            continue
        for word, sign, bounds in (("at least", 1, limit.get("min")), ("at most", -1, limit.get("max"))):
            for resource, bound in sorted((bounds or {}).items()):
                request = requests.get(resource, 0)
                if sign * (quantity.parse(request) - quantity.parse(bound)) < 0:
                    needed = f"a request of {word} {bound} {resource}"
                    yield f"the LimitRange {name} requires {needed} {title}, which requests {request}"
