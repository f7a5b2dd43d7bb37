"""Steps that `tfgen commit` needs both for job files and for a separate branch of rendered files."""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tfgen.change.comparison import PairPlaces
from tfgen.change.job_diff import JobDiff
from tfgen.commands.git.commit_message import job_changes
from tfgen.commands.git.replay_jobs import JobReplay
from tfgen.commands.pipeline.check_report import Report
from tfgen.errors import UsageError
from tfgen.git.commit import RefusedError, Repository, check_branch, commit, drop_branch, open_repository, start_branch
from tfgen.git.push import NO_BRANCH, RebaseConflictError, Target, push
from tfgen.git.tree import CommitTree
from tfgen.places import EXTENDED_FILES, PROJECTS, REPOSITORY_FILES
from tfgen.problems import Problem, ProblemsError
from tfgen.real_path import real_path
from tfgen.record import Record
from tfgen.tree.ledger import ledger_path
from tfgen.tree.rendering import Rendering
from tfgen.tree.spool import Spool, Spooled

_OTHER_DEFAULTS: Final = "other defaults, rendered files unchanged"
"""Text in the commit message for a job whose defaults changed and whose rendered files did not change."""
_WRITTEN: Final = b"tfgen"
"""Word in each file that `tfgen init --repo` creates, and in the first line that the command adds to other files."""


class CommitOptions(Record):
    """The options of `tfgen commit`.

    Attributes:
        out: the output folder.
        message: the message of the commit; empty for a generated message, such as "mnist: workers 4 -> 8".
        branch: the name of a new branch for the commit; empty for the current branch.
        pushes: whether to push the commit.
    """

    out: Path
    message: str = ""
    branch: str = ""
    pushes: bool = False


class Outcome(Record):
    """The result of `tfgen commit`.

    Attributes:
        commit: the id of the commit; empty if nothing changed.
        files: the paths of the changed files from the root of the repository.
        branch: the branch of the commit.
        pushed_to: REMOTE/BRANCH; empty without a push.
        rendered: the result of the commit to a separate branch for rendered files; None without such a branch.
        notes: messages for the user that are not problems.
        ends: the runs that the commit ends, and the claims that remain in the cluster.
    """

    commit: str
    message: str
    files: tuple[str, ...]
    branch: str
    pushed_to: str
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    rendered: Outcome | None = None
    ends: tuple[JobDiff, ...] = ()


def push_branch(repository: Repository, to: Target) -> JobReplay:
    """Push the branch that is checked out. If the remote branch has new commits, first rebase the local commits.

    Returns:
        The rebase, with the job files that tfgen rendered again.

    Raises:
        RefusedError: the remote branch changes the same files. The message lists the commands to continue.
        ProblemsError: the merged jobs have errors. The message lists the commands to continue.
        TfgenError: git or the disk fails.
    """
    replay = JobReplay()
    try:
        push(repository, to, replay)
    except RebaseConflictError as error:
        raise RefusedError(f"{error}. To continue:\n{_next_steps(to)}") from error
    except ProblemsError as error:
        raise ProblemsError(error.problems, f"{error}. To continue:\n{_next_steps(to)}") from error
    return replay


def _next_steps(to: Target) -> str:
    """List the commands that finish the rebase by hand, with one command on each line."""
    steps = (
        f"git pull --rebase {shlex.join((to.remote, to.branch))}",
        "# resolve the conflicts in your files that git status lists",
        "tfgen render JOB... && tfgen check JOB...  # if check reports new-run: tfgen rerun JOB, and repeat the line",
        "git add JOB... :/.tfgen :/charts :/overlays && git rebase --continue",
        "tfgen commit JOB... --push",
    )
    return "\n".join(f"  {step}" for step in steps)


def open_on_branch(out: Path, branch: str) -> Repository:
    """Open the git repository of `out` for a commit to a branch.

    The branch is the new branch `branch`, or the current branch if `branch` is empty.

    Raises:
        UsageError: the branch is not valid, or no branch is checked out.
    """
    repository = open_repository(out)
    if not (branch or repository.branch):
        raise UsageError(NO_BRANCH)
    if branch:
        check_branch(repository, branch)
    return repository


