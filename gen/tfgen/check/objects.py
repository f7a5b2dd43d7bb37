"""Problems of the objects of a job in each environment, reported at lines of the job file.

    job.yaml:14:40: Service mnist: spec.ports[0].targetPort: the selected pods have no port cluster [object-links]

The rules check the values of a job. This module checks the objects, which the cluster receives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tfgen import data_path
from tfgen.check.admission.folder import NO_POLICIES, PolicyFolders, folders_of
from tfgen.check.admission.rules import WARNINGS as POLICY_WARNINGS
from tfgen.check.early_fields import find_early_fields
from tfgen.check.enforced import find_foreign_images
from tfgen.check.enforced_pods import find_pod_overrides
from tfgen.check.limits import find_over_limits
from tfgen.check.literal_path import literal_path
from tfgen.check.manifests import Manifest, literal_manifests
from tfgen.check.namespace import RULES as NAMESPACE_RULES
from tfgen.check.namespace import namespace_faults
from tfgen.check.object_checks import faults
from tfgen.check.object_checks.fault import Fault, FieldPath, Objects
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.data_path import Path
from tfgen.graph.built import BuiltJob, variant_objects
from tfgen.kubernetes import keys
from tfgen.kubernetes.limits import OBJECT_MAX
from tfgen.kubernetes.object import Object, literal_name
from tfgen.problems import Place, Problem, Severity, in_order
from tfgen.text.document import Document, SourceTree
from tfgen.words import either, in_environments

if TYPE_CHECKING:
    from tfgen.check.admission.admit import PolicyFault

OBJECT_LINKS: Final = "object-links"
OBJECT_SCHEMA: Final = "object-schema"
OBJECT_SIZE: Final = "object-size"

RULES: Final[Mapping[str, str]] = {
    OBJECT_LINKS: "Two objects of a job contradict each other.",
    OBJECT_SIZE: "An object of a job is larger than a cluster can store.",
    OBJECT_SCHEMA: "An object of a job does not match its schema.",
}
"""The summary of each rule, which begins the section of the rule in docs/rules.md."""

_ObjectsByFault: TypeAlias = dict[tuple[Place, str, str], dict[str, list[str | None]]]
"""For each fault, the environments in which each object has the fault.

