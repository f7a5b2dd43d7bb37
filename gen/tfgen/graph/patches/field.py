"""The fields of the object graph that a patch may change.

A patch must not replace a hole, because the value of the job would then have no effect. A patch must not change the
name and the kind of an object, or a field on which other objects depend.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NoReturn

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.holes import ABSENT, Bound, Call, Comment, Hole, Key, NamedTemplate, Node, Splice, Value, child_nodes
from tfgen.job.training_job import ROLE_NAMES
from tfgen.record import Record
from tfgen.words import either, path_name

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


class Fault(Record):
    """A patch that cannot be applied.

    Attributes:
        path: the path of the problem in the spec of the job: ``("patches", "slow", "merge", "spec", "replicas")``.
        message: the problem and the fix.
        has_no_target: whether the target of the patch does not exist.
    """

    path: Path
    message: str
    has_no_target: bool = False


class RefusedError(Exception):
    """Error for a change that a patch must not make. The caller turns the error into a `Fault` with the path."""


class Field(Record):
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

    def child(self, step: str | int) -> Field:
        """Return the child field at the key or the list item `step`."""
        return self.replaced(path=(*self.path, step))

    @property
    def name(self) -> str:
        """The path of the field in the notation of messages, such as `spec.replicas`."""
        return path_name(self.path)

    def check_changeable(self) -> None:
        """Check that a patch may change the field.

        Raises:
            RefusedError: only tfgen may set the field.
        """
        if self.path in self._fixed_fields:
            raise RefusedError(
                f"a patch must not change {self.name}, because {self._fixed_fields[self.path]}; remove this entry"
            )

    def check_replaceable(self, node: Node) -> None:
        """Check that a patch may remove or replace the content of the field.

        Raises:
            RefusedError: the content depends on a value of the job, and the patch would make this value ineffective.
        """
        holes = [hole for hole in _holes(node) if not isinstance(hole, NamedTemplate)]
        if not holes:
            for path, why in self._fixed_fields.items():
                if path[: len(self.path)] == self.path and data_path.has(node, path[len(self.path) :]):
                    raise RefusedError(f"a patch must not change {path_name(path)}, because {why}; remove this entry")
            return
        if any(isinstance(hole, Call) for hole in holes):
            self.refuse_pod()
        paths = dict.fromkeys(path for hole in holes for path in self._values_of(hole))
        keys = [path for path in paths if path not in _NAME_VALUES]
        if keys:
            reference = "this key" if len(keys) == 1 else "these keys"
            raise RefusedError(
                f"a patch must not change {self.name}, which the job sets by {either(keys, 'and')}; "
                f"set {reference} instead"
            )
        pointer = "/".join(["", *map(str, self.path), "-"])
        fix = (
            f"add an item by json: [{{op: add, path: {pointer}, value: ...}}]"
            if isinstance(node, list)
            else "remove this entry"
        )
        raise RefusedError(f"a patch must not change {self.name}, which contains the names of objects; {fix}")

    def refuse_values(self, node: Node) -> NoReturn:
        """Refuse a patch inside a field whose whole value comes from the job, such as `nodeSelector`.

        Raises:
            RefusedError: always.
        """
        self.check_replaceable(node)
        raise RefusedError(f"{self.name} has no fields that a patch can change; replace {self.name} as a whole")

    def refuse_pod(self) -> NoReturn:
        """Refuse a patch of a pod template, because objects of the chart share the template or contain its hash.

        Raises:
            RefusedError: always.
        """
        raise RefusedError(self.pod_message)

    @property
    def _fixed_fields(self) -> Mapping[Path, str]:
        """The fields of the object that a patch must not change, each with the reason for the error message."""
        by_object = _FIELDS_BY_OBJECT.get((self.kind, self.template), {})
        return {**_IDENTITY, **_FIELDS_BY_KIND.get(self.kind, {}), **by_object}

    @property
    def pod_message(self) -> str:
        """The message for a patch that changes a pod template."""
        if self.template == "finisher":
            return (
                f"{self.name}: a patch must not change the pod of the finisher; set helpers or completion.image instead"
            )
        role = self.template if self.template in ROLE_NAMES else "ROLE"
        return f"{self.name}: a patch must not change the pods of tasks; set roles.{role}.podTemplate instead"

    def _values_of(self, hole: Node) -> Iterator[str]:
        match hole:
            case Value(path):
                yield path
            case Bound(name, _, path) if name in self.bindings:
                yield ".".join(step for step in (self.bindings[name], path) if step)


def _holes(node: object) -> Iterator[Node]:
    """Yield the holes of a node, including the holes inside other holes."""
    if isinstance(node, Hole):
        yield node  # type: ignore[misc]  # a hole is an expression
    for child in child_nodes(node):  # type: ignore[arg-type]
        yield from _holes(child)


def open_mapping(node: Node, key: str) -> Node:
    """Replace each `Splice` in a mapping by its entries, so that a patch finds the key `key` directly in the mapping.

    A `Splice` is the key of a nested mapping whose entries the output shows in the outer mapping. If the nested node is
    a hole, such as a `When`, the `Splice` remains. A mapping that already contains `key` is unchanged.
    """
    while isinstance(node, NamedTemplate) and not node.parameters and isinstance(node.node, dict):
        node = node.node
    if not isinstance(node, dict) or key in node:
        return node
    opened: dict[Key, Node] = {}
    for entry_key, child in node.items():
        part = open_mapping(child, key) if isinstance(entry_key, Splice) else child
        if isinstance(entry_key, Splice) and isinstance(part, dict):
            opened.update(part)
        else:
            opened[entry_key] = child
    return opened


def splices(node: Mapping[Key, Node]) -> Iterator[Node]:
    """Yield the value of each `Splice` in a mapping, such as a `When` that adds entries for some values of the job."""
    return (child for key, child in node.items() if isinstance(key, Splice) and child is not ABSENT)


def without_entry(node: Mapping[Key, Node], key: str) -> dict[Key, Node]:
    """Return a mapping without the entry of a key, and without the comments above the entry."""
    return {entry_key: child for entry_key, child in without_comments(node, key).items() if entry_key != key}


def without_comments(node: Mapping[Key, Node], key: str) -> dict[Key, Node]:
    """Return a mapping without the comments above the entry of a key."""
    entries: list[tuple[Key, Node]] = []
    for entry in node.items():
        if entry[0] == key:
            while entries and isinstance(entries[-1][0], Comment):
                entries.pop()
        entries.append(entry)
    return dict(entries)
