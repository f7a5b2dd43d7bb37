"""Values that tfgen copies to Kubernetes objects, and that Kubernetes would refuse because of their type.

`schema.kubernetes_fields` has the types. A strategic merge compares the items of some lists by a key, such
as `name` or `mountPath`. Each item of such a list must be a mapping with that key. The only merge directive that tfgen
supports is `$patch: delete` in an item of a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.graph.workloads import pod
from tfgen.job.training_job import Role, Structure
from tfgen.kubernetes.kustomize_references import unreadable
from tfgen.kubernetes.merge import KUBECTL, merge
from tfgen.rules import pod_parts
from tfgen.rules.duplicate_entry import has_second_container
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.schema import kubernetes_fields
from tfgen.schema.kubernetes_fields import Misfit
from tfgen.schema.messages import found_words
from tfgen.words import path_name

_ANYTHING: Final = ...
"""Marker for an unknown base template. A value that is merged over an unknown template may lack required fields."""


def _misfits(view: View) -> Iterator[Misfit]:
    """Yield the type errors in all values whose content the schema of a job does not check."""
    for role in view.roles:
        yield from _role_misfits(view, role)
    yield from _object_misfits(view)
    yield from misfits_of_patches(view)
    for base in ((), *(("roles", role.name) for role in view.roles)):
        values = view.values["roles"][base[1]] if base else view.values
        path: Path = (*base, "topologySpreadConstraints")
        for index, constraint in enumerate(values.get("topologySpreadConstraints", [])):
            selector = constraint.get("labelSelector")
            yield from kubernetes_fields.misfits((*path, index, "labelSelector"), selector, "LabelSelector", view.text)
    for name, volume in view.values["storage"].items():
        sources = (volume.get("projected") or {}).get("sources")
        yield from kubernetes_fields.misfits(
            ("storage", name, "projected", "sources"), sources, "[VolumeProjection]", view.text
        )


def has_objects(view: View) -> bool:
    """Return True if tfgen can build the objects of the job.

    tfgen cannot build the objects from a value of a wrong type, or from two containers of the same name. A wrong
    type in a patch does not matter, because tfgen does not apply the patch.
    """
    is_misshapen = any(misfit.mistake == "shape" and misfit.path[0] != "patches" for misfit in _misfits(view))
    return not is_misshapen and not has_second_container(view)


def _object_misfits(view: View) -> Iterator[Misfit]:
    for name, item in view.values["objects"].items():
        path: Path = ("objects", name)
        type_name = kubernetes_fields.type_of_kind(item["apiVersion"], item["kind"])
        misfits = [*kubernetes_fields.misfits(path, item, type_name, view.text)] if type_name else []
        yield from misfits
        if not any(misfit.mistake == "shape" for misfit in misfits):
            yield from _kustomize_misfits(path, item, view)
        before = view.job.values["objects"].get(name, item)
        if before != item:
            yield from _empty_keys(path, before)
            yield from _empty_keys(path, item)


def _empty_keys(path: Path, value: Any) -> Iterator[Misfit]:
    """Yield the empty keys in an object that an environment changes, because kustomize cannot patch the object."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key == "":
            message = (
                f"{path_name(path)}: found an empty key, but kustomize cannot patch an object with an empty key; "
                "rename the key, or remove the object from the environment"
            )
            yield Misfit((*path, key), "shape", message)
        yield from _empty_keys((*path, key), item)


def _kustomize_misfits(path: Path, item: Mapping[str, Any], view: View) -> Iterator[Misfit]:
    """Yield the type errors in the object `item`, of a built-in or a custom kind, that make kustomize fail."""
    for steps, value, expected in unreadable(item):
        field_path = (*path, *steps)
        value_text = found_words(value, view.text(field_path))
        message = (
            f"{path_name(field_path)}: found {value_text}, expected {expected}, because kustomize reads this field of "
            f"each {item['kind']}"
        )
        yield Misfit(field_path, "shape", message)


def misfits_of_patches(view: View) -> Iterator[Misfit]:
    """Yield the type errors in the pod specs that patches merge into a pod."""
    for spec in pod_parts.patch_specs(view):
        yield from kubernetes_fields.misfits(spec.path, spec.data, "PodSpec", view.text, _ANYTHING)


def _role_misfits(view: View, role: Role) -> Iterator[Misfit]:
    misfits_of_containers = [
        misfit
        for part in pod_parts.extra_containers(view, role.name)
        for misfit in kubernetes_fields.misfits(part.path, part.data, "Container", view.text)
    ]
    yield from misfits_of_containers
    templates = list(pod_parts.templates(view, role.name))
    base = _ANYTHING if misfits_of_containers or not templates else _generated_template(view.job.structure, role)
    for path, data in templates:
        misfits = list(kubernetes_fields.misfits(path, data, "PodTemplateSpec", view.text, base))
        yield from misfits
        base = _ANYTHING if misfits or base is _ANYTHING else merge(base, data, KUBECTL)


def _generated_template(structure: Structure, role: Role) -> Any:
    """Return the pod template of a role before tfgen merges podTemplate into the template."""
    return pod.generated_template(structure, role, pod.Controller(index_label="", fields={}))


def _check_mistake(mistake: str) -> Callable[[View], Iterator[Finding]]:
    def check(view: View) -> Iterator[Finding]:
        yield from (Finding(misfit.path, misfit.message) for misfit in _misfits(view) if misfit.mistake == mistake)

    return check


RULES: Final = (
    Rule(
        "misspelt-field",
        "error",
        "A field of a pod or an object differs by one typing error from a Kubernetes field.",
        _check_mistake("misspelt"),
    ),
    Rule(
        "unknown-field",
        "warning",
        "A pod or an object has a field that Kubernetes does not define.",
        _check_mistake("unknown"),
    ),
    Rule(
        "wrong-shape",
        "error",
        "A part of a pod or an object does not have the shape that Kubernetes requires.",
        _check_mistake("shape"),
    ),
)
