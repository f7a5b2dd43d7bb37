"""What is wrong with the objects that come of a job, in each of its environments, at the job's own lines.

    job.yaml:14:40: Service mnist: spec.ports[0].targetPort: it leads to the port cluster, which ... [object-links]

The rules look at the job, before there are objects; this looks at what is to reach the cluster.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.check.admission.admit import PolicyFault, field_names, find_policy_faults, find_policy_problems
from tfgen.check.admission.folder import NO_POLICIES, PolicyFolders
from tfgen.check.admission.rules import WARNINGS as POLICY_WARNINGS
from tfgen.check.enforced import find_foreign_images
from tfgen.check.enforced_pods import find_pod_overrides
from tfgen.check.image_volumes import find_early_images
from tfgen.check.limits import find_over_limits
from tfgen.check.literal_path import literal_path
from tfgen.check.manifests import Manifest, literal_manifests
from tfgen.check.namespace import RULES as NAMESPACE_RULES
from tfgen.check.namespace import namespace_faults
from tfgen.check.object_checks import faults
from tfgen.check.object_checks.fault import Fault, FieldPath, Objects
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.data_path import Path
from tfgen.graph.built import BuiltJob
from tfgen.kubernetes import keys
from tfgen.kubernetes.limits import OBJECT_MAX
from tfgen.kubernetes.object import Object, literal_name
from tfgen.problems import Place, Problem, Severity, in_order
from tfgen.text.document import Document, SourceTree
from tfgen.words import either, in_environments

OBJECT_LINKS: Final = "object-links"
OBJECT_SCHEMA: Final = "object-schema"
OBJECT_SIZE: Final = "object-size"

RULES: Final[Mapping[str, str]] = {
    OBJECT_LINKS: "Two objects of a job do not fit together.",
    OBJECT_SIZE: "An object of a job is larger than a cluster keeps.",
    OBJECT_SCHEMA: "An object of a job is not one that Kubernetes, or the custom kind's own server, would take.",
}
"""What each rule says; it begins the rule's section of docs/rules.md."""

_ObjectsByFault: TypeAlias = dict[tuple[Place, str, str], dict[str, list[str | None]]]
"""By the place, the words and the rule of a fault: the names of the objects that have the fault, with environments."""

_MOST: Final = 3
"""Objects with one fault that are named."""

_QUOTED: Final = re.compile(r"'([^']+)'")
"""A key in a message of the schema's validator."""

_LEAST_ALIKE: Final = 2
"""Steps at the ends of two paths that must be the same, or one is not taken for the origin of the other."""

_WIDEST: Final = 4
"""Maximum number of bytes of JSON for one character of `repr`: an emoji has 4 bytes."""


def check_objects(
    document: Document,
    built: BuiltJob,
    schemas: ObjectSchemas,
    manifests: Sequence[Manifest] = (),
    policies: PolicyFolders = NO_POLICIES,
) -> tuple[Problem, ...]:
    """What is wrong with the objects of a job that has no errors: what several objects or environments share, once.

    Args:
        document: the job.
        built: what comes of it.
        schemas: what each object is held against.
        manifests: what the repository has of the namespaces in which jobs run.
        policies: the admission policies of the repository.
    """
    objects_by_fault: _ObjectsByFault = {}
    texts = frozenset(text for _, text in data_path.texts(document.data))
    job = built.job
    forms = [
        # Where there are environments, the job is applied nowhere by itself.
        (None, job.values, built.base.values(), job.namespace, () if job.environments else manifests),
        *(
            (form.name, form.values, built.environments[form.name].values(), form.namespace, manifests)
            for form in job.environments
            if form.name in built.environments
        ),
    ]
    alike: dict[tuple[int, ...], tuple[Objects, Sequence[tuple[str, Fault]]]] = {}  # many environments have the same
    of_item: dict[int, Sequence[tuple[str, Fault]]] = {}
    for environment, values, items, namespace, around in forms:
        minimum = (values.get("gang") or {}).get("minAvailable") or 0
        key = (minimum, *map(id, items))
        if key not in alike:
            alike[key] = _find_faults(tuple(items), texts, minimum, schemas, of_item)
        objects, of_objects = alike[key]
        around = (*around, *literal_manifests(document.file, objects.literals, namespace))
        for rule, fault in (*of_objects, *namespace_faults(objects, around, namespace)):
            if rule == OBJECT_SIZE:
                place = _place_of_key(document, _largest_part(document, environment))
            else:
                place = _place(document, environment, fault)
            name = f"{fault.item['kind']} {fault.item['metadata']['name']}"
            objects_by_fault.setdefault((place, _what(fault), rule), {}).setdefault(name, []).append(environment)
    early = find_early_images(document, _paths(document.root), schemas.version, OBJECT_SCHEMA)
    return in_order((*early, *check_guard_rails(document, built, policies), *_problems(objects_by_fault)))


