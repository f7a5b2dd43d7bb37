"""The edits of a patch, merge patches and JSON patches (RFC 6902), and the fields that a patch may change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, NoReturn

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.fix import Fix, removal
from tfgen.graph import holes as h
from tfgen.graph.holes import ABSENT, Key, Node, child_nodes
from tfgen.job.training_job import ROLE_NAMES
from tfgen.kubernetes.merge import Dialect, pair, removes
from tfgen.record import Record
from tfgen.words import either, path_name, shown

# -- fields ------------------------------------------------------------------------------------------------------------
#
# A patch must not replace a hole, because the value of the job would then have no effect. A patch must not change the
# name and the kind of an object, or a field on which other objects depend.


Bindings = Mapping[str, str]
"""The values path for each name that a `ForEach` or `Let` around an object binds."""

_NAME_VALUES: Final = ("run", "nameOverride", "fullnameOverride")
"""The values paths of the values that are parts of object names."""

_SELECTOR_REASON: Final = "the selector matches the pods"
_SERVICE_REASON: Final = "the tasks find each other by this Service"

_IDENTITY: Final[Mapping[Path, str]] = {
    ("apiVersion",): "the target sets the kind",
    ("kind",): "the target sets the kind",
    ("metadata",): "a patch may change only the labels and annotations (merge: {metadata: ...})",
    ("status",): "the cluster writes the status",
}
"""The fields that a patch must not change in any object, each with the reason for the error message."""

_FIELDS_BY_KIND: Final[Mapping[str, Mapping[Path, str]]] = {
    "ConfigMap": dict.fromkeys([("data",), ("binaryData",), ("immutable",)], "the pods of a run read the ConfigMap"),
    "Deployment": {("spec", "selector"): _SELECTOR_REASON},
    "Job": {
        ("spec", "completionMode"): "the tasks find each other by their index",
        ("spec", "completions"): "each task is one pod",
        ("spec", "managedBy"): "only the Job controller of Kubernetes can run the tasks",
        ("spec", "manualSelector"): _SELECTOR_REASON,
        ("spec", "parallelism"): "each task is one pod",
        ("spec", "plugins", "svc"): "the tasks of a Volcano Job find each other by this plugin",
        ("spec", "podReplacementPolicy"): "a task must never have two pods",
        ("spec", "selector"): _SELECTOR_REASON,
        ("spec", "suspend"): "the finisher suspends the Job at the end of the run",
        ("spec", "ttlSecondsAfterFinished"): "a GitOps tool would create the deleted Job again and repeat the training",
    },
    "JobSet": {("spec", "network"): "the tasks find each other by this network"},
    "NetworkPolicy": {("spec", "podSelector"): "the policy is only for the pods of the run"},
    "Role": {("rules",): "the finisher has only the permissions that it needs"},
    "RoleBinding": dict.fromkeys([("roleRef",), ("subjects",)], "the finisher has only the permissions that it needs"),
    "StatefulSet": {
        ("spec", "ordinals"): "the tasks find each other by their index",
        ("spec", "podManagementPolicy"): "a gang whose pods start one by one never starts",
        ("spec", "selector"): "the selector matches the pods, and rejects a new pod template",
        ("spec", "serviceName"): _SERVICE_REASON,
        ("spec", "updateStrategy"): "no update may restart a single task of a run",
    },
}
_FIELDS_BY_OBJECT: Final[Mapping[tuple[str, str], Mapping[Path, str]]] = {
    ("Service", "service"): dict.fromkeys(
        [("spec", field) for field in ("clusterIP", "ports", "publishNotReadyAddresses", "selector", "type")],
        _SERVICE_REASON,
    ),
    ("Service", "tensorboard-service"): {("spec", "selector"): _SELECTOR_REASON},
}


class PatchFault(Record):
    """A patch that cannot be applied.

    Attributes:
        path: the path of the problem in the spec of the job: ``("patches", "slow", "merge", "spec", "replicas")``.
        message: the problem and the fix.
        has_no_target: whether the target of the patch does not exist.
    """

    path: Path
    message: str
    has_no_target: bool = False
    fixes: tuple[Fix, ...] = ()


class PatchRefusedError(Exception):
    """Error for a change that a patch must not make.

    Attributes:
        only_tfgen_sets: whether only tfgen may set the changed field, so that the fix is to remove the entry.
    """

    def __init__(self, message: str, *, only_tfgen_sets: bool = False) -> None:
        super().__init__(message)
        self.only_tfgen_sets = only_tfgen_sets

    def fault(self, path: Path) -> PatchFault:
        """Return the fault at the path of the change."""
        if not self.only_tfgen_sets:
            return PatchFault(path, str(self))
        fix = removal(path, "this entry")
        return PatchFault(path, f"{self}; {fix.words}", fixes=(fix,))


class PatchedField(Record):
    """A field of an object, with methods that check whether a patch may change the field.

    Attributes:
        kind: the kind of the object.
        template: the name of the template that contains the object.
        bindings: the values path of the name that a `ForEach` around the object defines for the value of a map entry.
            For a claim, the mapping is {"storage": "storage.NAME"}, because the name `storage` in the object refers to
            the settings of a volume in the job. Without a `ForEach`, the mapping is empty.
        path: the path of the field. The step to a list item is the name or the index of the item.
    """

    kind: str
    template: str
    bindings: Bindings
    path: Path = ()

    def child(self, step: str | int) -> PatchedField:
        """Return the child field at the key or the list item `step`."""
        return self.replaced(path=(*self.path, step))

    @property
    def name(self) -> str:
        """The path of the field in the notation of messages, such as `spec.replicas`."""
        return path_name(self.path)

    def check_changeable(self) -> None:
        """Check that a patch may change the field.

        Raises:
            PatchRefusedError: only tfgen may set the field.
        """
        self._check_fixed(lambda path: path == self.path)

    def check_replaceable(self, node: Node) -> None:
        """Check that a patch may remove or replace the content of the field.

        Raises:
            PatchRefusedError: the content depends on a value of the job, and the patch would make this value
                ineffective.
        """
        holes = [*_holes(node)]
        if not holes:
            depth = len(self.path)
            self._check_fixed(lambda path: path[:depth] == self.path and data_path.has(node, path[depth:]))
            return
        # Objects of the chart share a pod template, or contain its hash.
        if any(isinstance(hole, h.Call) for hole in holes):
            raise PatchRefusedError(self.pod_message)
        paths: dict[str, None] = {}
        for hole in holes:
            match hole:
                case h.Value(path):
                    paths[path] = None
                case h.Bound(name, _, path) if name in self.bindings:
                    paths[".".join(step for step in (self.bindings[name], path) if step)] = None
        keys = [path for path in paths if path not in _NAME_VALUES]
        if keys:
            reference = "this key" if len(keys) == 1 else "these keys"
            raise PatchRefusedError(
                f"a patch must not change {self.name}, which the job sets by {either(keys, 'and')}; "
                f"set {reference} instead"
            )
        pointer = "/".join(["", *map(str, self.path), "-"])
        fix = (
            f"add an item by json: [{{op: add, path: {pointer}, value: ...}}]"
            if isinstance(node, list)
            else "remove this entry"
        )
        raise PatchRefusedError(f"a patch must not change {self.name}, which contains the names of objects; {fix}")

    def refuse_values(self, node: Node) -> NoReturn:
        """Refuse a patch inside a field whose whole value comes from the job, such as `nodeSelector`.

        Raises:
            PatchRefusedError: always.
        """
        self.check_replaceable(node)
        raise PatchRefusedError(f"{self.name} has no fields that a patch can change; replace {self.name} as a whole")

    def _check_fixed(self, is_changed: Callable[[Path], bool]) -> None:
        """Check that no changed field of the object is a field that only tfgen may set."""
        by_object = _FIELDS_BY_OBJECT.get((self.kind, self.template), {})
        for path, why in {**_IDENTITY, **_FIELDS_BY_KIND.get(self.kind, {}), **by_object}.items():
            if is_changed(path):
                raise PatchRefusedError(
                    f"a patch must not change {path_name(path)}, because {why}", only_tfgen_sets=True
                )

    @property
    def pod_message(self) -> str:
        """The message for a patch that changes a pod template."""
        if self.template == "finisher":
            return (
                f"{self.name}: a patch must not change the pod of the finisher; set helpers or completion.image instead"
            )
        role = self.template if self.template in ROLE_NAMES else "ROLE"
        return f"{self.name}: a patch must not change the pods of tasks; set roles.{role}.podTemplate instead"


def _holes(node: object) -> Iterator[Node]:
    """Yield the holes of a node, including the holes inside other holes, but no named templates."""
    if isinstance(node, h.Hole) and not isinstance(node, h.NamedTemplate):
        yield node  # type: ignore[misc]  # a hole is an expression
    for child in child_nodes(node):  # type: ignore[arg-type]
        yield from _holes(child)


def open_mapping(node: Node, key: str) -> Node:
    """Replace each `Splice` in a mapping by its entries, so that a patch finds the key `key` directly in the mapping.

    A `Splice` is the key of a nested mapping whose entries the output shows in the outer mapping. If the nested node is
    a hole, such as a `When`, the `Splice` remains. A mapping that already contains `key` is unchanged.
    """
    while isinstance(node, h.NamedTemplate) and not node.parameters and isinstance(node.node, dict):
        node = node.node
    if not isinstance(node, dict) or key in node:
        return node
    opened: dict[Key, Node] = {}
    for entry_key, child in node.items():
        part = open_mapping(child, key) if isinstance(entry_key, h.Splice) else child
        if isinstance(entry_key, h.Splice) and isinstance(part, dict):
            opened.update(part)
        else:
            opened[entry_key] = child
    return opened


def _mapping(node: Node, key: str, field: PatchedField) -> dict[Key, Node]:
    """Return `node` as a mapping, in which a patch can change or add the entry with the key `key`.

    Raises:
        PatchRefusedError: the node is a pod template or not a mapping, or values of the job decide whether the node
            has the key.
    """
    mapping = open_mapping(node, key)
    if isinstance(mapping, h.Call):
        raise PatchRefusedError(field.pod_message)
    if not isinstance(mapping, dict):
        field.refuse_values(mapping)
    if key not in mapping:
        for spliced in (child for entry_key, child in mapping.items() if isinstance(entry_key, h.Splice)):
            if spliced is not ABSENT:  # such as a `When` that adds entries for some values of the job
                field.refuse_values(spliced)
    return mapping


def without_entry(node: Mapping[Key, Node], key: str) -> dict[Key, Node]:
    """Return a mapping without the entry of a key, and without the comments above the entry."""
    return {entry_key: child for entry_key, child in without_comments(node, key).items() if entry_key != key}


def without_comments(node: Mapping[Key, Node], key: str) -> dict[Key, Node]:
    """Return a mapping without the comments above the entry of a key."""
    entries: list[tuple[Key, Node]] = []
    for entry in node.items():
        if entry[0] == key:
            while entries and isinstance(entries[-1][0], h.Comment):
                entries.pop()
        entries.append(entry)
    return dict(entries)


# -- merge patches -----------------------------------------------------------------------------------------------------
#
# The application of a merge patch to an object with holes, as `kubernetes.merge` applies it to a plain object.
#
# For example, {"minReadySeconds": 10} merged over {"replicas": hole} is {"replicas": hole, "minReadySeconds": 10}.
#
# A merge and then a fill must give the same object as a fill and then a merge. So a patch of `When(test, a, b)` changes
# both `a` and `b`. If `a` or `b` is `ABSENT`, the content of the patch replaces `ABSENT`. `kubernetes.merge.pair` pairs
# the items of lists for plain objects and for objects with holes.


_DIRECTIVE: Final = "$patch"
_DELETE: Final = "delete"


class Merger:
    """The merge of a single patch. The attribute `faults` has a `PatchFault` for each part that cannot be merged."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.faults: dict[PatchFault, None] = {}

    def merge(self, base: Node, patch: Mapping[str, Any], path: Path, field: PatchedField) -> Node:
        """Merge a mapping of the patch over a node, and return the merged node.

        Args:
            base: the node.
            patch: the mapping.
            path: the path of the mapping in the spec of the job.
            field: the field of the object that contains the node.
        """
        match base:
            case h.Absent():
                return self._entries({}, patch, path, field)
            case h.When(test, if_true, if_false):
                return h.When(test, self.merge(if_true, patch, path, field), self.merge(if_false, patch, path, field))
            case h.NamedTemplate(parameters=(), node=dict()) | dict():
                return self._entries(base, patch, path, field)
        merged = self._entries({}, patch, path, field)
        try:
            field.check_replaceable(base)
        except PatchRefusedError as refusal:
            self.faults[refusal.fault(path)] = None
            return base
        return merged

    def _entries(self, base: Node, patch: Mapping[str, Any], path: Path, field: PatchedField) -> Node:
        merged = base
        for key, value in patch.items():
            with self._reported((*path, key)):
                merged = self._entry(merged, key, value, (*path, key), field.child(key))
        return merged

    def _entry(self, base: Node, key: str, value: Any, path: Path, field: PatchedField) -> Node:
        """Merge the entry `key: value` of the patch over a mapping, and return the merged mapping."""
        field.check_changeable()
        if key.startswith("$"):
            raise PatchRefusedError(
                f"found the directive {key}; the only allowed directive is {_DIRECTIVE}: {_DELETE} in an item of a list"
            )
        mapping = _mapping(base, key, field)
        current = mapping.get(key, ABSENT)
        if value is None:
            field.check_replaceable(current)
            return without_entry(mapping, key)
        if isinstance(value, Mapping):
            merged = self.merge(current, value, path, field)
        elif key in self.dialect.keys and isinstance(value, list):
            merged = self._items(current, value, path, field)
        else:
            field.check_replaceable(current)
            merged = value
        # The comment above a replaced value does not apply to the new value.
        entries: Mapping[Key, Node] = mapping if isinstance(current, (dict, h.When)) else without_comments(mapping, key)
        return {**entries, key: merged}

    def _items(self, base: Node, patches: Sequence[Any], path: Path, field: PatchedField) -> Node:
        """Merge each item of `patches` over the item of `base` with the same name, and return the merged list."""
        match base:
            case h.When(test, if_true, if_false):
                return h.When(test, *(self._items(branch, patches, path, field) for branch in (if_true, if_false)))
            case h.Absent():
                items: list[Node] = []
            case list() | tuple():
                items = list(base)
            case _:
                field.refuse_values(base)
        list_name = str(field.path[-1])
        name = self.dialect.keys[list_name][0]
        valid: dict[int, Mapping[str, Any]] = {}
        for index, patch in enumerate(patches):
            with self._reported((*path, index)):
                _check_item(patch, name, field)
                valid[index] = patch
        merged = dict(enumerate(items))
        new: list[Node] = []
        pairs = pair([_item_of(item) for item in items], [*valid.values()], list_name, self.dialect)
        for (index, patch), matches in zip(valid.items(), pairs, strict=True):
            item_path, item_field = (*path, index), field.child(str(patch[name]))
            added = {name: patch[name], **patch}  # the first key of a new item is its name
            if removes(patch):
                for match in matches:
                    with self._reported(item_path):
                        item_field.check_replaceable(merged[match])
                        del merged[match]
            elif not matches:
                new.append(self._entries({}, added, item_path, item_field))
            elif isinstance(item := merged[matches[0]], h.When):
                # The plain list lacks an item whose test is false, and a merge would then append a new item.
                merged[matches[0]] = h.When(item.test, self.merge(item.if_true, patch, item_path, item_field))
                new.append(h.When(h.Not(item.test), self._entries({}, added, item_path, item_field)))
            else:
                merged[matches[0]] = self.merge(item, patch, item_path, item_field)
        return [*merged.values(), *new]

    @contextmanager
    def _reported(self, path: Path) -> Iterator[None]:
        """End the block at a PatchRefusedError, and add a fault at `path`."""
        try:
            yield
        except PatchRefusedError as refusal:
            self.faults[refusal.fault(path)] = None


