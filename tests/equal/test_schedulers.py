"""The invariant for every gang scheduler with all its fields."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.chart_job import JOB
from tests.support.rendered import Rendered
from tfgen.graph.schedulers import GANGS
from tfgen.schema.kinds import GANG_FIELDS

pytestmark = pytest.mark.long

VALUES: dict[str, Any] = {
    "apiVersion": "v1alpha2",
    "minAvailable": 3,
    "minResources": {"cpu": 4, "nvidia.com/gpu": "2"},
    "preferredTopology": "example.com/block",
    "priorityClassName": "high",
    "queue": "research",
    "requiredTopology": "example.com/rack",
    "scheduleTimeoutSeconds": 90,
}
ONE_OF = ("requiredTopology", "preferredTopology")
"""Fields that exclude each other in a gang."""
ENVIRONMENTS = {
    "all": {},
    "fewer": {"roles": {"worker": {"replicas": 2}}},
    "named": {"gang": {"schedulerName": "another"}, "run": "2"},
    "off": {"gang": {"enabled": False}},
}


@pytest.mark.parametrize("scheduler", GANGS)
def test_helm_kustomize_and_tfgen_agree(scheduler, tmp_path):
    fields, environments = GANG_FIELDS[scheduler], dict(ENVIRONMENTS)
    if fields.issuperset(ONE_OF):
        fields -= {ONE_OF[0]}
        environments["near"] = {"gang": {ONE_OF[0]: VALUES[ONE_OF[0]], ONE_OF[1]: ""}}
    gang = {"scheduler": scheduler, **{key: VALUES[key] for key in sorted(fields)}}
    spec = {**JOB["spec"], "gang": gang, "environments": environments}
    rendered = Rendered.write({**JOB, "spec": spec}, tmp_path)
    for environment in (None, *environments):
        rendered.assert_equal(environment)


def test_an_environment_of_a_newer_kubernetes_has_another_pod_group(tmp_path):
    spec = {**JOB["spec"], "gang": {"scheduler": "kubernetes"}}
    spec["environments"] = {"old": {}, "new": {"gang": {"apiVersion": "v1beta1"}}}
    rendered = Rendered.write({**JOB, "spec": spec}, tmp_path)
    for environment in (None, *spec["environments"]):
        rendered.assert_equal(environment)
