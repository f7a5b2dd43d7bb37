"""Paths that a tfgen.yaml enforces, and the jobs that override such a path.

    tfgen.yaml      enforce: [registry, spec.gang.queue, spec.podTemplate, {path: spec.gitops, except: [source]}]
                    registry: registry.example.com/ml
                    spec: {gang: {queue: research}}

A job, or a tfgen.yaml in a subfolder, that sets a different queue has an error at its line. If the tfgen.yaml sets no
value at an enforced path, such as podTemplate here, no job may set a value. In a mapping, only the keys that the
tfgen.yaml sets are enforced. A block with `except` is enforced completely: a job may set only the listed keys of the
block. The registry applies to every image of the objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final

from tfgen import data_path
from tfgen.check.enforced_paths import ENVIRONMENTS, REGISTRY, Enforced, all_enforced
from tfgen.check.pods import pods_of
from tfgen.data_path import Path
from tfgen.graph.built import BuiltJob
from tfgen.kubernetes import keys
from tfgen.problems import Place, Problem
from tfgen.schema import file as schema_file
from tfgen.text.document import Document
from tfgen.words import in_environments, path_name, shown

ENFORCED: Final = "enforced"

RULES: Final[Mapping[str, str]] = {ENFORCED: "A job overrides a value that a tfgen.yaml enforces."}
"""The summary of the rule, which begins the section of the rule in docs/rules.md."""

_ACCOUNT: Final = "serviceAccountName"
_CREATED_ACCOUNT: Final = "serviceAccount"
_PROJECT: Final[Path] = ("spec", "gitops", "argocd", "project")


def find_overrides(document: Document) -> Iterator[Problem]:
    """Yield a problem for each value of a job, or of a tfgen.yaml, that overrides an enforced value of a layer.

    Args:
        document: a document that the schema accepts. The layers of the document have no errors.
    """
    written = document.alone()
    for enforced in _with_account(all_enforced(document.under)):
        if enforced.path == REGISTRY:
            yield from _foreign_registry(written, enforced)
            continue
        for path, value in enforced_values(written.data, enforced):
            for contradiction in _contradictions(written.data, path, value, enforced.excepted):
                if contradiction == _PROJECT and data_path.has(enforced.data, ("argocd", "project")):
                    continue  # The module `check.allowed` compares the project.
                message = _message(written, contradiction, path, value, enforced)
                yield Problem(*written.place(contradiction), message, ENFORCED)


def _with_account(entries: Iterable[Enforced]) -> Iterator[Enforced]:
    """Yield all `enforce` entries. For each `serviceAccountName`, also yield an entry for `serviceAccount`.

    With the key `serviceAccount`, a job creates an account. Such a job could use a different account than the enforced
    account, or give the enforced account different rights in a cloud by annotations.
    """
    for entry in entries:
        yield entry
        if entry.path[-1] == _ACCOUNT and entry.path[1:2] != ("roles",):
            path: Path = (*entry.path[:-1], _CREATED_ACCOUNT)
            blocks = [entry.data.get("spec"), *(data_path.at(entry.data, ENVIRONMENTS) or {}).values()]
            creates_account = any(data_path.has(block, (_CREATED_ACCOUNT,)) for block in blocks)
            yield entry.replaced(path=path, excepted=() if creates_account else None)


def find_foreign_images(document: Document, built: BuiltJob) -> Iterator[Problem]:
    """Yield a problem for each image of a job's objects that is outside an enforced registry."""
    registries = [(_registry(item), item.place) for item in all_enforced(document.under) if item.path == REGISTRY]
    variants = built.environments if built.environments else {None: built.base}
    environments: dict[tuple[str, str | None, str, Place], list[str | None]] = {}
    for environment, objects in variants.items() if registries else ():
        for item in objects.values():
            for role, image in _images(item):
                for registry, place in registries:
                    if registry and not is_in_registry(image, registry):
                        environments.setdefault((image, role, registry, place), []).append(environment)
    for (image, role, registry, place), names in environments.items():
        path = _origin(document, image, role, names[0])
        where = "" if path[:2] == ENVIRONMENTS else in_environments(names)
        message = f"the image {shown(image)} is not in the registry {registry}, which {place} enforces{where}"
        yield Problem(*document.place(path), message, ENFORCED)


