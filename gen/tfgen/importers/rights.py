"""Security settings of the imported pods: the user, and write access to the root file system.

By default, the pods of tfgen run as user 1000 with a read-only root file system. Foreign pods without a user run as the
user of their image, which is often root. To keep this behavior, the imported job sets the user to null.
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
_COMMENT: Final = "As before the import, the pods run as the user of their image, with a writable root file system."


def add_rights(spec: dict[str, Any], job: ForeignJob, report: ImportReport) -> None:
    """Set the user of the pods in a spec, and the write access to the root file system.

    Args:
        spec: the spec, which this function changes.
        job: the foreign job.
        report: the import report. This function updates the targets of the entries.
    """
    security = {name: role.pod.security for name, role in job.roles.items()}
    rights: dict[str, Any] = {}
    for key in _IDENTITY:
        values = [fields.get(key) for fields in security.values()]
        is_shared = values[0] is not None and values.count(values[0]) == len(values)
        for name, fields in security.items():
            if not is_shared:
                spec["roles"][name] = with_value(spec["roles"][name], (*_CONTEXT, key), fields.get(key))
            target = ("spec", "security") if is_shared else (*ROLES, name, *_CONTEXT)
            report.move_targets({(*ROLES, name, "security", key): (*target, key)})
        rights |= {key: values[0]} if is_shared else {}
    read_only = {name: fields.get(_READ_ONLY, False) for name, fields in security.items()}
    # spec.security is for all containers, so a writable sidecar makes the whole job writable.
    rights[_READ_ONLY] = all(read_only.values()) and not any(map(_has_writable_sidecar, spec["roles"].values()))
    for name, is_read_only in read_only.items():
        if is_read_only and not rights[_READ_ONLY]:
            spec["roles"][name] = _with_read_only_files(spec["roles"][name])
        report.move_targets({(*ROLES, name, "security", _READ_ONLY): ("spec", "security", _READ_ONLY)})
    if any("runAsUser" not in fields and name not in _non_root(spec) for name, fields in security.items()):
        rights = {"profile": "baseline", **rights}
    spec["security"] = {**rights, **spec.get("security", {})}


def _non_root(spec: Mapping[str, Any]) -> list[str]:
    """Return the roles whose pods set runAsNonRoot. In such pods, Kubernetes refuses an image that runs as root."""
    return [name for name, role in spec["roles"].items() if at(role, (*_CONTEXT, "runAsNonRoot"))]


def _has_writable_sidecar(role: Mapping[str, Any]) -> bool:
    """Return whether a sidecar or an init container has a writable root file system."""
    containers = (*role.get("initContainers", ()), *role.get("sidecars", ()))
    return not all(at(container, ("securityContext", _READ_ONLY)) for container in containers)


def _with_read_only_files(role: Mapping[str, Any]) -> Any:
    path = ("podTemplate", "spec", "containers")
    (main,) = at(role, path) or ({"name": CONTAINER},)
    return with_value(role, path, [with_value(main, ("securityContext", _READ_ONLY), True)])


def comments(data: Mapping[str, Any]) -> dict[Path, str]:
    """Return comments for job.yaml about the user and the write access of the pods.

    Example: {("spec", "security"): "..."} contains the comment above the field `security`.
    """
    context = at(data, ("spec", *_CONTEXT)) or {}
    is_image_user = "runAsUser" in context and context["runAsUser"] is None
    return {("spec", "security"): _COMMENT} if is_image_user and not at(data, ("spec", "security", _READ_ONLY)) else {}
