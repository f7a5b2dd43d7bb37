"""The fields that kustomize reads as names of other objects, and the values of such fields that make kustomize fail.

    >>> next(unreadable({"apiVersion": "example.com/v1", "kind": "CronJob", "spec": "text"}))
    Unreadable(path=('spec',), value='text', expected='a mapping or a list')

kustomize 5 reads these fields in each object of a kind, mostly without regard to the API group. Each value on the path
to a field must be a mapping, or a list of mappings. The table `_FIELDS` has the fields of
https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/konfig/builtinpluginconsts/namereference.go
and of namespace.go in the same folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tfgen.data_path import Path
from tfgen.kubernetes.object import group

_CONTAINER: Final = (
    "env/valueFrom/configMapKeyRef/name",
    "env/valueFrom/secretKeyRef/name",
    "envFrom/configMapRef/name",
    "envFrom/secretRef/name",
)
_CONFIG_NAMES: Final = (
    *(f"{containers}/{field}" for containers in ("containers", "initContainers") for field in _CONTAINER),
    "imagePullSecrets/name",
    "volumes/configMap/name",
    "volumes/projected/sources/configMap/name",
    "volumes/projected/sources/secret/name",
    "volumes/secret/secretName",
)
"""The fields of a PodSpec that contain the name of a ConfigMap or a Secret."""

_REMAINING_NAMES: Final = ("priorityClassName", "serviceAccountName", "volumes/persistentVolumeClaim/claimName")
"""The fields of a PodSpec that contain the name of an object of another kind."""

_PODS: Final = {
    "CronJob": ("spec/jobTemplate/spec/template/spec", (*_CONFIG_NAMES, *_REMAINING_NAMES)),
    "DaemonSet": ("spec/template/spec", (*_CONFIG_NAMES, *_REMAINING_NAMES)),
    "Deployment": ("spec/template/spec", (*_CONFIG_NAMES, *_REMAINING_NAMES)),
    "Job": ("spec/template/spec", (*_CONFIG_NAMES, *_REMAINING_NAMES)),
    "Pod": ("spec", (*_CONFIG_NAMES, *_REMAINING_NAMES)),
    "PodTemplate": ("template/spec", _CONFIG_NAMES),
    "ReplicaSet": ("spec/template/spec", _CONFIG_NAMES),
    "ReplicationController": ("spec/template/spec", _REMAINING_NAMES),
    "StatefulSet": ("spec/template/spec", (*_CONFIG_NAMES, *_REMAINING_NAMES)),
}
"""For each kind, the path of the PodSpec in an object, and the fields of the PodSpec with names of other objects."""

_FIELDS: Final[Mapping[tuple[str, str], Sequence[str]]] = {
    **{("", kind): tuple(f"{pod}/{field}" for field in fields) for kind, (pod, fields) in _PODS.items()},
    ("", "ClusterRole"): ("rules/resourceNames",),
    ("", "HorizontalPodAutoscaler"): ("spec/scaleTargetRef/name",),
    ("", "Ingress"): (
        "spec/backend/serviceName",
        "spec/defaultBackend/service/name",
        "spec/ingressClassName",
        "spec/rules/http/paths/backend/service/name",
        "spec/rules/http/paths/backend/serviceName",
        "spec/tls/secretName",
    ),
    ("", "Node"): ("spec/configSource/configMap",),
    ("", "PersistentVolume"): ("spec/azureFile/secretName", "spec/storageClassName"),
    ("", "PersistentVolumeClaim"): ("spec/storageClassName", "spec/volumeName"),
    ("", "Role"): ("rules/resourceNames",),
    ("", "ServiceAccount"): ("imagePullSecrets/name",),
    ("", "StorageClass"): tuple(
        f"parameters/{name}" for name in ("adminSecretName", "secretName", "secretRef", "userSecretName")
    ),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): ("webhooks/clientConfig/service",),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): ("spec/policyName",),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): ("webhooks/clientConfig/service",),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): ("spec/conversion/webhook/clientConfig/service/namespace",),
    ("apiregistration.k8s.io", "APIService"): ("spec/service/name",),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ("roleRef/name", "subjects"),
    ("rbac.authorization.k8s.io", "RoleBinding"): ("roleRef/name", "subjects"),
    ("serving.knative.dev", "Service"): ("spec/template/spec/containers/env/valueFrom/secretKeyRef/name",),
}
"""The fields with names of other objects, by the API group and the kind. An empty group means all API groups."""

_VOLUME_CLAIMS: Final = "spec/volumeClaimTemplates/spec/storageClassName"
_BINDINGS: Final = ("ClusterRoleBinding", "RoleBinding")
"""The kinds in which kustomize sets the namespace of each item of `subjects`."""


class Unreadable(NamedTuple):
    """A value that makes kustomize fail.

    Attributes:
        path: the path of the value in the object.
        value: the value.
        expected: a description of the values that kustomize accepts, such as `a mapping or a list`.
    """

    path: Path
    value: Any
    expected: str


def unreadable(item: Mapping[str, Any]) -> Iterator[Unreadable]:
    """Yield the values of an object that make kustomize fail, without duplicates."""
    kind = item["kind"]
    fields = (*_FIELDS.get(("", kind), ()), *_FIELDS.get((group(item), kind), ()))
    if kind == "StatefulSet":
        fields = (*fields, _VOLUME_CLAIMS, *(["spec/serviceName"] if group(item) == "apps" else []))
    paths: set[Path] = set()
    for field in fields:
        for value in _unreadable_on_path((), item, field.split("/")):
            if value.path not in paths:
                paths.add(value.path)
                yield value
    if kind in _BINDINGS:
        yield from (value for value in _subjects(item.get("subjects")) if value.path not in paths)


def _unreadable_on_path(path: Path, value: Any, steps: Sequence[str]) -> Iterator[Unreadable]:
    if value is None:
        return
    if not steps:
        yield from _unreadable_names(path, value)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from _unreadable_on_path((*path, index), element, steps)
    elif isinstance(value, Mapping):
        yield from _unreadable_on_path((*path, steps[0]), value.get(steps[0]), steps[1:])
    else:
        yield Unreadable(path, value, "a mapping or a list")


def _unreadable_names(path: Path, value: Any) -> Iterator[Unreadable]:
    """Yield the values of a field that kustomize cannot read as the name of an object.

    kustomize cannot read a mapping without the key `name`. If the field is a list of names, kustomize also cannot read
    an item that is a list.

    Args:
        path: the path of the field.
        value: the value of the field.
    """
    items = [((*path, index), element) for index, element in enumerate(value)] if isinstance(value, list) else []
    for place, element in items or [(path, value)]:
        if isinstance(element, list) and items:
            yield Unreadable(place, element, "a name")
        elif isinstance(element, Mapping) and "name" not in element:
            yield Unreadable(place, element, "a name, or a mapping with a name")


def _subjects(subjects: Any) -> Iterator[Unreadable]:
    if subjects is None:
        return
    if not isinstance(subjects, list):
        yield Unreadable(("subjects",), subjects, "a list")
        return
    for index, subject in enumerate(subjects):
        if not isinstance(subject, Mapping):
            yield Unreadable(("subjects", index), subject, "a mapping")
