"""What no job may override: the paths that a tfgen.yaml enforces.

    tfgen.yaml      enforce: [registry, spec.gang.queue, spec.podTemplate, {path: spec.gitops, except: [source]}]
                    registry: registry.example.com/ml
                    spec: {gang: {queue: research}}

A job, or a nearer tfgen.yaml, that says another queue has an error at its line. What the tfgen.yaml says nothing of,
such as podTemplate here, nobody below it may say. Of a map the keys that it says are enforced. A block with `except` is
enforced whole: a job sets the listed keys in the block, and no key besides. The registry is looked for in every image
of the objects, wherever the image comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final

from tfgen import data_path
from tfgen.check.enforced_paths import ENVIRONMENTS, REGISTRY, Enforced, all_enforced
from tfgen.check.object_checks.pods import pods_of
from tfgen.data_path import Path
from tfgen.graph.built import BuiltJob
from tfgen.kubernetes import keys
from tfgen.problems import Place, Problem
from tfgen.schema import file as schema_file
from tfgen.text.document import Document
from tfgen.words import in_environments, path_name, shown

ENFORCED: Final = "enforced"

RULES: Final[Mapping[str, str]] = {ENFORCED: "A job says otherwise than a tfgen.yaml enforces."}
"""What the rule says; it begins the rule's section of docs/rules.md."""

_ACCOUNT: Final = "serviceAccountName"
_MADE_ACCOUNT: Final = "serviceAccount"
_PROJECT: Final[Path] = ("spec", "gitops", "argocd", "project")


def find_overrides(document: Document) -> Iterator[Problem]:
    """What a job, or a tfgen.yaml, says itself otherwise than the layers under it enforce.

    Args:
        document: what the schema accepts, over layers that are without errors.
    """
    own = document.alone()
    for enforced in _with_account(all_enforced(document.under)):
        if enforced.path == REGISTRY:
            yield from _other_registry(own, enforced)
            continue
        for path, value in enforced_forms(own.data, enforced):
            for contradiction in _contradictions(own.data, path, value, enforced.excepted):
                if contradiction == _PROJECT and data_path.has(enforced.data, ("argocd", "project")):
                    continue  # `check.allowed` compares the project
                yield Problem(*own.place(contradiction), _message(own, contradiction, path, value, enforced), ENFORCED)


def _with_account(entries: Iterable[Enforced]) -> Iterator[Enforced]:
    """Yield entries, and for an enforced account name an entry for the key by which a job makes the account.

    With that key, a job without an account name would use the account that it makes. A job with the enforced name would
    set the annotations of the account, and thereby the identity in a cloud.
    """
    for entry in entries:
        yield entry
        if entry.path[-1] == _ACCOUNT and entry.path[1:2] != ("roles",):
            path: Path = (*entry.path[:-1], _MADE_ACCOUNT)
            forms = [entry.data.get("spec"), *(data_path.at(entry.data, ENVIRONMENTS) or {}).values()]
            is_made = any(data_path.has(form, (_MADE_ACCOUNT,)) for form in forms)
            yield entry.replaced(path=path, excepted=() if is_made else None)


def find_foreign_images(document: Document, built: BuiltJob) -> Iterator[Problem]:
    """Each image of a job's objects that is in no registry that the layers under it enforce."""
    registries = [(_registry(item), item.place) for item in all_enforced(document.under) if item.path == REGISTRY]
    forms = built.environments if built.environments else {None: built.base}
    environments: dict[tuple[str, str | None, str, Place], list[str | None]] = {}
    for environment, objects in forms.items() if registries else ():
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


def enforced_forms(data: Any, enforced: Enforced) -> Iterator[tuple[Path, Any]]:
    """Yield each path of a document at which an enforced path counts, with the enforced value; None for no value."""
    path, values = enforced.path, enforced.data
    if path[:2] == ENVIRONMENTS:
        yield from _in_form(data, path[:3], path[3:], [(*path[:3],)], values)
        return
    rest = path[1:]
    yield from _in_form(data, ("spec",), rest, [("spec",)], values)
    for name in data_path.at(data, ENVIRONMENTS) or ():
        base = (*ENVIRONMENTS, name)
        yield from _in_form(data, base, rest, [base, ("spec",)], values)


