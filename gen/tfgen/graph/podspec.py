"""The parts of a PodSpec: security, resources, placement, environment variables, and the hash of a pod template.

All pods that tfgen renders have parts from here: tasks, the finisher, TensorBoard, tests and the ElasticDL master.
https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#PodSpec
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import ValueType
from tfgen.graph import cluster, naming, supporting
from tfgen.graph import holes as h
from tfgen.graph.holes import Expression, Key, Name, Node, call, if_set, plain_mapping
from tfgen.graph.naming import ROLE, role_or_job_value, role_value, value
from tfgen.job.facts import UNNAMED
from tfgen.job.training_job import RoleName, Structure
from tfgen.kubernetes import keys
from tfgen.kubernetes.pods import Profile

# -- PodSpec -----------------------------------------------------------------------------------------------------------


_NO_SERVICE_LINKS = h.Comment(
    "No environment variables for Services: the variables of many Services can exceed the size limit of a process."
)


def pod_spec(
    first: Mapping[Key, Node], lifecycle: Mapping[Key, Node], rest: Mapping[Key, Node], *, needs_token: bool = False
) -> dict[Key, Node]:
    """Return a PodSpec with the given fields, and with the fields that all pods have in common.

    Args:
        first: the fields for a gang scheduler, the fields that keys of the job set unchanged, and the service account.
        lifecycle: the fields for restarts and deadlines, and the subdomain.
        rest: the security context, and then the fields for the placement on nodes, volumes and containers.
        needs_token: whether the pod calls the API server.
    """
    return {
        **first,
        "automountServiceAccountToken": needs_token,
        _NO_SERVICE_LINKS: None,
        "enableServiceLinks": False,
        **lifecycle,
        "hostUsers": h.When(h.Not(value("security.hostUsers")), False),
        **rest,
    }


# -- security contexts -------------------------------------------------------------------------------------------------
#
# https://kubernetes.io/docs/concepts/security/pod-security-standards/


def pod_context(profile: Profile) -> dict[Key, Node]:
    """Return the security context of a pod for a profile, such as `restricted`."""
    identity: dict[Key, Node] = {
        "runAsUser": value("security.runAsUser"),
        "runAsGroup": value("security.runAsGroup"),
        "fsGroup": value("security.fsGroup"),
        # Kubernetes changes the owner of the files only once, because a model may have many files.
        "fsGroupChangePolicy": "OnRootMismatch",
    }
    if profile == "privileged":
        return identity
    seccomp: dict[Key, Node] = {"seccompProfile": {"type": "RuntimeDefault"}}
    return {"runAsNonRoot": True, **identity, **seccomp} if profile == "restricted" else {**identity, **seccomp}


def container_context(profile: Profile) -> dict[Key, Node]:
    """Return the security context of a container for a profile, such as `restricted`."""
    root: dict[Key, Node] = {"readOnlyRootFilesystem": value("security.readOnlyRootFilesystem")}
    if profile != "restricted":
        return root
    return {"allowPrivilegeEscalation": False, **root, "capabilities": {"drop": ["ALL"]}}


def pod_context_template(profile: Profile) -> h.NamedTemplate:
    """Return the security context of a pod as a named template, which all pods of the chart share."""
    return h.NamedTemplate(
        "podSecurityContext", f"The security context of a pod, for the profile {profile}.", pod_context(profile)
    )


def container_context_template(profile: Profile) -> h.NamedTemplate:
    """Return the security context of a container as a named template, which all containers of the chart share."""
    doc = f"The security context of a container, for the profile {profile}."
    return h.NamedTemplate("containerSecurityContext", doc, container_context(profile))


# -- resources ---------------------------------------------------------------------------------------------------------
#
# ``cpu`` and ``memory`` set both the request and the limit, because a throttled or evicted task stops the whole job.
# ``requests`` and ``limits``, by resource name, override ``cpu`` and ``memory``. Only the limit of a GPU is set,
# because Kubernetes uses the limit as the request (https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/).


REQUESTS: Final = h.Bound("requests", "map")
LIMITS: Final = h.Bound("limits", "map")
DEVICES: Final = h.Bound("devices", "map")
GPUS: Final = h.Parameter("gpus", "boolean")
CPU_LIMIT: Final = h.Parameter("cpuLimit", "quantity")

# The resource names of device plugins for a GPU, a part of a GPU or a share of GPU memory: nvidia.com/gpu,
# nvidia.com/mig-1g.5gb, amd.com/gpu, gpu.intel.com/i915, aliyun.com/gpu-mem, volcano.sh/vgpu-number,
# tencent.com/vcuda-core.
IS_GPU: Final = "gpu|nvidia|vcuda"


_CPU_AND_MEMORY: Final[Mapping[Name, Node]] = {name: role_value(f"resources.{name}") for name in ("cpu", "memory")}
_GPU_COUNT: Final = role_value("resources.gpu.count")
_DEVICE_CLASS: Final = role_value("resources.gpu.deviceClass")


HAS_GPUS: Final = h.AnyOf((_GPU_COUNT, DEVICES))
"""A test that is true if the tasks of a role request a GPU or a share of a GPU."""


def devices() -> h.Filtered:
    """Return the GPU entries of the map `LIMITS`: the limits of a role for GPUs and shares of GPUs.

    The caller must define the name `LIMITS` around the result: Let(LIMITS.name, limits(), ...).
    """
    name, amount = h.Bound("name"), h.Text((h.Bound("value"),))
    return h.Filtered(LIMITS, h.AllOf((h.Matches(name, IS_GPU), h.Not(h.Equal(amount, "0")))))


def requests() -> h.Merged:
    """Return the map of a role's resource requests. The caller gives the map the name `REQUESTS`, in a `Let`."""
    return h.Merged((h.MapOf(_CPU_AND_MEMORY), role_value("resources.requests")))


