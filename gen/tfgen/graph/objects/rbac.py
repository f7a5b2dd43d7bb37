"""The objects that give a pod permissions for the API server: ServiceAccount, Role and RoleBinding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfgen.graph.holes import Node
from tfgen.graph.objects import labels
from tfgen.graph.template import Template


def templates(part: str, name: Node, rules: Sequence[Node]) -> Iterator[Template]:
    """Yield the ServiceAccount, the Role and the RoleBinding, in the order in which they must be applied.

    The account does not mount its token into pods by default. The subject of the RoleBinding has no namespace, so
    Kubernetes uses the namespace of the RoleBinding.

    Args:
        part: the prefix of the file names, for example `finisher`.
        name: the name of the objects.
        rules: the rules of the Role.
    """
    metadata = labels.metadata(name, annotations=labels.BEFORE_PODS)
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
