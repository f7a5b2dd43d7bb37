"""Guards of what a chart's user may add by name: volumes, and resources.

The sentences are functions, for the rules that find the same in what only a job says.
"""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import (
    AllOf,
    AnyOf,
    Bound,
    Clean,
    Default,
    Entries,
    Equal,
    Expression,
    Filtered,
    Guard,
    HasItem,
    HasKey,
    Matches,
    Node,
    Not,
    Text,
)
from tfgen.graph.objects import storage
from tfgen.graph.objects.values import ROLE_ENTRIES, ROLE_NAME, role_entry_value, value
from tfgen.job.run_names import UNNAMED
from tfgen.job.training_job import Profile, Structure
from tfgen.kubernetes.volume_profiles import least_profile
from tfgen.schema import workload_kinds as kinds

# Kubernetes counted GPUs itself under this name, until 1.10 left that to device plugins.
LEGACY_GPU: Final = "alpha.kubernetes.io/nvidia-gpu"

_AMOUNTS: Final = ("limits", "requests", "gpu.share")
"""The maps of amounts in a role's resources."""

# Resources of which one is a GPU, or a part of it that a program sees as one. No node has 1,024 of them.
_COUNTED: Final = "/(gpu|mig-.*|vgpu-number)$"
_NUMBER_OF_GPUS: Final = "^[+]?0*([0-9]{1,3}|10[01][0-9]|102[0-4])$"

_NAME: Final = Bound("name")
_OTHER: Final = Bound("other")
_VOLUMES: Final = Entries(value("storage"), "name", "storage")
_OTHER_VOLUMES: Final = Entries(value("storage"), "other", "second")


def volume_and_resource_guards(structure: Structure) -> list[Guard]:
    """The guards of a job's volumes and resources."""
    return [
        *_mounted_once(structure),
        *(_of_resources() if supports_field(structure, "roles.worker.resources.limits") else []),
        _one_sub_path(),
    ]


def supports_field(structure: Structure, path: str) -> bool:
    """Whether the job's kind has a place for it."""
    return not kinds.lacking({"workload": {"kind": structure.kind}}, path.split("."))


# -- volumes -----------------------------------------------------------------------------------------------------


def run_folder_guards() -> tuple[Guard, ...]:
    """That a run which goes on in another's folder has a volume with such folders, and that no two runs share one."""
    separate = Bound("separate", "map")
    resumed = Guard(
        rule="resume-from",
        path="resumeFrom",
        let=((separate.name, Filtered(value("storage"), storage.SEPARATE, item="storage")),),
        test=AllOf((value("resumeFrom"), Not(separate))),
        message=Text(
            ("resumeFrom names a run's folder, but no volume has one for each run; set runs: Separate in storage",)
        ),
    )
    own = Guard(
        rule="run-folder",
        path="run",
        let=resumed.let,
        test=AllOf((Equal(value("run"), UNNAMED), separate)),
        message=Text(
            (
                f"run {UNNAMED} would have the folder of the run without a name; take another name, "
                f"with resumeFrom {UNNAMED} to go on in that folder",
            )
        ),
    )
    return resumed, own


def refused_volume_message(name: Node, source: str, profile: Profile) -> Text:
    """What is wrong with a volume that the profile refuses."""
    instead = "an emptyDir or a claim" if source == "hostPath" else "a claim, or a CSI volume"
    least = least_profile(source)
    return Text(
        (
            name,
            f": security.profile {profile} refuses {source} volumes, which need at least {least}; "
            f"use {instead}, or a job with security.profile {least}",
        )
    )


def _one_sub_path() -> Guard:
    """That a volume's folder is said in one way: Kubernetes takes a mount with both for a mistake."""
    sub_path, with_variables = (Bound("storage", "string", field) for field in ("subPath", "subPathExpr"))
    return Guard(
        rule="sub-path-twice",
        path=("storage", _NAME, "subPathExpr"),
        over=(_VOLUMES,),
        test=AllOf((sub_path, with_variables)),
        message=Text(("storage.", _NAME, " has both subPath and subPathExpr; remove one of the two")),
    )


