"""A job whose chart the tests render with other values."""

from __future__ import annotations

from tests.support.generated import Document

JOB: Document = {
    "apiVersion": "tfgen/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "mnist"},
    "spec": {
        "image": "registry.example.com/ml/mnist:1",
        "command": ["python", "/opt/train.py"],
        "env": {"DATA": "/data", "TOKEN": {"secretKeyRef": {"name": "hub", "key": "token"}}},
        "labels": {"example.com/team": "vision"},
        "serviceAccount": {"create": False},
        "storage": {"data": {"mountPath": "/data", "claim": {"size": "1Gi"}}},
        "gang": {"scheduler": "volcano", "queue": "research"},
        "roles": {
            "chief": {},
            "ps": {"replicas": 2, "resources": {"cpu": 1, "memory": "2Gi"}},
            "worker": {"replicas": 4, "resources": {"cpu": 2, "gpu": {"count": 1, "product": "NVIDIA-T4"}}},
            "evaluator": {},
        },
    },
}