def check_guard_rails(
    document: Document, built: BuiltJob, policies: PolicyFolders = NO_POLICIES
) -> tuple[Problem, ...]:
    """Check a job's objects against what its tfgen.yaml files enforce and limit, and against their policies.

    Args:
        document: the job.
        built: the objects, as this tfgen builds them or as they are committed.
        policies: the admission policies of the repository.
    """
    job = built.job
    objects_by_fault: _ObjectsByFault = {}
    of_policies = [*find_policy_problems(document, policies)]
    forms = [(form.name, form.namespace) for form in job.environments if form.name in built.environments]
    for environment, namespace in forms if job.environments else [(None, job.namespace)]:
        items = tuple((built.base if environment is None else built.environments[environment]).values())
        for verdict in find_policy_faults(document, policies, items, namespace):
            if isinstance(verdict, Problem):
                of_policies.append(verdict)
                continue
            place = _place_of_policy(document, environment, verdict)
            name = f"{verdict.item['kind']} {verdict.item['metadata']['name']}"
            names = objects_by_fault.setdefault((place, verdict.message, verdict.rule), {})
            names.setdefault(name, []).append(environment)
    guarded = (
        *find_foreign_images(document, built),
        *find_pod_overrides(document, built),
        *find_over_limits(document, built),
    )
    return in_order((*guarded, *of_policies, *_problems(objects_by_fault)))


def _problems(objects_by_fault: _ObjectsByFault) -> Iterator[Problem]:
    """Yield a problem for each fault, with the names of the objects that have the fault."""
    for (place, what, rule), names in objects_by_fault.items():
        yield Problem(*place, f"{_objects(names)}: {what}{_where(names)}", rule, _severity(rule))


def _find_faults(
    items: Sequence[Object],
    texts: frozenset[str],
    minimum: int,
    schemas: ObjectSchemas,
    of_item: dict[int, Sequence[tuple[str, Fault]]],
) -> tuple[Objects, Sequence[tuple[str, Fault]]]:
    """What is wrong with the objects of one form, wherever it is applied, each with its rule.

    Args:
        items: the objects.
        texts: every text of the job.
        minimum: the size that the job asks for of its gang, or 0.
        schemas: what each object is held against.
        of_item: what is wrong with an object by itself, by its identity.
    """
    own = tuple(item for item in items if literal_name(item) is None)
    literals = tuple(item for item in items if literal_name(item) is not None)
    objects = Objects(own, texts, minimum, literals)
    for item in items:
        if id(item) not in of_item:
            shaped = ((OBJECT_SCHEMA, fault) for fault in schemas.faults(item))
            of_item[id(item)] = [*shaped, *((OBJECT_SIZE, fault) for fault in _too_large(item))]
    linked = ((OBJECT_LINKS, fault) for fault in faults(objects))
    return objects, [*linked, *(fault for item in items for fault in of_item[id(item)])]


def _too_large(item: Object) -> Iterator[Fault]:
    if len(repr(item)) * _WIDEST <= OBJECT_MAX:
        return  # true for almost all objects, and faster than JSON
    size = len(json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode())
    if size > OBJECT_MAX:
        message = (
            f"it has {size:,} bytes, more than the {OBJECT_MAX:,} that etcd keeps of one object; put long texts into "
            "files, by code or a ConfigMap in storage"
        )
        yield Fault(item, (), message)


def _place_of_key(document: Document, path: Path) -> Place:
    return Place(document.source(path), document.key(path))


def _largest_part(document: Document, environment: str | None) -> Path:
    """The path of the job to the part that has most of its text: the first of which no part has half."""
    spec = document.data["spec"]
    own = data_path.at(spec, ("environments", environment)) if environment is not None else None
    if own and _text_size(own) * 2 > _text_size({**spec, "environments": {}}):
        path: Path = ("spec", "environments", str(environment))
        part: Any = own
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


