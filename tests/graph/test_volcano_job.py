"""Volcano Jobs: the condition for their end, their gang, and the plugin that gives the tasks their cluster."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.support.custom_kinds import job, objects
from tfgen.check.jobs import check


def made(**spec: Any) -> dict[str, Any]:
    workload = {**spec.pop("workload", {}), "kind": "VolcanoJob"}
    return objects(job(workload=workload, **spec))


def spec_of(**spec: Any) -> Any:
    return made(**spec)["Job"]["spec"]


def tasks(**spec: Any) -> dict[str, Any]:
    return {task["name"]: task for task in spec_of(**spec)["tasks"]}


GANG = {"scheduler": "volcano", "queue": "research"}
ONE_EACH: dict[str, Any] = {"chief": {}, "ps": {}, "worker": {}}
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
def test_the_end_of_one_task_completes_the_job_and_no_other_keeps_it(spec, ends):
    assert [name for name, task in tasks(**spec).items() if COMPLETES in task.get("policies", [])] == [ends]


@pytest.mark.parametrize(("spec", "late"), [({}, []), ({"deadline": 60}, ["TerminateJob"])])
def test_a_pod_that_a_node_ends_starts_the_job_again_and_one_past_its_deadline_ends_it(spec, late):
    found = spec_of(**spec)
    assert found["policies"] == [{"event": event, "action": "RestartJob"} for event in ("PodEvicted", "PodFailed")]
    policies = {task["name"]: task.get("policies", []) for task in found["tasks"]}
    assert policies["chief"] == [COMPLETES, *({"event": "PodFailed", "action": action} for action in late)]
    assert policies["ps"] == policies["worker"] == []


def test_worker_0_alone_ends_no_volcano_job():
    document = job(workload={"kind": "VolcanoJob"}, roles={"ps": {}, "worker": {}}, completion={"by": "Worker0"})
    (problem,) = check(yaml.safe_dump(document), "job.yaml").problems
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
def test_the_gang_is_the_jobs_own(spec, job_least, task_least):
    found = made(**spec)
    assert "PodGroup" not in found
    assert found["Job"]["spec"]["minAvailable"] == job_least
    least = {task["name"]: task["minAvailable"] for task in found["Job"]["spec"]["tasks"]}
    assert least == task_least


def test_the_pods_have_names_by_the_plugin_and_tf_config_by_our_variables():
    found = made()
    assert found.keys() == {"ConfigMap", "NetworkPolicy", "Job"}
    assert found["ConfigMap"]["data"]["cluster"].startswith('{"chief":["mnist-chief-0.mnist:2222"],')
    assert found["Job"]["spec"]["plugins"] == {
        "env": [],
        "svc": ["--publish-not-ready-addresses=true", "--disable-network-policy=true"],
    }
    (container,) = found["Job"]["spec"]["tasks"][2]["template"]["spec"]["containers"]
    index = container["env"][0]["valueFrom"]["fieldRef"]["fieldPath"]
    assert index == "metadata.labels['volcano.sh/task-index']"


def test_the_plugin_tensorflow_takes_the_place_of_our_variables():
    found = made(workload={"volcanoJob": {"tfConfig": "Plugin"}}, port=3333)
    assert found.keys() == {"NetworkPolicy", "Job"}
    assert found["Job"]["spec"]["plugins"]["tensorflow"] == [
        "--chief=chief",
        "--ps=ps",
        "--worker=worker",
        "--port=3333",
    ]
    (container,) = found["Job"]["spec"]["tasks"][0]["template"]["spec"]["containers"]
    assert {variable["name"] for variable in container["env"]}.isdisjoint({"TASK_INDEX", "TF_CLUSTER", "TF_CONFIG"})


@pytest.mark.parametrize(("retries", "at"), [(0, 1), (5, 6)])
def test_the_job_fails_at_the_restart_after_the_last_that_it_may_have(retries, at):
    assert spec_of(retries=retries)["maxRetry"] == at


@pytest.mark.parametrize(
    ("spec", "queue"), [({}, "default"), ({"gang": {"scheduler": "volcano"}}, "default"), ({"gang": GANG}, "research")]
)
def test_the_queue_is_always_said(spec, queue):
    assert spec_of(**spec)["queue"] == queue
