"""The scheduler allocates the GPUs of a device class to the tasks that claim them (dynamic resource allocation).

The devices are in ResourceSlices without a driver. A driver prepares a device only on the node of a bound pod, and KWOK
needs no prepared device.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.client import Client, Object, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.jobs import write_job
from tests.support.repository import tfgen
from tfgen import cli

DRIVER = "gpu.example.com"
NODES = ("node-0", "node-1")
MODELS = {"gpu-0": "large", "gpu-1": "large", "gpu-2": "small"}
CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": DRIVER},
    "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]},
}
JOB = f"""
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: mnist}}
spec:
  image: registry.example.com/mnist:1
  strategy: MultiWorkerMirrored
  shm: 1Gi
  roles:
    worker:
      replicas: 3
      resources:
        cpu: 1
        gpu: {{count: 2, deviceClass: {DRIVER}, selectors: ["device.attributes['{DRIVER}'].model == 'large'"]}}
"""


LARGE = f"deviceclass.resource.kubernetes.io/{DRIVER} with device.attributes['{DRIVER}'].model == 'large'"


@pytest.fixture(scope="module")
def devices(cluster: ControlPlane) -> Iterator[None]:
    """Two nodes with two large GPUs and a small GPU each."""
    slices = [_slice(node) for node in NODES]
    for item in (CLASS, *slices):
        cluster.client.apply(item)
    yield
    for item in (CLASS, *slices):
        cluster.client.delete(item["kind"], item["metadata"]["name"])


def _slice(node: str) -> Object:
    devices = [{"name": name, "attributes": {"model": {"string": model}}} for name, model in MODELS.items()]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{DRIVER}"},
        "spec": {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices},
    }


@pytest.mark.usefixtures("devices")
def test_each_task_gets_the_devices_of_its_claim(cluster: ControlPlane, namespace: str, tmp_path: Path) -> None:
    overlay = write_job(JOB, tmp_path).overlay(None)
    assert (
        _plan(cluster, JOB, namespace, tmp_path)
        == f"mnist: does not fit: worker lacks 2 {LARGE} (1 pod without a node)"
    )
    cluster.kubectl("apply", "--server-side", "-n", namespace, "-k", overlay)
    eventually(lambda: len(_bound(cluster.client, namespace)) == 2, "two tasks on nodes")
    eventually(lambda: _waits_for_devices(cluster.client, namespace), "a task without free devices")
    assert {pod["spec"]["nodeName"] for pod in _bound(cluster.client, namespace)} == {*NODES}
    claims = [claim for claim in cluster.client.list("ResourceClaim", namespace) if "allocation" in claim["status"]]
    results = [claim["status"]["allocation"]["devices"]["results"] for claim in claims]
    given = sorted((result["pool"], result["device"]) for each in results for result in each)
    assert given == [(node, name) for node in NODES for name, model in MODELS.items() if model == "large"]
    one = JOB.replace("mnist", "other").replace("replicas: 3", "replicas: 1")
    assert (
        _plan(cluster, one, namespace, tmp_path)
        == f"other: does not fit: worker lacks 2 {LARGE} (1 pod without a node)"
    )
    small = one.replace("large", "small").replace("count: 2", "count: 1")
    assert _plan(cluster, small, namespace, tmp_path) == "other: fits"

    cluster.client.delete("Job", "mnist-worker", namespace)
    eventually(lambda: not cluster.client.list("ResourceClaim", namespace), "the end of the claims")


def _plan(cluster: ControlPlane, job: str, namespace: str, folder: Path) -> str:
    """Return the answer of `tfgen plan` for a job in a namespace."""
    path = folder / "job.yaml"
    path.write_text(job.replace("metadata: {", f"metadata: {{namespace: {namespace}, "), encoding="utf-8")
    code = cli.OK if "small" in job else cli.PROBLEMS
    return tfgen("plan", str(path), "--cluster", "--kubeconfig", str(cluster.admin), code=code).out.partition("\n")[0]


def _bound(client: Client, namespace: str) -> list[Object]:
    return [pod for pod in client.list("Pod", namespace) if pod["spec"].get("nodeName")]


def _waits_for_devices(client: Client, namespace: str) -> bool:
    """Test whether the scheduler says that no node has free devices for a pod."""
    conditions = [
        condition
        for pod in client.list("Pod", namespace)
        if not pod["spec"].get("nodeName")
        for condition in pod["status"].get("conditions", ())
    ]
    return any("cannot allocate all claims" in condition.get("message", "") for condition in conditions)
