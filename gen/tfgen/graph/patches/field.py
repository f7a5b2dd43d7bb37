"""What a patch may change of an object that still has holes, and what it must leave to tfgen or to a key of the job.

A patch changes what stands in the graph. A hole that it took the place of would be a value that nothing reads, so it is
told the key of the job that sets the field. What makes an object this object, and what the rest of the job rests on, no
patch changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NoReturn

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.holes import ABSENT, Bound, Call, Comment, Hole, Key, Named, Node, Splice, Value, child_nodes
from tfgen.job.choices import ROLE_NAMES
from tfgen.record import Record
from tfgen.words import either, path_name

Bindings = Mapping[str, str]
"""The values path that is behind a name that a `range` or `with` around an object binds."""

_OF_NAMES: Final = ("run", "nameOverride", "fullnameOverride")
"""The values that names of objects are made of."""

_IDENTITY: Final[Mapping[Path, str]] = {
    ("apiVersion",): "the target says the kind",
    ("kind",): "the target says the kind",
    ("metadata",): "labels and annotations are merged (merge: {metadata: ...}), and all else is tfgen's",
    ("status",): "the cluster writes it",
}
_OF_KIND: Final[Mapping[str, Mapping[Path, str]]] = {
    "ConfigMap": dict.fromkeys([("data",), ("binaryData",), ("immutable",)], "the pods of a run rest on it"),
    "Deployment": {("spec", "selector"): "it finds the pods"},
    "Job": {
        ("spec", "completionMode"): "the tasks find each other by their index",
        ("spec", "completions"): "a task is one pod",
        ("spec", "managedBy"): "no other controller knows what a run is",
        ("spec", "manualSelector"): "it finds the pods",
        ("spec", "parallelism"): "a task is one pod",
        ("spec", "plugins", "svc"): "the tasks of a Volcano Job find each other by it",
        ("spec", "podReplacementPolicy"): "there would be two pods of one task",
        ("spec", "selector"): "it finds the pods",
        ("spec", "suspend"): "the finisher suspends what the run leaves",
        ("spec", "ttlSecondsAfterFinished"): "a GitOps tool would make the Job again, and it would train again",
    },
    "JobSet": {("spec", "network"): "the tasks find each other by it"},
    "NetworkPolicy": {("spec", "podSelector"): "it is for the pods of the run, and no others"},
    "Role": {("rules",): "the finisher has the rights that it needs, and no more"},
    "RoleBinding": dict.fromkeys([("roleRef",), ("subjects",)], "the finisher has the rights that it needs"),
    "StatefulSet": {
        ("spec", "ordinals"): "the tasks find each other by their index",
        ("spec", "podManagementPolicy"): "a gang that starts one by one never starts",
        ("spec", "selector"): "it finds the pods, and refuses another template of them",
        ("spec", "serviceName"): "the tasks find each other by it",
        ("spec", "updateStrategy"): "no change may restart one task of a run beside the others",
    },
}
_OF_OBJECT: Final[Mapping[tuple[str, str], Mapping[Path, str]]] = {
    ("Service", "service"): dict.fromkeys(
        [("spec", field) for field in ("clusterIP", "ports", "publishNotReadyAddresses", "selector", "type")],
        "the tasks find each other by it",
    ),
    ("Service", "tensorboard-service"): {("spec", "selector"): "it finds the pods"},
}


class Fault(Record):
    """Why a patch cannot be.

    Attributes:
        path: one of the spec: ``("patches", "slow", "merge", "spec", "replicas")``.
        message: what was found, and the way out.
        is_of_target: whether the patch finds nothing to change.
    """

    path: Path
    message: str
    has_no_target: bool = False


class RefusedError(Exception):
    """A part of a patch cannot be. Whoever goes through the patch makes it a `Fault`."""


class Field(Record):
    """A field of an object that a patch meets.

    Attributes:
        kind: of the object.
        template: what the object is in the job.
        bindings: what is behind the names that are bound around it.
        path: the field's, with an item of a list by its name or index.
    """

    kind: str
    template: str
    bindings: Bindings
    path: Path = ()

    def inside(self, step: str | int) -> Field:
        """A field within this one."""
        return self.replaced(path=(*self.path, step))

    @property
    def name(self) -> str:
        """As messages show it."""
        return path_name(self.path)

    def check_owner(self) -> None:
        """See to it that a patch may say anything of the field.

        Raises:
            RefusedError: tfgen alone does.
        """
        if self.path in self._owned:
            raise RefusedError(f"a patch must leave {self.name} to tfgen: {self._owned[self.path]}; remove it")

    def check_replaceable(self, node: Node) -> None:
        """See to it that what stands in the field may go, or another thing take its place.

        Raises:
            RefusedError: a value of the job would then change nothing.
        """
        holes = [hole for hole in _holes(node) if not isinstance(hole, Named)]
        if not holes:
            for path, why in self._owned.items():
                if path[: len(self.path)] == self.path and data_path.has(node, path[len(self.path) :]):
                    raise RefusedError(f"a patch must leave {path_name(path)} to tfgen: {why}; remove it")
            return
        if any(isinstance(hole, Call) for hole in holes):
            self.refuse_pod()
        paths = dict.fromkeys(path for hole in holes for path in self._values_of(hole))
        keys = [path for path in paths if path not in _OF_NAMES]
        if keys:
            raise RefusedError(
                f"{self.name} follows {either(keys, 'and')}, which would then change nothing; "
                f"set {'that' if len(keys) == 1 else 'those'} instead"
            )
        place = "/".join(["", *map(str, self.path), "-"])
        instead = (
            f"json: [{{op: add, path: {place}, value: ...}}] adds to it" if isinstance(node, list) else "remove it"
        )
        raise RefusedError(
            f"a patch must leave {self.name} to tfgen: it is made of the names of the job's objects; {instead}"
        )

    def refuse_values(self, node: Node) -> NoReturn:
        """A patch looks into what is a value as a whole.

        Raises:
            RefusedError: always.
        """
        self.check_replaceable(node)
        raise RefusedError(f"{self.name} has no fields that a patch could change")

    def refuse_pod(self) -> NoReturn:
        """A patch looks into a pod template, which stands in the chart once for several objects, or under a hash.

        Raises:
            RefusedError: always.
        """
        raise RefusedError(self.of_pod)

    @property
    def _owned(self) -> Mapping[Path, str]:
        """The fields of the object that are tfgen's alone, and why."""
        return {**_IDENTITY, **_OF_KIND.get(self.kind, {}), **_OF_OBJECT.get((self.kind, self.template), {})}

    @property
    def of_pod(self) -> str:
        """Why a patch does not change a pod."""
        if self.template == "finisher":
            return f"{self.name}: the finisher's pod takes all from the job; set helpers or completion.image instead"
        role = self.template if self.template in ROLE_NAMES else "ROLE"
        return f"{self.name}: the pods of tasks have a key of their own; write it in roles.{role}.podTemplate"

    def _values_of(self, hole: Node) -> Iterator[str]:
        match hole:
            case Value(path):
                yield path
            case Bound(name, _, path) if name in self.bindings:
                yield ".".join(step for step in (self.bindings[name], path) if step)


