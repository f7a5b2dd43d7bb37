"""The application of a job's patches to its object graph, so that all outputs contain the same patches.

For example, this patch sets a field of the workers' StatefulSet:

    {"target": {"kind": "StatefulSet", "name": "worker"}, "merge": {"spec": {"minReadySeconds": 10}}}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfgen.graph.alternatives import join_alternatives
from tfgen.graph.holes import (
    Node,
)
from tfgen.graph.patches.added_metadata import IN_ENVIRONMENT, AddedMetadata, join_added_metadata, with_added_metadata
from tfgen.graph.patches.field import Fault
from tfgen.graph.patches.patch_object import ObjectPatch
from tfgen.graph.patches.targets import EntryPatch, entry_of, is_target, missing_target, target_path
from tfgen.graph.template import Template
from tfgen.job.training_job import Patch, Profile, Structure
from tfgen.record import Record


class PatchedGraph(Record):
    """The templates of a job with the job's patches applied.

    Attributes:
        faults: the faults in the patches, by the name of the environment. The name "" is for the patches of the job.
        entry_patches: the patches for the claim of a volume or a similar object, by the name of the environment. Values
            of the job decide whether such an object exists, so a rule checks that the object exists.
    """

    templates: tuple[Template, ...]
    faults: Mapping[str, tuple[Fault, ...]]
    entry_patches: Mapping[str, tuple[EntryPatch, ...]]


class _Variant(Record):
    """The templates of a job with the patches of a single variant applied.

    Attributes:
        nodes: the patched node of each template, without the labels and annotations in `added`.
        added: the labels and annotations that the patches add to the objects of each template.
        faults: the faults in the patches.
        entry_patches: the patches for the claim of a volume or a similar object. Values of the job decide whether such
            an object exists, so a rule checks that the object exists.
    """

    nodes: Sequence[Node]
    added: Sequence[Sequence[AddedMetadata]]
    faults: tuple[Fault, ...]
    entry_patches: tuple[EntryPatch, ...]


def patch_job(templates: Sequence[Template], structure: Structure) -> PatchedGraph:
    """Apply the patches of a job to its templates, in the order of the patches.

    If the patches of an environment differ from the job's patches, the templates test the name of the environment.
    """
    variants = {
        name: _variant(templates, patches, structure.profile)
        for name, patches in {"": structure.patches, **structure.environment_patches}.items()
    }
    patched: list[Template] = []
    for place, template in enumerate(templates):
        node = join_alternatives(
            {name: variant.nodes[place] for name, variant in variants.items()}, IN_ENVIRONMENT, default=""
        )
        added = join_added_metadata({name: variant.added[place] for name, variant in variants.items()})
        patched.append(template.replaced(node=with_added_metadata(node, added) if added else node))
    return PatchedGraph(
        tuple(patched),
        {name: variant.faults for name, variant in variants.items()},
        {name: variant.entry_patches for name, variant in variants.items()},
    )


def _variant(templates: Sequence[Template], patches: Sequence[Patch], profile: Profile) -> _Variant:
    """Apply the patches of a variant. A container that a patch adds gets the security settings of the profile."""
    faults: dict[Fault, None] = {}
    nodes = [template.node for template in templates]
    added: list[list[AddedMetadata]] = [[] for _ in templates]
    entry_patches: list[EntryPatch] = []
    for patch in patches:
        places = [place for place, template in enumerate(templates) if is_target(template, patch)]
        if not places:
            faults[missing_target(templates, patch)] = None
        if bool(patch.merge) is bool(patch.operations):
            content = "both merge and json" if patch.merge else "neither merge nor json"
            faults[Fault((*target_path(patch), "kind"), f"found {content}, expected either merge or json")] = None
            continue
        for place in places:
            applied = ObjectPatch(patch, templates[place].replaced(node=nodes[place]), profile)
            nodes[place] = applied.apply()
            added[place] += [item for n, item in enumerate(applied.added) if item not in applied.added[:n]]
            faults.update(applied.faults)
            if entry_of(templates[place], patch) is not None:
                entry_patches.append(EntryPatch(patch, templates[place]))
    return _Variant(nodes, added, tuple(faults), tuple(entry_patches))
