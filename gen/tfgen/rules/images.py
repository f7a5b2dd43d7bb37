"""Search for the images of a job and for the paths that set the images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.job.training_job import GitCode
from tfgen.rules import pod_parts
from tfgen.rules.view import View


def images(view: View) -> Iterator[tuple[Path, str]]:
    """Yield the path and the name of each image of a variant of a job, including default images.

    Example: ``(("image",), "registry.example.com/ml/dist-mnist:1.4.0")``.
    """
    for path, image in dict(_images(view)).items():
        if isinstance(image, str) and image:
            yield path, image


def _images(view: View) -> Iterator[tuple[Path, Any]]:
    if isinstance(view.job.structure.code, GitCode):
        yield ("code", "git", "image"), view.values["code"]["git"]["image"]
    if view.has_tensorboard:
        yield ("tensorboard", "image"), view.values["tensorboard"]["image"]
    for name, volume in view.values["storage"].items():
        yield ("storage", name, "image", "reference"), data_path.at(volume, ("image", "reference"))
    for role in view.roles:
        yield view.effective_field(role.name, "image")
        for container in pod_parts.extra_containers(view, role.name):
            yield (*container.path, "image"), container.data.get("image")
