"""The jobs of the GitOps tests."""

from __future__ import annotations

import copy
from typing import Any, Final

from tests.e2e.client import eventually
from tests.e2e.gitops.repository import Repository

WAITS_FOR_ITS_CONSUMER: Final = "waits-for-its-consumer"
"""A storage class whose claims are bound when a pod is scheduled."""

CLAIM: Final[dict[str, Any]] = {
    "model": {
        "mountPath": "/model",
        "claim": {"size": "1Gi", "accessMode": "ReadWriteMany", "storageClass": WAITS_FOR_ITS_CONSUMER},
    }
}


def job(**spec: Any) -> dict[str, Any]:
    """Return a job whose pods the default scheduler starts: KWOK's nodes have no gang scheduler."""
    made: dict[str, Any] = {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "mnist"},
        "spec": {
            "image": "registry.example.com/ml/mnist:1.4.0",
            "roles": {"chief": {}, "ps": {}, "worker": {"replicas": 2}},
        },
    }
    made["spec"] |= copy.deepcopy(spec)
    return made


def started(repository: Repository, **spec: Any) -> str:
    """Commit the job for the first time, wait until the tool has applied the commit, and return the commit."""
    repository.write(job(**spec))
    commit = repository.commit()
    repository.follow()
    repository.applied(commit)
    return commit


def all_run(repository: Repository) -> None:
    """Wait until all pods of a job with CLAIM run. The first pod has bound the claim."""

    def running() -> bool:
        pods = repository.cluster.client.list("Pod", repository.namespace)
        return [pod["status"].get("phase") for pod in pods] == ["Running"] * 5  # including the finisher's pod

    eventually(running, "all pods")
    assert repository.there("PersistentVolumeClaim", "mnist-model")["status"]["phase"] == "Bound"
