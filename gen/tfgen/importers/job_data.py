"""Conversion of a foreign job to the data of job.yaml.

To shorten job.yaml, the conversion moves fields that all roles share from the roles to the job, and omits defaults.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.importers.foreign_job import ROLES, ForeignJob
from tfgen.importers.import_report import ImportReport
from tfgen.importers.pod_template import PORT, join_pull_secrets
from tfgen.importers.restart_rules import add_restart_in_place
from tfgen.importers.rights import add_rights
from tfgen.job.training_job import ROLE_NAMES, RoleName
from tfgen.schema import file as schema_file
from tfgen.schema.file import key_order

_OVERRIDABLE: Final = ("image", "imagePullPolicy", "command", "args", "workingDir")
"""Fields that move to the job even if only most roles have the same value, because a role can override the value."""
_BY_KEY: Final = ("env", "nodeSelector", "labels", "annotations")
"""Maps in a role. Each key of such a map can move to the job separately."""
_POD_TEMPLATE: Final = "podTemplate"


def job_data(job: ForeignJob, report: ImportReport) -> dict[str, Any]:
    """Convert a foreign job to the data of its job.yaml."""
    return document(job.name, job.namespace, hoist_shared(full_spec(job, report), report))


def full_spec(job: ForeignJob, report: ImportReport) -> dict[str, Any]:
    """Return the ``spec`` of job.yaml for a foreign job. Each role also contains the fields that all roles share."""
    names = [name for name in ROLE_NAMES if name in job.roles]
    roles: dict[str, dict[str, Any]] = {}
    for name in names:
        role = job.roles[name]
        replicas = {"replicas": role.replicas} if name in ("ps", "worker") else {}
        roles[name] = {**replicas, **role.fields, **json.loads(json.dumps(role.pod.role))}
    spec: dict[str, Any] = {"strategy": job.strategy, **json.loads(json.dumps(job.spec)), "roles": roles}
    spec["storage"] = {**spec.get("storage", {}), **_storage(job, names, roles, report)}
    _add_pods(spec, job, report)
    add_restart_in_place(spec, job, report)
    return spec


def document(name: str, namespace: str | None, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of job.yaml, without default values. The order of the keys is the same as in `tfgen init`."""
    short = _without_defaults(spec, ("spec",))
    short["strategy"] = spec["strategy"]
    short["roles"] = {role: short.get("roles", {}).get(role, {}) for role in spec["roles"]}
    return {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "spec": {key: short[key] for key in key_order(("spec",)) or () if key in short},
    }


def _storage(
    job: ForeignJob, names: Sequence[RoleName], roles: Mapping[str, dict[str, Any]], report: ImportReport
) -> dict[str, Any]:
    """Return the data of ``storage``, which contains each volume by name.

    If only some roles mount a volume, the key `for` of the volume lists these roles. If two roles have different
    volumes of the same name, the name of the second volume gets the role as a suffix.
    """
    storage: dict[str, Any] = {}
    mounted: dict[str, list[str]] = {}
    by_role: dict[str, Mapping[str, Any]] = {str(role): job.roles[role].pod.storage for role in names}
    if "tensorboard" in job.spec:
        by_role["tensorboard"] = job.tensorboard_storage
    moved: dict[Path, Path] = {}
    for role, volumes in by_role.items():
        for name, volume in volumes.items():
            job_name = name if storage.setdefault(name, volume) == volume else f"{name}-{role}"
            storage[job_name] = volume
            mounted.setdefault(job_name, []).append(role)
            moved[(*ROLES, role, "storage", name)] = ("spec", "storage", job_name)
            if job_name != name and role in roles:
                _rename_volume(roles[role], name, job_name)
    report.move_targets(moved)
    return {
        name: {
            "mountPath": volume["mountPath"],
            **{key: value for key, value in volume.items() if key != "mountPath"},
            **({} if mounted[name] == [*by_role] else {"for": mounted[name]}),
        }
        for name, volume in storage.items()
    }


def _rename_volume(data: Any, old: str, new: str) -> None:
    """Rename a volume in the mounts of all containers of a role.

    `data` is the data of the role, or a value inside the data.
    """
    if isinstance(data, dict):
        for mount in data.get("volumeMounts") or ():
            if mount.get("name") == old:
                mount["name"] = new
        for value in data.values():
            _rename_volume(value, old, new)
    elif isinstance(data, list):
        for item in data:
            _rename_volume(item, old, new)


