"""Check that the pods under `objects`, and the patches of a job, have the values that a tfgen.yaml enforces.

    tfgen.yaml      enforce: [registry, spec.serviceAccountName, spec.nodeSelector]
                    spec: {serviceAccountName: training, nodeSelector: {pool: training}}

A CronJob in `objects` whose pods lack this account, or this node selector, has an error at its line. An object is
copied into the outputs without defaults, so its pod templates must set each enforced value. A Workflow has no pod
template, but sets fields of pods, such as `serviceAccountName` and `podPriorityClassName`. Such a field may be missing,
but may not have a different value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.check.enforced import ENFORCED, is_in_registry
from tfgen.check.enforced_paths import ENVIRONMENTS, REGISTRY, SECURITY, Enforced, all_enforced
from tfgen.check.literal_path import literal_path
from tfgen.data_path import Path
from tfgen.graph.built import BuiltJob, Objects
from tfgen.job.training_job import PROFILES
from tfgen.kubernetes.object import Object, literal_name
from tfgen.problems import Place, Problem
from tfgen.rules.pod_parts import Part
from tfgen.rules.pod_security import find_weak_fields
from tfgen.text.document import Document
from tfgen.words import in_environments, path_name, shown

_METADATA: Final = ("labels", "annotations")
_NESTED_METADATA: Final = ("metadata", "podMetadata")
_SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "serviceAccountName": ("serviceAccount",),  # deprecated, but Kubernetes reads it if serviceAccountName is missing
    "priorityClassName": ("podPriorityClassName",),  # the name of the field in an Argo Workflow
}
"""Other names of a field, by its usual name, such as a deprecated name or the name in a custom kind."""

_SPEC: Final = (
    "nodeSelector",
    "tolerations",
    "affinity",
    "topologySpreadConstraints",
    "priorityClassName",
    "runtimeClassName",
    "serviceAccountName",
)
_FIELDS: Final[Mapping[str, Path]] = {
    **{key: ("metadata", key) for key in _METADATA},
    **{key: ("spec", key) for key in _SPEC},
}
"""The path of a field in a pod template, by the key of a job that sets the field in all pods."""

_OPTIONAL: Final = ("tolerations", *(name for names in _SYNONYMS.values() for name in names))
"""Fields that a pod may omit: tolerations, which only add rights, and the other names of a field."""

_TEXT_KINDS: Final = ("ConfigMap", "Secret")
"""Kinds that contain texts and no pods."""

_RELOCATIONS: Final = ("move", "copy")
_MOVED: Final = object()


class _Requirement(NamedTuple):
    """An enforced field of each pod template, with its enforced value.

    The value is None for a field that no job may set.
    """

    field: Path
    value: Any
    place: Place


class _Fault(NamedTuple):
    """A field with a wrong value, and the message. `path` is the path of the field below `spec` of the job."""

    path: Path
    message: str


def find_pod_overrides(document: Document, built: BuiltJob) -> Iterator[Problem]:
    """Yield a problem for each field of `objects` and of patches that differs from an enforced value."""
    enforced = [*all_enforced(document.under)]
    environments: dict[tuple[Place, str], list[str | None]] = {}
    forms: list[tuple[str | None, Objects]] = [*built.environments.items()] or [(None, built.base)]
    for environment, items in forms if enforced else ():
        requirements = [*_requirements(enforced, environment)]
        faults = [fault for item in items.values() for fault in _object_faults(item, requirements, enforced)]
        faults += _patch_faults(document, environment, requirements)
        for path, message in faults:
            place = document.place(literal_path(document, environment, path))
            environments.setdefault((place, message), []).append(environment)
        for message in _weak_pods(items.values(), enforced):
            environments.setdefault((document.place(("metadata", "name")), message), []).append(environment)
    for (place, message), names in environments.items():
        yield Problem(*place, message + in_environments(names), ENFORCED)


def _requirements(enforced: list[Enforced], environment: str | None) -> Iterator[_Requirement]:
    for entry in enforced:
        path = entry.path
        if path[:2] == ENVIRONMENTS and path[2:3] != (environment,):
            continue
        keys = path[3:] if path[:2] == ENVIRONMENTS else path[1:]
        if keys and keys[0] in _FIELDS:
            value = _enforced_value(entry, environment, keys)
            yield _Requirement((*_FIELDS[str(keys[0])], *keys[1:]), value, entry.place)
            for synonym in _SYNONYMS.get(str(keys[0]), ()):
                yield _Requirement(("spec", synonym), value, entry.place)


def _enforced_value(entry: Enforced, environment: str | None, keys: Path) -> Any:
    paths: list[Path] = [(*ENVIRONMENTS, environment or "", *keys), ("spec", *keys)]
    return next((data_path.at(entry.data, path) for path in paths if data_path.has(entry.data, path)), None)


# -- objects -------------------------------------------------------------------------------------------------------


def _object_faults(item: Object, requirements: list[_Requirement], enforced: list[Enforced]) -> Iterator[_Fault]:
    name = literal_name(item)
    if name is None:
        return
    base: Path = ("objects", name)
    yield from _template_faults({"metadata": item["metadata"]}, base, requirements, is_whole=False)
    if item["kind"] in _TEXT_KINDS:
        return
    for path, part in _mappings({key: item[key] for key in item if key != "metadata"}, ()):
        where = (*base, *path)
        if _is_pod_template(part) or (not path and item["kind"] == "Pod"):
            template = {**part, "metadata": item["metadata"]} if not path else part
            yield from _template_faults(template, where, requirements, is_whole=True)
        elif "containers" not in part:
            fields = {"spec": part, **({"metadata": part} if path[-1:] and path[-1] in _NESTED_METADATA else {})}
            yield from _template_faults(fields, where, requirements, is_whole=False, wrapper_steps=1)
        yield from _image_faults(part, where, enforced)
        yield from _security_faults(part, where, enforced)


def _mappings(value: Any, path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield each mapping in an object, with its path. Labels and annotations are left out."""
    if isinstance(value, Mapping):
        yield path, value
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list | tuple) else ()
    for key, child in items:
        if key not in _METADATA:
            yield from _mappings(child, (*path, key))


