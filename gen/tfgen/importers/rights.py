"""Whom the pods of a foreign job run as, and whether they may write to their image's files: as before the import.

tfgen's own pods run as user 1000 and cannot write to the image's files. Pods that say no user run as their image's,
which is often root; so an imported job says null, where Kubernetes' pod says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tfgen.data_path import Path, at, with_value
from tfgen.importers.foreign_job import ROLES, ForeignJob
from tfgen.importers.import_report import ImportReport
from tfgen.importers.pod_template import CONTAINER

_IDENTITY: Final = ("runAsUser", "runAsGroup", "fsGroup")
_READ_ONLY: Final = "readOnlyRootFilesystem"
_CONTEXT: Final = ("podTemplate", "spec", "securityContext")
_COMMENT: Final = "As before the import: the pods run as their image's user, who may write to the image's files."


def add_rights(spec: dict[str, Any], job: ForeignJob, report: ImportReport) -> None:
    """Say in a spec, whose roles say all of their own, what a job's pods say of their rights.

    Args:
        spec: changed in place.
        job: the foreign job.
        report: where the targets are that move.
    """
    security = {name: role.pod.security for name, role in job.roles.items()}
    rights: dict[str, Any] = {}
    for key in _IDENTITY:
        values = [own.get(key) for own in security.values()]
        is_one = values[0] is not None and values.count(values[0]) == len(values)
        for name, own in security.items():
            if not is_one:
                spec["roles"][name] = with_value(spec["roles"][name], (*_CONTEXT, key), own.get(key))
            target = ("spec", "security") if is_one else (*ROLES, name, *_CONTEXT)
            report.move_targets({(*ROLES, name, "security", key): (*target, key)})
        rights |= {key: values[0]} if is_one else {}
    read_only = {name: own.get(_READ_ONLY, False) for name, own in security.items()}
    rights[_READ_ONLY] = all(read_only.values()) and not any(map(_has_writable_beside, spec["roles"].values()))
    for name, is_read_only in read_only.items():
        if is_read_only and not rights[_READ_ONLY]:
            spec["roles"][name] = _with_read_only_files(spec["roles"][name])
        report.move_targets({(*ROLES, name, "security", _READ_ONLY): ("spec", "security", _READ_ONLY)})
    if any("runAsUser" not in own and name not in _non_root(spec) for name, own in security.items()):
        rights = {"profile": "baseline", **rights}
    spec["security"] = {**rights, **spec.get("security", {})}


def _non_root(spec: Mapping[str, Any]) -> list[str]:
    """The roles whose pods do not start as root, whatever their image says."""
    return [name for name, role in spec["roles"].items() if at(role, (*_CONTEXT, "runAsNonRoot"))]


def _has_writable_beside(role: Mapping[str, Any]) -> bool:
    """Whether a container beside the program may write to its image's files; what the job says holds for all."""
    beside = (*role.get("initContainers", ()), *role.get("sidecars", ()))
    return not all(at(container, ("securityContext", _READ_ONLY)) for container in beside)


def _with_read_only_files(role: Mapping[str, Any]) -> Any:
    path = ("podTemplate", "spec", "containers")
    (main,) = at(role, path) or ({"name": CONTAINER},)
    return with_value(role, path, [with_value(main, ("securityContext", _READ_ONLY), True)])


def comments(data: Mapping[str, Any]) -> dict[Path, str]:
    """What the document of a job should say of the rights of its pods."""
    context = at(data, ("spec", *_CONTEXT)) or {}
    is_of_image = "runAsUser" in context and context["runAsUser"] is None
    return {("spec", "security"): _COMMENT} if is_of_image and not at(data, ("spec", "security", _READ_ONLY)) else {}
