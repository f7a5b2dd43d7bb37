"""The extent of a check of job files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tfgen.record import Record

if TYPE_CHECKING:
    from tfgen.check.manifests import Manifest
    from tfgen.text.document import Document


class CheckScope(Record):
    """The extent of a check.

    Attributes:
        find_manifests: finds the objects of the repository that apply to the namespaces of the jobs.
        kubernetes_version: the version whose schemas the objects are validated against; None for no validation.
        find_unchanged: returns a function that is true for a job which is checked alone and not rendered. The check
            calls `find_unchanged` once, before the first job.
        ends_with_errors: whether the check renders no further file after the first file with errors.
        cache_out: the output folder whose ledgers belong to the results in the cache; None to store no results.
    """

    find_manifests: Callable[[], Sequence[Manifest]] = tuple
    kubernetes_version: str | None = None
    find_unchanged: Callable[[], Callable[[Document], bool]] | None = None
    ends_with_errors: bool = False
    cache_out: Path | None = None
