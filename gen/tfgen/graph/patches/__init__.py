"""The patches of a job, laid over its objects while these have their holes: so all three outputs have them alike.

{"target": {"kind": "StatefulSet", "name": "worker"}, "merge": {"spec": {"minReadySeconds": 10}}}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.holes import (
    AllOf,
    AnyOf,
    Bound,
    Each,
    Equal,
    Expression,
    Key,
    Let,
    MapOf,
    Node,
    Not,
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
from tfgen.job.training_job import Patch, Profile, Structure
from tfgen.kubernetes.keys import KEEP
from tfgen.kubernetes.merge import JSON_MERGE, kubectl
from tfgen.kubernetes.merge_keys import STRATEGIC_GROUPS
from tfgen.kubernetes.object import group
from tfgen.record import Record
from tfgen.schema.chart_values import ENVIRONMENT
from tfgen.words import either, meant, nearest

__all__ = ["Entry", "Fault", "Patched", "lay_over", "likely", "target_path"]

_MOST: Final = 12
"""Names that a message lists."""

_ENVIRONMENT: Final = Value(ENVIRONMENT, "string")

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
        faults: what cannot be laid over them, by the environment whose patches these are; empty for the job's own.
        entries: what a patch counts on, in the same way.
    """

    templates: tuple[Template, ...]
    faults: Mapping[str, tuple[Fault, ...]]
    entries: Mapping[str, tuple[Entry, ...]]


class _Layer(Record):
    """Labels or annotations that a patch lays over those of objects; where there is a test, of those that meet it."""

    field: str
    entries: Mapping[str, str]
    test: Expression | None


class _Form(Record):
    """Templates with the patches of the job or of one environment.

    Attributes:
        nodes: the templates' nodes, without what is in the layers.
        layers: those of each template.
        faults: what cannot be laid over them.
        entries: what a patch counts on.
    """

    nodes: Sequence[Node]
    layers: Sequence[Sequence[_Layer]]
    faults: tuple[Fault, ...]
    entries: tuple[Entry, ...]


def lay_over(templates: Sequence[Template], structure: Structure) -> Patched:
    """A job's templates with its patches laid over them, one after the other.

    Where an environment has patches of its own, what differs stands under a test of the environment.
    """
    forms = {
        name: _form(templates, patches, structure.profile)
        for name, patches in {"": structure.patches, **structure.environment_patches}.items()
    }
    patched: list[Template] = []
    for place, template in enumerate(templates):
        node = join({name: form.nodes[place] for name, form in forms.items()}, _ENVIRONMENT, others="")
        layers = _join_layers({name: form.layers[place] for name, form in forms.items()})
        patched.append(template.replaced(node=_with_layers(node, layers) if layers else node))
    return Patched(
        tuple(patched),
        {name: form.faults for name, form in forms.items()},
        {name: form.entries for name, form in forms.items()},
    )


def _form(templates: Sequence[Template], patches: Sequence[Patch], profile: Profile) -> _Form:
    """The templates with the patches of one form of the job; containers that patches add meet the profile."""
    faults: dict[Fault, None] = {}
    nodes = [template.node for template in templates]
    layers: list[list[_Layer]] = [[] for _ in templates]
    entries: list[Entry] = []
    for patch in patches:
        places = [place for place, template in enumerate(templates) if _is_target(template, patch)]
        if not places:
            faults[_nothing_there(templates, patch)] = None
        if bool(patch.merge) is bool(patch.operations):
            there = "both merge and json" if patch.merge else "neither merge nor json"
            faults[Fault((*target_path(patch), "kind"), f"found {there} beside the target, expected one of them")] = (
                None
            )
            continue
        for place in places:
            laid = _Laid(patch, templates[place].replaced(node=nodes[place]), profile)
            nodes[place] = laid.lay()
            layers[place] += [layer for n, layer in enumerate(laid.layers) if layer not in laid.layers[:n]]
            faults.update(laid.faults)
            if _entry(templates[place], patch) is not None:
                entries.append(Entry(patch, templates[place]))
    return _Form(nodes, layers, tuple(faults), tuple(entries))


def _join_layers(by_form: Mapping[str, Sequence[_Layer]]) -> list[_Layer]:
    """The layers of a template in all forms: those that they begin with alike, then what each has of its own."""
    first = by_form[""]
    alike = 0
    while all(layers[alike : alike + 1] == first[alike : alike + 1] != [] for layers in by_form.values()):
        alike += 1
    joined = [*first[:alike]]
    for name, layers in by_form.items():
        others = [Equal(_ENVIRONMENT, other) for other in by_form if other]
        is_form = Equal(_ENVIRONMENT, name) if name else Not(others[0] if len(others) == 1 else AnyOf((*others,)))
        joined += [
            layer.replaced(test=is_form if layer.test is None else AllOf((is_form, layer.test)))
            for layer in layers[alike:]
        ]
    return joined


def _with_layers(node: Node, layers: Sequence[_Layer]) -> Node:
    """A template's node with more labels and annotations."""
    by_field: dict[str, list[Expression]] = {"labels": [], "annotations": []}
    for layer in layers:
        entries = MapOf(dict(layer.entries.items()))
        by_field[layer.field].append(entries if layer.test is None else When(layer.test, entries, MapOf({})))
    return change_objects(node, lambda item: labels.with_layers(item, by_field["labels"], by_field["annotations"]))


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
        return Fault(
            (*path, "name"), f"{patch.target} is an object of the job's own; change it in objects.{name}", True
        )
    there = [(kind, t.name) for t in templates if not t.chart_only for kind in dict.fromkeys(_kinds(t.node))]
    of_kind = [name for kind, name in there if kind == patch.kind]
    if of_kind:
        return Fault(
            (*path, "name"), f"the job has no {patch.kind} {patch.target}{likely(patch.target, of_kind)}", True
        )
    kinds = [*dict.fromkeys(kind for kind, _ in there)]
    of_name = next((kind for kind, name in there if name == patch.target), None)
    hint = f"; {patch.target} is a {of_name}" if of_name else likely(patch.kind, kinds)
    return Fault((*path, "kind"), f"tfgen makes no {patch.kind} of this job{hint}", is_of_target=True)


def target_path(patch: Patch) -> Path:
    """Where the job says what a patch is for."""
    return ("patches", patch.name, "target")


def likely(name: str, known: Sequence[str]) -> str:
    """What a message ends with on a name that is not there: the one that was meant, or those that are."""
    if not known:
        return ""
    more = len(known) - _MOST
    names = either(known, "and") if more <= 0 else f"{', '.join(known[:_MOST])} and {more} more"
    return meant(nearest(name, known)) or f"; there is {names}"


class _Laid:
    """A patch that is laid over a template's objects."""

    def __init__(self, patch: Patch, template: Template, profile: Profile) -> None:
        self.patch = patch
        self.template = template
        self.profile = profile
        self.layers: list[_Layer] = []
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
        merger = Merger(kubectl(str(item["kind"])) if _is_strategic(item) else JSON_MERGE)
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
            self.layers.append(_Layer(name, entries, test))

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
