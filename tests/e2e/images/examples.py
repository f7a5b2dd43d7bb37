"""The examples' images: the base, and above it the files that each example's Dockerfile copies."""

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


def image(example: Path, under: Base, folder: Path, registry: str = "") -> oci.Image:
    """Build the image that the job of an example names.

    Args:
        example: The folder of the example.
        under: The base of the image.
        folder: The folder for the file of the example's layer.
        registry: The registry of the image, if tfgen.yaml sets a registry.
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
    return oci.Image("/".join(filter(None, (registry, job["spec"]["image"]))), (*under.layers, own), wanted.config)
