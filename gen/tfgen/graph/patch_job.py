"""The application of a job's patches to its object graph, so that all outputs contain the same patches.

For example, this patch sets a field of the workers' StatefulSet:

    {"target": {"kind": "StatefulSet", "name": "worker"}, "merge": {"spec": {"minReadySeconds": 10}}}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.fix import NO_HINT, Assignment, Hint, meant
from tfgen.graph import holes as h
from tfgen.graph import naming
from tfgen.graph.alternatives import join_alternatives
from tfgen.graph.fill import Template
from tfgen.graph.holes import Expression, Key, Node, used_names
from tfgen.graph.patch_edits import Merger, PatchedField, PatchFault, PatchRefusedError, operate
from tfgen.graph.podspec import container_context
from tfgen.graph.role_pod import with_container_security
from tfgen.graph.supporting import LITERAL
from tfgen.job.training_job import Patch, Structure
from tfgen.kubernetes.keys import KEEP
from tfgen.kubernetes.merge import JSON_MERGE, STRATEGIC_GROUPS, kubectl
from tfgen.kubernetes.object import group
from tfgen.kubernetes.pods import Profile
from tfgen.record import Record
from tfgen.schema.tunables import ENVIRONMENT
from tfgen.words import either, nearest


class PatchedGraph(Record):
    """The templates of a job with the job's patches applied.

    Attributes:
        faults: the faults in the patches, by the name of the environment. The name "" is for the patches of the job.
        entry_patches: the patches for the claim of a volume or a similar object, by the name of the environment. Values
            of the job decide whether such an object exists, so a rule checks that the object exists.
    """

    templates: tuple[Template, ...]
    faults: Mapping[str, tuple[PatchFault, ...]]
    entry_patches: Mapping[str, tuple[EntryPatch, ...]]


def patch_job(templates: Sequence[Template], structure: Structure) -> PatchedGraph:
    """Apply the patches of a job to its templates, in the order of the patches.

    If the patches of an environment differ from the job's patches, the templates test the name of the environment.
    """
    variants: dict[str, _Variant] = {}
    for name, patches in {"": structure.patches, **structure.environment_patches}.items():
        variants[name] = _Variant(templates, structure.profile)
        for patch in patches:
            variants[name].apply(patch)
    patched: list[Template] = []
    for place, template in enumerate(templates):
        node = join_alternatives(
            {name: variant.nodes[place] for name, variant in variants.items()}, IN_ENVIRONMENT, default=""
        )
        added = join_added_metadata({name: variant.added[place] for name, variant in variants.items()})
        patched.append(template.replaced(node=with_added_metadata(node, added) if added else node))
    return PatchedGraph(
        tuple(patched),
        {name: tuple(variant.faults) for name, variant in variants.items()},
        {name: tuple(variant.entry_patches) for name, variant in variants.items()},
    )


_REMAINING: Final = ""
"""The name of the alternative for all map entries that are not the target of the patch."""


class _Variant:
    """The templates of a job, to which the method `apply` applies the patches of a single variant.

    Attributes:
        nodes: the patched node of each template, without the labels and annotations in `added`.
        added: the labels and annotations that the patches add to the object of each template.
        faults: the faults in the patches, each as a key with the value None.
        entry_patches: the patches for the claim of a volume or a similar object.
    """

    def __init__(self, templates: Sequence[Template], profile: Profile) -> None:
        self.templates = templates
        self.profile = profile
        self.nodes = [template.node for template in templates]
        self.added: list[list[AddedMetadata]] = [[] for _ in templates]
        self.faults: dict[PatchFault, None] = {}
        self.entry_patches: list[EntryPatch] = []

    def apply(self, patch: Patch) -> None:
        """Apply a patch. A container that the patch adds gets the security settings of the profile."""
        places = [place for place, template in enumerate(self.templates) if is_target(template, patch)]
        if not places:
            self.faults[missing_target(self.templates, patch)] = None
        if bool(patch.merge) is bool(patch.operations):
            content = "both merge and json" if patch.merge else "neither merge nor json"
            fault = PatchFault((*target_path(patch), "kind"), f"found {content}, expected either merge or json")
            self.faults[fault] = None
            return
        for place in places:
            node, template = self.nodes[place], self.templates[place]
            entry = entry_of(template, patch)
            if entry is None or not isinstance(node, h.ForEach):
                self.nodes[place] = change_objects(node, partial(self._object, patch, place, None))
                continue
            name = h.Bound(node.key)
            test = h.Equal(name, entry)
            patched = change_objects(node.body, partial(self._object, patch, place, test))
            alternatives = {entry: patched, _REMAINING: node.body}
            self.nodes[place] = node.replaced(body=join_alternatives(alternatives, name, default=_REMAINING))
            self.entry_patches.append(EntryPatch(patch, template))

    def _object(self, patch: Patch, place: int, test: Expression | None, item: dict[Key, Node]) -> Node:
        """Apply a patch to the object `item` of the template at `place`. `test` is the condition of the patch."""
        template, kind = self.templates[place], str(item["kind"])
        over = template.node
        bindings = (
            {over.item: f"{over.over.path}.NAME"}
            if isinstance(over, h.ForEach) and isinstance(over.over, h.Value)
            else {}
        )
        field = PatchedField(kind, template.name, bindings)
        if patch.operations:
            return self._operated(item, patch, field)
        path: Path = ("patches", patch.name, "merge")
        merge = dict(patch.merge)
        metadata = merge.pop("metadata", {})
        if naming.has_labels_of_metadata(item):
            self._check_metadata(item, metadata, (*path, "metadata"))
            self.added[place] += [AddedMetadata(name, entries, test) for name, entries in metadata.items()]
        elif metadata:
            self.faults[PatchFault((*path, "metadata"), field.child("metadata").pod_message)] = None
        pod, over_pod = data_path.at(item, ("spec", "template")), data_path.at(merge, ("spec", "template"))
        if isinstance(pod, dict) and _has_containers(over_pod):
            secured = with_container_security(pod, over_pod, container_context(self.profile))
            merge = data_path.with_value(merge, ("spec", "template"), secured)
        version = item["apiVersion"]
        # Kubernetes supports strategic merge patches only for its own kinds.
        is_strategic = isinstance(version, str) and group({"apiVersion": version}) in STRATEGIC_GROUPS
        merger = Merger(kubectl(kind) if is_strategic else JSON_MERGE)
        merged = merger.merge(item, merge, path, field)
        self.faults.update(merger.faults)
        return merged

    def _operated(self, item: Node, patch: Patch, field: PatchedField) -> Node:
        for index, operation in enumerate(patch.operations):
            try:
                item = operate(item, operation, field)
            except PatchRefusedError as refusal:
                self.faults[refusal.fault(("patches", patch.name, "json", index))] = None
                break  # the following operations may need the result of this operation
        return item

    def _check_metadata(self, item: Mapping[Key, Node], patch: Mapping[str, Any], path: Path) -> None:
        for name, entries in patch.items():
            reserved = naming.entries_set_by_tfgen(item, name)
            for key, text in entries.items():
                place = (*path, name, key)
                if key in reserved and (name == "labels" or key in KEEP):
                    why = (
                        "selectors need the label" if name == "labels" else "the annotation protects the trained model"
                    )
                    refusal = PatchRefusedError(f"a patch must not change {key}, because {why}", only_tfgen_sets=True)
                    self.faults[refusal.fault(place)] = None
                elif not text:
                    message = (
                        f'found an empty text; to remove {key}, set {name}: {{{key}: ""}} in the job, not in a patch'
                    )
                    self.faults[PatchFault(place, message)] = None


def _has_containers(template: Any) -> bool:
    """Return whether a pod template has valid lists of containers. The rule `wrong-shape` reports an invalid list."""
    spec = template.get("spec") if isinstance(template, Mapping) else None
    if not isinstance(spec, Mapping):
        return False
    lists = [spec[key] for key in ("initContainers", "containers") if spec.get(key) is not None]
    return all(
        isinstance(item, Mapping) and "name" in item and isinstance(item.get("securityContext", {}), Mapping)
        for items in lists
        for item in (items if isinstance(items, list) else [items])
    )


# -- targets -----------------------------------------------------------------------------------------------------------
#
# Functions that find the templates whose objects a patch changes.


_MAX_NAMES: Final = 12
"""Maximum number of names that a message lists."""


class EntryPatch(Record):
    """A patch for a single object of a template that renders an object for each map entry.

    For example, the target of the patch is `claim-model`, the claim of the volume `model`.

    Attributes:
        template: the template, such as the template of all claims.
    """

    patch: Patch
    template: Template


def is_target(template: Template, patch: Patch) -> bool:
    """Return whether a patch changes objects of a template."""
    if template.chart_only or patch.kind not in _kinds(template.node):
        return False
    return patch.target in ("", template.name) or entry_of(template, patch) is not None


def entry_of(template: Template, patch: Patch) -> str | None:
    """Return the key of the map entry that is the target of a patch, such as "model" for the target `claim-model`.

    Return None if the target is the whole template.
    """
    prefix = f"{template.name}-"
    is_entry = isinstance(template.node, h.ForEach) and patch.target.startswith(prefix)
    return patch.target.removeprefix(prefix) if is_entry else None


def _kinds(node: Node) -> Iterator[str]:
    """Yield the kinds of the objects of a template, except for objects under `objects` of the job."""
    match node:
        case h.Let(body=body) | h.ForEach(body=body):
            yield from _kinds(body)
        case h.When(_, if_true, if_false):
            yield from _kinds(if_true)
            yield from _kinds(if_false)
        case dict() if isinstance(kind := node["kind"], str):
            yield kind


def missing_target(templates: Sequence[Template], patch: Patch) -> PatchFault:
    """Return the fault for a patch whose target does not exist."""
    path = target_path(patch)
    if patch.target.startswith(f"{LITERAL}-"):
        name = patch.target.removeprefix(f"{LITERAL}-")
        return PatchFault(
            (*path, "name"), f"{patch.target} is an object of the job file; change the object in objects.{name}", True
        )
    targets = [(kind, t.name) for t in templates if not t.chart_only for kind in dict.fromkeys(_kinds(t.node))]
    candidates = [name for kind, name in targets if kind == patch.kind]
    if candidates:
        hint = name_hint((*path, "name"), patch.target, candidates)
        return PatchFault((*path, "name"), f"the job has no {patch.kind} {patch.target}{hint.text}", True, hint.fixes)
    kinds = [*dict.fromkeys(kind for kind, _ in targets)]
    target_kind = next((kind for kind, name in targets if name == patch.target), None)
    path = (*path, "kind")
    hint = Hint(f"; {patch.target} is a {target_kind}") if target_kind else name_hint(path, patch.kind, kinds)
    return PatchFault(path, f"the job has no {patch.kind}{hint.text}", True, hint.fixes)


def target_path(patch: Patch) -> Path:
    """Return the path of a patch's `target` in the spec of the job."""
    return ("patches", patch.name, "target")


