"""What gives the tasks their names, who may reach them, and whom they may reach."""

from __future__ import annotations

from typing import Final

from tfgen.holes import AllOf, Equal, Items, Node, When
from tfgen.job import Structure
from tfgen.objects import finisher, labels, names
from tfgen.objects.pod import PORT_NAME
from tfgen.objects.values import value

ISOLATED: Final = Equal(value("network.policy"), "Isolated")
_LIMITED: Final = value("network.egress.limited")

# To anyone, because a cluster's DNS has no labels of its own that all clusters agree on, and a cache on the node
# (https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/) is no pod that a selector could name.
_DNS: Final[Node] = {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}

# To anyone again: the API server is a process of a node, or no part of the cluster at all, and its address is known to
# the cluster alone. Some network plugins see the port of its Service, 443, others the port that it listens on.
_API_SERVER: Final[Node] = {"ports": [{"port": 443, "protocol": "TCP"}, {"port": 6443, "protocol": "TCP"}]}


def service(structure: Structure) -> Node:
    """The headless Service that gives each task its DNS name, ready or not: tasks start by looking for each other."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": labels.metadata(names.RUN, annotations=labels.BEFORE_PODS),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": labels.run_selector(),
            "ports": [{"name": PORT_NAME, "port": structure.port, "targetPort": PORT_NAME}],
        },
    }


def policy_types() -> list[Node]:
    """The directions that a policy governs: what it does not name stays open."""
    return ["Ingress", When(_LIMITED, "Egress")]


def policy() -> Node:
    """Only the run's own pods reach its pods, on any port (NCCL and tf.data use more than one).

    TensorFlow's servers run what they are sent, without asking who sends it:
    https://github.com/tensorflow/tensorflow/blob/master/SECURITY.md.
    """
    own_pods: Node = [{"podSelector": {"matchLabels": labels.run_selector()}}]
    return When(
        ISOLATED,
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": labels.metadata(names.RUN, annotations=labels.BEFORE_PODS),
            "spec": {
                "podSelector": {"matchLabels": labels.run_selector()},
                "policyTypes": policy_types(),
                "ingress": [{"from": own_pods}],
                "egress": When(_LIMITED, [{"to": own_pods}, _DNS, Items(value("network.egress.rules"))]),
            },
        },
    )


def finisher_policy() -> Node:
    """The finisher's way to the API server, where the run's is limited: policies add up."""
    return When(
        AllOf((ISOLATED, _LIMITED)),
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": labels.metadata(names.finisher(), annotations=labels.BEFORE_PODS),
            "spec": {
                "podSelector": {"matchLabels": labels.role_selector(finisher.ROLE)},
                "policyTypes": ["Egress"],
                "egress": [_API_SERVER],
            },
        },
    )
