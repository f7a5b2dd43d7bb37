"""Jobs into git: checked, rendered and committed, and pushed if asked.

    commit_jobs([Path("jobs/mnist.yaml")], judged, spool, CommitOptions(Path(".")))
        ->  Outcome("1f0c...", "mnist: workers 4 -> 8", ...)

What is committed of a job is what its ledger has, the ledger, and what the job was read from: its own file and all
defaults under it. So a commit never has one without the other.
"""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final

from tfgen.change.committed_jobs import committed_jobs
from tfgen.change.comparison import PairPlaces, pair_jobs
from tfgen.change.job_diff import JobDiff
from tfgen.check.files import Base, compare_files
from tfgen.commands.check_report import Report
from tfgen.commands.commit_check import ProblemsError, check_for_commit
from tfgen.commands.commit_message import commit_message, job_changes
from tfgen.commands.judged_files import JudgedFiles
from tfgen.commands.removed_jobs import find_removed_jobs
from tfgen.commands.removed_sources import removed_sources
from tfgen.commands.replay_jobs import JobReplay
from tfgen.commands.run_ends import find_run_ends
from tfgen.errors import TfgenError, UsageError
from tfgen.git import read as git
from tfgen.git.commit import (
    RefusedError,
    Repository,
    changed,
    check_branch,
    check_files,
    commit,
    drop_branch,
    open_repository,
    start_branch,
    would_change,
)
from tfgen.git.push import RebaseConflictError, Target, find_pushed, push, target
from tfgen.job.sources import no_job_below
from tfgen.places import PROJECTS, REPOSITORY_FILES
from tfgen.problems import Problem
from tfgen.real_path import real_path
from tfgen.record import Record
from tfgen.tree.ledger import Ledger, ledger_path, parse_ledger
from tfgen.tree.plan import ConflictsError, WritePlan
from tfgen.tree.rendering import Rendering
from tfgen.tree.spool import Spool, Spooled
from tfgen.tree.write import apply, plan_write, read_ledgers

_WRITTEN: Final = "tfgen"
"""The word that each file of `tfgen init --repo` has."""
_OTHER_DEFAULTS: Final = "other defaults, rendered files unchanged"
"""The words for a job whose rendered files stay."""


class CommitOptions(Record):
    """What the user chooses of a commit.

    Attributes:
        out: the folder of charts/ and overlays/ beside the jobs.
        message: the commit's, in place of one in words of the jobs.
        branch: a new branch for the commit.
        pushes: whether to push it.
    """

    out: Path
    message: str = ""
    branch: str = ""
    pushes: bool = False


