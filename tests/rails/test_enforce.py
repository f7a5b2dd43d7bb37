"""Tests that a job cannot override the paths that a tfgen.yaml enforces, at any place of the job."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tfgen.check.checked import CheckedJobs
from tfgen.check.jobs import check
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.graph.graph import build
from tfgen.job.sources import Source
from tfgen.schema import file as schema_file
from tfgen.schema import tunables
from tfgen.schema.kinds import COPIED

PREFERRED = {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}
SHARED: dict[str, tuple[Any, Any]] = {
    "image": ("registry.example.com/ml/mnist:1.4.0", "registry.example.com/ml/other:1.4.0"),
    "imagePullPolicy": ("Always", "Never"),
    "command": (["train"], ["sh"]),
    "args": (["--steps=5"], ["--steps=6"]),
    "workingDir": ("/work", "/tmp"),
    "env": ({"A": "a"}, {"A": "b"}),
    "envFrom": ([{"secretRef": {"name": "a"}}], [{"secretRef": {"name": "b"}}]),
    "nodeSelector": ({"pool": "training"}, {"pool": "serving"}),
    "tolerations": ([{"key": "gpu", "operator": "Exists"}], [{"key": "spot", "operator": "Exists"}]),
    "affinity": (
        {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [PREFERRED]}},
        {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
    ),
    "placement": ("spread", "pack"),
    "topologySpreadConstraints": (
        [{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}],
        [{"topologyKey": "zone", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}],
    ),
    "spot": (True, False),
    **{key: {"string": ("a", "b"), "boolean": (True, False)}[tunables.at((key,)).type] for key in COPIED},
    "serviceAccountName": ("training", "admin"),
    "labels": ({"example.com/team": "ads"}, {"example.com/team": "video"}),
    "annotations": ({"example.com/owner": "ads"}, {"example.com/owner": "video"}),
    "shm": ("1Gi", "2Gi"),
    "initContainers": ([{"name": "a", "image": "registry/a:1"}], [{"name": "b", "image": "registry/b:1"}]),
    "sidecars": ([{"name": "a", "image": "registry/a:1"}], [{"name": "b", "image": "registry/b:1"}]),
    "podTemplate": ({"spec": {"dnsPolicy": "ClusterFirst"}}, {"spec": {"dnsPolicy": "Default"}}),
}
"""A value that a tfgen.yaml enforces and another one, for each key that the job and a role both have."""

OF_ENVIRONMENTS = sorted(SHARED.keys() - {"initContainers", "sidecars", "podTemplate"})


def checked(team: dict[str, Any], spec: dict[str, Any], **metadata: Any) -> CheckedJobs:
    """Check a job with a tfgen.yaml that has the keys of `team`."""
    head = {"apiVersion": "tfgen/v1alpha1"}
    image = {} if "spec.image" in team["enforce"] else {"image": "registry.example.com/ml/mnist:1.4.0"}
    job = {
        **head,
        "kind": "TrainingJob",
        "metadata": {"name": "mnist", **metadata},
        "spec": {**image, "roles": {"chief": {}, "ps": {}, "worker": {"replicas": 2}}, **spec},
    }
    return check(json.dumps(job), "job.yaml", Source("tfgen.yaml", json.dumps({**head, "kind": "Defaults", **team})))


def refusals(team: dict[str, Any], spec: dict[str, Any]) -> list[str]:
    """Return the messages of the rule up to the first colon, and check that the tfgen.yaml itself has no problems."""
    result = checked(team, spec)
    problems = [*result.problems]
    assert [problem.message for problem in problems if problem.file == "tfgen.yaml"] == []
    if not any(problem.severity == "error" for problem in problems):
        (document,) = result.documents
        problems += check_objects(document, build(document.data), ObjectSchemas())
    return [problem.message.split(":")[0] for problem in problems if problem.rule == "enforced"]


def shared_keys() -> set[str]:
    schema = schema_file.load()
    spec, worker = (schema_file.node(schema, path) or {} for path in (("spec",), ("spec", "roles", "worker")))
    return spec["properties"].keys() & worker["properties"].keys()


def test_the_table_has_every_key_that_a_job_and_a_role_share() -> None:
    assert SHARED.keys() == shared_keys()


@pytest.mark.parametrize("key", SHARED)
@pytest.mark.parametrize("is_set", [True, False], ids=["set", "unset"])
def test_a_role_does_not_override_a_key(key: str, is_set: bool) -> None:
    enforced, other = SHARED[key]
    team = {"enforce": [f"spec.{key}"], "spec": {key: enforced} if is_set else {}}
    (message,) = refusals(team, {"roles": {"chief": {}, "worker": {"replicas": 2, key: other}}})
    assert message.startswith(f"spec.roles.worker.{key}")


@pytest.mark.parametrize("key", SHARED)
def test_a_job_does_not_override_a_key(key: str) -> None:
    enforced, other = SHARED[key]
    (message,) = refusals({"enforce": [f"spec.{key}"], "spec": {key: enforced}}, {key: other})
    assert message.startswith(f"spec.{key}")


@pytest.mark.parametrize("key", OF_ENVIRONMENTS)
@pytest.mark.parametrize("is_role", [True, False], ids=["role", "environment"])
def test_an_environment_does_not_override_a_key(key: str, is_role: bool) -> None:
    enforced, other = SHARED[key]
    part = {"roles": {"worker": {key: other}}} if is_role else {key: other}
    (message,) = refusals(
        {"enforce": [f"spec.{key}"], "spec": {key: enforced}}, {key: enforced, "environments": {"dev": part}}
    )
    assert message.startswith(f"spec.environments.dev.{'roles.worker.' if is_role else ''}{key}")


@pytest.mark.parametrize("account", ["training", None])
@pytest.mark.parametrize("where", ["job", "environment"])
def test_a_job_does_not_make_an_account_in_place_of_the_enforced_one(account: str | None, where: str) -> None:
    made = {"serviceAccount": {"annotations": {"example.com/identity": "admin"}}}
    other = {"serviceAccount": {"annotations": {"example.com/identity": "reader"}}}
    team = {"enforce": ["spec.serviceAccountName"], **({"spec": {"serviceAccountName": account}} if account else {})}
    assert refusals(team, {"serviceAccount": {}}) == ["spec.serviceAccount"]
    with_account = {**team, "spec": {**team.get("spec", {}), **made}}
    assert refusals(with_account, made) == []
    (message,) = refusals(with_account, other if where == "job" else {"environments": {"dev": other}})
    assert message.endswith('serviceAccount.annotations["example.com/identity"]')


CONTEXTS = {
    "runAsUser": ("pod", "container"),
    "runAsGroup": ("pod", "container"),
    "fsGroup": ("pod",),
    "readOnlyRootFilesystem": ("container",),
}
"""The security contexts with a field that follows from a key of `spec.security`."""


@pytest.mark.parametrize("is_set", [True, False], ids=["set", "unset"])
@pytest.mark.parametrize("where", ["job", "role"])
@pytest.mark.parametrize(("key", "context"), [(key, context) for key in CONTEXTS for context in CONTEXTS[key]])
def test_a_pod_template_does_not_override_the_security(key: str, context: str, where: str, is_set: bool) -> None:
    enforced, other = (True, False) if key == "readOnlyRootFilesystem" else (7, 8)
    fields = {"securityContext": {key: other}}
    template = {"spec": fields if context == "pod" else {"containers": [{"name": "tensorflow", **fields}]}}
    spec = (
        {"podTemplate": template}
        if where == "job"
        else {"roles": {"chief": {}, "ps": {}, "worker": {"podTemplate": template}}}
    )
    values = {"spec": {"security": {key: enforced}}} if is_set else {}
    team = {"enforce": ["spec.security"], **values}
    (message,) = refusals(team, spec)
    assert message.endswith(f"securityContext.{key}")
    assert refusals({"enforce": [f"spec.security.{key}"], **values}, spec) == [message]
    assert refusals({"enforce": [{"path": "spec.security", "except": [key]}]}, spec) == []
    fields["securityContext"][key] = enforced
    is_default = key == "readOnlyRootFilesystem"  # tfgen renders this value without a key of the job
    assert refusals(team, spec) == ([] if is_set or is_default else [message])


def test_a_pod_template_does_not_remove_an_enforced_user() -> None:
    team = {"enforce": ["spec.security"], "spec": {"security": {"runAsUser": 7}}}
    assert refusals(team, {"podTemplate": {"spec": {"securityContext": {"runAsUser": None}}}}) != []
    removed = checked(team, {"podTemplate": {"spec": {"securityContext": None}}})
    assert [problem.rule for problem in removed.problems if problem.severity == "error"] == ["pod-security"]
    assert refusals(team, {"podTemplate": {"spec": {"securityContext": {"supplementalGroups": [5]}}}}) == []


@pytest.mark.parametrize("key", SHARED)
def test_a_role_may_repeat_an_enforced_value(key: str) -> None:
    enforced, _ = SHARED[key]
    team = {"enforce": [f"spec.{key}"], "spec": {key: enforced}}
    assert refusals(team, {"roles": {"chief": {}, "worker": {"replicas": 2, key: enforced}}}) == []
