"""What brings a run that has ended back, and what does not: the table of docs/runs.md, "After the end".

Each job is applied, ends and is released by its finisher; then the same is applied again, in each way.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.client import Client, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.finisher import Finisher, running
from tests.e2e.jobs import write_job
from tests.e2e.kubelet import end
from tests.e2e.ways import WAYS, Apply, helm
from tests.support.rendered import Rendered

JOB = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/mnist:1
  workload: {kind: KIND}
  roles:
    chief: {}
    ps: {replicas: 2}
    worker: {replicas: 3}
    evaluator: {}
  completion: {evaluatorGrace: 1}
"""

each_way = pytest.mark.parametrize("way", WAYS)


def _train(
    kind: str, way: str, cluster: ControlPlane, namespace: str, finisher: Finisher, folder: Path
) -> tuple[Rendered, Apply]:
    """Runs a job of a workload kind to its end, until all is released."""
    job, apply = write_job(JOB.replace("KIND", kind), folder / "rendered"), WAYS[way]
    apply(cluster, job, namespace)
    eventually(lambda: len(running(cluster.client, namespace)) == 8, "all pods and the finisher")
    finisher.run()
    (chief,) = running(cluster.client, namespace, "chief")
    end(cluster.client, chief)
    finisher.finish()
    eventually(lambda: not running(cluster.client, namespace), "the end of all pods")
    return job, apply


@each_way
def test_jobs_stay_released(
    way: str, cluster: ControlPlane, namespace: str, finisher: Finisher, tmp_path: Path
) -> None:
    """Whether a Job is suspended is in no file."""
    job, apply = _train("Job", way, cluster, namespace, finisher, tmp_path)
    before = _suspended(cluster.client, namespace)
    assert before == {"mnist-chief": False, "mnist-ps": True, "mnist-worker": True, "mnist-evaluator": True} | {
        "mnist-finisher": False
    }
    apply(cluster, job, namespace)
    assert _suspended(cluster.client, namespace) == before
    assert running(cluster.client, namespace) == []


@each_way
def test_stateful_sets_come_back(
    way: str, cluster: ControlPlane, namespace: str, finisher: Finisher, tmp_path: Path
) -> None:
    """How many replicas a StatefulSet has is what is applied. The Jobs beside them stay as they are."""
    job, apply = _train("StatefulSet", way, cluster, namespace, finisher, tmp_path)
    apply(cluster, job, namespace)
    eventually(lambda: len(running(cluster.client, namespace)) == 5, "the ps and the workers")
    assert not running(cluster.client, namespace, "chief")
    assert not running(cluster.client, namespace, "evaluator")


def test_a_new_run_of_a_release_trains_anew(
    cluster: ControlPlane, namespace: str, finisher: Finisher, tmp_path: Path
) -> None:
    """As the chart's notes say it. What is left of the old run goes."""
    job, _ = _train("StatefulSet", "helm-upgrade", cluster, namespace, finisher, tmp_path)
    helm("--reset-then-reuse-values", "--set", "run=2")(cluster, job, namespace)
    eventually(lambda: len(running(cluster.client, namespace)) == 8, "all pods of the new run, and its finisher")
    assert {pod["metadata"]["labels"]["tfgen/run"] for pod in running(cluster.client, namespace)} == {"2"}
    assert {each["metadata"]["name"] for each in cluster.client.list("StatefulSet", namespace)} == {
        "mnist-2-ps",
        "mnist-2-worker",
    }


def _suspended(client: Client, namespace: str) -> dict[str, bool]:
    """Which Jobs are suspended."""
    jobs = client.list("Job", namespace)
    return {job["metadata"]["name"]: job["spec"].get("suspend", False) for job in jobs}
