"""The volumes of a foreign pod, and where its program mounts them, in the words of ``storage``."""

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
_TAKEN: Final = ("tmp", "shm")
"""Names of volumes that tfgen's pods have."""
_OF_A_MOUNT: Final = ("name", "mountPath", "subPath", "subPathExpr", "readOnly")
_MODES: Final = ("defaultMode", "mode")


class VolumeData(Record):
    """The volumes of a pod, translated.

    Attributes:
        storage: by name, without ``for``.
        role: ``shm``, where there is one.
        volumes: what ``storage`` has no word for, for podTemplate.
        mounts: the same of the main container's mounts.
        names: the name in the job of each volume that has another one there.
    """

    storage: Mapping[str, Any]
    role: Mapping[str, Any]
    volumes: Sequence[Any]
    mounts: Sequence[Any]
    names: Mapping[str, str]


def octal_value(part: Part) -> Any:
    """A scalar, where Kubernetes' reader takes 0644 for an octal number; job.yaml has decimal ones."""
    if part.path and part.path[-1] in _MODES and re.fullmatch("0o?[0-7]{1,4}", part.text or ""):
        return int(part.as_text.replace("o", ""), 8)
    return part.value


def translate(template: Part, main: Part, at: Path, report: ImportReport) -> VolumeData:
    """The volumes of a pod template.

    Args:
        template: the template.
        main: its main container.
        at: the path of the role in the job.
        report: what becomes of each line.
    """
    return _Volumes(template, main, at, report).volume_data()


class _Volumes:
    """The translation of one pod's volumes."""

    def __init__(self, template: Part, main: Part, at: Path, report: ImportReport) -> None:
        self.report, self.at = report, at
        self.sources = {item.text_at("name"): item for item in template.items("spec", "volumes") if item.get("name")}
        self.mounts = [item for item in main.items("volumeMounts") if item.get("name") and item.get("mountPath")]
        beside = [c for key in ("containers", "initContainers") for c in template.items("spec", key) if c is not main]
        self.beside = {mount.text_at("name") for container in beside for mount in container.items("volumeMounts")}
        self.storage: dict[str, Any] = {}
        self.role: dict[str, Any] = {}
        self.odd: dict[str, Any] = {}
        self.odd_mounts: list[Any] = []
        self.names = {name: f"{name}-volume" for name in self.sources if name in _TAKEN}

    def volume_data(self) -> VolumeData:
        by_name = {name: [m for m in self.mounts if m.text_at("name") == name] for name in self.sources}
        for mount in self.mounts:
            if mount.text_at("name") not in self.sources:
                self.report.refuse(mount, f"the pod has no volume {mount.text_at('name')}")
        for name, source in self.sources.items():
            self._volume(name, source, by_name[name])
        return VolumeData(self.storage, self.role, list(self.odd.values()), self.odd_mounts, self.names)

    def _volume(self, name: str, source: Part, mounts: Sequence[Part]) -> None:
        if not mounts and name not in self.beside:
            self.report.drop(source, "no container mounts it")
            return
        known = _known(source) if mounts and not _is_odd(mounts[0]) else None
        if known is None:
            self.odd[name] = {**source.data, "name": self._final(name)}
            self.report.carry(source, *self.at, "podTemplate", "spec", "volumes")
            for mount in mounts:
                self._odd_mount(mount)
            return
        first, *companions = mounts
        if self._is_own(name, known, first, companions):
            return
        entry: dict[str, Any] = {"mountPath": clean_path(first.value["mountPath"].as_text)}
        entry |= {key: first.data[key] for key in ("subPath", "subPathExpr") if first.data.get(key)}
        if first.data.get("readOnly") or source.data.get("persistentVolumeClaim", {}).get("readOnly"):
            entry["readOnly"] = True
        target = (*self.at, "storage", self._final(name))
        self.storage[self._final(name)] = {**entry, **known}
        if (claim := source.get("persistentVolumeClaim", "readOnly")) and claim.value is True:
            self.report.change(claim, *target, "readOnly", why="where it is mounted")
        self.report.carry(source, *target)
        self.report.carry(first, *target, "mountPath")
        for mount in companions:
            self._odd_mount(mount)

    def _is_own(self, name: str, known: Mapping[str, Any], first: Part, companions: Sequence[Part]) -> bool:
        """Whether tfgen's pods have such a volume by themselves, or by ``shm``."""
        is_plain = {key for key, part in first.entries() if part.value is not False} <= {"name", "mountPath"}
        if "emptyDir" not in known or companions or name in self.beside or not is_plain:
            return False
        source, place = known["emptyDir"], clean_path(first.value["mountPath"].as_text)
        if place == _TMP and not source.get("medium"):
            for part in (self.sources[name], first):
                self.report.carry(part, why="each of tfgen's pods has a /tmp")
            return True
        if place == _SHM and source.get("medium") == "Memory" and source.get("sizeLimit"):
            self.role["shm"] = source["sizeLimit"]
            for part in (self.sources[name], first):
                self.report.carry(part, *self.at, "shm")
            return True
        return False

    def _odd_mount(self, mount: Part) -> None:
        self.odd_mounts.append({**mount.data, "name": self._final(mount.text_at("name"))})
        self.report.carry(mount, *self.at, "podTemplate", "spec", "containers", 0, "volumeMounts")

    def _final(self, name: str) -> str:
        return self.names.get(name, name)


def _is_odd(mount: Part) -> bool:
    """Whether a mount says what ``storage`` has no word for."""
    return any(key not in _OF_A_MOUNT for key, _ in mount.entries())


def clean_path(path: str) -> str:
    """A path without the slashes at its end, which mean nothing to Kubernetes."""
    return path.rstrip("/") or "/"


def _known(source: Part) -> dict[str, Any] | None:
    """The source in the words of ``storage``; None where it has none."""
    kinds = [(key, part) for key, part in source.entries() if key != "name"]
    if not kinds:
        return {"emptyDir": {}}
    ((kind, part), *companions) = kinds
    if companions:
        return None
    if kind == "persistentVolumeClaim":
        claim = part.get("claimName")
        return {"claim": {"name": claim.as_text}} if claim else None
    node = schema_file.node(schema_file.load(), ("spec", "storage", "volume", kind))
    data = _data(part)
    if node is None or kind in ("mountPath", "for", "claim") or not data.keys() <= node.get("properties", {}).keys():
        return None
    if kind == "hostPath":
        data["path"] = clean_path(data.get("path", ""))
    return {kind: data}


def _data(part: Part) -> Any:
    """The plain data, with modes as numbers."""
    if isinstance(part.value, Mapping):
        return {key: _data(inner) for key, inner in part.value.items() if inner.value is not None}
    if isinstance(part.value, list):
        return [_data(inner) for inner in part.value]
    return octal_value(part)
