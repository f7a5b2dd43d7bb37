"""The cluster that each TensorFlow task receives: TF_CONFIG, the ConfigMap of a run, and the variables of Keras.

Keras takes the addresses, the number of processes and the number of its own process from three variables, and JAX
connects to the first address (keras/src/distribution/distribution_lib.py, keras/src/backend/jax/distribution_lib.py).
"""

from __future__ import annotations

import json

import pytest

from tests.support.generated import job
from tests.support.objects import container, objects, of_kind
from tfgen.graph.fill import Scope, evaluate
from tfgen.graph.guards import guards
from tfgen.job.training_job import TrainingJob

LIMIT = 131_071
"""Maximum bytes of an environment string: 32 pages of 4,096 (MAX_ARG_STRLEN of execve(2)), minus the final zero."""


def too_long(document):
    """Return the messages of the guard for a string of the environment."""
    parsed, name = TrainingJob.from_document(document), document["metadata"]["name"]
    scope = Scope(parsed.values, name, name)
    found = [guard for guard in guards(parsed.structure) if guard.rule == "tf-config-size"]
    return [evaluate(guard.message, scope) for guard in found if evaluate(guard.when, scope)]


def environment(spec, kind, name):
    pod = objects(spec)[kind, name]["spec"]["template"]
    return {variable["name"]: variable for variable in container(pod)["env"]}


@pytest.mark.parametrize(
    ("spec", "name", "expected"),
    [
        (
            "roles: {chief: {}, ps: {replicas: 2}, worker: {}}",
            "mnist",
            '{"chief":["mnist-chief-0.mnist:2222"],"ps":["mnist-ps-0.mnist:2222","mnist-ps-1.mnist:2222"],'
            '"worker":["mnist-worker-0.mnist:2222"]}',
        ),
        (
            "run: b\nport: 80\nroles: {worker: {}, ps: {}, chief: {}}",
            "mnist-b",
            '{"chief":["mnist-b-chief-0.mnist-b:80"],"ps":["mnist-b-ps-0.mnist-b:80"],'
            '"worker":["mnist-b-worker-0.mnist-b:80"]}',
        ),
    ],
)
def test_cluster_is_exactly_this_json(spec, name, expected):
    assert objects(spec)["ConfigMap", name]["data"] == {"cluster": expected}


def test_evaluator_is_only_in_its_own_cluster():
    spec = "roles: {chief: {}, ps: {}, worker: {}, evaluator: {}}"
    data = {key: json.loads(text) for key, text in objects(spec)["ConfigMap", "mnist"]["data"].items()}
    assert data["evaluatorCluster"] == {**data["cluster"], "evaluator": ["mnist-evaluator-0.mnist:2222"]}
    assert "evaluator" not in data["cluster"]
    for role, key in (("evaluator", "evaluatorCluster"), ("chief", "cluster")):
        reference = environment(spec, "Job", f"mnist-{role}")["TF_CLUSTER"]["valueFrom"]
        assert reference == {"configMapKeyRef": {"name": "mnist", "key": key}}


@pytest.mark.parametrize(
    ("kind", "role", "label"),
    [
        ("StatefulSet", "worker", "apps.kubernetes.io/pod-index"),
        ("StatefulSet", "ps", "apps.kubernetes.io/pod-index"),
        ("Job", "chief", "batch.kubernetes.io/job-completion-index"),
    ],
)
def test_tf_config_is_expanded_from_variables_before_it(kind, role, label):
    env = environment("", kind, f"mnist-{role}")
    assert list(env)[:3] == ["TASK_INDEX", "TF_CLUSTER", "TF_CONFIG"]
    assert env["TASK_INDEX"]["valueFrom"] == {"fieldRef": {"fieldPath": f"metadata.labels['{label}']"}}
    text = env["TF_CONFIG"]["value"].replace("$(TF_CLUSTER)", '{"a":["b:1"]}').replace("$(TASK_INDEX)", "1")
    assert text == '{"cluster":{"a":["b:1"]},"task":{"type":"' + role + '","index":1}}'


def counted(name, ps, workers):
    """Return the bytes of the last worker's TF_CONFIG=VALUE, computed independently, with an index of five digits."""
    cluster = {
        "chief": [f"{name}-chief-0.{name}:2222"],
        "ps": [f"{name}-ps-{index}.{name}:2222" for index in range(ps)],
        "worker": [f"{name}-worker-{index}.{name}:2222" for index in range(workers)],
    }
    config = {"cluster": cluster, "task": {"type": "worker", "index": 10_000}}
    return len("TF_CONFIG=" + json.dumps(config, separators=(",", ":")))


