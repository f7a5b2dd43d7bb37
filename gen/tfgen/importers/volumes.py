"""Converter of the volumes and mounts in a foreign pod template to ``storage`` of job.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.importers.import_report import ImportReport
from tfgen.importers.part import Part
from tfgen.record import Record
from tfgen.schema import file as schema_file

_SHM: Final = "/dev/shm"  # noqa: S108 - a path in the pod
_TMP: Final = "/tmp"  # noqa: S108 - a path in the pod
_RESERVED_NAMES: Final = ("tmp", "shm")
"""Names of volumes that tfgen itself adds to pods. An imported volume with such a name gets a new name."""
_MOUNT_FIELDS: Final = ("name", "mountPath", "subPath", "subPathExpr", "readOnly")
"""Fields of a mount that ``storage`` supports."""
_MODES: Final = ("defaultMode", "mode")


class VolumeData(Record):
    """Result of the conversion of a pod's volumes to the fields of job.yaml.

    Attributes:
        storage: the volumes for ``storage`` by name, without the key ``for`` that lists the roles.
        role: {"shm": size} if the field ``shm`` of the role replaces a volume at /dev/shm; empty if not.
        volumes: the volumes that ``storage`` does not support, for podTemplate.
        mounts: the mounts of the main container that ``storage`` does not support, for podTemplate.
        names: the new name of each renamed volume, by the name in the foreign pod.
    """

    storage: Mapping[str, Any]
    role: Mapping[str, Any]
    volumes: Sequence[Any]
    mounts: Sequence[Any]
    names: Mapping[str, str]


def plain_data(part: Part, *, keeps_null: bool = False) -> Any:
    """Return the plain data of a part. As in Kubernetes (YAML 1.1), file modes such as 0644 are octal numbers.

    Args:
        part: the part.
        keeps_null: whether to keep the keys whose value is null.
    """
    if isinstance(part.value, Mapping):
        fields = {key: child for key, child in part.value.items() if keeps_null or child.value is not None}
        return {key: plain_data(child, keeps_null=keeps_null) for key, child in fields.items()}
    if isinstance(part.value, list):
        return [plain_data(child, keeps_null=keeps_null) for child in part.value]
    if part.path and part.path[-1] in _MODES and re.fullmatch("0o?[0-7]{1,4}", part.text or ""):
        return int(part.as_text.replace("o", ""), 8)
    return part.value


def translate(template: Part, main: Part, role_path: Path, report: ImportReport) -> VolumeData:
    """Convert the volumes of a pod template.

    Args:
        template: the template.
        main: the main container of the template.
        role_path: the path of the role in the job.
        report: the import report, which gets the outcome of each line.
    """
    return _Volumes(template, main, role_path, report).volume_data()


class _Volumes:
    """Converter of the volumes of a pod.

    Attributes:
        sources: the volumes in the pod template, by name.
        mounts: the mounts of the main container.
        sidecar_mounts: the names of the volumes that the sidecars and init containers mount.
        raw_volumes: the volumes for podTemplate, by name.
        raw_mounts: the mounts for podTemplate.
        names: the new name of each renamed volume, by the name in the foreign pod.
    """

    def __init__(self, template: Part, main: Part, role_path: Path, report: ImportReport) -> None:
        self.report, self.role_path = report, role_path
        self.sources = {item.text_at("name"): item for item in template.items("spec", "volumes") if item.get("name")}
        self.mounts = [item for item in main.items("volumeMounts") if item.get("name") and item.get("mountPath")]
        sidecars = [c for key in ("containers", "initContainers") for c in template.items("spec", key) if c is not main]
        self.sidecar_mounts = {mount.text_at("name") for c in sidecars for mount in c.items("volumeMounts")}
        self.storage: dict[str, Any] = {}
        self.role: dict[str, Any] = {}
        self.raw_volumes: dict[str, Any] = {}
        self.raw_mounts: list[Any] = []
        self.names = {name: f"{name}-volume" for name in self.sources if name in _RESERVED_NAMES}

    def volume_data(self) -> VolumeData:
        by_name = {name: [m for m in self.mounts if m.text_at("name") == name] for name in self.sources}
        for mount in self.mounts:
            if mount.text_at("name") not in self.sources:
                self.report.refuse(mount, f"the pod has no volume {mount.text_at('name')}; add the volume")
        for name, source in self.sources.items():
            self._volume(name, source, by_name[name])
        return VolumeData(self.storage, self.role, list(self.raw_volumes.values()), self.raw_mounts, self.names)

    def _volume(self, name: str, source: Part, mounts: Sequence[Part]) -> None:
        if not mounts and name not in self.sidecar_mounts:
            self.report.drop(source, "no container mounts this volume")
            return
        storage_source = _storage_source(source) if mounts and not _is_raw(mounts[0]) else None
        if storage_source is None:
            self.raw_volumes[name] = {**source.data, "name": self._job_name(name)}
            self.report.carry(source, *self.role_path, "podTemplate", "spec", "volumes")
            for mount in mounts:
                self._raw_mount(mount)
            return
        # An entry of storage has a single mount path. The second and later mounts go to podTemplate.
        first, *extra_mounts = mounts
        if self._is_built_in(name, storage_source, first, extra_mounts):
            return
        entry: dict[str, Any] = {"mountPath": clean_path(first.value["mountPath"].as_text)}
        entry |= {key: first.data[key] for key in ("subPath", "subPathExpr") if first.data.get(key)}
        if first.data.get("readOnly") or source.data.get("persistentVolumeClaim", {}).get("readOnly"):
            entry["readOnly"] = True
        target = (*self.role_path, "storage", self._job_name(name))
        self.storage[self._job_name(name)] = {**entry, **storage_source}
        if (claim := source.get("persistentVolumeClaim", "readOnly")) and claim.value is True:
            self.report.change(
                claim, *target, "readOnly", why="in job.yaml, readOnly belongs to the mount, not to the claim"
            )
        self.report.carry(source, *target)
        self.report.carry(first, *target, "mountPath")
        for mount in extra_mounts:
            self._raw_mount(mount)

    def _is_built_in(
        self, name: str, storage_source: Mapping[str, Any], first: Part, extra_mounts: Sequence[Part]
    ) -> bool:
        """Test whether tfgen adds the same volume to the pods, so that ``storage`` omits the volume.

        Such a volume is an emptyDir at /tmp, or an emptyDir in memory at /dev/shm. Add the outcome to the import
        report. For /dev/shm, set the field ``shm`` of the role.

        Args:
            name: the name of the volume.
            storage_source: the source of the volume, converted to fields of ``storage``.
            first: the first mount of the volume in the main container.
            extra_mounts: the other mounts of the volume in the main container.
        """
        is_plain = {key for key, part in first.entries() if part.value is not False} <= {"name", "mountPath"}
        if "emptyDir" not in storage_source or extra_mounts or name in self.sidecar_mounts or not is_plain:
            return False
        source, mount_path = storage_source["emptyDir"], clean_path(first.value["mountPath"].as_text)
        if mount_path == _TMP and not source.get("medium"):
            for part in (self.sources[name], first):
                self.report.carry(part, why="tfgen mounts an empty /tmp in each pod by default")
            return True
        if mount_path == _SHM and source.get("medium") == "Memory" and source.get("sizeLimit"):
            self.role["shm"] = source["sizeLimit"]
            for part in (self.sources[name], first):
                self.report.carry(part, *self.role_path, "shm")
            return True
        return False

    def _raw_mount(self, mount: Part) -> None:
        self.raw_mounts.append({**mount.data, "name": self._job_name(mount.text_at("name"))})
        self.report.carry(mount, *self.role_path, "podTemplate", "spec", "containers", 0, "volumeMounts")

    def _job_name(self, name: str) -> str:
        return self.names.get(name, name)


def _is_raw(mount: Part) -> bool:
    """Return True if a mount has a field that ``storage`` does not support, so that podTemplate gets the mount."""
    return any(key not in _MOUNT_FIELDS for key, _ in mount.entries())


def volume_name(path: str) -> str:
    """Return a name for a volume, made from its mount path. Example: `data-train` for the path /data/train."""
    return re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-") or "data"


def clean_path(path: str) -> str:
    """Remove the slashes at the end of a path, because Kubernetes ignores these slashes."""
    return path.rstrip("/") or "/"


def _storage_source(source: Part) -> dict[str, Any] | None:
    """Convert the source of a volume to fields of ``storage``, or return None for an unsupported source."""
    kinds = [(key, part) for key, part in source.entries() if key != "name"]
    if not kinds:
        return {"emptyDir": {}}
    if len(kinds) > 1:
        return None
    ((kind, part),) = kinds
    if kind == "persistentVolumeClaim":
        claim = part.get("claimName")
        return {"claim": {"name": claim.as_text}} if claim else None
    node = schema_file.node(schema_file.load(), ("spec", "storage", "volume", kind))
    data = plain_data(part)
    if node is None or kind in ("mountPath", "for", "claim") or not data.keys() <= node.get("properties", {}).keys():
        return None
    if kind == "hostPath":
        data["path"] = clean_path(data.get("path", ""))
    return {kind: data}
