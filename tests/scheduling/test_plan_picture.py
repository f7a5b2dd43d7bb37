"""Tests of the nodes that `tfgen plan` draws: the whole output for some clusters."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
import yaml

from tfgen import cli

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: NAME}
spec:
  image: registry.example.com/mnist:1
  roles:
    chief: {resources: {cpu: 1, memory: 1Gi, gpu: {count: 1}}}
    ps: {replicas: 2, resources: {cpu: 1, memory: 1Gi}}
    worker: {replicas: WORKERS, resources: {cpu: 1, memory: 1Gi, gpu: {count: 2}}}
"""


def node(name: str, gpus: int = 0) -> dict[str, object]:
    room = {"cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    return {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": room}}


def pod(name: str, gpus: int, on: str = "") -> dict[str, object]:
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    spec = {"containers": [container], **({"nodeName": on} if on else {})}
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "ml"}, "spec": spec}


def plan(folder: Path, jobs: dict[str, int], *items: dict[str, object]) -> int:
    """Run `tfgen plan` for jobs, each with a number of workers, and return the exit code."""
    texts = [JOB.replace("NAME", name).replace("WORKERS", str(count)) for name, count in jobs.items()]
    (folder / "job.yaml").write_text("---\n".join(texts), encoding="utf-8")
    (folder / "nodes.yaml").write_text(yaml.safe_dump_all(items), encoding="utf-8")
    return cli.run(["plan", str(folder / "job.yaml"), "--nodes", str(folder / "nodes.yaml")])


def test_tasks_running_pods_and_free_slots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """tfgen places the largest pods first, each on the first node by name with room. The chief follows the workers."""
    nodes = [*(node(f"gpu-{number}", 4) for number in range(1, 13)), node("cpu-1"), node("cpu-2")]
    assert plan(tmp_path, {"mnist": 3}, *nodes, pod("notebook", 1, on="gpu-1")) == cli.OK
    assert (
        capsys.readouterr().out
        == """\
mnist: fits

NODES             SLOTS     TASKS
gpu-1             [C WW #]  chief, worker
gpu-10            [WW WW]   2 worker
cpu-1                       finisher, 2 ps
gpu-2 and 9 more  [....]
cpu-2

GPUs: C chief 1, W worker 6, # running pods 1, . free 40
"""
    )


def test_pods_without_a_place_have_no_slots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert plan(tmp_path, {"mnist": 3}, node("gpu-1", 4)) == cli.PROBLEMS
    assert (
        capsys.readouterr().out
        == """\
mnist: does not fit: chief lacks 1 nvidia.com/gpu (1 pod without a node); \
worker lacks 2 nvidia.com/gpu (1 pod without a node)

NODES  SLOTS    TASKS
gpu-1  [WW WW]  finisher, 2 ps, 2 worker

GPUs: W worker 4
"""
    )


def test_two_runs_and_a_waiting_pod(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [node("a", 4), node("b", 8)]
    assert plan(tmp_path, {"mnist": 1, "pong": 2}, *nodes, pod("notebook", 3)) == cli.OK
    assert (
        capsys.readouterr().out
        == """\
mnist: fits in one order: chief and worker: pods that the scheduler places earlier may take the room
pong: fits in one order: chief and worker: pods that the scheduler places earlier may take the room

NODES  SLOTS           TASKS
a      [C ???]         mnist: finisher, chief, 2 ps; pong: finisher, 2 ps; waiting: notebook
b      [WW c ww ww .]  mnist: worker; pong: chief, 2 worker

GPUs: C mnist chief 1, W mnist worker 2, c pong chief 1, w pong worker 4, ? waiting pods 3, . free 1
"""
    )


def test_many_kinds_of_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output shows 20 of the 30 nodes with 1 to 30 GPUs. The other 10 nodes have 21 to 30 GPUs."""
    nodes = [node(f"gpu-{number}", number) for number in range(1, 31)]
    assert plan(tmp_path, {"mnist": 1}, *nodes, pod("notebook", 7, on="gpu-30")) == cli.OK
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 1 + 1 + 20 + 1 + 1 + 1
    assert lines[3:5] == [
        "gpu-1   [C]                     finisher, chief, 2 ps",
        "gpu-10  [WW ........]           worker",
    ]
    assert lines[23] == f"and 10 more nodes: {sum(range(21, 31)) - 7} of {sum(range(21, 31))} GPUs free"


def test_a_node_with_absurd_amounts_has_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The largest amount of Kubernetes replaces a larger amount, and a node with many GPUs has no slot for each GPU."""
    huge = node("a")
    huge["status"] = {"allocatable": {"cpu": "1e900", "memory": "9" * 4000, "pods": "110", "nvidia.com/gpu": "20M"}}
    assert plan(tmp_path, {"mnist": 1}, huge) == cli.OK
    assert (
        capsys.readouterr().out
        == """\
mnist: fits

NODES  SLOTS            TASKS
a      [3 of 20000000]  finisher, chief, 2 ps, worker

GPUs: C chief 1, W worker 2, . free 19999997
"""
    )


def test_letters_have_colours_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert plan(tmp_path, {"mnist": 1}, node("a", 4)) == cli.OK
    chief, worker = "\033[7;36mC\033[0m", "\033[7;33mW\033[0m"
    assert f"a      [{chief} {worker}{worker} .]  finisher, chief, 2 ps, worker\n" in terminal.getvalue()


def test_a_claim_of_another_device_has_no_slot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each worker claims a GPU by `gpu.deviceClass`, and a network card by its podTemplate."""

    def devices(name: str, number: int) -> list[dict[str, object]]:
        driver = f"{name}.example.com"
        pool = {"name": f"a-{name}", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": driver, "nodeName": "a", "pool": pool}
        items = [{"name": f"{name}-{index}"} for index in range(number)]
        selector = {"cel": {"expression": f"device.driver == '{driver}'"}}
        return [
            {"kind": "DeviceClass", "metadata": {"name": name}, "spec": {"selectors": [selector]}},
            {"kind": "ResourceSlice", "metadata": {"name": f"a-{name}"}, "spec": {**spec, "devices": items}},
        ]

    (tmp_path / "job.yaml").write_text(
        """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/mnist:1
  strategy: MultiWorkerMirrored
  objects:
    nic:
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaimTemplate
      metadata: {name: nic}
      spec: {spec: {devices: {requests: [{name: nic, exactly: {deviceClassName: nic}}]}}}
  roles:
    worker:
      replicas: 2
      resources: {cpu: 1, memory: 1Gi, gpu: {count: 1, deviceClass: gpu}}
      podTemplate:
        spec:
          resourceClaims: [{name: nic, resourceClaimTemplateName: nic}]
          containers: [{name: tensorflow, resources: {claims: [{name: gpu}, {name: nic}]}}]
""",
        encoding="utf-8",
    )
    no_claim: dict[str, object] = {"kind": "ResourceClaim", "metadata": {"name": "unused"}}
    nodes = [node("a"), *devices("gpu", 3), *devices("nic", 2), no_claim]
    (tmp_path / "nodes.yaml").write_text(yaml.safe_dump_all(nodes), encoding="utf-8")
    assert cli.run(["plan", str(tmp_path / "job.yaml"), "--nodes", str(tmp_path / "nodes.yaml")]) == cli.OK
    assert (
        capsys.readouterr().out
        == """\
mnist: fits

NODES  SLOTS    TASKS
a      [W W .]  2 worker

GPUs: W worker 2, . free 1
"""
    )
