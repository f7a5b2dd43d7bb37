"""Accounts with the Roles of the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.control_plane import ControlPlane


@pytest.fixture
def account(cluster: ControlPlane, namespace: str) -> Callable[..., Path]:
    """Return a function that creates an account with a Role, and returns the account's kubeconfig."""

    def make(rules: dict[str, object] | None) -> Path:
        name = "viewer"
        cluster.client.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}, namespace)
        if rules is not None:
            cluster.client.apply(rules, namespace)
            reference = {"kind": rules["kind"], "name": rules["metadata"]["name"]}  # type: ignore[index]
            binding = {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": f"{rules['kind']}Binding",
                "metadata": {"name": f"{name}-{namespace}"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", **reference},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
            }
            cluster.client.apply(binding, namespace)
        return cluster.service_account(name, namespace)

    return make
