"""Images that change without a commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.job.training_job import GitCode
from tfgen.rules import pod_parts
from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View
from tfgen.words import shown


def _check(view: View) -> Iterator[Finding]:
    for path, image in _images(view):
        if not isinstance(image, str) or not image or "@" in image:
            continue
        _, _, tag = image.rpartition("/")[2].partition(":")
        if tag in ("", "latest"):
            has = "the tag latest" if tag else "no tag, which means latest"
            message = f"the image {shown(image)} has {has}: it changes without a commit; name a version or a digest"
            yield Finding(path, message)


def _images(view: View) -> Iterator[tuple[Path, Any]]:
    if isinstance(view.job.structure.code, GitCode):
        yield ("code", "git", "image"), view.values["code"]["git"]["image"]
    if view.has_tensorboard:
        yield ("tensorboard", "image"), view.values["tensorboard"]["image"]
    for role in view.roles:
        yield view.effective(role.name, "image")
        for container in pod_parts.beside(view, role.name):
            yield (*container.path, "image"), container.data.get("image")


RULES: Final = (Rule("latest-tag", "warning", "An image has no fixed version.", _check),)
