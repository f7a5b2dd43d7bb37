"""``tfgen commit``: check and render jobs, and commit the job files with the rendered files.

For each job, the commit contains the rendered files, the ledger, the job file and the tfgen.yaml files with the job's
defaults. So no commit contains a job file that does not match the rendered files of the job. With `gitops.rendered`,
the commit contains no rendered file, and `git.rendered` makes a second commit.
"""

from __future__ import annotations

import os
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from tfgen.change.committed import committed_jobs
from tfgen.change.comparison import PairPlaces
from tfgen.check.files import Base, compare_files
from tfgen.check.manifests import read_foreign_manifests
from tfgen.cli.arguments import flag, jobs_argument, option, out_argument
from tfgen.cli.output import (
    OK,
    ended_runs_data,
    print_ended_runs,
    print_json,
    print_message,
    print_result,
    problem_text,
    with_progress,
)
from tfgen.commands.git.message import commit_message, job_words
from tfgen.commands.git.rendered import (
    Branches,
    Outcome,
    Work,
    commit_rendered,
    last_source_commit,
    pairs_at,
    plan_files,
    rendered_branches,
)
from tfgen.commands.git.replay import Replayed, check_for_commit, publish_jobs
from tfgen.disk_file import real_path, whole_path
from tfgen.errors import TfgenError, UsageError
from tfgen.git.commit import (
    GitRefusedError,
    Repository,
    UnderWayError,
    changed,
    check_branch,
    check_paths,
    commit,
    open_repository,
    would_change,
)
from tfgen.git.merge import Operation
from tfgen.git.publish import NO_BRANCH, PushTarget, find_pushed, find_tip, is_remote_tip, target
from tfgen.git.tree import DISK, HEAD, CommitTree, resolved
from tfgen.job.facts import name_of
from tfgen.job.sources import (
    Source,
    contains_job,
    no_job_below,
    output_root_of,
    read_documents,
    read_sources,
    removed_files,
)
from tfgen.pipeline.check import find_run_ends
from tfgen.pipeline.read import check_files, find_job_files
from tfgen.pipeline.scope import CheckScope, Track, untracked
from tfgen.places import CHARTS, EXTENDED_FILES, OVERLAYS, PROJECTS, REPOSITORY_FILES, placeholders
from tfgen.report.problems import rows
from tfgen.tree.ledger import LEDGER_FOLDER, ledger_path, parse_ledger
from tfgen.tree.plan import WritePlan, WriteRequest
from tfgen.tree.staging import Staging
from tfgen.tree.write import apply, plan_write, read_ledgers
from tfgen.words import command_line, count

EXAMPLE: Final = "tfgen commit jobs --push"


def arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser)
    option(parser, "--message", "TEXT", "the commit message (default: a summary of the changes)", default="")
    option(parser, "--branch", "NAME", "commit to a new branch with this name", default="")
    flag(parser, "--push", "push the commit; if the remote branch has new commits, rebase first")
    out_argument(parser)


def run(args: Namespace) -> int:
    sources = read_sources(args.jobs, may_be_none=True)
    out = args.out or output_root_of(args.jobs, (source.file for source in sources))
    outcome = commit_paths(
        args.jobs,
        sources,
        out,
        message=args.message,
        branch=args.branch,
        pushes=args.push,
        has_out_option=args.out is not None,
        track=partial(with_progress, work="checking"),
    )
    if args.format == "json":
        print_json(commit_data(outcome))
    else:
        print_commit(outcome)
    return OK


_WRITTEN: Final = b"tfgen"
"""Word in each file that `tfgen init --repo` creates, and in the first line that the command adds to other files."""


def commit_data(outcome: Outcome) -> dict[str, Any]:
    """Return the result of `tfgen commit` as JSON data."""
    return {
        "commit": outcome.commit or None,
        "message": outcome.message,
        "files": outcome.files,
        "branch": outcome.branch,
        "pushedTo": outcome.pushed_to or None,
        "problems": rows(outcome.problems),
        "notes": outcome.notes,
        "ends": ended_runs_data(outcome.ends),
        **({"rendered": commit_data(outcome.rendered)} if outcome.rendered else {}),
    }