def hoist_shared(
    spec: Mapping[str, Any], report: ImportReport, model: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Move the fields that all roles share from the roles to the job, and return the new spec.

    For example, if all roles have the same image, the job gets the image. For an environment, the function moves the
    same fields as in the job itself, where possible. So the two specs differ in few values.

    Args:
        spec: the spec, in which each role has all of its fields.
        report: the import report. This function updates the targets of the entries.
        model: for an environment, the result of this function for the job itself; None for the job itself.
    """
    new: dict[str, Any] = json.loads(json.dumps(spec))
    roles: Mapping[str, dict[str, Any]] = new["roles"]
    schema = schema_file.load()
    first = next(iter(roles.values()))
    for key in dict.fromkeys(key for role in roles.values() for key in role if key != "replicas"):
        if schema_file.node(schema, ("spec", key)) is None:
            continue
        # tfgen merges the podTemplate and the maps of a role into those of the job, so single entries can move.
        path = (_POD_TEMPLATE, "spec") if key == _POD_TEMPLATE else (key,)
        names = list(data_path.at(first, path) or ()) if key in (_POD_TEMPLATE, *_BY_KEY) else None
        moved: dict[Path, Path] = {}
        for value_path in [path] if names is None else [(*path, name) for name in names]:
            moved |= _hoist_value(value_path, new, model)
        report.move_targets(moved)
        for role in roles.values():
            if names is not None and role.get(key) == {}:
                del role[key]
    return new


def _hoist_value(path: Path, spec: dict[str, Any], model: Mapping[str, Any] | None) -> dict[Path, Path]:
    """Move the value at a path from the roles to the job, if each role keeps the correct value.

    Return the new path for each old path; empty if the value does not move. Example:

        {("spec", "roles", "worker", "image"): ("spec", "image")}
    """
    roles: Mapping[str, dict[str, Any]] = spec["roles"]
    values = [data_path.at(role, path) for role in roles.values() if data_path.has(role, path)]
    if len(values) < len(roles) or _is_role_field(model, path):
        return {}
    in_model = data_path.has(model, path) and data_path.at(model, path) in values
    common = data_path.at(model, path) if in_model else max(values, key=values.count)
    is_overridable = path[0] in _OVERRIDABLE and (in_model or values.count(common) > 1)
    # A mapping of a role extends the mapping of the job, so a role cannot remove a key of the job.
    is_entry = path[0] in _BY_KEY and in_model and not any(isinstance(value, Mapping) for value in values)
    if values.count(common) < len(values) and not (is_overridable or is_entry):
        return {}
    if data_path.has(spec, path) and data_path.at(spec, path) != common:
        return {}
    target: Any = spec
    for step in path[:-1]:
        target = target.setdefault(step, {})
    target[path[-1]] = common
    names = [name for name, role in roles.items() if data_path.at(role, path) == common]
    for name in names:
        _remove(roles[name], path)
    return {(*ROLES, name, *path): ("spec", *path) for name in names}


def _remove(data: dict[Any, Any], path: Path) -> None:
    """Remove the value at a path, and each parent mapping that becomes empty."""
    key, *steps = path
    if steps:
        _remove(data[key], tuple(steps))
    if not steps or not data[key]:
        del data[key]


def _is_role_field(spec: Mapping[str, Any] | None, path: Path) -> bool:
    """Return True if a role of a spec sets the field at a path, and the job itself does not set the field."""
    if spec is None or data_path.has(spec, path):
        return False
    return any(data_path.has(role, path) for role in spec["roles"].values())


def _add_pods(spec: dict[str, Any], job: ForeignJob, report: ImportReport) -> None:
    """Add the pod settings that job.yaml sets for the whole job, such as the pull secrets, the port and the user."""
    secrets = join_pull_secrets([role.pod for role in job.roles.values()], report)
    if secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in secrets]
    ports = {role.pod.port.value: role.pod.port for role in job.roles.values() if role.pod.port}
    if ports:
        spec["port"] = min(ports, key=lambda number: (number == PORT, str(number)))
        for number, part in ports.items():
            if number != spec["port"]:
                why = f"in the imported job, all tasks listen on port {spec['port']}"
                report.note(part, why, explains_all=True)
    if job.has_pod_templates:
        add_rights(spec, job, report)
    _add_instances(spec, job, report)


def _add_instances(spec: dict[str, Any], job: ForeignJob, report: ImportReport) -> None:
    """Add the settings of cloud instances to ``cloud.eci``, or to the roles if the roles have different settings."""
    instances = {name: role.pod.instance for name, role in job.roles.items()}
    settings = [dict(instance.data) for instance in instances.values()]
    is_shared = bool(settings[0]) and all(data == settings[0] for data in settings)
    if is_shared:
        spec["cloud"] = {"eci": json.loads(json.dumps(settings[0]))}
    for name, instance in instances.items():
        if not is_shared:
            spec["roles"][name] = _merged(spec["roles"][name], json.loads(json.dumps(dict(instance.role_fields))))
        for _, path, role_path in instance.parts:
            target = ("spec", "cloud", "eci", *path) if is_shared else (*ROLES, name, *role_path)
            report.move_targets({(*ROLES, name, "cloud", *path): target})


def _merged(base: Any, patch: Any) -> Any:
    """Merge two mappings recursively, and concatenate their lists."""
    if isinstance(base, Mapping) and isinstance(patch, Mapping):
        return {**base, **{key: _merged(base[key], value) if key in base else value for key, value in patch.items()}}
    return [*base, *patch]


def _without_defaults(data: Any, path: Path) -> Any:
    """Remove the default values from data of job.yaml, and sort the keys as in the schema.

    A mapping that contains only defaults is removed as well.
    """
    if not isinstance(data, Mapping):
        return data
    short: dict[str, Any] = {}
    schema = schema_file.node(schema_file.load(), path) or {}
    ordered = [key for key in schema.get("properties", ()) if key in data]
    for key in dict.fromkeys((*ordered, *data)):
        value = data[key]
        node = schema_file.node(schema_file.load(), (*path, key)) or {}
        if isinstance(value, Mapping):
            fields = _without_defaults(value, (*path, key))
            if fields or not value or "default" not in node:
                short[key] = fields
            continue
        # In Python, True equals 1.
        is_same_type = isinstance(node.get("default"), bool) == isinstance(value, bool)
        if "default" not in node or node["default"] != value or not is_same_type:
            short[key] = value
    return {key: value for key, value in short.items() if value != {} or _may_be_empty(path)}


def _may_be_empty(path: Path) -> bool:
    """Return whether the mapping at a path may contain an empty mapping, for example a role without fields."""
    return path == ROLES or path[:2] == ("spec", "storage")
