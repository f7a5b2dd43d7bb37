"""What a pod of ours does in the cluster: its account, and a Role that is bound to it."""

from __future__ import annotations

from collections.abc import Sequence

from tfgen.graph.holes import Node
from tfgen.graph.objects import labels
from tfgen.kubernetes import keys


def objects(name: Node, rules: Sequence[Node]) -> tuple[Node, Node, Node]:
    """The ServiceAccount, the Role and the RoleBinding of one name, in the order in which they are to be applied.

    A pod must ask for the account's token: only the one that is meant does. An account without a namespace is one of
    the binding's own.
    """
    metadata = labels.metadata(name, annotations=keys.BEFORE_PODS)
    return (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, "automountServiceAccountToken": False},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata, "rules": rules},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name}],
        },
    )
