"""The workload kinds of operators: TFJob, VolcanoJob and JobSet. tests/golden has a complete job of each kind."""

from __future__ import annotations

import pytest
import yaml

from tests.support.custom_kinds import job, objects
from tests.support.generated import saying
from tests.support.objects import container
from tfgen.check.jobs import check


def problems(document):
    return check(yaml.safe_dump(document), "job.yaml").problems


# -- TFJob ------------------------------------------------------------------------------------------------------------


def tf_job(**spec):
    return objects(job(**spec))["TFJob"]["spec"]


def test_tf_job_has_no_services_tf_config_or_finisher_of_tfgen():
    made = objects(
        job(tensorboard={"logDir": "/logs"}, storage={"logs": {"mountPath": "/logs", "claim": {"name": "l"}}})
    )
    assert made.keys() == {"NetworkPolicy", "TFJob", "Service", "Deployment"}
    assert made["Service"]["metadata"]["name"] == "mnist-tensorboard"
    task = container(made["TFJob"]["spec"]["tfReplicaSpecs"]["Worker"]["template"])
    assert {variable["name"] for variable in task["env"]}.isdisjoint({"TASK_INDEX", "TF_CLUSTER", "TF_CONFIG"})
    port = {"name": "tfjob-port", "containerPort": 2222, "protocol": "TCP"}
    assert (task["name"], task["ports"]) == ("tensorflow", [port])


# Operators have had several defaults for the fields of the run policy.
POLICY = {"cleanPodPolicy": "Running", "backoffLimit": 20}


@pytest.mark.parametrize(
    ("spec", "policy"),
    [
        ("{}", {}),
        ("completion: {release: Keep}", {"cleanPodPolicy": "None"}),
        ("completion: {release: Keep}\nworkload: {tfJob: {cleanPodPolicy: All}}", {"cleanPodPolicy": "All"}),
        ("retries: 0", {"backoffLimit": 0}),
        (
            "workload: {suspend: true, ttlSecondsAfterFinished: 5, tfJob: {activeDeadlineSeconds: 7}}",
            {"ttlSecondsAfterFinished": 5, "activeDeadlineSeconds": 7, "suspend": True},
        ),
        (
            "gang: {scheduler: volcano, queue: q}\nworkload: {tfJob: {gang: Operator}}",
            {"schedulingPolicy": {"minAvailable": 6, "queue": "q"}},
        ),
    ],
)
def test_run_policy_states_fields_with_several_defaults(spec, policy):
    assert tf_job(**yaml.safe_load(spec))["runPolicy"] == {**POLICY, **policy}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("{}", None),
        ("completion: {by: Worker0}\nroles: {ps: {}, worker: {}}", None),
        ("completion: {by: AllWorkers}\nroles: {ps: {}, worker: {}}", "AllWorkers"),
        ("strategy: MultiWorkerMirrored\nroles: {worker: {replicas: 2}}", None),
    ],
)
def test_success_policy_is_stated_only_for_all_workers(spec, expected):
    assert tf_job(**yaml.safe_load(spec)).get("successPolicy") == expected


def test_roles_of_a_tf_job_have_the_names_of_the_operator():
    assert list(tf_job()["tfReplicaSpecs"]) == ["Chief", "PS", "Worker"]
    assert list(tf_job(workload={"tfJob": {"leader": "Master"}})["tfReplicaSpecs"]) == ["Master", "PS", "Worker"]
    mirrored = {"strategy": "MultiWorkerMirrored", "roles": {"worker": {}, "evaluator": {}}}
    assert list(tf_job(**mirrored)["tfReplicaSpecs"]) == ["Worker", "Evaluator"]


def test_dynamic_workers_are_a_choice():
    roles = {"ps": {}, "worker": {"replicas": 2}}
    assert "enableDynamicWorker" not in tf_job(roles=roles, completion={"by": "AllWorkers"})
    dynamic = {"tfJob": {"enableDynamicWorker": True}}
    assert tf_job(roles=roles, completion={"by": "AllWorkers"}, workload=dynamic)["enableDynamicWorker"] is True


def test_tf_job_of_an_old_operator_has_no_run_policy():
    spec = tf_job(workload={"ttlSecondsAfterFinished": 9, "tfJob": {"apiVersion": "v1beta1"}})
    assert {key: spec[key] for key in spec if key != "tfReplicaSpecs"} == {
        "cleanPodPolicy": "Running",
        "ttlSecondsAfterFinished": 9,
    }


def test_pod_group_of_tfgen_binds_each_pod_of_a_tf_job():
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


def test_task_of_a_tf_job_has_the_port_of_the_operator_and_no_readiness_probe():
    task = container(tf_job(port=3333)["tfReplicaSpecs"]["PS"]["template"])
    assert task["ports"] == [{"name": "tfjob-port", "containerPort": 3333, "protocol": "TCP"}]
    assert "readinessProbe" not in task