class Outcome(Record):
    """What came of it.

    Attributes:
        commit: the id; empty where there was nothing to commit.
        files: what it changes, from the repository's root.
        branch: the branch that it is on.
        pushed_to: REMOTE/BRANCH; empty where nothing was pushed.
        rendered: what came of it in the branch for charts/ and overlays/ alone; none where they are beside the jobs.
        notes: what the user should know.
        ends: the runs that the commit ends, and the claims that stay.
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


def commit_jobs(jobs: Sequence[Path], judged: JudgedFiles, spool: Spool, options: CommitOptions) -> Outcome:
    """Write what is rendered of the jobs and commit it, and nothing else.

    Args:
        jobs: the files and folders that were named.
        judged: the jobs in them.
        spool: where what is rendered of them waits.
        options: what the user chose.

    Raises:
        ProblemsError: the jobs have errors.
        UsageError: there is no git, repository, branch or remote for it.
        RefusedError: something is under way in the repository, or a hook, the signing program or the remote refuses.
        ConflictsError: a file was edited by hand.
        TfgenError: git or the disk fails.
    """
    out, branch = options.out, options.branch
    before = open_on_branch(out, branch)
    is_new = branch not in ("", before.branch)
    to = target(before.replaced(branch=branch or before.branch)) if options.pushes else None
    work = _plan_work(jobs, judged, spool, out, find_pushed(before, to) if to else "")
    digests, files, others = _files_of_jobs(before, out, work)
    check_files(before, digests, others)
    if to and is_new and not (would_change(before, digests) or changed(before, others)):
        raise UsageError(f"nothing has changed, so there is nothing for a branch {branch}")
    if (plan := apply(work.plan)) is not work.plan:  # another tfgen rendered something meanwhile
        work = work.replaced(plan=plan)
        digests, files, others = _files_of_jobs(before, out, work)
    _check_ledgers(plan, out)

    wanted = changed(before, (*digests, *others))
    if wanted:
        wanted += changed(before, _new_repository_files(before))
    repository = before
    message, written = options.message, ""
    ends = find_run_ends(work.pairs) if wanted else ()
    if wanted:
        message = message or commit_message(job_words(work.pairs, files, wanted, plan.kept))
        repository, written = commit_to_branch(before, branch, wanted, message)
    notes = [*work.report.notes, *(_kept_note(pair) for pair in work.pairs if pair.name in plan.kept)]
    if written and work.report.jobs and (drifted := _files_that_differ(work.report, spool, out)):
        notes.append(f"a hook changed what was rendered: {drifted[0]}")
    if is_new and not wanted:
        to = None  # another process has committed it meanwhile, or a filter of git's makes no difference of it
    if to:
        if sources := push_branch(repository, to).sources:
            notes.append(f"rendered again over {to.remote}/{to.branch}: {', '.join(sorted(sources))}")
        written = written and git.resolved(repository.root)
    return Outcome(
        commit=written,
        message=message,
        files=tuple(wanted),
        branch=repository.branch,
        pushed_to=f"{to.remote}/{to.branch}" if to else "",
        problems=work.report.problems,
        notes=tuple(notes),
        ends=ends,
    )


def push_branch(repository: Repository, to: Target) -> JobReplay:
    """Push the branch that is checked out, and return the replay over the remote branch.

    Raises:
        RefusedError: the remote branch changes the same files. The message lists the commands to continue with.
        ProblemsError: the jobs have errors when merged with the remote branch. The message lists these commands, too.
        TfgenError: git or the disk fails.
    """
    replay = JobReplay()
    try:
        push(repository, to, replay)
    except RebaseConflictError as error:
        raise RefusedError(f"{error}. To continue:\n{_way_on(to)}") from error
    except ProblemsError as error:
        raise ProblemsError(error.problems, f"{error}. To continue:\n{_way_on(to)}") from error
    return replay


def _way_on(to: Target) -> str:
    """List the commands to continue with, one on each line. While the rebase waits, HEAD is the remote branch."""
    steps = (
        f"git pull --rebase {shlex.join((to.remote, to.branch))}",
        "# in each file of yours that git has marked: keep one side, or what is right of both",
        "tfgen render JOB... && tfgen check JOB...  # where that asks for a new run: tfgen rerun JOB, and again",
        "git add JOB... :/.tfgen :/charts :/overlays && git rebase --continue",
        "tfgen commit JOB... --push",
    )
    return "\n".join(f"  {step}" for step in steps)


class _Work(Record):
    """What there is to do: the jobs beside what is committed of them, and what is to be written."""

    report: Report
    pairs: tuple[PairPlaces, ...]
    plan: WritePlan


def open_on_branch(out: Path, branch: str) -> Repository:
    """The repository around the output folder, for a commit to the branch that is checked out or to a new one."""
    repository = open_repository(out)
    if not (branch or repository.branch):
        raise UsageError("no branch is checked out (a detached HEAD): name a new one by --branch")
    if branch:
        check_branch(repository, branch)
    return repository


def _plan_work(jobs: Sequence[Path], judged: JudgedFiles, spool: Spool, out: Path, pushed: str) -> _Work:
    """Check the jobs against HEAD and the last pushed commit, and plan the writes, without writing a file."""
    report = check_for_commit(judged, spool, out, git.HEAD, pushed)
    removed = removed_sources(jobs, git.HEAD)
    matched = pair_jobs(judged.checked, git.HEAD, removed).pairs
    removals = find_removed_jobs(read_ledgers(out).sources, jobs, {job.name for job in report.jobs}, removed)
    if not (matched or removals):
        raise no_job_below(jobs)
    plan = plan_write(
        out, with_removals(report, removals, spool), find_committed=committed_jobs(out, git.HEAD), put=spool.put
    )
    if plan.conflicts:
        raise ConflictsError(plan.conflicts, "tfgen render --force")
    return _Work(report, matched, plan)


def with_removals(report: Report, removals: Iterable[Rendering], spool: Spool) -> Spooled[Rendering]:
    """What is rendered of the jobs of a report, and what is left of the jobs that are gone."""
    return Spooled([*(job.rendering for job in report.jobs), *map(spool.put, removals)])


def _check_ledgers(plan: WritePlan, out: Path) -> None:
    """See that each job has the ledger that its files were worked out by. Raises TfgenError."""
    now = read_ledgers(out)
    planned = (job.rendering.job for job in plan.jobs if now.get(job.rendering.job) != job.after)
    kept = (job for job in plan.kept if now.digests.get(job) != plan.ledgers.digests[job])
    if job := next(chain(planned, kept), None):
        raise TfgenError(f"{ledger_path(job)}: another tfgen rendered {job} meanwhile; run this again")


def _files_of_jobs(
    repository: Repository, out: Path, work: _Work
) -> tuple[dict[str, str | None], dict[str, set[str]], set[str]]:
    """The files of the jobs, from the repository's root.

    Returns:
        The digests of those that are planned, all of each job, and those of which none is planned.
    """
    planned = {job.rendering.job: job.digests for job in work.plan.jobs}
    committed = git.committed_files(out / ledger_path(pair.name) for pair in work.pairs)
    digests: dict[str, str | None] = {}
    files: dict[str, set[str]] = {}
    for pair in work.pairs:
        of_plan = planned.get(pair.name, {})
        now, was = work.plan.ledgers.get(pair.name), committed.get(out / ledger_path(pair.name))
        names = paths_from_root(repository, _files_of_job(out, pair, of_plan, now, was))
        digests |= {names[out / path]: digest for path, digest in of_plan.items() if out / path in names}
        files[pair.name] = {*names.values()}
    others = {path for paths in files.values() for path in paths} - digests.keys()
    return digests, files, others


def _new_repository_files(repository: Repository) -> tuple[str, ...]:
    """The files of `tfgen init --repo` that git does not have yet; a file of that name that is the user's stays out."""
    root = repository.root
    paths = [*REPOSITORY_FILES, *(f"{PROJECTS}/{path.name}" for path in (root / PROJECTS).glob("*.yaml"))]
    present = [path for path in paths if (root / path).is_file()]
    committed = git.committed_files(root / path for path in present) if present else {}
    new = (path for path in present if root / path not in committed)
    return tuple(path for path in new if _WRITTEN in (root / path).read_text(encoding="utf-8", errors="replace"))