def _check_item(patch: Any, name: str, field: PatchedField) -> None:
    """Check `patch`, an item in a list of a merge patch.

    Args:
        patch: the item.
        name: the key by which items of the list are merged, such as `name` or `containerPort`.
        field: the list in the object.

    Raises:
        PatchRefusedError: the item is not a mapping, lacks the key, or has an unsupported directive.
    """
    if not isinstance(patch, Mapping) or name not in patch:
        raise PatchRefusedError(f"an item of {field.name} has no {name}, by which items are merged; add {name}")
    if _DIRECTIVE in patch and not removes(patch):
        raise PatchRefusedError(
            f"found {_DIRECTIVE}: {patch[_DIRECTIVE]}; the only allowed directive is {_DIRECTIVE}: {_DELETE}"
        )


def _item_of(item: Node) -> Node:
    """Return the item inside a condition (`When`), or the item itself if no condition surrounds the item."""
    return item.if_true if isinstance(item, h.When) and item.if_false is ABSENT else item


# -- JSON patches ------------------------------------------------------------------------------------------------------
#
# The operations of a JSON patch (RFC 6902) on an object with holes.
#
# For example, `add /spec/minReadySeconds 10` changes {"spec": {"replicas": hole}} to {"spec": {"replicas": hole,
# "minReadySeconds": 10}}. The path of an operation must exist for all values of the job. Each operation changes the
# result of the previous operation.


