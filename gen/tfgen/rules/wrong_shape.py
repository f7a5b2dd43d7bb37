"""Values that Kubernetes receives unchanged and that do not have the type of Kubernetes, or that cannot be merged.

`schema.kubernetes_fields` has the types. A strategic merge compares the items of a list by a key (`name`, `mountPath`).
So the value must be a list, and each item a mapping with that key. Of the directives of a merge, tfgen supports
`$patch: delete` in an item of a list.
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
"""What may have every field, under a template."""


def _misfits(view: View) -> Iterator[Misfit]:
    """Of all that the schema lets through as it is written."""
    for role in view.roles:
        yield from _of_role(view, role)
    yield from _of_objects(view)
    yield from misfits_of_patches(view)
    for base in ((), *(("roles", role.name) for role in view.roles)):
        values = view.values["roles"][base[1]] if base else view.values
        path: Path = (*base, "topologySpreadConstraints")
        for index, constraint in enumerate(values["topologySpreadConstraints"]):
            selector = constraint.get("labelSelector")
            yield from kubernetes_fields.misfits((*path, index, "labelSelector"), selector, "LabelSelector", view.text)
    for name, volume in view.values["storage"].items():
        sources = (volume.get("projected") or {}).get("sources")
        yield from kubernetes_fields.misfits(
            ("storage", name, "projected", "sources"), sources, "[VolumeProjection]", view.text
        )


def has_objects(view: View) -> bool:
    """Whether there are objects of the job to look at.

    A value of the wrong shape makes no objects, nor do two containers of one name. A patch that has another
    shape is not laid over the objects.
    """
    is_misshapen = any(misfit.mistake == "shape" and misfit.path[0] != "patches" for misfit in _misfits(view))
    return not is_misshapen and not has_second_container(view)


def _of_objects(view: View) -> Iterator[Misfit]:
    for name, item in view.values["objects"].items():
        path: Path = ("objects", name)
        type_name = kubernetes_fields.type_of_kind(item["apiVersion"], item["kind"])
        misfits = [*kubernetes_fields.misfits(path, item, type_name, view.text)] if type_name else []
        yield from misfits
        if not any(misfit.mistake == "shape" for misfit in misfits):
            yield from _of_kustomize(path, item, view)


def _of_kustomize(path: Path, item: Mapping[str, Any], view: View) -> Iterator[Misfit]:
    """Yield the values of an object at which kustomize stops, whatever the group of the kind."""
    for steps, value, expected in unreadable(item):
        place = (*path, *steps)
        words = found_words(value, view.text(place))
        message = (
            f"{path_name(place)}: found {words}, expected {expected}: kustomize reads the field in each {item['kind']}"
        )
        yield Misfit(place, "shape", message)


def misfits_of_patches(view: View) -> Iterator[Misfit]:
    """Of what patches merge over a pod."""
    for spec in pod_parts.of_patches(view):
        yield from kubernetes_fields.misfits(spec.path, spec.data, "PodSpec", view.text, _ANYTHING)


def _of_role(view: View, role: Role) -> Iterator[Misfit]:
    beside = [
        misfit
        for part in pod_parts.beside(view, role.name)
        for misfit in kubernetes_fields.misfits(part.path, part.data, "Container", view.text)
    ]
    yield from beside
    templates = list(pod_parts.templates(view, role.name))
    under = _ANYTHING if beside or not templates else _own_template(view.job.structure, role)
    for path, data in templates:
        misfits = list(kubernetes_fields.misfits(path, data, "PodTemplateSpec", view.text, under))
        yield from misfits
        under = _ANYTHING if misfits or under is _ANYTHING else merge(under, data, KUBECTL)


def _own_template(structure: Structure, role: Role) -> Any:
    """What a role's pods have before a podTemplate is merged over it."""
    return pod.generated_template(structure, role, pod.Controller(index_label="", fields={}))


def _of(kind: str) -> Callable[[View], Iterator[Finding]]:
    def check(view: View) -> Iterator[Finding]:
        yield from (Finding(misfit.path, misfit.message) for misfit in _misfits(view) if misfit.mistake == kind)

    return check


RULES: Final = (
    Rule(
        "misspelt-field",
        "error",
        "A field of a pod or an object is one slip from a field that Kubernetes has.",
        _of("misspelt"),
    ),
    Rule("unknown-field", "warning", "A field of a pod or an object is not in Kubernetes' types.", _of("unknown")),
    Rule(
        "wrong-shape",
        "error",
        "A part of a pod or an object does not have the shape that Kubernetes requires.",
        _of("shape"),
    ),
)
