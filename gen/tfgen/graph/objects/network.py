"""What gives the tasks their names, who may reach them, and whom they may reach."""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import AllOf, AnyOf, Comment, Equal, Items, Node, When
from tfgen.graph.objects import labels, names
from tfgen.graph.objects.names import PORT_NAME
from tfgen.graph.objects.values import value
from tfgen.job.training_job import Structure
from tfgen.kubernetes import keys

ISOLATED: Final = Equal(value("network.policy"), "Isolated")
_LIMITED: Final = value("network.egress.limited")

# To anyone, because a cluster's DNS has no labels of its own that all clusters agree on, and a cache on the node
# (https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/) is no pod that a selector could name.
_DNS: Final[Node] = {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}

# By default to anyone again: the API server is a process of a node, or no part of the cluster at all, and the cluster
# alone knows its address. Some network plugins see the port of its Service, 443, others the port that it listens at.
_API_SERVER: Final = value("network.egress.apiServer")

# To anyone once more: the webhook's address is in a Secret. Other ports are for network.egress.rules.
WEBHOOK: Final[Node] = {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 443, "protocol": "TCP"}]}


def service(structure: Structure) -> Node:
    """The headless Service that gives each task its DNS name, ready or not: tasks start by looking for each other."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": labels.metadata(names.RUN, annotations=keys.BEFORE_PODS),
        "spec": {
            "clusterIP": "None",
            Comment("Tasks look for each other before any of them is ready."): None,
            "publishNotReadyAddresses": True,
            "selector": labels.run_selector(),
            "ports": [{"name": PORT_NAME, "port": structure.port, "targetPort": PORT_NAME}],
        },
    }


def policy_types() -> list[Node]:
    """The directions that a policy governs: what it does not name stays open."""
    return ["Ingress", When(_LIMITED, "Egress")]


def policy(selector: Node) -> Node:
    """Only the run's own pods reach its pods, on any port (NCCL and tf.data use more than one).

    TensorFlow's servers run what they are sent, without asking who sends it:
    https://github.com/tensorflow/tensorflow/blob/master/SECURITY.md.

    Args:
        selector: the labels of the run's pods.
    """
    own_pods: Node = [{"podSelector": {"matchLabels": selector}}]
    return When(
        ISOLATED,
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": labels.metadata(names.RUN, annotations=keys.BEFORE_PODS),
            "spec": {
                "podSelector": {"matchLabels": selector},
                "ingress": [{"from": own_pods}],
                "egress": When(_LIMITED, [{"to": own_pods}, _DNS, Items(value("network.egress.rules"))]),
                "policyTypes": policy_types(),
            },
        },
    )


def to_api_server(name: Node, role: str, *more: When) -> Node:
    """The way to the API server of a pod of the run that needs it, where the run's is limited: policies add up.

    Args:
        name: the policy's.
        role: the pod's.
        more: rules for where else the pod goes, each under the test that asks for it.
    """
    return When(
        AllOf((ISOLATED, _LIMITED, AnyOf((_API_SERVER, *(rule.test for rule in more))))),
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": labels.metadata(name, annotations=keys.BEFORE_PODS),
            "spec": {
                "podSelector": {"matchLabels": labels.role_selector(role)},
                "egress": [Items(_API_SERVER), *more],
                "policyTypes": ["Egress"],
            },
        },
    )
