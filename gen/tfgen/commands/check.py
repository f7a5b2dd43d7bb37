"""``tfgen check``: report the problems of jobs and of their rendered files, and the changes that need a new run.

Unchanged jobs use cached results. Changed jobs are fully checked.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tfgen.change.committed import changed_files, committed_jobs, find_committed, jobs_with_changed_overlays
from tfgen.check.checked import CachedFile
from tfgen.check.manifests import read_foreign_manifests
from tfgen.check.repository import check_repository, read_checkout
from tfgen.cli.arguments import Watched, against_argument, flag, jobs_argument, option, out_argument
from tfgen.cli.output import OK, PROBLEMS, print_json, print_message, print_result, problem_text, with_progress
from tfgen.disk_file import read_text, replace_text, repository_root
from tfgen.errors import Problem, UsageError, has_errors, in_order
from tfgen.git.tree import DISK, HEAD, CommitTree, IndexTree, Kind, Tree, is_clean
from tfgen.job.facts import name_of
from tfgen.job.sources import STDIN, Source, no_job_below, output_root_of, read_sources
from tfgen.pipeline.read import (
    FileResults,
    Report,
    check_files,
    find_cached,
    find_loosened_rails,
    find_orphans,
    last_job_files,
)
from tfgen.pipeline.scope import CheckScope, Track, untracked
from tfgen.places import GITHUB_WORKFLOW, GITLAB_PIPELINE
from tfgen.report.problems import as_github, rows
from tfgen.tree.ledger import ledger_path, unlisted_files
from tfgen.tree.staging import Staging
from tfgen.tree.write import read_ledgers
from tfgen.words import count, printable

if TYPE_CHECKING:
    from tfgen.check.fixes import FixedText
    from tfgen.text.document import Document


EXAMPLE: Final = "tfgen check jobs --against origin/main --format github"
FORMATS: Final = ("text", "json", "github", "sarif")
WATCHED: Final = Watched(refuses=("read",), reads_repository=True)


def arguments(parser: ArgumentParser) -> None:
    jobs_argument(parser)
    against_argument(parser)
    flag(
        parser,
        "--changed",
        "skip the checks of objects and rendered files for jobs that are unchanged since the revision of --against",
    )
    flag(parser, "--verify", "render every job and compare the result with the files on disk, without the cache")
    out_argument(parser)
    parser.add_argument(
        "--read",
        choices=("disk", "index", "commit"),
        default="",
        metavar="VERSION",
        help="read the files on disk, in the index of git or in the last commit (disk, index or commit; default: "
        "commit with --verify or another revision if the files on disk equal the commit, otherwise disk)",
    )
    flag(parser, "--no-files", "skip the comparison with rendered files, for a branch without charts/ and overlays/")
    flag(
        parser,
        "--fix",
        "first apply the fixes that messages propose to the job files and to each tfgen.yaml in JOB, if a message "
        "proposes a single edit; show the changes as a diff",
    )
    text = (
        "validate the objects against the schemas of this Kubernetes version, such as 1.33 (needs kubernetes-validate)"
    )
    option(parser, "--kubernetes-version", "VERSION", text)


def run(args: Namespace) -> int:
    if args.verify and (args.changed or args.no_files):
        raise UsageError("--verify compares the files of every job; remove --changed and --no-files")
    fixed = _fix_files(args) if args.fix else []
    report = check_paths(args, partial(with_progress, work="checking"))
    _print(args, report, fixed)
    return PROBLEMS if has_errors(report.problems) else OK


class _Fixed(NamedTuple):
    """A file after the fixes of its problems."""

    file: str
    before: str
    after: str
    fixes: tuple[FixedText, ...]

    @property
    def diff(self) -> str:
        """Return the changes as a unified diff."""
        from difflib import unified_diff  # imported late: a check without --fix saves the 5 ms

        before, after = (text.splitlines(keepends=True) for text in (self.before, self.after))
        name = printable(os.path.relpath(self.file))
        lines = unified_diff(before, after, f"a/{name}", f"b/{name}")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _fix_files(args: Namespace) -> list[_Fixed]:
    """Apply the fixes to each tfgen.yaml in the folders of the command line, the outermost first, then to the jobs."""
    if STDIN in args.jobs:
        raise UsageError("--fix edits files; pass a file or a folder in place of -")
    if args.read in ("index", "commit"):
        raise UsageError(f"--fix edits the files on disk; remove --read {args.read}")
    from tfgen.check.fixes import fix_each  # takes 60 ms, which a check of only cached files saves

    fixed = []
    for file in (*_layers(args.jobs), *(source.file for source in read_sources(args.jobs, may_be_none=True))):
        # Read the file now, because it inherits from a tfgen.yaml that may be fixed.
        source = _layers(args.jobs).get(file) or read_sources([Path(file)])[0]
        text = source.text()
        if isinstance(text, str) and (fixes := (*fix_each(source),)):
            before = read_text(Path(file))
            fixed.append(_Fixed(file, before, f"{before.removesuffix(text)}{fixes[-1].text}", fixes))
            replace_text(Path(file), before, fixed[-1].after)
    return fixed


def _layers(paths: Sequence[Path]) -> dict[str, Source]:
    """Return each tfgen.yaml in the folders in `paths` that applies to a job, the outermost first, by file."""
    folders = [path.resolve() for path in paths if path.is_dir()]
    layers: dict[str, Source] = {}
    for source in read_sources(paths, may_be_none=True):
        layer = source.defaults
        while layer is not None:
            if any(Path(layer.file).resolve().is_relative_to(folder) for folder in folders):
                layers[layer.file] = layer
            layer = layer.defaults
    return dict(sorted(layers.items(), key=lambda item: len(Path(item[0]).resolve().parts)))


def _print(args: Namespace, report: Report, fixed: Sequence[_Fixed]) -> None:
    if args.fix and args.format == "text":
        print_result("".join(file.diff for file in fixed), end="")
    if args.fix:
        number = sum(len(file.fixes) for file in fixed)
        print_message(f"{count(number, 'problem')} fixed in {count(len(fixed), 'file')}")
    match args.format:
        case "json":
            fixes = [
                {"file": file.file, "rule": problem.rule, "message": problem.message, "fix": fix.words}
                for file in fixed
                for problem, fix, _ in file.fixes
            ]
            data = {"problems": rows(report.problems), "notes": report.notes, "read": report.version}
            print_json({**data, **({"fixes": fixes} if args.fix else {})})
        case "sarif":
            from tfgen.report.sarif import sarif  # takes 100 ms, which only SARIF needs

            print_json(sarif(report.problems, report.notes))
        case _:
            is_github = args.format == "github"
            print_result(as_github(report.problems) if is_github else problem_text(report.problems, sys.stdout), end="")
            for note in report.notes:
                print_message(f"note: {note}")
            errors = sum(problem.severity == "error" for problem in report.problems)
            print_message(
                f"{count(errors, 'error')}, {count(len(report.problems) - errors, 'warning')}; "
                f"{count(report.compared, 'job')} compared with {args.against}"
                f"{'' if report.version == DISK.title else f'; read {report.version}'}"
            )


def check_paths(args: Namespace, track: Track = untracked) -> Report:
    """Check the jobs in files and folders.

    Args:
        args: the command line.
        track: reports the progress.

    Raises:
        UsageError: a path cannot be read, the output folder is ambiguous, the revision or the Kubernetes version does
            not exist, or the paths contain neither a job nor the files of a removed job, and never contained a job.
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    paths: Sequence[Path] = args.jobs
    against: str = args.against
    kubernetes_version: str | None = args.kubernetes_version
    tree = _tree_of(args)
    sources = read_sources(paths, tree, may_be_none=True, takes_stdin=True)
    if kubernetes_version is not None:  # raise an error for an unknown version before the slow check of the jobs
        from tfgen.check.object_schemas import ObjectSchemas  # the import takes 20 ms, which most checks save

        ObjectSchemas(kubernetes_version)
    out: Path = args.out or output_root_of(paths, (source.file for source in sources), tree)
    is_stdin = [*paths] == [STDIN]
    uses_cache = not (STDIN in paths or args.no_files or args.verify or kubernetes_version)
    find_manifests = cache(lambda: read_foreign_manifests(out, read_ledgers(out, tree), tree) if sources else ())
    if not is_stdin:  # a job from standard input may have errors, and then needs no manifests
        find_manifests()  # fill the cache here, so that the processes of check_files inherit the cache
    scope = CheckScope(
        tree,
        find_manifests,
        kubernetes_version,
        cache(partial(_unchanged_jobs, sources, out, tree, against)) if args.changed else None,
        cache_out=out if uses_cache else None,
        find_changed=changed_files(out, against, tree),
    )
    cached = _find_unchanged(args, sources, out, scope) if uses_cache else {}
    with Staging(out, is_inside=False) as staging:
        results = check_files(sources, cached, staging, scope, track)
        # The files on disk were not rendered from standard input.
        report = _report(args, results, cached, staging, out, is_written=args.no_files or is_stdin)
    rendered = (job for file in results.rendered.values() for job in file.jobs)
    branches = {job.name: job.branch for job in rendered if job.branch} if args.out is None else {}
    problems = [*report.problems]
    if not is_stdin:
        problems += _check_repository(args, results, out, branches)
    elif not sources:
        raise no_job_below(paths, tree)
    if args.verify and branches:
        from tfgen.commands.git.rendered import verify_rendered  # takes 60 ms, which only check --verify needs

        found, notes = verify_rendered(out, results.checked)
        problems += found
        report = report.replaced(notes=(*report.notes, *notes))
    # The staging folder is removed, so the rendered files of `jobs` can no longer be read.
    return report.replaced(problems=in_order(problems), jobs=(), version=tree.title)


