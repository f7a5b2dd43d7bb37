"""A pod's folders on this machine: each volume is a folder, and paths below its mount are paths below that.

    folders.replace_paths("--data=/data/train")  ->  "--data=/home/ada/data/train"

Only what the job says is changed: variables, command and arguments. A path that stands in the program itself is this
machine's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tfgen.errors import UsageError
from tfgen.graph.objects import code, run_lock
from tfgen.graph.task_pods import Pod
from tfgen.job.training_job import GitCode, Structure
from tfgen.kubernetes.expansion import expand
from tfgen.local.variables import ConfigMaps
from tfgen.record import Record
from tfgen.words import either, meant, nearest

_ABSOLUTE: Final = re.compile(r"(?<![\w./~-])/[^\s:,;=\"'()<>|&`$\[\]{}]*")
_OF_MACHINE: Final = ("/dev/shm",)  # noqa: S108 - shared memory is shared memory
_UNKNOWN: Final = ("secret", "configMap", "projected", "downwardAPI", "image")
"""Volumes whose content this machine does not have."""


class Mount(Record):
    """A folder of a pod, and the one that stands for it here."""

    path: str
    folder: Path


class Folders(Record):
    """A task's folders: its mounts, the deepest first, and the folder that its code is in."""

    mounts: tuple[Mount, ...]
    workdir: Path

    def replace_paths(self, text: str) -> str:
        """The text with each absolute path that this machine has elsewhere."""
        return _ABSOLUTE.sub(lambda match: self.local_path(match[0]), text)

    def local_path(self, path: str) -> str:
        """Where a path of the pod is here.

        Below a mount, it is in the mount's folder. Else, where this machine has no such file, it is the part of the
        path that the code's folder has: `/opt/train.py` is `train.py` there. Else it stays as it is.
        """
        if path.startswith("//"):
            return path
        for mount in self.mounts:
            if path == mount.path or path.startswith(f"{mount.path}/"):
                return f"{mount.folder}{path.removeprefix(mount.path)}"
        if Path(path).exists():
            return path
        parts = Path(path).parts[1:]
        candidates = (self.workdir.joinpath(*parts[taken:]) for taken in range(len(parts)))
        return next((str(candidate) for candidate in candidates if candidate.exists()), path)


class Volumes(Record):
    """The volumes of a job here.

    Attributes:
        structure: the job.
        root: the folder that the run's own folders are made in.
        given: the user's folders, by the volume's name.
        workdir: the folder that the code is in.
        maps: the job's own ConfigMaps.
    """

    structure: Structure
    root: Path
    given: Mapping[str, Path]
    workdir: Path
    maps: ConfigMaps

    def folders(self, pod: Pod, variables: Mapping[str, str]) -> Folders:
        """The folders of a pod, each made where it is not there.

        Args:
            pod: the task's.
            variables: its own, which a mount's `subPathExpr` names.
        """
        volumes = {volume["name"]: volume for volume in pod.spec.get("volumes", ())}
        mounts = [
            Mount(mount["mountPath"].rstrip("/"), self._folder(pod, volumes[mount["name"]], mount, variables))
            for mount in pod.container.get("volumeMounts", ())
            if mount["mountPath"] not in _OF_MACHINE
        ]
        return Folders(tuple(sorted(mounts, key=lambda mount: -len(mount.path))), self.workdir)

    def shared(self, pods: Sequence[Pod]) -> dict[str, Path]:
        """The folders that outlive the tasks, by the volume's name."""
        return {
            volume["name"]: self._shared_folder(volume["name"])
            for pod in pods
            for volume in _volumes(pod)
            if volume["name"] in self.given or not (_is_of_task(volume) or self._has_code(volume))
        }

    def unknown(self, pods: Sequence[Pod]) -> Iterator[str]:
        """The volumes whose content is made in the cluster, and that the user does not give."""
        for volume in {volume["name"]: volume for pod in pods for volume in _volumes(pod)}.values():
            is_own = volume.get("configMap", {}).get("name") in self.maps
            if volume["name"] not in self.given and not is_own and any(source in volume for source in _UNKNOWN):
                yield volume["name"]

    def check_given(self, pods: Sequence[Pod]) -> None:
        """See that each volume that the user gives a folder for is one, and each folder is there.

        Raises:
            UsageError: one is not; the message has all of them.
        """
        names = {volume["name"] for pod in pods for volume in _volumes(pod)}
        wrong = []
        for name, folder in self.given.items():
            if name not in names:
                wrong.append(f"--mount {name}: the job has no such volume, but {either(sorted(names), 'and')}")
                wrong[-1] += meant(nearest(name, names))
            elif not folder.is_dir():
                wrong.append(f"--mount {name}={folder}: no such folder; make it first")
        if wrong:
            raise UsageError("\n".join(wrong))

    def _folder(
        self, pod: Pod, volume: Mapping[str, Any], mount: Mapping[str, Any], variables: Mapping[str, str]
    ) -> Path:
        name = volume["name"]
        if name not in self.given and self._has_code(volume):
            return self.workdir
        is_own = _is_of_task(volume) and name not in self.given
        folder = self.root / "tasks" / pod.task / name if is_own else self._shared_folder(name)
        data = self.maps.get(volume.get("configMap", {}).get("name"), {}) if name not in self.given else {}
        folder.mkdir(parents=True, exist_ok=True)
        _write_files(folder, data, volume.get("configMap", {}).get("items"))
        part = mount.get("subPath") or expand(mount.get("subPathExpr", ""), variables)
        inner = folder / part
        if not inner.exists():
            inner.mkdir(parents=True)
        return inner

    def _shared_folder(self, name: str) -> Path:
        return self.given[name].resolve() if name in self.given else self.root / "volumes" / name

    def _has_code(self, volume: Mapping[str, Any]) -> bool:
        """Whether a volume holds what is fetched from git, which here is in the code's folder."""
        return volume["name"] == code.VOLUME and isinstance(self.structure.code, GitCode)


def _volumes(pod: Pod) -> list[Mapping[str, Any]]:
    """The pod's volumes, but for the program of the run lock: here no other run can come."""
    return [volume for volume in pod.spec.get("volumes", ()) if volume["name"] != run_lock.VOLUME]


def _is_of_task(volume: Mapping[str, Any]) -> bool:
    return "emptyDir" in volume


def _write_files(folder: Path, data: Mapping[str, str], items: Sequence[Mapping[str, Any]] | None) -> None:
    """The files of a ConfigMap: https://kubernetes.io/docs/concepts/storage/volumes/#configmap."""
    paths = {item["key"]: item["path"] for item in items} if items else {key: key for key in data}
    for key, path in paths.items():
        if key in data:
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(data[key], encoding="utf-8", newline="")
