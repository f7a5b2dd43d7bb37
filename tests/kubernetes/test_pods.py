"""Tests of the resource requests of a pod. The expected sums are computed by hand, from this page:

https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from tests.support.generated import job
from tfgen.graph.graph import build
from tfgen.kubernetes.pods import pod_requests, totals


def container(cpu: str, *, is_sidecar: bool = False) -> Mapping[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}, **({"restartPolicy": "Always"} if is_sidecar else {})}


MAIN = [container("1"), container("500m")]


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": MAIN}, Fraction(3, 2)),
        ({"containers": MAIN, "initContainers": [container("1"), container("2")]}, 2),
        ({"containers": MAIN, "initContainers": [container("1", is_sidecar=True)]}, Fraction(5, 2)),
        # The init container runs beside the sidecar: 2 + 1.
        ({"containers": MAIN, "initContainers": [container("1", is_sidecar=True), container("2")]}, 3),
        # The init container ends before the start of the sidecar.
        ({"containers": MAIN, "initContainers": [container("2"), container("1", is_sidecar=True)]}, Fraction(5, 2)),
        ({"containers": MAIN, "overhead": {"cpu": "250m"}}, Fraction(7, 4)),
        ({"containers": MAIN, "resources": {"requests": {"cpu": "4"}}, "overhead": {"cpu": "1"}}, 5),
        ({"containers": MAIN, "resources": {"limits": {"cpu": "4"}}}, Fraction(3, 2)),
        ({"containers": [{}], "resources": {"limits": {"cpu": "4"}}}, 4),
        ({"containers": [{"resources": {"limits": {"cpu": "3"}}}]}, 3),
        ({"containers": [{"resources": {"limits": {"cpu": "3"}, "requests": {"cpu": "2"}}}]}, 2),
        ({"containers": [{"resources": None}], "initContainers": None}, None),
    ],
)
def test_a_pod_asks_for_what_runs_at_once(spec: Mapping[str, Any], cpu: object) -> None:
    assert pod_requests(spec).get("cpu") == cpu


def test_a_pod_as_a_whole_asks_for_no_devices() -> None:
    spec = {"containers": [], "resources": {"requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}}}
    assert pod_requests(spec) == {"cpu": 1, "memory": 2**30}


def test_the_totals_have_the_claimed_devices() -> None:
    gpu = {"count": 2, "deviceClass": "gpu.example.com"}
    environments = {"dev": {"roles": {"worker": {"resources": {"gpu": {"count": 0}}}}}}
    worker = {"replicas": 3, "resources": {"gpu": gpu}}
    built = build(job(roles={"chief": {}, "ps": {}, "worker": worker}, environments=environments))
    resource = "deviceclass.resource.kubernetes.io/gpu.example.com"
    assert totals(built.base.values()).requests[resource] == 6
    assert resource not in totals(built.environments["dev"].values()).requests
