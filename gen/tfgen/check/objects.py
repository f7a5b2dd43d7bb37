"""Problems of the objects of a job in each environment, reported at lines of the job file.

    job.yaml:14:40: Service mnist: spec.ports[0].targetPort: the selected pods have no port cluster [object-links]

The rules check the values of a job. This module checks the objects, which the cluster receives.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.check.enforced import find_foreign_images
from tfgen.check.enforced_pods import find_pod_overrides
from tfgen.check.limits import find_over_limits
from tfgen.check.manifests import Manifest, literal_manifests
from tfgen.check.namespace import namespace_faults
from tfgen.check.object_checks import faults
from tfgen.check.object_checks.fault import Fault, Objects
from tfgen.check.object_rules import table
from tfgen.check.object_rules.row import Destination, RuleFault
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.origin import Origins
from tfgen.data_path import Path
from tfgen.graph.built import BuiltJob
from tfgen.kubernetes.limits import OBJECT_MAX
from tfgen.kubernetes.object import Object, literal_name
from tfgen.problems import Place, Problem, Severity, in_order
from tfgen.text.document import Document
from tfgen.words import either, in_environments, path_name

OBJECT_LINKS: Final = "object-links"
OBJECT_SCHEMA: Final = "object-schema"
OBJECT_SIZE: Final = "object-size"

RULES: Final[Mapping[str, str]] = {
    OBJECT_LINKS: "Two objects of a job contradict each other.",
    OBJECT_SIZE: "An object of a job is larger than a cluster can store.",
    OBJECT_SCHEMA: "An object of a job does not match its schema.",
    **table.SUMMARIES,
}
"""The summary of each rule, which begins the section of the rule in docs/rules.md."""

_ObjectsByFault: TypeAlias = dict[tuple[Place, str, str, Severity], dict[str, list[str | None]]]
"""For each fault, the environments in which each object has the fault.

