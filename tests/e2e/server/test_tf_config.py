"""Each pod of StatefulSets and Jobs has its own TF_CONFIG, and the host name that TF_CONFIG contains.

The variables are those that a kubelet derives from the pod (tests/e2e/kubelet.py). The expected values are written by
hand: https://www.tensorflow.org/guide/distributed_training#TF_CONFIG.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.e2e.client import Object, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.jobs import write_job
from tests.e2e.kubelet import environment

PARAMETER_SERVERS = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: mnist}}
spec:
  image: registry.example.com/mnist:1
  run: b
  roles:
    chief: {{}}
    ps: {{replicas: {ps}}}
    worker: {{replicas: {workers}}}
    evaluator: {{}}
"""

MIRRORED = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: mnist}}
spec:
  strategy: MultiWorkerMirrored
  image: registry.example.com/mnist:1
  port: 3333
  roles:
    worker: {{replicas: {size}}}
"""

FLAGS = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: mnist}}
spec:
  image: registry.example.com/mnist:1
  legacyFlags: true
  completion: {{by: AllWorkers}}
  roles:
    ps: {{replicas: {size}}}
    worker: {{replicas: {size}}}
"""

nightly = pytest.mark.nightly
SIZES = pytest.mark.parametrize("size", [pytest.param(1, marks=nightly), 3, pytest.param(100, marks=nightly)])


@pytest.mark.parametrize(
    ("ps", "workers"), [(3, 100), pytest.param(1, 1, marks=nightly), pytest.param(100, 100, marks=nightly)]
)
def test_parameter_servers(ps: int, workers: int, cluster: ControlPlane, namespace: str, tmp_path: Path) -> None:
    hosts = {
        "chief": ["mnist-b-chief-0.mnist-b:2222"],
        "ps": [f"mnist-b-ps-{index}.mnist-b:2222" for index in range(ps)],
        "worker": [f"mnist-b-worker-{index}.mnist-b:2222" for index in range(workers)],
    }
    alone = {"evaluator": ["mnist-b-evaluator-0.mnist-b:2222"]}
    tasks = {
        (role, index): {"cluster": hosts, "task": {"type": role, "index": index}}
        for role, addresses in hosts.items()
        for index in range(len(addresses))
    }
    tasks["evaluator", 0] = {"cluster": hosts | alone, "task": {"type": "evaluator", "index": 0}}
    assert (
        _configs(cluster, namespace, PARAMETER_SERVERS.format(ps=ps, workers=workers), tmp_path, ps + workers + 2)
        == tasks
    )


@SIZES
def test_mirrored_workers(size: int, cluster: ControlPlane, namespace: str, tmp_path: Path) -> None:
    hosts = {"worker": [f"mnist-worker-{index}.mnist:3333" for index in range(size)]}
    tasks = {("worker", index): {"cluster": hosts, "task": {"type": "worker", "index": index}} for index in range(size)}
    assert _configs(cluster, namespace, MIRRORED.format(size=size), tmp_path, size) == tasks


@SIZES
def test_flags(size: int, cluster: ControlPlane, namespace: str, tmp_path: Path) -> None:
    """A program of TensorFlow 1 receives the cluster by its arguments, in which the kubelet replaces the variables."""
    hosts = {role: ",".join(f"mnist-{role}-{index}.mnist:2222" for index in range(size)) for role in ("ps", "worker")}
    expected = [
        [
            f"--job_name={role}",
            f"--task_index={index}",
            f"--ps_hosts={hosts['ps']}",
            f"--worker_hosts={hosts['worker']}",
        ]
        for role in ("ps", "worker")
        for index in range(size)
    ]
    found = []
    for pod in _pods(cluster, namespace, FLAGS.format(size=size), tmp_path, 2 * size):
        args = pod["spec"]["containers"][0]["args"]
        for name, value in environment(cluster.client, pod).items():
            args = [arg.replace(f"$({name})", value) for arg in args]
        found.append(args)
    assert sorted(found) == sorted(expected)


@SIZES
def test_variables(size: int, cluster: ControlPlane, namespace: str, tmp_path: Path) -> None:
    """A program of TensorFlow 1 that reads no flags receives the cluster by variables with the names of the flags."""
    hosts = {role: ",".join(f"mnist-{role}-{index}.mnist:2222" for index in range(size)) for role in ("ps", "worker")}
    expected = [
        {"JOB_NAME": role, "TASK_INDEX": str(index), "PS_HOSTS": hosts["ps"], "WORKER_HOSTS": hosts["worker"]}
        for role in ("ps", "worker")
        for index in range(size)
    ]
    text = FLAGS.replace("legacyFlags", "legacyVariables").format(size=size)
    pods = list(_pods(cluster, namespace, text, tmp_path, 2 * size))
    assert not any("args" in pod["spec"]["containers"][0] for pod in pods)
    told = [environment(cluster.client, pod) for pod in pods]
    names = expected[0].keys()
    assert sorted([variables[name] for name in names] for variables in told) == sorted(
        [*variables.values()] for variables in expected
    )


def _configs(
    cluster: ControlPlane, namespace: str, text: str, folder: Path, number: int
) -> Mapping[tuple[str, int], object]:
    """Return each task's TF_CONFIG, after a check that the pod has the host name in TF_CONFIG."""
    configs = {}
    for pod in _pods(cluster, namespace, text, folder, number):
        config = json.loads(environment(cluster.client, pod)["TF_CONFIG"])
        task = config["task"]
        host, _, port = config["cluster"][task["type"]][task["index"]].partition(":")
        # https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-hostname-and-subdomain-field
        assert host == f"{pod['spec']['hostname']}.{pod['spec']['subdomain']}"
        assert int(port) in [each["containerPort"] for each in pod["spec"]["containers"][0]["ports"]]
        configs[task["type"], task["index"]] = config
    (service,) = cluster.client.list("v1/Service", namespace)
    assert service["metadata"]["name"] == host.partition(".")[2]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    return configs


def _pods(cluster: ControlPlane, namespace: str, text: str, folder: Path, number: int) -> Iterator[Object]:
    """Return the pods of a job's tasks, without the finisher's. The number of the pods must be `number`."""
    cluster.kubectl("apply", "-n", namespace, "-k", write_job(text, folder).overlay(None))
    labels = "tfgen/role in (chief, ps, worker, evaluator)"
    eventually(lambda: len(cluster.client.list("Pod", namespace, labels=labels)) >= number, f"{number} pods")
    pods = cluster.client.list("Pod", namespace, labels=labels)
    assert len(pods) == number
    yield from pods
