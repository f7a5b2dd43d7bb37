"""Problems of files that no ledger lists. Helm, kustomize and GitOps tools apply these files, too.

judge_unlisted(out, ["charts/mnist/templates/extra.yaml"], ledgers, "HEAD")
    ->  Problem("charts/mnist/templates/extra.yaml", ... "no ledger lists the file, ...", "unlisted-file")
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from tfgen import data_path
from tfgen.git import read as git
from tfgen.job.defaults import FILE
from tfgen.places import CHARTS, OVERLAYS, TOOLS
from tfgen.plural import count
from tfgen.problems import Position, Problem
from tfgen.text.parse import decode, parse

UNLISTED: Final = "unlisted-file"
KEY: Final = "unlistedFiles"
"""The key of the root tfgen.yaml that lists exceptions."""

RULES: Final[Mapping[str, str]] = {UNLISTED: "A folder of tfgen contains a file that no ledger lists."}
"""The summary of each rule, which begins the section of the rule in docs/rules.md."""


def judge_unlisted(out: Path, files: Sequence[str], jobs: Container[str], against: str) -> Iterator[Problem]:
    """Yield a problem for each file, and a single problem for a folder below overlays/ that belongs to no job.

    Files that git ignores, and has in no commit, are left out: no pull request brings them.

    Args:
        out: the output folder.
        files: the files, by their paths from the output folder.
        jobs: the names of the jobs with a ledger.
        against: the revision whose root tfgen.yaml lists the exceptions, so that a change cannot except its own files.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git or the disk fails.
    """
    patterns = _exceptions(out, against)
    ignored = git.ignored(out, (CHARTS, OVERLAYS))
    groups: dict[str, list[str]] = {}
    for path in files:
        if path not in ignored and not any(_matches(path, pattern) for pattern in patterns):
            groups.setdefault(_group(path, jobs), []).append(path)
    for group, paths in groups.items():
        subject = "the file" if len(paths) == 1 else f"the {count(len(paths), 'file')} of {group}"
        message = (
            f"no ledger lists {subject}, and whatever applies the folder applies the content too; delete it, or move "
            f"it to objects or patches of the job, or list its path under {KEY} in the {FILE} of the main branch"
        )
        yield Problem(os.path.relpath(out / paths[0]), Position(1, 1), message, UNLISTED)


def _group(path: str, jobs: Container[str]) -> str:
    """Return the folder below overlays/ that a file is reported with, or the path of a file that is reported alone."""
    top, name, *steps = path.split("/")
    is_of_no_job = top == OVERLAYS and steps and name not in jobs and name not in TOOLS
    return f"{top}/{name}" if is_of_no_job else path


def _exceptions(out: Path, against: str) -> list[str]:
    """Return the paths that the root tfgen.yaml of a revision excepts. Without any commit, the file on disk counts."""
    path = out / FILE
    content = git.committed(path, against)
    if content is None and not git.has_commit(out) and path.is_file():
        content = path.read_bytes()
    text = decode(content or b"", FILE)
    documents = parse(text, FILE).documents if isinstance(text, str) else ()
    listed = data_path.at(documents[0].data, (KEY,)) if documents else None
    return [pattern for pattern in listed if isinstance(pattern, str)] if isinstance(listed, list) else []


def _matches(path: str, pattern: str) -> bool:
    """Return whether a pattern covers a file: as a folder that ends with a slash, or as a path with * and ?.

    >>> _matches("overlays/argocd/root.yaml", "overlays/argocd/*.yaml"), _matches("overlays/x/a/b", "overlays/x/")
    (True, True)
    """
    return path.startswith(pattern) if pattern.endswith("/") else fnmatchcase(path, pattern)
