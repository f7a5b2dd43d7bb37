"""Check that the objects of a job have the values that a tfgen.yaml enforces, wherever a value comes from.

    tfgen.yaml      enforce: [registry, spec.serviceAccountName, spec.nodeSelector]
                    spec: {serviceAccountName: training, nodeSelector: {pool: training}}

`CARRIED` lists the fields of a pod template that carry a key of the job. An entry of `objects` has no defaults, so each
of its pod templates must set each enforced value. A Workflow has no pod template, but sets fields of pods, such as
`serviceAccountName`. Such a field may be missing, but may not have a different value. A generated object must have the
same values as the object that tfgen generates without the parts of the job in the syntax of Kubernetes, such as
podTemplate and patches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, Final, NamedTuple, TypeAlias

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.errors import Place, Problem
from tfgen.graph.graph import BuiltJob, Objects, build
from tfgen.graph.naming import CONTAINER
from tfgen.kubernetes.object import Object, literal_name
from tfgen.kubernetes.pods import PROFILES
from tfgen.rails.enforce import (
    ENFORCED,
    ENVIRONMENTS,
    REGISTRY,
    SECURITY,
    Enforced,
    all_enforced,
    first_value,
    is_in_registry,
    literal_path,
)
from tfgen.rules.pod_parts import PodPart, child
from tfgen.rules.security import find_weak_fields
from tfgen.schema.kinds import ONLY_OF_ROLES, POD_KEYS
from tfgen.text.document import Document
from tfgen.words import in_environments, path_name, shown

Locate: TypeAlias = Callable[[str | None, Object, Path, str], Path | None]
"""Returns the path in the job that sets a field of an object. Arguments: environment, object, field and message."""

_MAIN: Final[Path] = ("spec", "containers", CONTAINER)
_METADATA: Final = ("labels", "annotations")
_OF_TASKS: Final = ("args", "command", "env", "envFrom", "image", "imagePullPolicy", "workingDir")
_CONTEXT: Final = "securityContext"

CARRIED: Final[Mapping[Path, tuple[Path, ...]]] = {
    **{(key,): (("metadata", key),) for key in _METADATA},
    **{(name,): (("spec", name),) for name in POD_KEYS if name not in ONLY_OF_ROLES},
    ("serviceAccountName",): (("spec", "serviceAccountName"), ("spec", "serviceAccount")),
    ("priorityClassName",): (("spec", "priorityClassName"), ("spec", "podPriorityClassName")),
    **{(key,): ((*_MAIN, key),) for key in _OF_TASKS},
    ("security", "fsGroup"): (("spec", _CONTEXT, "fsGroup"),),
    ("security", "hostUsers"): (("spec", "hostUsers"),),
    ("security", "readOnlyRootFilesystem"): ((*_MAIN, _CONTEXT, "readOnlyRootFilesystem"),),
    ("security", "runAsGroup"): (("spec", _CONTEXT, "runAsGroup"), (*_MAIN, _CONTEXT, "runAsGroup")),
    ("security", "runAsUser"): (("spec", _CONTEXT, "runAsUser"), (*_MAIN, _CONTEXT, "runAsUser")),
    ("security", "profile"): (),
}
"""The fields of a pod template, by the key of a job that sets the field. A field may have other names, such as the
deprecated `serviceAccount`. The function `_weak_fields` compares all fields that a Pod Security profile restricts."""

IN_JOB: Final = frozenset(
    (
        *("chart", "cloud", "code", "completion", "deadline", "environments", "gang", "gitops", "helpers"),
        *("initContainers", "legacyFlags", "legacyVariables", "lockWait", "network", "objects", "outputs", "patches"),
        *("placement", "podDisruptionBudget", "podTemplate", "port", "priorityClasses", "restart", "resumeFrom"),
        *("retries", "roles", "run", "serviceAccount", "shm", "sidecars", "spot", "startDeadline", "storage"),
        *("strategy", "tensorboard", "workload"),
    )
)
"""The keys of a job that tfgen compares only in the job, because no field of an object has the value of the key."""

_FREE: Final[tuple[Path, ...]] = (
    *((key,) for key in ("initContainers", "objects", "patches", "podTemplate", "priorityClasses", "sidecars")),
    ("gang", "priorityClassName"),
)
"""The keys of a job that may set a field of an object in place of an enforced key."""

_OPTIONAL: Final = ("podPriorityClassName", "serviceAccount", "tolerations")
"""Fields that a pod may omit: tolerations, which only add rights, and the other names of a field."""

_NESTED_METADATA: Final = ("metadata", "podMetadata")
_TEXT_KINDS: Final = ("ConfigMap", "Secret")
"""Kinds that contain texts and no pods."""

_ACCOUNT_SECRET: Final = "kubernetes.io/service-account-token"  # noqa: S105 -- the type of a Secret
_IDENTITY: Final = re.compile(r"(^|[./-])(iam|identity|vault)([./-]|$)|/role(-arn)?$|service-?account")
"""Pattern of the annotations by which an account or a pod gets an identity, such as eks.amazonaws.com/role-arn."""

_UNCONFINED: Final = re.compile(r"(container\.apparmor\.security\.beta|seccomp\.security\.alpha)\.kubernetes\.io/")


class _Requirement(NamedTuple):
    """An enforced field of each pod template, with its enforced value.

    Attributes:
        key: the key of the job.
        value: the enforced value; None for a field that no job may set.
    """

    field: Path
    key: Path
    value: Any
    place: Place


class _FieldFault(NamedTuple):
    """A wrong field of an object, and the message, which follows the path of the field in the job.

    Attributes:
        names_path: False if the message does not name the path.
        is_located: False if the message names the object instead of a path of the job.
    """

    path: Path
    message: str
    names_path: bool = True
    is_located: bool = True


def find_pod_overrides(document: Document, built: BuiltJob, locate: Locate) -> Iterator[Problem]:
    """Yield a problem for each field of an object that differs from an enforced value."""
    enforced = [*all_enforced(document.under)]
    if not enforced:
        return
    found: dict[tuple[Place, str], list[str | None]] = {}
    reference = _reference(document, built) if any(entry.path != REGISTRY for entry in enforced) else built
    allowed = {(path[-1], text) for entry in enforced for path, text in data_path.texts(entry.data.get("spec", {}))}
    # Most objects are the same Python object in many environments.
    shared: dict[tuple[int, Any], list[_FieldFault]] = {}
    for environment, items in (*built.environments.items(), (None, built.base)):
        requirements = [*_requirements(enforced, environment)]
        account = next((one for one in requirements if one.key == ("serviceAccountName",)), None)
        expected = reference.base if environment is None else reference.environments.get(environment, {})
        in_environments_only = {*found} if environment is None else set()
        for name, item in items.items():
            key = (id(item), account.value if account else None)
            if key not in shared:
                shared[key] = [*_weak_faults(item, enforced), *_priority_faults(item, expected, enforced)]
                shared[key] += _identity_faults(item, account, allowed) if account else ()
            faults = [*shared[key]]
            if literal_name(item) is not None:
                faults += _literal_faults(item, requirements, enforced)
            elif name in expected and expected[name] is not item:
                faults += _generated_faults(item, expected[name], requirements)
            for fault in faults:
                place, message = _report(document, environment, item, fault, locate)
                if (place, message) not in in_environments_only:
                    found.setdefault((place, message), []).append(environment)
    for (place, message), names in found.items():
        yield Problem(*place, message + in_environments(names), ENFORCED)


def _report(
    document: Document, environment: str | None, item: Object, fault: _FieldFault, locate: Locate
) -> tuple[Place, str]:
    name = literal_name(item)
    if name is not None:
        shown_path: Path = ("objects", name, *fault.path)
        place = document.place(literal_path(document, environment, shown_path))
        return place, f"{path_name(shown_path)}: {fault.message}" if fault.names_path else fault.message
    origin = locate(environment, item, fault.path, fault.message) if fault.is_located else None
    if origin is None:
        named = f"{item['kind']} {item['metadata']['name']}: {path_name(fault.path)}"
        return document.place(("metadata", "name")), f"{named}: {fault.message}"
    start = 3 if origin[:2] == ENVIRONMENTS else 1
    shown_path = origin[start:] if origin[start : start + 1] == ("patches",) else origin
    return document.place(origin), f"{path_name(shown_path)}: {fault.message}"


def _reference(document: Document, built: BuiltJob) -> BuiltJob:
    """Build the job without the keys `_FREE` that the job itself sets.

    Return `built` if the job sets no such key, or if `built` has the committed objects.
    """
    spec, layer = document.alone().data["spec"], document.under.data.get("spec", {}) if document.under else {}
    blocks: list[Path] = [(), *(("roles", role) for role in document.data["spec"]["roles"])]
    blocks += [("environments", name, *block) for name in spec.get("environments") or () for block in blocks]
    data = document.data
    for block in blocks:
        for path in ((*block, *keys) for keys in _FREE):
            if data_path.has(spec, path):
                value = data_path.at(layer, path)
                whole = ("spec", *path)
                data = data_path.with_value(data, whole, value) if value else data_path.without(data, whole)
    return built if data is document.data else build(data)


# -- enforced values -----------------------------------------------------------------------------------------------


def _requirements(enforced: list[Enforced], environment: str | None) -> Iterator[_Requirement]:
    for entry in enforced:
        path = entry.path
        if path[:2] == ENVIRONMENTS and path[2:3] != (environment,):
            continue
        keys = path[3:] if path[:2] == ENVIRONMENTS else path[1:]
        value = first_value(entry.data, ((*ENVIRONMENTS, environment or "", *keys), ("spec", *keys)))
        for key, fields in CARRIED.items() if keys else ():
            if keys[: len(key)] == key:
                below, enforced_value = keys[len(key) :], value
            elif key[: len(keys)] == keys and _covers(entry, value, key[len(keys) :]):
                below, enforced_value = (), data_path.at(value, key[len(keys) :])
            else:
                continue
            yield from (_Requirement((*field, *below), key, enforced_value, entry.place) for field in fields)


def _covers(entry: Enforced, value: Any, keys: Path) -> bool:
    if entry.excepted is not None:
        return not any(keys[: len(excepted)] == excepted for excepted in entry.excepted)
    return not value or data_path.has(value, keys)


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


def _words(actual: Any, requirement: _Requirement, expected: Any) -> str:
    found, place = "no value" if actual is None else shown(actual), requirement.place
    if requirement.key[0] == SECURITY[-1]:
        name = path_name(("spec", *requirement.key))
        rule = f"lets no job set {name}" if expected is None else f"enforces {name} {shown(expected)}"
        return f"found {found}, but {place} {rule}; remove the key"
    if expected is None:
        return f"found {found}, but {place} lets no job set the key; remove the key"
    return f"found {found}, but {place} enforces {shown(expected)}"


# -- entries of `objects` ------------------------------------------------------------------------------------------


def _literal_faults(item: Object, requirements: list[_Requirement], enforced: list[Enforced]) -> Iterator[_FieldFault]:
    shared = [one for one in requirements if CONTAINER not in one.field and one.key[0] != SECURITY[-1]]
    metadata = [requirement for requirement in shared if requirement.field[0] == "metadata"]
    yield from _template_faults({"metadata": item["metadata"]}, (), metadata, is_whole=False)
    if item["kind"] in _TEXT_KINDS:
        return
    registries = [(entry.data.get("registry"), entry.place) for entry in enforced if entry.path == REGISTRY]
    for path, part in _mappings({key: item[key] for key in item if key != "metadata"}, ()):
        has_template = isinstance(part.get("spec"), Mapping) and "containers" in part["spec"]
        if has_template or (not path and item["kind"] == "Pod"):
            template = {**part, "metadata": item["metadata"]} if not path else part
            yield from _template_faults(template, path, shared, is_whole=True)
        elif "containers" not in part:
            fields = {"spec": part, **({"metadata": part} if path[-1:] and path[-1] in _NESTED_METADATA else {})}
            yield from _template_faults(fields, path, shared, is_whole=False, wrapper_steps=1)
        volume = data_path.at(part, ("image", "reference"))
        image, where = (volume, (*path, "image", "reference")) if volume else (part.get("image"), (*path, "image"))
        for registry, place in registries:
            if registry and isinstance(image, str) and not is_in_registry(image, registry):
                message = f"the image {shown(image)} is not in the registry {registry}, which {place} enforces"
                yield _FieldFault(where, message, names_path=False)


def _mappings(value: Any, path: Path = ()) -> Iterator[PodPart]:
    """Yield each mapping in an object, with its path. Labels and annotations are left out."""
    if isinstance(value, Mapping):
        yield PodPart(path, value)
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list | tuple) else ()
    for key, part in items:
        if key not in _METADATA:
            yield from _mappings(part, (*path, key))


def _template_faults(
    template: Mapping[str, Any],
    path: Path,
    requirements: list[_Requirement],
    *,
    is_whole: bool,
    wrapper_steps: int = 0,
) -> Iterator[_FieldFault]:
    """Yield a fault for each field of a pod template in `objects` that differs from an enforced value.

    Args:
        template: the pod template, or a mapping with some fields of a pod template.
        path: the path of the template in the object.
        requirements: the enforced values.
        is_whole: True for a complete pod template, in which a missing field is a fault.
        wrapper_steps: the number of first steps that only `template` has, and not the object. Example: the caller wraps
            the fields of a Workflow as {"spec": fields}, and passes 1, so that the path of a fault does not contain
            this step `spec`.
    """
    for requirement in requirements:
        differences = _differences(template, requirement.field, requirement.value, is_whole=is_whole)
        for fault_path, actual, expected in differences:
            yield _FieldFault((*path, *fault_path[wrapper_steps:]), _words(actual, requirement, expected))


# -- generated objects ---------------------------------------------------------------------------------------------


def _generated_faults(item: Object, expected: Object, requirements: list[_Requirement]) -> Iterator[_FieldFault]:
    """Yield a fault for each enforced field that differs from the enforced value and from the object `expected`."""
    if item == expected:
        return
    expected_parts = {names: part for names, _, part in _named_parts(expected)}
    for names, path, part in _named_parts(item):
        other = expected_parts.get(names, {})
        is_main = names[-2:] == _MAIN[1:]
        for requirement in requirements:
            field = requirement.field
            if field[:3] == _MAIN:
                below = field[3:] if is_main else None
            elif field[0] == "metadata":
                below = field[1:] if path[-1:] == ("metadata",) else None
            else:
                below = field[1:] if path[-2:-1] not in (("containers",), ("initContainers",)) else None
            if below is None:
                continue
            for keys, value in data_path.leaves(requirement.value):
                actual = data_path.at(part, (*below, *keys))
                if actual not in (data_path.at(other, (*below, *keys)), value):
                    yield _FieldFault((*path, *below, *keys), _words(actual, requirement, value))


def _named_parts(value: Any, names: Path = (), path: Path = ()) -> Iterator[tuple[Path, Path, Mapping[str, Any]]]:
    """Yield each mapping in an object, with its path, in which names replace the indexes of lists, and with its path.

    In the mapping of a container, the variables are a mapping by name.
    """
    if isinstance(value, Mapping):
        variables: Any = value.get("env")
        is_list = isinstance(variables, list | tuple)
        yield names, path, {**value, "env": {entry.get("name"): entry for entry in variables}} if is_list else value
        for key, part in value.items():
            yield from _named_parts(part, (*names, key), (*path, key))
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            name = part.get("name", index) if isinstance(part, Mapping) else index
            yield from _named_parts(part, (*names, name), (*path, index))


# -- identity, priority and profile --------------------------------------------------------------------------------


def _identity_faults(item: Object, account: _Requirement, allowed: Set[tuple[str | int, str]]) -> Iterator[_FieldFault]:
    """Yield a fault for each part of an object that gives pods a different identity than the enforced account.

    Args:
        item: the object.
        account: the enforced account.
        allowed: the texts that the tfgen.yaml sets, with their keys.
    """
    is_literal = literal_name(item) is not None
    if is_literal and item["kind"] == "ServiceAccount" and item["metadata"]["name"] == (account.value or "default"):
        message = f"found the account {item['metadata']['name']}, which {account.place} enforces; remove the object"
        yield _FieldFault(("metadata", "name"), message)
    for part in _mappings(item):
        if is_literal and part.data.get("type") == _ACCOUNT_SECRET:
            message = (
                f"found {shown(_ACCOUNT_SECRET)}, the token of an account, but {account.place} enforces the account"
            )
            yield _FieldFault((*part.path, "type"), f"{message}; remove the object")
        is_owner = part.path == ("metadata",) and item["kind"] not in ("ServiceAccount", "Pod")
        is_metadata = part.path[-1:] and part.path[-1] in _NESTED_METADATA
        for notes in child(part, "annotations") if is_metadata and not is_owner else ():
            for key, value in notes.data.items():
                if _IDENTITY.search(key) and (key, value) not in allowed:
                    message = f"found {shown(value)}, an identity of pods, but {account.place} enforces the account"
                    yield _FieldFault((*notes.path, key), f"{message}; remove the key")


def _priority_faults(item: Object, expected: Objects, enforced: list[Enforced]) -> Iterator[_FieldFault]:
    """Yield a fault for a PriorityClass that the tfgen.yaml does not set, if the tfgen.yaml enforces the priority."""
    if item["kind"] != "PriorityClass" or (literal_name(item) is None and item in expected.values()):
        return
    for entry in enforced:
        if entry.path[-1] == "priorityClassName":
            message = f"a PriorityClass changes the priority of pods, but {entry.place} enforces "
            yield _FieldFault(("value",), f"{message}{path_name(entry.path)}; remove the object")


def _weak_faults(item: Object, enforced: list[Enforced]) -> Iterator[_FieldFault]:
    """Yield a fault for each field of an object that needs a weaker Pod Security profile than the enforced profile.

    A field of a generated object may come from a part of the job, or from committed overlays that an earlier guard rail
    allowed, or that a user edited.
    """
    is_literal = literal_name(item) is not None
    for entry in enforced:
        if entry.path[:2] != SECURITY or entry.path[2:] not in ((), ("profile",)) or item["kind"] in _TEXT_KINDS:
            continue
        profile = data_path.at(entry.data, (*SECURITY, "profile")) or "restricted"
        for part in _mappings(item):
            for field in find_weak_fields(part):
                if PROFILES.index(field.profile) > PROFILES.index(profile):
                    words = (
                        f"{field.description} needs the profile {field.profile}, but {entry.place} enforces {profile}"
                    )
                    yield _FieldFault(field.path, words, is_located=is_literal)
            for notes in child(part, "annotations") if profile != "privileged" else ():
                for key, value in notes.data.items():
                    if _UNCONFINED.match(key) and value == "unconfined":
                        words = f"found {shown(value)}, which needs the profile privileged, but {entry.place} enforces "
                        yield _FieldFault((*notes.path, key), f"{words}{profile}")
