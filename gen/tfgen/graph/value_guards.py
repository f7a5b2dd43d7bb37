"""Guards that check, in a chart, the volumes and the amounts of resources that a user of the chart may add.

The rules for job files use the same messages, for example `duplicate_mount_message`.
"""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import (
    AllOf,
    AnyOf,
    Bound,
    CheckedMap,
    Clean,
    Equal,
    Expression,
    Filtered,
    Guard,
    HasItem,
    HasKey,
    Matches,
    Node,
    Not,
    Override,
    Text,
)
from tfgen.graph.objects import storage
from tfgen.graph.objects.values import ROLE_ENTRIES, ROLE_NAME, role_entry_value, value
from tfgen.job.run_names import UNNAMED
from tfgen.job.training_job import Profile, Structure
from tfgen.kubernetes.volume_profiles import strictest_profile
from tfgen.schema import workload_kinds as kinds

# The resource name of GPUs before Kubernetes 1.10. Since then, device plugins define the resource names.
LEGACY_GPU: Final = "alpha.kubernetes.io/nvidia-gpu"

_AMOUNTS: Final = ("limits", "requests", "gpu.share")
"""The keys in `resources` whose maps contain amounts of resources."""

# Resources that are counted in GPUs, or in shares that a program sees as a GPU. No node has more than 1,024 GPUs.
_COUNTED: Final = "/(gpu|mig-.*|vgpu-number)$"
_NUMBER_OF_GPUS: Final = "^[+]?0*([0-9]{1,3}|10[01][0-9]|102[0-4])$"

_NAME: Final = Bound("name")
_SECOND_NAME: Final = Bound("other")
_VOLUMES: Final = CheckedMap(value("storage"), "name", "storage")
_SECOND_VOLUMES: Final = CheckedMap(value("storage"), "other", "second")


def volume_and_resource_guards(structure: Structure) -> list[Guard]:
    """Return the guards that check the volumes and the resources of a job."""
    return [
        *_mount_path_guards(structure),
        *(_resource_guards() if supports_field(structure, "roles.worker.resources.limits") else []),
        _sub_path_guard(),
    ]


def supports_field(structure: Structure, path: str) -> bool:
    """Return whether the workload kind of a job supports the field of ``spec`` at `path`, such as `resumeFrom`."""
    return not kinds.lacking({"workload": {"kind": structure.kind}}, path.split("."))


# -- volumes -----------------------------------------------------------------------------------------------------


def run_folder_guards() -> tuple[Guard, ...]:
    """Return the guards that check `run` and `resumeFrom`, which name the folders of runs in a volume.

    `resumeFrom` needs a volume with a folder for each run. The name of a run must differ from the folder name that a
    run without a name uses.
    """
    separate = Bound("separate", "map")
    resume_guard = Guard(
        rule="resume-from",
        path="resumeFrom",
        let=((separate.name, Filtered(value("storage"), storage.SEPARATE, item="storage")),),
        test=AllOf((value("resumeFrom"), Not(separate))),
        message=Text(
            (
                "resumeFrom names the folder of a run, but no volume has a folder for each run; "
                "set runs: Separate in storage",
            )
        ),
    )
    name_guard = Guard(
        rule="run-folder",
        path="run",
        let=resume_guard.let,
        test=AllOf((Equal(value("run"), UNNAMED), separate)),
        message=Text(
            (
                f"run {UNNAMED} would use the folder of the run without a name; choose another name, "
                f"and set resumeFrom to {UNNAMED} to continue in the folder",
            )
        ),
    )
    return resume_guard, name_guard


def refused_volume_message(name: Node, source: str, profile: Profile) -> Text:
    """Return the message that the security profile `profile` forbids the source of a volume, such as `hostPath`.

    `name` is the name of the volume.
    """
    replacement = "an emptyDir or a claim" if source == "hostPath" else "a claim or a CSI volume"
    minimum = strictest_profile(source)
    return Text(
        (
            name,
            f": security.profile {profile} forbids {source} volumes, which need at least {minimum}; "
            f"use {replacement}, or set security.profile to {minimum}",
        )
    )


def _sub_path_guard() -> Guard:
    """Return the guard that rejects a volume with `subPath` and `subPathExpr`. Kubernetes rejects a mount with both."""
    sub_path, sub_path_expression = (Bound("storage", "string", field) for field in ("subPath", "subPathExpr"))
    return Guard(
        rule="sub-path-twice",
        path=("storage", _NAME, "subPathExpr"),
        over=(_VOLUMES,),
        test=AllOf((sub_path, sub_path_expression)),
        message=Text(("storage.", _NAME, " has both subPath and subPathExpr; remove one of the two")),
    )


