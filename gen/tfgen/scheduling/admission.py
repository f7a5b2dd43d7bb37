"""Sets of equal pods, after the changes and the refusals of the API server and of its admission controllers.

https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tfgen import data_path
from tfgen.kubernetes import quantity
from tfgen.kubernetes.object import CLUSTER_KINDS, KINDS, Object, group, literal_name, matches, resource_name
from tfgen.kubernetes.pods import PROFILES, amount, pod_requests
from tfgen.record import EMPTY, Record
from tfgen.scheduling.cluster import NOT_FOUND, Cluster, claim_class, claims_of, namespace_of
from tfgen.scheduling.devices import Claimed
from tfgen.scheduling.pods import (
    Counts,
    HostPort,
    PodTemplate,
    Spread,
    Term,
    counts_of,
    counts_of_pod,
    host_ports_of,
    spreads_of,
    terms_of,
)

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount

_ENFORCE: Final = "pod-security.kubernetes.io/enforce"
_DEFAULT_SCHEDULER: Final = "default-scheduler"
_POD_AFFINITY: Final = ("affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_PRIORITY_CLASS: Final = "PriorityClass"
_ATTRIBUTES_CLASS: Final = "VolumeAttributesClass"
_CLAIM: Final = "PersistentVolumeClaim"
_SCOPE_EXPRESSIONS: Final = ("scopeSelector", "matchExpressions")
_PARTS: Final = ("initContainers", "containers")
_REFUSED: Final = "Kubernetes refuses the pods, because"
_REFUSED_CLAIMS: Final = "Kubernetes refuses the claims of the pods, because"
_NO_DEVICES: Final = Claimed()


class PodSet(Record):
    """A set of equal pods, such as the workers of a run. `PodTemplate` describes the fields with the same names.

    Attributes:
        spec: the PodSpec, with the fields that its RuntimeClass and the LimitRanges add.
        requests: the amounts of a node's resources that one pod uses.
        priority: the priority; None if the PriorityClass is not known.
        may_preempt: whether the scheduler may evict pods of lower priority in favour of the pods.
        terms: the terms of the pods' required anti-affinity.
        volumes: the PersistentVolumes that the pods mount.
        obstacles: the reasons, in words, that keep the pods from starting on any node.
        doubts: the reasons, in words, why the pods may get no node even if tfgen finds a node with room.
        escapes: the reasons, in words, why the pods may get a node even if tfgen finds no node with room.
        assumptions: what tfgen assumes because the cluster or the file lacks an object, in words.
    """

    owner: str
    role: str
    namespace: str
    labels: Mapping[str, str]
    spec: Mapping[str, Any]
    count: int
    requests: Counts
    priority: int | None
    may_preempt: bool
    spreads: tuple[Spread, ...]
    terms: tuple[Term, ...]
    host_ports: tuple[HostPort, ...]
    volumes: tuple[Object, ...]
    obstacles: tuple[str, ...]
    doubts: tuple[str, ...]
    escapes: tuple[str, ...]
    assumptions: tuple[str, ...]
    in_gang: bool

    def is_counted_by(self, namespace: str, selector: Mapping[str, Any]) -> bool:
        """Test whether a topology spread counts these pods.

        Args:
            namespace: the namespace of the pods that have the topology spread.
            selector: the label selector of the topology spread.
        """
        return self.namespace == namespace and matches(selector, self.labels)


def pod_set(
    template: PodTemplate,
    cluster: Cluster,
    mounts: Mapping[tuple[str, str], int] = EMPTY,
    claimed: Claimed = _NO_DEVICES,
) -> PodSet:
    """Return the set of pods of a template, with the changes that admission controllers of the cluster make.

    Args:
        template: the template of the pods.
        cluster: the cluster, together with the objects that the planned runs create.
        mounts: the number of pods that mount each claim, by namespace and name of the claim.
        claimed: the devices that each pod claims.
    """
    is_new = bool(template.owner)  # the API server has already changed and admitted a pod that waits
    limits = _limits(cluster, template.namespace) if is_new else []
    spec = _with_priority_class(_with_runtime_class(_with_defaults(template.spec, limits), cluster), cluster)
    pods = max((mounts.get((template.namespace, name), 1) for name in _claims(spec)), default=1)
    claims = tuple(claims_of(spec, template.namespace, pods, cluster))
    policy = spec.get("preemptionPolicy") or (cluster.priority_class(spec) or {}).get("preemptionPolicy")
    refusals = (*_refusals(template, cluster), *_out_of_range(spec, limits)) if is_new else ()
    new_claims = _ephemeral_claims(spec)
    refusals_of_claims = [reason for claim in new_claims for reason in _claim_out_of_range(claim, limits)]
    is_lacking = "Namespace" in cluster.known_kinds and not cluster.find("Namespace", template.namespace)
    assumed_namespace = [f"somebody creates the Namespace {template.namespace}"] if is_lacking else []
    return PodSet(
        owner=template.owner,
        role=template.role,
        namespace=template.namespace,
        labels=template.labels,
        spec=spec,
        count=template.count,
        requests={**counts_of_pod(spec), **claimed.counts},
        priority=cluster.priority(spec),
        may_preempt=policy != "Never",
        spreads=tuple(spreads_of(spec, template.labels)),
        terms=terms_of(spec, template.labels, template.namespace),
        host_ports=host_ports_of(spec),
        volumes=tuple(claim.volume for claim in claims if claim.volume),
        obstacles=(
            *(f"{_REFUSED} {reason}" for reason in refusals),
            *(f"{_REFUSED_CLAIMS} {reason}" for reason in refusals_of_claims),
            *filter(None, (*(claim.obstacle for claim in claims), claimed.obstacle)),
        ),
        doubts=(
            *template.doubts,
            *_doubts(template, cluster),
            *filter(None, (*(claim.doubt for claim in claims), claimed.doubt)),
        ),
        escapes=(*_escapes(template.spec, cluster), *filter(None, (claimed.doubt, claimed.offer))),
        assumptions=(*filter(None, (claim.assumption for claim in claims)), *assumed_namespace),
        in_gang=template.in_gang,
    )


def mounts_of(templates: Iterable[PodTemplate]) -> dict[tuple[str, str], int]:
    """Return the number of pods that mount each claim, by namespace and name of the claim."""
    mounts: Counter[tuple[str, str]] = Counter()
    for template in templates:
        for name in _claims(template.spec):
            mounts[template.namespace, name] += template.count
    return mounts


def _claims(spec: Mapping[str, Any]) -> Iterator[str]:
    for volume in spec.get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"]["claimName"]


def _containers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for part in _PARTS:
        yield from spec.get(part) or ()


def _refusals(template: PodTemplate, cluster: Cluster) -> Iterator[str]:
    """Yield the reasons why Kubernetes refuses every pod of a template."""
    spec, namespace = template.spec, template.namespace
    item = cluster.find("Namespace", namespace)
    if item and (item["metadata"].get("deletionTimestamp") or data_path.at(item, ("status", "phase")) == "Terminating"):
        yield f"the Namespace {namespace} is being deleted"
    account = spec.get("serviceAccountName") or "default"
    # Kubernetes creates the account `default` of a new namespace.
    is_needed = account != "default" or item is not None
    if is_needed and "ServiceAccount" in cluster.known_kinds and not cluster.find("ServiceAccount", account, namespace):
        yield f"the ServiceAccount {account} does not exist"
    priority_class = spec.get("priorityClassName")
    if priority_class and "PriorityClass" in cluster.known_kinds and cluster.priority_class(spec) is None:
        yield f"the PriorityClass {priority_class} does not exist"
    yield from _runtime_refusals(spec, cluster)
    level = cluster.namespaces.get(namespace, {}).get(_ENFORCE, "privileged")
    if level in PROFILES:
        weak = [text for profile, text in template.weak_fields if PROFILES.index(profile) > PROFILES.index(level)]
        if weak:
            yield f"the label {_ENFORCE}={level} of the Namespace {namespace} forbids {weak[0]}"


def _runtime_refusals(spec: Mapping[str, Any], cluster: Cluster) -> Iterator[str]:
    """Yield the conflicts between a PodSpec and its RuntimeClass."""
    name = spec.get("runtimeClassName") or ""
    runtime = cluster.find("RuntimeClass", name)
    if name and runtime is None:
        if "RuntimeClass" in cluster.known_kinds:
            yield f"the RuntimeClass {name} does not exist"
        return
    overhead = data_path.at(runtime or {}, ("overhead", "podFixed")) or {}
    if spec.get("overhead") and counts_of(spec["overhead"]) != counts_of(overhead):
        reason = f"differs from the overhead of the RuntimeClass {name}" if name else "needs a runtimeClassName"
        yield f"the overhead of the pods {reason}"
    selector = spec.get("nodeSelector") or {}
    for key, value in (data_path.at(runtime or {}, ("scheduling", "nodeSelector")) or {}).items():
        if selector.get(key, value) != value:
            reason = f"selects nodes with {key}={value}, but the role selects {key}={selector[key]}"
            yield f"the RuntimeClass {name} {reason}"


def _with_runtime_class(spec: Mapping[str, Any], cluster: Cluster) -> Mapping[str, Any]:
    """Return the PodSpec with the fields that an admission controller copies from the pod's RuntimeClass.

    https://kubernetes.io/docs/concepts/containers/runtime-class/#scheduling and #pod-overhead.
    """
    runtime = cluster.find("RuntimeClass", spec.get("runtimeClassName") or "") or {}
    scheduling = runtime.get("scheduling") or {}
    overhead = data_path.at(runtime, ("overhead", "podFixed"))
    return {
        **spec,
        "nodeSelector": {**(spec.get("nodeSelector") or {}), **(scheduling.get("nodeSelector") or {})},
        "tolerations": [*(spec.get("tolerations") or ()), *(scheduling.get("tolerations") or ())],
        **({"overhead": overhead} if overhead else {}),
    }


def _with_priority_class(spec: Mapping[str, Any], cluster: Cluster) -> Mapping[str, Any]:
    """Return the PodSpec with the name of the default PriorityClass, unless the PodSpec names a class.

    https://github.com/kubernetes/kubernetes/blob/v1.36.3/plugin/pkg/admission/priority/admission.go
    """
    default = None if spec.get("priorityClassName") else cluster.priority_class(spec)
    return {**spec, "priorityClassName": default["metadata"]["name"]} if default else spec


def _doubts(template: PodTemplate, cluster: Cluster) -> Iterator[str]:
    spec = template.spec
    if cluster.priority_class(spec) is None and "PriorityClass" not in cluster.known_kinds:
        for quota in cluster.of_kind("ResourceQuota", template.namespace):
            if _PRIORITY_CLASS in _scopes(quota):
                title = f"the ResourceQuota {quota['metadata']['name']}"
                yield f"{title} counts pods by their PriorityClass, and tfgen finds no PriorityClass {NOT_FOUND}"
    scheduler = spec.get("schedulerName") or _DEFAULT_SCHEDULER
    if scheduler != _DEFAULT_SCHEDULER:
        yield f"the scheduler {scheduler} places the pods by its own rules"
    if data_path.at(spec, _POD_AFFINITY):
        yield "tfgen cannot evaluate the podAffinity of the pods"
    yield from _escapes(spec, cluster)
    name, account = spec.get("priorityClassName"), spec.get("serviceAccountName") or "default"
    if name and cluster.priority_class(spec) is None and "PriorityClass" not in cluster.known_kinds:
        yield f"tfgen finds no PriorityClass {name} {NOT_FOUND}"
    is_known = account == "default" or cluster.find("ServiceAccount", account, template.namespace)
    if not is_known and "ServiceAccount" not in cluster.known_kinds:
        yield f"tfgen finds no ServiceAccount {account} {NOT_FOUND}"
    quotas = cluster.of_kind("ResourceQuota", template.namespace)
    for claim in _ephemeral_claims(spec):
        yield from (text for quota in quotas for text in _uncounted(claim, quota, cluster))
    if spec.get("schedulingGates"):
        yield "the schedulingGates of the pods delay the scheduling"


def _escapes(spec: Mapping[str, Any], cluster: Cluster) -> Iterator[str]:
    name = spec.get("runtimeClassName")
    if name and cluster.find("RuntimeClass", name) is None and "RuntimeClass" not in cluster.known_kinds:
        yield f"tfgen finds no RuntimeClass {name} {NOT_FOUND}"
    if spec.get("nodeName"):
        yield f"the nodeName of the pods is {spec['nodeName']}"


def _limits(cluster: Cluster, namespace: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the items of all LimitRanges of a namespace, each with the name of its LimitRange."""
    return [
        (item["metadata"]["name"], limit)
        for item in cluster.of_kind("LimitRange", namespace)
        for limit in (item.get("spec") or {}).get("limits") or ()
    ]