_END: Final = "-"
"""The last step of a path that means the position after the last item of a list."""

_POD: Final = ("spec", "template")

_REQUIRED_KEYS: Final[Mapping[str, str]] = {
    "add": "value",
    "replace": "value",
    "test": "value",
    "move": "from",
    "copy": "from",
}
"""Name of an operation -> key that the operation requires in addition to `path`."""


class _Change(NamedTuple):
    """A change of a mapping or list at a key or index.

    Attributes:
        name: `add`, `replace` or `remove`.
        value: the new value.
        is_move: whether another change adds the removed content at another path.
    """

    name: str
    value: Node = None
    is_move: bool = False


def operate(node: Node, operation: Mapping[str, Any], field: PatchedField) -> Node:
    """Apply an operation of a JSON patch to an object.

    Args:
        node: the object.
        operation: the operation, in the format of the job schema.
        field: the `PatchedField` of the whole object.

    Raises:
        PatchRefusedError: the operation is impossible or not allowed.
    """
    name, steps = operation["op"], _steps(operation["path"])
    required = _REQUIRED_KEYS.get(name)
    if required is not None and required not in operation:
        raise PatchRefusedError(f"the operation {name} needs the key {required}; add the key")
    if name == "test":
        _test(node, steps, field, operation["value"])
        return node
    if name not in ("copy", "move"):
        return _edit(node, steps, field, _Change(name, operation.get("value")))
    source = _steps(operation["from"])
    if name == "move" and steps[: len(source)] == source and steps != source:
        raise PatchRefusedError(f"the operation move cannot move {operation['from']} into itself; choose another path")
    found = _find(node, source, field)
    if name == "move":
        node = _edit(node, source, field, _Change("remove", is_move=True))
    return _edit(node, steps, field, _Change("add", found))


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _edit(node: Node, steps: list[str], field: PatchedField, change: _Change) -> Node:
    """Return a copy of `node` in which the mapping or list around the last step is changed at this step.

    For the steps ["spec", "replicas"], the function changes the mapping `spec` at the key `replicas`.
    """
    step, *following = steps
    if field.path == _POD:
        raise PatchRefusedError(
            f"a patch of {field.name} must use merge instead of json, because tfgen can validate only a merge against "
            "security.profile"
        )
    if isinstance(node, (list, tuple)):
        return _edit_list([*node], step, following, field, change)
    mapping, child_field = _mapping(node, step, field), field.child(step)
    child_field.check_changeable()
    if step not in mapping and (following or change.name != "add"):
        problem = "" if following else f", which the patch {change.name}s,"
        raise PatchRefusedError(f"{child_field.name}{problem} does not exist; {_existing(mapping)}")
    if following:
        return {**mapping, step: _edit(_unconditional(mapping[step], child_field), following, child_field, change)}
    if not change.is_move:
        child_field.check_replaceable(mapping.get(step, ABSENT))
    if change.name == "remove":
        return without_entry(mapping, step)
    return {**without_comments(mapping, step), step: change.value}


