"""Problems of the objects of a job in each environment, reported at lines of the job file.

    job.yaml:14:40: Service mnist: spec.ports[0].targetPort: the selected pods have no port cluster [object-links]

The rules check the values of a job. This module checks the objects, which the cluster receives, and searches for the
path in the job that sets a faulty field. A field of an entry of `objects`, and a field that a patch sets, have the same
path in the job. For a field with a hole, the object graph names the keys of the job that set the value. Each other
field comes from a part of the job in the syntax of Kubernetes, such as a sidecar, whose path ends with the same steps
as the path in the object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.check.manifests import Manifest, literal_manifests
from tfgen.check.namespace import namespace_faults
from tfgen.check.object_links import OBJECT_LINKS, ObjectFault, Objects, find_contradictions
from tfgen.check.object_rules import Destination
from tfgen.check.object_schemas import OBJECT_SCHEMA, ObjectSchemas
from tfgen.check.object_table import SUMMARIES, TABLE
from tfgen.data_path import Path
from tfgen.errors import Place, Problem, Severity, in_order
from tfgen.graph.field_keys import JOB_NAME, keys_at, keys_of_fields
from tfgen.graph.graph import BuiltJob
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import OBJECT_MAX, Object, literal_name
from tfgen.kubernetes.pods import FieldPath
from tfgen.rails.carried import find_pod_overrides
from tfgen.rails.enforce import blocks, find_foreign_images, literal_path
from tfgen.rails.limits import find_over_limits
from tfgen.record import EMPTY
from tfgen.text.document import Document, YamlNode
from tfgen.words import in_environments, listed, path_name

OBJECT_SIZE: Final = "object-size"

RULES: Final[Mapping[str, str]] = {
    OBJECT_LINKS: "Two objects of a job contradict each other.",
    OBJECT_SIZE: "An object of a job is larger than a cluster can store.",
    OBJECT_SCHEMA: "An object of a job does not match its schema.",
    **SUMMARIES,
}
"""The summary of each rule, which begins the section of the rule in docs/rules.md."""

_ObjectsByFault: TypeAlias = dict[tuple[Place, str, str, Severity], dict[str, list[str | None]]]
"""For each fault, the environments in which each object has the fault.

