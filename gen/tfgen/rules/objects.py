"""Rules about the names of objects, about patches, and about values that kustomize would change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.fill import Scope
from tfgen.graph.graph import identities, patched_graph
from tfgen.graph.patch_edits import PatchFault
from tfgen.graph.patch_job import name_hint, target_path
from tfgen.rules import pod_parts
from tfgen.rules.across import CURES, rank_cause
from tfgen.rules.pod_fields import has_objects, misfits_of_patches
from tfgen.rules.pod_parts import PodPart
from tfgen.rules.rule import Finding, advise, rule
from tfgen.rules.view import View
from tfgen.schema.kinds import FACTS
from tfgen.text.yaml_text import is_misread_by_kustomize
from tfgen.words import path_name, shown

# -- object names ------------------------------------------------------------------------------------------------------
#
# Objects of a job that have the same kind and name as a different object of the job.


@rule("object-name", "error", "Two objects of a job have the same kind and name.")
def object_name(view: View) -> Iterator[Finding]:
    if not has_objects(view):
        return
    owner_by_key: dict[tuple[str, str, str], str] = {}
    # The names that the job chooses come last, because the job can change these names.
    for item in sorted(identities(view.job.structure, view.scope), key=lambda item: rank_cause(item.cause)):
        key = (item.group, item.kind, item.name)
        if key in owner_by_key and item.cause == ("run",):
            continue  # The guard `tensorboard-name` reports a run whose objects have the names of TensorBoard.
        if key in owner_by_key:
            path: Path = (*item.cause, "metadata", "name") if item.cause[:1] == ("objects",) else item.cause
            cure = CURES[str(path[0])] if path else "rename the job"
            message = f"the {item.kind} {item.name} has the same kind and name as {owner_by_key[key]}; {cure}"
            yield Finding(path, message)
        else:
            is_entry = len(item.cause) > 1
            owner_by_key[key] = ".".join(map(str, item.cause)) if is_entry else "an object that tfgen creates"


# -- patches -----------------------------------------------------------------------------------------------------------
#
# Patches of objects that the job does not have, and patches of fields that tfgen or a key of the job controls.


_Item = TypeVar("_Item")


@rule("patch-target", "error", "A patch targets an object that the job does not have.")
def patch_target(view: View) -> Iterator[Finding]:
    if not _has_patches(view):
        return
    yield from (Finding(fault.path, fault.message, fixes=fault.fixes) for fault in _faults(view) if fault.has_no_target)
    entries = patched_graph(view.job.structure).entry_patches
    variants = view.all_values if view.environment is None else (view.values,)
    scopes = [Scope(values, release=view.job.name, chart=view.job.name) for values in variants]
    for patch, template in ((entry.patch, entry.template) for entry in _items_of_variant(view, entries)):
        names = [*dict.fromkeys(name for scope in scopes for name, _ in template.objects(scope))]
        if patch.target not in names:
            path = (*target_path(patch), "name")
            yield advise(path, f"the job has no {patch.kind} {patch.target}", name_hint(path, patch.target, names))


@rule("patch-field", "error", "A patch changes a field that tfgen, or a key of the job, controls.")
def patch_field(view: View) -> Iterator[Finding]:
    """Report the fields that a patch may not change. Skip a patch that the rule wrong-shape reports."""
    if not _has_patches(view):
        return
    misfits = [misfit.path for misfit in misfits_of_patches(view)]
    for fault in _faults(view):
        if not fault.has_no_target and not any(path[: len(fault.path)] == fault.path for path in misfits):
            yield Finding(fault.path, fault.message, fixes=fault.fixes)


def _has_patches(view: View) -> bool:
    return bool(view.patches) and has_objects(view)


def _faults(view: View) -> Sequence[PatchFault]:
    """Return the faults in the patches of this variant.

    If the patches that the environment itself sets have faults, return only the faults in these patches.
    """
    faults = _items_of_variant(view, patched_graph(view.job.structure).faults)
    return [fault for fault in faults if fault.path[1] in view.variant_data.get("patches", {})] or faults


def _items_of_variant(view: View, by_environment: Mapping[str, Sequence[_Item]]) -> Sequence[_Item]:
    """Return the faults or patches in `by_environment` that belong to this variant.

    The mapping `by_environment` has a list for each environment, and a list for the job itself with the key "". For an
    environment, omit the items that are also in the list of the job.
    """
    if view.environment is None:
        return by_environment[""]
    return [item for item in by_environment.get(view.environment, ()) if item not in by_environment[""]]


# -- overlay namespace -------------------------------------------------------------------------------------------------
#
# Objects of the job that kustomize would move to the namespace of an overlay.
#
# `namespace: ml` in a kustomization sets `metadata.namespace` of each object. kustomize also renames each Namespace to
# ml, and replaces the namespaces in the fields that these files list:
# https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/konfig/builtinpluginconsts/namespace.go
# https://github.com/kubernetes-sigs/kustomize/blob/master/api/filters/namespace/namespace.go (setSubjectsNamedDefault)


_FIELDS: Final = {
    "APIService": ("spec", "service", "namespace"),
    "CustomResourceDefinition": ("spec", "conversion", "webhook", "clientConfig", "service", "namespace"),
}
_BINDINGS: Final = ("ClusterRoleBinding", "RoleBinding")


@rule("overlay-namespace", "error", "kustomize would move an object of the job to a different namespace.")
def overlay_namespace(view: View) -> Iterator[Finding]:
    if not view.values["objects"] or "overlays" not in view.job.outputs:
        return
    namespace = view.job.namespace_of(view.environment)
    if namespace is None:
        return
    for name, item in view.values["objects"].items():
        for path, value in _namespaces(item):
            if value != namespace:
                message = (
                    f"found the namespace {shown(value)}, which kustomize replaces with the namespace of the overlay, "
                    f"{shown(namespace)}; apply this {item['kind']} separately from the job"
                )
                yield Finding(("objects", name, *path), message)


def _namespaces(item: Any) -> Iterator[tuple[Path, Any]]:
    """Yield the path and the value of each field of the object `item` in which kustomize replaces the namespace.

    Example: ``(("subjects", 0, "namespace"), "ml")``.
    """
    kind = item["kind"]
    if kind == "Namespace" and item["apiVersion"] == "v1":
        yield ("metadata", "name"), data_path.at(item, ("metadata", "name"))
    if kind in _FIELDS and data_path.has(item, _FIELDS[kind]):
        yield _FIELDS[kind], data_path.at(item, _FIELDS[kind])
    subjects = item.get("subjects") if kind in _BINDINGS else None
    for index, subject in enumerate(subjects if isinstance(subjects, list) else ()):
        if isinstance(subject, dict) and subject.get("name") == "default" and "namespace" in subject:
            yield ("subjects", index, "namespace"), subject["namespace"]


# -- uncarried text ----------------------------------------------------------------------------------------------------
#
# Texts of a job that kustomize changes or cannot read, even in quotes.
#
# kustomize 5 reads some names as YAML 1.1, so that the name "true" becomes a boolean. These names are the annotation
# keys of a patched object, the label keys of a renamed object or of a generated ConfigMap, and the new name of a
# renamed object. kustomize also cannot read a multi-line annotation of a patched object if the first line begins with a
# tab.


# The label keys that kustomize reads as a number, date, boolean or null (resolve.go of goyaml).
NOT_TEXT: Final = re.compile(
    r"""
      null | Null | NULL | true | True | TRUE | false | False | FALSE
    | 0[bB][01_]+ | 0[oO][0-7_]+ | 0[xX][0-9a-fA-F_]+
    | [0-9][0-9_]* (\.[0-9_]*)? ([eE][-+]?[0-9_]+)?
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}
    """,
    re.VERBOSE,
)
"""Pattern of keys of labels and annotations that kustomize reads as a value other than text, such as a number."""


@rule("uncarried-text", "error", "kustomize would change a text of the job, or cannot read the text.")
def uncarried_text(view: View) -> Iterator[Finding]:
    for part in _metadata(view):
        for field, noun in (("labels", "label"), ("annotations", "annotation")):
            for path, key in ((keys.path, key) for keys in pod_parts.child(part, field) for key in keys.data):
                if NOT_TEXT.fullmatch(key):
                    message = (
                        f"kustomize reads the {noun} {shown(key)} as a number, a date, a boolean or null, even in "
                        f'quotes; write the key with a prefix, such as "example.com/{key}"'
                    )
                    yield Finding((*path, key), message)
        for notes in pod_parts.child(part, "annotations"):
            for key, text in notes.data.items():
                path = (*notes.path, key)
                if isinstance(text, str) and is_misread_by_kustomize(text):
                    message = (
                        f"{path_name(path)}: kustomize cannot read a multi-line text that begins with a tab; indent "
                        "with spaces"
                    )
                    yield Finding(path, message)


def _metadata(view: View) -> Iterator[PodPart]:
    """Yield each mapping that may have the keys `labels` and `annotations`, with its path.

    The mappings are in the job, in patches and in the objects under ``objects``. Only for the workload kind Pod, the
    mappings include the roles and the pod templates, because kustomize changes the label keys of a Pod, but not the
    label keys in the pod template of a controller.
    """
    values = PodPart((), view.values)
    yield values
    yield from pod_parts.child(values, "serviceAccount")
    for role in view.roles if FACTS[view.job.structure.kind].makes_pods else ():
        yield PodPart(("roles", role.name), view.values["roles"][role.name])
        for template in pod_parts.templates(view, role.name):
            yield from pod_parts.child(template, "metadata")
    for name, item in view.values["objects"].items():
        yield from pod_parts.child(PodPart(("objects", name), item), "metadata")
    for patch in view.patches:
        yield from pod_parts.child(PodPart(("patches", patch.name, "merge"), patch.merge), "metadata")