def _is_pod_template(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("spec"), Mapping) and "containers" in part["spec"]


def _template_faults(
    template: Mapping[str, Any], path: Path, requirements: list[_Requirement], *, is_whole: bool, wrapper_steps: int = 0
) -> Iterator[_Fault]:
    """Yield a fault for each field of a pod template that differs from the enforced value of a requirement.

    Args:
        template: the pod template, or a mapping with some fields of a pod template.
        path: the path of the template below `spec` of the document.
        requirements: the enforced values.
        is_whole: True for a complete pod template, in which a missing field is a fault.
        wrapper_steps: the number of first steps that only `template` has, and not the object. Example: the caller wraps
            the fields of a Workflow as {"spec": fields}, and passes 1, so that the path of a fault does not contain
            this step `spec`.
    """
    for field, value, place in requirements:
        for fault_path, actual, expected in _differences(template, field, value, is_whole=is_whole):
            where = (*path, *fault_path[wrapper_steps:])
            yield _Fault(where, _message(where, actual, expected, place))


def _differences(data: Any, field: Path, value: Any, *, is_whole: bool) -> Iterator[tuple[Path, Any, Any]]:
    """Yield each field that differs from the enforced value.

    Example: (("spec", "nodeSelector", "pool"), "dev", "training"), which lists the path, the actual value and the
    enforced value.

    Args:
        data: the pod template, or a mapping with some fields of a pod template.
        field: the path of the enforced field.
        value: the enforced value of the field; None for a field that no job may set.
        is_whole: True if a missing field also differs, apart from the fields in `_OPTIONAL`.
    """
    if isinstance(value, Mapping):
        for key in value:
            yield from _differences(data, (*field, key), value[key], is_whole=is_whole)
        return
    for end in range(1, len(field) + 1):
        if not data_path.has(data, field[:end]):
            if is_whole and value is not None and field[1] not in _OPTIONAL:
                yield field, None, value
            return
        actual = data_path.at(data, field[:end])
        if actual is None or (end < len(field) and not isinstance(actual, Mapping)):
            if value is not None:
                yield field[:end], actual, value
            return
    if actual != value:
        yield field, actual, value