def cluster_of(size):
    """Return a name, and the numbers of ps and workers, whose TF_CONFIG counts as `size` bytes."""
    for name in ("n" * length for length in range(1, 20)):
        for ps in range(1, 60):
            # Count the workers from 1,000 separately, because their hosts have the same length.
            workers, rest = divmod(size - counted(name, ps, 1000), len(f',"{name}-worker-1000.{name}:2222"'))
            if rest == 0:
                assert counted(name, ps, 1000 + workers) == size
                return name, ps, 1000 + workers
    raise AssertionError(f"no cluster of {size} bytes")


@pytest.mark.parametrize(("size", "refused"), [(LIMIT, False), (LIMIT + 1, True)])
def test_guard_of_tf_config_counts_bytes(size, refused):
    name, ps, workers = cluster_of(size)
    roles = {"chief": {}, "ps": {"replicas": ps}, "worker": {"replicas": workers}}
    assert bool(too_long(job(name, roles=roles))) is refused


def keras(kind="Job", **spec):
    roles = {"worker": {"replicas": 2}}
    return {"strategy": "KerasDistribution", "workload": {"kind": kind}, "roles": roles, **spec}


def keras_container(spec):
    (item,) = (item for (kind, _), item in objects(spec).items() if kind in ("Job", "JobSet"))
    found = item["spec"]
    if item["kind"] == "JobSet":
        (replicated,) = found["replicatedJobs"]
        found = replicated["template"]["spec"]
    elif "tasks" in found:
        (found,) = found["tasks"]
    return container(found["template"])


@pytest.mark.parametrize(
    ("kind", "label", "host"),
    [
        ("StatefulSet", "batch.kubernetes.io/job-completion-index", "mnist-worker-{}.mnist:2222"),
        ("Job", "batch.kubernetes.io/job-completion-index", "mnist-worker-{}.mnist:2222"),
        ("JobSet", "batch.kubernetes.io/job-completion-index", "mnist-worker-0-{}.mnist:2222"),
        ("VolcanoJob", "volcano.sh/task-index", "mnist-worker-{}.mnist:2222"),
    ],
)
def test_worker_has_the_variables_of_keras_in_place_of_tf_config(kind, label, host):
    env = {variable.pop("name"): variable for variable in map(dict, keras_container(keras(kind))["env"])}
    addresses = {"valueFrom": {"configMapKeyRef": {"name": "mnist", "key": "workerHosts"}}}
    assert dict(list(env.items())[:5]) == {
        "TASK_INDEX": {"valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{label}']"}}},
        "KERAS_BACKEND": {"value": "jax"},
        "KERAS_DISTRIBUTION_JOB_ADDRESSES": addresses,
        "KERAS_DISTRIBUTION_NUM_PROCESSES": {"value": "2"},
        "KERAS_DISTRIBUTION_PROCESS_ID": {"value": "$(TASK_INDEX)"},
    }
    assert not {"TF_CONFIG", "TF_CLUSTER"} & {*env}
    assert objects(keras(kind))["ConfigMap", "mnist"]["data"]["workerHosts"] == f"{host.format(0)},{host.format(1)}"


def test_workers_of_keras_reach_each_other_and_end_with_worker_0():
    """Gloo and NCCL open connections on ports of their choice, so the port of the coordinator is not enough."""
    spec = keras(port=1234, network={"egress": {"limited": True}})
    (service,), (policy,), (item,) = (of_kind(kind, spec) for kind in ("Service", "NetworkPolicy", "Job"))
    assert [port["port"] for port in service["spec"]["ports"]] == [1234]
    assert [port["containerPort"] for port in keras_container(spec)["ports"]] == [1234]
    peers = [{"podSelector": policy["spec"]["podSelector"]}]
    assert policy["spec"]["ingress"] == [{"from": peers}]
    assert policy["spec"]["egress"][0] == {"to": peers}
    assert item["spec"]["successPolicy"] == {"rules": [{"succeededIndexes": "0"}]}


@pytest.mark.parametrize("more", [0, 1])
def test_guard_of_the_addresses_of_keras_counts_bytes(more):
    """The test counts the bytes of NAME=VALUE with hosts of equal length and one comma between two hosts."""
    replicas = 1
    text = "KERAS_DISTRIBUTION_JOB_ADDRESSES=mnist-worker-0.mnist:2222"
    while len(text) <= LIMIT:
        text += f",mnist-worker-{replicas}.mnist:2222"
        replicas += 1
    spec = keras("StatefulSet", roles={"worker": {"replicas": replicas - 1 + more}})
    assert [message.split()[0] for message in too_long(job(**spec))] == ["KERAS_DISTRIBUTION_JOB_ADDRESSES"] * more
