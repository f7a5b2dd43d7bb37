"""The patches of a job, laid over its objects while these have their holes: so all three outputs have them alike.

{"target": {"kind": "StatefulSet", "name": "worker"}, "merge": {"spec": {"minReadySeconds": 10}}}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.holes import (
    Bound,
    Each,
    Equal,
    Expression,
    Key,
    Let,
    MapOf,
    Node,
    Value,
    When,
)
from tfgen.graph.objects import labels
from tfgen.graph.objects.literal import LITERAL
from tfgen.graph.objects.security import of_container
from tfgen.graph.patches.field import Fault, Field, RefusedError
from tfgen.graph.patches.merge import Merger
from tfgen.graph.patches.operations import operate
from tfgen.graph.template import Template
from tfgen.graph.variants import join
from tfgen.graph.workloads.pod import secured
from tfgen.job.training_job import Patch, Profile
from tfgen.kubernetes.keys import KEEP
from tfgen.kubernetes.merge import JSON_MERGE, KUBECTL
from tfgen.kubernetes.merge_keys import STRATEGIC_GROUPS
from tfgen.kubernetes.object import group
from tfgen.record import Record
from tfgen.words import either, meant, nearest

__all__ = ["Entry", "Fault", "Patched", "lay_over", "likely", "target_path"]

_MOST: Final = 12
"""Names that a message lists."""

_OTHERS: Final = ""
"""Stands for the entries of a map that a patch does not name."""


class Entry(Record):
    """An entry of a map for whose object alone a patch is: whether there is one, values say.

    Attributes:
        patch: the patch.
        template: that of all entries.
    """

    patch: Patch
    template: Template


class Patched(Record):
    """Templates with a job's patches laid over them.

    Attributes:
        templates: the templates.
        faults: what cannot be laid over them.
        entries: what a patch counts on.
    """

    templates: tuple[Template, ...]
    faults: tuple[Fault, ...]
    entries: tuple[Entry, ...]


def lay_over(templates: Sequence[Template], patches: Sequence[Patch], profile: Profile) -> Patched:
    """The templates with the patches laid over them, one after the other.

    Args:
        templates: a job's.
        patches: a job's.
        profile: the Pod Security Standard that containers of a patch meet, where they say nothing else.
    """
    faults: dict[Fault, None] = {}
    metadata: dict[int, _Metadata] = {}
    patched = [*templates]
    entries: list[Entry] = []
    for patch in patches:
        places = [place for place, template in enumerate(templates) if _is_target(template, patch)]
        if not places:
            faults[_nothing_there(templates, patch)] = None
        for place in places:
            laid = _Laid(patch, patched[place], profile, metadata.setdefault(place, _Metadata()))
            patched[place] = patched[place].replaced(node=laid.lay())
            faults.update(laid.faults)
            if _entry(templates[place], patch) is not None:
                entries.append(Entry(patch, templates[place]))
    for place, own_metadata in metadata.items():
        patched[place] = patched[place].replaced(node=own_metadata.put(patched[place].node))
    return Patched(tuple(patched), tuple(faults), tuple(entries))


def _is_target(template: Template, patch: Patch) -> bool:
    if template.chart_only or patch.kind not in _kinds(template.node):
        return False
    return patch.target in ("", template.name) or _entry(template, patch) is not None


def _entry(template: Template, patch: Patch) -> str | None:
    """The entry of the map that a template goes through, where a patch means that one alone."""
    prefix = f"{template.name}-"
    named = isinstance(template.node, Each) and patch.target.startswith(prefix)
    return patch.target.removeprefix(prefix) if named else None


def _kinds(node: Node) -> Iterator[str]:
    """The kinds of a template's objects; none of what stands in the job as it is."""
    match node:
        case Let(body=inner) | Each(body=inner):
            yield from _kinds(inner)
        case When(_, then, otherwise):
            yield from _kinds(then)
            yield from _kinds(otherwise)
        case dict() if isinstance(kind := node["kind"], str):
            yield kind


def _nothing_there(templates: Sequence[Template], patch: Patch) -> Fault:
    path = target_path(patch)
    if patch.target.startswith(f"{LITERAL}-"):
        name = patch.target.removeprefix(f"{LITERAL}-")
        return Fault((*path, "name"), f"{patch.target} is an object of the job's own; change it in objects.{name}")
    there = [(kind, t.name) for t in templates if not t.chart_only for kind in dict.fromkeys(_kinds(t.node))]
    of_kind = [name for kind, name in there if kind == patch.kind]
    if of_kind:
        return Fault((*path, "name"), f"the job has no {patch.kind} {patch.target}{likely(patch.target, of_kind)}")
    kinds = [*dict.fromkeys(kind for kind, _ in there)]
    of_name = next((kind for kind, name in there if name == patch.target), None)
    hint = f"; {patch.target} is a {of_name}" if of_name else likely(patch.kind, kinds)
    return Fault((*path, "kind"), f"tfgen makes no {patch.kind} of this job{hint}")


def target_path(patch: Patch) -> Path:
    """Where the job says what a patch is for."""
    return ("patches", patch.name, "target")


def likely(name: str, known: Sequence[str]) -> str:
    """What a message ends with on a name that is not there: the one that was meant, or those that are."""
    more = len(known) - _MOST
    names = either(known, "and") if more <= 0 else f"{', '.join(known[:_MOST])} and {more} more"
    return meant(nearest(name, known)) or (f"; there is {names}" if names else "")