def print_commit(outcome: Outcome) -> None:
    """Print the result of `tfgen commit` as text."""
    print_message(problem_text(outcome.problems, sys.stderr), end="")
    for note in outcome.notes:
        print_message(f"note: {note}")
    outcomes = [item for item in (outcome, outcome.rendered) if item]
    for item in outcomes:
        if item.commit:
            subject = item.message.partition("\n")[0]
            files = count(len(item.files), "file")
            print_result(f"{item.branch} {item.commit[:12]} {subject}\n{files} committed")
    print_ended_runs(outcome.ends)
    if not any(item.commit for item in outcomes):
        print_result("nothing to commit: the committed files are up to date")
    for item in outcomes:
        if item.pushed_to:
            print_result(f"pushed to {item.pushed_to}")


def commit_paths(
    jobs: Sequence[Path],
    sources: Sequence[Source],
    out: Path,
    *,
    message: str = "",
    branch: str = "",
    pushes: bool = False,
    has_out_option: bool = False,
    track: Track = untracked,
) -> Outcome:
    """Check and render jobs, and commit the job files and the rendered files.

    The rendered files go to the branch of the job files, or to the branch that `gitops.rendered` names.

    Args:
        jobs: the files and folders of the command line.
        sources: the job files in these files and folders.
        out: the output folder.
        message: the message of the commit; empty for a generated message, such as "mnist: workers 4 -> 8".
        branch: the name of a new branch for the commit; empty for the current branch.
        pushes: whether to push the commit.
        has_out_option: whether the user passed `--out`. If so, tfgen ignores `gitops.rendered` of the jobs.
        track: reports the progress.

    Raises:
        ProblemsError: the jobs have errors.
        UsageError: git, the repository, the branch or the remote does not exist, or the jobs name different branches
            for their rendered files.
        GitRefusedError: the repository is in a merge or rebase, or a hook, the signing program or the remote refuses.
        ConflictsError: a file was edited by hand.
        TfgenError: git or the disk fails.
    """
    find_manifests = cache(lambda: read_foreign_manifests(out, read_ledgers(out)))
    if sources:
        # An error of the manifests matters only for a valid job. For a valid job, the next call raises the error again.
        with suppress(TfgenError):
            find_manifests()  # fill the cache here, so that the processes of check_files inherit the cache
    # All files stay staged after the write. A push may write them again on top of another commit, and a git hook may
    # change the files on disk, which the command then compares with the rendered files.
    with Staging(out, is_inside=False, has_all=True) as staging:
        results = check_files(sources, {}, staging, CheckScope(find_manifests=find_manifests), track)
        branches = None if has_out_option else rendered_branches(jobs, results.checked)
        work = Work(jobs, results, staging, out, message, branch, pushes)
        try:
            return _commit_with_files(work) if branches is None else _commit_without_files(work, branches)
        except UnderWayError as error:
            raise GitRefusedError(f"{error}. {_operation_steps(error.operation, jobs, out)}") from error


def _operation_steps(operation: Operation, jobs: Sequence[Path], out: Path) -> str:
    """Return the commands that finish or abort a git operation, such as a merge, one on each line.

    The commands that finish the operation also render the jobs again.
    """
    folders = [path for name in (LEDGER_FOLDER, CHARTS, OVERLAYS) if (path := out / name).is_dir()]
    steps = (
        "# resolve the conflicts in the files that git status lists, except rendered files",
        *([command_line("render", *jobs)] if folders else []),
        "git add --update :/",
        f"git add {shlex.join(os.path.relpath(path) for path in (*jobs, *folders))}",
        operation.finish,
    )
    lines = "".join(f"  {step}\n" for step in steps)
    return f"To finish:\n{lines}To abort: {operation.abort}"


