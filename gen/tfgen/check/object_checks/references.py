"""Check of references: a referenced object must be an object of the job, or an object that the job file names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tfgen.check.object_checks.fault import Fault, FieldPath, Objects
from tfgen.check.object_checks.pods import Pods


class Reference(NamedTuple):
    """A reference of an object to another object, or to a key of the other object.

    `path` is the path of the reference in the object. `kind`, `name` and `key` identify the other object or its key.
    """

    path: FieldPath
    kind: str
    name: str
    key: str | None = None


def check(objects: Objects) -> Iterator[Fault]:
    """Yield a fault for each reference to a missing object or key."""
    for pods in objects.pods:
        for reference in (*_volume_references(pods), *_container_references(pods), *_pod_references(pods)):
            yield from _missing(objects, pods.owner, reference)
    for item in objects.items:
        for reference in _object_references(item):
            yield from _missing(objects, item, reference)


def _missing(objects: Objects, item: Mapping[str, Any], reference: Reference) -> Iterator[Fault]:
    target = objects.named(reference.kind, reference.name)
    if target is None:
        if reference.name not in objects.texts:
            message = f"the {reference.kind} {reference.name} does not exist, and the job file does not name the object"
            yield Fault(item, reference.path, message)
    elif reference.key is not None:
        parts = (target.get(field) for field in ("data", "binaryData", "stringData"))
        if not any(reference.key in part for part in parts if isinstance(part, Mapping)):
            message = f"the {reference.kind} {reference.name} has no key {reference.key}"
            yield Fault(item, reference.path, message)


def _volume_references(pods: Pods) -> Iterator[Reference]:
    for index, volume in enumerate(pods.spec.get("volumes", ())):
        path = (*pods.path, "volumes", index)
        sources = [(path, volume)]
        projected = (volume.get("projected") or {}).get("sources") or ()
        sources += [((*path, "projected", "sources", n), source) for n, source in enumerate(projected)]
        for source_path, source in sources:
            for field, kind, name in (
                ("persistentVolumeClaim", "PersistentVolumeClaim", "claimName"),
                ("configMap", "ConfigMap", "name"),
                ("secret", "Secret", "secretName" if source is volume else "name"),
            ):
                reference = source.get(field)
                if reference and name in reference and not reference.get("optional"):
                    yield Reference((*source_path, field, name), kind, reference[name])
                    for item in reference.get("items") or ():
                        yield Reference((*source_path, field, "items"), kind, reference[name], item["key"])


def _container_references(pods: Pods) -> Iterator[Reference]:
    for path, container in pods.containers:
        for index, variable in enumerate(container.get("env", ())):
            source = variable.get("valueFrom") or {}
            for field, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
                reference = source.get(field)
                if reference and not reference.get("optional"):
                    yield Reference(
                        (*path, "env", index, "valueFrom", field), kind, reference["name"], reference["key"]
                    )
        for index, source in enumerate(container.get("envFrom", ())):
            for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
                reference = source.get(field)
                if reference and not reference.get("optional"):
                    yield Reference((*path, "envFrom", index, field), kind, reference["name"])


def _pod_references(pods: Pods) -> Iterator[Reference]:
    account = pods.spec.get("serviceAccountName", "default")
    if account != "default":
        yield Reference((*pods.path, "serviceAccountName"), "ServiceAccount", account)
    if priority := pods.spec.get("priorityClassName"):
        yield Reference((*pods.path, "priorityClassName"), "PriorityClass", priority)
    if subdomain := pods.spec.get("subdomain"):
        yield Reference((*pods.path, "subdomain"), "Service", subdomain)
    for index, secret in enumerate(pods.spec.get("imagePullSecrets", ())):
        yield Reference((*pods.path, "imagePullSecrets", index), "Secret", secret["name"])


def _object_references(item: Mapping[str, Any]) -> Iterator[Reference]:
    if item["kind"] == "StatefulSet":
        yield Reference(("spec", "serviceName"), "Service", item["spec"]["serviceName"])
    if item["kind"] == "RoleBinding":
        yield Reference(("roleRef",), item["roleRef"]["kind"], item["roleRef"]["name"])
        for index, subject in enumerate(item.get("subjects", ())):
            yield Reference(("subjects", index), subject["kind"], subject["name"])
