"""Find removed job files: job files in a commit that no longer exist on disk."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tfgen.git import read as git
from tfgen.job.sources import contains_job, has_name_of_job


def removed_sources(paths: Iterable[Path], revision: str) -> list[str]:
    """Return the job files, at or below the given paths, that exist in a commit and no longer exist on disk."""
    removed = []
    for path in paths:
        if path.is_dir():
            names = git.changed(path, revision, is_removed=True)
            contents = git.committed_files([path / name for name in names], revision)
        elif not path.exists():
            contents = {path / name: content for name, content in git.committed_below(path, revision).items()}
        else:
            continue
        for file, content in sorted(contents.items()):
            is_hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
            if has_name_of_job(file) and not is_hidden and contains_job(content):
                removed.append(str(file))
    return removed
