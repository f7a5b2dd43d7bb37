"""The objects beside the workloads: Service, policies, rights, budgets, image cache, and objects of the job file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from tfgen.data_path import ValueType
from tfgen.graph import cluster, naming
from tfgen.graph import holes as h
from tfgen.graph.fill import Template
from tfgen.graph.holes import Expression, Key, Name, Node, if_set, plain_mapping
from tfgen.graph.naming import PORT_NAME, role_or_job_value, value
from tfgen.job.training_job import GitCode, Role, Structure
from tfgen.kubernetes import keys
from tfgen.record import EMPTY

# -- network -----------------------------------------------------------------------------------------------------------


ISOLATED: Final = h.Equal(value("network.policy"), "Isolated")
_LIMITED: Final = value("network.egress.limited")

# To all addresses, because the DNS pods have different labels in different clusters, and a DNS cache on the node
# (https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/) is not a pod that a selector could match.
_DNS: Final[Node] = {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}

# By default to all addresses, because the API server is a process on a node or outside the cluster, and its address is
# different in each cluster. Some network plugins see the port of the Service, 443, and some the port of the process.
_API_SERVER: Final = value("network.egress.apiServer")

# To all addresses, because the address of the webhook is in a Secret. network.egress.rules may allow other ports.
WEBHOOK: Final[Node] = {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 443, "protocol": "TCP"}]}


def headless_service(structure: Structure) -> Node:
    """Return the headless Service, which gives each task a DNS name even before the task is ready."""
    spec: Node = {
        "clusterIP": "None",
        h.Comment("Tasks resolve the names of their peers before any task is ready."): None,
        "publishNotReadyAddresses": True,
        "selector": naming.RUN_SELECTOR,
        "ports": [{"name": PORT_NAME, "port": structure.port, "protocol": "TCP", "targetPort": PORT_NAME}],
    }
    return naming.kubernetes_object("v1", "Service", naming.RUN, {"spec": spec}, naming.BEFORE_PODS)


def policy_types() -> list[Node]:
    """Return the `policyTypes` of a network policy: Ingress, and Egress if egress is limited."""
    return ["Ingress", h.When(_LIMITED, "Egress")]


def network_policy(
    name: Node, spec: Node, annotations: Mapping[Key, Node] = naming.BEFORE_PODS, labels: Mapping[Key, Node] = EMPTY
) -> Node:
    """Return a network policy. By default, the policy exists before the pods."""
    version, fields = "networking.k8s.io/v1", {"spec": spec}
    return naming.kubernetes_object(version, "NetworkPolicy", name, plain_mapping(fields), annotations, labels)


def run_policy() -> Node:
    """Return the network policy that allows only traffic between the pods of a run, on all ports.

    The policy is necessary because the servers of TensorFlow execute all requests without authentication:
    https://github.com/tensorflow/tensorflow/blob/master/SECURITY.md. The policy allows all ports because NCCL and
    tf.data use additional ports.
    """
    of_run: Node = {"matchLabels": naming.RUN_SELECTOR}
    run_pods: Node = [{"podSelector": of_run}]
    spec: dict[Key, Node] = {
        "podSelector": of_run,
        "ingress": [{"from": run_pods}],
        "egress": h.When(_LIMITED, [{"to": run_pods}, _DNS, h.Items(value("network.egress.rules"))]),
        "policyTypes": policy_types(),
    }
    return h.When(ISOLATED, network_policy(naming.RUN, spec))


def api_server_policy(name: Node, role: str, *rules: h.When) -> Node:
    """Return the network policy that allows a pod to reach the API server.

    The policy exists only if the egress of the run is limited. Kubernetes allows traffic that at least one policy
    allows, so this policy is an exception to the network policy of the run.

    Args:
        name: the name of the policy.
        role: the role label of the pod.
        rules: additional rules, each with the condition under which the pod needs the rule.
    """
    spec: dict[Key, Node] = {
        "podSelector": {"matchLabels": naming.role_selector(role)},
        "egress": [h.Items(_API_SERVER), *rules],
        "policyTypes": ["Egress"],
    }
    is_needed = h.AllOf((ISOLATED, _LIMITED, h.AnyOf((_API_SERVER, *(rule.test for rule in rules)))))
    return h.When(is_needed, network_policy(name, spec))


# -- rights for the API server -----------------------------------------------------------------------------------------


def rbac_templates(part: str, name: Node, rules: Sequence[Node]) -> Iterator[Template]:
    """Yield the ServiceAccount, the Role and the RoleBinding, in the order in which they must be applied.

    The account does not mount its token into pods by default. The subject of the RoleBinding has no namespace, so
    Kubernetes uses the namespace of the RoleBinding.

    Args:
        part: the prefix of the file names, for example `finisher`.
        name: the name of the objects.
        rules: the rules of the Role.
    """
    group = "rbac.authorization.k8s.io"
    binding: dict[Key, Node] = {
        "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name}],
    }
    objects: list[tuple[str, str, Mapping[Key, Node]]] = [
        ("v1", "ServiceAccount", {"automountServiceAccountToken": False}),
        (f"{group}/v1", "Role", {"rules": rules}),
        (f"{group}/v1", "RoleBinding", binding),
    ]
    for version, kind, fields in objects:
        item = naming.kubernetes_object(version, kind, name, fields, naming.BEFORE_PODS)
        yield Template(f"{part}-{kind.lower()}", item)


# -- service account ---------------------------------------------------------------------------------------------------
#
# The account belongs to the job, because a cloud binds an identity to the namespace and the name of the account.
# https://kubernetes.io/docs/concepts/security/service-accounts/


_IS_CREATED: Final = value("serviceAccount.create")
_DEFAULT: Final = "default"
"""The account that Kubernetes creates in each namespace."""


@cache
def service_account() -> Node:
    """Return the ServiceAccount, if the job creates an account. The tasks do not mount the token of the account."""
    name = h.Default(value("serviceAccountName"), naming.JOB)
    fields: dict[Key, Node] = {"automountServiceAccountToken": False}
    account = naming.kubernetes_object("v1", "ServiceAccount", name, fields, naming.BEFORE_PODS)
    return h.When(_IS_CREATED, naming.with_overriding_metadata(account, (), (value("serviceAccount.annotations"),)))


def task_account(structure: Structure) -> h.When:
    """Return the name of a task's service account: the account of the role or of the job, or the created account.

    If the role sets an empty name, the result is absent, and the task has the default account of the namespace.
    """
    name = role_or_job_value("serviceAccountName")
    if not structure.service_account or not isinstance(name, h.Override):
        return if_set(name)
    job_account = h.When(name.fallback, name.fallback, h.When(_IS_CREATED, naming.JOB))
    return h.When(h.IsSet(name.first), if_set(name.first), job_account)


def default_account_guard() -> h.Guard:
    """Return the guard that rejects the creation of the account `default`, which each namespace already has."""
    return h.Guard(
        "service-account-default",
        at="serviceAccountName",
        when=h.AllOf((_IS_CREATED, h.Equal(value("serviceAccountName"), _DEFAULT))),
        say=f"serviceAccount.create would create the account {_DEFAULT}, which each namespace already has; "
        "choose another name",
    )


# -- disruptions -------------------------------------------------------------------------------------------------------
#
# The budget has ``maxUnavailable: 0`` for a StatefulSet. For pods of a controller without a scale subresource, such as
# a Job, a budget supports only an integer ``minAvailable``, which is the number of tasks:
# https://kubernetes.io/docs/tasks/run-application/configure-pdb/#arbitrary-controllers-and-selectors.


NO_FAILURE: Final = h.Comment("An evicted or preempted pod, or a pod of a lost node, is not counted as a failure.")
_IGNORE_DISRUPTIONS: Final[Node] = {
    "action": "Ignore",
    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
}
_EXIT_CODES: Final = value("restart.ignoreExitCodes")


def failure_policy(*rules: Node) -> Node:
    """Return the podFailurePolicy of a Job. An evicted or preempted pod does not use up a retry of the Job.

    Args:
        rules: additional rules of the policy.
    """
    return {"rules": [_IGNORE_DISRUPTIONS, *rules]}


# https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy
IGNORE_EXIT_CODES: Final = h.When(
    _EXIT_CODES,
    {
        "action": "Ignore",
        "onExitCodes": {"containerName": naming.CONTAINER, "operator": "In", "values": _EXIT_CODES},
    },
)
"""The rule of a podFailurePolicy for the exit codes of the main container that do not use up a retry of the Job."""


RESTART_IN_PLACE: Final[Mapping[Key, Node]] = {
    h.Comment("The kubelet starts the program again in its pod, which keeps the node and the GPUs."): None,
    "restartPolicy": h.When(_EXIT_CODES, "Never"),
    "restartPolicyRules": h.When(
        _EXIT_CODES, [{"action": "Restart", "exitCodes": {"operator": "In", "values": _EXIT_CODES}}]
    ),
}
"""The container fields that make the kubelet restart the container inside the same pod after certain exit codes.

