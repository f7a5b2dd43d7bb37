"""A job with a custom workload kind, and the plain objects of the job."""

from __future__ import annotations

from typing import Any

import yaml

from tfgen.check.jobs import check
from tfgen.graph.built import plain_objects


def job(**spec: Any) -> dict[str, Any]:
    workload = {"kind": "TFJob", **spec.pop("workload", {})}
    roles = spec.pop("roles", {"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 3}})
    return {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "mnist"},
        "spec": {"image": "a:1", "roles": roles, "workload": workload, **spec},
    }


def objects(document: dict[str, Any]) -> dict[str, Any]:
    assert [p for p in check(yaml.safe_dump(document), "job.yaml").problems if p.severity == "error"] == []
    return {item["kind"]: item for item in plain_objects(document)}
