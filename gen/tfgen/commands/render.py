"""``tfgen render``: write the rendered files of jobs, or print the objects of jobs."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tfgen.cli.arguments import Watched, flag, jobs_argument, option, path
from tfgen.cli.output import OK, PROBLEMS, print_json, print_message, print_result, problem_text, report, with_progress
from tfgen.errors import Problem, UsageError, has_errors, in_order, stop_at_errors
from tfgen.git.merge import is_under_way
from tfgen.job.sources import no_job_below, output_root_of, read_sources
from tfgen.pipeline.read import check_files, find_cached, find_job_at, find_removed_jobs, last_job_files
from tfgen.pipeline.scope import CheckScope, Track
from tfgen.places import CHARTS
from tfgen.record import Record
from tfgen.tree.ledger import Ledger, LedgerConflictError, ledger_path
from tfgen.tree.plan import FileAction, WritePlan, WriteRequest
from tfgen.tree.staging import Rendering, Staged, Staging
from tfgen.tree.write import apply, plan_write, read_ledgers
from tfgen.words import columns, command_line, count, either

if TYPE_CHECKING:
    from tfgen.pipeline.render import MergedFiles
    from tfgen.targets.gitops import ChangedField
    from tfgen.tree.ledger import Ledgers


EXAMPLE: Final = "tfgen render jobs"
WATCHED: Final = Watched(refuses=("stdout",), writes=True)


def arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser)
    option(parser, "--out", "DIR", "the folder for charts/ and overlays/ (default: the repository)", path)
    flag(parser, "--force", "replace files that were edited by hand")
    flag(
        parser, "--upgrade", "also render unchanged jobs again, if tfgen has a new version or a tfgen.yaml has changed"
    )
    flag(parser, "--stdout", "print the objects and write no files; JOB may be - for standard input")
    option(parser, "--env", "ENV", "with --stdout: the objects of this environment")


def run(args: Namespace) -> int:
    if args.env is not None and not args.stdout:
        raise UsageError("--env needs --stdout; without --stdout, tfgen renders all environments")
    if args.stdout:
        return _print_objects(args)
    track = partial(with_progress, work="rendering")
    with render_paths(args.jobs, args.out, force=args.force, upgrade=args.upgrade, track=track) as written:
        _print_written(args, written)
    return OK


def _print_written(args: Namespace, written: Written) -> None:
    plan = written.plan
    for conflict in plan.lost:
        print_message(f"lost: {conflict.describe_past()}")
    for name in (job.name for job in plan.jobs if job.restarts_revision):
        print_message(
            f"note: the number in the version of {CHARTS}/{name} starts again at 0, because the ledger "
            f"{ledger_path(name)} is missing"
        )
    for name, rendered in plan.kept_jobs.items():
        print_message(f"kept: the files of {name}, {rendered}; add --upgrade to render the job again")
    if written.resolved:
        print_message(f"note: resolved {count(written.resolved, 'merge conflict')} in rendered files")
    if args.format == "json":
        files = {"created": plan.created, "changed": plan.changed, "removed": plan.removed}
        kept = {"unchanged": sorted(plan.unchanged()), "kept": [*plan.kept_jobs]}
        report(args, written.problems, written={**files, **kept})
        return
    report(args, written.problems)
    actions = {"created": FileAction.CREATE, "changed": FileAction.CHANGE, "removed": FileAction.REMOVE}
    numbers = dict.fromkeys(actions, 0)
    for word, action in actions.items():
        for changes in (job.changes(action) for job in plan.jobs):
            print_result("".join(f"{word:<8} {change.path}\n" for change in changes), end="")
            numbers[word] += len(changes)
    numbers["unchanged"] = sum(1 for _ in plan.unchanged())
    print_result(f"{count(written.jobs, 'job')}, ", end="")
    print_result(", ".join(f"{number} {word}" for word, number in numbers.items()), flush=True)
    if written.fields_reset_by_gitops:
        print_message(f"\n{gitops_advice(written.fields_reset_by_gitops)}", end="")
    if sys.stdout.isatty() and any(numbers[word] for word in actions):
        out = ("--out", args.out) if args.out else ()
        steps = {
            command_line("diff", *args.jobs): "print the changes in each environment",
            command_line("check", *args.jobs, *out): "report problems, and changes that need a new run",
            command_line("commit", *args.jobs, *out, "--push"): "commit to git; Argo CD or Flux then applies the files",
        }
        table = columns([("", *step) for step in steps.items()])  # the empty first column indents the table
        print_message(f"\nNext:\n\n{table}".rstrip("\n"))


_MOST: Final = 3
"""Maximum number of jobs that the advice about GitOps names."""


def gitops_advice(jobs: Mapping[str, Sequence[ChangedField]]) -> str:
    """Return a line about the fields that a hand-written Application or Kustomization must ignore.

    The result is empty if no job has such fields.

    Args:
        jobs: the fields that a controller in the cluster changes, by name of the job.
    """
    from tfgen.targets.gitops import REPLICAS  # takes 60 ms, which a job with gitops does not need

    fields = dict.fromkeys(field for of_job in jobs.values() for field in of_job)
    if not fields:
        return ""
    names = [name for name, of_job in jobs.items() if of_job]
    subject = either(names, "and") if len(names) <= _MOST else count(len(names), "job")
    suspended = [(kind, field) for _, kind, field in fields if field != REPLICAS]
    needs = ["set RespectIgnoreDifferences=true"] if len(suspended) < len(fields) else []
    needs += [f"ignore {field} of each {kind}" for kind, field in suspended]
    effects = ["starts the tasks of a finished run again"] if len(suspended) < len(fields) else []
    effects += ["stops a run that has left its queue"] if suspended else []
    return (
        f"note: {subject}: gitops is not set. A hand-written Application must {either(needs, 'and')}; otherwise "
        f"each sync {' and '.join(effects)}. For Flux, and for Argo CD before 3.6: "
        "docs/gitops.md#an-application-or-a-kustomization-of-your-own\n"
    )


def _print_objects(args: Namespace) -> int:
    sources = read_sources(args.jobs, may_be_none=True, takes_stdin=True)
    from tfgen.pipeline.objects import render_sources  # takes 30 ms, which a render to files does not need
    from tfgen.text.yaml_text import documents  # 10 ms

    objects, problems = render_sources(sources, args.env)
    print_message(problem_text(problems, sys.stderr), end="")  # standard output has only the objects
    if has_errors(problems):
        return PROBLEMS
    if args.format == "json":
        print_json(objects)
    else:
        print(documents(objects), end="")
    return OK


class Written(Record):
    """The result of `tfgen render`.

    Attributes:
        problems: the warnings about the jobs.
        plan: the plan of the write.
        jobs: the number of jobs.
        resolved: the number of merge conflicts that the render resolved.
        fields_reset_by_gitops: for each new job without `gitops`, the fields that controllers in the cluster change,
            such as the replicas of a StatefulSet. A GitOps tool with a hand-written Application or Kustomization would
            reset these fields.
    """

    problems: tuple[Problem, ...]
    plan: WritePlan
    jobs: int
    resolved: int
    fields_reset_by_gitops: Mapping[str, Sequence[ChangedField]]


@contextmanager
def render_paths(
    paths: Sequence[Path], out: Path | None, *, force: bool = False, upgrade: bool = False, track: Track
) -> Iterator[Written]:
    """Render the jobs in files and folders, and remove the files of removed jobs.

    Unchanged jobs are not rendered. If a job has errors, nothing is written. The result is valid only within the `with`
    block.

    After a merge, the render resolves conflicts in rendered files.

    Args:
        paths: the files and folders.
        out: the output folder; None for the default folder of the jobs.
        force: whether to replace files that were edited by hand.
        upgrade: whether to render a job again if only the version of tfgen or the defaults changed.
        track: reports the progress.

    Raises:
        UsageError: a path cannot be read, the output folder is ambiguous, a job keeps its files in another branch, or
            the paths contain neither a job nor the files of a removed job and never contained a job.
        ProblemsError: a job has errors.
        ConflictsError: a file was edited by hand, and `force` is false.
        TfgenError: the disk fails.
    """
    sources = read_sources(paths, may_be_none=True)
    has_out_option = out is not None
    out = out or output_root_of(paths, (source.file for source in sources))
    cached = find_cached(sources, out)
    with Staging(out, is_inside=True) as staging:
        results = check_files(sources, cached, staging, CheckScope(stops_at_errors=True, cache_out=out), track)
        problems = [*results.checked.problems]
        if not has_errors(problems):
            for name, file in () if has_out_option else results.rendered.items():
                if branch := next((job.branch for job in file.jobs if job.branch), ""):
                    raise UsageError(
                        f"{name}: charts/ and overlays/ are in the branch {branch} (gitops.rendered), to which only "
                        "tfgen commit writes; to render the files to a folder, add --out DIR"
                    )
            problems += (problem for file in results.rendered.values() for problem in file.object_report.problems)
            problems += (problem for file in cached.values() for problem in file.object_problems)
        stop_at_errors(in_order(problems))
        jobs = {record.job for file in results.checked.files for record in file.result.records}
        ledgers, merge = _read_ledgers(out)
        try:
            removed_files = [] if sources else last_job_files(paths)
            removals = find_removed_jobs(ledgers.sources, paths, jobs, removed_files)
            if not (jobs or removals or removed_files):
                raise no_job_below(paths)
            rendered = (job.rendering for file in results.rendered.values() for job in file.jobs)
            renderings: list[Rendering | Staged[Rendering]] = [*rendered, *removals]
            request = WriteRequest(
                out,
                renderings,
                done=[job for file in cached.values() for job in file.ledgers],
                force=force,
                find_committed=None if upgrade else partial(_committed_jobs, out),
                has_job=find_job_at(source.file for source in sources),
                staging=staging,
            )
            plan = apply(plan_write(request))
        except BaseException:
            if merge:
                merge.undo()
            raise
        resolved = merge.resolve(plan) if merge else 0
        new_jobs = (job for file in results.rendered.values() for job in file.jobs if job.name not in ledgers)
        reset = {job.name: job.fields_reset_by_gitops for job in new_jobs if job.fields_reset_by_gitops}
        yield Written(in_order(problems), plan, len(jobs), resolved, reset)


def _read_ledgers(out: Path) -> tuple[Ledgers, MergedFiles | None]:
    """Read the ledgers of all jobs. During a merge, first resolve the conflicts in the ledgers.

    The second item of the result describes the rendered files with conflicts. Outside a merge, this item is None.

    Raises:
        LedgerConflictError: one of the two versions of a ledger in a merge conflict is invalid.
        TfgenError: git or the disk fails, or a ledger is invalid.
    """
    conflicted: Collection[str] = ()
    try:
        ledgers = read_ledgers(out)
        if not is_under_way(out):
            return ledgers, None
    except LedgerConflictError as error:
        conflicted = error.sources
    from tfgen.pipeline.render import take_over_merge  # takes 20 ms, which only a merge needs

    merge = take_over_merge(out, conflicted)
    return read_ledgers(out), merge


def _committed_jobs(out: Path, ledgers: Mapping[str, Ledger]) -> Set[str]:
    """Return the names of the jobs whose rendered files equal the files in the last commit."""
    from tfgen.change.committed import committed_jobs  # takes 20 ms, which few renders need

    return committed_jobs(out, "HEAD")(ledgers)
