"""The examples' images: the base, and over it what each example's Dockerfile copies."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

import yaml

from tests.e2e.images import oci
from tests.e2e.images.base import Base
from tests.e2e.images.dockerfile import REQUIREMENTS, Dockerfile
from tests.support.tools import ROOT

FOLDERS: Final = tuple(path.parent for path in sorted(ROOT.glob("examples/*/Dockerfile")))


def base() -> Base:
    """Return the base of the images of all examples."""
    return Base.build(folder / REQUIREMENTS for folder in FOLDERS)


def image(example: Path, under: Base, folder: Path) -> oci.Image:
    """The image that an example's job names.

    Args:
        example: The example's folder.
        under: What the image begins with.
        folder: For the file of its own layer.
    """
    wanted = Dockerfile.read(example / "Dockerfile")
    with tempfile.TemporaryDirectory() as root:
        for source, target in wanted.copies.items():
            file = Path(root) / target.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes((example / source).read_bytes())
            file.chmod(0o644)
            file.parent.chmod(0o755)
        own = oci.write_layer(folder / f"{example.name}.tar", Path(root))
    job = yaml.safe_load((example / "job.yaml").read_text(encoding="utf-8"))
    return oci.Image(job["spec"]["image"], (*under.layers, own), wanted.config)
