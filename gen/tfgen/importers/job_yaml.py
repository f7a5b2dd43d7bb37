"""Conversion of a foreign job to the data and the text of job.yaml.

To shorten job.yaml, the conversion moves fields that all roles share from the roles to the job, and omits defaults.
Several variants of a job, such as dev and prod, become one job with environments. `key_of` finds the key of job.yaml
for a path that a reader noted before the fields moved.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen.data_path import Path, at, follow, has, leaves, texts, with_value, without
from tfgen.errors import Position, Problem
from tfgen.importers.foreign_job import ROLES, ForeignJob, scheduler_of
from tfgen.importers.pod import (
    CONTAINER,
    ECI_PATHS,
    HANDLERS,
    PORT,
    RESTART_IN_PLACE,
    join_pull_secrets,
    renamed,
)
from tfgen.importers.table import REFUSED
from tfgen.job.training_job import ROLE_NAMES, RoleName
from tfgen.kubernetes import keys
from tfgen.kubernetes.pods import PROFILES, Profile
from tfgen.schema import file as schema_file
from tfgen.schema import kinds, tunables
from tfgen.schema.file import key_order
from tfgen.schema.kinds import default_end
from tfgen.text.document import MAX_PROBLEMS
from tfgen.text.yaml_text import block_lines, in_line, scalar
from tfgen.words import path_name, shown

_OVERRIDABLE: Final = ("image", "imagePullPolicy", "command", "args", "workingDir")
"""Fields that move to the job even if only most roles have the same value, because a role can override the value."""
_BY_KEY: Final = ("env", "nodeSelector")
"""Maps in a role. Each key of such a map can move to the job separately."""
_OF_TASKS: Final = ("labels", "annotations")
"""Maps that never move: the finisher, TensorBoard and the Service would get the labels and annotations of the job."""
_POD_TEMPLATE: Final = "podTemplate"
_POD: Final = (_POD_TEMPLATE, "spec")
_ANNOTATIONS: Final[Path] = (_POD_TEMPLATE, "metadata", "annotations")
"""The path of the annotations of a role that select an instance of Alibaba Cloud."""
_MATCH: Final = "imageCache.match"


def job_data(job: ForeignJob, profile: Profile) -> dict[str, Any]:
    """Convert a foreign job to the data of its job.yaml.

    Args:
        job: the foreign job.
        profile: the strictest Pod Security profile that the imported job may have.
    """
    return document(job.name, job.namespace, _hoist_shared(_full_spec(job, profile)))


def _full_spec(job: ForeignJob, profile: Profile) -> dict[str, Any]:
    """Return the ``spec`` of job.yaml for a foreign job. Each role also contains the fields that all roles share."""
    names = [name for name in ROLE_NAMES if name in job.roles]
    roles: dict[str, dict[str, Any]] = {}
    for name in names:
        role = job.roles[name]
        replicas = {"replicas": role.replicas} if name in ("ps", "worker") else {}
        roles[name] = {**replicas, **role.fields, **json.loads(json.dumps(role.pod.role))}
        parts = [("schedulingGroup", part) for part in role.pod.scheduling_groups[:1]]
        if (scheduler := role.pod.scheduler) and scheduler.as_text != scheduler_of(job.spec.get("gang", {})):
            parts.append(("schedulerName", scheduler))
        for key, part in parts:
            fields = {key: part.data, **(at(roles[name], _POD) or {})}
            roles[name] = with_value(roles[name], _POD, fields)
            job.notes.target(part, *ROLES, name, *_POD, key)
    spec: dict[str, Any] = {"strategy": job.strategy, **json.loads(json.dumps(job.spec)), "roles": roles}
    spec["storage"] = {**spec.get("storage", {}), **_storage(job, names, roles)}
    _add_pods(spec, job, profile)
    _add_restart_in_place(spec, job)
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


def _storage(job: ForeignJob, names: Sequence[RoleName], roles: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the data of ``storage``, which contains each volume by name.

    If only some roles mount a volume, the key `for` of the volume lists these roles. If two roles have different
    volumes of the same name, the name of the second volume gets the role as a suffix.
    """
    storage: dict[str, Any] = {}
    mounted: dict[str, list[str]] = {}
    by_role: dict[str, Mapping[str, Any]] = {str(role): job.roles[role].pod.storage for role in names}
    if "tensorboard" in job.spec:
        by_role["tensorboard"] = job.tensorboard_storage
    for role, volumes in by_role.items():
        for name, volume in volumes.items():
            if role == "tensorboard":
                name = next((same for same, other in storage.items() if other == volume), name)
            job_name = name if storage.setdefault(name, volume) == volume else f"{name}-{role}"
            storage[job_name] = volume
            mounted.setdefault(job_name, []).append(role)
            if job_name != name and role in roles:
                _rename_volume(roles[role], name, job_name)
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


