"""Rules about fields of Kubernetes that a job sets in podTemplate, in containers and in objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.fix import REMOVED, Assignment, Fix, Hint, hint, removal
from tfgen.graph import role_pod, storage, supporting
from tfgen.graph.naming import CONTAINER
from tfgen.graph.schedulers import GANGS, GangBinding
from tfgen.graph.storage import SHM
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.training_job import Role, RoleName, Structure
from tfgen.kubernetes.merge import KUBECTL, KUSTOMIZE_KEYS, STRATEGIC_GROUPS, kustomize_keys, merge, unreadable
from tfgen.kubernetes.object import group
from tfgen.rules import pod_parts
from tfgen.rules.pod_parts import PodPart
from tfgen.rules.rule import Finding, advise, rule
from tfgen.rules.view import View
from tfgen.schema import file as schema_file
from tfgen.schema import kubernetes_fields
from tfgen.schema.kinds import FACTS, POD_KEYS
from tfgen.schema.kubernetes_fields import Misfit
from tfgen.schema.messages import found_words
from tfgen.words import path_name, shown

# -- controlled field --------------------------------------------------------------------------------------------------
#
# Fields of podTemplate that break the generated pods, or that override a key of job.yaml.


_POD_BREAKING: Final[Mapping[str, str]] = {
    "hostname": "the tasks connect to each other by hostname",
    "subdomain": "the tasks connect to each other by subdomain",
    "restartPolicy": "the workload kind determines the restart policy",
}
_JOB_KEYS: Final = {"activeDeadlineSeconds": "deadline", "serviceAccount": "serviceAccountName"}
_POD_OVERRIDING: Final = (*_JOB_KEYS, *POD_KEYS)
_CONTAINER_OVERRIDING: Final = ("args", "command", "envFrom", "image", "imagePullPolicy", "resources", "workingDir")

# tfgen adds items to these maps and lists, and a null in podTemplate would remove the items.
_METADATA_MAPS: Final = ("labels", "annotations")
_POD_LISTS: Final = ("containers", "volumes")
_CONTAINER_LISTS: Final = ("env", "ports", "volumeMounts")

_RESERVED: Final = ("app.kubernetes.io/", "helm.sh/", "tfgen/")


@rule("controlled-field", "error", "podTemplate sets a field that tfgen, or a key of the job, controls.")
def controlled_field(view: View) -> Iterator[Finding]:
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
        for container in pod_parts.main_container(view, role.name):
            if pod_parts.is_delete_directive(container):
                yield _refusal(container.path, "remove the container tensorflow", "the container runs the program")
            yield from _fields(container, role.name, _CONTAINER_OVERRIDING, _CONTAINER_LISTS)
        added = [*pod_parts.main_env(view, role.name)]
        reserved = {item["name"] for item in view.variables(role.name)} - view.env(role.name).keys() if added else ()
        for item in added:
            if (name := pod_parts.name(item)) in reserved:
                yield _refusal(
                    (*item.path, "name"), f"set the variable {name}", "the program of the task reads the variable"
                )


def _metadata(view: View, role: RoleName, template: PodPart) -> Iterator[Finding]:
    bound, structure = _binding(view, role), view.job.structure
    eci_keys = {**supporting.eci_pod_labels(structure), **supporting.eci_pod_annotations(structure)}
    of_controller = FACTS[structure.kind].controller_keys
    for metadata in pod_parts.child(template, "metadata"):
        yield from _fields(metadata, role, (), _METADATA_MAPS)
        for noun, of_gang in (("label", bound.labels), ("annotation", bound.annotations)):
            for path, key in ((part.path, key) for part in pod_parts.child(metadata, f"{noun}s") for key in part.data):
                if any(key == name or (name.endswith("/") and key.startswith(name)) for name in of_controller):
                    message = f"podTemplate sets the {noun} {key}, which a controller sets on the pod"
                    yield advise((*path, key), message, hint(removal((*path, key), f"the {noun}")))
                if noun == "label" and key.startswith(_RESERVED):
                    reason = "selectors read the label"
                elif key in of_gang:
                    reason = f"the {noun} binds the pod to its gang"
                elif key in eci_keys:
                    reason = f"cloud.eci sets the {noun}"
                else:
                    continue
                yield _refusal((*path, key), f"set the {noun} {key}", reason)


def _binding(view: View, role: RoleName) -> GangBinding:
    gang = view.job.structure.gang
    return GANGS[gang].binding_for(role) if gang else GangBinding()


def _refusal(path: Path, action: str, reason: str) -> Finding:
    entry = path[:-1] if path[-1] == "name" else path
    return advise(path, f"podTemplate cannot {action}, because {reason}", hint(removal(entry, "this entry")))


def _fields(part: PodPart, role: RoleName, overriding: tuple[str, ...], lists: tuple[str, ...]) -> Iterator[Finding]:
    for field, data in part.data.items():
        if field == "resources" and isinstance(data, Mapping) and data.keys() == {"claims"}:
            continue  # no key of a role sets the claims of devices that are no GPUs
        if field in overriding:
            key = _job_key(part, role, field)
            path, words = (*part.path, field), f"set {path_name(key)} of the job"
            edits = (Assignment(key, part.data[field]), Assignment(path, REMOVED))
            advice = hint(Fix(words, edits)) if "ROLE" not in key else Hint(f"; {words}")
            message = f"podTemplate sets {field}, which an environment cannot change in podTemplate"
            yield advise(path, message, advice)
        elif field in lists and part.data[field] is None:
            yield _refusal((*part.path, field), f"set {field} to null", "tfgen adds items to the list")


def _job_key(part: PodPart, role: RoleName, field: str) -> Path:
    """Return the path of the key to set instead of a field of a podTemplate, such as `roles.worker.resources`.

    For a field in the podTemplate of the job, the path may contain the step ROLE: `roles.ROLE.resources`.

    Args:
        part: the part of a podTemplate that contains the field, such as the container.
        role: the role whose pods get the podTemplate.
        field: the name of the field.
    """
    field = _JOB_KEYS.get(field, field)
    is_in_role = part.path[:1] == ("roles",)
    job_has, role_has = (schema_file.node(schema_file.load(), ("spec", *path, field)) for path in ((), ("roles", role)))
    if role_has and (is_in_role or not job_has):
        return ("roles", role if is_in_role else "ROLE", field)
    return (field,)


# -- duplicate entry ---------------------------------------------------------------------------------------------------
#
# List entries that Kubernetes treats as the same entry. Kubernetes drops or refuses the second of two such entries.
#
# https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy


@rule("duplicate-entry", "error", "A list contains two entries that Kubernetes treats as the same entry.")
def duplicate_entry(view: View) -> Iterator[Finding]:
    for field in ("imagePullSecrets", "topologySpreadConstraints"):
        yield from _find_duplicates((field,), view.values[field], KUSTOMIZE_KEYS[field])
    for role in view.roles:
        base: Path = ("roles", role.name)
        field = "topologySpreadConstraints"
        constraints = view.values["roles"][role.name].get(field, [])
        yield from _find_duplicates((*base, field), constraints, KUSTOMIZE_KEYS[field])
        yield from _find_duplicates((*base, "ports"), role.ports, KUSTOMIZE_KEYS["ports"])
        yield from _find_reserved_ports(view, (*base, "ports"), role.ports)
        parts = [(part, "Container") for part in pod_parts.extra_containers(view, role.name)]
        parts += [(part, "PodTemplateSpec") for part in pod_parts.templates(view, role.name)]
        for part, kind in parts:
            for keyed in kubernetes_fields.keyed_lists(part.path, part.data, kind):
                # The rule duplicate-mount-path reports the mounts of the main container.
                if keyed.path[-1] != "volumeMounts" or keyed.owner.get("name") != CONTAINER:
                    yield from _find_duplicates(keyed.path, keyed.items, keyed.keys)
    for spec in pod_parts.patch_specs(view):
        yield from _keyed_lists(spec.path, spec.data, "PodSpec")
    for patch in view.patches:
        yield from _service_ports(patch.kind, ("patches", patch.name, "merge"), patch.merge)
    yield from _check_objects(view)


def has_second_container(view: View) -> bool:
    """Return True if a podTemplate has two containers with the same name."""
    specs = (spec for role in view.roles for spec in pod_parts.template_specs(view, role.name))
    findings = (finding for spec in specs for finding in _keyed_lists(spec.path, spec.data, "PodSpec"))
    return any(finding.path[-2] == "containers" for finding in findings)


def _check_objects(view: View) -> Iterator[Finding]:
    """Find duplicate list items in objects under `objects`. kustomize merges such items when it patches an object."""
    for name, item in view.values["objects"].items():
        if group(item) in STRATEGIC_GROUPS:
            path: Path = ("objects", name)
            for spec_path, spec in _pod_specs(path, item):
                yield from _keyed_lists(spec_path, spec, "PodSpec")
            yield from _service_ports(item["kind"], path, item)


def _pod_specs(path: Path, data: Any) -> Iterator[tuple[Path, Any]]:
    """Yield the path and content of each pod spec in an object. A pod spec is a mapping with a list of containers."""
    if not isinstance(data, Mapping):
        return
    if isinstance(data.get("containers"), list):
        yield path, data
    for key, value in data.items():
        yield from _pod_specs((*path, key), value)


def _keyed_lists(path: Path, data: Any, type_name: str) -> Iterator[Finding]:
    for keyed in kubernetes_fields.keyed_lists(path, data, type_name):
        yield from _find_duplicates(keyed.path, keyed.items, keyed.keys)


def _service_ports(kind: str, path: Path, data: Mapping[str, Any]) -> Iterator[Finding]:
    ports = data_path.at(data, ("spec", "ports"))
    if kind == "Service" and isinstance(ports, list):
        yield from _find_duplicates((*path, "spec", "ports"), ports, kustomize_keys(kind)["ports"])


def _find_reserved_ports(view: View, path: Path, ports: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    port = view.job.structure.port
    for index, item in enumerate(ports):
        if item["containerPort"] == port:
            message = f"{path_name(path)}: TensorFlow uses containerPort {port}"
            fix = removal((*path, index), "the port")
            yield advise((*path, index), message, hint(fix, other="change spec.port of the job"))


def _find_duplicates(path: Path, items: Sequence[Any], keys: Sequence[str]) -> Iterator[Finding]:
    items_by_name: dict[Any, list[Any]] = {}
    for index, item in enumerate(items):
        if isinstance(item, Mapping) and item.get("$patch") == "delete":
            continue
        if keys and not isinstance(item, Mapping):
            continue
        name = item.get(keys[0]) if keys else item
        if name is None or isinstance(name, (Mapping, list)):
            continue  # The rule wrong-shape reports this item.
        namesakes = items_by_name.setdefault(name, [])
        if any(_has_equal_keys(item, namesake, keys[1:]) for namesake in namesakes):
            named = " with ".join(f"{key} {shown(item[key])}" for key in keys if key in item) if keys else shown(item)
            message = f"{path_name(path)}: {named} is already in the list"
            fix = removal((*path, index), "one of the two entries", is_choice=item not in namesakes)
            other = "set the protocol of both entries" if "protocol" in keys else ""
            yield advise((*path, index), message, hint(fix, other=other))
        else:
            namesakes.append(item)


def _has_equal_keys(item: Any, namesake: Any, keys: Sequence[str]) -> bool:
    """Return True if two list items have equal values for all `keys`. A missing value counts as equal.

    For example, kustomize compares the protocols of ports only if every port of the list sets a protocol. So a port
    without a protocol equals a port with `protocol: UDP`. The caller has already compared the first merge key of the
    items, so `keys` contains only the remaining merge keys.
    """
    pairs = ((item.get(key), namesake.get(key)) for key in keys)
    return all(None in pair or pair[0] == pair[1] for pair in pairs)


# -- names taken -------------------------------------------------------------------------------------------------------
#
# Containers, volumes or ports of a pod that have the same name.


@rule("duplicate-name", "error", "Two containers, ports or volumes of a pod have the same name.")
def duplicate_name(view: View) -> Iterator[Finding]:
    for role in view.roles:
        yield from _containers(view, role.name)
        tensorflow_port = {WORKLOADS[view.job.structure.kind].port_name: "TensorFlow's port"}
        ports = pod_parts.items(PodPart(("roles", role.name), view.spec["roles"][role.name]), "ports")
        yield from _find_equal_names("port", tensorflow_port, ports)
        of_user = {name: f"storage.{name}" for name in view.volumes(role.name)}
        program = {storage.LOCK_VOLUME: "the volume of the run lock"} if _locks(view, role.name) else {}
        owner_by_name = {SHM: "the volume of shm", **of_user, **_code_parts(view, storage.code_volumes), **program}
        # A volume in the podTemplate of the role replaces the volume with the same name in the podTemplate of the job.
        volumes = _merged(pod_parts.template_items(view, role.name, "volumes")).values()
        yield from _find_equal_names("volume", owner_by_name, volumes)


def _containers(view: View, role: RoleName) -> Iterator[Finding]:
    """Report equal names among the init containers, the sidecars and the containers of podTemplate.

    A container of podTemplate may have the name of a generated container of the same kind, because tfgen merges the two
    containers. The two kinds are init containers and regular containers. No container may have the name of a run lock.
    """
    main, locks = {CONTAINER: "the main container"}, _locks(view, role)
    owner_by_name = {**main, **locks, **_code_parts(view, storage.code_init_containers)}
    yield from _find_equal_names("container", owner_by_name, pod_parts.extra_containers(view, role))
    init, regular = (_merged(pod_parts.template_items(view, role, key)) for key in ("initContainers", "containers"))
    yield from _find_equal_names("container", {**main, **locks}, init.values())
    for name, part in init.items():
        if pod_parts.is_delete_directive(part) and name not in locks:
            owner_by_name.pop(name, None)
        else:
            owner_by_name.setdefault(name, "a different container")
    del owner_by_name[CONTAINER]
    added = (part for part in regular.values() if not pod_parts.is_delete_directive(part))
    yield from _find_equal_names("container", owner_by_name, added)


def _locks(view: View, role: RoleName) -> dict[str, str]:
    if role != view.job.structure.ends:
        return {}
    volumes = (name for name, volume in view.volumes(role).items() if volume.get("runs"))
    return {storage.lock_container_name(name): f"the run lock of storage.{name}" for name in volumes}


def _code_parts(view: View, parts: Callable[[Structure], Iterable[Any]]) -> dict[str, str]:
    return {part["name"]: "a container or volume that tfgen adds for code" for part in parts(view.job.structure)}


def _find_equal_names(noun: str, owner_by_name: dict[str, str], parts: Iterable[PodPart]) -> Iterator[Finding]:
    for part in parts:
        name = pod_parts.name(part)
        if name in owner_by_name:
            message = f"the {noun} {shown(name)} has the same name as {owner_by_name[name]}; choose a different name"
            yield Finding((*part.path, "name"), message)
        elif name:
            owner_by_name[name] = f"a different {noun}"


def _merged(parts: Iterable[PodPart]) -> dict[str, PodPart]:
    """Return containers or volumes by name. A later item of `parts` replaces an earlier item with the same name."""
    return {pod_parts.name(part): part for part in parts}


# -- wrong shape -------------------------------------------------------------------------------------------------------
#
# Values that tfgen copies to Kubernetes objects, and that Kubernetes would refuse because of their type.
#
# `schema.kubernetes_fields` has the types. A strategic merge compares the items of some lists by a key, such as `name`
# or `mountPath`. Each item of such a list must be a mapping with that key. The only merge directive that tfgen supports
# is `$patch: delete` in an item of a list.


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

    tfgen cannot build the objects from a value of a wrong type, from two containers of the same name, or without a
    field to which tfgen adds items. A wrong type in a patch does not matter, because tfgen does not apply the patch.
    """
    is_misshapen = any(misfit.mistake == "shape" and misfit.path[0] != "patches" for misfit in _misfits(view))
    return not (
        is_misshapen or has_second_container(view) or any(_removes_field(view, role.name) for role in view.roles)
    )


