"""Paths that a tfgen.yaml enforces, and the jobs that override such a path.

    tfgen.yaml      enforce: [registry, spec.gang.queue, spec.podTemplate, {path: spec.gitops, except: [source]}]
                    registry: registry.example.com/ml
                    spec: {gang: {queue: research}}

A job, or a tfgen.yaml in a subfolder, that sets a different queue has an error at its line. If the tfgen.yaml sets no
value at an enforced path, such as podTemplate here, no job may set a value. In a mapping, only the keys that the
tfgen.yaml sets are enforced. A block with `except` is enforced completely: a job may set only the listed keys of the
block. The registry applies to every image of the objects.

A change of the tfgen.yaml loosens an entry if a job could set a value that the entry refuses, and that no entry of the
change refuses. The check of such a change and the check of a job therefore use the same comparison of a job with an
entry. A new value of an enforced path is not a loosening, because the owner of the tfgen.yaml may choose the value. A
removed value is a loosening, because the jobs then lack the enforced value.

The module also reads the entries of `enforce`, and finds the entries that match no key of any job:

    enforce:
    - spec.gang.queue                                       # jobs cannot change this value
    - spec.nodeSelector                                     # jobs cannot change these entries, but may add more
    - {path: spec.gitops, except: [source, argocd.prune]}   # jobs may change only these two keys of gitops
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.errors import Place, Problem, UsageError
from tfgen.fix import Assignment, meant, removal
from tfgen.graph.graph import BuiltJob
from tfgen.kubernetes import keys as label_keys
from tfgen.kubernetes.pods import pods_of
from tfgen.rails.rail import GUARD_RAIL, Layers, Loosening
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema.file import Schema, read_path, resolve
from tfgen.schema.kubernetes_fields import types
from tfgen.text.document import Document
from tfgen.words import in_environments, nearest, path_name, shown

REGISTRY: Final[Path] = ("registry",)
ENVIRONMENTS: Final[Path] = ("spec", "environments")
SECURITY: Final[Path] = ("spec", "security")

_MAX_DEPTH: Final = 6
"""Maximum number of keys in a path that tfgen suggests in the message for a wrong path."""

_ALLOWED_NAMES: Final[Mapping[str, str]] = {"namespace": "allowedNamespaces", "environments": "allowedEnvironments"}
"""The key of tfgen.yaml that lists the allowed names, by the key in a job, such as `namespace`."""


class Enforced(Record):
    """An `enforce` entry of a tfgen.yaml.

    Attributes:
        path: the enforced path in a job, such as ("spec", "gang"), or ("registry",) for the registry of all images.
        place: the line of the entry.
        data: the tfgen.yaml with the entry, merged with the tfgen.yaml files of parent folders.
        excepted: the keys of `except`, which a job may set, relative to the path; None for an entry without `except`.
        excepted_places: the line of each key of `except`.
    """

    path: Path
    place: Place
    data: Any
    excepted: tuple[Path, ...] | None = None
    excepted_places: tuple[Place, ...] = ()


def all_enforced(nearest_layer: Document | None) -> Iterator[Enforced]:
    """Yield the `enforce` entries of the tfgen.yaml `nearest_layer`, then of the tfgen.yaml files in parent folders."""
    document = nearest_layer
    while document is not None:
        layer = document.alone()
        for index, entry in enumerate(layer.data.get("enforce", ())):
            place = layer.place(("enforce", index))
            if isinstance(entry, str):
                yield Enforced(_read(entry), place, document.data)
            else:
                excepted = tuple(_read_below(entry["path"], key)[1] for key in entry["except"])
                places = tuple(layer.place(("enforce", index, "except", number)) for number in range(len(excepted)))
                yield Enforced(_read(entry["path"]), place, document.data, excepted, places)
        document = document.under


def check_enforced_paths(defaults: Document) -> Iterator[Problem]:
    """Yield a problem for each wrong path under `enforce`, such as a path that matches no key of any job."""
    layer = defaults.alone()
    for index, entry in enumerate(layer.data.get("enforce", ())):
        at: Path = ("enforce", index)
        faults: list[tuple[Path, str, _WrongPath | None]]
        if isinstance(entry, str):
            faults = [(at, entry, _fault(entry, defaults))]
        elif block_fault := _fault(entry["path"], defaults) or _block_fault(entry["path"]):
            faults = [((*at, "path"), entry["path"], block_fault)]
        else:
            keys = enumerate(entry["except"])
            faults = [((*at, "except", number), key, _key_fault(entry["path"], key)) for number, key in keys]
        for path, text, fault in faults:
            if fault is not None:
                hint = meant(fault.similar, Assignment(path, fault.similar), written=text.rpartition(".")[2])
                yield Problem(*layer.place(path), f"{fault.message}{hint.text}", GUARD_RAIL, fixes=hint.fixes)


def _read(text: str) -> Path:
    return REGISTRY if text == "registry" else read_path(text)


def _read_below(block: str, key: str) -> tuple[Path, Path]:
    """Return the complete path of `key`, an item of `except`, and the path of `key` below the enforced block.

    For the block `spec.gitops` and the key `argocd.prune`, the first path is ("spec", "gitops", "argocd", "prune"), and
    the second path is ("argocd", "prune").
    """
    base = _read(block)
    path = read_path(f"{path_name(base)}.{key}")
    return path, path[len(base) :]


class _WrongPath(NamedTuple):
    """The reason why a path matches no key of any job, and a similar path."""

    message: str
    similar: str | None = None


def _fault(text: str, defaults: Document) -> _WrongPath | None:
    """Return the reason why the path `text` matches no key of any job; None for a correct path."""
    try:
        path = _read(text)
    except UsageError as error:
        return _WrongPath(str(error))
    if path == REGISTRY:
        return None
    if path == ("metadata", "namespace"):
        return _WrongPath(f"{shown(text)} is not a path in spec; list allowed namespaces in allowedNamespaces")
    if path[0] != "spec" or len(path) == 1:
        words = f"tfgen cannot enforce {shown(text)}; write registry, or a key of spec such as spec.gang.queue"
        return _WrongPath(words)
    return _item_fault(text, path) or _unknown_step(path) or _absent_environment(path, defaults)


def _item_fault(text: str, keys: Path) -> _WrongPath | None:
    message = (
        f"{shown(text)} is an item of a list, but only a complete list can be enforced; write the path of the list"
    )
    return _WrongPath(message) if any(isinstance(step, int) for step in keys) else None


def _block_fault(text: str) -> _WrongPath | None:
    path = _read(text)
    if path == REGISTRY:
        message = "except applies only to mappings, but registry is a text; replace the entry by the text registry"
        return _WrongPath(message)
    node = schema_file.node(schema_file.load(), path) or {}
    if "properties" in node or "additionalProperties" in node:
        return None
    return _WrongPath(f"except applies only to mappings; replace the entry by the text {path_name(path)}")


def _key_fault(block: str, key: str) -> _WrongPath | None:
    """Return the fault of `key`, an item of `except` for the enforced path `block`; None for a correct key."""
    try:
        path, keys = _read_below(block, key)
    except UsageError as error:
        return _WrongPath(str(error))
    wrong = _item_fault(key, keys) or _unknown_step(path)
    # The key of `except` is only a part of the similar path, so no edit can write the similar path.
    return wrong and _WrongPath(f"{wrong.message}{meant(wrong.similar).text}")


def _unknown_step(path: Path) -> _WrongPath | None:
    """Return the message for a path that no job can have; None for a valid path.

    The message names the first wrong key of the path, and suggests a similar path. A similar path with the same parent
    key has precedence: for the path `spec.gang.queueName`, tfgen suggests `spec.gang.queue`.
    """
    schema = schema_file.load()
    for end in range(1, len(path) + 1):
        owner = schema_file.node(schema, path[: end - 1]) or {}
        key = path[end - 1]
        message = f"no job has the key {path_name(path[:end])}"
        if schema_file.node(schema, path[:end]) is None:
            sibling = nearest(key, owner.get("properties", {}))
            if sibling:
                return _WrongPath(message, path_name((*path[: end - 1], sibling, *path[end:])))
            return _WrongPath(message, nearest(path_name(path), map(path_name, _paths(schema, schema, ()))))
        if key not in owner.get("properties", {}) and not _is_name(schema, owner, key):
            return _WrongPath(f"{message}{_instead_of_pattern(schema, path, end)}")
    return _unknown_pod_field(path)


def _unknown_pod_field(path: Path) -> _WrongPath | None:
    """Return the message for a podTemplate path with an unknown Kubernetes field; None for a valid path."""
    at = 3 if path[1] == "roles" else 1
    begin = at + 1 if path[at : at + 1] == ("podTemplate",) else len(path)
    type_name = "PodTemplateSpec"
    for end in range(begin, len(path)):
        if type_name not in types():
            break
        fields = types()[type_name].fields
        if path[end] not in fields:
            near = nearest(path[end], fields)
            candidate = path_name((*path[:end], near, *path[end + 1 :])) if near else None
            return _WrongPath(f"no job has the key {path_name(path[: end + 1])}", candidate)
        type_name = fields[str(path[end])]
    return None


def _paths(schema: Schema, node: Schema, path: Path) -> Iterator[Path]:
    """Yield the path of each key below `spec` that the job schema lists by name, such as ("spec", "gang", "queue").

    The function yields neither `spec.environments` nor a path below, and no path with more than `_MAX_DEPTH` keys.
    `node` is the schema of the value at `path`.
    """
    for key, written in node.get("properties", {}).items() if len(path) < _MAX_DEPTH else ():
        child = (*path, key)
        if child[0] == "spec" and child != ENVIRONMENTS:
            yield child
            yield from _paths(schema, resolve(schema, written), child)


def _is_name(schema: Schema, owner: Schema, key: str | int) -> bool:
    """Return True if a key is a valid name for a user-defined map entry, such as a volume or an environment."""
    names, name = resolve(schema, owner.get("propertyNames", {})), str(key)
    is_reserved = name in names.get("not", {}).get("enum", ())
    fits = re.search(names.get("pattern", ""), name) and len(name) <= names.get("maxLength", len(name))
    return bool(fits) and not is_reserved


def _instead_of_pattern(schema: Schema, path: Path, end: int) -> str:
    """Return a hint for a pattern such as `*`, which a user wrote instead of the name of an environment."""
    if path[: end - 1] != ENVIRONMENTS:
        return ""
    keys = path[end:]
    if allowed := _ALLOWED_NAMES.get(str(keys[0]) if keys else "environments"):
        return f"; list the names in {allowed}"
    if schema_file.node(schema, ("spec", *keys)) is None:
        return "; write the name of an environment"
    return f"; write {path_name(('spec', *keys))}, which applies to each environment"


def _absent_environment(path: Path, defaults: Document) -> _WrongPath | None:
    """Return the message for an environment that `allowedEnvironments` does not list; None for any other path."""
    for layer in defaults.layers() if path[:2] == ENVIRONMENTS and len(path) > len(ENVIRONMENTS) else ():
        allowed: Sequence[str] = data_path.at(layer.data, ("allowedEnvironments",)) or ()
        if allowed and path[2] not in allowed:
            near = nearest(path[2], allowed)
            place = layer.place(("allowedEnvironments",))
            candidate = path_name((*ENVIRONMENTS, near, *path[3:])) if near else None
            return _WrongPath(f"no job has the environment {path[2]}, which {place} does not list", candidate)
    return None


ENFORCED: Final = "enforced"

RULES: Final[Mapping[str, str]] = {ENFORCED: "A job overrides a value that a tfgen.yaml enforces."}
"""The summary of the rule, which begins the section of the rule in docs/rules.md."""

_ACCOUNT: Final = "serviceAccountName"
_CREATED_ACCOUNT: Final = "serviceAccount"
_GITOPS: Final[Path] = ("spec", "gitops")
_PROJECT: Final[Path] = (*_GITOPS, "argocd", "project")
DELIVERY: Final[Mapping[str, str | None]] = {"repository": None, "branch": "main", "path": "", "rendered": None}
"""The keys of `gitops` that decide which files the clusters apply, each with its default."""

_OTHER: Final = ""
"""A key that no tfgen.yaml sets, because no job has the key. `_probes` uses the key in place of all unset keys."""


def find_overrides(document: Document) -> Iterator[Problem]:
    """Yield a problem for each value of a job, or of a tfgen.yaml, that overrides an enforced value of a layer.

    Args:
        document: a document that the schema accepts. The layers of the document have no errors.
    """
    written = document.alone()
    for enforced in (*_with_account(all_enforced(document.under)), *_delivery(document.under)):
        if enforced.path == REGISTRY:
            yield from _foreign_registry(written, enforced)
            continue
        for path, value in enforced_values(written.data, enforced):
            for contradiction in _contradictions(written.data, path, value, enforced.excepted):
                if contradiction == _PROJECT and data_path.has(enforced.data, ("argocd", "project")):
                    continue  # The module `rails.allowed` compares the project.
                fix = removal(contradiction)
                message = f"{_message(written, contradiction, path, value, enforced)}; {fix.words}"
                yield Problem(*written.place(contradiction), message, ENFORCED, fixes=(fix,))


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


def _delivery(nearest_layer: Document | None) -> Iterator[Enforced]:
    """Yield an entry for each key that decides which files the clusters apply.

    A tfgen.yaml that sets the repository, or enforces `gitops`, thereby enforces these keys, apart from the keys in
    `except`. Otherwise, a job could deliver the files of a different repository, branch or folder.
    """
    document = nearest_layer
    while document is not None:
        layer = document.alone()
        entries = [entry for entry in all_enforced(document) if entry.path[:2] == _GITOPS]
        is_closed = any(entry.path == _GITOPS and entry.excepted is not None for entry in entries)
        place = next((entry.place for entry in entries if entry.path == _GITOPS), None)
        if data_path.has(layer.data, (*_GITOPS, "repository")):
            place = layer.place(_GITOPS)
        listed = {entry.path[2:3] for entry in entries}
        if () in listed:
            listed |= {(key,) for key in data_path.at(document.data, _GITOPS) or DELIVERY}
        if place is not None and not is_closed:
            for key, default in DELIVERY.items():
                path = (*_GITOPS, key)
                is_set = default is None or data_path.has(document.data, path)
                data = document.data if is_set else data_path.with_value(document.data, path, default)
                if (key,) not in listed:
                    yield Enforced(path, place, data)
            return
        document = document.under


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
    at the path. The enforced value is None if the tfgen.yaml sets no value at the path. A role may override some keys
    of the job, so the function also yields the path of such a key in each role: ("spec", "nodeSelector") and ("spec",
    "roles", "worker", "nodeSelector").

    Args:
        data: the data of the job, or of a tfgen.yaml in a subfolder.
        enforced: the `enforce` entry.
    """
    at = 3 if enforced.path[:2] == ENVIRONMENTS else 1
    base, keys = enforced.path[:at], enforced.path[at:]
    names = data_path.at(data, ENVIRONMENTS) or () if base == ("spec",) else ()
    schema = schema_file.load()
    is_shared = all(schema_file.node(schema, (*owner, *keys[:1])) for owner in (("spec",), ("spec", "roles", "worker")))
    # The blocks of the tfgen.yaml that may set the value in a variant of the job. The first block has precedence.
    variants: list[list[Path]] = [[base], *([(*ENVIRONMENTS, name), base] for name in names)]
    for blocks in variants:
        paths: list[Path] = [(*block, *keys) for block in blocks]
        yield paths[0], first_value(enforced.data, paths)
        for role in data_path.at(data, (*blocks[0], "roles")) or () if keys and is_shared else ():
            role_paths: list[Path] = [(*block, "roles", role, *keys) for block in blocks]
            yield role_paths[0], first_value(enforced.data, [*role_paths, *paths])


