"""Kubeflow's training operator, with its TFJobs alone: https://github.com/kubeflow/trainer/tree/v1.8.1.

The operator creates a certificate for its admission webhook, writes the certificate into a Secret, and reads it as
files in /tmp, where a kubelet mounts the Secret. Here, the operator has its own /tmp in a mount namespace, with its
kubeconfig and these files. The readiness check writes the files in place of the kubelet.
"""

from __future__ import annotations

import base64
from pathlib import Path

from tests.e2e.client import Client, Object
from tests.e2e.loopback import free_port
from tests.e2e.servers.process import Process, answers
from tests.e2e.servers.program import program

_NAMESPACE = "kubeflow"
_NAME = "training-operator"
_SECRET = "training-operator-webhook-cert"
_WEBHOOK = "validator.training-operator.kubeflow.org"
_PORT = 16475
_MOUNT = 'mount --bind "$1" /tmp && shift && exec "$@"'


class TrainingOperator(Process):
    """The operator. The kinds that it watches must exist before its start."""

    def __init__(self, folder: Path, address: str, kubeconfig: str, client: Client) -> None:
        """Describe the server, and create the objects of its installation.

        Args:
            folder: The folder for its log and its files.
            address: The address where it listens. Only its webhook listens on every address.
            kubeconfig: The text of a kubeconfig file without references to files. The user has the permissions of the
                operator's ClusterRole.
            client: The client of the administrator.
        """
        self._client = client
        tmp = folder / _NAME
        self._certificates = tmp / "k8s-webhook-server" / "serving-certs"
        self._certificates.mkdir(parents=True)
        place = tmp / "kubeconfig"
        place.touch(mode=0o600)
        place.write_text(kubeconfig, encoding="utf-8")
        webhook = free_port()  # on every address: no flag changes this
        for obj in _installation(address, webhook):
            client.apply(obj)
        argv = (
            program("training-operator"),
            "--kubeconfig=/tmp/kubeconfig",
            "--enable-scheme=tfjob",
            f"--metrics-bind-address={address}:{_PORT}",
            f"--health-probe-bind-address={address}:{_PORT + 1}",
            f"--webhook-server-port={webhook}",
        )
        super().__init__(
            _NAME,
            ("unshare", "--mount", "--propagation=private", "sh", "-c", _MOUNT, "sh", tmp, *argv),
            folder / f"{_NAME}.log",
            ready=lambda: self._has_certificate() and answers(f"http://{address}:{_PORT + 1}/readyz"),
        )

    def _has_certificate(self) -> bool:
        """Test whether the certificate is in the folder of the operator, as if a kubelet had mounted the Secret."""
        data = self._client.get("v1/Secret", _SECRET, _NAMESPACE).get("data", {})
        for name in ("tls.key", "tls.crt"):
            if name not in data:
                return False
            place = self._certificates / name
            if not place.exists():
                place.write_bytes(base64.b64decode(data[name]))
        return True


def _installation(address: str, port: int) -> list[Object]:
    """Return the objects that the operator needs. Its Service routes to an address outside the cluster."""
    inside = {"name": _NAME, "namespace": _NAMESPACE}
    rule = {"apiGroups": ["kubeflow.org"], "apiVersions": ["v1"], "resources": ["tfjobs"]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": _SECRET, "namespace": _NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": inside,
            "spec": {"type": "ExternalName", "externalName": address},
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": _WEBHOOK},
            "webhooks": [
                {
                    "name": "validator.tfjob.training-operator.kubeflow.org",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "clientConfig": {"service": {**inside, "path": "/validate-kubeflow-org-v1-tfjob", "port": port}},
                    "rules": [{**rule, "operations": ["CREATE", "UPDATE"]}],
                }
            ],
        },
    ]
