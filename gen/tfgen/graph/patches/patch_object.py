"""The application of a patch to the objects of a template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.alternatives import join_alternatives
from tfgen.graph.holes import (
    Bound,
    Equal,
    Expression,
    ForEach,
    Key,
    Node,
    Value,
)
from tfgen.graph.objects import labels
from tfgen.graph.objects.security import container_context
from tfgen.graph.patches.added_metadata import AddedMetadata
from tfgen.graph.patches.change_objects import change_objects
from tfgen.graph.patches.field import Fault, Field, RefusedError
from tfgen.graph.patches.merge import Merger
from tfgen.graph.patches.operations import operate
from tfgen.graph.patches.targets import entry_of
from tfgen.graph.template import Template
from tfgen.graph.workloads.pod import with_container_security
from tfgen.job.training_job import Patch, Profile
from tfgen.kubernetes.keys import KEEP
from tfgen.kubernetes.merge import JSON_MERGE, kubectl
from tfgen.kubernetes.merge_keys import STRATEGIC_GROUPS
from tfgen.kubernetes.object import group

_REMAINING: Final = ""
"""The name of the alternative for all map entries that are not the target of the patch."""


class ObjectPatch:
    """The application of a patch to the objects of a template. The method `apply` sets `added` and `faults`.

    Attributes:
        added: the labels and annotations that the patch adds. The node that `apply` returns does not contain this
            metadata.
        faults: the faults in the patch, each as a key with the value None.
    """

    def __init__(self, patch: Patch, template: Template, profile: Profile) -> None:
        self.patch = patch
        self.template = template
        self.profile = profile
        self.added: list[AddedMetadata] = []
        self.faults: dict[Fault, None] = {}

    def apply(self) -> Node:
        """Return the node of the template with the patch applied."""
        node, entry = self.template.node, entry_of(self.template, self.patch)
        if entry is None or not isinstance(node, ForEach):
            return change_objects(node, lambda item: self._object(item, None))
        name = Bound(node.key)
        patched = change_objects(node.body, lambda item: self._object(item, Equal(name, entry)))
        return node.replaced(body=join_alternatives({entry: patched, _REMAINING: node.body}, name, default=_REMAINING))

    def _object(self, item: dict[Key, Node], test: Expression | None) -> Node:
        over = self.template.node
        bindings = (
            {over.item: f"{over.over.path}.NAME"} if isinstance(over, ForEach) and isinstance(over.over, Value) else {}
        )
        field = Field(str(item["kind"]), self.template.name, bindings)
        if self.patch.operations:
            return self._operated(item, field)
        path: Path = ("patches", self.patch.name, "merge")
        merge = dict(self.patch.merge)
        metadata = merge.pop("metadata", {})
        if labels.has_labels_of_metadata(item):
            self._metadata(item, metadata, (*path, "metadata"), test)
        elif metadata:
            self.faults[Fault((*path, "metadata"), field.child("metadata").pod_message)] = None
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
                break  # the following operations may need the result of this operation
        return item

    def _metadata(
        self, item: Mapping[Key, Node], patch: Mapping[str, Any], path: Path, test: Expression | None
    ) -> None:
        for name, entries in patch.items():
            reserved = labels.entries_set_by_tfgen(item, name)
            for key, text in entries.items():
                if key in reserved and (name == "labels" or key in KEEP):
                    why = (
                        "selectors need the label" if name == "labels" else "the annotation protects the trained model"
                    )
                    message = f"a patch must not change {key}, because {why}; remove this entry"
                    self.faults[Fault((*path, name, key), message)] = None
                elif not text:
                    message = (
                        f'found an empty text; to remove {key}, set {name}: {{{key}: ""}} in the job, not in a patch'
                    )
                    self.faults[Fault((*path, name, key), message)] = None
            self.added.append(AddedMetadata(name, entries, test))

    def _secured(self, item: Mapping[Key, Node], merge: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the patch `merge`, with the job's security settings in each container that is new in the object."""
        template, over = data_path.at(item, ("spec", "template")), data_path.at(merge, ("spec", "template"))
        if not isinstance(template, dict) or not _has_containers(over):
            return merge
        patch: Mapping[str, Any] = data_path.with_value(
            merge, ("spec", "template"), with_container_security(template, over, container_context(self.profile))
        )
        return patch


def _is_strategic(item: Mapping[Key, Node]) -> bool:
    """Return whether Kubernetes supports strategic merge patches for an object's kind; False for custom kinds."""
    version = item["apiVersion"]
    return isinstance(version, str) and group({"apiVersion": version}) in STRATEGIC_GROUPS


def _has_containers(template: Any) -> bool:
    """Return whether a pod template has valid lists of containers. The rule `wrong-shape` reports an invalid list."""
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
