"""ElasticDL jobs: the arguments and the account of the master, and the labels of its pods."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.support.custom_kinds import job, objects
from tfgen.check.jobs import check


def made(**spec: Any) -> dict[str, Any]:
    workload = {**spec.pop("workload", {}), "kind": "ElasticDL"}
    roles = {"ps": {"replicas": 2}, "worker": {"replicas": 3}, **spec.pop("roles", {})}
    return objects(job(**{"workload": workload, "roles": roles, "security": {"profile": "baseline"}, **spec}))


def arguments(**spec: Any) -> dict[str, str]:
    (container,) = made(**spec)["Pod"]["spec"]["containers"]
    return dict(word.removeprefix("--").split("=", 1) for word in container["args"])


def test_master_has_its_own_name_and_account():
    found = made(run="2")
    assert found.keys() == {"NetworkPolicy", "ServiceAccount", "Role", "RoleBinding", "Pod"}
    pod = found["Pod"]
    assert pod["metadata"]["name"] == "elasticdl-mnist-2-master"
    assert pod["metadata"]["labels"]["elasticdl-job-name"] == arguments(run="2")["job_name"] == "mnist-2"
    assert pod["spec"]["serviceAccountName"] == found["ServiceAccount"]["metadata"]["name"] == "mnist-2-master"
    assert {resource for rule in found["Role"]["rules"] for resource in rule["resources"]} == {
        "pods",
        "pods/finalizers",
        "services",
    }


@pytest.mark.parametrize("app", ["elasticdl", "mine"])
def test_user_may_set_the_label_app(app):
    found = made(labels={} if app == "elasticdl" else {"app": app})["Pod"]["metadata"]["labels"]
    assert (found["app"], found["elasticdl-replica-type"]) == (app, "master")


def test_policy_selects_the_pods_of_the_master():
    found = made(run="2")
    spec = json.loads(arguments(run="2")["cluster_spec_json"])
    assert spec["pod_spec"]["labels"] == found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]
    assert found["Pod"]["metadata"]["labels"].items() >= spec["pod_spec"]["labels"].items()


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, None),
        ({"cpu": 2}, "cpu=2"),
        ({"memory": "2048Mi"}, "memory=2048Mi"),
        ({"gpu": {"count": 1}}, "gpu=1"),
        ({"cpu": "500m", "memory": "1Gi"}, "cpu=500m,memory=1Gi"),
        ({"cpu": 2, "gpu": {"count": 1}}, "cpu=2,gpu=1"),
        ({"memory": "1Gi", "gpu": {"count": 2}}, "memory=1Gi,gpu=2"),
        ({"cpu": 2, "memory": "1Gi", "gpu": {"count": 1}}, "cpu=2,memory=1Gi,gpu=1"),
    ],
)
def test_resources_are_an_argument(resources, expected):
    found = arguments(roles={"worker": {"resources": resources}})
    assert found.get("worker_resource_request") == found.get("worker_resource_limit") == expected


@pytest.mark.parametrize("priority", ["high", "low", "0.5", ".25", "0", "1", "1.0"])
def test_priority_is_a_class_or_a_fraction(priority):
    assert arguments(workload={"elasticDL": {"workerPriority": priority}})["worker_pod_priority"] == priority


@pytest.mark.parametrize("priority", ["high=0.5", "1.5", "medium", "0.", "-1", "0.5 "])
def test_other_priority_is_refused(priority):
    workload = {"kind": "ElasticDL", "elasticDL": {"workerPriority": priority}}
    document = job(workload=workload, roles={"ps": {}, "worker": {}}, security={"profile": "baseline"})
    assert [p.rule for p in check(yaml.safe_dump(document), "job.yaml").problems] == ["elasticdl-priority"]


def test_volumes_are_an_argument_and_volumes_of_the_master():
    storage = {
        "model": {"mountPath": "/model", "claim": {"size": "1Gi"}, "subPath": "a"},
        "data": {"mountPath": "/data", "claim": {"name": "mine"}},
    }
    said = "claim_name=mine,mount_path=/data;claim_name=mnist-model,mount_path=/model,sub_path=a"
    assert arguments(storage=storage)["volume"] == said
    pod = made(storage=storage)["Pod"]["spec"]
    assert [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]] == ["/tmp", "/data", "/model"]
    assert "volume" not in arguments()


def test_key_that_the_master_does_not_support_is_refused():
    spec = {
        "workload": {"kind": "ElasticDL"},
        "roles": {"chief": {}, "ps": {}, "worker": {"env": {"A": "b"}, "priorityClassName": "low"}},
        "nodeSelector": {"a": "b"},
        "gang": {"scheduler": "volcano"},
    }
    problems = check(yaml.safe_dump(job(**spec)), "job.yaml").problems
    assert {p.rule for p in problems} == {"workload-kind"}
    text = "\n".join(p.message for p in problems)
    for part in (
        "support roles.chief: the master leads the training",
        "support roles.worker.env: the master creates the pods; pass the setting in args",
        'support roles.worker.priorityClassName (found "low"): set workload.elasticDL.workerPriority',
        "support nodeSelector: the master creates the pods; pass the setting and the labels of the run with",
        "support gang: ElasticDL starts with the workers that can be scheduled",
        'support security.profile "restricted", only baseline and privileged',
    ):
        assert part in text
