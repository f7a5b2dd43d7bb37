"""Fields that need a newer Kubernetes than the version in `--kubernetes-version`.

The schemas of older versions contain these fields, but the feature gates ImageVolume and ContainerRestartRules are off
by default: https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.problems import Problem
from tfgen.record import Record
from tfgen.text.document import Document


class _Field(Record):
    """A field that Kubernetes accepts by default only since the version `first`.

    Attributes:
        end: the last steps of the field's path, such as ("image", "reference"), by which tfgen finds the field.
        depth: the number of last steps that the path of the problem omits. Example: with 1, a problem of the field
            `image.reference` is at the key `image`.
        first: the first version that accepts the field by default, such as (1, 35).
        name: the description of the field in the message.
        advice: the fix, at the end of the message.
    """

    end: Path
    depth: int
    first: tuple[int, int]
    name: str
    advice: str


_FIELDS: Final = (
    _Field(("image", "reference"), 1, (1, 35), "an image as a volume", "use a claim, a csi volume or spec.code"),
    _Field(("restart", "inPlace"), 0, (1, 35), "a restart of a container in place", "remove inPlace"),
)


def find_early_fields(
    document: Document, paths: Iterable[Path], version: tuple[int, ...] | None, rule: str
) -> Iterator[Problem]:
    """Yield a problem for each field of a job that a cluster of the given version refuses.

    Args:
        document: the job.
        paths: the paths of all values of the job.
        version: the version of the cluster, such as (1, 34). With None, the function yields nothing.
        rule: the id of the rule that reports the problems.
    """
    if version is None:
        return
    for path in paths:
        for field in _FIELDS:
            if path[-2:] == field.end and version < field.first and data_path.at(document.data, path) is not False:
                first, cluster = (".".join(map(str, numbers)) for numbers in (field.first, version))
                message = f"Kubernetes {cluster} refuses {field.name}, which needs {first} or later; {field.advice}"
                yield Problem(*document.place(path[: len(path) - field.depth]), message, rule)
