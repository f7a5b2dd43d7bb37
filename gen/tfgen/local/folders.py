"""Maps the volumes of a pod to local folders, and replaces the mount paths by local paths.

    folders.replace_paths("--data=/data/train")  # "--data=/home/ada/data/train"

tfgen replaces paths only in variables, command and arguments, not in the code of the training program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tfgen.errors import UsageError
from tfgen.graph.objects import storage
from tfgen.graph.task_pods import Pod
from tfgen.job.training_job import GitCode, Structure
from tfgen.kubernetes.pods import expand
from tfgen.local.variables import ConfigMaps
from tfgen.record import Record
from tfgen.words import either, meant, nearest

_ABSOLUTE: Final = re.compile(r"(?<![\w./~-])/[^\s:,;=\"'()<>|&`$\[\]{}]*")
_OF_MACHINE: Final = ("/dev/shm",)  # noqa: S108 - shared memory is shared memory
_UNKNOWN: Final = ("secret", "configMap", "projected", "downwardAPI", "image")
"""Volume sources whose content exists only in the cluster."""


class Mount(Record):
    """The path of a mount in the pod, and the local folder that replaces the mount."""

    path: str
    folder: Path


class Folders(Record):
    """The mounts of a task, sorted so that longer paths precede shorter paths, and the folder with the task's code."""

    mounts: tuple[Mount, ...]
    workdir: Path

    def replace_paths(self, text: str) -> str:
        """Replace each absolute path in a text by the local path. The paths in the text are those of the pod."""
        return _ABSOLUTE.sub(lambda match: self.local_path(match[0]), text)

    def local_path(self, path: str) -> str:
        """Return the local path for a path in the pod.

        For a path below a mount, the local path is below the local folder of the mount. A path that exists on this
        machine remains unchanged.

        For any other path, tfgen removes leading folders until the rest of the path exists in the folder with the code.
        For example, `/opt/app/train.py` becomes `app/train.py` in this folder or, if this file does not exist,
        `train.py`. Without a match, the path remains unchanged.
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
    """The volumes of a job on this machine.

    Attributes:
        structure: the structure of the job.
        root: the folder in which tfgen creates the folders of the run.
        user_folders: the folder that the user passes for a volume with `--mount`, by name of the volume.
        workdir: the folder with the code of the job.
        maps: the ConfigMaps of the job.
    """

    structure: Structure
    root: Path
    user_folders: Mapping[str, Path]
    workdir: Path
    maps: ConfigMaps

    def folders(self, pod: Pod, variables: Mapping[str, str]) -> Folders:
        """Return the mounts of a pod with their local folders. Create the missing folders.

        Args:
            pod: the pod of the task.
            variables: the variables of the task, which the field `subPathExpr` of a mount may contain.
        """
        volumes = {volume["name"]: volume for volume in pod.spec.get("volumes", ())}
        mounts = [
            Mount(mount["mountPath"].rstrip("/"), self._folder(pod, volumes[mount["name"]], mount, variables))
            for mount in pod.container.get("volumeMounts", ())
            if mount["mountPath"] not in _OF_MACHINE
        ]
        return Folders(tuple(sorted(mounts, key=lambda mount: -len(mount.path))), self.workdir)

    def remaining_folders(self, pods: Sequence[Pod]) -> dict[str, Path]:
        """Return the local folders whose files the user may want to read after the run, by name of the volume.

        The result omits `emptyDir` volumes and the code from git, unless the user passes a folder for the volume.
        """
        return {
            volume["name"]: self._shared_folder(volume["name"])
            for pod in pods
            for volume in _volumes(pod)
            if volume["name"] in self.user_folders or not (_is_of_task(volume) or self._has_code(volume))
        }

    def volumes_without_content(self, pods: Sequence[Pod]) -> Iterator[str]:
        """Yield the name of each volume whose content exists only in the cluster, such as a volume from a Secret.

        A volume for which the user passes a folder is left out.
        """
        for volume in {volume["name"]: volume for pod in pods for volume in _volumes(pod)}.values():
            is_own = volume.get("configMap", {}).get("name") in self.maps
            if volume["name"] not in self.user_folders and not is_own and any(source in volume for source in _UNKNOWN):
                yield volume["name"]

    def check_user_folders(self, pods: Sequence[Pod]) -> None:
        """Check the folders that the user passes. Each folder must exist, and the job must have each volume.

        Raises:
            UsageError: a folder or a volume does not exist. The message lists all missing folders and volumes.
        """
        names = {volume["name"] for pod in pods for volume in _volumes(pod)}
        wrong = []
        for name, folder in self.user_folders.items():
            if name not in names:
                wrong.append(
                    f"--mount {name}: the job has no volume with this name; the volumes of the job are "
                    f"{either(sorted(names), 'and')}"
                )
                wrong[-1] += meant(nearest(name, names))
            elif not folder.is_dir():
                wrong.append(f"--mount {name}={folder}: the folder does not exist; create the folder first")
        if wrong:
            raise UsageError("\n".join(wrong))

    def _folder(
        self, pod: Pod, volume: Mapping[str, Any], mount: Mapping[str, Any], variables: Mapping[str, str]
    ) -> Path:
        name = volume["name"]
        if name not in self.user_folders and self._has_code(volume):
            return self.workdir
        is_own = _is_of_task(volume) and name not in self.user_folders
        folder = self.root / "tasks" / pod.task / name if is_own else self._shared_folder(name)
        data = self.maps.get(volume.get("configMap", {}).get("name"), {}) if name not in self.user_folders else {}
        folder.mkdir(parents=True, exist_ok=True)
        _write_files(folder, data, volume.get("configMap", {}).get("items"))
        part = mount.get("subPath") or expand(mount.get("subPathExpr", ""), variables)
        mounted = folder / part
        if not mounted.exists():
            mounted.mkdir(parents=True)
        return mounted

    def _shared_folder(self, name: str) -> Path:
        return self.user_folders[name].resolve() if name in self.user_folders else self.root / "volumes" / name

    def _has_code(self, volume: Mapping[str, Any]) -> bool:
        """Test whether a volume contains the code from git. On this machine, `workdir` replaces the volume."""
        return volume["name"] == storage.CODE_VOLUME and isinstance(self.structure.code, GitCode)


def _volumes(pod: Pod) -> list[Mapping[str, Any]]:
    """Return the volumes of a pod, without the volume of the run lock, which a run on this machine does not need."""
    return [volume for volume in pod.spec.get("volumes", ()) if volume["name"] != storage.LOCK_VOLUME]


def _is_of_task(volume: Mapping[str, Any]) -> bool:
    return "emptyDir" in volume


def _write_files(folder: Path, data: Mapping[str, str], items: Sequence[Mapping[str, Any]] | None) -> None:
    """Write the `data` of a ConfigMap to files in `folder`, as the kubelet does for a mounted ConfigMap.

    Each item of `items` names a key and a file, such as {"key": "hosts", "path": "hosts.json"}. Without `items`, write
    each key to a file with the name of the key.

    Source: https://kubernetes.io/docs/concepts/storage/volumes/#configmap.
    """
    paths = {item["key"]: item["path"] for item in items} if items else {key: key for key in data}
    for key, path in paths.items():
        if key in data:
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(data[key], encoding="utf-8", newline="")