def _with_defaults(spec: Mapping[str, Any], limits: Sequence[tuple[str, Mapping[str, Any]]]) -> Mapping[str, Any]:
    """Return a PodSpec with the amounts that the LimitRanges add to its containers.

    https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/v1/defaults.go (SetDefaults_LimitRangeItem)
    """
    of_containers = [limit for _, limit in limits if limit.get("type") == "Container"]
    if not of_containers:
        return spec

    def defaulted(container: Mapping[str, Any]) -> Mapping[str, Any]:
        resources = container.get("resources") or {}
        caps = dict(resources.get("limits") or {})
        requests = {**caps, **(resources.get("requests") or {})}
        for limit in of_containers:
            default = {**(limit.get("max") or {}), **(limit.get("default") or {})}
            caps = {**default, **caps}
            requests = {**(limit.get("min") or {}), **default, **(limit.get("defaultRequest") or {}), **requests}
        return {**container, "resources": {**resources, "limits": caps, "requests": requests}}

    return {**spec, **{part: [defaulted(item) for item in spec[part]] for part in _PARTS if spec.get(part)}}


def _out_of_range(spec: Mapping[str, Any], limits: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    """Yield a text for each amount of the pods that a LimitRange refuses."""
    for name, limit in limits:
        if limit.get("type") == "Container":
            items = [(f"the container {item['name']}", item) for item in _containers(spec)]
            amounts = [(title, _amounts(item, "requests"), _amounts(item, "limits")) for title, item in items]
        elif limit.get("type") == "Pod":
            amounts = [("the pod", pod_requests(spec), _pod_limits(spec))]
        else:
            continue
        for subject, requests, caps in amounts:
            for resource, least in sorted((limit.get("min") or {}).items()):
                if resource not in requests or requests[resource] < quantity.parse(least):
                    yield f"the LimitRange {name} requires a request of at least {least} {resource} of {subject}"
            for resource, most in sorted((limit.get("max") or {}).items()):
                if resource not in caps or caps[resource] > quantity.parse(most):
                    yield f"the LimitRange {name} requires a limit of at most {most} {resource} of {subject}"
            for resource, ratio in sorted((limit.get("maxLimitRequestRatio") or {}).items()):
                request, cap = requests.get(resource), caps.get(resource)
                if not request or not cap or cap > request * quantity.parse(ratio):
                    yield f"the LimitRange {name} requires a limit of at most {ratio} times the request of {resource}"


def _amounts(container: Mapping[str, Any], part: str) -> dict[str, Amount]:
    resources = container.get("resources") or {}
    quantities = {**(resources.get("limits") or {}), **((part == "requests" and resources.get("requests")) or {})}
    return {resource: quantity.parse(value) for resource, value in quantities.items()}


def _pod_limits(spec: Mapping[str, Any]) -> dict[str, Amount]:
    """Return the limits of a pod, which Kubernetes sums up as it sums up the requests."""

    def only_limits(part: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**part, "resources": {"requests": (part.get("resources") or {}).get("limits") or {}}}

    parts = {part: [only_limits(item) for item in spec.get(part) or ()] for part in _PARTS}
    return pod_requests({**only_limits(spec), **parts})


# -- quotas ------------------------------------------------------------------------------------------------------------
#
# The amounts that a ResourceQuota counts for an object, other than a pod, and the limits of a LimitRange for claims.
# https://kubernetes.io/docs/concepts/policy/resource-quotas/

_STORAGE: Final = "requests.storage"
_CLAIMS: Final = "persistentvolumeclaims"
_OF_CLASS: Final = ".storageclass.storage.k8s.io/"
_COUNT: Final = "count/"
_BY_NAME: Final = (_CLAIMS, "configmaps", "replicationcontrollers", "resourcequotas", "secrets", "services")
"""The resources that a quota also counts without the prefix `count/`."""
_MADE: Final[Mapping[str, str]] = {
    "statefulsets.apps": "controllerrevisions.apps",
    "daemonsets.apps": "controllerrevisions.apps",
    "deployments.apps": "replicasets.apps",
}
"""The object that the controller of another object creates before the pods."""
_SIZE: Final = ("resources", "requests", "storage")


def _object_amounts(item: Object, cluster: Cluster) -> dict[str, int]:
    """Return the amounts that a quota counts for an object, by key of the quota."""
    resource, spec = resource_name(item), item.get("spec")
    amounts = {f"{_COUNT}{name}": 1 for name in (resource, _MADE.get(resource)) if name}
    if resource in _BY_NAME:
        amounts[resource] = 1
    if resource == "services" and isinstance(spec, Mapping):
        amounts |= _amounts_of_service(spec)
    if resource == _CLAIMS:
        amounts[_STORAGE] = math.ceil(quantity.parse(data_path.at(spec, _SIZE) or 0))
        name = claim_class(spec or {}, cluster)
        amounts |= {f"{name}{_OF_CLASS}{key}": amounts[key] for key in (_CLAIMS, _STORAGE) if name}
    return amounts


def _amounts_of_service(spec: Mapping[str, Any]) -> dict[str, int]:
    ports = [port for port in spec.get("ports") or () if isinstance(port, Mapping)]
    is_balancer = spec.get("type") == "LoadBalancer"
    if is_balancer and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    node_ports = len(ports) if is_balancer or spec.get("type") == "NodePort" else 0
    return {"services.loadbalancers": int(is_balancer), "services.nodeports": node_ports}


def _counts_claims(key: str) -> bool:
    """Return whether a key of a quota counts claims, or their storage."""
    return key.endswith((_CLAIMS, _STORAGE))


def _amount_text(key: str, number: Amount) -> str:
    """Return the text of an amount of a quota. Storage is in the largest unit, as in `10Gi`."""
    if key.endswith(_STORAGE):
        return amount("memory", number)
    return str(number) if isinstance(number, int) else f"{float(number):g}"


def _uncounted(item: Object, quota: Object, cluster: Cluster) -> Iterator[str]:
    """Yield a text for each key of a quota for which tfgen cannot decide if the key counts an object."""
    resource, title = resource_name(item), f"the ResourceQuota {quota['metadata']['name']} limits"
    for key in (quota.get("spec") or {}).get("hard") or ():
        if resource == _CLAIMS and _OF_CLASS in key and claim_class(item.get("spec") or {}, cluster) is None:
            yield f"{title} {key}, and tfgen finds no default StorageClass {NOT_FOUND}"
        # The plural of a kind that tfgen does not know may be irregular.
        of_group = key.startswith(_COUNT) and key.partition(".")[2] == group(item)
        if of_group and literal_name(item) and group(item) not in KINDS and key != f"{_COUNT}{resource}":
            yield f"{title} {key}, which tfgen does not count"


def _ephemeral_claims(spec: Mapping[str, Any]) -> Iterator[Object]:
    """Yield the claims that Kubernetes creates for the ephemeral volumes of each pod of a PodSpec."""
    for volume in spec.get("volumes") or ():
        if volume.get("ephemeral"):
            template = volume["ephemeral"].get("volumeClaimTemplate") or {}
            metadata = {"name": f"of the ephemeral volume {volume['name']}"}
            yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, **template}


