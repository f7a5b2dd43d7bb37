"""Lists the fields of a job that each commit changed, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from tfgen.change.field_diff import field_changes, in_words
from tfgen.git.history import Revision
from tfgen.plural import count
from tfgen.site.facts import Change
from tfgen.text.parse import parse

_MOST: Final = 8
"""Maximum number of changed fields that are listed for one commit. A last line counts the remaining fields."""
_LONGEST: Final = 40
"""Maximum length of a value in characters."""
_NEW: Final = ("the job is new",)

Data = Mapping[str, Any]


def changes(file: str, job: str, revisions: Sequence[Revision], most: int) -> Iterator[Change]:
    """Yield the commits that changed a job, the newest first.

    Args:
        file: path of the job file, for messages of the parser.
        job: name of the job. A file may contain several jobs.
        revisions: the revisions of the file, the newest first: at most `most`, and the one before the oldest.
            If fewer revisions exist, the oldest revision creates the file.
        most: the maximum number of revisions to compare with their predecessor.
    """
    versions = [job_data(file, job, revision.content) for revision in revisions]
    if len(revisions) <= most:
        versions.append(None)
    for revision, (data, before) in zip(revisions, pairwise(versions), strict=False):
        words = difference(before, data)
        if words:
            yield Change(revision.commit[:10], revision.date, words)


def job_data(file: str, job: str, content: bytes | None) -> Data | None:
    """Return the data of a job in a version of its file; None if the version has no such job or is not valid YAML."""
    if content is None:
        return None
    parsed = parse(content.decode("utf-8-sig", errors="replace"), file)
    for document in parsed.documents:
        metadata = document.data.get("metadata") if isinstance(document.data, dict) else None
        if isinstance(metadata, dict) and metadata.get("name") == job:
            data: Data = document.data
            return data
    return None


def difference(before: Data | None, after: Data | None) -> tuple[str, ...]:
    """Return the changed fields between two versions of a job, in words; empty for equal versions."""
    if before is None or after is None:
        return () if before is after else _NEW if before is None else ("the job is removed",)
    changed = field_changes(before, after)
    words = [f"{field.path} {in_words(field.before, field.after, _LONGEST)}" for field in changed[:_MOST]]
    remaining = len(changed) - len(words)
    return (*words, *([f"and {count(remaining, 'more field')}"] if remaining else []))