def _edit_list(items: list[Node], step: str, following: list[str], field: PatchedField, change: _Change) -> Node:
    at_end = step == _END and not following
    index = len(items) if at_end else _index(items, step, field, is_last=not following)
    item_field = field.child(index)
    if following:
        item = _edit(_unconditional(items[index], item_field), following, item_field, change)
        return [*items[:index], item, *items[index + 1 :]]
    if change.name == "add":
        return [*items[:index], change.value, *items[index:]]
    if index == len(items):
        raise PatchRefusedError(f"{item_field.name}, which the patch {change.name}s, does not exist")
    if not change.is_move:
        item_field.check_replaceable(_unconditional(items[index], item_field))
    return [*items[:index], *([change.value] if change.name == "replace" else []), *items[index + 1 :]]


def _find(node: Node, steps: list[str], field: PatchedField) -> Node:
    """Return the node at the path `steps` in a node."""
    for step in steps:
        if isinstance(node, (list, tuple)):
            index = _index([*node], step, field, is_last=False)
            node, field = node[index], field.child(index)
        else:
            mapping = _mapping(node, step, field)
            field = field.child(step)
            if step not in mapping:
                raise PatchRefusedError(f"{field.name} does not exist; {_existing(mapping)}")
            node = mapping[step]
        node = _unconditional(node, field)
    return node