def _claim_out_of_range(claim: Object, limits: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
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


_WITHOUT_PREFIX: Final = ("cpu", "memory", "ephemeral-storage")
_REQUIRED: Final = {
    "cpu": ("requests", "cpu"),
    "memory": ("requests", "memory"),
    **{f"{part}.{name}": (part, name) for part in ("requests", "limits") for name in ("cpu", "memory")},
}
"""The amounts that each container must set if a quota counts the resource: validationSet of
https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/quota/v1/evaluator/core/pods.go"""


class _Quota:
    """A ResourceQuota, and the amounts that it leaves.

    Attributes:
        left: the amounts that pods and new objects may still take, by key of the quota.
    """

    def __init__(self, item: Object) -> None:
        hard = (item.get("spec") or {}).get("hard") or {}
        used = (item.get("status") or {}).get("used") or {}
        self.item = item
        self.name: str = item["metadata"]["name"]
        self.namespace = namespace_of(item)
        self.hard = {key: quantity.parse(value) for key, value in hard.items()}
        self.left = {key: value - quantity.parse(used.get(key, 0)) for key, value in self.hard.items()}
        self._used = {key: value - self.left[key] for key, value in self.hard.items()}
        self._new: Counter[str] = Counter()
        self._unsure: Counter[str] = Counter()

    def refusals(self, new: Counter[str], unsure: Counter[str]) -> tuple[list[str], list[str]]:
        """Return the reasons why the quota refuses objects, and the reasons why the quota may refuse objects.

        Args:
            new: the amounts of objects that do not exist yet.
            unsure: the amounts of objects that may exist.
        """
        certain, possible = [], []
        for key, least, most in self._changes(new, unsure):
            left = max(self.left[key], 0)
            reason = f"the ResourceQuota {self.name} has {_amount_text(key, left)} {key} left"
            if least > left:
                certain.append(f"{reason}, but the run needs {_amount_text(key, new[key] + unsure[key])}")
            elif most > left:
                needed = f"the new objects need {_amount_text(key, most)}"
                possible.append(f"{reason}, {needed}, and tfgen does not know which of the objects exist")
        return certain, possible

    def take(self, new: Counter[str], unsure: Counter[str]) -> None:
        """Take the amounts of objects, at least those of the objects that certainly do not exist yet."""
        for key, least, _ in self._changes(new, unsure):
            self.left[key] -= least
        self._new += new
        self._unsure += unsure

    def _changes(self, new: Counter[str], unsure: Counter[str]) -> list[tuple[str, Amount, Amount]]:
        """Return the least and the greatest amount that objects add to the taken amounts, by key of the quota.

        The amounts of the objects that exist are part of the used amounts.
        """
        changes = []
        for key in [key for key in self.hard if new[key] or unsure[key]]:
            taken = self._new[key] + max(self._unsure[key] - self._used[key], 0)
            of_new, of_unsure = self._new[key] + new[key], self._unsure[key] + unsure[key]
            least = of_new + max(of_unsure - self._used[key], 0)
            changes.append((key, least - taken, of_new + of_unsure - taken))
        return changes


class Quotas:
    """The amounts that the ResourceQuotas of all namespaces leave. The methods that take amounts reduce them."""

    def __init__(self, cluster: Cluster, replaced: Iterable[tuple[str, Mapping[str, Any]]] = ()) -> None:
        """Read the quotas.

        Args:
            cluster: the cluster.
            replaced: the namespace and the PodSpec of each running pod that a planned pod replaces.
        """
        self._cluster = cluster
        self._created: set[tuple[str, str, str]] = set()
        namespaces = {namespace for namespace, _ in cluster.objects.get("ResourceQuota", EMPTY)}
        items = (item for namespace in namespaces for item in cluster.of_kind("ResourceQuota", namespace))
        self._quotas = [_Quota(item) for item in items]
        for namespace, spec in replaced:
            for quota, use in self._uses(namespace, spec):
                for key, value in use.items():
                    quota.left[key] = min(quota.left[key] + value, quota.hard[key])

    def take(self, pods: PodSet) -> tuple[int, str]:
        """Take the amounts of pods, and return the number of pods that a quota refuses, with the reason in words."""
        refused, reason = 0, ""
        uses = [*self._uses(pods.namespace, pods.spec)]
        for quota, use in uses:
            for key in _REQUIRED.keys() & quota.left.keys():
                part, resource = _REQUIRED[key]
                for container in _containers(pods.spec):
                    if resource not in _amounts(container, part):
                        text = f"the container {container['name']} must set {part}.{resource}"
                        return pods.count, f"{_REFUSED} the ResourceQuota {quota.name} counts {key}, so {text}"
            for key, value in use.items():
                left = max(quota.left[key], 0)
                allowed = int(left // value) if value else pods.count
                if pods.count - allowed > refused:
                    refused = pods.count - allowed
                    start = _REFUSED_CLAIMS if _counts_claims(key) else _REFUSED
                    reason = f"{start} the ResourceQuota {quota.name} has {_amount_text(key, left)} {key} left"
        for quota, use in uses:
            for key, value in use.items():
                quota.left[key] -= (pods.count - refused) * value
        return refused, reason

    def take_objects(self, objects: Iterable[Object]) -> tuple[list[str], list[str]]:
        """Take the amounts of objects that the cluster does not have, as far as tfgen knows the cluster.

        Returns:
            The reasons why Kubernetes refuses objects, and the reasons why Kubernetes may refuse objects. If Kubernetes
            refuses an object, the method takes no amounts.
        """
        new = {(item["kind"], namespace_of(item), item["metadata"]["name"]): item for item in objects}
        for key in [key for key in new if key in self._created or key[0] in CLUSTER_KINDS]:
            del new[key]
        certain, possible = self._refused_claims(new.values())
        takes = []
        for quota in self._quotas:
            amounts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
            for (kind, namespace, _), item in new.items():
                if namespace == quota.namespace and _counts_object(quota.item, item):
                    amounts[kind not in self._cluster.known_kinds].update(_object_amounts(item, self._cluster))
                    possible += _uncounted(item, quota.item, self._cluster)
            of_quota = quota.refusals(*amounts)
            certain += of_quota[0]
            possible += of_quota[1]
            takes.append((quota, amounts))
        if not certain:
            self._created.update(new)
            for quota, amounts in takes:
                quota.take(*amounts)
        return certain, possible

    def _refused_claims(self, objects: Iterable[Object]) -> tuple[list[str], list[str]]:
        """Return the reasons why a LimitRange refuses claims, and the reasons why a LimitRange may refuse claims."""
        reasons: list[str] = []
        for item in (item for item in objects if item["kind"] == _CLAIM):
            reasons += _claim_out_of_range(item, _limits(self._cluster, namespace_of(item)))
        if _CLAIM in self._cluster.known_kinds:
            return reasons, []
        return [], [f"{reason}, and tfgen does not know whether the claim exists" for reason in reasons]

    def _uses(self, namespace: str, spec: Mapping[str, Any]) -> Iterator[tuple[_Quota, dict[str, Amount]]]:
        """Yield each quota of a pod, and what the pod uses of the quota."""
        for quota in self._quotas:
            if quota.namespace == namespace and _is_in_scope(quota.item, spec):
                use = _use(spec, self._cluster)
                yield quota, {key: value for key, value in use.items() if key in quota.left}


def _use(spec: Mapping[str, Any], cluster: Cluster) -> dict[str, Amount]:
    """Return the amounts that a quota counts for a pod and its ephemeral volumes, by key of the quota."""
    requests, limits = pod_requests(spec), _pod_limits(spec)
    claims: Counter[str] = Counter()
    for claim in _ephemeral_claims(spec):
        claims.update(_object_amounts(claim, cluster))
    return {
        "pods": 1,
        "count/pods": 1,
        **{name: value for name, value in requests.items() if name in _WITHOUT_PREFIX or name.startswith("hugepages-")},
        **{f"requests.{name}": value for name, value in requests.items()},
        **{f"limits.{name}": value for name, value in limits.items()},
        **claims,
    }


def _counts_object(quota: Object, item: Object) -> bool:
    """Test whether the scopes of a quota select an object other than a pod."""
    if not (item["kind"] == _CLAIM and item.get("spec")):
        return not _scopes(quota)
    name = item["spec"].get("volumeAttributesClassName")
    return {*_scopes(quota)} <= {_ATTRIBUTES_CLASS} and _is_selected(quota, _ATTRIBUTES_CLASS, name)


def _scopes(quota: Object) -> list[str]:
    spec = quota.get("spec") or {}
    expressions = data_path.at(spec, _SCOPE_EXPRESSIONS) or ()
    return [*(spec.get("scopes") or ()), *(item["scopeName"] for item in expressions)]


def _is_in_scope(quota: Object, spec: Mapping[str, Any]) -> bool:
    resources = [item.get("resources") or {} for item in _containers(spec)]
    is_best_effort = not any(part.get("limits") or part.get("requests") for part in resources)
    is_terminating = spec.get("activeDeadlineSeconds") is not None
    terms = [
        term.get("podAffinityTerm", term)
        for kind in ("podAffinity", "podAntiAffinity")
        for of_kind in (data_path.at(spec, ("affinity", kind)) or {}).values()
        for term in of_kind or ()
    ]
    crosses_namespaces = any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms)
    values = {
        "BestEffort": is_best_effort,
        "NotBestEffort": not is_best_effort,
        "Terminating": is_terminating,
        "NotTerminating": not is_terminating,
        "CrossNamespacePodAffinity": crosses_namespaces,
        _PRIORITY_CLASS: _is_selected(quota, _PRIORITY_CLASS, spec.get("priorityClassName")),
    }
    return all(values.get(scope, False) for scope in _scopes(quota))


def _is_selected(quota: Object, scope: str, name: str | None) -> bool:
    """Test whether the expressions of a scope of a quota select the name of a class; None for no class."""
    expressions = data_path.at(quota, ("spec", *_SCOPE_EXPRESSIONS)) or ()
    of_scope = [{**item, "key": "class"} for item in expressions if item["scopeName"] == scope]
    return matches({"matchExpressions": of_scope}, {"class": name} if name else {})
