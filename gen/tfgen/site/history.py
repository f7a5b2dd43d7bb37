"""Lists, for each commit, the fields of a job that the commit changed."""

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
"""Maximum number of changed fields that are listed for a commit. A last text has the number of the remaining fields."""
_LONGEST: Final = 40
"""Maximum number of characters of a value in the list."""
_NEW: Final = ("the job is new",)

Data = Mapping[str, Any]


def changes(file: str, job: str, revisions: Sequence[Revision], most: int) -> Iterator[Change]:
    """Yield the commits that changed a job, the newest first.

    Args:
        file: path of the job file, which the parser needs for messages.
        job: name of the job. A file may contain several jobs.
        revisions: the last `most` + 1 revisions of the file, the newest first. If the file has fewer revisions, the
            last item is the commit that created the file.
        most: the maximum number of commits to examine.
    """
    versions = [job_data(file, job, revision.content) for revision in revisions]
    if len(revisions) <= most:
        versions.append(None)
    for revision, (data, before) in zip(revisions, pairwise(versions), strict=False):
        words = difference(before, data)
        if words:
            yield Change(revision.commit[:10], revision.date, words)


def job_data(file: str, job: str, content: bytes | None) -> Data | None:
    """Return the data of a job in a version of the job file; None if the version lacks the job or is not valid YAML."""
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
    """Return a text for each field that differs between two versions of a job; empty for equal versions."""
    if before is None or after is None:
        return () if before is after else _NEW if before is None else ("the job is removed",)
    changed = field_changes(before, after)
    words = [f"{field.path} {in_words(field.before, field.after, _LONGEST)}" for field in changed[:_MOST]]
    remaining = len(changed) - len(words)
    return (*words, *([f"and {count(remaining, 'more field')}"] if remaining else []))