Example: {(place, "spec.selector: the selector matches no pod of the job", "object-links", "error"): {"Service mnist":
["dev"]}}. The name of the object is empty if the message names a path of the job instead.
"""

_MAX_NAMES: Final = 3
"""Maximum number of objects that a message names."""

_MAX_EXPANSION: Final = 4
"""Maximum number of bytes in JSON for one character in the result of `repr`. An emoji, for example, has 4 bytes."""


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
    job, origins = built.job, Origins(document, built)
    destination = Destination(schemas.version, job.structure.profile, job.gitops is not None)
    variants = [
        # A job with environments is not applied itself, so no namespace restricts the base objects.
        (None, job.values, built.base.values(), job.namespace, () if job.environments else manifests),
        *(
            (item.name, item.values, built.environments[item.name].values(), item.namespace, manifests)
            for item in job.environments
            if item.name in built.environments
        ),
    ]
    # Many environments have the same objects, so cache the faults by the objects, and by the single object.
    faults_by_objects: dict[tuple[int, ...], Sequence[RuleFault]] = {}
    faults_by_item: dict[int, Sequence[RuleFault]] = {}
    for environment, values, items, namespace, restrictions in variants:
        minimum = (values.get("gang") or {}).get("minAvailable") or 0
        objects = _objects_of(items, texts, minimum)
        key = (minimum, *map(id, items))
        if key not in faults_by_objects:
            faults_by_objects[key] = _find_faults(objects, schemas, destination, faults_by_item)
        restrictions = (*restrictions, *literal_manifests(document.file, objects.literals, namespace))
        in_namespace = namespace_faults(objects, restrictions, namespace)
        for rule_fault in (
            *faults_by_objects[key],
            *(RuleFault(rule, "warning", fault) for rule, fault in in_namespace),
        ):
            place, message, name, variant = _report(origins, environment, rule_fault)
            names = objects_by_fault.setdefault((place, message, rule_fault.rule, rule_fault.severity), {})
            names.setdefault(name, []).append(variant)
    return in_order((*check_guard_rails(document, built), *_problems(objects_by_fault)))


def _report(origins: Origins, environment: str | None, rule_fault: RuleFault) -> tuple[Place, str, str, str | None]:
    """Return the line and the message of a fault, the object that the message names, and the environment to name.

    A message of a rule for a single field names the path in the job, and not the object. Such a message names no
    environment at a line inside the mapping of the environment.
    """
    document, fault = origins.document, rule_fault.fault
    name = f"{fault.item['kind']} {fault.item['metadata']['name']}"
    if rule_fault.rule == OBJECT_SIZE:
        return _place_of_key(document, _largest_part(document, environment)), _describe(fault), name, environment
    key = ("spec", *rule_fault.row.key.split(".")) if rule_fault.row and rule_fault.row.key else ()
    origin = key if key and data_path.has(document.data, key) else origins.find(environment, fault)
    if origin is not None:
        place = document.place(origin)
    elif environment is not None and "environments" in document.data["spec"]:
        place = document.place(("spec", "environments", environment))
    else:
        place = document.place(("metadata", "name"))
    if origin is None or rule_fault.row is None:
        return place, _describe(fault), name, environment
    is_in_environment = origin[1:2] == ("environments",)
    path = origin[3:] if is_in_environment else origin[origin[0] == "spec" :]
    return place, f"{path_name(path)}: {fault.message}", "", None if is_in_environment else environment


def check_guard_rails(document: Document, built: BuiltJob) -> tuple[Problem, ...]:
    """Check the objects of a job against the enforced values and limits of its tfgen.yaml files.

    Args:
        document: the job.
        built: the objects, built by the running tfgen, or read from the committed files.
    """
    guarded = (
        *find_foreign_images(document, built),
        *find_pod_overrides(document, built),
        *find_over_limits(document, built),
    )
    return in_order(guarded)


def _problems(objects_by_fault: _ObjectsByFault) -> Iterator[Problem]:
    """Yield a problem for each fault, with the names of the objects that have the fault."""
    for (place, message, rule, severity), names in objects_by_fault.items():
        subject = "" if "" in names else f"{_objects(names)}: "
        yield Problem(*place, f"{subject}{message}{_where(names)}", rule, severity)


def _objects_of(items: Iterable[Object], texts: frozenset[str], minimum: int) -> Objects:
    """Return the objects of one variant.

    Args:
        items: the objects.
        texts: all texts in the job, as in `Objects`.
        minimum: the minimum size of the gang that the job sets, or 0.
    """
    items = [*items]
    generated = tuple(item for item in items if literal_name(item) is None)
    literals = tuple(item for item in items if literal_name(item) is not None)
    return Objects(generated, texts, minimum, literals)


def _find_faults(
    objects: Objects, schemas: ObjectSchemas, destination: Destination, faults_by_item: dict[int, Sequence[RuleFault]]
) -> Sequence[RuleFault]:
    """Return the faults of the objects of one variant. The caller adds the faults that depend on the namespace.

    Args:
        objects: the objects.
        schemas: the schemas that validate the objects.
        destination: the cluster that gets the objects.
        faults_by_item: a cache that the function fills. The key is the `id()` of an object, and the value lists the
            faults of this object alone. Many variants have the same object, so tfgen validates the object only once.
    """
    for item in (*objects.items, *objects.literals):
        if id(item) not in faults_by_item:
            faults_by_item[id(item)] = [
                *(RuleFault(OBJECT_SCHEMA, "error", fault) for fault in schemas.faults(item)),
                *(RuleFault(OBJECT_SIZE, "error", fault) for fault in _too_large(item)),
                *table.TABLE.faults(item, destination),
            ]
    links = (RuleFault(OBJECT_LINKS, "error", fault) for fault in faults(objects))
    return [*links, *(fault for item in (*objects.items, *objects.literals) for fault in faults_by_item[id(item)])]


def _too_large(item: Object) -> Iterator[Fault]:
    if len(repr(item)) * _MAX_EXPANSION <= OBJECT_MAX:
        return  # The condition is true for almost all objects, and faster than a conversion to JSON.
    size = len(json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode())
    if size > OBJECT_MAX:
        message = (
            f"the object has {size:,} bytes, but etcd stores at most {OBJECT_MAX:,}; move long texts to "
            "files, with spec.code or with a ConfigMap in spec.storage"
        )
        yield Fault(item, (), message)


def _place_of_key(document: Document, path: Path) -> Place:
    return Place(document.source(path), document.key(path))


def _largest_part(document: Document, environment: str | None) -> Path:
    """Return the path of the most deeply nested value that contains more than half of the job's text.

    The value probably makes an object too large.
    """
    spec = document.data["spec"]
    variant_data = data_path.at(spec, ("environments", environment)) if environment is not None else None
    if variant_data and _text_size(variant_data) * 2 > _text_size({**spec, "environments": {}}):
        path: Path = ("spec", "environments", str(environment))
        part: Any = variant_data
    else:
        path, part = ("spec",), {**spec, "environments": {}}
    while isinstance(part, Mapping | list) and part:
        items = part.items() if isinstance(part, Mapping) else enumerate(part)
        key, largest = max(items, key=lambda item: _text_size(item[1]))
        if _text_size(largest) * 2 <= _text_size(part):
            break
        path, part = (*path, key), largest
    return path


def _text_size(part: Any) -> int:
    return sum(len(text) for _, text in data_path.texts(part))


def _describe(fault: Fault) -> str:
    field = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault.path).lstrip(".")
    return ": ".join(part for part in (field, fault.message) if part)


def _objects(environments_by_name: Mapping[str, Sequence[str | None]]) -> str:
    """Return the names of the objects with a fault, for a message, such as `StatefulSet mnist-ps and Service mnist`.

    If the job without an environment has the fault, the text names only the objects of the job without an environment.

    Args:
        environments_by_name: the environments in which each object has the fault, by the kind and name of the object.
            Example: {"Service mnist": [None, "prod"]}. None is the job without an environment.
    """
    names = [name for name, environments in environments_by_name.items() if None in environments] or [
        *environments_by_name
    ]
    additional = len(names) - _MAX_NAMES
    return either(names, "and") if additional <= 0 else f"{', '.join(names[:_MAX_NAMES])} and {additional} more"


def _where(environments_by_name: Mapping[str, Sequence[str | None]]) -> str:
    return in_environments(name for environments in environments_by_name.values() for name in environments)
