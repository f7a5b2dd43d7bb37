"""Tests that pods in entries of `objects`, and patches, cannot override the paths that a tfgen.yaml enforces."""

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
from tfgen.schema import file as schema_file
from tfgen.schema import kubernetes_fields

HEAD = {"apiVersion": "tfgen/v1alpha1"}
TEAM: dict[str, Any] = {
    "registry": "registry.ml.internal/ml",
    "enforce": [
        "registry",
        "spec.serviceAccountName",
        "spec.priorityClassName",
        "spec.nodeSelector",
        "spec.security",
        "spec.labels",
        "spec.runtimeClassName",
    ],
    "spec": {
        "serviceAccountName": "training",
        "priorityClassName": "low",
        "nodeSelector": {"pool": "training"},
        "security": {"profile": "restricted"},
        "labels": {"example.com/team": "ads"},
    },
}
IMAGE = "registry.ml.internal/ml/tool:1"


def pod(
    *, labels: dict[str, str] | None = None, container: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """Return a pod template that has every enforced value, except the values in the arguments."""
    fields = {
        "serviceAccountName": "training",
        "priorityClassName": "low",
        "nodeSelector": {"pool": "training"},
        "containers": [{"name": "tool", "image": IMAGE, **(container or {})}],
        **spec,
    }
    metadata = {"labels": {"example.com/team": "ads"} if labels is None else labels}
    return {"metadata": metadata, "spec": {key: value for key, value in fields.items() if value is not None}}


def as_pod(template: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", **template}


def as_cron_job(template: dict[str, Any]) -> dict[str, Any]:
    spec = {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": template}}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "spec": spec}


def as_job_set(template: dict[str, Any]) -> dict[str, Any]:
    spec = {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": template}}}]}
    return {"apiVersion": "example.com/v1", "kind": "Crew", "spec": spec}


def kinds_with_pods() -> dict[str, list[str]]:
    """Return the path of the pod template by kind, for the kinds with a pod template in the table of Kubernetes."""
    table = json.loads(schema_file.path().with_name(kubernetes_fields.NAME).read_text(encoding="utf-8"))

    def paths(type_name: str) -> Iterator[list[str]]:
        fields = table["types"].get(type_name, {}).get("fields", {})
        if fields.get("spec") == "PodSpec":
            yield []
        for key in {"spec", "template", "jobTemplate"} & fields.keys():
            yield from ([key, *path] for path in paths(fields[key]))

    kinds = {
        f"{version} {kind}": list(paths(type_name))
        for version, types in table["kinds"].items()
        for kind, type_name in types.items()
    }
    return {kind: found[0] for kind, found in kinds.items() if found}


FORMS = {"Pod": as_pod, "CronJob": as_cron_job, "list": as_job_set}


def refusals(spec: dict[str, Any], team: dict[str, Any] = TEAM) -> list[str]:
    defaults = Source("tfgen.yaml", json.dumps({**HEAD, "kind": "Defaults", **team}))
    data = {
        **HEAD,
        "kind": "TrainingJob",
        "metadata": {"name": "mnist"},
        "spec": {"image": "mnist:1", "roles": {"chief": {}, "ps": {}, "worker": {"replicas": 2}}, **spec},
    }
    checked = check(json.dumps(data), "job.yaml", defaults)
    (document,) = checked.documents
    errors = [one for one in checked.problems if one.severity == "error"]
    if errors:
        return [one.message for one in errors]
    problems = check_objects(document, build(document.data), ObjectSchemas())
    return [one.message for one in problems if one.rule == "enforced"]


@pytest.mark.parametrize("form", FORMS)
def test_a_pod_with_all_enforced_values(form: str) -> None:
    assert refusals({"objects": {"tool": FORMS[form](pod())}}) == []


BYPASSES: dict[str, tuple[dict[str, Any], str]] = {
    "image": ({"container": {"image": "docker.io/tool:1"}}, 'the image "docker.io/tool:1" is not in the registry'),
    "account": ({"serviceAccountName": "admin"}, 'serviceAccountName: found "admin"'),
    "no account": ({"serviceAccountName": None}, "serviceAccountName: found no value"),
    "old account": ({"serviceAccount": "admin"}, 'serviceAccount: found "admin"'),
    "priority": ({"priorityClassName": "high"}, 'priorityClassName: found "high"'),
    "selector": ({"nodeSelector": {"pool": "serving"}}, 'nodeSelector.pool: found "serving"'),
    "no selector": ({"nodeSelector": None}, "nodeSelector.pool: found no value"),
    "class": ({"runtimeClassName": "runc"}, "lets no job set"),
    "labels": ({"labels": {"example.com/team": "video"}}, 'labels["example.com/team"]: found "video"'),
    "privileged": (
        {"container": {"securityContext": {"privileged": True}}},
        "privileged: true needs the profile privileged",
    ),
    "host": ({"hostPID": True}, "hostPID: true needs the profile privileged"),
    "path": (
        {"volumes": [{"name": "a", "hostPath": {"path": "/"}}]},
        "the volume source hostPath needs the profile privileged",
    ),
    "init": ({"initContainers": [{"name": "a", "image": "docker.io/a:1"}]}, 'the image "docker.io/a:1" is not'),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", BYPASSES)
def test_no_object_gets_around_an_enforced_path(case: str, form: str) -> None:
    change, message = BYPASSES[case]
    found = refusals({"objects": {"tool": FORMS[form](pod(**change))}})
    assert any(message in text and (" nothing" in text or "objects" in text or "image" in text) for text in found), (
        found
    )


KINDS = kinds_with_pods()


def test_the_kinds_with_pods_are_those_of_kubernetes() -> None:
    names = {kind.split()[-1] for kind in KINDS}
    workloads = {"CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet"}
    assert names >= {"Pod", "PodTemplate", "ReplicationController", *workloads}


CUSTOM_KINDS = {
    "batch.volcano.sh/v1alpha1 Job": ["spec", "tasks", "0", "template"],
    "jobset.x-k8s.io/v1alpha2 JobSet": ["spec", "replicatedJobs", "0", "template", "spec", "template"],
    "kubeflow.org/v1 TFJob": ["spec", "tfReplicaSpecs", "Worker", "template"],
}


@pytest.mark.parametrize("kind", [*KINDS, *CUSTOM_KINDS])
def test_no_kind_with_a_pod_template_gets_around_an_enforced_path(kind: str) -> None:
    version, name = kind.split()
    template = pod(
        serviceAccountName="admin",
        priorityClassName="high",
        nodeSelector={"pool": "serving"},
        labels={"example.com/team": "video"},
        container={"image": "docker.io/a:1", "securityContext": {"privileged": True}},
        volumes=[{"name": "share", "nfs": {"server": "nfs", "path": "/"}}],
    )
    nested: Any = template
    for key in reversed((KINDS | CUSTOM_KINDS)[kind]):
        nested = [nested] if key == "0" else {key: nested}
    if version == "apps/v1":
        nested["spec"]["selector"] = {"matchLabels": {"example.com/team": "video"}}
    if name == "CronJob":
        nested["spec"]["schedule"] = "0 0 * * *"
    found = refusals({"objects": {"tool": {"apiVersion": version, "kind": name, **nested}}})
    words = ("docker.io/a:1", '"admin"', '"high"', '"serving"', '"video"', "privileged: true", "the volume source nfs")
    for word in words:
        assert any(word in text for text in found), (word, found)


def test_no_environment_gets_around_an_enforced_path_by_an_object() -> None:
    objects = {"tool": {"spec": {"serviceAccountName": "admin"}}}
    found = refusals({"objects": {"tool": as_pod(pod())}, "environments": {"dev": {"objects": objects}, "prod": {}}})
    assert len(found) == 1
    assert 'objects.tool.spec.serviceAccountName: found "admin"' in found[0]


def test_a_workflow_has_no_other_image_account_or_right() -> None:
    template = {"name": "a", "container": {"image": "docker.io/a:1", "securityContext": {"privileged": True}}}
    labels = {"labels": {"example.com/team": "video"}}
    spec = {
        "serviceAccountName": "admin",
        "podPriorityClassName": "high",
        "podMetadata": labels,
        "templates": [{**template, "metadata": labels, "nodeSelector": {"pool": "serving"}}],
    }
    found = refusals({"objects": {"w": {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "spec": spec}}})
    for message in ("docker.io/a:1", 'found "admin"', 'found "high"', 'found "serving"', "privileged: true"):
        assert any(message in text for text in found), (message, found)
    assert sum('found "video"' in text for text in found) == 2


def test_a_spark_application_has_no_other_right() -> None:
    driver = {"serviceAccount": "admin", "securityContext": {"privileged": True}}
    application = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication"}
    found = refusals({"objects": {"s": {**application, "spec": {"driver": driver}}}})
    assert [message in " ".join(found) for message in ('found "admin"', "privileged: true")] == [True, True]


def test_an_object_has_the_enforced_labels() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"image": "docker.io/a:1", "hostPID": "true"}}
    assert refusals({"objects": {"c": config}}) == []
    found = refusals({"objects": {"c": {**config, "metadata": {"labels": {"example.com/team": "video"}}}}})
    assert [text.split(":")[0] for text in found] == ['objects.c.metadata.labels["example.com/team"]']


PATCHES: dict[str, dict[str, Any]] = {
    "label": {"merge": {"metadata": {"labels": {"example.com/team": "video"}}}},
    "pod label": {"merge": {"spec": {"template": {"metadata": {"labels": {"example.com/team": "video"}}}}}},
    "account": {"merge": {"spec": {"template": {"spec": {"serviceAccountName": "admin"}}}}},
    "old account": {"merge": {"spec": {"template": {"spec": {"serviceAccount": "admin"}}}}},
    "selector": {"merge": {"spec": {"template": {"spec": {"nodeSelector": {"pool": "serving"}}}}}},
    "null": {"merge": {"spec": {"template": {"spec": {"nodeSelector": None}}}}},
    "class": {"merge": {"spec": {"template": {"spec": {"runtimeClassName": "runc"}}}}},
    "json": {"json": [{"op": "add", "path": "/spec/template/spec/serviceAccountName", "value": "admin"}]},
    "json remove": {"json": [{"op": "remove", "path": "/spec/template/spec/nodeSelector"}]},
    "json label": {
        "json": [{"op": "add", "path": "/spec/template/metadata/labels/example.com~1team", "value": "video"}]
    },
    "image": {
        "merge": {"spec": {"template": {"spec": {"containers": [{"name": "tensorboard", "image": "docker.io/t:1"}]}}}}
    },
}


@pytest.mark.parametrize("where", ["job", "environment"])
@pytest.mark.parametrize("case", PATCHES)
def test_no_patch_gets_around_an_enforced_path(case: str, where: str) -> None:
    patches = {"patches": {"p": {"target": {"kind": "Deployment", "name": "tensorboard"}, **PATCHES[case]}}}
    board = {"tensorboard": {"logDir": "/logs"}}
    spec = patches if where == "job" else {"environments": {"dev": patches}}
    assert refusals(board) == []
    assert refusals({**board, **spec}) != []


def test_a_patch_may_repeat_an_enforced_value() -> None:
    merge = {"metadata": {"labels": {"example.com/team": "ads", "example.com/step": "a"}}}
    assert refusals({"patches": {"p": {"target": {"kind": "StatefulSet"}, "merge": merge}}}) == []


def test_no_job_names_an_account_by_the_deprecated_field_where_no_job_may_name_an_account() -> None:
    team = {"enforce": ["spec.serviceAccountName"]}
    account = pod(serviceAccountName=None, serviceAccount="admin")
    (of_object,) = refusals({"objects": {"tool": as_pod(account)}}, team)
    assert 'serviceAccount: found "admin"' in of_object
    (of_template,) = refusals({"podTemplate": {"spec": {"serviceAccount": "admin"}}}, team)
    assert "podTemplate sets serviceAccount" in of_template
    assert "set serviceAccountName of the job" in of_template
