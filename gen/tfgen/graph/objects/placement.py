"""Where a pod may run: node selector, tolerations with the one word `spot`, affinity with the one word `placement`."""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import (
    AnyOf,
    Bound,
    Equal,
    Expression,
    Items,
    Key,
    MapOf,
    Merged,
    Name,
    Named,
    Node,
    NotEmpty,
    Parameter,
    When,
    call,
)
from tfgen.graph.objects import eci, labels
from tfgen.graph.objects.resources import GPUS
from tfgen.graph.objects.values import ROLE, role_or_job_value, role_value, value
from tfgen.job.training_job import Structure

NODE_SELECTOR: Final = Bound("nodeSelector", "map")

# The taints of the clouds' spot nodes. Nodes of AWS, of Karpenter and of Alibaba have labels only.
_SPOT_TAINTS: Final = (
    "cloud.google.com/gke-spot",  # https://cloud.google.com/kubernetes-engine/docs/concepts/spot-vms
    "kubernetes.azure.com/scalesetpriority",  # https://learn.microsoft.com/azure/aks/spot-node-pool
    # https://docs.oracle.com/iaas/Content/ContEng/Tasks/contengusingpreemptiblecapacity.htm
    "oci.oraclecloud.com/oke-is-preemptible",
)

_CLOUDS: Final[tuple[Node, ...]] = tuple(
    {"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in _SPOT_TAINTS
)


def _tolerated(spot: Expression, users: Expression) -> list[Node]:
    return [*(When(spot, taint) for taint in _CLOUDS), Items(users)]


_SPOT, _USERS = Parameter("spot", "boolean"), Parameter("tolerations", "list")
_TOLERATIONS: Final = Named(
    "tolerations",
    "The tolerations of a pod, and those of the clouds' spot nodes where it may run on them.",
    _tolerated(_SPOT, _USERS),
    file="scheduling",
    parameters=(_SPOT.name, _USERS.name),
)


def node_selector(structure: Structure) -> Merged:
    """What `NODE_SELECTOR` is bound to: the labels of the wanted GPU and cloud, under the job's and the role's own.

    Where a role's count of GPUs is 0, its tasks need no node that has the product.
    """
    product: dict[Name, Node] = {
        role_value("resources.gpu.productLabel"): When(GPUS, role_value("resources.gpu.product"))
    }
    lowest = MapOf({**product, **eci.node_selector(structure)})
    return Merged((lowest, value("nodeSelector"), role_value("nodeSelector")))


def tolerations(structure: Structure) -> Node:
    """The tolerations of a role's pods."""
    spot, users = AnyOf((role_value("spot"), value("spot"))), role_or_job_value("tolerations")
    cloud = eci.tolerations(structure)
    return [*cloud, *_tolerated(spot, users)] if cloud else _tolerations(spot, users)


def job_tolerations() -> Node:
    """The same of a pod that has no role, in full: a patch may add to them."""
    return _tolerated(value("spot"), value("tolerations"))


def job_scheduling() -> dict[Key, Node]:
    """Where a pod that has no role may run."""
    return {
        "nodeSelector": value("nodeSelector"),
        "tolerations": _tolerations(value("spot"), value("tolerations")),
    }


def _tolerations(spot: Expression, users: Expression) -> Node:
    return call(_TOLERATIONS, spot=spot, tolerations=users)


def affinity() -> Node:
    """The user's affinity where there is one; else ``spread`` parts a role's tasks, ``pack`` joins the run's."""
    mine, word = role_or_job_value("affinity"), role_or_job_value("placement")
    apart: Node = {"podAntiAffinity": _prefer(labels.role_selector(ROLE))}
    together: Node = {"podAffinity": _prefer(labels.run_selector())}
    return When(mine, NotEmpty(mine), When(Equal(word, "spread"), apart, When(Equal(word, "pack"), together)))


def _prefer(selector: Node) -> Node:
    """By preference, not by demand: a node too few must not stop a gang."""
    term: Node = {"labelSelector": {"matchLabels": selector}, "topologyKey": "kubernetes.io/hostname"}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}
