"""The containers that tfgen adds to a job: none can use a GPU, and each has the requests and limits for a quota."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tfgen.graph.fill import Scope
from tfgen.graph.graph import graph
from tfgen.job.training_job import TrainingJob

DISTRIBUTED = """\
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1
  roles: {chief: {}, ps: {}, worker: {}, evaluator: {}}
  code: {git: {repository: "https://git.example.com/ml/train.git"}}
  tensorboard: {logDir: /model}
  storage: {model: {mountPath: /model, runs: Separate, claim: {size: 1Gi}}}
"""
ELASTIC = """\
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1
  roles: {ps: {}, worker: {}}
  workload: {kind: ElasticDL}
  security: {profile: baseline}
"""


def containers(text: str) -> Iterator[dict[str, Any]]:
    """Yield all containers of a job, including those of the pod of ``helm test``."""
    job = TrainingJob.from_document(yaml.safe_load(text))
    for template in graph(job.structure):
        for _, item in template.objects(Scope(job.values, "mnist", "mnist")):
            yield from _containers(item)


def _containers(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    pod = item["spec"] if item["kind"] == "Pod" else item.get("spec", {}).get("template", {}).get("spec", {})
    yield from (*pod.get("initContainers", ()), *pod.get("containers", ()))


HELPERS = {
    "distributed": (DISTRIBUTED, {"connect", "fetch-code", "finisher", "lock-model", "tensorboard"}),
    "elastic": (ELASTIC, {"master"}),
}


@pytest.mark.parametrize(("text", "names"), HELPERS.values(), ids=HELPERS)
def test_each_sees_no_gpu_and_says_all_four_amounts(text: str, names: set[str]) -> None:
    own = [container for container in containers(text) if container["name"] != "tensorflow"]
    assert {container["name"] for container in own} == names
    for container in own:
        assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in container["env"], container["name"]
        for map_ in ("requests", "limits"):
            assert container["resources"][map_].keys() == {"cpu", "memory"}, container["name"]


def test_those_in_a_pod_of_the_class_guaranteed_leave_it_there() -> None:
    """Each request of cpu and memory equals its limit: https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/."""
    for container in containers(DISTRIBUTED):
        if container["name"] in ("fetch-code", "lock-model"):
            assert container["resources"]["requests"] == container["resources"]["limits"]


def test_each_amount_of_the_small_ones_may_be_set() -> None:
    resources = "{requests: {cpu: 20m, memory: 32Mi}, limits: {cpu: 1, memory: 64Mi}}"
    text = f"{DISTRIBUTED}  helpers: {{resources: {resources}}}\n"
    for container in containers(text):
        if container["name"] in ("connect", "finisher", "lock-model"):
            assert container["resources"] == {
                "requests": {"cpu": "20m", "memory": "32Mi"},
                "limits": {"cpu": "1", "memory": "64Mi"},
            }
