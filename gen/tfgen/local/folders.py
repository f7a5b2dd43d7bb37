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
from tfgen.graph import storage
from tfgen.graph.graph import Pod
from tfgen.job.training_job import GitCode, Structure
from tfgen.kubernetes.pods import expand
from tfgen.local.variables import ConfigMaps
from tfgen.record import Record
from tfgen.words import either, meant, nearest

_ABSOLUTE: Final = re.compile(r"(?<![\w./~-])/[^\s:,;=\"'()<>|&`$\[\]{}]*")


class Folders(Record):
    """The mounts of a task, and the folder with the task's code.

    Attributes:
        mounts: the local folder that replaces each mount, by the path of the mount in the pod. Longer paths come first.
        workdir: the folder with the code.
    """

    mounts: Mapping[str, Path]
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
        for mount, folder in self.mounts.items():
            if path == mount or path.startswith(f"{mount}/"):
                return f"{folder}{path.removeprefix(mount)}"
        if Path(path).exists():
            return path
        parts = Path(path).parts[1:]
        candidates = (self.workdir.joinpath(*parts[taken:]) for taken in range(len(parts)))
        return next((str(candidate) for candidate in candidates if candidate.exists()), path)


class LocalVolumes(Record):
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
        mounts = {
            mount["mountPath"].rstrip("/"): self._folder(pod, volumes[mount["name"]], mount, variables)
            for mount in pod.container.get("volumeMounts", ())
            if mount["mountPath"] != "/dev/shm"  # noqa: S108 - shared memory is shared memory
        }
        return Folders(dict(sorted(mounts.items(), key=lambda mount: -len(mount[0]))), self.workdir)

    def remaining_folders(self, pods: Sequence[Pod]) -> dict[str, Path]:
        """Return the local folders whose files the user may want to read after the run, by name of the volume.

        The result omits `emptyDir` volumes and the code from git, unless the user passes a folder for the volume.
        """
        return {
            volume["name"]: self._shared_folder(volume["name"])
            for pod in pods
            for volume in _volumes(pod)
            if volume["name"] in self.user_folders or not ("emptyDir" in volume or self._has_code(volume))
        }

    def volumes_without_content(self, pods: Sequence[Pod]) -> Iterator[str]:
        """Yield the name of each volume whose content exists only in the cluster, such as a volume from a Secret.

        A volume for which the user passes a folder is left out.
        """
        sources = {"secret", "configMap", "projected", "downwardAPI", "image"}
        for name, volume in {volume["name"]: volume for pod in pods for volume in _volumes(pod)}.items():
            is_own = volume.get("configMap", {}).get("name") in self.maps
            if name not in self.user_folders and not is_own and sources & volume.keys():
                yield name

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
                    f"{either(sorted(names), 'and')}{meant(nearest(name, names))}"
                )
            elif not folder.is_dir():
                wrong.append(f"--mount {name}={folder}: the folder does not exist; create the folder first")
        if wrong:
            raise UsageError("\n".join(wrong))

    def _folder(
        self, pod: Pod, volume: Mapping[str, Any], mount: Mapping[str, Any], variables: Mapping[str, str]
    ) -> Path:
        name, config_map = volume["name"], volume.get("configMap", {})
        is_of_user = name in self.user_folders
        if self._has_code(volume) and not is_of_user:
            return self.workdir
        is_of_task = "emptyDir" in volume and not is_of_user
        folder = self.root / "tasks" / pod.task / name if is_of_task else self._shared_folder(name)
        folder.mkdir(parents=True, exist_ok=True)
        if not is_of_user:
            _write_files(folder, self.maps.get(config_map.get("name"), {}), config_map.get("items"))
        mounted = folder / (mount.get("subPath") or expand(mount.get("subPathExpr", ""), variables))
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