def limits(structure: Structure) -> h.Merged:
    """Return the map of a role's resource limits. The caller gives the map the name `LIMITS`, in a `Let`.

    Kubernetes counts the GPUs of a device class in a claim, and not in the limits.
    """
    count = h.When(h.Not(_DEVICE_CLASS), _GPU_COUNT) if structure.claims_devices else _GPU_COUNT
    gpu: dict[Name, Node] = {role_value("resources.gpu.resource"): count}
    share = h.When(_GPU_COUNT, role_value("resources.gpu.share"), h.MapOf({}))
    return h.Merged((h.MapOf({**_CPU_AND_MEMORY, **gpu}), share, role_value("resources.limits")))


def claims(structure: Structure, field: str, **source: Node) -> Mapping[Key, Node]:
    """Return the field of a pod or a container with the claim for the GPUs of a device class.

    Args:
        structure: the job.
        field: `resourceClaims` of the pod, or `claims` in the `resources` of the main container.
        source: the field with the source of the claim, for a pod.
    """
    claim = _if_claimed({"name": supporting.DEVICE_CLAIM, **plain_mapping(source)})
    return {field: [claim]} if structure.claims_devices else {}


def _if_claimed(node: Node) -> Node:
    return h.When(h.AllOf((_GPU_COUNT, _DEVICE_CLASS)), node)


def with_own_claim(container: Any, structure: Structure) -> Any:
    """Return a container of a podTemplate that names the claim for GPUs only in pods that have the claim."""
    claims = data_path.at(container, ("resources", "claims"))
    if not structure.claims_devices or not isinstance(claims, list):
        return container
    own = [
        _if_claimed(item) if isinstance(item, dict) and item.get("name") == supporting.DEVICE_CLAIM else item
        for item in claims
    ]
    return {**container, "resources": {**container["resources"], "claims": own}}


def helper_resources(path: str) -> Node:
    """Return the `resources` of a helper container of tfgen: requests and limits of CPU and memory.

    If a quota limits one of these amounts, Kubernetes rejects each pod with a container that does not set the amount:
    https://kubernetes.io/docs/concepts/policy/resource-quotas/. By default, the requests equal the limits. A lower
    request would change the quality of service of the pod from Guaranteed to Burstable, and Kubernetes would evict the
    pod sooner.

    Args:
        path: the values path above `resources`.
    """
    return {
        map_: {name: value(f"{path}.resources.{map_}.{name}") for name in ("cpu", "memory")}
        for map_ in ("requests", "limits")
    }


# -- placement ---------------------------------------------------------------------------------------------------------


NODE_SELECTOR: Final = h.Bound("nodeSelector", "map")
AFFINITY: Final = h.Bound("affinity", "map")

_CONSTRAINT: Final = "constraint"
_SELECTOR: Final = h.Bound(_CONSTRAINT, "map", "labelSelector")
_MATCH_LABEL_KEYS: Final = h.Bound(_CONSTRAINT, "list", "matchLabelKeys")

# The taints of spot nodes. Spot nodes of AWS, Karpenter and Alibaba Cloud have labels, but no taints.
_SPOT_TAINTS: Final = (
    "cloud.google.com/gke-spot",  # https://cloud.google.com/kubernetes-engine/docs/concepts/spot-vms
    "kubernetes.azure.com/scalesetpriority",  # https://learn.microsoft.com/azure/aks/spot-node-pool
    # https://docs.oracle.com/iaas/Content/ContEng/Tasks/contengusingpreemptiblecapacity.htm
    "oci.oraclecloud.com/oke-is-preemptible",
)

