"""Pods on Alibaba Cloud's container instances: the ways of scheduling them, and their annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from tfgen.graph.built import plain_objects

JOB = """\
metadata: {name: net}
spec:
  image: registry.example.com/ml/net:1
  roles: {chief: {}, ps: {}, worker: {}, evaluator: {}}
  tensorboard: {logDir: /logs}
"""
SINGLE = "strategy: Single\nroles: {chief: {image: 'b:2'}}\nworkload: {kind: Pod}"


def rendered(eci: str, more: str = "") -> list[Any]:
    document = yaml.safe_load(JOB)
    document["spec"] |= {"cloud": {"eci": yaml.safe_load(f"{{{eci}}}")}, **(yaml.safe_load(more) or {})}
    return list(plain_objects(document))


def pods(objects: list[Any]) -> Mapping[str, Any]:
    """Return the pod templates by role, including the finisher and TensorBoard."""
    found = [each if each["kind"] == "Pod" else each.get("spec", {}).get("template") for each in objects]
    return {pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod for pod in found if pod}


def said(pod: Any) -> dict[str, str]:
    """Return the ECI annotations of a pod, without the common prefix of their keys."""
    notes = pod["metadata"].get("annotations", {})
    return {key.removeprefix("k8s.aliyun.com/eci-"): text for key, text in notes.items() if "aliyun" in key}


VIRTUAL = {
    "key": "virtual-kubelet.io/provider",
    "operator": "Equal",
    "value": "alibabacloud",
    "effect": "NoSchedule",
}
VNODE = {"key": "k8s.aliyun.com/vnode", "operator": "Equal", "value": "true", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("way", "label", "selector", "tolerations"),
    [
        ("Label", "true", None, None),
        ("VirtualNode", None, {"type": "virtual-kubelet"}, [VIRTUAL]),
        ("VNode", None, {"k8s.aliyun.com/vnode": "true"}, [VNODE]),
        ("Serverless", None, None, None),
    ],
)
def test_the_ways_to_an_instance(way, label, selector, tolerations):
    made = pods(rendered(f"way: {way}"))
    for role in ("chief", "ps", "worker", "evaluator"):
        pod = made[role]
        assert pod["metadata"]["labels"].get("alibabacloud.com/eci") == label
        assert pod["spec"].get("nodeSelector") == selector
        assert pod["spec"].get("tolerations") == tolerations


def test_tolerations_and_node_selectors_of_the_job_stay():
    made = pods(rendered("way: VNode", "tolerations: [{key: a}]\nspot: true\nnodeSelector: {zone: b}"))["worker"][
        "spec"
    ]
    assert made["tolerations"][0] == VNODE
    assert made["tolerations"][-1] == {"key": "a"}
    assert len(made["tolerations"]) == 5  # includes the tolerations for spot nodes of the clouds
    assert made["nodeSelector"] == {"k8s.aliyun.com/vnode": "true", "zone": "b"}


def test_lists_are_one_text():
    assert said(pods(rendered("specs: [a, b], vSwitches: [vsw-1, vsw-2]"))["ps"]) == {
        "use-specs": "a,b",
        "vswitch": "vsw-1,vsw-2",
        "image-cache": "true",
    }


def test_nothing_that_is_not_said():
    assert said(pods(rendered("imageCache: {match: false}"))["chief"]) == {}


def test_what_runs_beside_the_training_is_left_alone():
    made = pods(rendered("way: VirtualNode, gpuType: P4"))
    for role in ("finisher", "tensorboard"):
        assert said(made[role]) == {}
        assert "nodeSelector" not in made[role]["spec"]


def test_an_environment_without_instances():
    assert pods(rendered("enabled: false, gpuType: P4, way: VNode, imageCache: {make: {}}")) == pods(
        list(plain_objects(yaml.safe_load(JOB)))
    )


def test_the_cache_has_every_image_of_the_job():
    (cache,) = (each for each in rendered("imageCache: {make: {}}", SINGLE) if each["kind"] == "ImageCache")
    assert cache["spec"] == {"images": ["registry.example.com/ml/net:1", "b:2"], "imageCacheSize": 20}


def test_a_single_pod():
    made = rendered("gpuType: P4", SINGLE)
    assert [each["kind"] for each in made if each["metadata"]["name"] == "net-chief"] == ["Pod"]
    pod = pods(made)["chief"]
    assert pod["spec"]["restartPolicy"] == "OnFailure"
    assert not any(each["kind"] in ("Job", "StatefulSet", "ConfigMap") for each in made)


def test_a_single_pod_waits_in_a_queue():
    made = pods(rendered("", f"{SINGLE}\ngang: {{scheduler: kueue, queue: research}}"))
    assert made["chief"]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "research"


def test_a_single_pod_that_writes_alone_has_the_index_0():
    storage = "storage: {model: {mountPath: /model, runs: Shared, claim: {name: m}}}"
    (lock,) = pods(rendered("", f"{SINGLE}\n{storage}"))["chief"]["spec"]["initContainers"]
    assert {"name": "TASK_INDEX", "value": "0"} in lock["env"]


def test_the_cache_has_the_images_of_what_runs_beside_the_tasks():
    beside = """\
initContainers: [{name: fetch, image: "fetch:1"}]
podTemplate: {spec: {containers: [{name: tensorflow, image: "own:1"}, {name: log, image: "log:1"}]}}
code: {git: {repository: "https://git.example.com/ml/train.git", revision: v1, image: "git-sync:1"}}
roles:
  chief: {sidecars: [{name: metrics, image: "metrics:1"}]}
  ps: {}
  worker: {sidecars: [{name: metrics, image: "metrics:1"}]}
"""
    (cache,) = (each for each in rendered("imageCache: {make: {}}", beside) if each["kind"] == "ImageCache")
    assert cache["spec"]["images"] == [
        "registry.example.com/ml/net:1",
        "git-sync:1",
        "fetch:1",
        "metrics:1",
        "own:1",
        "log:1",
    ]
