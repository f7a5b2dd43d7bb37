"""TFJobs: the field for each key of job.yaml, and the fields that an old operator does not support."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.support.custom_kinds import job, objects
from tfgen.check.jobs import check


def tf_job(**spec: Any) -> Any:
    return objects(job(**spec))["TFJob"]["spec"]


def test_the_operator_makes_services_and_tf_config_and_releases_the_pods():
    made = objects(
        job(tensorboard={"logDir": "/logs"}, storage={"logs": {"mountPath": "/logs", "claim": {"name": "l"}}})
    )
    assert made.keys() == {"NetworkPolicy", "TFJob", "Service", "Deployment"}
    assert made["Service"]["metadata"]["name"] == "mnist-tensorboard"
    (container,) = made["TFJob"]["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    assert {variable["name"] for variable in container["env"]}.isdisjoint({"TASK_INDEX", "TF_CLUSTER", "TF_CONFIG"})
    port = {"name": "tfjob-port", "containerPort": 2222, "protocol": "TCP"}
    assert (container["name"], container["ports"]) == ("tensorflow", [port])


def test_the_operator_finds_the_port_by_its_name():
    (container,) = tf_job(port=3333)["tfReplicaSpecs"]["PS"]["template"]["spec"]["containers"]
    assert container["ports"] == [{"name": "tfjob-port", "containerPort": 3333, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("spec", "policy"),
    [
        ({}, {"cleanPodPolicy": "Running", "backoffLimit": 20}),
        ({"completion": {"release": "Keep"}}, {"cleanPodPolicy": "None", "backoffLimit": 20}),
        (
            {"completion": {"release": "Keep"}, "workload": {"tfJob": {"cleanPodPolicy": "All"}}},
            {"cleanPodPolicy": "All", "backoffLimit": 20},
        ),
        ({"retries": 0}, {"cleanPodPolicy": "Running", "backoffLimit": 0}),
        (
            {"workload": {"suspend": True, "ttlSecondsAfterFinished": 5, "tfJob": {"activeDeadlineSeconds": 7}}},
            {
                "cleanPodPolicy": "Running",
                "ttlSecondsAfterFinished": 5,
                "backoffLimit": 20,
                "activeDeadlineSeconds": 7,
                "suspend": True,
            },
        ),
        (
            {"gang": {"scheduler": "volcano", "queue": "q"}, "workload": {"tfJob": {"gang": "Operator"}}},
            {
                "cleanPodPolicy": "Running",
                "backoffLimit": 20,
                "schedulingPolicy": {"minAvailable": 6, "queue": "q"},
            },
        ),
    ],
)
def test_the_run_policy_says_what_operators_have_had_several_defaults_for(spec, policy):
    assert tf_job(**spec)["runPolicy"] == policy


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, None),
        ({"completion": {"by": "Worker0"}, "roles": {"ps": {}, "worker": {}}}, None),
        ({"completion": {"by": "AllWorkers"}, "roles": {"ps": {}, "worker": {}}}, "AllWorkers"),
        ({"strategy": "MultiWorkerMirrored", "roles": {"worker": {"replicas": 2}}}, None),
    ],
)
def test_success_is_the_chiefs_or_worker_0s_unless_all_are_waited_for(spec, expected):
    assert tf_job(**spec).get("successPolicy") == expected


def test_roles_have_the_operators_names():
    assert list(tf_job()["tfReplicaSpecs"]) == ["Chief", "PS", "Worker"]
    assert list(tf_job(workload={"tfJob": {"leader": "Master"}})["tfReplicaSpecs"]) == ["Master", "PS", "Worker"]
    mirrored = {"strategy": "MultiWorkerMirrored", "roles": {"worker": {}, "evaluator": {}}}
    assert list(tf_job(**mirrored)["tfReplicaSpecs"]) == ["Worker", "Evaluator"]


def test_a_role_says_its_restart_policy_or_has_the_jobs():
    roles = {"chief": {}, "ps": {"restartPolicy": "Always"}, "worker": {"restartPolicy": "ExitCode"}}
    policies = {
        role: each["restartPolicy"]
        for role, each in tf_job(roles=roles, workload={"tfJob": {"restartPolicy": "Never"}})["tfReplicaSpecs"].items()
    }
    assert policies == {"Chief": "Never", "PS": "Always", "Worker": "ExitCode"}


def test_workers_may_come_and_go_by_choice():
    roles = {"ps": {}, "worker": {"replicas": 2}}
    assert "enableDynamicWorker" not in tf_job(roles=roles, completion={"by": "AllWorkers"})
    dynamic = {"tfJob": {"enableDynamicWorker": True}}
    assert tf_job(roles=roles, completion={"by": "AllWorkers"}, workload=dynamic)["enableDynamicWorker"] is True


def test_an_old_operator_has_no_run_policy():
    spec = tf_job(workload={"ttlSecondsAfterFinished": 9, "tfJob": {"apiVersion": "v1beta1"}})
    assert {key: spec[key] for key in spec if key != "tfReplicaSpecs"} == {
        "cleanPodPolicy": "Running",
        "ttlSecondsAfterFinished": 9,
    }


def test_a_pod_group_beside_it_binds_each_pod_and_one_of_the_operators_none():
    gang = {"scheduler": "volcano"}
    written = objects(job(gang=gang))
    assert written["PodGroup"]["spec"]["minMember"] == 6
    pod = written["TFJob"]["spec"]["tfReplicaSpecs"]["PS"]["template"]
    assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "mnist"
    assert pod["spec"]["schedulerName"] == "volcano"
    operators = objects(job(gang=gang, workload={"tfJob": {"gang": "Operator"}}))
    assert "PodGroup" not in operators
    pod = operators["TFJob"]["spec"]["tfReplicaSpecs"]["PS"]["template"]
    assert "scheduling.k8s.io/group-name" not in pod["metadata"]["annotations"]
    assert "schedulerName" not in pod["spec"]


def test_its_services_name_what_is_ready_alone_so_tasks_are_ready_at_once():
    (container,) = tf_job()["tfReplicaSpecs"]["PS"]["template"]["spec"]["containers"]
    assert "readinessProbe" not in container


REFUSED = {
    "retries: 3": "retries (found 3): kubeflow.org/v1beta1 does not limit retries",
    "completion: {by: AllWorkers}": 'completion.by "AllWorkers", only "", Chief and Worker0',
    "workload: {tfJob: {gang: Operator}}": 'workload.tfJob.gang "Operator", only PodGroup',
    "workload: {suspend: true}": "workload.suspend (found true): kubeflow.org/v1beta1 cannot suspend",
    "legacyFlags: true": "legacyFlags (found true): the tasks of this workload kind read TF_CONFIG",
    "legacyVariables: true": "legacyVariables (found true): the tasks of this workload kind read TF_CONFIG",
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_an_old_operator_cannot_do_is_refused(said):
    document = job(workload={"tfJob": {"apiVersion": "v1beta1"}})
    for key, value in yaml.safe_load(said).items():
        if key == "workload":
            document["spec"]["workload"] |= {k: v for k, v in value.items() if k != "tfJob"}
            document["spec"]["workload"]["tfJob"] |= value.get("tfJob", {})
        else:
            document["spec"][key] = value
    (message,) = [p.message for p in check(yaml.safe_dump(document), "job.yaml").problems if p.rule == "workload-kind"]
    assert message.startswith(f"the workload kind TFJob does not support {REFUSED[said]}")


def test_names_are_short_enough_for_the_pods_services():
    document = job(run="x" * 20)
    document["metadata"]["name"] = "y" * 35
    rules = {p.rule for p in check(yaml.safe_dump(document), "job.yaml").problems}
    assert "host-name" in rules
    assert "statefulset-name" not in rules
