"""What goes to Kubernetes as it is written, in a shape that it does not have, or that cannot be merged.

The types are Kubernetes' own (`schema.pod_fields`). A strategic merge goes by a key of each item of a list (`name`,
`mountPath`), so the list must be one, and each item a mapping with that key. Of the merge's directives only
`$patch: delete` in a list's item is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.graph.workloads import pod
from tfgen.job.training_job import Role, Structure
from tfgen.kubernetes.merge import KUBECTL, merge
from tfgen.rules import pod_parts
from tfgen.rules.duplicate_entry import has_second_container
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.schema import pod_fields
from tfgen.schema.pod_fields import Misfit

_ANYTHING: Final = ...
"""What may have every field, under a template."""


def _misfits(view: View) -> Iterator[Misfit]:
    """Of all that the schema lets through as it is written."""
    for role in view.roles:
        yield from _of_role(view, role)
    yield from misfits_of_patches(view)
    for base in ((), *(("roles", role.name) for role in view.roles)):
        values = view.values["roles"][base[1]] if base else view.values
        path: Path = (*base, "topologySpreadConstraints")
        for index, constraint in enumerate(values["topologySpreadConstraints"]):
            selector = constraint.get("labelSelector")
            yield from pod_fields.misfits((*path, index, "labelSelector"), selector, "LabelSelector", view.text)
    for name, volume in view.values["storage"].items():
        sources = (volume.get("projected") or {}).get("sources")
        yield from pod_fields.misfits(
            ("storage", name, "projected", "sources"), sources, "[VolumeProjection]", view.text
        )


def has_objects(view: View) -> bool:
    """Whether there are objects of the job to look at.

    What has not the shape of a pod's part makes none, nor do two containers of one name. A patch that has another
    shape is not laid over the objects.
    """
    is_misshapen = any(misfit.mistake == "shape" and misfit.path[0] != "patches" for misfit in _misfits(view))
    return not is_misshapen and not has_second_container(view)


def misfits_of_patches(view: View) -> Iterator[Misfit]:
    """Of what patches merge over a pod."""
    for spec in pod_parts.of_patches(view):
        yield from pod_fields.misfits(spec.path, spec.data, "PodSpec", view.text, _ANYTHING)


def _of_role(view: View, role: Role) -> Iterator[Misfit]:
    beside = [
        misfit
        for part in pod_parts.beside(view, role.name)
        for misfit in pod_fields.misfits(part.path, part.data, "Container", view.text)
    ]
    yield from beside
    templates = list(pod_parts.templates(view, role.name))
    under = _ANYTHING if beside or not templates else _own_template(view.job.structure, role)
    for path, data in templates:
        misfits = list(pod_fields.misfits(path, data, "PodTemplateSpec", view.text, under))
        yield from misfits
        under = _ANYTHING if misfits or under is _ANYTHING else merge(under, data, KUBECTL)


def _own_template(structure: Structure, role: Role) -> Any:
    """What a role's pods have before a podTemplate is merged over it."""
    return pod.own_template(structure, role, pod.Controller(index_label="", fields={}))


def _of(kind: str) -> Callable[[View], Iterator[Finding]]:
    def check(view: View) -> Iterator[Finding]:
        yield from (Finding(misfit.path, misfit.message) for misfit in _misfits(view) if misfit.mistake == kind)

    return check


RULES: Final = (
    Rule("misspelt-field", "error", "A field of a pod is one slip from one that Kubernetes has.", _of("misspelt")),
    Rule("unknown-field", "warning", "A field of a pod is not one that tfgen knows.", _of("unknown")),
    Rule("wrong-shape", "error", "A part of a pod does not have the shape that Kubernetes gives it.", _of("shape")),
)
