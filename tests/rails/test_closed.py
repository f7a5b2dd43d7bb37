"""Tests that no part of a job, whatever its syntax, gets around the guard rails of a tfgen.yaml."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tfgen.check.jobs import check
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.graph.graph import build
from tfgen.job.sources import Source
from tfgen.rails.carried import CARRIED, IN_JOB
from tfgen.rails.enforce import DELIVERY
from tfgen.schema import file as schema_file

HEAD = {"apiVersion": "tfgen/v1alpha1"}
PLATFORM: dict[str, Any] = {
    "registry": "registry.ml.internal/ml",
    "enforce": ["registry", "spec.security.profile", "spec.serviceAccountName", "spec.priorityClassName"],
    "limits": {"job": {"gpus": 4, "replicas": 8, "cpu": 16}},
    "spec": {
        "security": {"profile": "restricted"},
        "serviceAccountName": "ads",
        "priorityClassName": "low",
        "gitops": {"repository": "https://git.ml.internal/ml/jobs.git", "argocd": {}},
        "environments": {"dev": {"namespace": "ads-dev"}, "prod": {"namespace": "ads"}},
    },
}
TASK = {"resources": {"cpu": 1, "memory": "2Gi"}}
POD: dict[str, Any] = {
    "spec": {
        "serviceAccountName": "ads",
        "priorityClassName": "low",
        "containers": [
            {"name": "a", "image": "registry.ml.internal/ml/a:1", "resources": {"requests": {"cpu": "1"}}},
        ],
    }
}


def messages(spec: dict[str, Any], team: dict[str, Any] = PLATFORM) -> list[str]:
    """Return the message and the rule of each error of a job."""
    roles = {"chief": TASK, "ps": TASK, "worker": {"replicas": 2, **TASK}}
    written = {"image": "mnist:1", "roles": {**roles, **spec.get("roles", {})}}
    job = {
        **HEAD,
        "kind": "TrainingJob",
        "metadata": {"name": "mnist"},
        "spec": {**spec, **written},
    }
    result = check(json.dumps(job), "job.yaml", Source("tfgen.yaml", json.dumps({**HEAD, "kind": "Defaults", **team})))
    problems = [problem for problem in result.problems if problem.severity == "error"]
    if not problems:
        (document,) = result.documents
        problems = [*check_objects(document, build(document.data), ObjectSchemas())]
    return [f"{one.message} [{one.rule}]" for one in problems if one.severity == "error"]


def item(kind: str, version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"objects": {"a": {"apiVersion": version, "kind": kind, **fields}}}


def annotated(key: str, value: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {key: value}}}


def worker(**resources: Any) -> dict[str, Any]:
    return {"roles": {"worker": {"replicas": 2, "resources": {"cpu": 1, "memory": "2Gi", **resources}}}}


def claim(**request: Any) -> dict[str, Any]:
    devices = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", **request}}]}
    template = item(
        "ResourceClaimTemplate", "resource.k8s.io/v1", metadata={"name": "t"}, spec={"spec": {"devices": devices}}
    )
    claims = {"spec": {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}}
    return {**template, "roles": {"worker": {"replicas": 2, **TASK, "podTemplate": claims}}}


def scaler(most: int, name: str = "mnist-worker") -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name}
    return item("HorizontalPodAutoscaler", "autoscaling/v2", spec={"maxReplicas": most, "scaleTargetRef": target})


def keda(**most: int) -> dict[str, Any]:
    return item(
        "ScaledObject",
        "keda.sh/v1alpha1",
        spec={**most, "scaleTargetRef": {"kind": "StatefulSet", "name": "mnist-worker"}},
    )


def crew(replicas: int, parallelism: int) -> dict[str, Any]:
    group = {"replicas": replicas, "template": {"spec": {"parallelism": parallelism, "template": POD}}}
    return item("Crew", "example.com/v1", spec={"groups": [group]})


ROLE_ARN = "eks.amazonaws.com/role-arn"
IAM = "iam.amazonaws.com/role"
ARMOR = "container.apparmor.security.beta.kubernetes.io/tensorflow"
SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
TOKEN = "kubernetes.io/service-account-token"
VOLCANO = {"gang": {"scheduler": "volcano", "priorityClassName": "urgent"}}
URGENT = {"value": 100_000}
VISIBLE = "NVIDIA_VISIBLE_DEVICES"
SIDECAR = {"name": "s", "image": "s:1"}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    # -- identity
    "account": (item("ServiceAccount", metadata={"name": "ads"}), "objects.a.metadata.name: found the account ads"),
    "account-identity": (item("ServiceAccount", **annotated(ROLE_ARN, "x")), f'annotations["{ROLE_ARN}"]: found "x"'),
    "token": (item("Secret", type=TOKEN), f'objects.a.type: found "{TOKEN}", the token of an account'),
    "token-of-a-template": (
        item("ExternalSecret", "external-secrets.io/v1", spec={"target": {"template": {"type": TOKEN}}}),
        "objects.a.spec.target.template.type: found",
    ),
    "annotation-of-the-job": (
        {"annotations": {IAM: "admin"}},
        f'spec.annotations["{IAM}"]: found "admin", an identity',
    ),
    "annotation-of-a-role": (
        {"roles": {"chief": {**TASK, "annotations": {IAM: "admin"}}}},
        f'spec.roles.chief.annotations["{IAM}"]: found "admin"',
    ),
    "annotation-of-an-environment": (
        {"environments": {"dev": {"annotations": {IAM: "admin"}}}},
        f'spec.environments.dev.annotations["{IAM}"]: found "admin"',
    ),
    "annotation-of-a-template": ({"podTemplate": annotated(IAM, "admin")}, "spec.podTemplate.metadata.annotations"),
    "annotation-of-a-patch": (
        {
            "patches": {
                "a": {
                    "target": {"kind": "ServiceAccount", "name": "finisher-serviceaccount"},
                    "merge": annotated(IAM, "x"),
                }
            }
        },
        f'patches.a.merge.metadata.annotations["{IAM}"]: found "x"',
    ),
    # -- priority
    "priority-class": ({"priorityClasses": {"urgent": URGENT}}, "spec.priorityClasses.urgent.value: a PriorityClass"),
    "priority-object": (
        item("PriorityClass", "scheduling.k8s.io/v1", metadata={"name": "low"}, **URGENT),
        "objects.a.value: a PriorityClass",
    ),
    "priority-of-the-gang": (VOLCANO, 'spec.gang.priorityClassName: found "urgent", but tfgen.yaml'),
    # -- profile
    "unconfined-annotation": ({"annotations": {ARMOR: "unconfined"}}, "refuses the AppArmor profile"),
    "unconfined-seccomp": (
        {"roles": {"chief": {**TASK, "annotations": {SECCOMP: "unconfined"}}}},
        f'spec.roles.chief.annotations["{SECCOMP}"]: found "unconfined", which needs the profile privileged',
    ),
    "unconfined-crew": (
        item("Crew", "example.com/v1", spec={"template": {**POD, **annotated(ARMOR, "unconfined")}}),
        f'objects.a.spec.template.metadata.annotations["{ARMOR}"]: found "unconfined"',
    ),
    "unconfined-pod": (
        item("Pod", spec={**POD["spec"], "securityContext": {"appArmorProfile": {"type": "Unconfined"}}}),
        "an Unconfined appArmorProfile needs the profile privileged",
    ),
    # -- devices
    "accelerator": (worker(limits={"example.com/accel": 3}), "the job requests 6 GPUs"),
    "partition": (worker(limits={"nvidia.com/mig-1g.5gb": 3}), "the job requests 6 GPUs"),
    "claim": (claim(count=3), "the job requests 6 GPUs"),
    "device-class": (worker(gpu={"count": 3, "deviceClass": "gpu.example.com"}), "the job requests 6 GPUs"),
    "claim-of-all": (claim(allocationMode="All"), "the claim t takes all devices of a node"),
    "visible": ({"env": {VISIBLE: "all"}}, f"{VISIBLE} gives the container tensorflow GPUs that no request counts"),
    "visible-in-a-sidecar": (
        {"sidecars": [{**SIDECAR, "env": [{"name": VISIBLE, "value": "all"}]}]},
        f"{VISIBLE} gives the container s GPUs",
    ),
    # -- multipliers
    "autoscaler": (scaler(50), "the job requests 53 tasks"),
    "keda": (keda(maxReplicaCount=20), "the job requests 23 tasks"),
    "keda-default": (keda(), "the job requests 103 tasks"),
    "crew": (crew(replicas=10, parallelism=3), "the job requests 34.1 CPUs"),
    # -- delivery
    "path": ({"gitops": {"path": "other"}}, 'spec.gitops.path: found "other", but tfgen.yaml:'),
    "branch": ({"gitops": {"branch": "mine"}}, 'enforces "main"; remove the key'),
    "repository": ({"gitops": {"repository": "https://git.other/x.git"}}, "spec.gitops.repository: found"),
    "rendered": ({"gitops": {"rendered": {"branch": "mine"}}}, "spec.gitops.rendered: found"),
}

ACCEPTED: dict[str, dict[str, Any]] = {
    "account": item("ServiceAccount", metadata={"name": "other"}),
    "secret": item("Secret", type="Opaque"),
    "annotation": {"annotations": {"example.com/owner": "ads"}},
    "priority-of-the-gang": {"gang": {"scheduler": "volcano", "priorityClassName": "low"}},
    "gang": {"gang": {"scheduler": "volcano"}},
    "confined": {"annotations": {ARMOR: "runtime/default"}},
    "accelerator": worker(limits={"example.com/accel": 2}),
    "network": worker(limits={"rdma/hca": 8}),
    "claim": claim(count=2),
    "device-class": {
        **worker(gpu={"count": 2, "deviceClass": "gpu.example.com"}),
        "environments": {"dev": {"roles": {"worker": {"resources": {"gpu": {"deviceClass": ""}}}}}},
    },
    "invisible": {"env": {VISIBLE: "void"}},
    "autoscaler": scaler(4),
    "autoscaler-of-another-object": scaler(50, "other"),
    "keda": keda(maxReplicaCount=4),
    "crew": crew(replicas=2, parallelism=3),
    "source": {"gitops": {"source": "Kustomize"}},
    "default-branch": {"gitops": {"branch": "main", "path": ""}},
    "same-repository": {"gitops": {"repository": "https://git.ml.internal/ml/jobs.git"}},
    "parts": {
        "sidecars": [SIDECAR],
        "podTemplate": {"spec": {"dnsPolicy": "ClusterFirst"}},
        "tensorboard": {"logDir": "/logs"},
        "spot": True,
    },
    "volcano": {"workload": {"kind": "VolcanoJob"}},
    "tf-job": {"workload": {"kind": "TFJob"}},
    "job-set": {"workload": {"kind": "JobSet"}},
}


@pytest.mark.parametrize("case", REFUSED)
def test_no_part_gets_around_a_guard_rail(case: str) -> None:
    spec, message = REFUSED[case]
    found = messages(spec)
    assert any(message in text for text in found), found
    assert len(found) == len({text.split(" [")[0] for text in found})


@pytest.mark.parametrize("case", ACCEPTED)
def test_a_part_within_the_guard_rails(case: str) -> None:
    assert messages(ACCEPTED[case]) == []


FREE = [case for case in REFUSED if case not in ("unconfined-annotation", "unconfined-seccomp")]


@pytest.mark.parametrize("case", [case for case in FREE if "account" in case or "token" in case or "priority" in case])
def test_without_an_enforced_path_the_part_is_accepted(case: str) -> None:
    assert messages(REFUSED[case][0], {**PLATFORM, "enforce": ["registry"]}) == []


def test_an_identity_of_the_platform_is_accepted() -> None:
    annotations = {"annotations": {IAM: "reader"}}
    team = {**PLATFORM, "spec": {**PLATFORM["spec"], **annotations}}
    assert messages({}, team) == []
    assert messages({"annotations": {IAM: "admin"}}, team) != []


def test_a_priority_class_of_the_platform_is_accepted() -> None:
    team = {**PLATFORM, "spec": {**PLATFORM["spec"], "priorityClasses": {"low": {"value": 1}}}}
    assert messages({}, team) == []
    assert messages({"priorityClasses": {"low": {"value": 100_000}}}, team) != []


@pytest.mark.parametrize("entry", ["spec.gitops", "spec.gitops.argocd"])
def test_an_enforced_delivery_without_a_repository(entry: str) -> None:
    gitops = {"argocd": {"selfHeal": True}}
    team = {"enforce": [entry], "spec": {"gitops": gitops}}
    own = {"repository": "https://git.other/x.git", "argocd": {}}
    expected = ["spec.gitops.repository"] if entry == "spec.gitops" else []
    assert [text.split(":")[0] for text in messages({"gitops": own}, team)] == expected


def test_an_exception_opens_the_branch() -> None:
    team = {**PLATFORM, "enforce": [{"path": "spec.gitops", "except": ["branch"]}]}
    assert messages({"gitops": {"branch": "mine"}}, team) == []
    assert messages({"gitops": {"path": "mine"}}, team) != []


def test_the_defaults_of_the_delivery_are_those_of_the_schema() -> None:
    fields = (schema_file.node(schema_file.load(), ("spec", "gitops")) or {})["properties"]
    assert {key: fields[key].get("default") for key in DELIVERY} == DELIVERY


# -- kinds of objects ----------------------------------------------------------------------------------------------


OBJECTS = [
    item("VirtualMachine", "kubevirt.io/v1", spec={}),
    {"environments": {"dev": item("VirtualMachine", "kubevirt.io/v1", spec={})}},
]


@pytest.mark.parametrize("spec", OBJECTS, ids=["job", "environment"])
def test_no_job_sets_objects(spec: dict[str, Any]) -> None:
    (message,) = messages(spec, {"enforce": ["spec.objects"]})
    assert "lets no job set the key; remove the key [enforced]" in message
    assert messages({}, {"enforce": ["spec.objects"]}) == []


@pytest.mark.parametrize("spec", OBJECTS, ids=["job", "environment"])
def test_only_listed_kinds_are_allowed(spec: dict[str, Any]) -> None:
    (message,) = messages(spec, {"allowedKinds": ["ConfigMap", "batch/Job"]})
    assert "objects.a: found the kind kubevirt.io/VirtualMachine, but tfgen.yaml:" in message
    assert "allows ConfigMap or batch/Job; remove the object" in message
    assert messages(spec, {"allowedKinds": ["ConfigMap", "kubevirt.io/VirtualMachine"]}) == []


def test_a_kind_in_another_group_is_not_the_listed_kind() -> None:
    assert messages(item("Job", "batch.volcano.sh/v1alpha1", spec={}), {"allowedKinds": ["batch/Job"]}) != []


def test_an_object_of_the_platform_may_have_any_kind() -> None:
    team = {"allowedKinds": ["ConfigMap"], "spec": item("Quota", "example.com/v1")}
    assert messages(item("Quota", "example.com/v1", spec={"most": 2}), team) != []
    assert messages({}, team) == []


# -- the table of fields -------------------------------------------------------------------------------------------


def enforceable_keys() -> Iterator[tuple[str, ...]]:
    schema = schema_file.load()
    for key in (schema_file.node(schema, ("spec",)) or {})["properties"]:
        below = (schema_file.node(schema, ("spec", key)) or {}).get("properties", {}) if key == "security" else {}
        yield from [(key, name) for name in below] or [(key,)]


def test_each_key_of_the_schema_has_fields_or_is_compared_in_the_job() -> None:
    keys = [*enforceable_keys()]
    assert sorted(keys) == sorted([*CARRIED, *((key,) for key in IN_JOB)])


def test_a_pod_template_cannot_change_a_carried_field() -> None:
    context = {"spec": {"securityContext": {"runAsUser": 8}}}
    team = {"enforce": ["spec.security.runAsUser"], "spec": {"security": {"runAsUser": 7}}}
    (message,) = messages({"podTemplate": context}, team)
    assert message.startswith("spec.podTemplate.spec.securityContext.runAsUser: found 8, but tfgen.yaml:")
    assert message.endswith("enforces spec.security.runAsUser 7; remove the key [enforced]")