def first_value(data: Any, paths: Iterable[Path]) -> Any:
    """Return the value at the first of `paths` that exists; None if no path exists."""
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
        return f"{name}: found {actual}, but {enforced.place} lets no job set the key"
    if len(contradiction) < len(path):
        return f"{name}: found null, which removes {path_name(path)}, but {enforced.place} enforces the path"
    return f"{name}: found {actual}, but {enforced.place} enforces {shown(data_path.at(value, keys))}"


# -- changes -------------------------------------------------------------------------------------------------------


def find_unenforced(layers: Layers) -> Iterator[Loosening]:
    """Yield a loosening for each path that the base enforces and that the change lets a job set."""
    entries = tuple(all_enforced(layers.after))
    for entry in all_enforced(layers.before):
        if entry.path == REGISTRY:
            yield from _unenforced_registry(layers, entry, entries)
        else:
            yield from _unenforced_paths(layers, entry, [new for new in entries if new.path != REGISTRY])


class _EnforcedPath(NamedTuple):
    """A path that an entry of the change enforces in a job. The value is None if no job may set a value."""

    entry: Enforced
    path: Path
    value: Any


def _unenforced_paths(layers: Layers, entry: Enforced, entries: Sequence[Enforced]) -> Iterator[Loosening]:
    data = layers.before.data if layers.before else {}
    new_paths = [_EnforcedPath(new, *enforced) for new in entries for enforced in enforced_values(data, new)]
    reported: set[Path] = set()
    for path, value in enforced_values(data, entry):
        for keys in _probes(entry, path, value, new_paths):
            probe, named_keys = data_path.with_value({}, (*path, *keys), object()), keys if keys != (_OTHER,) else ()
            enforced_path = (*path, *named_keys)
            if any(named_keys[: len(above)] == above for above in reported) or not any(
                _contradictions(probe, path, value, entry.excepted)
            ):
                continue
            enforced = data_path.at(value, named_keys)
            is_block = entry.excepted is not None or value is None
            if not any(any(_contradictions(probe, new.path, new.value, new.entry.excepted)) for new in new_paths):
                yield _path_loosening(layers, entry, enforced_path, new_paths, is_block=is_block)
            elif (
                enforced is not None
                and not isinstance(enforced, Mapping)
                and not any(
                    enforced_path[: len(new.path)] == new.path
                    and data_path.at(new.value, enforced_path[len(new.path) :]) is not None
                    for new in new_paths
                )
            ):
                yield _without_value(layers, entry, enforced_path, enforced)
            else:
                continue
            reported.add(named_keys)