def _files_of_job(
    out: Path, pair: PairPlaces, planned: Mapping[str, str | None], now: Ledger | None, committed: bytes | None
) -> set[Path]:
    """The files that one job has once all is written, and those that it had and has lost by then.

    Args:
        out: the output folder.
        pair: the job.
        planned: the digests of its files once all is written, by path, None for no file; nothing where it stays.
        now: its ledger on disk.
        committed: its ledger that is committed.
    """
    stays = now.files if now and not planned else {}
    has_any = bool(stays) or any(planned.values())
    was = _committed_ledger(pair.name, committed)
    lost = {path for path in was.paths() if not (has_any and (out / path).exists())} if was else set()
    return {*(out / path for path in (ledger_path(pair.name), *planned, *stays, *lost)), *source_paths(pair)}


def commit_to_branch(before: Repository, branch: str, paths: Sequence[str], message: str) -> tuple[Repository, str]:
    """Commit to the branch, which is made if it is a new one; gives it, and the commit's id."""
    repository = start_branch(before, branch) if branch else before
    try:
        return repository, commit(repository, paths, message)
    except BaseException:
        drop_branch(before, repository)
        raise


def _files_that_differ(report: Report, spool: Spool, out: Path) -> tuple[Problem, ...]:
    plan = plan_write(out, report.renderings, put=spool.put)
    base = Base(committed_jobs(out, git.HEAD)(plan.ledgers), revision=git.HEAD)
    return compare_files({job.name: job.place for job in report.jobs}, plan, base).problems


def source_paths(pair: PairPlaces) -> set[Path]:
    """The files that a job was and is read from."""
    sources = [place.source for place in (pair.before, pair.after) if place]
    return {Path(one.file) for source in sources for one in (source, *source.layers())}


def _committed_ledger(job: str, content: bytes | None) -> Ledger | None:
    """The ledger that is committed; none where it is broken, since only a commit can mend it."""
    if content is None:
        return None
    with suppress(TfgenError):
        return parse_ledger(job, content.decode("utf-8", errors="replace"))
    return None


def paths_from_root(repository: Repository, paths: Iterable[Path]) -> dict[Path, str]:
    """The paths from the root. It leaves out what is elsewhere: that is another repository's."""
    root = real_path(repository.root)
    # The file itself may be a link, which is what git has of it.
    wholes = {path: real_path(path.parent) / path.name for path in paths}
    return {path: whole.relative_to(root).as_posix() for path, whole in wholes.items() if whole.is_relative_to(root)}


def _kept_note(pair: PairPlaces) -> str:
    """Return the note on a job whose rendered files stay, though this tfgen and the defaults of today render others."""
    file = pair.after.source.file if pair.after else ""
    return (
        f"{pair.name} keeps its rendered files until the job changes; to render it now: tfgen render --upgrade {file}"
    )


def job_words(
    matched: Sequence[PairPlaces],
    files: Mapping[str, set[str]],
    wanted: Sequence[str],
    kept: Container[str] = (),
) -> dict[str, list[str]]:
    """Return the words of the message by job, for the jobs that have a file which changes.

    Args:
        matched: the jobs.
        files: the files of each job.
        wanted: the files that the commit changes.
        kept: the jobs whose rendered files stay, so that only the defaults under the jobs change.
    """
    changes: dict[str, list[str]] = {}
    changed_files = {*wanted}
    for pair in matched:
        touched = files[pair.name] & changed_files
        if not touched:
            continue
        words = job_changes(pair.read())
        if words and pair.name in kept:
            words = [_OTHER_DEFAULTS]
        if words or any(path.endswith(ledger_path(pair.name)) for path in touched):
            changes[pair.name] = words or ["rendered anew"]
    if not changes:
        changes = {pair.name: ["reworded"] for pair in matched if files[pair.name] & changed_files}
    return changes