def _mount_path_guards(structure: Structure) -> list[Guard]:
    """Return the guards that reject two volumes with the same mount path in the pods of a role."""
    first_path, second_path = Bound("storage", "string", "mountPath"), Bound("second", "string", "mountPath")
    shm = Override(role_entry_value("shm", "quantity"), value("shm"))
    reserved: list[tuple[Node, str, tuple[Expression, ...]]] = [
        ("/tmp", "the temporary folder of every pod", ()),  # noqa: S108 - a path in the pod
        *([("/dev/shm", "shm", (shm,))] if supports_field(structure, "shm") else []),  # noqa: S108 - a path in the pod
        *([(Clean(value("code.mountPath")), "code", ())] if structure.code else []),
    ]
    volumes_guard = Guard(
        rule="duplicate-mount-path",
        path=("storage", _NAME, "mountPath"),
        over=(ROLE_ENTRIES, _VOLUMES, _SECOND_VOLUMES),
        test=AllOf(
            (
                Not(Equal(_NAME, _SECOND_NAME)),
                _mounts("storage"),
                _mounts("second"),
                Equal(Clean(first_path), Clean(second_path)),
            )
        ),
        message=duplicate_mount_message(Text(("storage.", _NAME)), Clean(first_path), Text(("storage.", _SECOND_NAME))),
    )
    return [*(_reserved_path_guard(first_path, *path) for path in reserved), volumes_guard]


def _reserved_path_guard(mount_path: Expression, path: Node, current_use: str, tests: tuple[Expression, ...]) -> Guard:
    """Return the guard that rejects a volume at a path that tfgen uses, such as `/tmp`.

    Args:
        mount_path: the path at which a task mounts the volume.
        path: the path that tfgen uses.
        current_use: the current use of the path, for the message: `the temporary folder of every pod`.
        tests: tfgen uses the path only if all these tests are true. If the tuple is empty, tfgen always uses the path.
    """
    return Guard(
        rule="duplicate-mount-path",
        path=("storage", _NAME, "mountPath"),
        over=(ROLE_ENTRIES, _VOLUMES),
        test=AllOf((*tests, _mounts("storage"), Equal(Clean(mount_path), path))),
        message=duplicate_mount_message(Text(("storage.", _NAME)), path, current_use),
    )


def duplicate_mount_message(name: Node, path: Node, current_use: Node) -> Text:
    """Return the message that the volume `name` has a mount path that is already in use.

    `path` is the mount path. `current_use` is the name of another volume with this path, or a phrase such as
    `the temporary folder of every pod`.
    """
    return Text((name, " is mounted at ", path, ", and so is ", current_use, "; choose another mountPath"))


def _mounts(volume: str) -> Expression:
    """Return a test that is true if the current role mounts a volume. Without the key `for`, all roles mount a volume.

    `volume` is the name of the volume in the guard: "storage", or "second" in a guard that compares two volumes.
    """
    roles = Bound(volume, "list", "for")
    return AnyOf((Not(roles), HasItem(roles, ROLE_NAME)))


# -- resources ---------------------------------------------------------------------------------------------------


def _resource_guards() -> list[Guard]:
    return [_two_counts_guard(), *map(_gpu_number_guard, _AMOUNTS), _legacy_gpu_guard()]


def _two_counts_guard() -> Guard:
    count, resource = (
        role_entry_value("resources.gpu.count", "integer"),
        role_entry_value("resources.gpu.resource", "string"),
    )
    limit = Bound("limit", "quantity")
    return Guard(
        rule="gpu-count",
        path=("roles", ROLE_NAME, "resources", "limits", _NAME),
        over=(ROLE_ENTRIES, CheckedMap(role_entry_value("resources.limits", "map"), "name", "limit")),
        test=AllOf((count, Equal(_NAME, resource), Not(Equal(Text((limit,)), Text((count,)))))),
        message=Text(
            (
                *("role ", ROLE_NAME, " has gpu.count ", count, " and the limit ", limit, " of ", _NAME),
                ", which overrides gpu.count; set the number only in gpu.count",
            )
        ),
    )


def _gpu_number_guard(amounts: str) -> Guard:
    amount = Bound("limit", "quantity")
    return Guard(
        rule="gpu-count",
        path=("roles", ROLE_NAME, "resources", *amounts.split("."), _NAME),
        over=(ROLE_ENTRIES, CheckedMap(role_entry_value(f"resources.{amounts}", "map"), "name", "limit")),
        test=AllOf((Matches(_NAME, _COUNTED), Not(Matches(Text((amount,)), _NUMBER_OF_GPUS)))),
        message=Text(
            (
                *("role ", ROLE_NAME, " requests ", amount, " of ", _NAME),
                ", which is not a GPU count up to 1024; write the number in digits",
            )
        ),
    )


def _legacy_gpu_guard() -> Guard:
    resource = role_entry_value("resources.gpu.resource", "string")
    amounts = [role_entry_value(f"resources.{path}", "map") for path in _AMOUNTS]
    return Guard(
        rule="legacy-gpu",
        path=("roles", ROLE_NAME, "resources"),
        over=(ROLE_ENTRIES,),
        test=AnyOf((Equal(resource, LEGACY_GPU), *(HasKey(amount, LEGACY_GPU) for amount in amounts))),
        message=legacy_gpu_message(ROLE_NAME),
    )


def legacy_gpu_message(role: Node) -> Text:
    """Return the message about a role that requests GPUs by the resource name of old Kubernetes versions."""
    return Text(
        (
            *(
                "role ",
                role,
                f" requests {LEGACY_GPU}, which no node has since Kubernetes 1.10, so the role would never ",
            ),
            "start; set gpu.count, which requests nvidia.com/gpu",
        )
    )