REFUSED = {
    "retries: 3": "retries (found 3): kubeflow.org/v1beta1 does not limit retries",
    "completion: {by: AllWorkers}": 'completion.by "AllWorkers", only "", Chief and Worker0',
    "workload: {tfJob: {gang: Operator}}": 'workload.tfJob.gang "Operator", only PodGroup',
    "workload: {suspend: true}": "workload.suspend (found true): kubeflow.org/v1beta1 cannot suspend",
    "legacyFlags: true": "legacyFlags (found true): the tasks of this workload kind read TF_CONFIG",
    "legacyVariables: true": "legacyVariables (found true): the tasks of this workload kind read TF_CONFIG",
}


@pytest.mark.parametrize("said", REFUSED)
def test_field_that_an_old_operator_does_not_support_is_refused(said):
    document = saying(job(workload={"tfJob": {"apiVersion": "v1beta1"}}), yaml.safe_load(said))
    (message,) = [p.message for p in problems(document) if p.rule == "workload-kind"]
    assert message.startswith(f"the workload kind TFJob does not support {REFUSED[said]}")


def test_name_of_a_tf_job_is_limited_by_its_services():
    document = job(run="x" * 20)
    document["metadata"]["name"] = "y" * 35
    rules = {p.rule for p in problems(document)}
    assert "host-name" in rules
    assert "statefulset-name" not in rules


# -- VolcanoJob -------------------------------------------------------------------------------------------------------


def volcano(**spec):
    return objects(job(workload={**spec.pop("workload", {}), "kind": "VolcanoJob"}, **spec))


def volcano_spec(**spec):
    return volcano(**spec)["Job"]["spec"]


def tasks(**spec):
    return {task["name"]: task for task in volcano_spec(**spec)["tasks"]}


GANG = {"scheduler": "volcano", "queue": "research"}
ONE_EACH = {"chief": {}, "ps": {}, "worker": {}}
WHOLE = {"chief": 1, "ps": 2, "worker": 3}
COMPLETES = {"event": "TaskCompleted", "action": "CompleteJob"}


@pytest.mark.parametrize(
    ("spec", "ends"),
    [
        ({}, "chief"),
        ({"completion": {"by": "AllWorkers"}, "roles": {"ps": {}, "worker": {}}}, "worker"),
        ({"strategy": "MultiWorkerMirrored", "roles": {"worker": {"replicas": 2}, "evaluator": {}}}, "worker"),
        ({"strategy": "Single", "roles": {"chief": {}}}, "chief"),
    ],
)
def test_end_of_one_task_completes_the_volcano_job(spec, ends):
    assert [name for name, task in tasks(**spec).items() if COMPLETES in task.get("policies", [])] == [ends]


@pytest.mark.parametrize(("spec", "late"), [({}, []), ({"deadline": 60}, ["TerminateJob"])])
def test_failed_pod_restarts_the_volcano_job_and_a_deadline_ends_it(spec, late):
    found = volcano_spec(**spec)
    assert found["policies"] == [{"event": event, "action": "RestartJob"} for event in ("PodEvicted", "PodFailed")]
    policies = {task["name"]: task.get("policies", []) for task in found["tasks"]}
    assert policies["chief"] == [COMPLETES, *({"event": "PodFailed", "action": action} for action in late)]
    assert policies["ps"] == policies["worker"] == []


def test_volcano_job_does_not_end_with_worker_0():
    document = job(workload={"kind": "VolcanoJob"}, roles={"ps": {}, "worker": {}}, completion={"by": "Worker0"})
    (problem,) = problems(document)
    assert 'support completion.by "Worker0", only "", Chief and AllWorkers: Volcano detects' in problem.message
    assert problem.message.endswith("use AllWorkers, a chief, or the kind Job or TFJob")


@pytest.mark.parametrize(
    ("spec", "job_least", "task_least"),
    [
        ({}, 6, WHOLE),
        ({"gang": GANG}, 6, WHOLE),
        ({"gang": {**GANG, "enabled": False}}, 1, WHOLE),
        ({"gang": {**GANG, "minAvailable": 4}}, 4, {**WHOLE, "worker": 0}),
        ({"gang": GANG, "roles": {**ONE_EACH, "evaluator": {}}}, 3, {"chief": 1, "ps": 1, "worker": 1, "evaluator": 0}),
    ],
)
def test_gang_of_a_volcano_job_is_its_own(spec, job_least, task_least):
    found = volcano(**spec)
    assert "PodGroup" not in found
    assert found["Job"]["spec"]["minAvailable"] == job_least
    least = {task["name"]: task["minAvailable"] for task in found["Job"]["spec"]["tasks"]}
    assert least == task_least


SVC = ["--publish-not-ready-addresses=true", "--disable-network-policy=true"]
TENSORFLOW = ["--chief=chief", "--ps=ps", "--worker=worker", "--port=3333"]


