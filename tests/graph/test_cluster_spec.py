"""The cluster that each TensorFlow task receives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tfgen.graph.built import plain_objects
from tfgen.graph.fill import Scope, evaluate
from tfgen.graph.guards import guards
from tfgen.job.training_job import TrainingJob


def job(name: str = "mnist", **spec: Any) -> dict[str, Any]:
    roles = {"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 3}}
    return {"metadata": {"name": name}, "spec": {"image": "a:1", "roles": roles, **spec}}


def objects(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(item["kind"], item["metadata"]["name"]): item for item in plain_objects(document)}


def environment(document: dict[str, Any], kind: str, name: str) -> dict[str, dict[str, Any]]:
    (container,) = objects(document)[kind, name]["spec"]["template"]["spec"]["containers"]
    return {variable["name"]: variable for variable in container["env"]}


def test_the_cluster_is_exactly_this_json():
    assert objects(job())["ConfigMap", "mnist"]["data"] == {
        "cluster": '{"chief":["mnist-chief-0.mnist:2222"],'
        '"ps":["mnist-ps-0.mnist:2222","mnist-ps-1.mnist:2222"],'
        '"worker":["mnist-worker-0.mnist:2222","mnist-worker-1.mnist:2222","mnist-worker-2.mnist:2222"]}'
    }


def test_a_run_and_another_port_are_in_the_hosts():
    roles = {"worker": {}, "ps": {}, "chief": {}}
    assert objects(job(run="b", port=80, roles=roles))["ConfigMap", "mnist-b"]["data"] == {
        "cluster": '{"chief":["mnist-b-chief-0.mnist-b:80"],'
        '"ps":["mnist-b-ps-0.mnist-b:80"],"worker":["mnist-b-worker-0.mnist-b:80"]}'
    }


def test_the_evaluator_is_in_its_own_cluster_alone():
    document = job(roles={"chief": {}, "ps": {}, "worker": {}, "evaluator": {}})
    data = {key: json.loads(text) for key, text in objects(document)["ConfigMap", "mnist"]["data"].items()}
    assert data["evaluatorCluster"] == {**data["cluster"], "evaluator": ["mnist-evaluator-0.mnist:2222"]}
    assert "evaluator" not in data["cluster"]
    reference = {"configMapKeyRef": {"name": "mnist", "key": "evaluatorCluster"}}
    assert environment(document, "Job", "mnist-evaluator")["TF_CLUSTER"]["valueFrom"] == reference
    assert environment(document, "Job", "mnist-chief")["TF_CLUSTER"]["valueFrom"]["configMapKeyRef"]["key"] == "cluster"


@pytest.mark.parametrize(
    ("kind", "role", "label"),
    [
        ("StatefulSet", "worker", "apps.kubernetes.io/pod-index"),
        ("StatefulSet", "ps", "apps.kubernetes.io/pod-index"),
        ("Job", "chief", "batch.kubernetes.io/job-completion-index"),
    ],
)
def test_tf_config_is_expanded_from_variables_that_stand_before_it(kind, role, label):
    env = environment(job(), kind, f"mnist-{role}")
    assert list(env)[:3] == ["TASK_INDEX", "TF_CLUSTER", "TF_CONFIG"]
    assert env["TASK_INDEX"]["valueFrom"] == {"fieldRef": {"fieldPath": f"metadata.labels['{label}']"}}
    text = env["TF_CONFIG"]["value"].replace("$(TF_CLUSTER)", '{"a":["b:1"]}').replace("$(TASK_INDEX)", "1")
    assert text == '{"cluster":{"a":["b:1"]},"task":{"type":"' + role + '","index":1}}'


LIMIT = 131_071
"""Maximum bytes of an environment string: 32 pages of 4,096 (MAX_ARG_STRLEN of execve(2)), minus the final zero."""


def counted(name: str, ps: int, workers: int) -> int:
    """Return the bytes of the last worker's TF_CONFIG=VALUE, computed independently, with an index of five digits."""
    cluster = {
        "chief": [f"{name}-chief-0.{name}:2222"],
        "ps": [f"{name}-ps-{index}.{name}:2222" for index in range(ps)],
        "worker": [f"{name}-worker-{index}.{name}:2222" for index in range(workers)],
    }
    config = {"cluster": cluster, "task": {"type": "worker", "index": 10_000}}
    return len("TF_CONFIG=" + json.dumps(config, separators=(",", ":")))


@pytest.mark.parametrize(("size", "refused"), [(LIMIT, False), (LIMIT + 1, True)])
def test_the_guard_is_at_the_byte(size, refused):
    name, ps, workers = cluster_of(size)
    document = job(name, roles={"chief": {}, "ps": {"replicas": ps}, "worker": {"replicas": workers}})
    parsed = TrainingJob.from_document(document)
    (guard,) = (guard for guard in guards(parsed.structure) if guard.rule == "tf-config-size")
    assert evaluate(guard.when, Scope(parsed.values, name, name)) is refused


def cluster_of(size: int) -> tuple[str, int, int]:
    """Return a name, and the numbers of ps and workers, whose TF_CONFIG counts as `size` bytes."""
    for name in ("n" * length for length in range(1, 20)):
        for ps in range(1, 60):
            # Count the workers from 1,000 separately, because their hosts have the same length.
            workers, rest = divmod(size - counted(name, ps, 1000), len(f',"{name}-worker-1000.{name}:2222"'))
            if rest == 0:
                assert counted(name, ps, 1000 + workers) == size
                return name, ps, 1000 + workers
    raise AssertionError(f"no cluster of {size} bytes")
