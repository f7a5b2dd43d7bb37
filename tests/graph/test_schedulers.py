"""The gang schedulers: the group object of each scheduler, and the fields that assign a pod to a group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from tests.support import tools
from tfgen.graph.built import plain_objects
from tfgen.graph.schedulers import GANGS
from tfgen.text import yaml_text

JOB = """\
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1
  roles: {chief: {}, ps: {replicas: 2}, worker: {replicas: 4}, evaluator: {}}
"""
TASKS = ("chief", "ps", "worker")


def rendered(gang: str, more: str = "") -> list[Any]:
    document = yaml.safe_load(JOB)
    document["spec"] |= yaml.safe_load(f"gang: {{{gang}}}\n{more}")
    return list(plain_objects(document))


def pod_group(objects: list[Any]) -> Mapping[str, Any]:
    (group,) = (made for made in objects if made["kind"] == "PodGroup")
    return group


def pods(objects: list[Any]) -> Mapping[str, Any]:
    """Return the pod templates by role."""
    return {
        made["metadata"]["labels"]["app.kubernetes.io/component"]: made["spec"]["template"]
        for made in objects
        if made["kind"] in ("StatefulSet", "Job") and "app.kubernetes.io/component" in made["metadata"]["labels"]
    }


@pytest.mark.parametrize(
    ("gang", "version", "spec"),
    [
        ("scheduler: volcano", "scheduling.volcano.sh/v1beta1", {"minMember": 7}),
        (
            "scheduler: volcano, queue: research, priorityClassName: high",
            "scheduling.volcano.sh/v1beta1",
            {"minMember": 7, "queue": "research", "priorityClassName": "high"},
        ),
        (
            "scheduler: volcano, minResources: {cpu: 4, nvidia.com/gpu: 2}",
            "scheduling.volcano.sh/v1beta1",
            {"minMember": 7, "minResources": {"cpu": "4", "nvidia.com/gpu": "2"}},
        ),
        (
            "scheduler: kube-batch, queue: research",
            "scheduling.incubator.k8s.io/v1alpha1",
            {"minMember": 7, "queue": "research"},
        ),
        ("scheduler: coscheduling", "scheduling.x-k8s.io/v1alpha1", {"minMember": 7}),
        (
            "scheduler: coscheduling, minAvailable: 5, scheduleTimeoutSeconds: 90, minResources: {cpu: 4}",
            "scheduling.x-k8s.io/v1alpha1",
            {"minMember": 5, "minResources": {"cpu": "4"}, "scheduleTimeoutSeconds": 90},
        ),
        ("scheduler: kubernetes", "scheduling.k8s.io/v1alpha2", {"schedulingPolicy": {"gang": {"minCount": 7}}}),
        (
            "scheduler: kubernetes, minAvailable: 5, priorityClassName: high",
            "scheduling.k8s.io/v1alpha2",
            {"schedulingPolicy": {"gang": {"minCount": 5}}, "priorityClassName": "high"},
        ),
        (
            "scheduler: kubernetes, apiVersion: v1beta1",
            "scheduling.k8s.io/v1beta1",
            {"schedulingPolicy": {"gang": {"minCount": 7}}},
        ),
        (
            "scheduler: kubernetes, requiredTopology: example.com/rack",
            "scheduling.k8s.io/v1alpha2",
            {
                "schedulingPolicy": {"gang": {"minCount": 7}},
                "schedulingConstraints": {"topology": [{"key": "example.com/rack"}]},
            },
        ),
    ],
)
def test_a_pod_group(gang, version, spec):
    group = pod_group(rendered(gang))
    assert (group["apiVersion"], group["metadata"]["name"], group["spec"]) == (version, "mnist", spec)


@pytest.mark.parametrize(
    ("gang", "more", "spec"),
    [
        ("scheduler: volcano, minAvailable: 7", "", {"minMember": 7}),
        ("scheduler: volcano, minAvailable: 5", "", {"minMember": 5, "minTaskMember": {"chief": 1, "ps": 2}}),
        ("scheduler: kube-batch, minAvailable: 5", "", {"minMember": 5}),
        (
            "scheduler: volcano, minAvailable: 4",
            "completion: {by: Worker0}\nroles: {ps: {replicas: 3}, worker: {replicas: 3}}",
            {"minMember": 4, "minTaskMember": {"ps": 3}},
        ),
    ],
)
def test_a_gang_that_starts_with_less(gang, more, spec):
    assert pod_group(rendered(gang, more))["spec"] == spec


def test_volcano_binds_by_annotation_and_the_evaluator_waits_in_the_same_queue():
    made = pods(rendered("scheduler: volcano, queue: research"))
    for role in TASKS:
        annotations = made[role]["metadata"]["annotations"]
        assert annotations["scheduling.k8s.io/group-name"] == "mnist"
        assert annotations["volcano.sh/task-spec"] == role
    outside = made["evaluator"]["metadata"]["annotations"]
    assert outside["scheduling.volcano.sh/queue-name"] == "research"
    assert "scheduling.k8s.io/group-name" not in outside
    assert {role: pod["spec"].get("schedulerName") for role, pod in made.items()} == dict.fromkeys(
        (*TASKS, "evaluator"), "volcano"
    )


def test_coscheduling_binds_by_label():
    made = pods(rendered("scheduler: coscheduling", 'run: "2"'))
    bound = {role: pod["metadata"]["labels"].get("scheduling.x-k8s.io/pod-group") for role, pod in made.items()}
    assert bound == {**dict.fromkeys(TASKS, "mnist-2"), "evaluator": None}
    assert {pod["spec"]["schedulerName"] for pod in made.values()} == {"scheduler-plugins-scheduler"}


def test_kubernetes_binds_by_a_field_of_the_pod_and_needs_no_scheduler():
    made = pods(rendered("scheduler: kubernetes", 'run: "2"'))
    bound = {role: pod["spec"].get("schedulingGroup") for role, pod in made.items()}
    assert bound == {**{role: {"podGroupName": "mnist-2"} for role in TASKS}, "evaluator": None}
    assert not any("schedulerName" in pod["spec"] for pod in made.values())


def test_kueue_lets_one_object_wait_in_a_queue_and_leaves_the_evaluator_alone():
    made = rendered(
        "scheduler: kueue, queue: research, priorityClassName: high, requiredTopology: example.com/rack",
        "strategy: MultiWorkerMirrored\nroles: {worker: {replicas: 4}, evaluator: {}}",
    )
    jobs = {each["metadata"]["name"]: each for each in made if each["kind"] == "Job"}
    labels = {name: {k: v for k, v in job["metadata"]["labels"].items() if "kueue" in k} for name, job in jobs.items()}
    assert labels == {
        "mnist-worker": {"kueue.x-k8s.io/queue-name": "research", "kueue.x-k8s.io/priority-class": "high"},
        "mnist-evaluator": {},
        "mnist-finisher": {},
    }
    template = jobs["mnist-worker"]["spec"]["template"]
    assert template["metadata"]["annotations"]["kueue.x-k8s.io/podset-required-topology"] == "example.com/rack"
    assert "kueue.x-k8s.io/queue-name" not in template["metadata"]["labels"]  # the pods of a Job do not form a group
    assert not any("suspend" in job["spec"] for job in jobs.values())
    assert not any(each["kind"] == "PodGroup" for each in made)


def test_kueue_lets_a_tf_job_wait_whole():
    made = rendered("scheduler: kueue, queue: research", "workload: {kind: TFJob, tfJob: {gang: PodGroup}}")
    (job,) = (each for each in made if each["kind"] == "TFJob")
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "research"


@pytest.mark.parametrize("scheduler", GANGS)
def test_the_scheduler_of_a_cluster_may_have_another_name(scheduler):
    made = pods(rendered(f"scheduler: {scheduler}, schedulerName: batch"))
    assert {pod["spec"]["schedulerName"] for pod in made.values()} == {"batch"}


@pytest.mark.parametrize("scheduler", GANGS)
def test_a_gang_that_is_off_leaves_no_trace(scheduler):
    assert yaml_text.documents(rendered(f"scheduler: {scheduler}, enabled: false")) == yaml_text.documents(
        list(plain_objects(yaml.safe_load(JOB)))
    )


def test_kubernetes_knows_its_own_gang():
    """Validate against the schemas of Kubernetes 1.36, the only version that serves v1alpha2."""
    tools.kubeconform(
        yaml_text.documents(rendered("scheduler: kubernetes, priorityClassName: a, requiredTopology: b")),
        kubernetes="1.36.0",
    )