def _commit_with_files(work: Work) -> Outcome:
    """Write the rendered files of the jobs, and commit only the rendered files and the job files."""
    out, branch = work.out, work.branch
    before = _open(work)
    is_new = branch not in ("", before.branch)
    to = target(before.replaced(branch=branch or before.branch)) if work.pushes else None
    report = check_for_commit(work.results, work.staging, out, HEAD, find_pushed(before, to) if to else "")
    pairs = _pairs(work)
    planned = plan_files(work, out, report, pairs, HEAD, "tfgen render --force")
    digests, files = _files_of_jobs(before, out, pairs, planned)
    unplanned = {path for paths in files.values() for path in paths} - digests.keys()
    check_paths(before, digests, unplanned)
    if to and is_new and not (would_change(before, digests) or changed(before, unplanned)):
        raise UsageError(f"nothing has changed, so tfgen does not create the branch {branch}")
    if (plan := apply(planned)) is not planned:  # a second tfgen process has rendered a job since the plan
        digests, files = _files_of_jobs(before, out, pairs, plan)
        unplanned = {path for paths in files.values() for path in paths} - digests.keys()
    _check_ledgers(plan, out)
    paths = changed(before, (*digests, *unplanned))
    repository, outcome = _commit(before, work, pairs, files, paths, plan.kept_jobs)
    notes = [*report.notes]
    for pair in pairs:
        if pair.name in plan.kept_jobs:
            file = pair.after.source.file if pair.after else ""
            command = command_line("render", "--upgrade", file)
            notes.append(f"{pair.name} keeps its rendered files until the job changes; to render the job: {command}")
    if outcome.commit and report.jobs:
        again = plan_write(WriteRequest(out, report.renderings, staging=work.staging))
        base = Base(committed_jobs(out, HEAD)(again.ledgers), revision=HEAD)
        if drifted := compare_files({job.name: job.place for job in report.jobs}, again, base).problems:
            notes.append(f"a git hook changed a rendered file: {drifted[0]}")
    if is_new and not paths:
        to = None  # another process has committed the change, or a git filter removed the difference
    return _push(repository, to, outcome.replaced(problems=report.problems, notes=tuple(notes)))[0]


def _pairs(work: Work) -> tuple[PairPlaces, ...]:
    """Return the committed and the current version of each job. The commit includes the files of both versions.

    So the commit removes the former file of a moved job, even if the command line lacks this file.

    Raises:
        GitRefusedError: the command line lacks the former file of a moved job, and this file has or had other jobs. A
            commit of this file would then commit more than the move of the job.
    """
    pairs = pairs_at(work.jobs, work.results.checked, HEAD)
    passed = {*(source.file for source in work.results.checked.sources), *removed_files(work.jobs, CommitTree())}
    names = {pair.name for pair in pairs}
    for pair in pairs:
        if not (pair.before and pair.after) or pair.before.source.file in passed | {pair.after.source.file}:
            continue
        former, file = pair.before.source.file, pair.after.source.file
        others = [name for job in read_documents(pair.before.source) if (name := name_of(job)) not in names]
        if others or contains_job(DISK.read(Path(former)) or b""):
            files = chain((former,), *(find_job_files(name, work.out) for name in others))
            paths = {whole_path(path): path for path in (*work.jobs, *map(Path, files))}
            raise GitRefusedError(
                f"{file}: the job {pair.name} moved from {former} to {file}, so a commit of {file} alone would leave "
                f"the job in both files; to commit all changes of the files: {command_line('commit', *paths.values())}"
            )
    return pairs


def _check_ledgers(plan: WritePlan, out: Path) -> None:
    """Raise TfgenError if another process has changed a ledger after tfgen planned the write."""
    now = read_ledgers(out)
    planned = (job.name for job in plan.jobs if now.get(job.name) != job.plan.after)
    unrendered = (job for job in plan.kept_jobs if now.digests.get(job) != plan.ledgers.digests[job])
    if job := next(chain(planned, unrendered), None):
        raise TfgenError(f"{ledger_path(job)}: another tfgen process rendered {job}; run the command again")