_SPOT_TOLERATIONS: Final[tuple[Node, ...]] = tuple(
    {"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in _SPOT_TAINTS
)


def _with_spot(spot: Expression, tolerations: Expression) -> list[Node]:
    return [*(h.When(spot, toleration) for toleration in _SPOT_TOLERATIONS), h.Items(tolerations)]


_SPOT, _LIST = h.Parameter("spot", "boolean"), h.Parameter("tolerations", "list")
_TOLERATIONS: Final = h.NamedTemplate(
    "tolerations",
    "The tolerations of a pod. With spot, the pod also tolerates the taints of the spot nodes of clouds.",
    _with_spot(_SPOT, _LIST),
    file="scheduling",
    parameters=(_SPOT.name, _LIST.name),
)


def node_selector(structure: Structure) -> h.Merged:
    """Return the node selector: the labels of the GPU product and of ECI, overridden by the user's labels.

    A role without GPUs has no label of a GPU product.
    """
    product: dict[Name, Node] = {
        role_value("resources.gpu.productLabel"): h.When(GPUS, role_value("resources.gpu.product"))
    }
    lowest = h.MapOf({**product, **supporting.eci_node_selector(structure)})
    return h.Merged((lowest, value("nodeSelector"), role_value("nodeSelector")))


def tolerations(structure: Structure) -> Node:
    """Return the tolerations of the pods of a role."""
    spot, listed = role_or_job_value("spot"), role_or_job_value("tolerations")
    cloud = supporting.eci_tolerations(structure)
    return [*cloud, *_with_spot(spot, listed)] if cloud else call(_TOLERATIONS, spot=spot, tolerations=listed)


def job_tolerations() -> Node:
    """Return the tolerations of a pod without a role, such as TensorBoard's pod, as a list that a patch can extend."""
    return _with_spot(value("spot"), value("tolerations"))


def job_scheduling() -> dict[Key, Node]:
    """Return the scheduling fields of a pod without a role, such as the pod of the finisher."""
    return {
        "nodeSelector": value("nodeSelector"),
        "tolerations": call(_TOLERATIONS, spot=value("spot"), tolerations=value("tolerations")),
    }


def affinity() -> Node:
    """Return the affinity of the user, or an affinity that implements `placement`.

    ``spread`` prefers different nodes for the tasks of a role. ``pack`` prefers the same node for the tasks of a run.
    """
    placement = role_or_job_value("placement")
    spread: Node = {"podAntiAffinity": _preferred(naming.role_selector(ROLE))}
    pack: Node = {"podAffinity": _preferred(naming.RUN_SELECTOR)}
    by_placement = h.When(h.Equal(placement, "spread"), spread, h.When(h.Equal(placement, "pack"), pack))
    return h.When(AFFINITY, h.NotEmpty(AFFINITY), by_placement)


MERGED_AFFINITY: Final = h.Merged((value("affinity"), role_value("affinity")), flat=False)
"""The affinity of the user. Each key of the role, such as `nodeAffinity`, replaces the key of the job."""


def topology_spread_constraints() -> list[Node]:
    """Return the topology spread constraints of the user. A constraint without a selector counts the role's pods.

    Without a selector, Kubernetes counts no pods, and refuses `matchLabelKeys`.
    """
    body: dict[Key, Node] = {
        "maxSkew": _constraint("maxSkew", "integer"),
        "minDomains": if_set(_constraint("minDomains", "integer")),
        "topologyKey": _constraint("topologyKey"),
        "whenUnsatisfiable": _constraint("whenUnsatisfiable"),
        "labelSelector": h.When(h.IsSet(_SELECTOR), h.When(_SELECTOR, h.NotEmpty(_SELECTOR), {}), _counted_pods()),
        "matchLabelKeys": _MATCH_LABEL_KEYS,
        "nodeAffinityPolicy": if_set(_constraint("nodeAffinityPolicy")),
        "nodeTaintsPolicy": if_set(_constraint("nodeTaintsPolicy")),
    }
    return [h.ForEach(role_or_job_value("topologySpreadConstraints"), body, "index", _CONSTRAINT)]


def _counted_pods() -> Node:
    """Return a selector of the role's pods. Kubernetes refuses a key of `matchLabelKeys` in the selector."""
    chosen = {key: h.Not(h.HasItem(_MATCH_LABEL_KEYS, key)) for key in naming.ROLE_LABELS}
    selected: dict[Key, Node] = {key: h.When(chosen[key], node) for key, node in naming.ROLE_LABELS.items()}
    return h.When(h.AnyOf(tuple(chosen.values())), {"matchLabels": selected}, {})


def _constraint(field: str, value_type: ValueType = "string") -> h.Bound:
    return h.Bound(_CONSTRAINT, value_type, field)


def _preferred(selector: Node) -> Node:
    """Return a preferred term for the pod affinity. A required term could block a gang in a cluster with few nodes."""
    term: Node = {"labelSelector": {"matchLabels": selector}, "topologyKey": "kubernetes.io/hostname"}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}


