"""The placement of pods on nodes: node selector, tolerations (with `spot`), and affinity (with `placement`)."""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import (
    AnyOf,
    Bound,
    Equal,
    Expression,
    ForEach,
    HasItem,
    IsSet,
    Items,
    Key,
    MapOf,
    Merged,
    Name,
    NamedTemplate,
    Node,
    Not,
    NotEmpty,
    Parameter,
    When,
    call,
    if_set,
)
from tfgen.graph.objects import eci, labels
from tfgen.graph.objects.resources import GPUS
from tfgen.graph.objects.values import ROLE, role_or_job_value, role_value, value
from tfgen.job.training_job import Structure
from tfgen.value_type import ValueType

NODE_SELECTOR: Final = Bound("nodeSelector", "map")
AFFINITY: Final = Bound("affinity", "map")

_CONSTRAINT: Final = "constraint"
_SELECTOR: Final = Bound(_CONSTRAINT, "map", "labelSelector")
_MATCH_LABEL_KEYS: Final = Bound(_CONSTRAINT, "list", "matchLabelKeys")

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
    return [*(When(spot, toleration) for toleration in _SPOT_TOLERATIONS), Items(tolerations)]


_SPOT, _LIST = Parameter("spot", "boolean"), Parameter("tolerations", "list")
_TOLERATIONS: Final = NamedTemplate(
    "tolerations",
    "The tolerations of a pod. With spot, the pod also tolerates the taints of the spot nodes of clouds.",
    _with_spot(_SPOT, _LIST),
    file="scheduling",
    parameters=(_SPOT.name, _LIST.name),
)


def node_selector(structure: Structure) -> Merged:
    """Return the node selector: the labels of the GPU product and of ECI, overridden by the user's labels.

    A role without GPUs has no label of a GPU product.
    """
    product: dict[Name, Node] = {
        role_value("resources.gpu.productLabel"): When(GPUS, role_value("resources.gpu.product"))
    }
    lowest = MapOf({**product, **eci.node_selector(structure)})
    return Merged((lowest, value("nodeSelector"), role_value("nodeSelector")))


def tolerations(structure: Structure) -> Node:
    """Return the tolerations of the pods of a role."""
    spot, listed = role_or_job_value("spot"), role_or_job_value("tolerations")
    cloud = eci.tolerations(structure)
    return [*cloud, *_with_spot(spot, listed)] if cloud else _tolerations(spot, listed)


def job_tolerations() -> Node:
    """Return the tolerations of a pod without a role, such as TensorBoard's pod, as a list that a patch can extend."""
    return _with_spot(value("spot"), value("tolerations"))


def job_scheduling() -> dict[Key, Node]:
    """Return the scheduling fields of a pod without a role, such as the pod of the finisher."""
    return {
        "nodeSelector": value("nodeSelector"),
        "tolerations": _tolerations(value("spot"), value("tolerations")),
    }


def _tolerations(spot: Expression, tolerations: Expression) -> Node:
    return call(_TOLERATIONS, spot=spot, tolerations=tolerations)


def affinity() -> Node:
    """Return the affinity of the user, or an affinity that implements `placement`.

    ``spread`` prefers different nodes for the tasks of a role. ``pack`` prefers the same node for the tasks of a run.
    """
    placement = role_or_job_value("placement")
    spread: Node = {"podAntiAffinity": _preferred(labels.role_selector(ROLE))}
    pack: Node = {"podAffinity": _preferred(labels.run_selector())}
    by_placement = When(Equal(placement, "spread"), spread, When(Equal(placement, "pack"), pack))
    return When(AFFINITY, NotEmpty(AFFINITY), by_placement)


def merged_affinity() -> Merged:
    """Return the affinity of the user. Each key of the role, such as `nodeAffinity`, replaces the key of the job."""
    return Merged((value("affinity"), role_value("affinity")), flat=False)


def topology_spread_constraints() -> list[Node]:
    """Return the topology spread constraints of the user. A constraint without a selector counts the role's pods.

    Without a selector, Kubernetes counts no pods, and refuses `matchLabelKeys`.
    """
    body: dict[Key, Node] = {
        "maxSkew": _constraint("maxSkew", "integer"),
        "minDomains": if_set(_constraint("minDomains", "integer")),
        "topologyKey": _constraint("topologyKey"),
        "whenUnsatisfiable": _constraint("whenUnsatisfiable"),
        "labelSelector": When(IsSet(_SELECTOR), When(_SELECTOR, NotEmpty(_SELECTOR), {}), _counted_pods()),
        "matchLabelKeys": _MATCH_LABEL_KEYS,
        "nodeAffinityPolicy": if_set(_constraint("nodeAffinityPolicy")),
        "nodeTaintsPolicy": if_set(_constraint("nodeTaintsPolicy")),
    }
    return [ForEach(role_or_job_value("topologySpreadConstraints"), body, "index", _CONSTRAINT)]


def _counted_pods() -> Node:
    """Return a selector of the role's pods. Kubernetes refuses a key of `matchLabelKeys` in the selector."""
    chosen = {key: Not(HasItem(_MATCH_LABEL_KEYS, key)) for key in labels.role_labels(ROLE)}
    selected: dict[Key, Node] = {key: When(chosen[key], node) for key, node in labels.role_labels(ROLE).items()}
    return When(AnyOf(tuple(chosen.values())), {"matchLabels": selected}, {})


def _constraint(field: str, value_type: ValueType = "string") -> Bound:
    return Bound(_CONSTRAINT, value_type, field)


def _preferred(selector: Node) -> Node:
    """Return a preferred term for the pod affinity. A required term could block a gang in a cluster with few nodes."""
    term: Node = {"labelSelector": {"matchLabels": selector}, "topologyKey": "kubernetes.io/hostname"}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}