# -- the paths -----------------------------------------------------------------------------------------------------


def enforced_values(data: Any, enforced: Enforced) -> Iterator[tuple[Path, Any]]:
    """Yield each path of a job that an `enforce` entry enforces, with the enforced value.

    Example for the entry `spec.gang.queue` and a job with the environment `prod`: (("spec", "gang", "queue"),
    "research") and (("spec", "environments", "prod", "gang", "queue"), "research"). The job need not have a value
    at the path. The enforced value is None if the tfgen.yaml sets no value at the path.

    Args:
        data: the data of the job, or of a tfgen.yaml in a subfolder.
        enforced: the `enforce` entry.
    """
    path, values = enforced.path, enforced.data
    if path[:2] == ENVIRONMENTS:
        yield from _variant_values(data, path[:3], path[3:], [(*path[:3],)], values)
        return
    keys = path[1:]
    yield from _variant_values(data, ("spec",), keys, [("spec",)], values)
    for name in data_path.at(data, ENVIRONMENTS) or ():
        base = (*ENVIRONMENTS, name)
        yield from _variant_values(data, base, keys, [base, ("spec",)], values)


def _variant_values(
    document: Any, base: Path, keys: Path, sources: list[Path], layer: Any
) -> Iterator[tuple[Path, Any]]:
    """Yield each path of a variant that an `enforce` entry enforces, with the enforced value.

    A role may override some keys of the job, so the function also yields the path of such a key in each role. Example:
    ("spec", "nodeSelector") and ("spec", "roles", "worker", "nodeSelector"). The value is None if the layer sets no
    value.

    Args:
        document: the data of the job.
        base: the path of the variant in the job, such as ("spec",) or ("spec", "environments", "prod").
        keys: the enforced path, relative to the base.
        sources: the blocks of the layer that may set the value. The first block with a value has precedence. Example
            for prod: ("spec", "environments", "prod") and ("spec",).
        layer: the data of the tfgen.yaml that contains the entry.
    """
    value = _first(layer, [(*source, *keys) for source in sources])
    yield (*base, *keys), value
    if not keys or keys[0] not in _shared_keys():
        return
    for role in data_path.at(document, (*base, "roles")) or ():
        role_paths: list[Path] = [(*source, "roles", role, *keys) for source in sources]
        yield (*base, "roles", role, *keys), _first(layer, [*role_paths, *((*source, *keys) for source in sources)])


def _shared_keys() -> Set[str]:
    """Return the keys that both a job and a role have."""
    schema = schema_file.load()
    spec, worker = (schema_file.node(schema, path) or {} for path in (("spec",), ("spec", "roles", "worker")))
    shared: Set[str] = spec["properties"].keys() & worker["properties"].keys()
    return shared


def _first(data: Any, paths: list[Path]) -> Any:
    return next((data_path.at(data, path) for path in paths if data_path.has(data, path)), None)


def _contradictions(data: Any, path: Path, value: Any, excepted: Sequence[Path] | None) -> Iterator[Path]:
    """Yield each path at which the document `data` differs from `value`, the enforced value at `path`.

    `excepted` are the keys below `path` that a job may set; None for an entry without `except`.
    """
    for end, step in enumerate(path, start=1):
        if not isinstance(data, Mapping) or step not in data:
            return
        data = data[step]
        if data is None:
            if value is not None:
                yield path[:end]
            return
    if excepted is not None:
        yield from _closed_differences(data, value, path, excepted)
    elif value is None:
        yield path
    else:
        yield from _differences(data, value, path)


def _differences(data: Any, value: Any, path: Path) -> Iterator[Path]:
    if isinstance(data, Mapping) and isinstance(value, Mapping):
        for key in value:
            if key in data:
                yield from _differences(data[key], value[key], (*path, key))
    elif data != value:
        yield path