# -- environment variables ---------------------------------------------------------------------------------------------
#
# Kubernetes expands ``$(X)`` only from preceding variables of the list. So the variables of tfgen come first, then the
# user's variables without a reference, and then the user's variables with a reference. Each group is sorted by name.


ENV: Final = h.Bound("env", "map")

RUN_FOLDER: Final = "TFGEN_RUN_FOLDER"
"""The environment variable with the name of the run's folder, for volumes with a folder for each run."""

ENV_REASON: Final = h.Comment(
    "Kubernetes expands $(X) only from preceding variables, so the variables of tfgen come first, and the values with "
    "a reference come last. Without a GPU, NVIDIA_VISIBLE_DEVICES=void hides the GPUs of the node. By default, each "
    "thread pool of TensorFlow has a thread for each core of the node. OMP_NUM_THREADS and TF_NUM_* reduce the pools "
    "to the CPU limit. TF_NUM_INTEROP_THREADS is at least 2, because a worker that waits for a parameter server blocks "
    "one thread."
)

# The sizes of the thread pools of TensorFlow and oneDNN. By default each pool has a thread for each core of the node,
# even if the container has a CPU limit.
_THREADS: Final = ("OMP_NUM_THREADS", "TF_NUM_INTEROP_THREADS", "TF_NUM_INTRAOP_THREADS")

# With one inter-op thread, a worker that waits for a parameter server blocks the only thread and deadlocks.
_AT_MOST_ONE_CPU: Final = r"^(1|1000m|[0-9]{1,3}m|0?[.][0-9]+)$"
_CPU_LIMIT: Final = h.MapOf({"resourceFieldRef": h.MapOf({"resource": "limits.cpu"})})
_INTEROP: Final = h.When(
    h.AllOf((CPU_LIMIT, h.Matches(h.Text((CPU_LIMIT,)), _AT_MOST_ONE_CPU))),
    h.MapOf({"TF_NUM_INTEROP_THREADS": "2"}),
    h.MapOf({}),
)

# The GPU images of TensorFlow set "all", so a container without a GPU would allocate memory on every GPU of its node.
_VISIBLE_DEVICES: Final = "NVIDIA_VISIBLE_DEVICES"
_NO_DEVICES: Final = "void"
NO_GPUS: Final[Mapping[Key, Node]] = {
    "name": _VISIBLE_DEVICES,
    h.Comment("An image for GPUs sets the value all. The value void hides the GPUs of the node."): None,
    "value": _NO_DEVICES,
}

_ITEM: Final = h.Bound("value")
_EXPANDS: Final = h.Contains(_ITEM, "$(")
_LITERAL_VARIABLE: Final[Mapping[Key, Node]] = {"name": h.Bound("name"), "value": _ITEM}
_REFERENCE: Final[Mapping[Key, Node]] = {"name": h.Bound("name"), "valueFrom": h.NotEmpty(h.Bound("value", "map"))}


HOME: Final[Node] = {"name": "HOME", "value": "/tmp"}  # noqa: S108 - the emptyDir of the pod


