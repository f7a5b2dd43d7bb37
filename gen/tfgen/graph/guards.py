"""The guards of a job, which check the values of the chart. values.schema.json cannot express these checks.

The chart contains each guard as a call of Helm's function ``fail``, so Helm reports wrong values during the
installation. The package `rules` evaluates the same guard for all variants of a job, and reports the line of a wrong
value in the job file. A rule that needs more than the guard, such as a podTemplate, uses the same message.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Final, get_args

from tfgen.fix import assignment, removal
from tfgen.graph import cluster, naming, storage, supporting
from tfgen.graph import holes as h
from tfgen.graph.holes import Expression, Node, sentence
from tfgen.graph.naming import ROLE_ENTRIES, ROLE_NAME, finisher_name_guard, role_entry_value, value
from tfgen.graph.schedulers import IS_BETA, group_priority, is_partial, may_be_partial, member_count
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.facts import UNNAMED
from tfgen.job.training_job import MAX_STRUCTURES, Scheduler, Structure
from tfgen.kubernetes.object import STRING_MAX
from tfgen.schema import kinds
from tfgen.schema.kinds import GANG_FIELDS, GangField
from tfgen.words import either

# The resource name of GPUs before Kubernetes 1.10. Since then, device plugins define the resource naming.
LEGACY_GPU: Final = "alpha.kubernetes.io/nvidia-gpu"


@functools.lru_cache(MAX_STRUCTURES)
def guards(structure: Structure) -> tuple[h.Guard, ...]:
    """Return the guards of a job, in the order in which the chart checks the values."""
    workload = WORKLOADS[structure.kind]
    return (
        _SERVICE_NAME,
        *workload.guards(structure),
        *([finisher_name_guard()] if workload.plan(structure) and not structure.is_distributed else []),
        *([_cluster_size(structure, workload.pod_name)] if workload.has_config_map(structure) else []),
        *(_queue_guards(structure.gang) if structure.gang and structure.gang in _QUEUES else ()),
        *(_kueue_guards(structure) if structure.gang == "kueue" else ()),
        *([_min_available(structure)] if may_be_partial(structure) else []),
        *([_equal_priority(structure)] if structure.gang == "kubernetes" else []),
        *_network_topology(structure),
        *(_RUN_FOLDERS if _supports(structure, "resumeFrom") else ()),
        _IMAGE,
        *([supporting.default_account_guard()] if structure.service_account else []),
        *([_node_name(structure)] if structure.gang else []),
        *_mount_path_guards(structure),
        *(_RESOURCES if _supports(structure, "roles.worker.resources.limits") else ()),
        _SUB_PATH,
        _EGRESS,
        *([_SPOT_PRICE] if structure.eci else []),
        *(_tensorboard_guards() if structure.tensorboard_port else ()),
        *([_ROOT_USER] if structure.profile == "restricted" else []),
    )


@functools.lru_cache(MAX_STRUCTURES)
def file_guards(structure: Structure) -> tuple[h.Guard, ...]:
    """Return the guards for fields that exist only in a job file, and not in the values of the chart."""
    scheduler = structure.gang
    if scheduler is None:
        return ()
    unsupported: list[GangField] = sorted({*get_args(GangField)} - GANG_FIELDS[scheduler])
    return (
        *([] if may_be_partial(structure) else [_min_available(structure)]),
        *([_all_workers(structure)] if structure.has_equal_workers else []),
        *(
            h.Guard(
                "gang-field",
                at=f"gang.{field}",
                when=value(f"gang.{field}"),
                say=f"{scheduler} does not support gang.{field}, which is a key for "
                f"{either([name for name, fields in GANG_FIELDS.items() if field in fields])}; remove the key",
                fixes=(removal(("gang", *field.split("."))),),
            )
            for field in unsupported
        ),
    )


def _supports(structure: Structure, path: str) -> bool:
    """Return whether the workload kind of a job supports the field of ``spec`` at `path`, such as `resumeFrom`."""
    return not kinds.lacking({"workload": {"kind": structure.kind}}, path.split("."))


# -- names and tasks -----------------------------------------------------------------------------------------------

_SERVICE_NAME: Final = h.Guard(
    "service-name",
    at="run",
    when=h.Not(h.Matches(naming.RUN, "^[a-z]([-a-z0-9]*[a-z0-9])?$")),
    say="the run's Service would be named {}, which is not a DNS label: use lower-case letters, digits and -, and "
    "start with a letter; choose another release name or fullnameOverride",
    about=(naming.RUN,),
)

_IMAGE: Final = h.Guard(
    "no-image",
    at=("roles", ROLE_NAME),
    over=(ROLE_ENTRIES,),
    when=h.Not(h.Override(role_entry_value("image", "string"), value("image"))),
    say="role {} has no image: set image for the job, or roles.{}.image",
    about=(ROLE_NAME, ROLE_NAME),
)


def _cluster_size(structure: Structure, pod: naming.PodName) -> h.Guard:
    if structure.uses_keras_distribution:
        variable, size = cluster.JOB_ADDRESSES, cluster.keras_addresses_size(structure, pod)
    else:
        variable, size = "TF_CONFIG", cluster.longest_tf_config_size(structure, pod)
    return h.Guard(
        "tf-config-size",
        at="roles.worker.replicas" if structure.role("worker") else "roles",
        when=h.Greater(size, STRING_MAX),
        say=f"{variable} would have {{}} bytes, but an environment variable may have at most {STRING_MAX}; "
        "reduce the number of tasks, or shorten the names",
        about=(size,),
    )


# -- gang ----------------------------------------------------------------------------------------------------------

_ENABLED: Final = value("gang.enabled")
_MIN_AVAILABLE: Final = value("gang.minAvailable")


_QUEUES: Final[Mapping[Scheduler, tuple[str, str, str]]] = {
    "kai": ("KAI", "KAI starts no gang", "a Queue of the cluster"),
    "kueue": ("Kueue", "Kueue ignores a job", "a LocalQueue of the namespace"),
}
"""The schedulers that need a queue: the name, the fate of a gang without a queue, and the kind of the queue."""


def _queue_guards(scheduler: Scheduler) -> Iterator[h.Guard]:
    name, fate, queue = _QUEUES[scheduler]
    yield h.Guard(
        "gang-queue",
        at="gang.queue",
        when=h.AllOf((_ENABLED, h.Not(value("gang.queue")))),
        say=f"gang.queue is empty, but {fate} without a queue; set gang.queue to {queue}",
    )
    # KAI gets the priority class in the PodGroup.
    for path in ("gang.queue", *(("gang.priorityClassName",) if scheduler == "kueue" else ())):
        length = h.Length(value(path))
        yield h.Guard(
            "gang-label",
            at=path,
            when=h.AllOf((_ENABLED, h.Greater(length, naming.LABEL_VALUE_MAX))),
            say=f"{path} has {{}} characters, but the label that passes the name to {name} may have at most "
            f"{naming.LABEL_VALUE_MAX}; choose a shorter name",
            about=(length,),
        )


def _kueue_guards(structure: Structure) -> Iterator[h.Guard]:
    yield h.Guard(
        "gang-topology",
        at="gang.preferredTopology",
        when=h.AllOf((_ENABLED, value("gang.requiredTopology"), value("gang.preferredTopology"))),
        say="gang has both a requiredTopology and a preferredTopology, but Kueue accepts only one; "
        "remove one of the two",
    )
    if WORKLOADS[structure.kind].plan(structure):
        deadline = value("startDeadline")
        yield h.Guard(
            "gang-start-deadline",
            at="startDeadline",
            when=h.AllOf((_ENABLED, deadline)),
            say="startDeadline is {}, but Kueue starts a job whenever it admits the job, so no deadline applies; "
            "remove startDeadline",
            about=(deadline,),
            fixes=(removal(("startDeadline",), "startDeadline"),),
        )


def _network_topology(structure: Structure) -> Iterator[h.Guard]:
    if structure.kind == "VolcanoJob":
        path, is_used = "workload.volcanoJob.networkTopology", value("workload.volcanoJob.networkTopology.mode")
    elif structure.gang == "volcano" and WORKLOADS[structure.kind].has_pod_group(structure):
        path, is_used = "gang.networkTopology", _ENABLED
    else:
        return
    tier, tier_name = (value(f"{path}.{key}") for key in ("highestTierAllowed", "highestTierName"))
    yield h.Guard(
        "gang-network-topology",
        at=path,
        when=h.AllOf((is_used, tier, tier_name)),
        say=f"{path} has both a highestTierAllowed and a highestTierName, but Volcano accepts only one; "
        "remove one of the two",
    )


def _min_available(structure: Structure) -> h.Guard:
    task_count = member_count(structure)
    return h.Guard(
        "gang-min-available",
        at="gang.minAvailable",
        when=h.AllOf((_ENABLED, h.Greater(_MIN_AVAILABLE, task_count))),
        say="gang.minAvailable is {}, but the gang has only {} tasks and would never start; "
        "set a smaller number, or 0 for all tasks",
        about=(_MIN_AVAILABLE, task_count),
    )


def _all_workers(structure: Structure) -> h.Guard:
    return h.Guard(
        "gang-all-workers",
        at="gang.minAvailable",
        when=h.AllOf((_ENABLED, is_partial(structure))),
        say=f"gang.minAvailable is {{}}, but {structure.strategy} needs all {{}} workers: the first workers would "
        "occupy their GPUs and wait for the last worker; write 0, which means all workers",
        about=(_MIN_AVAILABLE, member_count(structure)),
        fixes=(assignment(("gang", "minAvailable"), 0, "write 0"),),
    )


def _in_gang(structure: Structure) -> tuple[Expression, ...]:
    """Return the tests that are true for a role of the gang, in a guard that checks each role."""
    return (_ENABLED, h.Not(h.Equal(ROLE_NAME, "evaluator"))) if structure.role("evaluator") else (_ENABLED,)


def _equal_priority(structure: Structure) -> h.Guard:
    of_group = group_priority(structure)
    of_role = h.Override(role_entry_value("priorityClassName", "string"), value("priorityClassName"))
    return h.Guard(
        "gang-equal-priority",
        at=("roles", ROLE_NAME, "priorityClassName"),
        over=(ROLE_ENTRIES,),
        when=h.AllOf((IS_BETA, *_in_gang(structure), h.Not(h.Equal(of_role, of_group)))),
        say='role {} has the priorityClassName "{}", but the PodGroup has "{}", and the scheduler of Kubernetes 1.37 '
        "starts no pod whose priority differs; set one priorityClassName for the job, and none for roles and gang",
        about=(ROLE_NAME, of_role, of_group),
    )


def _node_name(structure: Structure) -> h.Guard:
    node = role_entry_value("nodeName", "string")
    return h.Guard(
        "node-name-and-gang",
        at=("roles", ROLE_NAME, "nodeName"),
        over=(ROLE_ENTRIES,),
        when=h.AllOf((*_in_gang(structure), node)),
        say="roles.{}.nodeName is {}, which bypasses the scheduler of the gang; "
        "select the node by kubernetes.io/hostname in nodeSelector, or disable the gang",
        about=(ROLE_NAME, node),
    )


# -- volumes -------------------------------------------------------------------------------------------------------

_NAME: Final = h.Bound("name")
_SECOND_NAME: Final = h.Bound("other")
_VOLUMES: Final = h.CheckedMap(value("storage"), "name", "storage")
_SECOND_VOLUMES: Final = h.CheckedMap(value("storage"), "other", "second")
_MOUNT_PATH: Final = h.Clean(h.Bound("storage", "string", "mountPath"))
_SEPARATE: Final = h.Bound("separate", "map")
_SEPARATE_VOLUMES: Final = ((_SEPARATE.name, h.Filtered(value("storage"), storage.SEPARATE, item="storage")),)

# `run` and `resumeFrom` name the folders of runs in a volume.
_RUN_FOLDERS: Final = (
    h.Guard(
        "resume-from",
        at="resumeFrom",
        let=_SEPARATE_VOLUMES,
        when=h.AllOf((value("resumeFrom"), h.Not(_SEPARATE))),
        say="resumeFrom names the folder of a run, but no volume has a folder for each run; "
        "set runs: Separate in storage",
    ),
    h.Guard(
        "run-folder",
        at="run",
        let=_SEPARATE_VOLUMES,
        when=h.AllOf((h.Equal(value("run"), UNNAMED), _SEPARATE)),
        say=f"run {UNNAMED} would use the folder of the run without a name; choose another name, "
        f"and set resumeFrom to {UNNAMED} to continue in the folder",
    ),
)

_SUB_PATH: Final = h.Guard(
    "sub-path-twice",
    at=("storage", _NAME, "subPathExpr"),
    over=(_VOLUMES,),
    when=h.AllOf((h.Bound("storage", "string", "subPath"), h.Bound("storage", "string", "subPathExpr"))),
    say="storage.{} has both subPath and subPathExpr; remove one of the two",
    about=(_NAME,),
)


def _mount_path_guards(structure: Structure) -> Iterator[h.Guard]:
    """Yield the guards that reject a volume at a path that tfgen uses, or two volumes at the same path, in a role."""
    at, volume = ("storage", _NAME, "mountPath"), sentence("storage.{}", _NAME)
    shm = h.Override(role_entry_value("shm", "quantity"), value("shm"))
    reserved: list[tuple[Node, str, tuple[Expression, ...]]] = [
        ("/tmp", "the temporary folder of every pod", ()),  # noqa: S108 - a path in the pod
        *([("/dev/shm", "shm", (shm,))] if _supports(structure, "shm") else []),  # noqa: S108 - a path in the pod
        *([(h.Clean(value("code.mountPath")), "code", ())] if structure.code else []),
    ]
    for path, current_use, conditions in reserved:
        yield h.Guard(
            "duplicate-mount-path",
            at=at,
            over=(ROLE_ENTRIES, _VOLUMES),
            when=h.AllOf((*conditions, _mounts("storage"), h.Equal(_MOUNT_PATH, path))),
            say=duplicate_mount_message(volume, path, current_use),
        )
    second_path = h.Clean(h.Bound("second", "string", "mountPath"))
    yield h.Guard(
        "duplicate-mount-path",
        at=at,
        over=(ROLE_ENTRIES, _VOLUMES, _SECOND_VOLUMES),
        when=h.AllOf(
            (
                h.Not(h.Equal(_NAME, _SECOND_NAME)),
                _mounts("storage"),
                _mounts("second"),
                h.Equal(_MOUNT_PATH, second_path),
            )
        ),
        say=duplicate_mount_message(volume, _MOUNT_PATH, sentence("storage.{}", _SECOND_NAME)),
    )


def _mounts(volume: str) -> Expression:
    """Return a test that is true if the current role mounts a volume. Without the key `for`, all roles mount a volume.

    `volume` is the name of the volume in the guard: "storage", or "second" in a guard that compares two volumes.
    """
    roles = h.Bound(volume, "list", "for")
    return h.AnyOf((h.Not(roles), h.HasItem(roles, ROLE_NAME)))


def duplicate_mount_message(name: Node, path: Node, current_use: Node) -> h.Text:
    """Return the message that the volume `name` has a mount path that is already in use.

    `path` is the mount path. `current_use` is the name of another volume with this path, or a phrase such as
    `the temporary folder of every pod`.
    """
    return sentence("{} is mounted at {}, and so is {}; choose another mountPath", name, path, current_use)


# -- resources -----------------------------------------------------------------------------------------------------

# Resources that are counted in GPUs, or in shares that a program sees as a GPU. No node has more than 1,024 GPUs.
_COUNTED: Final = "/(gpu|mig-.*|vgpu-number)$"
_NUMBER_OF_GPUS: Final = "^[+]?0*([0-9]{1,3}|10[01][0-9]|102[0-4])$"

_GPU_COUNT: Final = role_entry_value("resources.gpu.count", "integer")
_GPU_RESOURCE: Final = role_entry_value("resources.gpu.resource", "string")
_LIMIT: Final = h.Bound("limit", "quantity")
_LIMITS: Final = role_entry_value("resources.limits", "map")
_REQUESTS: Final = role_entry_value("resources.requests", "map")
_SHARE: Final = role_entry_value("resources.gpu.share", "map")
_FIELD: Final = h.Bound("field")


def legacy_gpu_message(role: Node) -> h.Text:
    """Return the message about a role that requests GPUs by the resource name of old Kubernetes versions."""
    return sentence(
        f"role {{}} requests {LEGACY_GPU}, which no node has since Kubernetes 1.10, so the role would never start; "
        "set gpu.count, which requests nvidia.com/gpu",
        role,
    )


_RESOURCES: Final = (
    h.Guard(
        "gpu-count",
        at=("roles", ROLE_NAME, "resources", "limits", _NAME),
        over=(ROLE_ENTRIES, h.CheckedMap(_LIMITS, "name", "limit")),
        when=h.AllOf(
            (_GPU_COUNT, h.Equal(_NAME, _GPU_RESOURCE), h.Not(h.Equal(h.Text((_LIMIT,)), h.Text((_GPU_COUNT,)))))
        ),
        say="role {} has gpu.count {} and the limit {} of {}, which overrides gpu.count; "
        "set the number only in gpu.count",
        about=(ROLE_NAME, _GPU_COUNT, _LIMIT, _NAME),
    ),
    h.Guard(
        "gpu-count",
        at=("roles", ROLE_NAME, "resources", h.When(h.Equal(_FIELD, "share"), "gpu"), _FIELD, _NAME),
        over=(
            ROLE_ENTRIES,
            h.CheckedMap(h.Dict("limits", _LIMITS, "requests", _REQUESTS, "share", _SHARE), "field", "amounts"),
            h.CheckedMap(h.Bound("amounts", "map"), "name", "limit"),
        ),
        when=h.AllOf((h.Matches(_NAME, _COUNTED), h.Not(h.Matches(h.Text((_LIMIT,)), _NUMBER_OF_GPUS)))),
        say="role {} requests {} of {}, which is not a GPU count up to 1024; write the number in digits",
        about=(ROLE_NAME, _LIMIT, _NAME),
    ),
    h.Guard(
        "legacy-gpu",
        at=("roles", ROLE_NAME, "resources"),
        over=(ROLE_ENTRIES,),
        when=h.AnyOf(
            (
                h.Equal(_GPU_RESOURCE, LEGACY_GPU),
                *(h.HasKey(amounts, LEGACY_GPU) for amounts in (_LIMITS, _REQUESTS, _SHARE)),
            )
        ),
        say=legacy_gpu_message(ROLE_NAME),
    ),
)


# -- network, cloud, TensorBoard and security ------------------------------------------------------------------------

_EGRESS: Final = h.Guard(
    "egress-unlimited",
    at="network.policy",
    when=h.AllOf((value("network.egress.limited"), h.Equal(value("network.policy"), "Off"))),
    say="network.policy is Off, so no policy limits egress; set network.policy to Isolated, "
    "or network.egress.limited to false",
    fixes=(
        assignment(("network", "policy"), "Isolated", "set network.policy to Isolated"),
        assignment(("network", "egress", "limited"), False, "set network.egress.limited to false"),
    ),
)

_SPOT: Final = "cloud.eci.spot"
_SPOT_PRICE: Final = h.Guard(
    "eci-spot-price",
    at=f"{_SPOT}.strategy",
    when=h.AllOf(
        (
            value("cloud.eci.enabled"),
            h.Equal(value(f"{_SPOT}.strategy"), "SpotWithPriceLimit"),
            h.Not(value(f"{_SPOT}.priceLimit")),
        )
    ),
    say=f"{_SPOT}.strategy is SpotWithPriceLimit, but {_SPOT}.priceLimit is empty; "
    "set the maximum price per hour, or the strategy SpotAsPriceGo",
)


def _tensorboard_guards() -> Iterator[h.Guard]:
    name, enabled = naming.TENSORBOARD, value("tensorboard.enabled")
    yield h.Guard(
        "tensorboard-name",
        at="tensorboard",
        when=h.AllOf((enabled, h.Greater(h.Length(name), naming.SERVICE_NAME_MAX))),
        say="TensorBoard's Service would be named {}, which has {} characters, but a DNS label may have at most "
        f"{naming.SERVICE_NAME_MAX}; shorten the name of the job or of the release",
        about=(name, h.Length(name)),
    )
    yield h.Guard(
        "tensorboard-name",
        at="run",
        when=h.AllOf((enabled, h.Equal(value("run"), "tensorboard"))),
        say="the run tensorboard would have the object names of TensorBoard; choose another run name",
    )
    yield h.Guard(
        "no-image",
        at="tensorboard",
        when=h.AllOf((enabled, h.Not(h.Default(value("tensorboard.image"), value("image"))))),
        say="TensorBoard has no image: set image for the job, or tensorboard.image",
    )


_ROOT_USER: Final = h.Guard(
    "root-user",
    at="security.runAsUser",
    when=h.Not(value("security.runAsUser")),
    say="security.runAsUser is 0, which the Pod Security Standard restricted forbids; "
    "set another user, or security.profile baseline in job.yaml",
)