def _check_repository(
    args: Namespace, results: FileResults, out: Path, branches: Mapping[str, str]
) -> tuple[Problem, ...]:
    """Return the problems of files that belong to no checked job, and of files that belong to all jobs."""
    paths: Sequence[Path] = args.jobs
    against: str = args.against
    tree, sources = results.scope.tree, results.checked.sources
    removed = [] if sources else last_job_files(paths)
    problems = tuple(find_orphans(results.checked, paths, out, read_ledgers(out, tree), removed, tree))
    if not args.no_files:
        problems += _unmatched_ledgers(args, results, problems, out, branches)
        checkout = read_checkout(tree, out, paths, sources)
        problems += tuple(check_repository(checkout, against))
        # The files in charts/ or overlays/ that no ledger lists and that the tfgen.yaml in `against` does not allow.
        rendered = (path for path, kind in checkout.rendered.items() if kind is Kind.FILE)
        if files := unlisted_files(rendered, checkout.ledgers):
            from tfgen.pipeline.check import report_unlisted  # takes 20 ms, which few checks need

            problems += tuple(report_unlisted(checkout.out, files, checkout.ledgers, against))
    if not (sources or problems or removed):
        raise no_job_below(paths, tree)
    return (*problems, *find_loosened_rails(paths, sources, against, tree), *_example_installations(out))


