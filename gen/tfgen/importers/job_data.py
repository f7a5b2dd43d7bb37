"""The data of job.yaml from a foreign job: short, with what all roles say alike said once, and defaults left out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.importers.account import Account
from tfgen.importers.foreign_job import ROLES, ForeignJob
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


def job_data(job: ForeignJob, account: Account) -> dict[str, Any]:
    """The document of a foreign job."""
    return document(job.name, job.namespace, hoisted(full_spec(job, account), account))


def full_spec(job: ForeignJob, account: Account) -> dict[str, Any]:
    """The spec of a foreign job, in which each role says all of its own."""
    names = [name for name in ROLE_NAMES if name in job.roles]
    roles: dict[str, dict[str, Any]] = {}
    for name in names:
        role = job.roles[name]
        replicas = {"replicas": role.replicas} if name in ("ps", "worker") else {}
        roles[name] = {**replicas, **role.own, **json.loads(json.dumps(role.pod.role))}
    spec: dict[str, Any] = {"strategy": job.strategy, **json.loads(json.dumps(job.spec)), "roles": roles}
    spec["storage"] = {**spec.get("storage", {}), **_storage(job, names, roles, account)}
    _add_pods(spec, job, account)
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
    job: ForeignJob, names: Sequence[RoleName], roles: Mapping[str, dict[str, Any]], account: Account
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
    account.move(moved)
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


def hoisted(spec: Mapping[str, Any], account: Account, like: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The spec with what all roles say alike said once.

    Args:
        spec: one in which each role says all of its own.
        account: where the targets are that move.
        like: the spec of the same job elsewhere: what it says once is said once here, and nothing else that it says.
    """
    new: dict[str, Any] = json.loads(json.dumps(spec))
    roles: Mapping[str, dict[str, Any]] = new["roles"]
    schema = schema_file.load()
    keys = [key for role in roles.values() for key in role if key != "replicas"]
    for key in dict.fromkeys(keys):
        if schema_file.node(schema, ("spec", key)) is None:
            continue
        if key == _POD_TEMPLATE:
            _hoist_pod_template(new, like, account)
        elif key in _BY_KEY:
            _hoist_entries(key, new, like, account)
        else:
            _hoist_value(key, new, like, account)
    return new


def _hoist_value(key: str, spec: dict[str, Any], like: Mapping[str, Any] | None, account: Account) -> None:
    roles: Mapping[str, dict[str, Any]] = spec["roles"]
    if not all(key in role for role in roles.values()) or _says_in_roles(like, (key,)):
        return
    values = [role[key] for role in roles.values()]
    is_like = like is not None and key in like and like[key] in values
    common = like[key] if like and is_like else max(values, key=values.count)
    are_most = key in _BY_MOST and (is_like or values.count(common) > 1)
    if values.count(common) < len(values) and not are_most:
        return
    spec[key] = common
    for name, role in roles.items():
        if role[key] == common:
            del role[key]
            account.move({(*ROLES, name, key): ("spec", key)})


def _hoist_entries(key: str, spec: dict[str, Any], like: Mapping[str, Any] | None, account: Account) -> None:
    roles: Mapping[str, dict[str, Any]] = spec["roles"]
    moved: dict[Path, Path] = {}
    entries = [role.get(key, {}) for role in roles.values()]
    for name in list(entries[0]):
        if not all(name in other for other in entries) or _says_in_roles(like, (key, name)):
            continue
        values = [other[name] for other in entries]
        is_like = like is not None and name in like.get(key, {}) and like[key][name] in values
        common = like[key][name] if like and is_like else values[0]
        # Of mappings, a role's would be merged with the job's, and not take its place.
        may_differ = is_like and not any(isinstance(value, Mapping) for value in values)
        if spec.get(key, {}).get(name, common) != common or (values.count(common) < len(values) and not may_differ):
            continue
        spec.setdefault(key, {})[name] = common
        for role, data in roles.items():
            if data[key][name] == common:
                del data[key][name]
                moved[(*ROLES, role, key, name)] = ("spec", key, name)
    account.move(moved)
    for data in roles.values():
        if key in data and not data[key]:
            del data[key]


def _hoist_pod_template(spec: dict[str, Any], like: Mapping[str, Any] | None, account: Account) -> None:
    """Fields of all pods: a role's are merged over the job's."""
    roles: Mapping[str, dict[str, Any]] = spec["roles"]
    fields = [data_path.at(role, (_POD_TEMPLATE, "spec")) or {} for role in roles.values()]
    for name in list(fields[0]):
        path = (_POD_TEMPLATE, "spec", name)
        is_shared = all(name in other and other[name] == fields[0][name] for other in fields)
        if not is_shared or data_path.has(spec, path) or _says_in_roles(like, path):
            continue
        spec.setdefault(_POD_TEMPLATE, {}).setdefault("spec", {})[name] = fields[0][name]
        for role_name in roles:
            account.move({(*ROLES, role_name, *path): ("spec", *path)})
    for role, own in zip(roles.values(), fields, strict=True):
        left = {
            name: value
            for name, value in own.items()
            if data_path.at(spec, (_POD_TEMPLATE, "spec", name)) != value or name not in fields[0]
        }
        rest = {key: value for key, value in role.pop(_POD_TEMPLATE, {}).items() if key != "spec"}
        if left or rest:
            role[_POD_TEMPLATE] = {**rest, **({"spec": left} if left else {})}


def _says_in_roles(spec: Mapping[str, Any] | None, path: Path) -> bool:
    """Whether a role says something for itself that the job does not say."""
    if spec is None or data_path.has(spec, path):
        return False
    return any(data_path.has(role, path) for role in spec["roles"].values())


def _add_pods(spec: dict[str, Any], job: ForeignJob, account: Account) -> None:
    """What pods say, and a job says once for all of them."""
    secrets = join_pull_secrets([role.pod for role in job.roles.values()], account)
    if secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in secrets]
    ports = {role.pod.port.value: role.pod.port for role in job.roles.values() if role.pod.port}
    if ports:
        spec["port"] = min(ports, key=lambda number: (number == PORT, str(number)))
        for number, part in ports.items():
            if number != spec["port"]:
                why = f"all tasks listen on one port, {spec['port']}, of which TF_CONFIG tells them"
                account.note(part, why, covers=True)
    if job.has_own_pods:
        add_rights(spec, job, account)
    _add_instances(spec, job, account)


def _add_instances(spec: dict[str, Any], job: ForeignJob, account: Account) -> None:
    """The cloud's instances: said once where all pods want the same, else of each role in Kubernetes' words."""
    instances = {name: role.pod.instance for name, role in job.roles.items()}
    first, *others = (dict(instance.data) for instance in instances.values())
    is_one = bool(first) and all(other == first for other in others)
    if is_one:
        spec["cloud"] = {"eci": json.loads(json.dumps(first))}
    for name, instance in instances.items():
        if not is_one:
            spec["roles"][name] = _joined(spec["roles"][name], json.loads(json.dumps(dict(instance.raw))))
        for _, path, place in instance.parts:
            target = ("spec", "cloud", "eci", *path) if is_one else (*ROLES, name, *place)
            account.move({(*ROLES, name, "cloud", *path): target})


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
