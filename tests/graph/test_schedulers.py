"""The gang schedulers: the group object of each scheduler, and the fields that assign a pod to a group."""

from __future__ import annotations

import pytest
import yaml

from tests.support import tools
from tests.support.objects import objects, of_kind, pods
from tests.support.real_crds import real_validator
from tfgen.graph.schedulers import GANGS
from tfgen.text import yaml_text

ROLES = "roles: {chief: {}, ps: {replicas: 2}, worker: {replicas: 4}, evaluator: {}}"
TASKS = ("chief", "ps", "worker")
EQUAL_WORKERS = "strategy: MultiWorkerMirrored\nroles: {worker: {replicas: 4}, evaluator: {}}"
FEWER_WORKERS = "completion: {by: Worker0}\nroles: {ps: {replicas: 3}, worker: {replicas: 3}}"


def with_gang(gang, more=ROLES):
    return f"gang: {{scheduler: {gang}}}\n{more}"


def tasks(gang, more=ROLES):
    """Return the pods of the tasks, and of the evaluator, by role."""
    return {role: pod for role, pod in pods(with_gang(gang, more)).items() if role in (*TASKS, "evaluator")}


@pytest.mark.parametrize(
    ("gang", "version", "spec"),
    [
        ("volcano", "scheduling.volcano.sh/v1beta1", "minMember: 7"),
        (
            "volcano, queue: research, priorityClassName: high",
            "scheduling.volcano.sh/v1beta1",
            "minMember: 7, queue: research, priorityClassName: high",
        ),
        (
            "volcano, minResources: {cpu: 4, nvidia.com/gpu: 2}",
            "scheduling.volcano.sh/v1beta1",
            'minMember: 7, minResources: {cpu: "4", nvidia.com/gpu: "2"}',
        ),
        ("volcano, minAvailable: 7", "scheduling.volcano.sh/v1beta1", "minMember: 7"),
        (
            "volcano, minAvailable: 5",
            "scheduling.volcano.sh/v1beta1",
            "minMember: 5, minTaskMember: {chief: 1, ps: 2}",
        ),
        (
            "volcano, networkTopology: {mode: hard, highestTierAllowed: 2}",
            "scheduling.volcano.sh/v1beta1",
            "minMember: 7, networkTopology: {mode: hard, highestTierAllowed: 2}",
        ),
        (
            "volcano, networkTopology: {mode: soft, highestTierName: rack}",
            "scheduling.volcano.sh/v1beta1",
            "minMember: 7, networkTopology: {mode: soft, highestTierName: rack}",
        ),
        ("kube-batch, queue: a", "scheduling.incubator.k8s.io/v1alpha1", "minMember: 7, queue: a"),
        ("kube-batch, minAvailable: 5", "scheduling.incubator.k8s.io/v1alpha1", "minMember: 5"),
        ("coscheduling", "scheduling.x-k8s.io/v1alpha1", "minMember: 7"),
        (
            "coscheduling, minAvailable: 5, scheduleTimeoutSeconds: 90, minResources: {cpu: 4}",
            "scheduling.x-k8s.io/v1alpha1",
            'minMember: 5, minResources: {cpu: "4"}, scheduleTimeoutSeconds: 90',
        ),
        ("kai, queue: a", "scheduling.run.ai/v2alpha2", "minMember: 7, queue: a"),
        (
            "kai, queue: a, minAvailable: 5, priorityClassName: train",
            "scheduling.run.ai/v2alpha2",
            "minMember: 5, queue: a, priorityClassName: train",
        ),
        (
            "koordinator, minAvailable: 5, scheduleTimeoutSeconds: 90",
            "scheduling.sigs.k8s.io/v1alpha1",
            "minMember: 5, scheduleTimeoutSeconds: 90",
        ),
        ("kubernetes", "scheduling.k8s.io/v1alpha2", "schedulingPolicy: {gang: {minCount: 7}}"),
        (
            "kubernetes, minAvailable: 5, priorityClassName: high",
            "scheduling.k8s.io/v1alpha2",
            "schedulingPolicy: {gang: {minCount: 5}}, priorityClassName: high",
        ),
        ("kubernetes, apiVersion: v1beta1", "scheduling.k8s.io/v1beta1", "schedulingPolicy: {gang: {minCount: 7}}"),
        (
            "kubernetes, disruption: Single",
            "scheduling.k8s.io/v1alpha2",
            "schedulingPolicy: {gang: {minCount: 7}}, disruptionMode: Pod",
        ),
        (
            "kubernetes, apiVersion: v1beta1, disruption: All",
            "scheduling.k8s.io/v1beta1",
            "schedulingPolicy: {gang: {minCount: 7}}, disruptionMode: {all: {}}",
        ),
        (
            "kubernetes, requiredTopology: example.com/rack",
            "scheduling.k8s.io/v1alpha2",
            "schedulingPolicy: {gang: {minCount: 7}}, schedulingConstraints: {topology: [{key: example.com/rack}]}",
        ),
    ],
)
def test_pod_group_of_a_gang(gang, version, spec):
    (group,) = of_kind("PodGroup", with_gang(gang))
    expected = (version, "mnist", yaml.safe_load(f"{{{spec}}}"))
    assert (group["apiVersion"], group["metadata"]["name"], group["spec"]) == expected