def _in_form(own: Any, base: Path, rest: Path, says: list[Path], data: Any) -> Iterator[tuple[Path, Any]]:
    """The paths of the spec or of one environment, and those of its roles, each with the value that it has to have.

    `says` is where the layer that enforces says it, the nearest first, and `data` what that layer says.
    """
    value = _first(data, [(*above, *rest) for above in says])
    yield (*base, *rest), value
    if not rest or rest[0] not in _shared_keys():
        return
    for role in data_path.at(own, (*base, "roles")) or ():
        of_role = _first(
            data, [*((*above, "roles", role, *rest) for above in says), *((*above, *rest) for above in says)]
        )
        yield (*base, "roles", role, *rest), of_role


def _shared_keys() -> Set[str]:
    """The keys that a job and a role both have."""
    schema = schema_file.load()
    spec, worker = (schema_file.node(schema, path) or {} for path in (("spec",), ("spec", "roles", "worker")))
    shared: Set[str] = spec["properties"].keys() & worker["properties"].keys()
    return shared


def _first(data: Any, paths: list[Path]) -> Any:
    return next((data_path.at(data, path) for path in paths if data_path.has(data, path)), None)


def _contradictions(data: Any, path: Path, value: Any, excepted: Sequence[Path] | None) -> Iterator[Path]:
    """Yield the paths at which a document differs from an enforced value."""
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
    """Yield the paths at which a block differs from the enforced block, apart from the excepted keys."""
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


def _message(own: Document, contradiction: Path, path: Path, value: Any, enforced: Enforced) -> str:
    """A sentence on a contradiction, which is at the path, above it or below it."""
    here = shown(data_path.at(own.data, contradiction))
    name = path_name(contradiction)
    keys = contradiction[len(path) :]
    if value is None or not data_path.has(value, keys):
        return f"{name}: found {here}, which {enforced.place} lets nobody say; remove it"
    if len(contradiction) < len(path):
        return f"{name}: found null, which removes what {enforced.place} enforces: {path_name(path)}"
    return f"{name}: found {here}, and {enforced.place} enforces {shown(data_path.at(value, keys))}; remove it"


# -- the registry --------------------------------------------------------------------------------------------------


def _other_registry(own: Document, enforced: Enforced) -> Iterator[Problem]:
    """A nearer tfgen.yaml may name a folder of the registry, and no other registry."""
    if "registry" not in own.data:
        return
    registry, wanted = own.data["registry"], _registry(enforced)
    if not wanted:
        message = f"registry: found {shown(registry)}, which {enforced.place} lets nobody say; remove it"
        yield Problem(*own.place(REGISTRY), message, ENFORCED)
    elif registry is None or (registry != wanted and not is_in_registry(registry, wanted)):
        message = f"registry: found {shown(registry)}, and {enforced.place} enforces {shown(wanted)}, or a folder in it"
        yield Problem(*own.place(REGISTRY), message, ENFORCED)


def _registry(enforced: Enforced) -> str:
    registry: str = enforced.data.get("registry") or ""
    return registry


def is_in_registry(image: str, registry: str) -> bool:
    """Return True for an image in a registry, or in a folder of the registry."""
    return image.startswith(f"{registry}/")


def _images(item: Mapping[str, Any]) -> Iterator[tuple[str | None, str]]:
    """The images of an object's pods, each with the role whose pods they are."""
    for pods in pods_of(item):
        role = pods.labels.get(keys.ROLE)
        for _, container in pods.containers:
            yield role, container.get("image") or ""
        for volume in pods.spec.get("volumes") or ():
            if reference := data_path.at(volume, ("image", "reference")):
                yield role, reference


def _origin(document: Document, image: str, role: str | None, environment: str | None) -> Path:
    """Where a job says an image: in the environment, else in the job; its name where it does not say it."""
    paths = [path for path, text in data_path.texts(document.data) if text == image]
    of_role = [path for path in paths if "roles" not in path or role is None or role in path]
    own = [path for path in of_role if path[:3] == (*ENVIRONMENTS, environment)]
    shared = [path for path in of_role if path[:2] != ENVIRONMENTS]
    return next(iter((*own, *shared)), ("metadata", "name"))