def from_pod(name: str, field: str) -> Node:
    """Return a variable with the value of a field of the pod, such as `status.podIP`."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}}


def task_index(index_label: str) -> Node:
    """Return the variable with the index of the task. A controller tells a pod its index by the label `index_label`."""
    return from_pod("TASK_INDEX", f"metadata.labels['{index_label}']")


def env() -> h.Merged:
    """Return the map of environment variables: the defaults of tfgen, overridden by the job, and then by the role."""
    defaults: dict[Name, Node] = {
        "HOME": "/tmp",  # noqa: S108 - the emptyDir of the pod
        _VISIBLE_DEVICES: h.When(h.Not(GPUS), _NO_DEVICES),
        **{name: h.When(CPU_LIMIT, _CPU_LIMIT) for name in _THREADS},
    }
    return h.Merged((h.MapOf(defaults), _INTEROP, value("env"), role_value("env")), flat=False)


def variables(structure: Structure, role: RoleName, *, index_label: str, has_cluster: bool) -> list[Node]:
    """Return the environment variables of the main container of a role, as a list.

    Args:
        structure: the job.
        role: the role of the container.
        index_label: the label with which the controller tells a pod its index.
        has_cluster: whether the variables describe the cluster. If False, an operator adds TF_CONFIG.
    """
    return [
        *(_cluster_variables(structure, role, index_label) if has_cluster else []),
        *run_variables(),
        h.ForEach(ENV, h.When(h.IsMap(_ITEM), _REFERENCE, h.When(h.Not(_EXPANDS), _LITERAL_VARIABLE))),
        h.ForEach(ENV, h.When(h.AllOf((h.Not(h.IsMap(_ITEM)), _EXPANDS)), _LITERAL_VARIABLE)),
    ]


def run_variables() -> list[Node]:
    """Return the environment variables that contain the name of the run and the name of the run's folder."""
    return [{"name": "TFGEN_RUN", "value": value("run")}, {"name": RUN_FOLDER, "value": run_folder()}]


def run_folder() -> h.Default:
    """Return the name of the run's folder in each volume that has a folder for each run."""
    return h.Default(value("resumeFrom"), h.Default(value("run"), UNNAMED))


def _cluster_variables(structure: Structure, role: RoleName, index_label: str) -> list[Node]:
    """Return the variables with the task's index and the cluster. The last variable refers to earlier variables."""
    index = task_index(index_label)
    if structure.uses_keras_distribution:
        return [index, *cluster.keras_variables()]
    key = cluster.EVALUATOR_CLUSTER if role == "evaluator" else cluster.CLUSTER
    references = {"TF_CLUSTER": key}
    if structure.legacy_flags or structure.legacy_variables:
        references |= {"PS_HOSTS": cluster.PS_HOSTS, "WORKER_HOSTS": cluster.WORKER_HOSTS}
    variables: list[Node] = [index, *(cluster.variable(name, key) for name, key in references.items())]
    if structure.legacy_variables:
        variables.append({"name": "JOB_NAME", "value": ROLE})
    return [*variables, {"name": "TF_CONFIG", "value": cluster.tf_config(ROLE)}]


# -- the hash of a pod template ----------------------------------------------------------------------------------------
#
# The hash of the template is a label of the pods, and ensures that all pods of a run have the same template.
#
# Kubernetes accepts a new pod template for a StatefulSet at any time, and creates replacement pods from the new
# template. Kubernetes rejects a new selector, and a template with labels that the selector does not match. So the
# selector and the template contain the hash, and Kubernetes rejects a new template. Kubernetes always rejects a new
# template of a Job. The hash of a Job is for the check that the chart makes before an upgrade.
# https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#pod-selector
#
# The hash is the digest of the filled template without the label. A change that produces equal pods, such as a new
# version of tfgen or a new number of replicas, produces an equal hash.


HASH: Final = h.Bound("hash")
"""The name of the hash in an object that the function `hashed` returns. The function binds the name to the hash."""

HASH_PARAMETER: Final = h.Parameter(HASH.name)
"""The parameter that passes the hash to a pod template. When tfgen computes the hash, the parameter is null."""

HASH_LABEL: Final[Mapping[Key, Node]] = {
    h.Comment("The hash of this pod template. A change of the template needs a new run."): None,
    keys.POD_TEMPLATE_HASH: if_set(HASH_PARAMETER),
}
"""The label with the hash, as the last label of a pod template."""


def hashed(pod: h.NamedTemplate, arguments: Mapping[str, Node], workload: Callable[[Node], Node]) -> h.Let:
    """Return a workload object whose pod template has the hash of the template as a label.

    The result computes the hash once. `HASH` is the hole with the hash.

    Args:
        pod: the pod template, as a named template whose labels include `HASH_LABEL`, the label with the hash.
        arguments: the arguments for all parameters of `pod` except the hash, by the name of the parameter.
        workload: a function that takes the pod template with the hash, and returns the workload object. The object may
            contain `HASH`, for example in a selector.
    """
    doc = f"The hash of {pod.name}, for a label of the pods and for the immutable selector of a StatefulSet."
    parameters = tuple(name for name in pod.parameters if name != HASH_PARAMETER.name)
    unhashed = call(pod, **{name: h.Parameter(name) for name in parameters}, hash=None)
    template = h.NamedTemplate(f"{pod.name}Hash", doc, h.Digest(unhashed), file=pod.file, parameters=parameters)
    used = {name: arguments[name] for name in parameters}
    return h.Let(HASH.name, call(template, **used), workload(call(pod, **used, hash=HASH)))