@pytest.mark.parametrize(
    ("gang", "spec"),
    [
        ("", ""),
        ("priorityClassName: high, disruption: All", "priorityClassName: high, disruptionMode: PodGroup"),
        ("apiVersion: v1beta1", "priorityClassName: low, disruptionMode: {all: {}}"),
        ("apiVersion: v1beta1, priorityClassName: high", "priorityClassName: high, disruptionMode: {all: {}}"),
        ("apiVersion: v1beta1, disruption: Single", "priorityClassName: low, disruptionMode: {single: {}}"),
    ],
)
def test_only_the_beta_of_kubernetes_has_defaults_for_equal_workers_and_for_the_priority(gang, spec):
    """The API server of Kubernetes 1.36 drops both fields in silence, unless a feature gate is enabled."""
    (group,) = of_kind("PodGroup", with_gang(f"kubernetes, {gang}", f"{EQUAL_WORKERS}\npriorityClassName: low"))
    assert group["spec"] == yaml.safe_load(f"{{schedulingPolicy: {{gang: {{minCount: 4}}}}, {spec}}}")


def test_pod_group_of_the_beta_has_the_priority_class_of_the_roles():
    roles = "roles: {chief: {priorityClassName: own}, worker: {priorityClassName: own}}\npriorityClassName: low"
    (group,) = of_kind("PodGroup", with_gang("kubernetes, apiVersion: v1beta1", roles))
    assert group["spec"]["priorityClassName"] == "own"


def test_partial_gang_contains_worker_0_that_ends_the_job():
    (group,) = of_kind("PodGroup", with_gang("volcano, minAvailable: 4", FEWER_WORKERS))
    assert group["spec"] == {"minMember": 4, "minTaskMember": {"ps": 3}}


def test_volcano_binds_by_annotation_and_queues_the_evaluator():
    made = tasks("volcano, queue: research")
    for role in TASKS:
        annotations = made[role]["metadata"]["annotations"]
        assert annotations["scheduling.k8s.io/group-name"] == "mnist"
        assert annotations["volcano.sh/task-spec"] == role
    outside = made["evaluator"]["metadata"]["annotations"]
    assert outside["scheduling.volcano.sh/queue-name"] == "research"
    assert "scheduling.k8s.io/group-name" not in outside
    assert {pod["spec"].get("schedulerName") for pod in made.values()} == {"volcano"}


def test_coscheduling_binds_by_label():
    made = tasks("coscheduling", f'{ROLES}\nrun: "2"')
    bound = {role: pod["metadata"]["labels"].get("scheduling.x-k8s.io/pod-group") for role, pod in made.items()}
    assert bound == {**dict.fromkeys(TASKS, "mnist-2"), "evaluator": None}
    assert {pod["spec"]["schedulerName"] for pod in made.values()} == {"scheduler-plugins-scheduler"}