def _probes(entry: Enforced, path: Path, value: Any, new_paths: Iterable[_EnforcedPath]) -> Iterator[Path]:
    """Yield paths below `path` that the entry may enforce. A job with a value at such a path probes the change."""
    if entry.excepted is not None or value is None:
        yield from ((), (_OTHER,))
        for new in new_paths:
            for open_path in ((*new.path, *keys) for keys in new.entry.excepted or ()):
                if open_path[: len(path)] == path:
                    yield open_path[len(path) :]
    yield from (keys for keys, _ in data_path.leaves(value))


def _path_loosening(
    layers: Layers, entry: Enforced, path: Path, new_paths: Sequence[_EnforcedPath], *, is_block: bool
) -> Loosening:
    """Return the loosening of a path that the base enforces, and that the change lets a job set.

    Args:
        layers: the tfgen.yaml files of the base and of the change.
        entry: the `enforce` entry of the base.
        path: the path that the entry enforces.
        new_paths: all paths that the change enforces.
        is_block: True if the entry enforces a block with all its keys, and not only the keys with a value.
    """
    base = layers.in_base(entry.place)
    around = [new for new in new_paths if path[: len(new.path)] == new.path]
    for new in around:
        for index, keys in enumerate(new.entry.excepted or ()):
            if path[: len(new.path) + len(keys)] == (*new.path, *keys):
                message = f"jobs may now set {path_name((*new.path, *keys))}, which {base} does not allow"
                return Loosening(entry.place, new.entry.excepted_places[index], message)
    if around and is_block:
        message = f"jobs may now set other keys of {path_name(path)}, which {base} does not allow"
        return Loosening(entry.place, around[0].entry.place, message)
    if around:
        return _without_value(layers, entry, path, data_path.at(entry.data, path))
    if narrower := next((new for new in new_paths if new.path[: len(path)] == path), None):
        message = f"only {path_name(narrower.path)} is enforced, but {base} enforces {path_name(path)}"
        return Loosening(entry.place, narrower.entry.place, message)
    message = f"jobs may now override {path_name(path)}, which {base} enforces"
    return layers.loosening(entry.place, ("enforce",), message)


