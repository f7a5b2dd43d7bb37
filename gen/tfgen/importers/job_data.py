"""The data of job.yaml from a foreign job: short, with what all roles say alike said once, and defaults left out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.importers.foreign_job import ROLES, ForeignJob
from tfgen.importers.import_report import ImportReport
from tfgen.importers.pod_template import PORT, join_pull_secrets
from tfgen.importers.rights import add_rights
from tfgen.job.training_job import ROLE_NAMES, RoleName
from tfgen.schema import file as schema_file
from tfgen.schema.key_order import key_order

_BY_MOST: Final = ("image", "imagePullPolicy", "command", "args", "workingDir")
"""What the job says for most of its roles, and a role for itself; the rest is said for all or for none."""
_BY_KEY: Final = ("env", "nodeSelector", "labels", "annotations")
"""Maps of which the job says those entries that all roles have alike."""
_POD_TEMPLATE: Final = "podTemplate"


def job_data(job: ForeignJob, report: ImportReport) -> dict[str, Any]:
    """The document of a foreign job."""
    return document(job.name, job.namespace, hoist_shared(full_spec(job, report), report))


def full_spec(job: ForeignJob, report: ImportReport) -> dict[str, Any]:
    """The spec of a foreign job, in which each role says all of its own."""
    names = [name for name in ROLE_NAMES if name in job.roles]
    roles: dict[str, dict[str, Any]] = {}
    for name in names:
        role = job.roles[name]
        replicas = {"replicas": role.replicas} if name in ("ps", "worker") else {}
        roles[name] = {**replicas, **role.own, **json.loads(json.dumps(role.pod.role))}
    spec: dict[str, Any] = {"strategy": job.strategy, **json.loads(json.dumps(job.spec)), "roles": roles}
    spec["storage"] = {**spec.get("storage", {}), **_storage(job, names, roles, report)}
    _add_pods(spec, job, report)
    return spec


def document(name: str, namespace: str | None, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The document of a job: its spec without defaults, in the order of `tfgen init`."""
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
    """All volumes by name, each with the roles that mount it; of two that differ, the second has its role's name."""
    storage: dict[str, Any] = {}
    mounted: dict[str, list[str]] = {}
    by_reader: dict[str, Mapping[str, Any]] = {str(role): job.roles[role].pod.storage for role in names}
    if "tensorboard" in job.spec:
        by_reader["tensorboard"] = job.tensorboard_storage
    moved: dict[Path, Path] = {}
    for role, volumes in by_reader.items():
        for name, volume in volumes.items():
            final = name if storage.setdefault(name, volume) == volume else f"{name}-{role}"
            storage[final] = volume
            mounted.setdefault(final, []).append(role)
            moved[(*ROLES, role, "storage", name)] = ("spec", "storage", final)
            if final != name and role in roles:
                _rename(roles[role], name, final)
    report.move_targets(moved)
    return {
        name: {
            "mountPath": volume["mountPath"],
            **{key: value for key, value in volume.items() if key != "mountPath"},
            **({} if mounted[name] == [*by_reader] else {"for": mounted[name]}),
        }
        for name, volume in storage.items()
    }


def _rename(data: Any, old: str, new: str) -> None:
    """Give a volume its new name wherever containers of a role mount it."""
    if isinstance(data, dict):
        for mount in data.get("volumeMounts") or ():
            if mount.get("name") == old:
                mount["name"] = new
        for value in data.values():
            _rename(value, old, new)
    elif isinstance(data, list):
        for item in data:
            _rename(item, old, new)