def _mounted_once(structure: Structure) -> list[Guard]:
    """That no role has two volumes in one place."""
    here, there = Bound("storage", "string", "mountPath"), Bound("second", "string", "mountPath")
    shm = Default(role_entry_value("shm", "quantity"), value("shm"))
    places: list[tuple[Node, str, tuple[Expression, ...]]] = [
        ("/tmp", "the temporary folder of every pod", ()),  # noqa: S108 - a path in the pod
        *([("/dev/shm", "shm", (shm,))] if supports_field(structure, "shm") else []),  # noqa: S108 - a path in the pod
        *([(Clean(value("code.mountPath")), "code", ())] if structure.code else []),
    ]
    of_two = Guard(
        rule="duplicate-mount-path",
        path=("storage", _NAME, "mountPath"),
        over=(ROLE_ENTRIES, _VOLUMES, _OTHER_VOLUMES),
        test=AllOf(
            (Not(Equal(_NAME, _OTHER)), _mounts("storage"), _mounts("second"), Equal(Clean(here), Clean(there)))
        ),
        message=duplicate_mount_message(Text(("storage.", _NAME)), Clean(here), Text(("storage.", _OTHER))),
    )
    return [*(_mounted_beside(here, *place) for place in places), of_two]


def _mounted_beside(here: Expression, place: Node, taken: str, tests: tuple[Expression, ...]) -> Guard:
    return Guard(
        rule="duplicate-mount-path",
        path=("storage", _NAME, "mountPath"),
        over=(ROLE_ENTRIES, _VOLUMES),
        test=AllOf((*tests, _mounts("storage"), Equal(Clean(here), place))),
        message=duplicate_mount_message(Text(("storage.", _NAME)), place, taken),
    )


def duplicate_mount_message(name: Node, place: Node, taken: Node) -> Text:
    """What is wrong with a volume whose place another has."""
    return Text((name, " is mounted at ", place, ", and so is ", taken, "; choose another mountPath"))


def _mounts(volume: str) -> Expression:
    """Whether the role mounts it: one that names it, or names no role."""
    roles = Bound(volume, "list", "for")
    return AnyOf((Not(roles), HasItem(roles, ROLE_NAME)))


# -- resources ---------------------------------------------------------------------------------------------------


def _of_resources() -> list[Guard]:
    return [_counted_once(), *map(_few_gpus, _AMOUNTS), _no_legacy_gpu()]


def _counted_once() -> Guard:
    count, resource = (
        role_entry_value("resources.gpu.count", "integer"),
        role_entry_value("resources.gpu.resource", "string"),
    )
    limit = Bound("limit", "quantity")
    return Guard(
        rule="gpu-count",
        path=("roles", ROLE_NAME, "resources", "limits", _NAME),
        over=(ROLE_ENTRIES, Entries(role_entry_value("resources.limits", "map"), "name", "limit")),
        test=AllOf((count, Equal(_NAME, resource), Not(Equal(Text((limit,)), Text((count,)))))),
        message=Text(
            (
                *("role ", ROLE_NAME, " has gpu.count ", count, " and a limit of ", limit, " of ", _NAME),
                ", which wins over it; say how many in gpu.count alone",
            )
        ),
    )


def _few_gpus(amounts: str) -> Guard:
    amount = Bound("limit", "quantity")
    return Guard(
        rule="gpu-count",
        path=("roles", ROLE_NAME, "resources", *amounts.split("."), _NAME),
        over=(ROLE_ENTRIES, Entries(role_entry_value(f"resources.{amounts}", "map"), "name", "limit")),
        test=AllOf((Matches(_NAME, _COUNTED), Not(Matches(Text((amount,)), _NUMBER_OF_GPUS)))),
        message=Text(
            (
                *("role ", ROLE_NAME, " asks for ", amount, " of ", _NAME),
                ", which is no number of GPUs up to 1024; write their number in digits",
            )
        ),
    )


def _no_legacy_gpu() -> Guard:
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
    """What is wrong with a role that asks for GPUs by their first name."""
    return Text(
        (
            f"{LEGACY_GPU} has been gone since Kubernetes 1.10: no node has it, and role ",
            role,
            " would never start; say how many in gpu.count alone, which asks for nvidia.com/gpu",
        )
    )