Example: {(place, "spec.selector: the selector matches no pod of the job", "object-links", "error"): {"Service mnist":
["dev"]}}. The name of the object is empty if the message names a path of the job instead.
"""

_POD_SECURITY: Final = "pod-security"
"""A rule for objects. A guard rail does not report the same field again."""

_MAX_NAMES: Final = 3
"""Maximum number of objects that a message names."""

_MAX_EXPANSION: Final = 4
"""Maximum number of bytes in JSON for one character in the result of `repr`. An emoji, for example, has 4 bytes."""

_QUOTED: Final = re.compile(r"'([^']+)'")
"""Pattern of a quoted key in a message of the schema validator."""

_MIN_COMMON_STEPS: Final = 2
"""Minimum number of equal last steps for which tfgen relates a path in an object to a path in the job."""


def check_objects(
    document: Document,
    built: BuiltJob,
    schemas: ObjectSchemas,
    manifests: Sequence[Manifest] = (),
) -> tuple[Problem, ...]:
    """Return the problems of the objects of a job.

    A fault that several objects or environments have is a single problem, which names the objects and the environments.

    Args:
        document: the job.
        built: the objects of the job.
        schemas: the schemas that validate the objects.
        manifests: the quotas, limit ranges and network policies of the repository.
    """
    objects_by_fault: _ObjectsByFault = {}
    texts = frozenset(text for _, text in data_path.texts(document.data))
    job, origins = built.job, _Origins(document, built)
    destination = Destination(schemas.version, job.structure.profile, job.gitops is not None)
    variants = [
        # A job with environments is not applied itself, so no namespace restricts the base objects.
        (None, job.values, built.base, job.namespace, () if job.environments else manifests),
        *(
            (item.name, item.values, built.environments[item.name], item.namespace, manifests)
            for item in job.environments
            if item.name in built.environments
        ),
    ]
    # Many environments have the same objects, so cache the faults by the objects, and by the single object.
    faults_by_objects: dict[tuple[int, ...], Sequence[ObjectFault]] = {}
    faults_by_item: dict[int, Sequence[ObjectFault]] = {}
    for environment, values, by_name, namespace, restrictions in variants:
        minimum = (values.get("gang") or {}).get("minAvailable") or 0
        generated = tuple(item for item in by_name.values() if literal_name(item) is None)
        literals = tuple(item for item in by_name.values() if literal_name(item) is not None)
        objects = Objects(generated, texts, minimum, literals)
        for item in by_name.values():
            if id(item) not in faults_by_item:
                in_fields = TABLE.faults(item, destination)
                faults_by_item[id(item)] = [*schemas.faults(item), *_too_large(item), *in_fields]
        key = (minimum, *map(id, by_name.values()))
        if key not in faults_by_objects:
            of_items = (fault for item in (*generated, *literals) for fault in faults_by_item[id(item)])
            faults_by_objects[key] = [*find_contradictions(objects), *of_items]
        restrictions = (*restrictions, *literal_manifests(document.file, literals, namespace))
        for fault in (*faults_by_objects[key], *namespace_faults(objects, restrictions, namespace)):
            place, message, name, variant = _report(origins, environment, fault)
            names = objects_by_fault.setdefault((place, message, fault.rule, fault.severity), {})
            names.setdefault(name, []).append(variant)
    problems = [*_problems(objects_by_fault)]
    refused = {problem.place for problem in problems if problem.rule == _POD_SECURITY}
    guarded = (problem for problem in check_guard_rails(document, built) if problem.place not in refused)
    return in_order((*guarded, *problems))


def check_guard_rails(document: Document, built: BuiltJob) -> tuple[Problem, ...]:
    """Check the objects of a job against the enforced values and limits of its tfgen.yaml files.

    Args:
        document: the job.
        built: the objects, built by the running tfgen, or read from the committed files.
    """
    locate = _Origins(document, built).find
    overrides = find_pod_overrides(document, built, locate)
    return in_order((*find_foreign_images(document, built), *overrides, *find_over_limits(document, built)))


# -- words and lines of problems -----------------------------------------------------------------------------------


def _report(origins: _Origins, environment: str | None, fault: ObjectFault) -> tuple[Place, str, str, str | None]:
    """Return the line and the message of a fault, the object that the message names, and the environment to name.

    A message of a rule for a single field names the path in the job, and not the object. Such a message names no
    environment at a line inside the mapping of the environment.
    """
    document = origins.document
    name = f"{fault.item['kind']} {fault.item['metadata']['name']}"
    field = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault.path).lstrip(".")
    description = ": ".join(part for part in (field, fault.message) if part)
    if fault.rule == OBJECT_SIZE:
        path = _largest_part(document, environment)
        return Place(document.source(path), document.key(path)), description, name, environment
    key = ("spec", *fault.job_key.split(".")) if fault.job_key else ()
    origin: Path | None = key
    if not key or not data_path.has(document.data, key):
        origin = origins.find(environment, fault.item, fault.path, fault.message)
    if origin is not None:
        place = document.place(origin)
    elif environment is not None and "environments" in document.data["spec"]:
        place = document.place(("spec", "environments", environment))
    else:
        place = document.place(("metadata", "name"))
    if origin is None or fault.job_key is None:
        return place, description, name, environment
    is_in_environment = origin[1:2] == ("environments",)
    path = origin[3:] if is_in_environment else origin[origin[0] == "spec" :]
    return place, f"{path_name(path)}: {fault.message}", "", None if is_in_environment else environment


def _problems(objects_by_fault: _ObjectsByFault) -> Iterator[Problem]:
    """Yield a problem for each fault, with the names of the objects that have the fault.

    If the job without an environment has the fault, the message names only the objects of the job without an
    environment.
    """
    for (place, message, rule, severity), environments in objects_by_fault.items():
        of_job = [name for name, variants in environments.items() if None in variants]
        subject = "" if "" in environments else f"{listed(of_job or [*environments], _MAX_NAMES)}: "
        where = in_environments(variant for variants in environments.values() for variant in variants)
        yield Problem(*place, f"{subject}{message}{where}", rule, severity)


def _too_large(item: Object) -> Iterator[ObjectFault]:
    if len(repr(item)) * _MAX_EXPANSION <= OBJECT_MAX:
        return  # The condition is true for almost all objects, and faster than a conversion to JSON.
    size = len(json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode())
    if size > OBJECT_MAX:
        message = (
            f"the object has {size:,} bytes, but etcd stores at most {OBJECT_MAX:,}; move long texts to "
            "files, with spec.code or with a ConfigMap in spec.storage"
        )
        yield ObjectFault(item, (), message, OBJECT_SIZE)


def _largest_part(document: Document, environment: str | None) -> Path:
    """Return the path of the most deeply nested value that contains more than half of the job's text.

    The value probably makes an object too large.
    """
    spec = document.data["spec"]
    path: Path = ("spec",)
    part: Any = {**spec, "environments": {}}
    variant_data = data_path.at(spec, ("environments", environment)) if environment is not None else None
    if variant_data and _text_size(variant_data) * 2 > _text_size(part):
        path, part = ("spec", "environments", str(environment)), variant_data
    while isinstance(part, Mapping | list) and part:
        items = part.items() if isinstance(part, Mapping) else enumerate(part)
        key, largest = max(items, key=lambda item: _text_size(item[1]))
        if _text_size(largest) * 2 <= _text_size(part):
            break
        path, part = (*path, key), largest
    return path


def _text_size(part: Any) -> int:
    return sum(len(text) for _, text in data_path.texts(part))


# -- origins of fields ---------------------------------------------------------------------------------------------


class _Origins:
    """The search for the paths in one job that set the fields of the objects."""

    def __init__(self, document: Document, built: BuiltJob) -> None:
        self.document = document
        self._built = built
        self._keys_of_items: dict[tuple[str | None, str], Mapping[Path, frozenset[Path]]] = {}

    def find(self, environment: str | None, item: Object, path: FieldPath, message: str) -> Path | None:
        """Return the path in the job that sets a field of an object, or the common parent of several such paths.

        Args:
            environment: the environment of the object; None for the job without an environment.
            item: the object.
            path: the path of the field in the object.
            message: the message about the field. A key that the message quotes may be the faulty field.
        """
        document = self.document
        if (name := literal_name(item)) is not None:
            return literal_path(document, environment, ("objects", name, *path))
        # The validator reports an unknown field at its parent, and quotes the field.
        quoted = _QUOTED.findall(message)
        if (patched := _in_patch(document, environment, item["kind"], quoted, path)) is not None:
            return patched
        keys_of_item = self._keys(environment, item)
        for field in (*((*path, key) for key in quoted), path):
            holes = _written_keys(document, environment, keys_at(keys_of_item, item, field))
            matches = _longest_matches(document, environment, item, field)
            nested = [match for match in matches if not holes or any(match[: len(hole)] == hole for hole in holes)]
            equal = [match for match in nested if _value(document.data, match) == _value(item, field)]
            if equal and len({match[:-1] for match in equal}) == 1:
                return equal[-1]  # Of two equal items in a list, the last item is the mistake.
            if len(data_path.shared(equal or nested)) > 1 or holes:
                return _common(equal or nested or holes)
        for end in range(len(path), 0, -1):
            if holes := _nearest_keys(document, environment, keys_at(keys_of_item, item, path[:end])):
                return _common(holes)
        return None

    def _keys(self, environment: str | None, item: Object) -> Mapping[Path, frozenset[Path]]:
        """Return the keys of the job that set each field of an object; empty for an object that is not in the graph."""
        objects = self._built.base if environment is None else self._built.environments[environment]
        name = next((name for name, candidate in objects.items() if candidate is item), None)
        if name is None:
            return EMPTY
        if (environment, name) not in self._keys_of_items:
            self._keys_of_items[environment, name] = keys_of_fields(self._built, environment, name)
        return self._keys_of_items[environment, name]


def _in_patch(
    document: Document, environment: str | None, kind: str, quoted: Sequence[str], field: FieldPath
) -> Path | None:
    """Return the path in a patch of the job that sets the faulty field; None if no patch sets the field.

    The faulty field is `field`, or a key of this field that the message quotes, such as an unknown key.
    """
    parent = tuple(map(str, field))
    for base in blocks(environment):
        for name, patch in (data_path.at(document.data, (*base, "patches")) or {}).items():
            if patch is None or data_path.at(patch, ("target", "kind")) != kind:
                continue
            path = (*base, "patches", name)
            for merged in (*((*field, key) for key in quoted), field):
                if merged and data_path.has(patch, ("merge", *merged)):
                    return (*path, "merge", *merged)
            for index, operation in enumerate(data_path.at(patch, ("json",)) or ()):
                steps = tuple(str(operation.get("path", "")).split("/")[1:])
                if steps[: len(parent)] == parent and (steps == parent or steps[-1] in quoted):
                    return (*path, "json", index)
    return None


def _written_keys(document: Document, environment: str | None, keys_of_field: frozenset[Path]) -> list[Path]:
    """Return the keys that set a field of an object, at their places in the job. Omit defaults.

    For an environment, omit also the name of the job, because the line of the environment is more helpful.
    """
    written: list[Path] = []
    for path in keys_of_field:
        places = [(*block, *path[1:]) for block in blocks(environment)]
        if path == JOB_NAME:
            places = [path] if environment is None else []
        written += [place for place in places if data_path.has(document.data, place)][:1]
    longest = max(map(len, written), default=0)
    return sorted((path for path in written if len(path) == longest), key=str)


def _nearest_keys(document: Document, environment: str | None, keys_of_field: frozenset[Path]) -> list[Path]:
    """Return the keys that set a field of an object. If the job writes no such key, return their nearest parents."""
    while keys_of_field:
        if written := _written_keys(document, environment, keys_of_field):
            return written
        keys_of_field = frozenset(path[:-1] for path in keys_of_field if len(path) > _MIN_COMMON_STEPS)
    return []


def _common(paths: Sequence[Path]) -> Path:
    """Return the common parent of several paths, or the first path if the paths have no common key below `spec`."""
    common = data_path.shared(paths)
    return common if len(common) > 1 else paths[0]


def _longest_matches(document: Document, environment: str | None, item: Object, field: FieldPath) -> Sequence[Path]:
    """Return the paths in the job that end with the most steps of a field's path.

    For the field `spec.template.spec.nodeSelector.pool` of an object, for example, return the path of
    `spec.podTemplate.spec.nodeSelector.pool` in the job.
    """
    # The role or the component (such as TensorBoard) of the object; None for an object of all roles.
    all_labels = (data_path.at(item, (*path, "metadata", "labels")) or {} for path in ((), ("spec", "template")))
    role = next((labels[keys.COMPONENT] for labels in all_labels if keys.COMPONENT in labels), None)
    matches: list[Path] = []
    best = _MIN_COMMON_STEPS
    for path in _paths_of(document.root):
        if path[:1] != ("spec",) or not _is_of(path, environment, role):
            continue
        # All list indexes count as equal, because a list item may have different indexes in the job and in the object.
        pairs = zip(reversed(path), reversed(field), strict=False)
        equal = takewhile(lambda pair: pair[0] == pair[1] or all(isinstance(step, int) for step in pair), pairs)
        steps = sum(1 for _ in equal)
        if steps >= best and _has_same_names(document.data, path, item, field, steps):
            matches, best = [*(matches if steps == best else ()), path], steps
    return matches


def _has_same_names(data: Any, path: Path, item: Object, field: FieldPath, steps: int) -> bool:
    """Return True if no list item on a path of the job has another name than the item on the path of the object.

    Args:
        data: the data of the job.
        path: the path in the job.
        item: the object.
        field: the path in the object.
        steps: the number of equal last steps of the two paths.
    """
    for end in range(steps):
        if isinstance(path[len(path) - 1 - end], int):
            entries = (data_path.follow(data, path[: len(path) - end]), _value(item, field[: len(field) - end]))
            names = [entry.get("name") for entry in entries if isinstance(entry, Mapping)]
            if len(set(names)) > 1:
                return False
    return True


def _value(item: Any, field: FieldPath) -> Any:
    try:
        return data_path.follow(item, field)
    except (LookupError, TypeError):
        return None


def _is_of(path: Path, environment: str | None, role: str | None) -> bool:
    """Return True if the value at a path of a job can affect the objects of a role in an environment."""
    if path[1:2] == ("environments",):
        if path[2:3] != (environment,):
            return False
        path = path[2:]
    return path[1:2] != ("roles",) or role is None or path[2:3] in ((), (role,))


def _paths_of(tree: YamlNode, parent: Path = ()) -> Iterator[Path]:
    """Yield the path of each value in a tree, the path `parent` of the tree first."""
    yield parent
    for key, entry in tree.children.items():
        yield from _paths_of(entry.value, (*parent, key))
