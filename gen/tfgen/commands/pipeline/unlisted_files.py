"""Report files in charts/ and overlays/ that no ledger lists, because Helm and kustomize apply these files, too."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from tfgen import data_path
from tfgen.errors import Position, Problem
from tfgen.git.tree import DISK, CommitTree, has_commit, ignored
from tfgen.job.defaults import FILE
from tfgen.places import CHARTS, OVERLAYS, TOOLS
from tfgen.schema import validate as schema
from tfgen.text.parse import decode, parse
from tfgen.words import count

UNLISTED: Final = "unlisted-file"
KEY: Final = "unlistedFiles"
"""The key in the root tfgen.yaml whose value lists the allowed unlisted files."""

RULES: Final[Mapping[str, str]] = {UNLISTED: "A folder of tfgen contains a file that no ledger lists."}
"""The summary of the rule, which begins the section of the rule in docs/rules.md."""


def report_unlisted(out: Path, files: Sequence[str], jobs: Container[str], against: str) -> Iterator[Problem]:
    """Yield a problem for each unlisted file. A folder below overlays/ that belongs to no job gets a single problem.

    Untracked files that git ignores are left out, because no pull request can add them.

    Args:
        out: the output folder.
        files: the paths of the unlisted files from the output folder.
        jobs: the names of the jobs with a ledger.
        against: the revision whose root tfgen.yaml lists the allowed files, so that a pull request cannot allow its own
            files.

    Raises:
        UsageError: the revision does not exist.
        TfgenError: git or the disk fails.
    """
    patterns = _exceptions(out, against)
    of_git = ignored(out, (CHARTS, OVERLAYS))
    groups: dict[str, list[str]] = {}
    for path in files:
        if path not in of_git and not any(_matches(path, pattern) for pattern in patterns):
            groups.setdefault(_group(path, jobs), []).append(path)
    for group, paths in groups.items():
        subject = "the file" if len(paths) == 1 else f"the {count(len(paths), 'file')} of {group}"
        message = (
            f"no ledger lists {subject}, but Helm, kustomize and GitOps tools apply all files of the folder; delete "
            f"{subject}, or move the content to objects or patches of the job, or list the path under {KEY} in the "
            f"{FILE} of the main branch"
        )
        yield Problem(os.path.relpath(out / paths[0]), Position(1, 1), message, UNLISTED)


def _group(path: str, jobs: Container[str]) -> str:
    """Return the group of files that share a single problem, by the path of the group.

    For a file in a folder `overlays/NAME` without a job NAME, the group is this folder. For any other file, the group
    is the file itself.
    """
    top, name, *steps = path.split("/")
    is_of_no_job = top == OVERLAYS and steps and name not in jobs and name not in TOOLS
    return f"{top}/{name}" if is_of_no_job else path


def _exceptions(out: Path, against: str) -> list[str]:
    """Return the path patterns of the unlisted files that the root tfgen.yaml of a revision allows.

    Without a commit in git, the function reads the tfgen.yaml on disk. An invalid tfgen.yaml allows no file, because
    its patterns may match more files than the schema lets a pattern match.
    """
    path = out / FILE
    content = CommitTree(against).read(path)
    if content is None and not has_commit(out):
        content = DISK.read(path)
    text = decode(content or b"", FILE)
    documents = parse(text, FILE).documents if isinstance(text, str) else ()
    if len(documents) != 1 or schema.check_defaults_alone(documents[0]):
        return []
    patterns: list[str] = data_path.at(documents[0].data, (KEY,)) or []
    return patterns


def _matches(path: str, pattern: str) -> bool:
    """Return whether a pattern matches a file. The pattern is a folder that ends with a slash, or a path with * and ?.

    >>> _matches("overlays/argocd/root.yaml", "overlays/argocd/*.yaml"), _matches("overlays/x/a/b", "overlays/x/")
    (True, True)
    """
    return path.startswith(pattern) if pattern.endswith("/") else fnmatchcase(path, pattern)