def test_kai_binds_by_annotation_and_creates_no_second_group_of_the_pods():
    made = tasks("kai, queue: research", f'{ROLES}\nrun: "2"\npriorityClassName: low')
    for role in TASKS:
        annotations = made[role]["metadata"]["annotations"]
        assert annotations["pod-group-name"] == "mnist-2"
        assert annotations["kai.scheduler/skip-podgrouper"] == "true"
    assert "pod-group-name" not in made["evaluator"]["metadata"]["annotations"]
    queues = {role: pod["metadata"]["labels"].get("kai.scheduler/queue") for role, pod in made.items()}
    assert queues == {**dict.fromkeys(TASKS), "evaluator": "research"}
    assert {pod["spec"]["schedulerName"] for pod in made.values()} == {"kai-scheduler"}
    (group,) = of_kind("PodGroup", with_gang("kai, queue: research", f"{ROLES}\npriorityClassName: low"))
    assert group["spec"]["priorityClassName"] == "low"


def test_koordinator_binds_by_label():
    made = tasks("koordinator", f'{ROLES}\nrun: "2"')
    bound = {role: pod["metadata"]["labels"].get("pod-group.scheduling.sigs.k8s.io") for role, pod in made.items()}
    assert bound == {**dict.fromkeys(TASKS, "mnist-2"), "evaluator": None}
    assert {pod["spec"]["schedulerName"] for pod in made.values()} == {"koord-scheduler"}


def test_kubernetes_binds_by_a_field_of_the_pod_without_a_scheduler():
    made = tasks("kubernetes", f'{ROLES}\nrun: "2"')
    bound = {role: pod["spec"].get("schedulingGroup") for role, pod in made.items()}
    assert bound == {**{role: {"podGroupName": "mnist-2"} for role in TASKS}, "evaluator": None}
    assert not any("schedulerName" in pod["spec"] for pod in made.values())


def test_kueue_queues_one_object_and_no_evaluator():
    workers = "strategy: MultiWorkerMirrored\nroles: {worker: {replicas: 4}, evaluator: {}}"
    made = objects(
        with_gang("kueue, queue: research, priorityClassName: high, requiredTopology: example.com/rack", workers)
    )
    jobs = {name: job for (kind, name), job in made.items() if kind == "Job"}
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
    assert not any(kind == "PodGroup" for kind, _ in made)


def test_kueue_queues_a_complete_tf_job():
    (job,) = of_kind("TFJob", with_gang("kueue, queue: research", "workload: {kind: TFJob, tfJob: {gang: PodGroup}}"))
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "research"


@pytest.mark.parametrize("scheduler", GANGS)
def test_scheduler_may_have_another_name_and_a_disabled_gang_changes_no_object(scheduler):
    assert {pod["spec"]["schedulerName"] for pod in tasks(f"{scheduler}, schedulerName: batch").values()} == {"batch"}
    assert objects(with_gang(f"{scheduler}, enabled: false")) == objects(ROLES)


@pytest.mark.may_skip("the CRDs are not in every checkout")
@pytest.mark.parametrize(
    ("gang", "file"),
    [
        ("volcano, queue: a, networkTopology: {mode: hard, highestTierName: rack}", "volcano-1.15.1-podgroups.yaml"),
        ("volcano, queue: a, priorityClassName: b, minResources: {cpu: 4}", "volcano-1.15.1-podgroups.yaml"),
        ("kube-batch, queue: a, priorityClassName: b", "kube-batch-0.5.0-podgroups.yaml"),
        ("coscheduling, minResources: {cpu: 4}", "scheduler-plugins-0.34.7-podgroups.yaml"),
        ("kai, queue: a, priorityClassName: b, minAvailable: 5", "kai-head-podgroups.yaml"),
        ("koordinator, scheduleTimeoutSeconds: 60", "koordinator-head-podgroups.yaml"),
    ],
)
def test_gang_is_valid_for_the_real_crd(gang, file):
    (group,) = of_kind("PodGroup", with_gang(gang))
    real_validator(file, group["apiVersion"]).validate(group)


def test_gang_of_kubernetes_is_valid():
    """Validate against the schemas of Kubernetes 1.36, the only version that serves v1alpha2."""
    made = objects(with_gang("kubernetes, priorityClassName: a, requiredTopology: b")).values()
    tools.kubeconform(yaml_text.documents(list(made)), kubernetes="1.36.0")