def all_renderings(report: Report, removals: Iterable[Rendering], spool: Spool) -> Spooled[Rendering]:
    """Return the renderings of all jobs: of the checked jobs, and of the removed jobs.

    A rendering in `removals` has no files, so the write of the rendering deletes the files of the removed job.
    """
    return Spooled([*(job.rendering for job in report.jobs), *map(spool.store, removals)])


def commit_to_branch(before: Repository, branch: str, paths: Sequence[str], message: str) -> tuple[Repository, str]:
    """Commit files to a new branch. If `branch` is empty, commit to the current branch.

    Return the repository on this branch, and the id of the commit. If the commit fails, the new branch is deleted.
    """
    repository = start_branch(before, branch) if branch else before
    try:
        return repository, commit(repository, paths, message)
    except BaseException:
        drop_branch(before, repository)
        raise


def source_paths(pair: PairPlaces) -> set[Path]:
    """Return the paths of a job file and of the tfgen.yaml files with its defaults.

    The result includes the paths of the committed version and of the version on disk.
    """
    sources = [place.source for place in (pair.before, pair.after) if place]
    return {Path(file.file) for source in sources for file in (source, *source.layers())}


def paths_from_root(repository: Repository, paths: Iterable[Path]) -> dict[Path, str]:
    """Return the path from the root of the repository, by given path. Paths outside the repository are left out."""
    root = real_path(repository.root)
    # git stores a link itself, not its target, so only the parent folder is resolved.
    real_paths = {path: real_path(path.parent) / path.name for path in paths}
    return {path: real.relative_to(root).as_posix() for path, real in real_paths.items() if real.is_relative_to(root)}


def repository_files(repository: Repository) -> tuple[str, ...]:
    """Return the uncommitted files that `tfgen init --repo` wrote, as paths from the root of the repository.

    An existing file counts if `tfgen init --repo` only appended lines to the file.
    """
    root = repository.root
    paths = [*REPOSITORY_FILES, *(f"{PROJECTS}/{path.name}" for path in (root / PROJECTS).glob("*.yaml"))]
    present = [path for path in paths if (root / path).is_file()]
    committed = CommitTree().read_all(root / path for path in present) if present else {}
    return tuple(
        path for path in present if _is_from_init((root / path).read_bytes(), path, committed.get(root / path))
    )


def _is_from_init(content: bytes, path: str, committed: bytes | None) -> bool:
    """Return whether the uncommitted content of a file comes from `tfgen init --repo`: a new file, or appended lines.

    Args:
        content: the content of the file on disk.
        path: the path of the file from the root of the repository.
        committed: the committed content, which lacks the appended lines; None for a new file.
    """
    if committed is None:
        return _WRITTEN in content
    if path not in EXTENDED_FILES or not content.startswith(committed):
        return False
    first = content[len(committed) :].lstrip().partition(b"\n")[0]
    return first.startswith(b"#") and _WRITTEN in first


def job_words(
    matched: Sequence[PairPlaces],
    files: Mapping[str, set[str]],
    changed_files: Iterable[str],
    kept_jobs: Container[str] = (),
) -> dict[str, list[str]]:
    """Return the changes of each job in a few words, by name of the job. Jobs without changed files are left out.

    Example: {"mnist": ["workers 4 -> 8 in prod"]}. The commit message contains the result.

    Args:
        matched: the committed and the current version of each job.
        files: the paths of the files of each job, by name of the job.
        changed_files: the paths of the files that the commit changes.
        kept_jobs: the names of the jobs whose defaults changed and whose rendered files did not change.
    """
    changes: dict[str, list[str]] = {}
    changed_paths = {*changed_files}
    for pair in matched:
        touched = files[pair.name] & changed_paths
        if not touched:
            continue
        words = job_changes(pair.read())
        if words and pair.name in kept_jobs:
            words = [_OTHER_DEFAULTS]
        if words or any(path.endswith(ledger_path(pair.name)) for path in touched):
            changes[pair.name] = words or ["rendered again"]
    if not changes:
        changes = {pair.name: ["comments or layout changed"] for pair in matched if files[pair.name] & changed_paths}
    return changes
