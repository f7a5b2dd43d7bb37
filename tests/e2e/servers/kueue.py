"""Kueue's controllers with their webhooks, if Kueue is built on this machine: https://kueue.sigs.k8s.io/docs/.

The Go module proxy has no version of Kueue that builds, so the version is not pinned. Fields of its settings:
apis/config/v1beta2/configuration_types.go of Kueue 0.19.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.e2e.control_plane import ControlPlane
from tests.e2e.servers.controller import Controller
from tests.e2e.servers.webhooks import Webhook

PORT: Final = 16505
NAMESPACE: Final = "kueue-system"
_JOB_SETS, _JOBS, _TF_JOBS = "jobset.x-k8s.io/v1alpha2/jobsets", "batch/v1/jobs", "kubeflow.org/v1/tfjobs"
_QUEUES, _FLAVORS = "kueue.x-k8s.io/v1beta2/clusterqueues", "kueue.x-k8s.io/v1beta2/resourceflavors"
_WORKLOADS: Final = "kueue.x-k8s.io/v1beta2/workloads"
WEBHOOKS: Final = (
    Webhook("/mutate-jobset-x-k8s-io-v1alpha2-jobset", _JOB_SETS),
    Webhook("/validate-jobset-x-k8s-io-v1alpha2-jobset", _JOB_SETS),
    Webhook("/mutate-batch-v1-job", _JOBS),
    Webhook("/validate-batch-v1-job", _JOBS),
    Webhook("/mutate-kubeflow-org-v1-tfjob", _TF_JOBS),
    Webhook("/validate-kubeflow-org-v1-tfjob", _TF_JOBS),
    Webhook("/mutate-kueue-x-k8s-io-v1beta2-clusterqueue", _QUEUES),
    Webhook("/validate-kueue-x-k8s-io-v1beta2-clusterqueue", _QUEUES),
    Webhook("/mutate-kueue-x-k8s-io-v1beta2-resourceflavor", _FLAVORS),
    Webhook("/validate-kueue-x-k8s-io-v1beta2-resourceflavor", _FLAVORS),
    Webhook("/validate-kueue-x-k8s-io-v1beta2-workload", _WORKLOADS),
)
"""The webhooks of config/components/webhook/manifests.yaml for Kueue's own kinds and for the tested kinds."""


def kueue_controllers(cluster: ControlPlane, programs: Path) -> Controller:
    """Return the server `manager` of Kueue, which `make build` of Kueue's repository writes to bin."""
    settings = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACE,
        "integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset", "kubeflow.org/tfjob"]},
        "featureGates": {"VisibilityOnDemand": False},
    }
    return Controller(
        "kueue", cluster, programs / "manager", PORT, settings, WEBHOOKS, certificates="/etc/kueue/metrics/certs"
    )