def _removes_field(view: View, role: RoleName) -> bool:
    """Test whether a podTemplate removes a field to which tfgen adds items. `controlled_field` reports the field."""
    parts: list[tuple[PodPart, Sequence[str]]] = [(part, _POD_LISTS) for part in pod_parts.template_specs(view, role)]
    parts += [(part, (*_CONTAINER_LISTS, "resources")) for part in pod_parts.main_container(view, role)]
    for item in pod_parts.templates(view, role):
        parts += [(part, _METADATA_MAPS) for part in pod_parts.child(item, "metadata")]
    return any(part.data.get(field, "") is None for part, fields in parts for field in fields)


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
    base: Any = _ANYTHING
    if templates and not misfits_of_containers:
        # The pod template of the role before tfgen merges podTemplate into the template.
        controller = role_pod.Controller(index_label="", fields={})
        base = role_pod.generated_template(view.job.structure, role, controller)
    for path, data in templates:
        misfits = list(kubernetes_fields.misfits(path, data, "PodTemplateSpec", view.text, base))
        yield from misfits
        base = _ANYTHING if misfits or base is _ANYTHING else merge(base, data, KUBECTL)


@rule("misspelt-field", "error", "A field of a pod or an object differs by one typing error from a Kubernetes field.")
def misspelt_field(view: View) -> Iterator[Finding]:
    return _with_mistake(view, "misspelt")


@rule("unknown-field", "warning", "A pod or an object has a field that Kubernetes does not define.")
def unknown_field(view: View) -> Iterator[Finding]:
    return _with_mistake(view, "unknown")


@rule("wrong-shape", "error", "A part of a pod or an object does not have the shape that Kubernetes requires.")
def wrong_shape(view: View) -> Iterator[Finding]:
    return _with_mistake(view, "shape")


def _with_mistake(view: View, mistake: str) -> Iterator[Finding]:
    misfits = (misfit for misfit in _misfits(view) if misfit.mistake == mistake)
    return (Finding(misfit.path, misfit.message, fixes=misfit.fixes) for misfit in misfits)
