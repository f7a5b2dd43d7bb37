"""A job with a custom workload kind, and the plain objects of the job."""

from __future__ import annotations

from typing import Any

import yaml

from tests.support import generated
from tfgen.check.jobs import check
from tfgen.graph.graph import plain_objects


def job(**spec: Any) -> dict[str, Any]:
    roles = {"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 3}}
    return generated.job(**{"roles": roles, **spec, "workload": {"kind": "TFJob", **spec.get("workload", {})}})


def objects(document: dict[str, Any]) -> dict[str, Any]:
    assert [p for p in check(yaml.safe_dump(document), "job.yaml").problems if p.severity == "error"] == []
    return {item["kind"]: item for item in plain_objects(document)}