@pytest.mark.parametrize("config", ["Own", "Plugin"])
def test_tasks_of_a_volcano_job_get_names_and_tf_config(config):
    found = volcano(workload={"volcanoJob": {"tfConfig": config}}, port=3333)
    plugins = found["Job"]["spec"]["plugins"]
    task = container(found["Job"]["spec"]["tasks"][2]["template"])
    own = {"TASK_INDEX", "TF_CLUSTER", "TF_CONFIG"} & {variable["name"] for variable in task["env"]}
    if config == "Plugin":
        assert found.keys() == {"NetworkPolicy", "Job"}
        assert (plugins["tensorflow"], own) == (TENSORFLOW, set())
    else:
        assert found.keys() == {"ConfigMap", "NetworkPolicy", "Job"}
        assert (plugins, len(own)) == ({"env": [], "svc": SVC}, 3)
        assert found["ConfigMap"]["data"]["cluster"].startswith('{"chief":["mnist-chief-0.mnist:3333"],')
        index = task["env"][0]["valueFrom"]["fieldRef"]["fieldPath"]
        assert index == "metadata.labels['volcano.sh/task-index']"


@pytest.mark.parametrize(
    ("spec", "field", "expected"),
    [
        # The job fails at the restart after the last retry.
        ({"retries": 0}, "maxRetry", 1),
        ({"retries": 5}, "maxRetry", 6),
        ({}, "queue", "default"),
        ({"gang": {"scheduler": "volcano"}}, "queue", "default"),
        ({"gang": GANG}, "queue", "research"),
    ],
)
def test_volcano_job_states_its_retries_and_its_queue(spec, field, expected):
    assert volcano_spec(**spec)[field] == expected


# -- JobSet -----------------------------------------------------------------------------------------------------------


def job_set(**spec):
    return objects(job(workload={**spec.pop("workload", {}), "kind": "JobSet"}, **spec))


def job_set_spec(**spec):
    return job_set(**spec)["JobSet"]["spec"]


@pytest.mark.parametrize(
    ("spec", "ends", "by_index"),
    [
        ({}, "chief", False),
        ({"completion": {"by": "Worker0"}, "roles": {"ps": {}, "worker": {}}}, "worker", True),
        ({"completion": {"by": "AllWorkers"}, "roles": {"ps": {}, "worker": {}}}, "worker", False),
        ({"strategy": "MultiWorkerMirrored", "roles": {"worker": {"replicas": 2}}}, "worker", True),
    ],
)
def test_end_of_one_role_is_the_end_of_the_job_set(spec, ends, by_index):
    found = job_set_spec(**spec)
    assert found["successPolicy"] == {"operator": "All", "targetReplicatedJobs": [ends]}
    jobs = {each["name"]: each["template"]["spec"] for each in found["replicatedJobs"]}
    assert ("successPolicy" in jobs[ends]) is by_index


def test_hosts_are_those_of_the_pods_of_a_job_set():
    found = job_set(run="2")
    assert found.keys() == {"ConfigMap", "NetworkPolicy", "JobSet"}
    assert '"worker":["mnist-2-worker-0-0.mnist-2:2222",' in found["ConfigMap"]["data"]["cluster"]
    assert found["JobSet"]["spec"]["network"] == {
        "enableDNSHostnames": True,
        "subdomain": "mnist-2",
        "publishNotReadyAddresses": True,
    }


def test_failure_of_the_evaluator_does_not_restart_the_training():
    roles = {"chief": {}, "ps": {}, "worker": {}, "evaluator": {}}
    rules = [{"name": "full", "action": "FailJobSet"}]
    policy = job_set_spec(roles=roles, workload={"jobSet": {"maxRestarts": 2, "rules": rules}})["failurePolicy"]
    assert policy == {"maxRestarts": 2, "rules": rules}
    made = job_set_spec(roles=roles, retries=3)
    limits = {job["name"]: job["template"]["spec"].get("backoffLimit") for job in made["replicatedJobs"]}
    assert limits == {"chief": 3, "ps": None, "worker": None, "evaluator": 2147483647}
    assert made["failurePolicy"] == {"maxRestarts": 0}


def test_ordered_start_of_a_job_set_waits_only_for_ps():
    jobs = job_set_spec(workload={"jobSet": {"startOrder": "PsFirst"}})["replicatedJobs"]
    wait = [{"name": "ps", "status": "Ready"}]
    assert [(each["name"], each.get("dependsOn")) for each in jobs] == [("ps", None), ("chief", wait), ("worker", wait)]
    assert all("dependsOn" not in each for each in job_set_spec()["replicatedJobs"])


def test_ordered_start_of_a_gang_is_refused():
    workload = {"kind": "JobSet", "jobSet": {"startOrder": "PsFirst"}}
    document = job(workload=workload, gang={"scheduler": "volcano"})
    (problem,) = problems(document)
    assert 'support workload.jobSet.startOrder "PsFirst", only Together: a gang starts' in problem.message


def test_exclusive_topology_is_an_annotation():
    topology = {"jobSet": {"exclusiveTopology": "cloud.example.com/rack"}}
    annotations = job_set(workload=topology, annotations={"a.b/c": "d"})["JobSet"]["metadata"]["annotations"]
    key = "alpha.jobset.sigs.k8s.io/exclusive-topology"
    assert annotations == {key: "cloud.example.com/rack", "a.b/c": "d"}
    assert "annotations" not in job_set()["JobSet"]["metadata"]