def _files_of_jobs(
    repository: Repository, out: Path, pairs: Sequence[PairPlaces], plan: WritePlan
) -> tuple[dict[str, str | None], dict[str, set[str]]]:
    """Return the files of a commit, including the files that the write removes.

    The paths are relative to the root of the repository. The first mapping has the digest of each file that the plan
    writes, or None for a file that the plan removes. The second mapping has the paths of all files of each job, by name
    of the job.
    """
    planned = {job.name: job.plan.digests for job in plan.jobs}
    committed = CommitTree().read_all(out / ledger_path(pair.name) for pair in pairs)
    digests: dict[str, str | None] = {}
    by_job: dict[str, set[str]] = {}
    for pair in pairs:
        ledger, of_plan, now = ledger_path(pair.name), planned.get(pair.name, {}), plan.ledgers.get(pair.name)
        stays = now.files if now and not of_plan else {}
        has_any = bool(stays) or any(of_plan.values())
        lost: set[str] = set()
        with suppress(TfgenError):  # the new commit replaces an invalid ledger
            was = parse_ledger(pair.name, (committed.get(out / ledger) or b"").decode("utf-8", errors="replace"))
            lost = {path for path in was.paths() if not (has_any and (out / path).exists())}
        paths = {out / path for path in (ledger, *of_plan, *stays, *lost, *placeholders(lost))}
        names = _paths_from_root(repository, paths | _source_paths(pair))
        digests |= {names[out / path]: digest for path, digest in of_plan.items() if out / path in names}
        by_job[pair.name] = {*names.values()}
    return digests, by_job


def _commit_without_files(work: Work, branches: Branches) -> Outcome:
    """Commit the job files to their branch, and commit the rendered files to the branch of rendered files."""
    jobs, staging, out, branch = work.jobs, work.staging, work.out, work.branch
    before = _open(work, branches.source)
    is_tip = not (branch or before.branch)
    name = branches.source if is_tip else branch or before.branch
    if branches.rendered in (name, branches.source):
        raise UsageError(
            f"gitops.rendered: the branch {branches.rendered} contains the job files; choose a different branch"
        )
    to = target(before.replaced(branch=name)) if work.pushes and not is_tip else None
    to_rendered = target(before.replaced(branch=branches.rendered)) if work.pushes else None
    is_rendered = name == branches.source
    since = last_source_commit(before, find_tip(before, branches.rendered, to_rendered)) if is_rendered else HEAD
    report = check_for_commit(work.results, staging, out, since, find_pushed(before, to) if to else "")
    pairs = _pairs(work)
    if not (is_rendered or pairs):
        raise no_job_below(jobs)
    files = {pair.name: {*_paths_from_root(before, _source_paths(pair)).values()} for pair in pairs}
    names = {path for paths in files.values() for path in paths}
    check_paths(before, {}, names)
    paths = changed(before, names)
    if branch not in ("", before.branch) and not paths:
        raise UsageError(f"nothing has changed, so tfgen does not create the branch {branch}")
    if paths and is_tip:
        raise UsageError(f"no branch is checked out (a detached HEAD), and {paths[0]} has changes; check out a branch")
    repository, outcome = _commit(before, work, pairs, files, paths)
    outcome, replayed = _push(repository, to, outcome)
    if replayed and is_rendered:
        sources = read_sources(jobs, may_be_none=True)
        work = work.replaced(results=check_files(sources, {}, staging, work.results.scope, untracked))
        report = check_for_commit(work.results, staging, out, since)
    outcome = outcome.replaced(problems=report.problems, notes=(*report.notes, *outcome.notes))
    if not is_rendered:
        note = (
            f"the branch {branches.rendered} has only rendered files of the branch {branches.source} (gitops.branch), "
            f"so tfgen did not render the branch {name}"
        )
        return outcome.replaced(notes=(*outcome.notes, note))
    return outcome.replaced(rendered=commit_rendered(before, branches.rendered, to_rendered, work, report, since))