def _tree_of(args: Namespace) -> Tree:
    """Return the version of the files to check: of --read, or the last commit or the disk.

    Without --read, a check as in CI, with `--verify` or against a revision other than HEAD, reads the last commit if
    the files on disk equal the last commit. So the check reads the files that GitOps tools read, and not the files that
    a filter of git wrote.
    """
    versions: dict[str, Tree] = {"disk": DISK, "index": IndexTree(), "commit": CommitTree()}
    if args.read:
        return versions[args.read]
    reads_commit = (args.verify or args.against != HEAD) and STDIN not in args.jobs
    places = {path if path.is_dir() else path.parent for path in args.jobs}
    return CommitTree() if reads_commit and all(map(is_clean, places)) else DISK


def _example_installations(out: Path) -> tuple[Problem, ...]:
    """Return a problem for each line of the repository's workflows that installs tfgen from an example host."""
    root = repository_root(out)
    workflows = [root / path for path in (GITHUB_WORKFLOW, GITLAB_PIPELINE)] if root is not None else []
    texts = [(path, path.read_text(encoding="utf-8", errors="replace")) for path in workflows if path.is_file()]
    with_tfgen = [(os.path.relpath(path), text) for path, text in texts if "example" in text]
    if not with_tfgen:
        return ()
    from tfgen.rules.contents import example_installations  # takes 20 ms, which few checks need

    return tuple(problem for file, text in with_tfgen for problem in example_installations(file, text))