def _without_value(layers: Layers, entry: Enforced, path: Path, value: Any) -> Loosening:
    enforced = f"the value {shown(value)}" if value is not None else "the field"
    message = f"{path_name(path)} has no value, but {layers.in_base(entry.place)} enforces {enforced}"
    return layers.loosening(entry.place, path, message)


# -- the registry --------------------------------------------------------------------------------------------------


def _foreign_registry(written: Document, enforced: Enforced) -> Iterator[Problem]:
    """Yield a problem if a job or a tfgen.yaml sets a registry outside the enforced registry.

    A folder of the enforced registry is allowed.
    """
    if "registry" not in written.data:
        return
    registry, allowed = written.data["registry"], _registry(enforced)
    if not allowed:
        fix = removal(REGISTRY)
        message = f"registry: found {shown(registry)}, but {enforced.place} lets no file set the key; {fix.words}"
        yield Problem(*written.place(REGISTRY), message, ENFORCED, fixes=(fix,))
    elif registry is None or (registry != allowed and not is_in_registry(registry, allowed)):
        message = (
            f"registry: found {shown(registry)}, but {enforced.place} enforces {shown(allowed)} or a folder of this "
            "registry"
        )
        yield Problem(*written.place(REGISTRY), message, ENFORCED)


def _unenforced_registry(layers: Layers, entry: Enforced, entries: Sequence[Enforced]) -> Iterator[Loosening]:
    matching = [new for new in entries if new.path == REGISTRY]
    registry = _registry(entry)
    if not matching:
        message = f"images may now come from any registry, but {layers.in_base(entry.place)} enforces registry"
        yield layers.loosening(entry.place, ("enforce",), message)
    elif registry and not any(map(_registry, matching)):
        message = f"registry has no value, but {layers.in_base(entry.place)} enforces {shown(registry)}"
        yield layers.loosening(entry.place, (), message)


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
        role = pods.labels.get(label_keys.ROLE)
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


def literal_path(document: Document, environment: str | None, path: Path) -> Path:
    """Return the complete path of a field of an `objects` entry.

    If the environment sets the field, the path is in the environment. If only the job sets the field, the path is in
    the job. If neither sets the field, the function looks for the parent key of the field in the same way.

    Args:
        document: the job.
        environment: the name of an environment, or None for the job itself.
        path: the path below `spec`, such as ("objects", "quota", "spec", "hard").
    """
    ends = [(depth, block) for depth in range(len(path), 0, -1) for block in blocks(environment)]
    return next((*block, *path) for depth, block in ends if data_path.has(document.data, (*block, *path[:depth])))


def blocks(environment: str | None) -> tuple[Path, ...]:
    """Return the paths of the blocks that set the values of an environment, or of the job itself for None.

    The first block that sets a value has precedence: ("spec", "environments", "prod"), then ("spec",).
    """
    return ((*ENVIRONMENTS, environment), ("spec",)) if environment is not None else (("spec",),)
