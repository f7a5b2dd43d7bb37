"""Fields of podTemplate that break the generated pods, or that override a key of job.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Final

from tfgen.data_path import Path
from tfgen.graph.objects import eci
from tfgen.graph.schedulers import GANGS
from tfgen.graph.schedulers.gang import GangBinding
from tfgen.job.training_job import RoleName
from tfgen.rules import pod_parts
from tfgen.rules.finding import Finding
from tfgen.rules.pod_parts import Part
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.schema import file as schema_file
from tfgen.schema.workload_kinds import FACTS

_POD_BREAKING: Final[Mapping[str, str]] = {
    "hostname": "the tasks connect to each other by hostname",
    "subdomain": "the tasks connect to each other by subdomain",
    "restartPolicy": "the workload kind determines the restart policy",
}
_POD_OVERRIDING: Final = (
    "activeDeadlineSeconds",
    "affinity",
    "imagePullSecrets",
    "nodeName",
    "nodeSelector",
    "priorityClassName",
    "runtimeClassName",
    "serviceAccount",
    "serviceAccountName",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
)
_JOB_KEYS: Final = {"activeDeadlineSeconds": "deadline", "serviceAccount": "serviceAccountName"}
_CONTAINER_OVERRIDING: Final = ("args", "command", "envFrom", "image", "imagePullPolicy", "resources", "workingDir")

# tfgen adds items to these lists, and a null in podTemplate would remove the items.
_POD_LISTS: Final = ("containers", "volumes")
_CONTAINER_LISTS: Final = ("env", "ports", "volumeMounts")

_RESERVED: Final = ("app.kubernetes.io/", "helm.sh/", "tfgen/")


def _check(view: View) -> Iterator[Finding]:
    for role in view.roles:
        for template in pod_parts.templates(view, role.name):
            yield from _metadata(view, role.name, template)
        for spec in pod_parts.template_specs(view, role.name):
            yield from _fields(spec, role.name, _POD_OVERRIDING, _POD_LISTS)
            gang_fields = (field for field in _binding(view, role.name).spec if isinstance(field, str))
            breaking = {
                **_POD_BREAKING,
                **dict.fromkeys(gang_fields, "the gang scheduler needs the value that tfgen sets"),
            }
            yield from (
                _refusal((*spec.path, field), f"set {field}", breaking[field])
                for field in spec.data
                if field in breaking
            )
        containers = list(pod_parts.main_container(view, role.name))
        for container in containers:
            if pod_parts.is_delete_directive(container):
                yield _refusal(container.path, "remove the container tensorflow", "the container runs the program")
            yield from _fields(container, role.name, _CONTAINER_OVERRIDING, _CONTAINER_LISTS)
        added = [item for container in containers for item in pod_parts.items(container, "env")]
        reserved = _reserved_variables(view, role.name) if added else frozenset()
        for item in added:
            if (name := pod_parts.name(item)) in reserved:
                yield _refusal(
                    (*item.path, "name"), f"set the variable {name}", "the program of the task reads the variable"
                )


def _reserved_variables(view: View, role: RoleName) -> Set[str]:
    return {variable["name"] for variable in view.variables(role)} - view.env(role).keys()


def _metadata(view: View, role: RoleName, template: Part) -> Iterator[Finding]:
    bound, structure = _binding(view, role), view.job.structure
    eci_keys = {**eci.pod_labels(structure), **eci.pod_annotations(structure)}
    for metadata in pod_parts.child(template, "metadata"):
        yield from _fields(metadata, role, (), ("labels", "annotations"))
        for labels in pod_parts.child(metadata, "labels"):
            yield from _controller_keys(view, labels, "label")
            for key in labels.data:
                if key.startswith(_RESERVED):
                    yield _refusal((*labels.path, key), f"set the label {key}", "selectors read the label")
                elif key in bound.labels:
                    yield _refusal((*labels.path, key), f"set the label {key}", "the label binds the pod to its gang")
                elif key in eci_keys:
                    yield _refusal((*labels.path, key), f"set the label {key}", "cloud.eci sets the label")
        for notes in pod_parts.child(metadata, "annotations"):
            yield from _controller_keys(view, notes, "annotation")
            for key in notes.data:
                if key in bound.annotations:
                    yield _refusal(
                        (*notes.path, key), f"set the annotation {key}", "the annotation binds the pod to its gang"
                    )
                elif key in eci_keys:
                    yield _refusal((*notes.path, key), f"set the annotation {key}", "cloud.eci sets the annotation")


def _controller_keys(view: View, keys: Part, noun: str) -> Iterator[Finding]:
    reserved = FACTS[view.job.structure.kind].controller_keys
    for key in keys.data:
        if any(key == name or (name.endswith("/") and key.startswith(name)) for name in reserved):
            message = f"podTemplate sets the {noun} {key}, which a controller sets on the pod; remove the {noun}"
            yield Finding((*keys.path, key), message)


def _binding(view: View, role: RoleName) -> GangBinding:
    gang = view.job.structure.gang
    return GANGS[gang].binding_for(role) if gang else GangBinding()


def _refusal(path: Path, action: str, reason: str) -> Finding:
    return Finding(path, f"podTemplate cannot {action}, because {reason}; remove this entry")


def _fields(part: Part, role: RoleName, overriding: tuple[str, ...], lists: tuple[str, ...]) -> Iterator[Finding]:
    for field in part.data:
        if field in overriding:
            key = _job_key(part, role, field)
            message = (
                f"podTemplate sets {field}, which an environment cannot change in podTemplate; set {key} of the job"
            )
            yield Finding((*part.path, field), message)
        elif field in lists and part.data[field] is None:
            yield _refusal((*part.path, field), f"set {field} to null", "tfgen adds items to the list")


def _job_key(part: Part, role: RoleName, field: str) -> str:
    """Return the key of job.yaml to set instead of a field of a podTemplate, such as `roles.worker.resources`.

    For a field in the podTemplate of the job, the result may contain the word ROLE: `roles.ROLE.resources`.

    Args:
        part: the part of a podTemplate that contains the field, such as the container.
        role: the role whose pods get the podTemplate.
        field: the name of the field.
    """
    field = _JOB_KEYS.get(field, field)
    is_in_role = part.path[:1] == ("roles",)
    job_has, role_has = (schema_file.node(schema_file.load(), ("spec", *path, field)) for path in ((), ("roles", role)))
    if role_has and (is_in_role or not job_has):
        return f"roles.{role if is_in_role else 'ROLE'}.{field}"
    return field


RULES: Final = (
    Rule("controlled-field", "error", "podTemplate sets a field that tfgen, or a key of the job, controls.", _check),
)
