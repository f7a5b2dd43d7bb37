"""`tfgen site --live` with a real API server: the states of runs, and the reason why a run waits."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from tests.e2e.client import eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.jobs import write_job
from tests.support.repository import tfgen

JOB = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  image: registry.example.com/mnist:1
  roles:
    chief: {}
    ps: {}
    worker: {replicas: 2, resources: {gpu: {count: GPUS}}}
  environments:
    prod: {}
    absent: {namespace: empty}
    far: {cluster: elsewhere}
"""
GPUS = {"small": "1", "large": "9"}
"""The GPUs of a worker, by job. A node has 8 GPUs."""

REASON = r"worker-0 and worker-1: Unschedulable: 0/4 nodes are available: 4 Insufficient nvidia\.com/gpu\..*"


@pytest.fixture
def jobs(cluster: ControlPlane, namespace: str, tmp_path: Path) -> Path:
    """Two applied jobs. The chiefs run, and the workers of the large job wait for a node."""
    for name, gpus in GPUS.items():
        text = JOB.replace("NAMESPACE", namespace).replace("NAME", name).replace("GPUS", gpus)
        file = tmp_path / "jobs" / name / "job.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(text, encoding="utf-8")
        rendered = write_job(text, tmp_path / "rendered" / name)
        cluster.kubectl("apply", "--server-side", "-n", namespace, "-k", rendered.overlay("prod"))

    def number_of(condition: str) -> int:
        pods = cluster.client.list("v1/Pod", namespace)
        return sum(item["type"] == condition for pod in pods for item in pod["status"].get("conditions", ()))

    eventually(lambda: number_of("Ready") == 8, "five pods of small, and three pods of large")
    eventually(lambda: number_of("PodScheduled") == 10, "a verdict of the scheduler about ten pods")
    return tmp_path / "jobs"


def test_the_site_shows_states_and_the_reason_of_a_run_that_waits(
    cluster: ControlPlane, jobs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "public"
    assert "elsewhere" in tfgen("site", str(jobs), "--live", "--kubeconfig", str(cluster.admin), "--out", str(out)).err
    states = states_of_rows((out / "index.html").read_text(encoding="utf-8"))
    assert re.fullmatch(f"Partial 2/4: {REASON}", states.pop(("large", "prod")))
    assert states == {
        ("large", "absent"): "Absent",
        ("large", "far"): "not read",
        ("small", "absent"): "Absent",
        ("small", "far"): "not read",
        ("small", "prod"): "Running 4/4",
    }
    assert re.search(REASON, unescape((out / "jobs" / "large.html").read_text(encoding="utf-8")))


def states_of_rows(page: str) -> dict[tuple[str, str], str]:
    """Return the state of each row of the index, by job and environment."""
    rows = re.findall(r"<tr>\s*<th scope=\"row\">.*?</tr>", page, re.DOTALL)
    states = {}
    for row in rows:
        if state := re.search(r"<td class=\"state\">(.*?)</td>", row, re.DOTALL):
            name, environment = re.findall(r"<a [^>]*>(\S+)</a></th>\s*<td>(\w+)", row)[0]
            states[name, environment] = unescape(state[1])
    return states
