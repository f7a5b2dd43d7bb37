"""CoreDNS, which knows only the names of the cluster. CoreDNS runs in a pod, so that policies apply to it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.e2e.images import oci
from tests.e2e.servers.program import program

IMAGE: Final = "tfgen.invalid/coredns:1"

DOMAIN: Final = "cluster.local"
NAMESPACE: Final = "kube-system"

_NAME: Final = "kube-dns"  # the usual name in clusters, which policies select
_LABELS: Final = {"k8s-app": _NAME}
_METADATA: Final = {"name": "coredns", "namespace": NAMESPACE}

# https://coredns.io/plugins/kubernetes/. A name outside the cluster does not exist.
_COREFILE: Final = f"""\
{DOMAIN} in-addr.arpa {{
    errors
    ready
    kubernetes {DOMAIN} in-addr.arpa {{
        pods insecure
        ttl 1
    }}
}}
. {{
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""


def image(folder: Path) -> oci.Image:
    """Build the image of CoreDNS, which contains only the program.

    Args:
        folder: The folder for the file of its layer.
    """
    with tempfile.TemporaryDirectory() as root:
        shutil.copy(program("coredns"), Path(root) / "coredns")
        return oci.Image(IMAGE, (oci.write_layer(folder / "coredns.tar", Path(root)),), {"Entrypoint": ["/coredns"]})


def objects(address: str) -> list[dict[str, Any]]:
    """Return the Deployment of CoreDNS, and all objects that the Deployment needs.

    Args:
        address: The address of the Service.
    """
    reads = [
        {"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": ["list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ]
    rbac, role = "rbac.authorization.k8s.io", {"name": "system:coredns"}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _METADATA},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": role, "rules": reads},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": role,
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", **role},
            "subjects": [{"kind": "ServiceAccount", **_METADATA}],
        },
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _METADATA, "data": {"Corefile": _COREFILE}},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": _METADATA,
            "spec": {
                "selector": {"matchLabels": _LABELS},
                "template": {"metadata": {"labels": _LABELS}, "spec": _pod()},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": _NAME, "namespace": NAMESPACE, "labels": _LABELS},
            "spec": {
                "clusterIP": address,
                "selector": _LABELS,
                "ports": [
                    {"name": "dns", "port": 53, "protocol": "UDP"},
                    {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
                ],
            },
        },
    ]


def _pod() -> dict[str, Any]:
    return {
        "serviceAccountName": _METADATA["name"],
        "priorityClassName": "system-cluster-critical",
        "dnsPolicy": "Default",
        "securityContext": {"sysctls": [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}]},
        "containers": [
            {
                "name": "coredns",
                "image": IMAGE,
                "args": ["-conf", "/etc/coredns/Corefile"],
                "ports": [
                    {"name": "dns", "containerPort": 53, "protocol": "UDP"},
                    {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
                ],
                "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 1},
                "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": True}],
            }
        ],
        "volumes": [{"name": "config", "configMap": {"name": "coredns"}}],
    }
