"""The Service of the tasks, and the network policies for traffic from and to the tasks."""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import AllOf, AnyOf, Comment, Equal, Items, Node, When
from tfgen.graph.objects import labels, names
from tfgen.graph.objects.names import PORT_NAME
from tfgen.graph.objects.values import value
from tfgen.job.training_job import Structure

ISOLATED: Final = Equal(value("network.policy"), "Isolated")
_LIMITED: Final = value("network.egress.limited")

# To all addresses, because the DNS pods have different labels in different clusters, and a DNS cache on the node
# (https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/) is not a pod that a selector could match.
_DNS: Final[Node] = {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}

# By default to all addresses, because the API server is a process on a node or outside the cluster, and its address is
# different in each cluster. Some network plugins see the port of the Service, 443, and some the port of the process.
_API_SERVER: Final = value("network.egress.apiServer")

# To all addresses, because the address of the webhook is in a Secret. network.egress.rules may allow other ports.
WEBHOOK: Final[Node] = {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 443, "protocol": "TCP"}]}


def service(structure: Structure) -> Node:
    """Return the headless Service, which gives each task a DNS name even before the task is ready."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": labels.metadata(names.RUN, annotations=labels.BEFORE_PODS),
        "spec": {
            "clusterIP": "None",
            Comment("Tasks resolve the names of their peers before any task is ready."): None,
            "publishNotReadyAddresses": True,
            "selector": labels.run_selector(),
            "ports": [{"name": PORT_NAME, "port": structure.port, "protocol": "TCP", "targetPort": PORT_NAME}],
        },
    }


def policy_types() -> list[Node]:
    """Return the `policyTypes` of a network policy: Ingress, and Egress if egress is limited."""
    return ["Ingress", When(_LIMITED, "Egress")]


def policy(selector: Node) -> Node:
    """Return the network policy that allows only traffic between the pods of a run, on all ports.

    The policy is necessary because the servers of TensorFlow execute all requests without authentication:
    https://github.com/tensorflow/tensorflow/blob/master/SECURITY.md. The policy allows all ports because NCCL and
    tf.data use additional ports.

    Args:
        selector: the labels of the pods of the run.
    """
    run_pods: Node = [{"podSelector": {"matchLabels": selector}}]
    return When(
        ISOLATED,
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": labels.metadata(names.RUN, annotations=labels.BEFORE_PODS),
            "spec": {
                "podSelector": {"matchLabels": selector},
                "ingress": [{"from": run_pods}],
                "egress": When(_LIMITED, [{"to": run_pods}, _DNS, Items(value("network.egress.rules"))]),
                "policyTypes": policy_types(),
            },
        },
    )


def api_server_policy(name: Node, role: str, *rules: When) -> Node:
    """Return the network policy that allows a pod to reach the API server.

    The policy exists only if the egress of the run is limited. Kubernetes allows traffic that at least one policy
    allows, so this policy is an exception to the network policy of the run.

    Args:
        name: the name of the policy.
        role: the role label of the pod.
        rules: additional rules, each with the condition under which the pod needs the rule.
    """
    return When(
        AllOf((ISOLATED, _LIMITED, AnyOf((_API_SERVER, *(rule.test for rule in rules))))),
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": labels.metadata(name, annotations=labels.BEFORE_PODS),
            "spec": {
                "podSelector": {"matchLabels": labels.role_selector(role)},
                "egress": [Items(_API_SERVER), *rules],
                "policyTypes": ["Egress"],
            },
        },
    )
