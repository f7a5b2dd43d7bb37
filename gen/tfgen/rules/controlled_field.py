"""Fields of podTemplate that break what tfgen makes, or hide what job.yaml has a key of its own for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Final

from tfgen.data_path import Path
from tfgen.graph.objects import eci
from tfgen.graph.schedulers import GANGS
from tfgen.graph.schedulers.gang import Binding
from tfgen.job.training_job import RoleName
from tfgen.rules import pod_parts
from tfgen.rules.finding import Finding
from tfgen.rules.pod_parts import Part
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.schema import file as schema_file
from tfgen.schema.workload_kinds import FACTS

_POD_BREAKS: Final[Mapping[str, str]] = {
    "hostname": "the tasks find each other by it",
    "subdomain": "the tasks find each other by it",
    "restartPolicy": "a StatefulSet's pods always restart, a Job's never",
}
_POD_HIDES: Final = (
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
_OWN_WORDS: Final = {"activeDeadlineSeconds": "deadline", "serviceAccount": "serviceAccountName"}
_CONTAINER_HIDES: Final = ("args", "command", "envFrom", "image", "imagePullPolicy", "resources", "workingDir")

# Lists that tfgen fills: null, or a main container that is removed, would empty them.
_POD_LISTS: Final = ("containers", "volumes")
_CONTAINER_LISTS: Final = ("env", "ports", "volumeMounts")

_RESERVED: Final = ("app.kubernetes.io/", "helm.sh/", "tfgen/")


def _check(view: View) -> Iterator[Finding]:
    for role in view.roles:
        for template in pod_parts.templates(view, role.name):
            yield from _metadata(view, role.name, template)
        for spec in pod_parts.specs(view, role.name):
            yield from _fields(spec, role.name, _POD_HIDES, _POD_LISTS)
            gangs = (field for field in _binding(view, role.name).spec if isinstance(field, str))
            breaks = {**_POD_BREAKS, **dict.fromkeys(gangs, "the gang needs its own")}
            yield from (_own((*spec.path, field), field, breaks[field]) for field in spec.data if field in breaks)
        containers = list(pod_parts.main_container(view, role.name))
        for container in containers:
            if pod_parts.removes(container):
                yield _own(container.path, "the container tensorflow", "it is what runs the program")
            yield from _fields(container, role.name, _CONTAINER_HIDES, _CONTAINER_LISTS)
        added = [item for container in containers for item in pod_parts.items(container, "env")]
        reserved = _reserved_variables(view, role.name) if added else frozenset()
        for item in added:
            if (name := pod_parts.name(item)) in reserved:
                yield _own((*item.path, "name"), f"the variable {name}", "it tells the task its place")


def _reserved_variables(view: View, role: RoleName) -> Set[str]:
    return {variable["name"] for variable in view.variables(role)} - view.env(role).keys()


def _metadata(view: View, role: RoleName, template: Part) -> Iterator[Finding]:
    bound, structure = _binding(view, role), view.job.structure
    of_cloud = {**eci.pod_labels(structure), **eci.pod_annotations(structure)}
    for metadata in pod_parts.child(template, "metadata"):
        yield from _fields(metadata, role, (), ("labels", "annotations"))
        for labels in pod_parts.child(metadata, "labels"):
            yield from _controllers(view, labels, "label")
            for key in labels.data:
                if key.startswith(_RESERVED):
                    yield _own((*labels.path, key), f"the label {key}", "selectors need it")
                elif key in bound.labels:
                    yield _own((*labels.path, key), f"the label {key}", "it binds the pod to its gang")
                elif key in of_cloud:
                    yield _own((*labels.path, key), f"the label {key}", "cloud.eci says it")
        for notes in pod_parts.child(metadata, "annotations"):
            yield from _controllers(view, notes, "annotation")
            for key in notes.data:
                if key in bound.annotations:
                    yield _own((*notes.path, key), f"the annotation {key}", "it binds the pod to its gang")
                elif key in of_cloud:
                    yield _own((*notes.path, key), f"the annotation {key}", "cloud.eci says it")


def _controllers(view: View, keys: Part, what: str) -> Iterator[Finding]:
    theirs = FACTS[view.job.structure.kind].controller_keys
    for key in keys.data:
        if any(key == name or (name.endswith("/") and key.startswith(name)) for name in theirs):
            message = f"podTemplate sets the {what} {key}, which a controller gives the pod itself; remove it"
            yield Finding((*keys.path, key), message)


def _binding(view: View, role: RoleName) -> Binding:
    gang = view.job.structure.gang
    return GANGS[gang].pod(role) if gang else Binding()


def _own(path: Path, what: str, why: str) -> Finding:
    return Finding(path, f"podTemplate must leave {what} to tfgen: {why}; remove it")


def _fields(part: Part, role: RoleName, hides: tuple[str, ...], lists: tuple[str, ...]) -> Iterator[Finding]:
    for field in part.data:
        if field in hides:
            instead = _instead(part, role, field)
            message = f"podTemplate sets {field}, which no environment could then change; set {instead} of the job"
            yield Finding((*part.path, field), message)
        elif field in lists and part.data[field] is None:
            yield _own((*part.path, field), field, "null would remove what it needs")


def _instead(part: Part, role: RoleName, field: str) -> str:
    """The job's own key for a field; ROLE stands for the role where every role has its own."""
    field = _OWN_WORDS.get(field, field)
    of_role = part.path[:1] == ("roles",)
    job_has, role_has = (schema_file.node(schema_file.load(), ("spec", *path, field)) for path in ((), ("roles", role)))
    if role_has and (of_role or not job_has):
        return f"roles.{role if of_role else 'ROLE'}.{field}"
    return field


RULES: Final = (
    Rule("controlled-field", "error", "podTemplate sets what tfgen itself, or a key of the job, sets.", _check),
)
