"""Tests that rendered objects can be applied again after the webhooks of operators have added defaults.

An apply merges the object in git into the object in the cluster. The apply merges a map field by field, but replaces a
list of a custom kind as a whole. So the next apply removes the defaults that a webhook has added to an item of a list,
and the operator then refuses the apply. Each function here adds the same defaults to a new object as one webhook. The
docstring of the function names the source of the webhook.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pytest

from tests.support.custom_kinds import job
from tests.support.rendered_kinds import rendered
from tfgen.graph.graph import plain_objects

Object: TypeAlias = dict[str, Any]


def volcano(job: Object) -> None:
    """Add the defaults of Volcano 1.15.1: pkg/webhooks/admission/jobs/mutate/mutate_job.go."""
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
    """Add the defaults of JobSet 0.12.0: pkg/webhooks/jobset_webhook.go."""
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
    """Suspend the job, like pkg/controller/jobframework/defaults.go of Kueue 0.19.2, or in runPolicy for a TFJob."""
    if "kueue.x-k8s.io/queue-name" in job["metadata"]["labels"]:
        spec = job["spec"]
        spec.get("runPolicy", spec)["suspend"] = True


WEBHOOKS: Mapping[str, tuple[Callable[[Object], None], ...]] = {
    "job.batch.volcano.sh.v1alpha1": (volcano,),
    "jobset.jobset.x-k8s.io.v1alpha2": (job_set, kueue),
    "tfjob.kubeflow.org.v1": (kueue,),  # the webhook of the TFJob operator only validates
}


def defaulted(item: Mapping[str, Any], key: str) -> Object:
    """Return the object with the defaults of its webhooks, as the API server stores the object."""
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
    """The webhook adds no default, so `kubectl replace`, which replaces the whole object, changes nothing either."""
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