def _message(path: Path, actual: Any, expected: Any, place: Place) -> str:
    if expected is None:
        return f"{path_name(path)}: found {shown(actual)}, but {place} lets no job set the key; remove the key"
    words = "no value" if actual is None else "a moved part" if actual is _MOVED else shown(actual)
    return f"{path_name(path)}: found {words}, but {place} enforces {shown(expected)}"


def _image_faults(part: Mapping[str, Any], path: Path, enforced: list[Enforced]) -> Iterator[_Fault]:
    volume = data_path.at(part, ("image", "reference"))
    image, where = (volume, (*path, "image", "reference")) if volume else (part.get("image"), (*path, "image"))
    for entry in enforced:
        registry = entry.data.get("registry")
        if entry.path == REGISTRY and registry and isinstance(image, str) and not is_in_registry(image, registry):
            message = f"the image {shown(image)} is not in the registry {registry}, which {entry.place} enforces"
            yield _Fault(where, message)


def _security_faults(part: Mapping[str, Any], path: Path, enforced: list[Enforced]) -> Iterator[_Fault]:
    for entry in enforced:
        if entry.path[:2] == SECURITY and entry.path[2:] in ((), ("profile",)):
            profile = data_path.at(entry.data, ("spec", "security", "profile")) or "restricted"
            for field in find_weak_fields(Part(path, part)):
                if PROFILES.index(field.profile) > PROFILES.index(profile):
                    message = (
                        f"{path_name(field.path)}: {field.description} needs the profile {field.profile}, but "
                        f"{entry.place} enforces {profile}"
                    )
                    yield _Fault(field.path, message)


def _weak_pods(items: Iterable[Object], enforced: list[Enforced]) -> Iterator[str]:
    """Yield a message for each pod field that needs a weaker Pod Security profile than the enforced profile.

    The objects that the running tfgen renders have no such field. Committed overlays may have such a field, because an
    earlier guard rail allowed the weaker profile, or because a user edited the overlays.
    """
    for item in items if any(entry.path[:2] == SECURITY for entry in enforced) else ():
        if literal_name(item) is None and item["kind"] not in _TEXT_KINDS:
            for path, part in _mappings(item, ()):
                for fault in _security_faults(part, path, enforced):
                    yield f"{item['kind']} {item['metadata']['name']}: {fault.message}"


# -- patches -------------------------------------------------------------------------------------------------------


def _patch_faults(document: Document, environment: str | None, requirements: list[_Requirement]) -> Iterator[_Fault]:
    patches = dict(document.data["spec"].get("patches") or {})
    if environment is not None:
        patches |= data_path.at(document.data, (*ENVIRONMENTS, environment, "patches")) or {}
    for name, patch in patches.items():
        base: Path = ("patches", name)
        for path, data in _patched(patch or {}):
            for prefix in ((), ("spec", "template")):
                template = data_path.at(data, prefix)
                for field, value, place in requirements if isinstance(template, Mapping) else ():
                    if not prefix and field[0] == "spec":
                        continue
                    for fault_path, actual, expected in _differences(template, field, value, is_whole=False):
                        where = (*base, *path) if path[0] == "json" else (*base, *path, *prefix, *fault_path)
                        yield _Fault(where, _message((*base, *path, *prefix, *fault_path), actual, expected, place))


def _patched(patch: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield the new values of a patch: of `merge`, and of each operation in `json` that changes a field.

    Example for an operation 0 that replaces /spec/replicas: (("json", 0), {"spec": {"replicas": 2}}). The first item is
    the path of the operation in the patch. For `merge`, the path is ("merge",).
    """
    if patch.get("merge"):
        yield ("merge",), patch["merge"]
    for index, operation in enumerate(patch.get("json") or ()):
        if operation.get("op") == "test":
            continue
        steps = [step.replace("~1", "/").replace("~0", "~") for step in str(operation.get("path", "")).split("/")[1:]]
        value = operation.get("value")
        if operation.get("op") in _RELOCATIONS:
            value = _MOVED
        nested: Any = value
        for step in reversed(steps):
            nested = {step: nested}
        if isinstance(nested, Mapping):
            yield ("json", index), nested