class _Metadata:
    """What patches say of the labels and annotations of a template's objects."""

    def __init__(self) -> None:
        self.layers: dict[str, list[Expression]] = {"labels": [], "annotations": []}

    def add(self, field: str, entries: Mapping[str, str], test: Expression | None) -> None:
        """Lay entries over those before; where there is a test, of the objects for which it is true."""
        layer: Expression = MapOf(dict(entries.items()))
        self.layers[field].append(layer if test is None else When(test, layer, MapOf({})))

    def put(self, node: Node) -> Node:
        """The template's node with them."""
        return change_objects(node, self._with_metadata)

    def _with_metadata(self, item: dict[Key, Node]) -> Node:
        return labels.with_layers(item, self.layers["labels"], self.layers["annotations"])


class _Laid:
    """A patch that is laid over a template's objects."""

    def __init__(self, patch: Patch, template: Template, profile: Profile, metadata: _Metadata) -> None:
        self.patch = patch
        self.template = template
        self.profile = profile
        self.metadata = metadata
        self.faults: dict[Fault, None] = {}

    def lay(self) -> Node:
        """The template's node with the patch."""
        node, entry = self.template.node, _entry(self.template, self.patch)
        if entry is None or not isinstance(node, Each):
            return change_objects(node, lambda item: self._object(item, None))
        name = Bound(node.key)
        one = change_objects(node.body, lambda item: self._object(item, Equal(name, entry)))
        return node.replaced(body=join({entry: one, _OTHERS: node.body}, name, others=_OTHERS))

    def _object(self, item: dict[Key, Node], test: Expression | None) -> Node:
        over = self.template.node
        bindings = (
            {over.item: f"{over.over.path}.NAME"} if isinstance(over, Each) and isinstance(over.over, Value) else {}
        )
        field = Field(str(item["kind"]), self.template.name, bindings)
        if self.patch.operations:
            return self._operated(item, field)
        path: Path = ("patches", self.patch.name, "merge")
        merge = dict(self.patch.merge)
        metadata = merge.pop("metadata", {})
        if labels.is_of_object(item):
            self._metadata(item, metadata, (*path, "metadata"), test)
        elif metadata:
            self.faults[Fault((*path, "metadata"), field.inside("metadata").of_pod)] = None
        merger = Merger(KUBECTL if _is_strategic(item) else JSON_MERGE)
        merged = merger.merge(item, self._secured(item, merge), path, field)
        self.faults.update(merger.faults)
        return merged

    def _operated(self, item: Node, field: Field) -> Node:
        for index, operation in enumerate(self.patch.operations):
            try:
                item = operate(item, operation, field)
            except RefusedError as refusal:
                self.faults[Fault(("patches", self.patch.name, "json", index), str(refusal))] = None
                break  # those behind it count on it
        return item

    def _metadata(
        self, item: Mapping[Key, Node], patch: Mapping[str, Any], path: Path, test: Expression | None
    ) -> None:
        for name, entries in patch.items():
            own = labels.own_entries(item, name)
            for key, text in entries.items():
                if key in own and (name == "labels" or key in KEEP):
                    why = "selectors need it" if name == "labels" else "it keeps a model that was trained"
                    message = f"a patch must leave {key} to tfgen: {why}; remove it"
                    self.faults[Fault((*path, name, key), message)] = None
                elif not text:
                    message = (
                        f'found an empty text, which would leave {key} out; write {name}: {{{key}: ""}} of the job'
                    )
                    self.faults[Fault((*path, name, key), message)] = None
            self.metadata.add(name, entries, test)

    def _secured(self, item: Mapping[Key, Node], merge: Mapping[str, Any]) -> Mapping[str, Any]:
        """The patch, whose containers that the pod does not have yet meet the job's profile."""
        template, over = data_path.at(item, ("spec", "template")), data_path.at(merge, ("spec", "template"))
        if not isinstance(template, dict) or not _has_containers(over):
            return merge
        patch: Mapping[str, Any] = data_path.with_value(
            merge, ("spec", "template"), secured(template, over, of_container(self.profile))
        )
        return patch


def _is_strategic(item: Mapping[Key, Node]) -> bool:
    """Whether Kubernetes patches the kind strategically. Where a value says the version, the kind is a custom one."""
    version = item["apiVersion"]
    return isinstance(version, str) and group({"apiVersion": version}) in STRATEGIC_GROUPS


def _has_containers(template: Any) -> bool:
    """Whether a pod template is one with containers; what has another shape, a rule finds (`rules.wrong_shape`)."""
    spec = template.get("spec") if isinstance(template, Mapping) else None
    if not isinstance(spec, Mapping):
        return False
    items = [item for key in ("initContainers", "containers") for item in _listed_items(spec.get(key))]
    return all(
        isinstance(item, Mapping) and "name" in item and isinstance(item.get("securityContext", {}), Mapping)
        for item in items
    )


def _listed_items(items: Any) -> Sequence[Any]:
    return items if isinstance(items, list) else [] if items is None else [items]


def change_objects(node: Node, change: Callable[[dict[Key, Node]], Node]) -> Node:
    """A template's node with its objects changed."""
    match node:
        case Let(name, expression, body):
            return Let(name, expression, change_objects(body, change))
        case When(test, then, otherwise):
            return When(test, change_objects(then, change), change_objects(otherwise, change))
        case Each():
            return node.replaced(body=change_objects(node.body, change))
        case dict():
            return change(node)
    return node
