"""Tests of the image layers and Dockerfiles for a real node (tests/e2e/images)."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from tests.e2e.images.dockerfile import Dockerfile, UnknownInstructionError
from tests.e2e.images.oci import Image, Layer, write_archive, write_layer
from tests.support.tools import ROOT

EXAMPLES = sorted(path.parent.name for path in ROOT.glob("examples/*/Dockerfile"))


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_s_dockerfile_is_understood(example: str) -> None:
    assert Dockerfile.read(ROOT / "examples" / example / "Dockerfile") == Dockerfile(
        copies={"train.py": "/opt/train.py"},
        config={
            "User": "65532:65532",
            "Entrypoint": ["python", "/opt/train.py"],
            "Env": [
                "PATH=/usr/local/bin:/usr/bin:/bin",
                "HOME=/tmp",
                "PYTHONDONTWRITEBYTECODE=1",
                "PYTHONUNBUFFERED=1",
                *([] if example == "keras-distribution" else ["TF_CPP_MIN_LOG_LEVEL=1"]),  # JAX needs no TensorFlow
            ],
        },
    )


def test_an_instruction_that_nobody_follows_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text("FROM a\nCOPY b \\\n  /c\n# a comment\nVOLUME /d\n", encoding="utf-8")
    with pytest.raises(UnknownInstructionError, match="Dockerfile: VOLUME"):
        Dockerfile.read(path)


def test_an_archive_has_each_blob_once_and_by_its_digest(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "opt").mkdir(parents=True)
    (root / "opt" / "a").write_text("a", encoding="utf-8")
    (root / "left").mkdir()
    own = write_layer(tmp_path / "layer.tar", root, leave_out=("left",))
    there = Layer(f"sha256:{'0' * 64}", 1, None)  # the importer already has this layer
    archive = io.BytesIO()
    write_archive(archive, [Image(f"example.com/{name}:1", (there, own), {"User": "1"}) for name in "ab"])

    archive.seek(0)
    with tarfile.open(fileobj=archive) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
    blobs = {name.removeprefix("blobs/sha256/"): data for name, data in files.items() if name.startswith("blobs/")}
    assert all(hashlib.sha256(data).hexdigest() == name for name, data in blobs.items())
    index = json.loads(files["index.json"])["manifests"]
    assert [manifest["annotations"]["io.containerd.image.name"] for manifest in index] == [
        "example.com/a:1",
        "example.com/b:1",
    ]
    assert len(blobs) == 3  # the layer, and the configuration and manifest that both images share
    manifest = json.loads(blobs[index[0]["digest"].removeprefix("sha256:")])
    assert [layer["digest"] for layer in manifest["layers"]] == [there.digest, own.digest]
    assert json.loads(blobs[manifest["config"]["digest"].removeprefix("sha256:")])["config"] == {"User": "1"}
    with tarfile.open(tmp_path / "layer.tar") as layer:
        assert layer.getnames() == ["opt", "opt/a"]