def _closed_differences(data: Any, value: Any, path: Path, excepted: Sequence[Path]) -> Iterator[Path]:
    """Yield each path at which the block `data` differs from the enforced `value`, apart from the keys `excepted`."""
    if not isinstance(data, Mapping) or not isinstance(value, Mapping | None):
        if data != value:
            yield path
        return
    enforced = value or {}
    for key, child in data.items():
        exceptions = [tuple(keys) for first, *keys in excepted if first == key]
        child_path = (*path, key)
        if () in exceptions or (child is None and key not in enforced):
            continue
        if isinstance(child, Mapping) and (key in enforced or exceptions):
            yield from _closed_differences(child, enforced.get(key), child_path, exceptions)
        elif key not in enforced or child != enforced[key]:
            yield child_path


def _message(written: Document, contradiction: Path, path: Path, value: Any, enforced: Enforced) -> str:
    """Return the message for a value that contradicts an enforced value.

    Args:
        written: the job or the tfgen.yaml with the wrong value.
        contradiction: the path of the wrong value. This path is the enforced path, or the path of a parent key or child
            key.
        path: the enforced path.
        value: the enforced value at the path; None if the layer sets no value.
        enforced: the `enforce` entry.
    """
    actual = shown(data_path.at(written.data, contradiction))
    name = path_name(contradiction)
    keys = contradiction[len(path) :]
    if value is None or not data_path.has(value, keys):
        return f"{name}: found {actual}, but {enforced.place} lets no job set the key; remove the key"
    if len(contradiction) < len(path):
        return (
            f"{name}: found null, which removes {path_name(path)}, but {enforced.place} enforces the path; remove the "
            "key"
        )
    return f"{name}: found {actual}, but {enforced.place} enforces {shown(data_path.at(value, keys))}; remove the key"


# -- the registry --------------------------------------------------------------------------------------------------


def _foreign_registry(written: Document, enforced: Enforced) -> Iterator[Problem]:
    """Yield a problem if a job or a tfgen.yaml sets a registry outside the enforced registry.

    A folder of the enforced registry is allowed.
    """
    if "registry" not in written.data:
        return
    registry, allowed = written.data["registry"], _registry(enforced)
    if not allowed:
        message = f"registry: found {shown(registry)}, but {enforced.place} lets no file set the key; remove the key"
        yield Problem(*written.place(REGISTRY), message, ENFORCED)
    elif registry is None or (registry != allowed and not is_in_registry(registry, allowed)):
        message = (
            f"registry: found {shown(registry)}, but {enforced.place} enforces {shown(allowed)} or a folder of this "
            "registry"
        )
        yield Problem(*written.place(REGISTRY), message, ENFORCED)


def _registry(enforced: Enforced) -> str:
    registry: str = enforced.data.get("registry") or ""
    return registry


def is_in_registry(image: str, registry: str) -> bool:
    """Return True for an image in a registry, or in a folder of the registry."""
    return image.startswith(f"{registry}/")


def _images(item: Mapping[str, Any]) -> Iterator[tuple[str | None, str]]:
    """Yield each image in the pods of an object, with the role of the pods.

    Example: ("worker", "registry.example.com/ml/mnist:1.4.0"). The role is None for pods that belong to no role.
    """
    for pods in pods_of(item):
        role = pods.labels.get(keys.ROLE)
        for _, container in pods.containers:
            yield role, container.get("image") or ""
        for volume in pods.spec.get("volumes") or ():
            if reference := data_path.at(volume, ("image", "reference")):
                yield role, reference


def _origin(document: Document, image: str, role: str | None, environment: str | None) -> Path:
    """Return the path in the job, including the values of its layers, that sets an image.

    If no text in the job equals the image, such as a default image, return the path of the job's name.
    """
    paths = [path for path, text in data_path.texts(document.data) if text == image]
    candidates = [path for path in paths if "roles" not in path or role is None or role in path]
    in_environment = [path for path in candidates if path[:3] == (*ENVIRONMENTS, environment)]
    shared = [path for path in candidates if path[:2] != ENVIRONMENTS]
    return next(iter((*in_environment, *shared)), ("metadata", "name"))