def _hoist_shared(spec: Mapping[str, Any], model: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Move the fields that all roles share from the roles to the job, and return the new spec.

    For example, if all roles have the same image, the job gets the image. For an environment, the function moves the
    same fields as in the job itself, where possible. So the two specs differ in few values.

    Args:
        spec: the spec, in which each role has all of its fields.
        model: for an environment, the result of this function for the job itself; None for the job itself.
    """
    new: dict[str, Any] = json.loads(json.dumps(spec))
    roles: Mapping[str, dict[str, Any]] = new["roles"]
    schema = schema_file.load()
    first = next(iter(roles.values()))
    for key in dict.fromkeys(key for role in roles.values() for key in role if key != "replicas"):
        if key in _OF_TASKS or schema_file.node(schema, ("spec", key)) is None:
            continue
        # tfgen merges the podTemplate and the maps of a role into those of the job, so single entries can move.
        path = _POD if key == _POD_TEMPLATE else (key,)
        names = list(at(first, path) or ()) if key in (_POD_TEMPLATE, *_BY_KEY) else None
        for value_path in [path] if names is None else [(*path, name) for name in names]:
            _hoist_value(value_path, new, model)
        for role in roles.values():
            if names is not None and role.get(key) == {}:
                del role[key]
    return new


def _hoist_value(path: Path, spec: dict[str, Any], model: Mapping[str, Any] | None) -> None:
    """Move the value at a path from the roles to the job, if each role keeps the correct value."""
    roles: Mapping[str, dict[str, Any]] = spec["roles"]
    values = [at(role, path) for role in roles.values() if has(role, path)]
    # In the job itself, a role sets the field.
    is_of_role = model and not has(model, path) and any(has(role, path) for role in model["roles"].values())
    if len(values) < len(roles) or is_of_role:
        return
    in_model = has(model, path) and at(model, path) in values
    common = at(model, path) if in_model else max(values, key=values.count)
    is_overridable = path[0] in _OVERRIDABLE and (in_model or values.count(common) > 1)
    # A mapping of a role extends the mapping of the job, so a role cannot remove a key of the job.
    is_entry = path[0] in _BY_KEY and in_model and not any(isinstance(value, Mapping) for value in values)
    if values.count(common) < len(values) and not (is_overridable or is_entry):
        return
    if has(spec, path) and at(spec, path) != common:
        return
    target: Any = spec
    for step in path[:-1]:
        target = target.setdefault(step, {})
    target[path[-1]] = common
    for role in roles.values():
        if at(role, path) == common:
            _remove(role, path)


def _remove(data: dict[Any, Any], path: Path) -> None:
    """Remove the value at a path, and each parent mapping that becomes empty."""
    key, *steps = path
    if steps:
        _remove(data[key], tuple(steps))
    if not steps or not data[key]:
        del data[key]


def _add_pods(spec: dict[str, Any], job: ForeignJob, profile: Profile) -> None:
    """Add the pod settings that job.yaml sets for the whole job, such as the pull secrets, the port and the user."""
    if secrets := join_pull_secrets(role.pod for role in job.roles.values()):
        spec["imagePullSecrets"] = [{"name": name} for name in secrets]
    ports = {part.value: part for role in job.roles.values() if (part := role.pod.port)}
    if ports:
        spec["port"] = min(ports, key=lambda number: (number == PORT, str(number)))
        for number, part in ports.items():
            if number != spec["port"]:
                why = f"in the imported job, all tasks listen on port {spec['port']}"
                job.notes.reason(part, why, "changed", spec["port"])
        for name, role in job.roles.items():
            if not role.pod.port_name:
                continue
            containers: Sequence[dict[str, Any]] = at(spec["roles"][name], (*_POD, "containers")) or ()
            for main in containers:
                for key in main.keys() & {*HANDLERS}:  # tfgen has its own name for the port
                    main[key] = renamed(main[key], "port", role.pod.port_name, spec["port"])
    # A command of ElasticDL has no pod templates, and its job gets the default user and rights.
    if any(role.pods for role in job.roles.values()):
        _add_rights(spec, job, profile)
    elif profile != PROFILES[0]:
        spec["security"] = {"profile": profile}
    _add_instances(spec)


def _add_instances(spec: dict[str, Any]) -> None:
    """Move the settings of Alibaba Cloud's instances from the roles to ``cloud.eci``, if all roles have the same."""
    moved = [_without_instance(role) for role in spec["roles"].values()]
    if moved[0][0] and all(eci == moved[0][0] for eci, _ in moved):
        spec["cloud"] = {"eci": moved[0][0]}
        spec["roles"] = dict(zip(spec["roles"], (role for _, role in moved), strict=True))


def _without_instance(role: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Return the data of ``cloud.eci`` for the pods of a role, and the role without these settings."""
    annotations = at(role, _ANNOTATIONS) or {}
    eci: dict[str, Any] = {}
    for key, text in annotations.items():
        path = ECI_PATHS[key]
        value: Any = text.split(",") if path in keys.ECI_LISTS.values() else text
        eci = with_value(eci, path.split("."), text == "true" if path == _MATCH else value)
    taints = {
        (item.get("key"), item.get("value")): item
        for item in role.get("tolerations", ())
        if item.get("operator") == "Equal" and item.get("effect") == "NoSchedule"
    }
    nodes = (
        (way, label, taints[keys.ECI_TAINTS[way]])
        for way, (label, text) in keys.ECI_NODE_LABELS.items()
        if role.get("nodeSelector", {}).get(label) == text and keys.ECI_TAINTS[way] in taints
    )
    way, label, taint = next(nodes, ("", "", None))
    if at(role, (_POD_TEMPLATE, "metadata", "labels")):
        way = "Label"
    elif way:
        selector = {key: text for key, text in role["nodeSelector"].items() if key != label}
        tolerations = [item for item in role["tolerations"] if item is not taint]
        role = {**role, "nodeSelector": selector, "tolerations": tolerations}
        role = {key: value for key, value in role.items() if value or key not in ("nodeSelector", "tolerations")}
    if not annotations and not way:
        return {}, role
    if "imageCache" not in eci or "match" not in eci["imageCache"]:
        eci = with_value(eci, _MATCH.split("."), False)
    return {**eci, "way": way or "Serverless"}, without(role, _ANNOTATIONS[:2])


def _without_defaults(data: Any, path: Path) -> Any:
    """Remove the default values from data of job.yaml, and sort the keys as in the schema.

    A mapping that contains only defaults is removed as well.
    """
    if not isinstance(data, Mapping):
        return data
    short: dict[str, Any] = {}
    schema = schema_file.node(schema_file.load(), path) or {}
    for key in (key for key in dict.fromkeys((*schema.get("properties", ()), *data)) if key in data):
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
    may_be_empty = path == ROLES or path[:2] == ("spec", "storage")
    return {key: value for key, value in short.items() if value != {} or may_be_empty}


def _add_restart_in_place(spec: dict[str, Any], job: ForeignJob) -> None:
    """Add `restart.inPlace` to a spec if the pods of the foreign job have restart rules."""
    by_role = {name: role.pod.restart_codes for name, role in job.roles.items()}
    if not any(by_role.values()):
        return
    if why := kinds.lacking(spec, RESTART_IN_PLACE[1:]):
        job.notes.change_target(RESTART_IN_PLACE, why, "dropped")
        return
    restart = spec.get("restart", {})
    codes = frozenset(restart.get("ignoreExitCodes", ())).union(*by_role.values())
    spec["restart"] = {**restart, "inPlace": True, "ignoreExitCodes": sorted(codes)}


# -- rights ------------------------------------------------------------------------------------------------------

_IDENTITY: Final = ("runAsUser", "runAsGroup", "fsGroup")
_READ_ONLY: Final = "readOnlyRootFilesystem"
_HOST_USERS: Final = "hostUsers"
_CONTEXT: Final = (*_POD, "securityContext")
_IN_POD: Final[Mapping[str | int, Path]] = {
    **{key: (*_CONTEXT, key) for key in _IDENTITY},
    _HOST_USERS: (*_POD, _HOST_USERS),
    _READ_ONLY: (*_POD, "containers", 0, "securityContext", _READ_ONLY),
}
"""Field of `security` -> path of the field in a job or a role, if the value is not the value of all pods."""
HARDENING: Final[Mapping[Profile, Sequence[str]]] = {
    "restricted": ("seccompProfile", "allowPrivilegeEscalation", "capabilities"),
    "baseline": ("seccompProfile",),
    "privileged": (),
}
"""Fields of `PodData.hardening` that the pods of tfgen have with each Pod Security profile."""
_COMMENT: Final = "As before the import, the pods run as the user of their image, with a writable root file system."


def _add_rights(spec: dict[str, Any], job: ForeignJob, profile: Profile) -> None:
    """Set the Pod Security profile and the user of the pods in a spec, and the write access to the root file system.

    By default, the pods of tfgen run as user 1000 with a read-only root file system. Foreign pods without a user run as
    the user of their image, which is often root. To keep this behavior, the imported job sets the user to null.
    """
    security = {name: role.pod.security for name, role in job.roles.items()}
    rights: dict[str, Any] = {}
    for key in _IDENTITY:
        values = [fields.get(key) for fields in security.values()]
        is_shared = values[0] is not None and values.count(values[0]) == len(values)
        for name, fields in security.items():
            if not is_shared:
                spec["roles"][name] = with_value(spec["roles"][name], _IN_POD[key], fields.get(key))
        rights |= {key: values[0]} if is_shared else {}
    read_only = {name: fields.get(_READ_ONLY, False) for name, fields in security.items()}
    # spec.security is for all containers, so a writable sidecar makes the whole job writable.
    others = [c for role in spec["roles"].values() for key in ("initContainers", "sidecars") for c in role.get(key, ())]
    rights[_READ_ONLY] = all((*read_only.values(), *(at(c, ("securityContext", _READ_ONLY)) for c in others)))
    for name, role in spec["roles"].items():
        if read_only[name] and not rights[_READ_ONLY]:
            spec["roles"][name] = _with_right(role, _IN_POD[_READ_ONLY], True)
    isolated = [name for name, fields in security.items() if fields.get(_HOST_USERS) is False]
    if len(isolated) == len(security):
        rights[_HOST_USERS] = False
    else:
        for name in isolated:
            spec["roles"][name] = with_value(spec["roles"][name], _IN_POD[_HOST_USERS], False)
    # With runAsNonRoot, Kubernetes refuses an image that runs as root.
    non_root = [name for name, role in spec["roles"].items() if at(role, (*_CONTEXT, "runAsNonRoot"))]
    if profile == "restricted" and any("runAsUser" not in security[name] and name not in non_root for name in security):
        profile = "baseline"
    if profile != PROFILES[0]:
        rights = {"profile": profile, **rights}
    for name, role in job.roles.items():
        for path, value in role.pod.hardening.items():
            if path[-1] not in HARDENING[profile]:
                spec["roles"][name] = _with_right(spec["roles"][name], path, value)
    spec["security"] = {**rights, **spec.get("security", {})}


def _with_right(role: Any, path: Path, value: Any) -> Any:
    """Return the data of a role with a field of a security context. The index 0 in a path is the main container."""
    if 0 not in path:
        return with_value(role, path, value)
    index = path.index(0)
    (main,) = at(role, path[:index]) or ({"name": CONTAINER},)
    return with_value(role, path[:index], [with_value(main, path[index + 1 :], value)])


def comments_on_rights(data: Mapping[str, Any]) -> dict[Path, str]:
    """Return comments for job.yaml about the user and the write access of the pods.

    Example: {("spec", "security"): "..."} contains the comment above the field `security`.
    """
    context = at(data, ("spec", *_CONTEXT)) or {}
    is_image_user = "runAsUser" in context and context["runAsUser"] is None
    return {("spec", "security"): _COMMENT} if is_image_user and not at(data, ("spec", "security", _READ_ONLY)) else {}


# -- environments ------------------------------------------------------------------------------------------------
#
#     dev   {image: "x:1", roles: {worker: {replicas: 1}}}
#     prod  {image: "x:1", roles: {worker: {replicas: 4}}}
#       ->  {image: "x:1", roles: {worker: {replicas: 1}},
#            environments: {dev: {}, prod: {roles: {worker: {replicas: 4}}}}}
#
# The variant with the fewest differences from the other variants becomes the job itself. Each environment contains the
# values that differ from the job. Helm merges these values over the values of the job. All variants must have the same
# structure.

EnvironmentName: TypeAlias = str | None
"""The name of an environment. None means the job without an environment."""

ENVIRONMENTS: Final = ("spec", "environments")
_RELEASE: Final[Path] = ("completion", "release")
_RELEASES_GPUS: Final = "ScaleToZero"
_JOB_FIELDS: Final[tuple[Path, ...]] = (_RELEASE, ("port",))
"""Fields that environments cannot change, and that do not affect the training. If one variant releases its GPUs at the
end, all variants release their GPUs. All variants get the port of the variant that becomes the job itself."""
_SECTIONS: Final[Mapping[Path, Sequence[Path]]] = {
    ("gang",): [("workload", "tfJob", "gang")],
    ("tensorboard",): [],
    ("cloud", "eci"): [],
}
"""Path of a section that an environment can disable -> paths of the settings that depend on the section."""


def base_name(names: Mapping[EnvironmentName, str]) -> str | None:
    """Remove the environment from each name of a job. Return the remaining name, or None if the remaining names differ.

    >>> base_name({"dev": "dev-mnist", "prod": "mnist-prod", None: "mnist"})
    'mnist'
    """
    base_names = {
        name.removeprefix(f"{environment}-").removesuffix(f"-{environment}") if environment else name
        for environment, name in names.items()
    }
    return base_names.pop() if len(base_names) == 1 else None


def job_with_environments(
    name: str, variants: Mapping[EnvironmentName, ForeignJob], profile: Profile
) -> tuple[EnvironmentName, dict[str, Any]]:
    """Merge several variants of a job into the data of one job.yaml.

    The first element of the result is the environment whose variant became the job itself. The second element is the
    data.

    Args:
        name: the name of the job.
        variants: the variant of each environment. The variant without an environment has the key None.
        profile: the strictest Pod Security profile that the imported job may have.
    """
    specs = _with_sections({env: _full_spec(variant, profile) for env, variant in variants.items()})

    def distance(env: EnvironmentName) -> int:
        """Return the number of values that differ from the other specs."""
        return sum(len([*leaves(values_patch(_values(specs[env]), _values(spec)))]) for spec in specs.values())

    base = None if None in specs else min(specs, key=distance)
    specs = _with_equal_job_fields(specs, variants, base)
    spec = _hoist_shared(specs[base])
    namespaces = _namespaces(variants)
    environments: dict[str, Any] = {}
    for env, variant in variants.items():
        if env is None:
            continue
        variant_spec = spec if env == base else _hoist_shared(specs[env], model=spec)
        roles: list[Path] = [("roles",)] if spec["roles"].keys() != variant_spec["roles"].keys() else []
        for path in (*roles, *_differences(_structure(spec), _structure(variant_spec))):
            message = _structure_message(path, (env, variant_spec), (base, spec))
            refuse_at(("spec", *path), variant, {"spec": variant_spec}, message)
        patch = values_patch(_values(spec), _with_role_values(_values(variant_spec), spec))
        environments[env] = {**namespaces.get(env, {}), **patch}
    data = document(name, namespaces.get(None, {}).get("namespace"), spec)
    return base, {**data, "spec": {**data["spec"], "environments": environments}}


def _with_equal_job_fields(
    specs: Mapping[EnvironmentName, dict[str, Any]],
    variants: Mapping[EnvironmentName, ForeignJob],
    base: EnvironmentName,
) -> dict[EnvironmentName, dict[str, Any]]:
    """Set each field that an environment cannot change, such as `port`, to the same value in all specs.

    Most fields get the value in the spec of `base`. Report each value that changes. Return the new specs.
    """
    equal_specs = dict(specs)
    for path in _JOB_FIELDS:
        default = (schema_file.node(schema_file.load(), ("spec", *path)) or {}).get("default")
        values = {env: at(spec, path) if has(spec, path) else default for env, spec in specs.items()}
        if len(set(values.values())) == 1:
            continue
        common = _RELEASES_GPUS if path == _RELEASE else values[base]
        why = f"an environment cannot change {path_name(path)}, so it is {shown(common)} in every environment"
        for env, value in values.items():
            notes = variants[env].notes
            if value != common and not notes.change_target(("spec", *path), why, "changed", common):
                notes.remark(variants[env].root.value["spec"], why)
            equal_specs[env] = with_value(equal_specs[env], path, common)
    return equal_specs


def values_patch(base: Mapping[str, Any], target: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that Helm must merge into `base` to get `target`. The value None removes a key.

    >>> values_patch({"a": 1, "b": {"c": 2, "d": 3}}, {"a": 1, "b": {"d": 4}})
    {'b': {'d': 4, 'c': None}}
    """
    patch: dict[str, Any] = {}
    for key, value in target.items():
        base_value = base.get(key)
        if isinstance(value, Mapping) and isinstance(base_value, Mapping):
            fields = values_patch(base_value, value)
            if fields:
                patch[key] = fields
        elif key not in base or json.dumps(base_value) != json.dumps(value):
            patch[key] = value
    return patch | {key: None for key in base if key not in target}


def _values(spec: Mapping[str, Any]) -> dict[str, Any]:
    return tunables.values(spec, of_any_kind=True)


def _with_role_values(values: dict[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """Set each field of a role that the spec `base` sets, and that `values` lack, to the value that the role has.

    An environment cannot remove the field of a role, but can set the field to the value of the job.
    """
    restart_policy = values["workload"]["tfJob"]["restartPolicy"]
    own = {"nodeName": "", "terminationGracePeriodSeconds": 30, "restartPolicy": restart_policy}
    for role, fields in values["roles"].items():
        for key in base["roles"].get(role, {}).keys() - fields.keys():
            if (tunable := tunables.all_tunables().get(("roles", role, key))) is not None:
                fields[key] = {} if tunable.type == "map" else {**values, **own}[key]
    return values


def _with_sections(specs: Mapping[EnvironmentName, dict[str, Any]]) -> dict[EnvironmentName, dict[str, Any]]:
    """Add missing sections, such as `gang`, so that the specs of all environments have the same sections.

    For example, if only prod has a gang, the spec of dev gets the gang of prod with `enabled: false`. Return the new
    specs.
    """
    completed = dict(specs)
    for section, setting_paths in _SECTIONS.items():
        model = next((spec for spec in specs.values() if has(spec, section)), None)
        for env, spec in completed.items():
            if model is None or has(spec, section):
                continue
            full = with_value(spec, section, {**at(model, section), "enabled": False})
            for path in setting_paths:
                if has(model, path):
                    full = with_value(full, path, at(model, path))
            completed[env] = full
    return completed


def _structure(spec: Mapping[str, Any]) -> Any:
    """Return a spec without the values that an environment can set."""
    data: Any = document("", None, spec)["spec"]
    for tunable in tunables.tunables(spec, of_any_kind=True).values():
        data = without(data, tunable.path)
    return data


def _differences(base: Any, variant: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(base, Mapping) and isinstance(variant, Mapping):
        for key in dict.fromkeys((*base, *variant)):
            # A mapping whose keys are all tunable is empty in the structure, and counts as missing.
            yield from _differences(base.get(key, {}), variant.get(key, {}), (*path, key))
    elif json.dumps(base) != json.dumps(variant):
        yield path


def _structure_message(path: Path, variant: tuple[EnvironmentName, Any], base: tuple[EnvironmentName, Any]) -> str:
    values = [at(spec, path) for _, spec in (variant, base)]
    places = [f"in {env}" if env else "in the job itself" for env, _ in (variant, base)]
    name = path_name(("spec", *path))
    if any(isinstance(value, (Mapping, list)) for value in values):
        problem = f"{name} has different values {' and '.join(places)}"
    else:
        texts = ["not set" if value is None else shown(value) for value in values]
        problem = f"{name} is {' and '.join(f'{text} {place}' for text, place in zip(texts, places, strict=True))}"
    return f"{problem}, but must be the same in every environment; use one value, or import two jobs"


def _namespaces(variants: Mapping[EnvironmentName, ForeignJob]) -> dict[EnvironmentName, dict[str, str]]:
    """Return the namespace settings of the environments and of the job itself, which has the key None.

    Example: {None: {"namespace": "ml"}, "prod": {"namespace": "ml-prod"}}. An environment without a namespace, or with
    the namespace of the job itself, has no such setting.
    """
    namespaces = {env: variant.namespace for env, variant in variants.items()}
    is_shared = len(set(namespaces.values())) == 1
    common = namespaces.get(None) or (next(iter(namespaces.values())) if is_shared else None)
    settings = {env: {"namespace": name} for env, name in namespaces.items() if name and name != common}
    return settings | {None: {"namespace": common}} if common else settings


# -- keys --------------------------------------------------------------------------------------------------------


def key_of(target: Path, data: Mapping[str, Any], environment: EnvironmentName = None) -> Path:
    """Return the key of job.yaml that has the value of a noted path, after the fields moved.

    For example, the key of `spec.roles.ps.image` is `spec.image` if all roles have the same image.

    Args:
        target: the path that a reader noted.
        data: the data of job.yaml.
        environment: the environment of the variant that the reader read.
    """
    candidates = [target]
    if target[:2] == ROLES and len(target) > 2:
        role, fields = target[2], target[3:]
        candidates = [target, ("spec", *fields)]
        if fields == ("replicas",) and role in ("chief", "evaluator"):
            candidates = [(*ROLES, role)]
        elif fields[:1] == ("storage",):
            candidates = [("spec", "storage", name, *fields[2:]) for name in (f"{fields[1]}-{role}", str(fields[1]))]
        elif fields[:1] == ("security",):
            in_pods = [(*place, *_IN_POD[fields[1]]) for place in ((*ROLES, role), ("spec",))]
            candidates = [*(path for path in in_pods if has_key(data, path)), ("spec", *fields)]
    for path in candidates:
        if environment and has_key(data, (*ENVIRONMENTS, environment, *path[1:])):
            return (*ENVIRONMENTS, environment, *path[1:])
        if has_key(data, path):
            return path
    return candidates[0]


def has_key(data: Mapping[str, Any], key: Path) -> bool:
    """Return whether job.yaml has a key. The key may contain list indexes."""
    try:
        follow(data, key)
    except (LookupError, TypeError):
        return False
    return True


def value_of(key: Path, data: Mapping[str, Any]) -> Any:
    """Return the value at a key of job.yaml, or the default of the key."""
    if has_key(data, key):
        return follow(data, key)
    plain = ("spec", *key[3:]) if key[:2] == ENVIRONMENTS else key
    if plain == ("spec", "completion", "by"):
        return default_end(data["spec"]["strategy"])
    return (schema_file.node(schema_file.load(), plain) or {}).get("default")


def refuse_at(path: Path, variant: ForeignJob, data: Mapping[str, Any], message: str) -> None:
    """Add a problem about the value at a path of the job.

    The problem has the position of the part of the source that sets the value, or of the foreign job.
    """
    file, position = source_of(path, variant, data) or (variant.root.file, variant.root.key)
    if len(variant.notes.problems) < MAX_PROBLEMS:
        variant.notes.problems.append(Problem(file, position, message, REFUSED))


def source_of(
    path: Path, variant: ForeignJob, data: Mapping[str, Any], environment: EnvironmentName = None
) -> tuple[str, Position] | None:
    """Return the file and the position of the part of the source that sets the value at a path of the job."""
    places: dict[Path, tuple[str, Position]] = {}
    for place, targets in variant.notes.targets.items():
        for target in targets:
            places.setdefault(key_of(target, data, environment), (place.file, place.key))
    return next((places[path[:n]] for n in range(len(path), 0, -1) if path[:n] in places), None)


# -- text --------------------------------------------------------------------------------------------------------

_WIDTH: Final = 100
"""Maximum length of a line with a list or a mapping in flow style, such as `{cpu: 4}`."""
_BLOCKS: Final = ("spec", "roles", "env", "storage", "podTemplate", "containers", "environments")
"""Keys whose mapping or list has one line for each entry, down to the nesting level `_DEEPEST_BLOCK`."""
_DEEPEST_BLOCK: Final = 6
_SPACED: Final = ("image", "roles", "env", "storage", "gang", "environments", "workload", "completion", "security")
"""Keys of spec that have an empty line above them."""


def job_text(data: Mapping[str, Any], head: Sequence[str], comments: Mapping[Path, str]) -> str:
    """Return the YAML text of a document.

    Args:
        data: the document.
        head: the lines of the comment at the top.
        comments: the comments above keys, by the path of the key. Example: {("spec", "strategy"): "a single task"}.
    """
    return "".join(f"{line}\n" for line in (*(f"# {line}" for line in head), *_block(data, (), comments)))


def _block(value: Any, path: Path, comments: Mapping[Path, str]) -> Iterator[str]:
    """Yield the lines of a mapping or a list that has one line for each entry."""
    for number, (step, child) in enumerate(value.items() if isinstance(value, Mapping) else enumerate(value)):
        child_path = (*path, step)
        if isinstance(child, (Mapping, list)) and not _is_flow(child, child_path, comments):
            text, below = "", list(_block(child, child_path, comments))
        elif isinstance(child, str) and (literal := block_lines(child)):
            text, *below = literal
        else:
            text, below = in_line(child, is_flow=False), []
        if isinstance(value, list):
            text, below = (text, below) if text else (below[0], below[1:])
            yield f"- {text}"
        else:
            if number and path == ("spec",) and step in _SPACED:
                yield ""
            if comment := comments.get(child_path):
                yield f"# {comment}"
            yield f"{scalar(step)}: {text}".rstrip()
        indent = "" if isinstance(value, Mapping) and isinstance(child, list) else "  "
        yield from (f"{indent}{line}" if line else "" for line in below)


def _is_flow(value: Any, path: Path, comments: Mapping[Path, str]) -> bool:
    """Return whether a collection is short enough for one line in flow style."""
    if not value:
        return True
    if len(path) <= 1 or (path[-1] in _BLOCKS and len(path) <= _DEEPEST_BLOCK):
        return False
    if any(commented[: len(path)] == path and len(commented) > len(path) for commented in comments):
        return False
    width = 2 * len(path) + len(str(path[-1])) + len(in_line(value)) + 2 * _depth(value)
    is_short = _depth(value) <= 2 and width <= _WIDTH
    return is_short and not any("\n" in text for _, text in texts(value)) and not _has_bare_pair(value)


def _has_bare_pair(value: Any) -> bool:
    """Return whether a value contains a list such as `[{name: hub}]`, to which a user often adds items."""
    if isinstance(value, list):
        return any(isinstance(item, Mapping) and len(item) == 1 for item in value)
    return isinstance(value, Mapping) and any(_has_bare_pair(item) for item in value.values())


def _depth(value: Any) -> int:
    children = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else None
    return 0 if children is None else 1 + max((_depth(child) for child in children), default=0)
