"""JobSet's controller with its webhooks, if JobSet is built on this machine: https://jobset.sigs.k8s.io/docs/.

The Go module proxy has no version of JobSet that builds, so the version is not pinned. Fields of its settings:
api/config/v1alpha1/configuration_types.go of JobSet 0.12.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.e2e.control_plane import ControlPlane
from tests.e2e.servers.controller import Controller
from tests.e2e.servers.webhooks import Webhook

PORT: Final = 16500
_JOB_SETS: Final = "jobset.x-k8s.io/v1alpha2/jobsets"
WEBHOOKS: Final = (
    Webhook("/mutate-jobset-x-k8s-io-v1alpha2-jobset", _JOB_SETS),
    Webhook("/validate-jobset-x-k8s-io-v1alpha2-jobset", _JOB_SETS),
    Webhook("/mutate--v1-pod", "/v1/pods"),
    Webhook("/validate--v1-pod", "/v1/pods", ("CREATE",)),
)
"""All webhooks of config/components/webhook/manifests.yaml."""


def job_set_controller(cluster: ControlPlane, programs: Path) -> Controller:
    """Return the server `manager` of JobSet, which `make build` of JobSet's repository writes to bin."""
    settings = {"apiVersion": "config.jobset.x-k8s.io/v1alpha1", "kind": "Configuration"}
    return Controller("jobset", cluster, programs / "manager", PORT, settings, WEBHOOKS)
