"""What a pod of ours does in the cluster: its account, and a Role that is bound to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfgen.graph.holes import Node
from tfgen.graph.objects import labels
from tfgen.graph.template import Template
from tfgen.kubernetes import keys


def templates(part: str, name: Node, rules: Sequence[Node]) -> Iterator[Template]:
    """The ServiceAccount, the Role and the RoleBinding of one name, in the order in which they are to be applied.

    A pod must ask for the account's token: only the one that is meant does. An account without a namespace is one of
    the binding's own.

    Args:
        part: what the pod is in the job, with which the names of the files begin.
        name: the objects'.
        rules: of the Role.
    """
    metadata = labels.metadata(name, annotations=keys.BEFORE_PODS)
    account: Node = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata,
        "automountServiceAccountToken": False,
    }
    role: Node = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": metadata,
        "rules": rules,
    }
    binding: Node = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name}],
    }
    yield Template(f"{part}-serviceaccount", account)
    yield Template(f"{part}-role", role)
    yield Template(f"{part}-rolebinding", binding)