def name_hint(path: Path, name: str, names: Sequence[str]) -> Hint:
    """Return a hint for an unknown name: `; did you mean "worker"?`, or `; choose ...` with the existing names."""
    if not names:
        return NO_HINT
    omitted = len(names) - _MAX_NAMES
    listed = either(names) if omitted <= 0 else f"{', '.join(names[:_MAX_NAMES])} or one of {omitted} more"
    near = nearest(name, names)
    return meant(near, Assignment(path, near), written=name) or Hint(f"; choose {listed}")


# -- added metadata ----------------------------------------------------------------------------------------------------
#
# Labels and annotations that patches add to objects. Patches override the labels and annotations of the job.


IN_ENVIRONMENT: Final = h.Value(ENVIRONMENT, "string")


class AddedMetadata(Record):
    """Labels or annotations that a patch adds to objects.

    Attributes:
        field: `labels` or `annotations`.
        entries: the labels or annotations.
        test: the condition under which the patch applies; None for a patch without a condition.
    """

    field: str
    entries: Mapping[str, str]
    test: Expression | None


def join_added_metadata(by_variant: Mapping[str, Sequence[AddedMetadata]]) -> list[AddedMetadata]:
    """Join the labels and annotations that patches add in each variant into a single list, for all variants.

    The list begins with the items that all variants add first. Each later item gets a test, so that the item applies
    only in its variant.

    Args:
        by_variant: the items of each variant, by the name of the environment. The name "" is for the job without an
            environment.
    """
    first = by_variant[""]
    common = 0
    while all(added[common : common + 1] == first[common : common + 1] != [] for added in by_variant.values()):
        common += 1
    joined = [*first[:common]]
    environments = [h.Equal(IN_ENVIRONMENT, name) for name in by_variant if name]
    for name, added in by_variant.items():
        if name:
            in_variant: Expression = h.Equal(IN_ENVIRONMENT, name)
        else:
            in_variant = h.Not(environments[0] if len(environments) == 1 else h.AnyOf((*environments,)))
        joined += [
            item.replaced(test=in_variant if item.test is None else h.AllOf((in_variant, item.test)))
            for item in added[common:]
        ]
    return joined


