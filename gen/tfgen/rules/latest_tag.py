"""Images without a fixed version, which may change without a commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.rules.finding import Finding
from tfgen.rules.images import images
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import shown


def _check(view: View) -> Iterator[Finding]:
    for path, image in images(view):
        if "@" in image:
            continue
        _, _, tag = image.rpartition("/")[2].partition(":")
        if tag in ("", "latest"):
            version = "the tag latest" if tag else "no tag, which means latest"
            message = (
                f"the image {shown(image)} has {version}, so the image may change without a commit; write a version or "
                "a digest"
            )
            yield Finding(path, message)


RULES: Final = (Rule("latest-tag", "warning", "An image has no fixed version.", _check),)