def _open(work: Work, source_branch: str = "") -> Repository:
    """Open the git repository for a commit to the new branch or to the current branch.

    No branch needs to be checked out if HEAD is the last commit of the remote branch `source_branch`.

    Raises:
        UsageError: the branch is not valid, or no branch is checked out.
    """
    repository = open_repository(work.out)
    if work.branch:
        check_branch(repository, work.branch)
    elif not (repository.branch or (source_branch and is_remote_tip(repository, source_branch))):
        raise UsageError(NO_BRANCH)
    return repository


def _commit(
    before: Repository,
    work: Work,
    pairs: Sequence[PairPlaces],
    files: Mapping[str, set[str]],
    paths: Sequence[str],
    kept_jobs: Collection[str] = (),
) -> tuple[Repository, Outcome]:
    """Commit the changed files `paths`, and the files of `tfgen init --repo`. Without changed files, commit nothing.

    `files` has the paths of the files of each job. The jobs `kept_jobs` have new defaults, but keep their rendered
    files.
    """
    if not paths:
        return before, Outcome("", work.message, (), before.branch)
    paths = [*paths, *changed(before, _repository_files(before))]
    message = work.message or commit_message(job_words(pairs, files, paths, kept_jobs))
    ends = find_run_ends(pairs)
    repository, written = commit(before, paths, message, work.branch)
    return repository, Outcome(written, message, tuple(paths), repository.branch, ends=ends)


def _push(repository: Repository, to: PushTarget | None, outcome: Outcome) -> tuple[Outcome, Replayed | None]:
    """Push the branch that is checked out, and return the result with the replay. If `to` is None, push nothing."""
    if to is None:
        return outcome, None
    replayed, notes, commit = publish_jobs(repository, to), outcome.notes, outcome.commit
    if replayed and replayed.sources:
        again = ", ".join(sorted(replayed.sources))
        notes = (*notes, f"rebased the commit on {to}, and rendered the merged job files again: {again}")
    if replayed and replayed.is_empty:
        commit = ""
    elif commit:
        commit = resolved(repository.root)
    return outcome.replaced(commit=commit, pushed_to=str(to), notes=notes), replayed


def _source_paths(pair: PairPlaces) -> set[Path]:
    """Return the paths of a job file and of the tfgen.yaml files with its defaults.

    The result includes the paths of the committed version and of the version on disk.
    """
    sources = [place.source for place in (pair.before, pair.after) if place]
    return {Path(file.file) for source in sources for file in (source, *source.layers())}


def _paths_from_root(repository: Repository, paths: Iterable[Path]) -> dict[Path, str]:
    """Return the path from the root of the repository, by given path. Paths outside the repository are left out."""
    root = real_path(repository.root)
    # git stores a link itself, not its target, so only the parent folder is resolved.
    real_paths = {path: real_path(path.parent) / path.name for path in paths}
    return {path: real.relative_to(root).as_posix() for path, real in real_paths.items() if real.is_relative_to(root)}


def _repository_files(repository: Repository) -> list[str]:
    """Return the uncommitted files that `tfgen init --repo` wrote, as paths from the root of the repository.

    An existing file counts if `tfgen init --repo` only appended lines to the file.
    """
    root = repository.root
    paths = [*REPOSITORY_FILES, *(f"{PROJECTS}/{path.name}" for path in (root / PROJECTS).glob("*.yaml"))]
    present = [path for path in paths if (root / path).is_file()]
    committed = CommitTree().read_all(root / path for path in present) if present else {}
    from_init = []
    for path in present:
        content, before = (root / path).read_bytes(), committed.get(root / path)
        if before is None:
            is_from_init = _WRITTEN in content
        else:
            first = content[len(before) :].lstrip().partition(b"\n")[0]
            is_appended = path in EXTENDED_FILES and content.startswith(before)
            is_from_init = is_appended and first.startswith(b"#") and _WRITTEN in first
        from_init += [path] if is_from_init else []
    return from_init
