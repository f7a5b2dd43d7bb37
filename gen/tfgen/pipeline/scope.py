"""The settings of a check of job files, and the report of its progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from tfgen.git.tree import DISK, Tree
from tfgen.record import Record

if TYPE_CHECKING:
    from tfgen.change.committed import FindNames
    from tfgen.check.manifests import Manifest
    from tfgen.text.document import Document


_Item = TypeVar("_Item")


class Track(Protocol):
    """The type of a function that yields the items of a long command, and reports the progress.

    `total` is the number of items.
    """

    def __call__(self, items: Iterable[_Item], total: int, /) -> Iterator[_Item]:
        """Yield the items, and report the progress."""


def untracked(items: Iterable[_Item], _total: int, /) -> Iterator[_Item]:
    """Return the items, without a progress report."""
    return iter(items)


class CheckScope(Record):
    """The settings of a check of job files, such as the Kubernetes version.

    Attributes:
        tree: the version of the files that the check reads.
        find_manifests: a function that returns the hand-written manifests of the repository, such as quotas.
        kubernetes_version: the Kubernetes version whose schemas the objects are validated against; None for no
            validation.
        make_unchanged_test: a function that returns a test for jobs. The check does not render the jobs for which the
            test returns True. With None instead of a function, the check renders all jobs.
        stops_at_errors: whether the check renders no more files after the first file with errors.
        cache_out: the output folder of the jobs; None to use no cache. The cache stores the results together with the
            digests of the ledgers in this folder.
        find_changed: a function that returns the rendered files that differ from the revision of the check, for a
            command that also uses the changed files; None to list the changed files in the check.
    """

    tree: Tree = DISK
    find_manifests: Callable[[], Sequence[Manifest]] = tuple
    kubernetes_version: str | None = None
    make_unchanged_test: Callable[[], Callable[[Document], bool]] | None = None
    stops_at_errors: bool = False
    cache_out: Path | None = None
    find_changed: FindNames | None = None
