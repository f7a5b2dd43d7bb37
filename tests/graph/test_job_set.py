"""JobSets: the condition for their end, the hosts of the tasks, and the order of their Jobs."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.support.custom_kinds import job, objects
from tfgen.check.jobs import check


def made(**spec: Any) -> dict[str, Any]:
    workload = {**spec.pop("workload", {}), "kind": "JobSet"}
    return objects(job(workload=workload, **spec))


def spec_of(**spec: Any) -> Any:
    return made(**spec)["JobSet"]["spec"]


@pytest.mark.parametrize(
    ("spec", "ends", "by_index"),
    [
        ({}, "chief", False),
        ({"completion": {"by": "Worker0"}, "roles": {"ps": {}, "worker": {}}}, "worker", True),
        ({"completion": {"by": "AllWorkers"}, "roles": {"ps": {}, "worker": {}}}, "worker", False),
        ({"strategy": "MultiWorkerMirrored", "roles": {"worker": {"replicas": 2}}}, "worker", True),
    ],
)
def test_the_end_of_one_role_is_the_end_of_the_set(spec, ends, by_index):
    found = spec_of(**spec)
    assert found["successPolicy"] == {"operator": "All", "targetReplicatedJobs": [ends]}
    jobs = {each["name"]: each["template"]["spec"] for each in found["replicatedJobs"]}
    assert ("successPolicy" in jobs[ends]) is by_index


def test_the_hosts_are_those_that_a_job_set_gives_its_pods():
    found = made(run="2")
    assert found.keys() == {"ConfigMap", "NetworkPolicy", "JobSet"}
    assert '"worker":["mnist-2-worker-0-0.mnist-2:2222",' in found["ConfigMap"]["data"]["cluster"]
    assert found["JobSet"]["spec"]["network"] == {
        "enableDNSHostnames": True,
        "subdomain": "mnist-2",
        "publishNotReadyAddresses": True,
    }


def test_the_evaluators_failure_does_not_start_the_training_again():
    roles = {"chief": {}, "ps": {}, "worker": {}, "evaluator": {}}
    rules = [{"name": "full", "action": "FailJobSet"}]
    policy = spec_of(roles=roles, workload={"jobSet": {"maxRestarts": 2, "rules": rules}})["failurePolicy"]
    assert policy == {"maxRestarts": 2, "rules": rules}
    made = spec_of(roles=roles, retries=3)
    limits = {job["name"]: job["template"]["spec"].get("backoffLimit") for job in made["replicatedJobs"]}
    assert limits == {"chief": 3, "ps": None, "worker": None, "evaluator": 2147483647}
    assert made["failurePolicy"] == {"maxRestarts": 0}


def test_a_role_that_is_waited_for_stands_first_and_is_all_that_is_waited_for():
    jobs = spec_of(workload={"jobSet": {"startOrder": "PsFirst"}})["replicatedJobs"]
    wait = [{"name": "ps", "status": "Ready"}]
    assert [(each["name"], each.get("dependsOn")) for each in jobs] == [("ps", None), ("chief", wait), ("worker", wait)]
    assert all("dependsOn" not in each for each in spec_of()["replicatedJobs"])


def test_an_order_under_a_gang_is_a_deadlock():
    workload = {"kind": "JobSet", "jobSet": {"startOrder": "PsFirst"}}
    document = job(workload=workload, gang={"scheduler": "volcano"})
    (problem,) = check(yaml.safe_dump(document), "job.yaml").problems
    assert 'support workload.jobSet.startOrder "PsFirst", only Together: a gang starts' in problem.message


def test_a_topology_of_its_own_is_an_annotation():
    topology = {"jobSet": {"exclusiveTopology": "cloud.example.com/rack"}}
    annotations = made(workload=topology, annotations={"a.b/c": "d"})["JobSet"]["metadata"]["annotations"]
    assert annotations == {
        "alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.example.com/rack",
        "a.b/c": "d",
    }
    assert "annotations" not in made()["JobSet"]["metadata"]
