"""Tests of the rule `wrong-shape` for the objects of a job, at each path that kustomize's transformers read.

kustomize stops at a text where one of its name references expects a mapping or a list. The error of kustomize does not
name the job. The list of references comes from kustomize 5.8:
https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/konfig/builtinpluginconsts/namereference.go
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.support.small_job import JOB
from tfgen.check.jobs import check

POD = """
    containers/env/valueFrom/configMapKeyRef/name containers/env/valueFrom/secretKeyRef/name
    containers/envFrom/configMapRef/name containers/envFrom/secretRef/name imagePullSecrets/name
    initContainers/env/valueFrom/configMapKeyRef/name initContainers/env/valueFrom/secretKeyRef/name
    initContainers/envFrom/configMapRef/name initContainers/envFrom/secretRef/name priorityClassName
    serviceAccountName volumes/configMap/name volumes/persistentVolumeClaim/claimName
    volumes/projected/sources/configMap/name volumes/projected/sources/secret/name volumes/secret/secretName
"""
POD_SPECS = {
    "v1 Pod": "spec/",
    "v1 PodTemplate": "template/spec/",
    "v1 ReplicationController": "spec/template/spec/",
    "apps/v1 DaemonSet": "spec/template/spec/",
    "apps/v1 Deployment": "spec/template/spec/",
    "apps/v1 ReplicaSet": "spec/template/spec/",
    "apps/v1 StatefulSet": "spec/template/spec/",
    "batch/v1 CronJob": "spec/jobTemplate/spec/template/spec/",
    "batch/v1 Job": "spec/template/spec/",
}
REFERENCES = {
    "apiregistration.k8s.io/v1 APIService": "spec/service/name",
    "rbac.authorization.k8s.io/v1 ClusterRole": "rules/resourceNames",
    "rbac.authorization.k8s.io/v1 ClusterRoleBinding": "roleRef/name subjects/name",
    "autoscaling/v2 HorizontalPodAutoscaler": "spec/scaleTargetRef/name",
    "networking.k8s.io/v1 Ingress": """spec/defaultBackend/service/name spec/ingressClassName
        spec/rules/http/paths/backend/service/name spec/tls/secretName""",
    "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration": "webhooks/clientConfig/service/name",
    "v1 PersistentVolume": "spec/azureFile/secretName spec/storageClassName",
    "v1 PersistentVolumeClaim": "spec/storageClassName spec/volumeName",
    "rbac.authorization.k8s.io/v1 Role": "rules/resourceNames",
    "rbac.authorization.k8s.io/v1 RoleBinding": "roleRef/name subjects/name",
    "v1 ServiceAccount": "imagePullSecrets/name",
    "apps/v1 StatefulSet": "spec/serviceName spec/volumeClaimTemplates/spec/storageClassName",
    "storage.k8s.io/v1 StorageClass": """parameters/adminSecretName parameters/secretName parameters/userSecretName""",
    "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding": "spec/policyName",
    "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration": "webhooks/clientConfig/service/name",
}
PLACES = sorted(
    {
        (kind, path.rsplit("/", depth)[0] if depth else path)
        for kind, paths in [
            *((kind, " ".join(prefix + path for path in POD.split())) for kind, prefix in POD_SPECS.items()),
            *REFERENCES.items(),
        ]
        for path in paths.split()
        for depth in range(path.count("/") + 1)
    }
)


def problems(*items: object) -> list[str]:
    """Return the problems of objects. The first object has the name x, and each next object one x more."""
    objects = ", ".join(f"{'x' * number}: {json.dumps(item)}" for number, item in enumerate(items, start=1))
    job = f"{JOB}  objects: {{{objects}}}\n"
    return [str(problem) for problem in check(job.encode(), "job.yaml").problems if problem.rule == "wrong-shape"]


def nested(path: str, value: Any) -> Any:
    """Return a value below the keys of a path."""
    for key in reversed(path.split("/")):
        value = {key: value}
    return value


def test_a_reference_has_the_shape_that_kustomize_reads() -> None:
    objects = []
    for kind, path in PLACES:
        api_version, name = kind.split()
        value: Any = [["text"]] if path.endswith(("Name", "/name")) else "text"
        objects.append({"apiVersion": api_version, "kind": name, **nested(path, value)})
    size = 20  # a document has at most 100 problems of a rule
    without = []
    for start in range(0, len(objects), size):
        part = objects[start : start + size]
        named = {len(match[1]) for text in problems(*part) for match in re.finditer(r"objects\.(x+)\.", text)}
        without += [PLACES[start + number - 1] for number in range(1, len(part) + 1) if number not in named]
    assert without == []


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            {"apiVersion": "example.com/v1", "kind": "CronJob", "spec": {"jobTemplate": "text"}},
            'job.yaml:8:92: objects.x.spec.jobTemplate: found the text "text", expected a mapping or a list, because '
            "kustomize reads this field of each CronJob [wrong-shape]",
        ),
        (
            {"apiVersion": "example.com/v1", "kind": "Role", "rules": [{"resourceNames": [["text"]]}]},
            "job.yaml:8:94: objects.x.rules[0].resourceNames[0]: found a list, expected a name, because kustomize "
            "reads this field of each Role [wrong-shape]",
        ),
        (
            {"apiVersion": "v1", "kind": "ServiceAccount", "imagePullSecrets": "hub"},
            'job.yaml:8:83: objects.x.imagePullSecrets: found the text "hub", expected a list; write [{name: hub}] '
            "[wrong-shape]",
        ),
        (
            {"apiVersion": "v1", "kind": "Service", "spec": {"ports": {"port": 80}}},
            "job.yaml:8:65: objects.x.spec.ports: found a mapping, expected a list; write [{port: 80}] [wrong-shape]",
        ),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_the_message_has_the_expected_shape(item: Any, expected: str) -> None:
    assert problems(item) == [expected]


@pytest.mark.parametrize(
    "item",
    [
        {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"template": "text"}},
        {"apiVersion": "v1", "kind": "Service", "spec": {"clusterIP": "None", "ports": [{"port": 80}]}},
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"batch": "128"}, "status": {}},
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "spec": {"podSelector": {}, "egress": [{"ports": [{"port": 53}, {"port": "dns"}]}]},
        },
    ],
    ids=lambda item: item["kind"],
)
def test_a_sound_object_has_no_problem(item: Any) -> None:
    assert problems(item) == []


@pytest.mark.parametrize(
    "template",
    [
        "metadata: {labels: null}",
        "spec: {volumes: null}",
        "spec: {containers: [{name: tensorflow, env: null}]}",
        "spec: {containers: [{name: tensorflow, resources: null}]}",
        "spec: {containers: [{name: tensorflow, volumeMounts: null}]}",
    ],
)
def test_a_pod_template_without_a_field_of_tfgen_is_the_only_problem(template: str) -> None:
    """The rules for patches and for names cannot read the objects, because tfgen cannot build the objects."""
    job = (
        f"{JOB}  podTemplate: {{{template}}}\n"
        "  objects: {q: {apiVersion: v1, kind: ConfigMap}}\n"
        "  patches: {p: {target: {kind: StatefulSet, name: ps}, merge: {spec: {minReadySeconds: 1}}}}\n"
    )
    assert {problem.rule for problem in check(job.encode(), "job.yaml").problems} == {"controlled-field"}
