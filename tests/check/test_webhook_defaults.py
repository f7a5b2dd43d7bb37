"""Tests that rendered objects can be applied again after the webhooks of operators have added defaults.

An apply lays what git has over what the cluster has: a map field by field, a list of a custom kind as a whole. So what
a webhook writes into an item of a list is taken out again by the next apply, which the same operator then refuses. Each
function here is what one webhook writes into a new object, told anew after its source, which its docstring names.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pytest

from tests.support.custom_kinds import job
from tests.support.rendered_kinds import rendered
from tfgen.graph.built import plain_objects

Object: TypeAlias = dict[str, Any]


def volcano(job: Object) -> None:
    """pkg/webhooks/admission/jobs/mutate/mutate_job.go of Volcano 1.15.1."""
    spec = job["spec"]
    for field, default in (("queue", "default"), ("schedulerName", "volcano"), ("maxRetry", 3)):
        spec[field] = spec.get(field) or default
    for index, task in enumerate(spec["tasks"]):
        task["name"] = task.get("name") or f"default{index}"
        task.setdefault("minAvailable", task["replicas"])
        task["maxRetry"] = task.get("maxRetry") or 3
        pod = task["template"]["spec"]
        if pod.get("hostNetwork") and not pod.get("dnsPolicy"):
            pod["dnsPolicy"] = "ClusterFirstWithHostNet"
    spec["minAvailable"] = spec.get("minAvailable") or sum(task["minAvailable"] for task in spec["tasks"])
    if "tensorflow" in spec.get("plugins", {}):
        spec["plugins"].setdefault("svc", [])


def job_set(job_set: Object) -> None:
    """pkg/webhooks/jobset_webhook.go of JobSet 0.12.0."""
    spec = job_set["spec"]
    spec.setdefault("successPolicy", {"operator": "All"})
    spec.setdefault("startupPolicy", {"startupPolicyOrder": "AnyOrder"})
    for replicated in spec["replicatedJobs"]:
        made = replicated["template"]["spec"]
        made.setdefault("completionMode", "Indexed")
        made["template"]["spec"].setdefault("restartPolicy", "OnFailure")
    network = spec.setdefault("network", {})
    for field in ("enableDNSHostnames", "publishNotReadyAddresses"):
        network.setdefault(field, True)
    for index, rule in enumerate(spec.get("failurePolicy", {}).get("rules", ())):
        rule["name"] = rule.get("name") or f"failurePolicyRule{index}"


def kueue(job: Object) -> None:
    """pkg/controller/jobframework/defaults.go of Kueue 0.19.2; a TFJob says `suspend` elsewhere."""
    if "kueue.x-k8s.io/queue-name" in job["metadata"]["labels"]:
        spec = job["spec"]
        spec.get("runPolicy", spec)["suspend"] = True


WEBHOOKS: Mapping[str, tuple[Callable[[Object], None], ...]] = {
    "job.batch.volcano.sh.v1alpha1": (volcano,),
    "jobset.jobset.x-k8s.io.v1alpha2": (job_set, kueue),
    "tfjob.kubeflow.org.v1": (kueue,),  # its operator's own webhook checks, and writes nothing
}


def defaulted(item: Mapping[str, Any], key: str) -> Object:
    """The object as the API server keeps it."""
    kept = copy.deepcopy(dict(item))
    for webhook in WEBHOOKS[key]:
        webhook(kept)
    return kept


def applied(over: Any, under: Any) -> Any:
    """Return the object after an apply of the rendered content: https://www.rfc-editor.org/rfc/rfc7386."""
    if not (isinstance(over, Mapping) and isinstance(under, Mapping)):
        return over
    return {**under, **{key: applied(value, under.get(key)) for key, value in over.items()}}


@pytest.mark.parametrize("key", WEBHOOKS)
def test_a_second_apply_of_what_is_rendered_changes_nothing(key):
    items = [(place, item) for place, kind, item in rendered() if kind == key]
    assert items
    for place, item in items:
        kept = defaulted(item, key)
        assert applied(item, kept) == kept, place


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"strategy": "Single", "roles": {"chief": {}}},
        {"roles": {"chief": {}, "ps": {}, "worker": {"replicas": 3}, "evaluator": {}}},
        {"security": {"profile": "privileged"}, "podTemplate": {"spec": {"hostNetwork": True}}},
        {"security": {"profile": "privileged"}, "roles": {"worker": {"podTemplate": {"spec": {"hostNetwork": True}}}}},
    ],
    ids=["all-roles", "single", "evaluator", "host-network", "host-network-of-a-role"],
)
@pytest.mark.parametrize(
    ("kind", "key"), [("VolcanoJob", "job.batch.volcano.sh.v1alpha1"), ("JobSet", "jobset.jobset.x-k8s.io.v1alpha2")]
)
def test_a_second_apply_of_odd_jobs_changes_nothing(kind, key, spec):
    (item,) = (
        item for item in plain_objects(job(workload={"kind": kind}, **spec)) if item["kind"] in ("Job", "JobSet")
    )
    kept = defaulted(item, key)
    assert applied(item, kept) == kept


def test_volcano_finds_nothing_to_write():
    """Nor does it for a whole replacement, as `kubectl replace` is one."""
    volcano = "job.batch.volcano.sh.v1alpha1"
    jobs = [(place, item) for place, key, item in rendered() if key == volcano]
    assert jobs
    for place, item in jobs:
        assert defaulted(item, volcano) == item, place


def test_an_apply_that_takes_a_default_out_is_told():
    item = {"spec": {"tasks": [{"name": "ps"}]}}
    assert applied(item, {"spec": {"queue": "default", "tasks": [{"name": "ps", "maxRetry": 3}]}}) == {
        "spec": {"queue": "default", "tasks": [{"name": "ps"}]}
    }
