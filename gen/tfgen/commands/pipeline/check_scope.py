"""What a command looks at of job files, beside the files themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tfgen.record import Record

if TYPE_CHECKING:
    from tfgen.check.manifests import Manifest
    from tfgen.text.document import Document


class CheckScope(Record):
    """What is looked at of files.

    Attributes:
        find_manifests: gives what the repository has of the namespaces in which jobs run.
        kubernetes_version: whose schemas the objects are held against; none where it is None.
        find_unchanged: gives what says of a job whether it is checked by itself alone, and not rendered. It is called
            before the first job is.
        ends_with_errors: whether nothing more is rendered once a file has errors.
        kept_for: the output folder by whose ledgers what is kept for the next run counts; None where nothing is kept.
    """

    find_manifests: Callable[[], Sequence[Manifest]] = tuple
    kubernetes_version: str | None = None
    find_unchanged: Callable[[], Callable[[Document], bool]] | None = None
    ends_with_errors: bool = False
    kept_for: Path | None = None