def with_added_metadata(node: Node, added: Sequence[AddedMetadata]) -> Node:
    """Add the labels and annotations in `added` to each object in a template's node, and return the changed node."""
    by_field: dict[str, list[Expression]] = {"labels": [], "annotations": []}
    for item in added:
        entries = h.MapOf(dict(item.entries.items()))
        by_field[item.field].append(entries if item.test is None else h.When(item.test, entries, h.MapOf({})))
    return change_objects(
        node, lambda changed: naming.with_overriding_metadata(changed, by_field["labels"], by_field["annotations"])
    )


# -- change objects ----------------------------------------------------------------------------------------------------
#
# A function that applies a change to each object in a template.


def change_objects(node: Node, change: Callable[[dict[Key, Node]], Node]) -> Node:
    """Apply a function to each object in a template's node, including objects inside `Let`, `When` and `ForEach`.

    The result has no `Let` for a name that only removed fields need.
    """
    match node:
        case h.Let(name, expression, body):
            changed = change_objects(body, change)
            return h.Let(name, expression, changed) if (h.Bound, name) in used_names(changed) else changed
        case h.When(test, if_true, if_false):
            return h.When(test, change_objects(if_true, change), change_objects(if_false, change))
        case h.ForEach():
            return node.replaced(body=change_objects(node.body, change))
        case dict():
            return change(node)
    return node