def _holes(node: object) -> Iterator[Node]:
    """The holes of a node, and those within them."""
    if isinstance(node, Hole):
        yield node  # type: ignore[misc]  # a hole is an expression
    for inner in child_nodes(node):  # type: ignore[arg-type]
        yield from _holes(inner)


def open_mapping(node: Node, key: str) -> Node:
    """A mapping in which a key stands, if it has it at all: what is spliced into it is opened where it may have it."""
    while isinstance(node, Named) and not node.parameters and isinstance(node.node, dict):
        node = node.node
    if not isinstance(node, dict) or key in node:
        return node
    opened: dict[Key, Node] = {}
    for own, inner in node.items():
        part = open_mapping(inner, key) if isinstance(own, Splice) else inner
        if isinstance(own, Splice) and isinstance(part, dict):
            opened.update(part)
        else:
            opened[own] = inner
    return opened


def splices(node: Mapping[Key, Node]) -> Iterator[Node]:
    """What is spliced into a mapping, and may have any key."""
    return (inner for key, inner in node.items() if isinstance(key, Splice) and inner is not ABSENT)


def without(node: Mapping[Key, Node], key: str, *, comment_alone: bool = False) -> dict[Key, Node]:
    """A mapping without an entry, and without the reasons above it; or without these alone."""
    kept: list[tuple[Key, Node]] = []
    for entry in node.items():
        if entry[0] == key:
            while kept and isinstance(kept[-1][0], Comment):
                kept.pop()
            if not comment_alone:
                continue
        kept.append(entry)
    return dict(kept)