def _test(node: Node, steps: list[str], field: PatchedField, value: Any) -> None:
    current = _find(node, steps, field)
    for step in steps:
        field = field.child(step)
    if any(True for _ in _holes(current)):
        raise PatchRefusedError(
            f"{field.name} depends on values of the job, so the test would fail for some values; remove the test"
        )
    if not _is_equal(current, value):
        raise PatchRefusedError(f"the test of {field.name} fails: found {shown(current)}, expected {shown(value)}")


def _unconditional(node: Node, field: PatchedField) -> Node:
    """Return `node` unchanged if the object contains this node for all values of the job.

    Raises:
        PatchRefusedError: the node exists only for some values of the job.
    """
    if isinstance(node, (h.When, h.ForEach, h.Items)):
        raise PatchRefusedError(f"{field.name} exists only for some values of the job; use merge instead of json")
    return node


def _index(items: list[Node], step: str, field: PatchedField, *, is_last: bool) -> int:
    """Convert a step of a path to the index of an item in a list.

    Args:
        items: the list.
        step: the index as a text, such as "0".
        field: the field of the list.
        is_last: whether the step is the last step of the path. The last step may be the position after the last item.

    Raises:
        PatchRefusedError: the step is not an index of the list, or values of the job decide which item has this index.
    """
    if not re.fullmatch("0|[1-9][0-9]{0,9}", step):
        end = f" or {_END}" if is_last else ""
        raise PatchRefusedError(f"{field.name} is a list: found {step}, expected an index{end}")
    index = int(step)
    for item in items[: index + (not is_last)]:
        if isinstance(item, (h.When, h.ForEach, h.Items)):
            raise PatchRefusedError(
                f"values of the job decide which item of {field.name} has the index {index}; use merge instead of json"
            )
    if index > len(items) - (not is_last):
        last = f"its last item has the index {len(items) - 1}" if items else "the list is empty"
        raise PatchRefusedError(f"{field.name} has no item {index}; {last}")
    return index


def _existing(mapping: Mapping[Key, Node]) -> str:
    """Return the words of a message about the keys of a mapping: `the existing fields are serviceName and replicas`."""
    keys = [key for key in mapping if isinstance(key, str)]
    if not keys:
        return "the mapping is empty"
    return f"the existing {'fields are' if len(keys) > 1 else 'field is'} {either(keys, 'and')}"


def _is_equal(node: Any, value: Any) -> bool:
    """Return whether a node equals a value in JSON, where true and 1 are different values."""
    if isinstance(node, h.NamedTemplate):
        node = node.node
    if isinstance(node, Mapping) and isinstance(value, Mapping):
        entries = {key: child for key, child in node.items() if isinstance(key, str)}
        return entries.keys() == value.keys() and all(_is_equal(entries[key], value[key]) for key in entries)
    if isinstance(node, (list, tuple)) and isinstance(value, (list, tuple)):
        return len(node) == len(value) and all(map(_is_equal, node, value))
    return type(node) is type(value) and bool(node == value)
