"""Kubeflow's own operator accepts tfgen's TFJobs, creates their pods with TF_CONFIG, and ends the pods.

The expected TF_CONFIG is written by hand, for TensorFlow as its reader:
https://www.tensorflow.org/guide/distributed_training#TF_CONFIG.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import ApiError, Client, Object, eventually
from tests.e2e.conftest import dns_label, up
from tests.e2e.control_plane import ControlPlane, fake_node
from tests.e2e.custom_kinds import definitions
from tests.e2e.jobs import write_job
from tests.e2e.kubelet import end, environment
from tests.e2e.servers.training_operator import TrainingOperator

pytestmark = pytest.mark.xdist_group("training-operator")  # one operator for all tests of this module

JOB = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: mnist}}
spec:
  image: registry.example.com/mnist:1
  run: b
  workload: {{kind: TFJob}}
  roles: {roles}
"""

PARAMETER_SERVERS = "{chief: {}, ps: {replicas: 2}, worker: {replicas: 3}}"


@pytest.fixture(scope="module")
def operator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster in which the operator runs."""
    with up(request, ControlPlane(tmp_path_factory.mktemp("operator"), nodes=[fake_node("node")])) as cluster:
        kind = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob"}
        cluster.install(definitions(cluster.client, [kind]))
        whole = cluster.kubectl("config", "view", "--raw", "--flatten")
        server = TrainingOperator(cluster.folder, cluster.address, whole, cluster.client)
        cluster.start(server).wait_until_ready()
        yield cluster


@pytest.fixture
def place(operator: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    name = operator.namespace(dns_label(request.node.name))
    yield name
    operator.client.delete("Namespace", name)


def test_each_pod_has_its_tf_config(operator: ControlPlane, place: str, tmp_path: Path) -> None:
    pods = _start(operator, place, JOB.format(roles=PARAMETER_SERVERS), tmp_path, 6)
    hosts = {
        "chief": [f"mnist-b-chief-0.{place}.svc:2222"],
        "ps": [f"mnist-b-ps-{index}.{place}.svc:2222" for index in range(2)],
        "worker": [f"mnist-b-worker-{index}.{place}.svc:2222" for index in range(3)],
    }
    assert _configs(operator.client, pods) == {
        f"mnist-b-{role}-{index}": {
            "cluster": hosts,
            "task": {"type": role, "index": index},
            "environment": "cloud",
        }
        for role, addresses in hosts.items()
        for index in range(len(addresses))
    }
    for pod in pods:  # the Service with the pod's host name selects only this pod
        name = pod["metadata"]["name"]
        service = operator.client.get("v1/Service", name, place)
        wanted = service["spec"]["selector"].items()
        assert [each["metadata"]["name"] for each in pods if wanted <= each["metadata"]["labels"].items()] == [name]
        assert service["spec"]["clusterIP"] == "None"
        assert 2222 in [port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]]
        # the run lock reads the index from this label
        assert pod["metadata"]["labels"]["training.kubeflow.org/replica-index"] == name.rpartition("-")[2]


def test_the_evaluator_stands_in_the_cluster_of_all(operator: ControlPlane, place: str, tmp_path: Path) -> None:
    """The operator lists the evaluator in each TF_CONFIG, as the rule evaluator-in-cluster warns."""
    roles = "{chief: {}, ps: {replicas: 1}, worker: {replicas: 1}, evaluator: {}}"
    pods = _start(operator, place, JOB.format(roles=roles), tmp_path, 4)
    clusters = [config["cluster"] for config in _configs(operator.client, pods).values()]
    assert [cluster["evaluator"] for cluster in clusters] == [[f"mnist-b-evaluator-0.{place}.svc:2222"]] * 4


def test_the_end_of_the_chief_ends_the_rest(operator: ControlPlane, place: str, tmp_path: Path) -> None:
    """The log of the chief stays, because its pod stays."""
    pods = _start(operator, place, JOB.format(roles=PARAMETER_SERVERS), tmp_path, 6)
    end(operator.client, _named(pods, "mnist-b-chief-0"))
    eventually(lambda: _conditions(operator.client, place).get("Succeeded"), "a TFJob that succeeded")
    eventually(lambda: _names(_pods(operator.client, place)) == ["mnist-b-chief-0"], "the end of the other pods")


def test_a_kept_job_keeps_its_pods(operator: ControlPlane, place: str, tmp_path: Path) -> None:
    text = JOB.format(roles=PARAMETER_SERVERS) + "  completion: {release: Keep}\n"
    pods = _start(operator, place, text, tmp_path, 6)
    end(operator.client, _named(pods, "mnist-b-chief-0"))
    eventually(lambda: _conditions(operator.client, place).get("Succeeded"), "a TFJob that succeeded")
    assert _names(_pods(operator.client, place)) == _names(pods)


def test_a_role_has_its_own_restart_policy(operator: ControlPlane, place: str, tmp_path: Path) -> None:
    """Test ExitCode: the operator replaces a pod that a signal ended, and any other failure fails the job."""
    roles = "{chief: {}, ps: {replicas: 1}, worker: {replicas: 2, restartPolicy: ExitCode}}"
    pods = _start(operator, place, JOB.format(roles=roles), tmp_path, 4)
    policies = {pod["metadata"]["name"]: pod["spec"]["restartPolicy"] for pod in pods}
    assert policies == {
        "mnist-b-chief-0": "OnFailure",
        "mnist-b-ps-0": "OnFailure",
        "mnist-b-worker-0": "Never",  # the operator creates a new pod
        "mnist-b-worker-1": "Never",
    }
    killed = _named(pods, "mnist-b-worker-1")
    end(operator.client, killed, exit_code=137)

    def another() -> Object | None:
        pod = operator.client.find("Pod", "mnist-b-worker-1", place)
        is_new = pod and pod["metadata"]["uid"] != killed["metadata"]["uid"]
        return pod if is_new and pod and pod["status"].get("phase") == "Running" else None

    end(operator.client, eventually(another, "another worker 1"), exit_code=1)
    eventually(lambda: _conditions(operator.client, place).get("Failed"), "a TFJob that failed")
    eventually(lambda: "mnist-b-ps-0" not in _names(_pods(operator.client, place)), "the end of the ps")


def test_workers_that_come_and_go(operator: ControlPlane, place: str, tmp_path: Path) -> None:
    """A worker receives the ps and itself, and a ps receives only itself. A new worker starts without a new ps."""
    text = JOB.format(roles="{ps: {replicas: 1}, worker: {replicas: 2}}").replace(
        "{kind: TFJob}", "{kind: TFJob, tfJob: {enableDynamicWorker: true}}"
    )
    pods = _start(operator, place, text + "  completion: {by: AllWorkers}\n", tmp_path, 3)

    def host(role: str, index: int) -> str:
        return f"mnist-b-{role}-{index}.{place}.svc:2222"

    expected = {
        f"mnist-b-worker-{index}": {
            "cluster": {"worker": {str(index): host("worker", index)}, "ps": [host("ps", 0)]},
            "task": {"type": "worker", "index": index},
        }
        for index in range(3)
    }
    ps = {"cluster": {"worker": {}, "ps": [host("ps", 0)]}, "task": {"type": "ps", "index": 0}}
    more = {"spec": {"tfReplicaSpecs": {"Worker": {"replicas": 3}}}}
    operator.client.patch("TFJob", "mnist-b", place, more)
    eventually(lambda: len(_pods(operator.client, place)) == 4, "a third worker")
    after = _pods(operator.client, place)
    assert {pod["metadata"]["uid"] for pod in pods} < {pod["metadata"]["uid"] for pod in after}
    assert _configs(operator.client, after) == {**expected, "mnist-b-ps-0": ps}


@pytest.mark.parametrize(
    ("roles", "more", "last"),
    [
        pytest.param("{worker: {replicas: 2}}", "strategy: MultiWorkerMirrored", 0, id="worker-0"),
        pytest.param("{ps: {replicas: 1}, worker: {replicas: 2}}", "completion: {by: AllWorkers}", 1, id="all-workers"),
    ],
)
def test_the_last_worker_ends_a_job_without_a_chief(
    roles: str, more: str, last: int, operator: ControlPlane, place: str, tmp_path: Path
) -> None:
    """End first the worker that does not end the job: worker 1 if worker 0 ends the job, or worker 0 if all do."""
    text = JOB.format(roles=roles) + f"  {more}\n"
    pods = _start(operator, place, text, tmp_path, 3 if "ps" in roles else 2)
    end(operator.client, _named(pods, f"mnist-b-worker-{1 - last}"))
    eventually(lambda: _succeeded(operator.client, place), "the other worker's end")
    assert not _conditions(operator.client, place).get("Succeeded")
    end(operator.client, _named(pods, f"mnist-b-worker-{last}"))
    eventually(lambda: _conditions(operator.client, place).get("Succeeded"), "a TFJob that succeeded")


def test_its_admission_takes_what_is_ours_alone(operator: ControlPlane, place: str, tmp_path: Path) -> None:
    """The webhook that admitted the TFJobs of the other tests refuses an invalid TFJob."""
    _start(operator, place, JOB.format(roles="{chief: {}, ps: {replicas: 1}, worker: {replicas: 1}}"), tmp_path, 3)
    job = operator.client.get("TFJob", "mnist-b", place)
    spec = job["spec"]["tfReplicaSpecs"]["Chief"]["template"]["spec"]
    spec["containers"][0]["name"] = "another"
    other = {key: job[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "other"}}
    with pytest.raises(ApiError, match="at least one container with name tensorflow"):
        operator.client.create(other, place)


def _start(cluster: ControlPlane, namespace: str, text: str, folder: Path, number: int) -> list[Object]:
    """Apply a job, and return its pods when all of them run."""
    cluster.kubectl("apply", "--server-side", "-n", namespace, "-k", write_job(text, folder).overlay(None))

    def running() -> list[Object]:
        pods = [pod for pod in _pods(cluster.client, namespace) if pod["status"].get("phase") == "Running"]
        return pods if len(pods) >= number else []

    pods = eventually(running, f"{number} pods")
    assert len(pods) == number
    return pods


def _pods(client: Client, namespace: str) -> list[Object]:
    found = client.list("Pod", namespace, labels="tfgen/role in (chief, ps, worker, evaluator)")
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def _configs(client: Client, pods: list[Object]) -> dict[str, dict[str, Any]]:
    """Return each pod's TF_CONFIG."""
    return {pod["metadata"]["name"]: json.loads(environment(client, pod)["TF_CONFIG"]) for pod in pods}


def _named(pods: list[Object], name: str) -> Object:
    (found,) = (pod for pod in pods if pod["metadata"]["name"] == name)
    return found


def _names(pods: list[Object]) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in pods)


def _status(client: Client, namespace: str) -> Object:
    (job,) = client.list("TFJob", namespace)
    return dict(job.get("status", {}))


def _succeeded(client: Client, namespace: str) -> int:
    """Return the number of succeeded workers in the status of the TFJob, which is missing before the first success."""
    statuses = _status(client, namespace).get("replicaStatuses", {})
    return int(statuses.get("Worker", {}).get("succeeded", 0))


def _conditions(client: Client, namespace: str) -> dict[str, bool]:
    """Return the conditions of the TFJob."""
    conditions = _status(client, namespace).get("conditions", [])
    return {each["type"]: each["status"] == "True" for each in conditions}
