"""`tfgen plan` beside the real scheduler: the answer for a job predicts the placement of its pods."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from tests.e2e.client import Object, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.jobs import write_job
from tests.e2e.servers.kwok import ANNOTATION
from tests.support.drawn_plans import RUNTIME_CLASS, Case, draw_case
from tfgen import cli

NAMESPACE = "plan"
PATIENCE = 900.0
"""The number of seconds to wait: the 500 pods of all cases start at once."""


@pytest.fixture(params=[15, pytest.param(50, marks=pytest.mark.nightly)])
def drawn(request: pytest.FixtureRequest) -> list[Case]:
    luck = random.Random(17)
    return [draw_case(luck, number) for number in range(request.param)]


@pytest.fixture
def nodes(whole_cluster: ControlPlane, drawn: list[Case]) -> Iterator[ControlPlane]:
    """A cluster with the nodes of all cases, and the pods that run there."""
    client = whole_cluster.client
    whole_cluster.namespace(NAMESPACE, "privileged")
    for node in (node for case in drawn for node in case.nodes):
        client.create(fake(node))
    client.create(RUNTIME_CLASS)
    for pod in (pod for case in drawn for pod in case.pods):
        client.create(pod, NAMESPACE)
    tainted = "node.kubernetes.io/not-ready"
    eventually(
        lambda: not [node for node in client.list("Node") if tainted in str(node["spec"].get("taints"))],
        "nodes that are ready",
    )
    yield whole_cluster
    client.delete("Namespace", NAMESPACE)
    eventually(lambda: not client.find("Namespace", NAMESPACE), "the end of the namespace")
    client.delete("RuntimeClass", "boxed")
    for node in (node for case in drawn for node in case.nodes):
        client.delete("Node", node["metadata"]["name"])


def fake(node: Object) -> Object:
    return {**node, "metadata": {**node["metadata"], "annotations": ANNOTATION}}


def answers(nodes: ControlPlane, drawn: list[Case], folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the output of `tfgen plan` for each case, with the nodes and pods that the cluster reports."""
    items = json.loads(nodes.kubectl("get", "nodes,pods,runtimeclasses", "-n", NAMESPACE, "-o", "json"))["items"]
    texts = []
    for number, case in enumerate(drawn):
        names = {item["metadata"]["name"] for item in (*case.nodes, *case.pods, RUNTIME_CLASS)}
        there = [item for item in items if item["metadata"]["name"] in names]
        file, job = folder / f"nodes-{number}.yaml", folder / f"job-{number}.yaml"
        file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": there}), encoding="utf-8")
        job.write_text(yaml.safe_dump(case.job), encoding="utf-8")
        code = cli.run(["plan", str(job), "--nodes", str(file), "--format", "json"])
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        assert (code == cli.PROBLEMS) == (run["answer"] == "does not fit")
        texts.append(run["answer"])
    return texts


def pods_of_jobs(nodes: ControlPlane) -> Mapping[str, list[Object]]:
    pods: dict[str, list[Object]] = {}
    for pod in nodes.client.list("v1/Pod", NAMESPACE, labels="tfgen/job"):
        pods.setdefault(pod["metadata"]["labels"]["tfgen/job"], []).append(pod)
    return pods


def is_tried(pod: Object) -> bool:
    """Test whether the scheduler has tried to schedule a pod."""
    return any(condition["type"] == "PodScheduled" for condition in pod["status"].get("conditions") or ())


def test_no_pod_of_what_fits_waits_and_one_of_what_does_not_does(
    nodes: ControlPlane, drawn: list[Case], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = answers(nodes, drawn, tmp_path, capsys)
    counts = Counter(texts)
    assert counts["fits"] >= len(drawn) // 4, counts
    assert counts["does not fit"] >= len(drawn) // 4, counts
    for number, case in enumerate(drawn):
        overlay = write_job(yaml.safe_dump(case.job), tmp_path / str(number)).overlay(None)
        nodes.kubectl("apply", "--server-side", "-n", NAMESPACE, "-k", overlay)

    def all_tried() -> bool:
        pods = pods_of_jobs(nodes)
        return all(
            len(own := pods.get(f"job-{number}", [])) == case.tasks and all(map(is_tried, own))
            for number, case in enumerate(drawn)
        )

    eventually(all_tried, "a try for each pod", PATIENCE)

    def wrong() -> list[int]:
        pods = pods_of_jobs(nodes)
        are_placed = [all(pod["spec"].get("nodeName") for pod in pods[f"job-{number}"]) for number in range(len(drawn))]
        return [
            number
            for number, (text, is_placed) in enumerate(zip(texts, are_placed, strict=True))
            if (text == "fits" and not is_placed) or (text == "does not fit" and is_placed)
        ]

    # The scheduler may place a pod in a later try: the placement of another pod can satisfy a topology spread.
    eventually(lambda: not wrong(), "what the command says")
    print(counts)
