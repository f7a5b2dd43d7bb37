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
from tests.e2e.conftest import up
from tests.e2e.control_plane import ControlPlane, fake_node
from tests.e2e.jobs import write_job
from tests.e2e.servers.kwok import ANNOTATION
from tests.support.drawn_plans import RUNTIME_CLASS, Case, draw_case
from tfgen import cli

pytestmark = pytest.mark.xdist_group("plan")  # one cluster for all tests of this module

CASES = 50
NAMESPACE = "plan"
PATIENCE = 900.0
"""The number of seconds to wait: the 500 pods of all cases start at once."""


@pytest.fixture(scope="module")
def drawn() -> list[Case]:
    luck = random.Random(17)
    return [draw_case(luck, number) for number in range(CASES)]


@pytest.fixture(scope="module")
def nodes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, drawn: list[Case]
) -> Iterator[ControlPlane]:
    """A cluster with the nodes of all cases, and the pods that run there."""
    with up(request, ControlPlane(tmp_path_factory.mktemp("plan"), nodes=[fake_node("of-no-case")])) as cluster:
        for node in (node for case in drawn for node in case.nodes):
            cluster.client.create(fake(node))
        cluster.client.create(RUNTIME_CLASS)
        cluster.namespace(NAMESPACE, "privileged")
        for pod in (pod for case in drawn for pod in case.pods):
            cluster.client.create(pod, NAMESPACE)
        tainted = "node.kubernetes.io/not-ready"
        eventually(
            lambda: not [node for node in cluster.client.list("Node") if tainted in str(node["spec"].get("taints"))],
            "nodes that are ready",
        )
        yield cluster


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
    assert counts["fits"] >= CASES // 4, counts
    assert counts["does not fit"] >= CASES // 4, counts
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
        are_placed = [all(pod["spec"].get("nodeName") for pod in pods[f"job-{number}"]) for number in range(CASES)]
        return [
            number
            for number, (text, is_placed) in enumerate(zip(texts, are_placed, strict=True))
            if (text == "fits" and not is_placed) or (text == "does not fit" and is_placed)
        ]

    # The scheduler may place a pod in a later try: the placement of another pod can satisfy a topology spread.
    eventually(lambda: not wrong(), "what the command says")
    print(counts)