Example: {(place, "spec.selector: the selector matches no pod of the job", "object-links"): {"Service mnist": ["dev"]}}.
"""

_MAX_NAMES: Final = 3
"""Maximum number of objects that a message names."""

_QUOTED: Final = re.compile(r"'([^']+)'")
"""Pattern of a quoted key in a message of the schema validator."""

_MIN_COMMON_STEPS: Final = 2
"""Minimum number of equal last steps for which tfgen relates a path in an object to a path in the job."""

_MAX_EXPANSION: Final = 4
"""Maximum number of bytes in JSON for one character in the result of `repr`. An emoji, for example, has 4 bytes."""


def check_objects(
    document: Document,
    built: BuiltJob,
    schemas: ObjectSchemas,
    manifests: Sequence[Manifest] = (),
    policies: PolicyFolders = NO_POLICIES,
) -> tuple[Problem, ...]:
    """Return the problems of the objects of a job.

    A fault that several objects or environments have is a single problem, which names the objects and the environments.

    Args:
        document: the job.
        built: the objects of the job.
        schemas: the schemas that validate the objects.
        manifests: the quotas, limit ranges and network policies of the repository.
        policies: the admission policies of the repository.
    """
    objects_by_fault: _ObjectsByFault = {}
    texts = frozenset(text for _, text in data_path.texts(document.data))
    job = built.job
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
    faults_by_objects: dict[tuple[int, ...], tuple[Objects, Sequence[tuple[str, Fault]]]] = {}
    faults_by_item: dict[int, Sequence[tuple[str, Fault]]] = {}
    for environment, values, items, namespace, restrictions in variants:
        minimum = (values.get("gang") or {}).get("minAvailable") or 0
        key = (minimum, *map(id, items))
        if key not in faults_by_objects:
            faults_by_objects[key] = _find_faults(tuple(items), texts, minimum, schemas, faults_by_item)
        objects, object_faults = faults_by_objects[key]
        restrictions = (*restrictions, *literal_manifests(document.file, objects.literals, namespace))
        for rule, fault in (*object_faults, *namespace_faults(objects, restrictions, namespace)):
            if rule == OBJECT_SIZE:
                place = _place_of_key(document, _largest_part(document, environment))
            else:
                place = _place(document, environment, fault)
            name = f"{fault.item['kind']} {fault.item['metadata']['name']}"
            objects_by_fault.setdefault((place, _describe(fault), rule), {}).setdefault(name, []).append(environment)
    early = find_early_fields(document, _paths(document.root), schemas.version, OBJECT_SCHEMA)
    return in_order((*early, *check_guard_rails(document, built, policies), *_problems(objects_by_fault)))


def check_guard_rails(
    document: Document, built: BuiltJob, policies: PolicyFolders = NO_POLICIES
) -> tuple[Problem, ...]:
    """Check the objects of a job against the enforced values, limits and policies of its tfgen.yaml files.

    Args:
        document: the job.
        built: the objects, built by the running tfgen, or read from the committed files.
        policies: the admission policies of the repository.
    """
    guarded = (
        *find_foreign_images(document, built),
        *find_pod_overrides(document, built),
        *find_over_limits(document, built),
        *(_policy_problems(document, built, policies) if folders_of(document, policies) else ()),
    )
    return in_order(guarded)


def _policy_problems(document: Document, built: BuiltJob, policies: PolicyFolders) -> Iterator[Problem]:
    """Yield the problems that admission policies find in the objects of a job."""
    from tfgen.check.admission.admit import find_policy_faults, find_policy_problems  # 3 ms, which most jobs save

    job = built.job
    objects_by_fault: _ObjectsByFault = {}
    yield from find_policy_problems(document, policies)
    variants = [(item.name, item.namespace) for item in job.environments if item.name in built.environments]
    for environment, namespace in variants if job.environments else [(None, job.namespace)]:
        items = variant_objects(built, environment)
        for verdict in find_policy_faults(document, policies, items, namespace):
            if isinstance(verdict, Problem):
                yield verdict
                continue
            place = _place_of_policy(document, environment, verdict)
            name = f"{verdict.item['kind']} {verdict.item['metadata']['name']}"
            names = objects_by_fault.setdefault((place, verdict.message, verdict.rule), {})
            names.setdefault(name, []).append(environment)
    yield from _problems(objects_by_fault)


def _problems(objects_by_fault: _ObjectsByFault) -> Iterator[Problem]:
    """Yield a problem for each fault, with the names of the objects that have the fault."""
    for (place, message, rule), names in objects_by_fault.items():
        yield Problem(*place, f"{_objects(names)}: {message}{_where(names)}", rule, _severity(rule))


def _find_faults(
    items: Sequence[Object],
    texts: frozenset[str],
    minimum: int,
    schemas: ObjectSchemas,
    faults_by_item: dict[int, Sequence[tuple[str, Fault]]],
) -> tuple[Objects, Sequence[tuple[str, Fault]]]:
    """Return the objects of one variant, and each fault of the objects with the id of its rule.

    The caller adds the faults that depend on the namespace.

    Args:
        items: the objects.
        texts: all texts in the job, as in `Objects`.
        minimum: the minimum size of the gang that the job sets, or 0.
        schemas: the schemas that validate the objects.
        faults_by_item: a cache that the function fills. The key is the `id()` of an object, and the value lists the
            faults of this object alone. Many variants have the same object, so tfgen validates the object only once.
    """
    generated = tuple(item for item in items if literal_name(item) is None)
    literals = tuple(item for item in items if literal_name(item) is not None)
    objects = Objects(generated, texts, minimum, literals)
    for item in items:
        if id(item) not in faults_by_item:
            schema_faults = ((OBJECT_SCHEMA, fault) for fault in schemas.faults(item))
            faults_by_item[id(item)] = [*schema_faults, *((OBJECT_SIZE, fault) for fault in _too_large(item))]
    links = ((OBJECT_LINKS, fault) for fault in faults(objects))
    return objects, [*links, *(fault for item in items for fault in faults_by_item[id(item)])]


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


def _severity(rule: str) -> Severity:
    return "warning" if rule in NAMESPACE_RULES or rule in POLICY_WARNINGS else "error"


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


# -- the line ------------------------------------------------------------------------------------------------------


def _place(document: Document, environment: str | None, fault: Fault) -> Place:
    """Return the line of the job that sets the field of a fault.

    If no line sets the field, return the line of the environment, or the line of the job name.
    """
    origin = _origin(document, environment, fault)
    if origin is not None:
        return document.place(origin)
    if environment is not None and ("environments" in document.data["spec"]):
        return document.place(("spec", "environments", environment))
    return document.place(("metadata", "name"))


def _place_of_policy(document: Document, environment: str | None, fault: PolicyFault) -> Place:
    """Return the line of the job that sets a field that the failed policy reads.

    If no line sets such a field, return the line of the role, or the line of the job name.
    """
    from tfgen.check.admission.admit import field_names  # the import takes 3 ms, which jobs without policies save

    if (name := literal_name(fault.item)) is not None:
        return document.place(literal_path(document, environment, ("objects", name)))
    role = _role(fault.item)
    paths = [path for path in _paths(document.root) if path[:1] == ("spec",) and _is_of(path, environment, role)]
    endings = [*((field,) for field in field_names(fault.expression)), ("roles", role)]
    by_ending = ([path for path in paths if path[-len(ending) :] == ending] for ending in endings)
    # Prefer the line of the environment, then the line of the role, then the line of the job.
    origin = min(
        next((candidates for candidates in by_ending if candidates), ()),
        key=lambda path: (path[1:2] != ("environments",), "roles" not in path, len(path)),
        default=("metadata", "name"),
    )
    return document.place(origin)


def _origin(document: Document, environment: str | None, fault: Fault) -> Path | None:
    """Return the path in the job that sets the field of a fault, or the common parent of several such paths."""
    if (name := literal_name(fault.item)) is not None:
        return literal_path(document, environment, ("objects", name, *fault.path))
    if (patched := _in_patch(document, environment, fault)) is not None:
        return patched
    role = _role(fault.item)
    paths = [path for path in _paths(document.root) if path[:1] == ("spec",) and _is_of(path, environment, role)]
    # The validator reports an unknown field at its parent, and quotes the field.
    fields = [*((*fault.path, key) for key in _QUOTED.findall(fault.message)), fault.path]
    return next((origin for field in fields if (origin := _longest_match(paths, field))), None)


def _longest_match(paths: Sequence[Path], field: FieldPath) -> Path | None:
    """Return the path in the job that ends with the most steps of a field's path; None without such a path.

    For the field `spec.template.spec.nodeSelector.pool` of an object, for example, return the path of
    `spec.podTemplate.spec.nodeSelector.pool` in the job. If several paths match equally well, return their common
    parent.
    """
    matches: list[Path] = []
    best = _MIN_COMMON_STEPS
    for path in paths:
        steps = _common_steps(path, field)
        if steps > best:
            matches, best = [path], steps
        elif steps == best:
            matches.append(path)
    common = data_path.shared(matches)
    return common if len(common) > 1 else None


def _in_patch(document: Document, environment: str | None, fault: Fault) -> Path | None:
    """Return the path in a patch of the job that sets the faulty field; None if no patch sets the field.

    The faulty field is the field of `fault`, or a key of this field that the message quotes, such as an unknown key.
    """
    spec = document.data["spec"]
    bases: list[Path] = [("environments", environment)] if environment is not None else []
    for base in (*bases, ()):
        for name, patch in (data_path.at(spec, (*base, "patches")) or {}).items():
            if patch is None or data_path.at(patch, ("target", "kind")) != fault.item["kind"]:
                continue
            merge = data_path.at(patch, ("merge",))
            quoted = _QUOTED.findall(fault.message)
            named = next((key for key in quoted if data_path.has(merge, (*fault.path, key))), None)
            if named is not None:
                return ("spec", *base, "patches", name, "merge", *fault.path, named)
            if fault.path and data_path.has(merge, fault.path):
                return ("spec", *base, "patches", name, "merge", *fault.path)
            for index, operation in enumerate(data_path.at(patch, ("json",)) or ()):
                steps = tuple(str(operation.get("path", "")).split("/")[1:])
                field = tuple(map(str, fault.path))
                if steps[: len(field)] == field and (steps == field or steps[-1] in quoted):
                    return ("spec", *base, "patches", name, "json", index)
    return None


def _role(item: Object) -> str | None:
    """Return the role or the component (such as TensorBoard) of an object; None for an object of all roles."""
    pods = data_path.at(item, ("spec", "template"))
    all_labels = (data_path.at(owner, ("metadata", "labels")) or {} for owner in (item, pods))
    return next((labels[keys.COMPONENT] for labels in all_labels if keys.COMPONENT in labels), None)


def _is_of(path: Path, environment: str | None, role: str | None) -> bool:
    """Return True if the value at a path of a job can affect the objects of a role in an environment."""
    if path[1:2] == ("environments",):
        if path[2:3] != (environment,):
            return False
        path = path[2:]
    return path[1:2] != ("roles",) or role is None or path[2:3] in ((), (role,))


def _paths(tree: SourceTree, parent: Path = ()) -> Iterator[Path]:
    yield parent
    for key, (_, child) in tree.children.items():
        yield from _paths(child, (*parent, key))


def _common_steps(path: Path, field: FieldPath) -> int:
    """Return the number of equal last steps of two paths.

    All list indexes count as equal, because a list item may have different indexes in the job and in the object.
    """
    pairs = zip(reversed(path), reversed(field), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1] or all(isinstance(x, int) for x in pair), pairs))