def hoist_shared(
    spec: Mapping[str, Any], report: ImportReport, like: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The spec with what all roles say alike said once.

    Args:
        spec: one in which each role says all of its own.
        report: where the targets are that move.
        like: the spec of the same job elsewhere: what it says once is said once here, and nothing else that it says.
    """
    new: dict[str, Any] = json.loads(json.dumps(spec))
    roles: Mapping[str, dict[str, Any]] = new["roles"]
    schema = schema_file.load()
    first = next(iter(roles.values()))
    for key in dict.fromkeys(key for role in roles.values() for key in role if key != "replicas"):
        if schema_file.node(schema, ("spec", key)) is None:
            continue
        # A role's podTemplate and its maps by name are merged over the job's.
        path = (_POD_TEMPLATE, "spec") if key == _POD_TEMPLATE else (key,)
        names = list(data_path.at(first, path) or ()) if key in (_POD_TEMPLATE, *_BY_KEY) else None
        moved: dict[Path, Path] = {}
        for below in [path] if names is None else [(*path, name) for name in names]:
            moved |= _hoist(below, new, like)
        report.move_targets(moved)
        for role in roles.values():
            if names is not None and role.get(key) == {}:
                del role[key]
    return new


def _hoist(path: Path, spec: dict[str, Any], like: Mapping[str, Any] | None) -> dict[Path, Path]:
    """Move a value of the roles to the job, and return the targets that move."""
    roles: Mapping[str, dict[str, Any]] = spec["roles"]
    values = [data_path.at(role, path) for role in roles.values() if data_path.has(role, path)]
    if len(values) < len(roles) or _says_in_roles(like, path):
        return {}
    is_like = data_path.has(like, path) and data_path.at(like, path) in values
    common = data_path.at(like, path) if is_like else max(values, key=values.count)
    is_in_most = path[0] in _BY_MOST and (is_like or values.count(common) > 1)
    # A role merges a mapping with the job's mapping, and cannot replace it.
    is_entry = path[0] in _BY_KEY and is_like and not any(isinstance(value, Mapping) for value in values)
    if values.count(common) < len(values) and not (is_in_most or is_entry):
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
    """Remove a value and the mappings that are empty without the value."""
    key, *steps = path
    if steps:
        _remove(data[key], tuple(steps))
    if not steps or not data[key]:
        del data[key]


def _says_in_roles(spec: Mapping[str, Any] | None, path: Path) -> bool:
    """Whether a role says something for itself that the job does not say."""
    if spec is None or data_path.has(spec, path):
        return False
    return any(data_path.has(role, path) for role in spec["roles"].values())


def _add_pods(spec: dict[str, Any], job: ForeignJob, report: ImportReport) -> None:
    """What pods say, and a job says once for all of them."""
    secrets = join_pull_secrets([role.pod for role in job.roles.values()], report)
    if secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in secrets]
    ports = {role.pod.port.value: role.pod.port for role in job.roles.values() if role.pod.port}
    if ports:
        spec["port"] = min(ports, key=lambda number: (number == PORT, str(number)))
        for number, part in ports.items():
            if number != spec["port"]:
                why = f"all tasks listen on one port, {spec['port']}, of which TF_CONFIG tells them"
                report.note(part, why, covers=True)
    if job.has_pod_templates:
        add_rights(spec, job, report)
    _add_instances(spec, job, report)


def _add_instances(spec: dict[str, Any], job: ForeignJob, report: ImportReport) -> None:
    """The cloud's instances: said once where all pods want the same, else of each role in Kubernetes' words."""
    instances = {name: role.pod.instance for name, role in job.roles.items()}
    first, *companions = (dict(instance.data) for instance in instances.values())
    is_one = bool(first) and all(other == first for other in companions)
    if is_one:
        spec["cloud"] = {"eci": json.loads(json.dumps(first))}
    for name, instance in instances.items():
        if not is_one:
            spec["roles"][name] = _joined(spec["roles"][name], json.loads(json.dumps(dict(instance.raw))))
        for _, path, place in instance.parts:
            target = ("spec", "cloud", "eci", *path) if is_one else (*ROLES, name, *place)
            report.move_targets({(*ROLES, name, "cloud", *path): target})


def _joined(one: Any, other: Any) -> Any:
    """Both of two pieces of data: mappings by key, lists one behind the other."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {**one, **{key: _joined(one[key], value) if key in one else value for key, value in other.items()}}
    return [*one, *other]


def _without_defaults(data: Any, path: Path) -> Any:
    """The data in the schema's order, without scalars that are its defaults and mappings that were nothing else."""
    if not isinstance(data, Mapping):
        return data
    kept: dict[str, Any] = {}
    own = schema_file.node(schema_file.load(), path) or {}
    known = [key for key in own.get("properties", ()) if key in data]
    for key in dict.fromkeys((*known, *data)):
        value = data[key]
        node = schema_file.node(schema_file.load(), (*path, key)) or {}
        if isinstance(value, Mapping):
            inner = _without_defaults(value, (*path, key))
            if inner or not value or "default" not in node:
                kept[key] = inner
            continue
        if (
            "default" not in node
            or node["default"] != value
            or isinstance(node["default"], bool) != isinstance(value, bool)
        ):
            kept[key] = value
    return {key: value for key, value in kept.items() if value != {} or _may_be_empty(path)}


def _may_be_empty(path: Path) -> bool:
    """Whether an empty mapping says something: a role, or the source of a volume."""
    return path == ROLES or path[:2] == ("spec", "storage")
