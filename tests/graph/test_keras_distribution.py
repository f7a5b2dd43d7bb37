"""The cluster in the variables of keras.distribution.initialize.

Keras takes the addresses, the number of processes and the number of its own process from three variables, and JAX
connects to the first address (keras/src/distribution/distribution_lib.py, keras/src/backend/jax/distribution_lib.py).
"""

from __future__ import annotations

from typing import Any

import pytest

from tfgen.graph.built import plain_objects
from tfgen.graph.fill import Scope, evaluate
from tfgen.graph.guards import guards
from tfgen.job.training_job import TrainingJob

LIMIT = 131_071
"""Maximum bytes of an environment string: 32 pages of 4,096 (MAX_ARG_STRLEN of execve(2)), minus the final zero."""


def job(kind: str = "StatefulSet", replicas: int = 2, **spec: Any) -> dict[str, Any]:
    roles = {"worker": {"replicas": replicas}}
    workload = {"kind": kind}
    spec = {"image": "a:1", "strategy": "KerasDistribution", "workload": workload, "roles": roles, **spec}
    return {"metadata": {"name": "m"}, "spec": spec}


def pod_template(document: dict[str, Any]) -> dict[str, Any]:
    """Return the pod template of the workers for any workload kind."""
    (item,) = (item for item in plain_objects(document) if item["kind"] in ("Job", "JobSet"))
    spec = item["spec"]
    if item["kind"] == "JobSet":
        (replicated,) = spec["replicatedJobs"]
        spec = replicated["template"]["spec"]
    elif "tasks" in spec:
        (spec,) = spec["tasks"]
    return spec["template"]


@pytest.mark.parametrize(
    ("kind", "label", "hosts"),
    [
        ("StatefulSet", "batch.kubernetes.io/job-completion-index", "m-worker-0.m:2222,m-worker-1.m:2222"),
        ("Job", "batch.kubernetes.io/job-completion-index", "m-worker-0.m:2222,m-worker-1.m:2222"),
        ("JobSet", "batch.kubernetes.io/job-completion-index", "m-worker-0-0.m:2222,m-worker-0-1.m:2222"),
        ("VolcanoJob", "volcano.sh/task-index", "m-worker-0.m:2222,m-worker-1.m:2222"),
    ],
)
def test_each_worker_has_the_variables_of_keras_in_place_of_tf_config(kind: str, label: str, hosts: str) -> None:
    (container,) = pod_template(job(kind))["spec"]["containers"]
    env = {variable.pop("name"): variable for variable in map(dict, container["env"])}
    assert dict(list(env.items())[:5]) == {
        "TASK_INDEX": {"valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{label}']"}}},
        "KERAS_BACKEND": {"value": "jax"},
        "KERAS_DISTRIBUTION_JOB_ADDRESSES": {"valueFrom": {"configMapKeyRef": {"name": "m", "key": "workerHosts"}}},
        "KERAS_DISTRIBUTION_NUM_PROCESSES": {"value": "2"},
        "KERAS_DISTRIBUTION_PROCESS_ID": {"value": "$(TASK_INDEX)"},
    }
    assert not {"TF_CONFIG", "TF_CLUSTER"} & {*env}
    (config_map,) = (item for item in plain_objects(job(kind)) if item["kind"] == "ConfigMap" and "data" in item)
    assert config_map["data"]["workerHosts"] == hosts


def test_the_port_of_the_coordinator_is_in_the_service_and_in_the_pods() -> None:
    document = job("Job", port=1234)
    (service,) = (item for item in plain_objects(document) if item["kind"] == "Service")
    assert [port["port"] for port in service["spec"]["ports"]] == [1234]
    (container,) = pod_template(document)["spec"]["containers"]
    assert [port["containerPort"] for port in container["ports"]] == [1234]


def test_the_policy_lets_workers_reach_workers_on_every_port() -> None:
    """Gloo and NCCL open connections on ports of their choice, so the port of the coordinator is not enough."""
    document = job("Job", network={"egress": {"limited": True}})
    (policy,) = (item for item in plain_objects(document) if item["kind"] == "NetworkPolicy")
    peers = [{"podSelector": policy["spec"]["podSelector"]}]
    assert policy["spec"]["ingress"] == [{"from": peers}]
    assert policy["spec"]["egress"][0] == {"to": peers}


def test_the_run_ends_with_worker_0() -> None:
    (item,) = (item for item in plain_objects(job("Job")) if item["kind"] == "Job")
    assert item["spec"]["successPolicy"] == {"rules": [{"succeededIndexes": "0"}]}


@pytest.mark.parametrize("more", [0, 1])
def test_the_list_of_addresses_is_at_most_a_string_of_the_environment(more: int) -> None:
    """The test counts the bytes of NAME=VALUE with hosts of equal length and one comma between two hosts."""
    replicas = 1
    text = "KERAS_DISTRIBUTION_JOB_ADDRESSES=m-worker-0.m:2222"
    while len(text) <= LIMIT:
        text += f",m-worker-{replicas}.m:2222"
        replicas += 1
    document = TrainingJob.from_document(job(replicas=replicas - 1 + more))
    scope = Scope(document.values, release="m", chart="m")
    broken = [guard for guard in guards(document.structure) if guard.rule == "tf-config-size"]
    messages = [evaluate(guard.say, scope) for guard in broken if evaluate(guard.when, scope)]
    assert [message.split()[0] for message in messages] == ["KERAS_DISTRIBUTION_JOB_ADDRESSES"] * more