def _what(fault: Fault) -> str:
    field = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault.path).lstrip(".")
    return ": ".join(part for part in (field, fault.message) if part)


def _objects(environments_by_name: Mapping[str, Sequence[str | None]]) -> str:
    """The names of the objects that share a fault: those of the job itself, or else those of the environments."""
    names = [name for name, environments in environments_by_name.items() if None in environments] or [
        *environments_by_name
    ]
    more = len(names) - _MOST
    return either(names, "and") if more <= 0 else f"{', '.join(names[:_MOST])} and {more} more"


def _where(environments_by_name: Mapping[str, Sequence[str | None]]) -> str:
    return in_environments(name for environments in environments_by_name.values() for name in environments)


# -- the line ------------------------------------------------------------------------------------------------------


def _place(document: Document, environment: str | None, fault: Fault) -> Place:
    """Where the job says what is wrong with the object: at the path that ends as the field's does."""
    origin = _origin(document, environment, fault)
    if origin is not None:
        return document.place(origin)
    if environment is not None and ("environments" in document.data["spec"]):
        return document.place(("spec", "environments", environment))
    return document.place(("metadata", "name"))


def _place_of_policy(document: Document, environment: str | None, fault: PolicyFault) -> Place:
    """Where the job says a field that a policy's expression names; else where it says the object."""
    if (name := literal_name(fault.item)) is not None:
        return document.place(literal_path(document, environment, ("objects", name)))
    role = _role(fault.item)
    paths = [path for path in _paths(document.root) if path[:1] == ("spec",) and _is_of(path, environment, role)]
    endings = [*((field,) for field in field_names(fault.expression)), ("roles", role)]
    by_ending = ([path for path in paths if path[-len(ending) :] == ending] for ending in endings)
    # The environment's own line, else the role's, else the job's.
    origin = min(
        next((alike for alike in by_ending if alike), ()),
        key=lambda path: (path[1:2] != ("environments",), "roles" not in path, len(path)),
        default=("metadata", "name"),
    )
    return document.place(origin)


def _origin(document: Document, environment: str | None, fault: Fault) -> Path | None:
    """The path that ends as the field's does, or what is above all that do; None where nothing does."""
    if (name := literal_name(fault.item)) is not None:
        return literal_path(document, environment, ("objects", name, *fault.path))
    if (patched := _in_patch(document, environment, fault)) is not None:
        return patched
    role = _role(fault.item)
    best: list[Path] = []
    alike = _LEAST_ALIKE
    for path in _paths(document.root):
        if path[:1] != ("spec",) or not _is_of(path, environment, role):
            continue
        same = _alike(path, fault.path)
        if same > alike:
            best, alike = [path], same
        elif same == alike:
            best.append(path)
    common = data_path.shared(best)
    return common if len(common) > 1 else None


def _in_patch(document: Document, environment: str | None, fault: Fault) -> Path | None:
    """The path in a patch that adds the field, or what the schema does not know in the field; None without a patch."""
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
    """Whose object it is: a role's, or that of the one thing whose pods it makes; none where it is all roles'."""
    pods = data_path.at(item, ("spec", "template"))
    all_labels = (data_path.at(owner, ("metadata", "labels")) or {} for owner in (item, pods))
    return next((labels[keys.COMPONENT] for labels in all_labels if keys.COMPONENT in labels), None)


def _is_of(path: Path, environment: str | None, role: str | None) -> bool:
    """Whether what stands at a path of the document can show in an object of that environment and role."""
    if path[1:2] == ("environments",):
        if path[2:3] != (environment,):
            return False
        path = path[2:]
    return path[1:2] != ("roles",) or role is None or path[2:3] in ((), (role,))


def _paths(tree: SourceTree, above: Path = ()) -> Iterator[Path]:
    yield above
    for key, (_, inner) in tree.children.items():
        yield from _paths(inner, (*above, key))


def _alike(path: Path, field: FieldPath) -> int:
    """How many steps the two have in common at their ends. Any two indexes are alike, since a merge moves items."""
    pairs = zip(reversed(path), reversed(field), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1] or all(isinstance(x, int) for x in pair), pairs))