https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-restart-rules
"""


def budgets(structure: Structure, is_scalable: Callable[[Role], bool]) -> Iterator[Template]:
    """Yield the PodDisruptionBudgets of all roles except the evaluator.

    A drain of a node may always evict the evaluator.

    Args:
        structure: the job.
        is_scalable: a function that returns whether the controller of a role's pods has a scale subresource.
    """
    for role in structure.roles:
        if role.name == "evaluator":
            continue
        bound: dict[Key, Node] = (
            {"maxUnavailable": value("podDisruptionBudget.maxUnavailable")}
            if is_scalable(role)
            else {"minAvailable": cluster.replicas(role.name)}
        )
        spec: Node = {
            **bound,
            "selector": {"matchLabels": naming.role_selector(role.name)},
            # https://kubernetes.io/docs/tasks/run-application/configure-pdb/#unhealthy-pod-eviction-policy
            h.Comment("A task that is not ready loses no work, so it must not block the drain of a node."): None,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        }
        name, labels = naming.workload(role.name), plain_mapping({keys.COMPONENT: role.name})
        budget = naming.kubernetes_object("policy/v1", "PodDisruptionBudget", name, {"spec": spec}, labels=labels)
        yield Template(f"{role.name}-poddisruptionbudget", h.When(value("podDisruptionBudget.enabled"), budget))


# -- device claims -----------------------------------------------------------------------------------------------------
#
#     resources: {gpu: {count: 2, deviceClass: gpu.nvidia.com}}
#
# Kubernetes creates a ResourceClaim for each pod from the template of its role. The spec of the template is immutable.
# https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/


DEVICE_CLAIM: Final = "gpu"
"""The name of the claim for GPUs in a pod, and of the only request in the claim."""


def device_claims(structure: Structure) -> Iterator[Template]:
    """Yield the ResourceClaimTemplate of each role that may claim GPUs of a device class."""
    for role in structure.roles:
        if not role.claims_devices:
            continue
        count, device_class, selectors = (
            value(f"roles.{role.name}.resources.gpu.{key}") for key in ("count", "deviceClass", "selectors")
        )
        devices: dict[Key, Node] = {
            "deviceClassName": device_class,
            "selectors": [h.ForEach(selectors, {"cel": {"expression": h.Bound("selector")}}, "index", "selector")],
            "allocationMode": "ExactCount",
            "count": count,
        }
        claim = naming.kubernetes_object(
            "resource.k8s.io/v1",
            "ResourceClaimTemplate",
            naming.workload(role.name),
            {"spec": {"spec": {"devices": {"requests": [{"name": DEVICE_CLAIM, "exactly": devices}]}}}},
            naming.BEFORE_PODS,
            {keys.COMPONENT: role.name},
        )
        yield Template(f"{role.name}-resourceclaimtemplate", h.When(h.AllOf((count, device_class)), claim))


# -- priority classes --------------------------------------------------------------------------------------------------
#
# A priority class belongs to the whole cluster, and other objects refer to the class by its name. So the name contains
# neither the Helm release nor the run, and two jobs or environments in a cluster must not create the same class.


_CLASS: Final = "class"


@cache
def priority_classes() -> h.ForEach:
    """Return the PriorityClass objects that the job file defines, in the order of their names."""
    fields: dict[Key, Node] = {
        "value": h.Bound(_CLASS, "integer", "value"),
        "description": if_set(h.Bound(_CLASS, "string", "description")),
        "preemptionPolicy": h.Default(h.Bound(_CLASS, "string", "preemptionPolicy"), "PreemptLowerPriority"),
        "globalDefault": False,
    }
    priority_class = naming.kubernetes_object(
        "scheduling.k8s.io/v1", "PriorityClass", h.Bound("name"), fields, naming.BEFORE_PODS
    )
    return h.ForEach(value("priorityClasses"), priority_class, item=_CLASS)


# -- objects of the job file -------------------------------------------------------------------------------------------
#
#     objects:
#       quota: {apiVersion: v1, kind: ResourceQuota, spec: {hard: {requests.nvidia.com/gpu: "8"}}}
#
# The objects are values of the chart. So Helm does not evaluate template expressions in the objects, and an environment
# may change the objects. tfgen adds the labels of the job, and a name if the object has no name. If the pods need the
# object, tfgen also adds a sync wave, so that Argo CD applies the object before the pods.


LITERAL: Final = "object"
"""The prefix of the file name of each object under `objects`."""

_OBJECT: Final = "object"
_NAME: Final = h.Bound("name")
_KIND: Final = h.Bound(_OBJECT, "string", "kind")
_METADATA: Final = h.Bound("metadata", "map")
_FIELDS: Final = h.Bound("fields", "map")

_TFGEN_FIELDS: Final = ("apiVersion", "kind", "metadata")
"""The fields that tfgen writes itself in each object. The chart contains all other fields of the object unchanged."""

KINDS_BEFORE_PODS: Final = (
    "ConfigMap",
    "ExternalSecret",
    "LimitRange",
    "NetworkPolicy",
    "ResourceQuota",
    "Role",
    "RoleBinding",
    "SealedSecret",
    "Secret",
    "SecretProviderClass",
    "ServiceAccount",
)
"""The kinds of objects that a pod needs at its start, or that limit the pod. Argo CD applies these objects first.