def _report(
    args: Namespace,
    results: FileResults,
    cached: Mapping[str, CachedFile],
    staging: Staging,
    out: Path,
    *,
    is_written: bool,
) -> Report:
    """Check the objects and the rendered files of the jobs without cached results, and return the report on all jobs.

    The report includes the cached problems of the other jobs, except with --changed.
    """
    checked = results.checked
    if checked.files and all(file.is_cached for file in checked.files):
        report = Report(checked.problems, (), 0, ())
    else:
        from tfgen.pipeline.check import full_check  # takes 80 ms, which cached files do not need

        report = full_check(
            results, staging, against=args.against, out=out, is_written=is_written, is_verified=args.verify
        )
    unchanged = [cached[file.source.file] for file in checked.valid_files if file.is_cached]
    problems = [problem for file in unchanged for problem in (*file.object_problems, *file.unused)]
    return report.replaced(
        problems=(*report.problems, *(() if args.changed else problems)),
        compared=report.compared + sum(len(file.ledgers) for file in unchanged),
    )


def _unmatched_ledgers(
    args: Namespace, results: FileResults, orphans: Sequence[Problem], out: Path, branches: Mapping[str, str]
) -> tuple[Problem, ...]:
    """Return a problem for each ledger that does not belong in the output folder.

    Such a ledger is about a job that is in no checked file, or about a job whose rendered files have a separate branch.

    With --verify, the function reports all such ledgers. Without --verify, the function reports such a ledger only if
    the files of the job have changed since the revision of --against. For the revision HEAD without --verify, the
    result is empty.

    Args:
        args: the command line.
        results: the results of `check_files`.
        orphans: the problems about removed jobs. A ledger with such a problem gets no second problem.
        out: the output folder.
        branches: the branch for the rendered files of each job with `gitops.rendered`, by the name of the job.
    """
    against: str = args.against
    if against == HEAD and not args.verify:
        return ()
    tree = results.scope.tree
    ledgers = read_ledgers(out, tree)
    names = {name for file in results.checked.files for name in file.result.names}
    reported = {problem.file for problem in orphans}
    unmatched = {
        job
        for job in ledgers
        if (job not in names or job in branches) and os.path.relpath(out / ledger_path(job)) not in reported
    }
    if unmatched and not args.verify:
        unmatched -= committed_jobs(out, against, tree=tree)(ledgers)
    if not unmatched:
        return ()
    from tfgen.pipeline.check import find_unmatched_ledgers  # 20 ms, which few checks need

    reason = f"the files that the ledger lists differ from {against}"
    if args.verify:
        reason = "this ledger lists rendered files of the job"
    return tuple(find_unmatched_ledgers(out, tree, unmatched, names, branches, reason))


def _find_unchanged(args: Namespace, sources: Sequence[Source], out: Path, scope: CheckScope) -> dict[str, CachedFile]:
    """Return the cached results of the job files that need no new check, by the name of the job file.

    Such a job file, its tfgen.yaml files and the overlays of its jobs are the same as in the revision of --against.
    With --changed, the charts and the ledgers of its jobs are the same as well.
    """
    against: str = args.against
    cached = find_cached(sources, out, scope.find_manifests(), scope.tree)
    find_changed = scope.find_changed or changed_files(out, against, scope.tree)
    if cached:
        committed = find_committed([source for source in sources if source.file in cached], against)
        changed_jobs = jobs_with_changed_overlays(find_changed())
        cached = {
            name: file for name, file in cached.items() if name in committed and changed_jobs.isdisjoint(file.ledgers)
        }
    if cached and args.changed:
        unchanged = committed_jobs(out, against, find_changed)(read_ledgers(out, scope.tree))
        cached = {name: file for name, file in cached.items() if file.ledgers.keys() <= unchanged}
    return cached


def _unchanged_jobs(sources: Sequence[Source], out: Path, tree: Tree, against: str) -> Callable[[Document], bool]:
    """Return a function that tests whether a job is unchanged since a revision.

    A job is unchanged if its job file, its defaults and its rendered files are the same as in the revision.
    """
    committed = find_committed(sources, against)
    committed_names = committed_jobs(out, against, tree=tree)(read_ledgers(out, tree))
    return lambda document: document.file in committed and name_of(document) in committed_names
