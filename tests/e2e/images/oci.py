"""Container images without Docker: layers of files, and the archive of images that containerd imports.

    lowest = write_layer(Path("layer.tar"), Path("root"))
    write_archive(stream, [Image("example.com/a:1", (lowest,), {"Entrypoint": ["/bin/true"]})])

The format is that of https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md, in a tar file. The
layers are not compressed. The same files produce the same bytes, so an unchanged image has an unchanged digest.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, TypeAlias

Descriptor: TypeAlias = dict[str, Any]

_MEDIA_TYPE = "application/vnd.oci.image.{}"
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Layer:
    """A tar file of files, which cover the files of the layers before it.

    Attributes:
        digest: its digest, "sha256:...".
        size: in bytes.
        path: the file, or None if each reader of the image already has the layer.
    """

    digest: str
    size: int
    path: Path | None

    @property
    def descriptor(self) -> Descriptor:
        return _descriptor("layer.v1.tar", self.digest, self.size)


@dataclass(frozen=True)
class Image:
    """An image with its name.

    Attributes:
        reference: the name of the image in a pod, such as "example.com/ml/train:1".
        layers: the lowest first.
        config: https://github.com/opencontainers/image-spec/blob/v1.1.0/config.md#properties, its part `config`.
        architecture: the name of the architecture in Go.
    """

    reference: str
    layers: tuple[Layer, ...]
    config: Mapping[str, Any]
    architecture: str = "amd64"

    @cached_property
    def blobs(self) -> tuple[bytes, bytes]:
        """Return the image's configuration and its manifest."""
        config = _json(
            {
                "architecture": self.architecture,
                "os": "linux",
                "config": self.config,
                "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in self.layers]},
            }
        )
        manifest = _json(
            {
                "schemaVersion": 2,
                "mediaType": _MEDIA_TYPE.format("manifest.v1+json"),
                "config": _descriptor("config.v1+json", digest(config), len(config)),
                "layers": [layer.descriptor for layer in self.layers],
            }
        )
        return config, manifest

    @property
    def digest(self) -> str:
        """Return the digest of the manifest: images with the same digest are the same."""
        return digest(self.blobs[1])

    @property
    def descriptor(self) -> Descriptor:
        """Return the descriptor of the image for an index, where containerd reads the name of the image."""
        made = _descriptor("manifest.v1+json", self.digest, len(self.blobs[1]))
        return {**made, "annotations": {"io.containerd.image.name": self.reference}}


def digest(data: bytes) -> str:
    """Return the digest of a blob, in OCI's form."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def write_layer(path: Path, root: Path, *, only: str = "", leave_out: Sequence[str] = ()) -> Layer:
    """Write the files below a folder as a layer, with root as their owner.

    Args:
        path: the tar file to write.
        root: the folder that becomes "/".
        only: the path in `root` of the folder to write; an empty path is the complete root.
        leave_out: the paths in `root` of folders and files to leave out.
    """

    def normal(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if member.name in leave_out:
            return None
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for child in sorted((root / only).iterdir()):
            tar.add(child, str(child.relative_to(root)), filter=normal)
    with path.open("rb") as file:
        return Layer(f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}", path.stat().st_size, path)


def write_archive(stream: IO[bytes], images: Iterable[Image]) -> None:
    """Write images as one OCI archive, each blob once, without the layers that have no file."""
    images = tuple(images)
    index = {
        "schemaVersion": 2,
        "mediaType": _MEDIA_TYPE.format("index.v1+json"),
        "manifests": [image.descriptor for image in images],
    }
    with tarfile.open(fileobj=stream, mode="w|") as tar:
        _add(tar, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        for part in dict.fromkeys(part for image in images for part in image.layers):
            if part.path:
                with part.path.open("rb") as file:
                    tar.addfile(_member(_blob(part.digest), part.size), file)
        for blob in dict.fromkeys(blob for image in images for blob in image.blobs):
            _add(tar, _blob(digest(blob)), blob)
        _add(tar, "index.json", _json(index))


def _descriptor(kind: str, of: str, size: int) -> Descriptor:
    return {"mediaType": _MEDIA_TYPE.format(kind), "digest": of, "size": size}


def _blob(of: str) -> str:
    return f"blobs/{of.replace(':', '/')}"


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    return member


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    tar.addfile(_member(name, len(data)), io.BytesIO(data))


def _json(data: Any) -> bytes:
    return json.dumps(data, sort_keys=True).encode()