Argo CD waits until the objects of a sync wave are healthy, so each of these kinds must be healthy without a pod of the
job. An object of another kind may become healthy only with the pods, so Argo CD applies the object and the pods
together."""


@cache
def literal_objects() -> h.ForEach:
    """Return the objects under `objects` of the job file, in the order of the keys."""
    item: Node = {
        "apiVersion": h.Bound(_OBJECT, "string", "apiVersion"),
        "kind": _KIND,
        "metadata": naming.literal_metadata(h.Default(_metadata_field("name", "string"), naming.of_job(_NAME))),
        h.Splice("fields"): _FIELDS,
    }
    wave = h.MapOf({keys.SYNC_WAVE: h.When(_is_one_of(_KIND, KINDS_BEFORE_PODS), keys.BEFORE_PODS[keys.SYNC_WAVE])})
    object_labels, object_annotations = (
        h.Default(_metadata_field(field, "map"), h.MapOf({})) for field in ("labels", "annotations")
    )
    is_tfgen_field = _is_one_of(h.Bound("field"), _TFGEN_FIELDS)
    fields = h.Filtered(h.Bound(_OBJECT, "map"), h.Not(is_tfgen_field), key="field", item="content")
    for bound, expression in (
        (_FIELDS, fields),
        (naming.LITERAL_ANNOTATIONS, h.Merged((wave, value("annotations"), object_annotations))),
        (naming.LITERAL_LABELS, h.Merged((h.MapOf({}), value("labels"), object_labels))),
        (_METADATA, h.Default(h.Bound(_OBJECT, "map", "metadata"), h.MapOf({}))),
    ):
        item = h.Let(bound.name, expression, item)
    return h.ForEach(value("objects"), item, item=_OBJECT)


def _metadata_field(field: str, value_type: ValueType) -> h.Bound:
    return _METADATA.replaced(type=value_type, path=field)


def _is_one_of(text: Node, choices: tuple[str, ...]) -> h.AnyOf:
    return h.AnyOf(tuple(h.Equal(text, choice) for choice in choices))


# -- Elastic Container Instance (ECI) of Alibaba Cloud -----------------------------------------------------------------
#
#     cloud: {eci: {gpuType: P4, imageCache: {make: {size: 40}}}}
#
# Annotations of a pod (`kubernetes/keys.py`) select the instance. ECI reads the annotations only when the pod is
# created. The image cache:
# https://www.alibabacloud.com/help/en/eci/user-guide/use-imagecache-to-accelerate-the-creation-of-pods.


_ECI_ENABLED: Final = value("cloud.eci.enabled")


def eci_pod_annotations(structure: Structure) -> Mapping[Key, Node]:
    """Return the pod annotations that select the instance type of Elastic Container Instance (ECI) for the tasks."""
    if not structure.eci:
        return {}
    lists = {key: value(f"cloud.eci.{path}") for key, path in keys.ECI_LISTS.items()}
    annotations: dict[str, Node] = {
        **{keys.ECI_PREFIX + key: if_set(value(f"cloud.eci.{path}")) for key, path in keys.ECI_TEXTS.items()},
        **{keys.ECI_PREFIX + key: h.When(items, h.Join(items)) for key, items in lists.items()},
        keys.ECI_PREFIX + keys.ECI_IMAGE_CACHE: h.When(value("cloud.eci.imageCache.match"), "true"),
    }
    return {key: h.When(_ECI_ENABLED, annotations[key]) for key in sorted(annotations)}


def eci_pod_labels(structure: Structure) -> Mapping[Key, Node]:
    """Return the pod label that makes the webhook of Alibaba Cloud run a pod on ECI without a virtual node."""
    return {keys.ECI: h.When(_uses_way("Label"), "true")} if structure.eci else {}


def eci_node_selector(structure: Structure) -> Mapping[Name, Node]:
    """Return the node selector for the virtual nodes, which run their pods on ECI."""
    if not structure.eci:
        return {}
    return {label: h.When(_uses_way(way), text) for way, (label, text) in keys.ECI_NODE_LABELS.items()}


def eci_tolerations(structure: Structure) -> tuple[Node, ...]:
    """Return the tolerations of the taints of the virtual nodes."""
    if not structure.eci:
        return ()
    return tuple(
        h.When(_uses_way(way), {"key": key, "operator": "Equal", "value": text, "effect": "NoSchedule"})
        for way, (key, text) in keys.ECI_TAINTS.items()
    )


def _uses_way(way: str) -> Expression:
    return h.AllOf((_ECI_ENABLED, h.Equal(value("cloud.eci.way"), way)))


def image_cache(structure: Structure) -> Node:
    """Return the ImageCache with the images of the tasks. All runs of the job share the cache."""
    tunable = [value("image"), *(value(f"roles.{role.name}.image") for role in structure.roles)]
    if isinstance(structure.code, GitCode):
        tunable.append(value("code.git.image"))
    path = "cloud.eci.imageCache.make"
    spec: Node = {
        "images": [*(h.When(image, image) for image in tunable), *_additional_images(structure)],
        "imagePullSecrets": value(f"{path}.pullSecrets"),
        "imageCacheSize": value(f"{path}.size"),
        "retentionDays": if_set(value(f"{path}.retentionDays")),
    }
    annotations = {**naming.BEFORE_PODS, keys.CACHE_REUSE: "true"}
    cache = naming.kubernetes_object("eci.alibabacloud.com/v1", "ImageCache", naming.JOB, {"spec": spec}, annotations)
    return h.When(_ECI_ENABLED, cache)


def _additional_images(structure: Structure) -> list[str]:
    """Return the images of init containers and sidecars, without duplicates."""
    templates = (structure.pod_template, *(role.pod_template for role in structure.roles))
    specs = [template.get("spec") or {} for template in templates]
    containers = [
        *(container for role in structure.roles for container in (*role.init_containers, *role.sidecars)),
        *(container for spec in specs for key in ("initContainers", "containers") for container in spec.get(key) or ()),
    ]
    return list(dict.fromkeys(container["image"] for container in containers if container.get("image")))
