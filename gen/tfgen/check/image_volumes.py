"""Images as volumes, which a cluster takes from Kubernetes 1.35 on.

The schemas of older versions have the field, whose feature gate ImageVolume is off there by default:
https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tfgen.data_path import Path
from tfgen.problems import Problem
from tfgen.text.document import Document

_FIRST: Final = (1, 35)
_REFERENCE: Final = ("image", "reference")


def find_early_images(
    document: Document, paths: Iterable[Path], version: tuple[int, ...] | None, rule: str
) -> Iterator[Problem]:
    """Yield a problem for each image as a volume in a job for a cluster that refuses such volumes.

    Args:
        document: the job.
        paths: the paths of all values of the job.
        version: the major and the minor version of the cluster; None for any version.
        rule: the rule of the problems.
    """
    if version is None or version >= _FIRST:
        return
    first, cluster = (".".join(map(str, numbers)) for numbers in (_FIRST, version))
    for path in paths:
        if path[-2:] == _REFERENCE:
            message = (
                f"Kubernetes {cluster} refuses an image as a volume, and {first} is the first version that takes one; "
            )
            message += "use a claim, a csi volume or code"
            yield Problem(*document.place(path[:-1]), message, rule)
