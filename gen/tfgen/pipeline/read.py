"""Find and read job files: of jobs by name, of removed jobs, and of jobs whose results are in the cache.

`check_files` checks and renders the files without cached results in parallel processes. The rendered files go to a
staging folder, so that memory use remains low.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tfgen.check.checked import CachedFile, Checked, CheckedFile, from_cache, read_cached_files
from tfgen.check.jobs import Checker, check_all
from tfgen.check.manifests import Manifest
from tfgen.disk_file import whole_path
from tfgen.errors import Position, Problem, UsageError
from tfgen.git.history import before_removals
from tfgen.git.tree import DISK, HEAD, CommitTree, Tree, by_repository, has_commit
from tfgen.job.facts import name_of
from tfgen.job.sources import (
    FILE,
    Source,
    has_job,
    read_files,
    read_sources,
    removed_files,
    root_above,
    source_name,
    text_has_job,
)
from tfgen.pipeline.scope import CheckScope, Track
from tfgen.places import CHARTS, OVERLAYS
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.tree.files import FileTree
from tfgen.tree.ledger import LEDGER_FOLDER, Ledgers, ledger_path, parse_ledger
from tfgen.tree.staging import Rendering, Staged, Staging
from tfgen.tree.write import find_unchanged
from tfgen.words import command_line, printable

if TYPE_CHECKING:
    from tfgen.pipeline.render import RenderedFile, RenderedJob


def find_job_files(job: str, out: Path, tree: Tree = DISK) -> list[str]:
    """Return the paths of the files in the repository that contain a job with this name, in a version of the files.

    A path below the working directory is relative. Any other path is absolute.
    """
    out, working_directory = whole_path(out), Path.cwd()
    roots = [folder for folder in (out, *out.parents) if (folder / ".git").exists()]
    if (out / LEDGER_FOLDER).is_dir():
        roots.append(out)
    if not roots:  # outside a repository, the folder may be a home folder, which takes long to read
        return []
    files = [
        Path(source.file)
        for source in read_sources(roots[:1], tree, may_be_none=True)
        if isinstance(text := source.text(), str) and text_has_job(text, job)
    ]
    return [
        str(file.relative_to(working_directory) if file.is_relative_to(working_directory) else file) for file in files
    ]


def find_job_at(files: Iterable[str], tree: Tree = DISK) -> Callable[[str, str], bool]:
    """Return a function that tests whether a job file that a ledger names still has the job.

    The arguments of the function are the name of the job, and the path of the job file from the root of the repository.

    Args:
        files: the job files of a command. The root of the repository is the root of the first file.
        tree: the version of the files.
    """
    root = next((root_above(Path(file).parent, tree) for file in files), None)
    return lambda job, source: root is not None and has_job(root / source, job, tree)


_NAME: Final = re.compile(r"[a-z0-9-]+")
_COMMITS: Final = 50
"""Maximum number of commits with deletions that tfgen searches for the last jobs of a folder."""


def removal(job: str) -> Rendering:
    """Return a rendering without files for a job. A write of this rendering removes all files of the job."""
    return Rendering(job, FileTree({}), "")


def remaining_files(out: Path, job: str) -> tuple[str, ...]:
    """Return the files that remain in the chart and overlay folders of a removed job.

    The paths are relative to the working directory.
    """
    folders = (out / CHARTS / job, out / OVERLAYS / job)
    files = (path for folder in folders for path in sorted(folder.rglob("*")) if path.is_symlink() or path.is_file())
    return tuple(os.path.relpath(path) for path in files)


def find_removed_job(job: str, out: Path) -> Document:
    """Return the last version of a job that was removed from the repository.

    The ledger of the job names the job file. The ledger and the job file are on disk, in HEAD, or in the commit before
    their deletion.

    Args:
        job: the name of the job.
        out: the output folder, which contains the ledgers.

    Raises:
        UsageError: a job file contains the job, or neither the disk nor git has a version of the job.
        TfgenError: git or the disk fails, or the ledger is not valid.
    """
    if files := find_job_files(job, out):
        raise UsageError(f"{job}: {', '.join(files)} has the job; pass the path of the file")
    path = out / ledger_path(job)
    for revision in _revisions(path) if _NAME.fullmatch(job) else ():
        ledger = CommitTree(revision).read(path) if revision else path.read_bytes()
        source = "" if ledger is None else parse_ledger(job, ledger.decode("utf-8", "replace")).source
        if source and (document := next(versions_of_job(job, Path(os.path.relpath(out / source))), None)):
            return document
    raise UsageError(f"{job}: the file does not exist, and git has no removed job with this name")


def find_last_jobs(path: Path) -> tuple[Document, ...]:
    """Return the removed jobs at or below a path, from the last commit that has such jobs; empty without such a commit.

    Raises:
        TfgenError: git or the disk fails.
    """
    for revision in _revisions(path, most=_COMMITS):
        tree = CommitTree(revision)
        sources = read_files(removed_files([path], tree), tree) if revision else ()
        if documents := check_all(sources, is_guarded=False).documents:
            return documents
    return ()


def last_job_files(paths: Iterable[Path]) -> list[str]:
    """Return the files of the removed jobs that `find_last_jobs` finds at or below the paths.

    Raises:
        TfgenError: git or the disk fails.
    """
    return [document.file for path in paths for document in find_last_jobs(path)]


def versions_of_job(job: str, file: Path) -> Iterator[Document]:
    """Yield the valid versions of a job in a job file, the newest first.

    The versions are the file on disk, the file in HEAD, and the file in the commit before the deletion of the file.
    """
    for revision in _revisions(file):
        sources = read_files([str(file)], CommitTree(revision)) if revision else read_sources([file])
        for document in check_all(sources, is_guarded=False).documents:
            if name_of(document) == job:
                yield document


def _revisions(file: Path, most: int = 1) -> Iterator[str]:
    """Yield the revisions that may have a file or folder, the newest first. The empty text stands for a file on disk.

    `most` is the maximum number of commits before a deletion.
    """
    if file.is_file():
        yield ""
    place = file.absolute()
    folder = next(parent for parent in (place, *place.parents) if parent.is_dir())
    if has_commit(folder):
        yield from (HEAD, *before_removals(file, most))


def find_removed_jobs(
    sources: Mapping[str, str], paths: Iterable[Path], names: Collection[str], deleted_files: Collection[str] = ()
) -> list[Rendering]:
    """Return the removal of each rendered job that is no longer in the given files and folders.

    A removal is a rendering without files, as `removal` returns.

    Args:
        sources: the job file of each rendered job, by the name of the job.
        paths: the files and folders, which may be deleted.
        names: the names of the jobs in the files and folders.
        deleted_files: the paths of job files that a commit contains and that are deleted on disk.

    Raises:
        UsageError: a path does not exist, and never contained a job.
    """
    path_by_source = {source_name(path): path for path in paths}
    for prefix, path in path_by_source.items():
        had_job = any(_covers(prefix, source) for source in sources.values()) or any(
            Path(file).is_relative_to(path) for file in deleted_files
        )
        if not (path.exists() or had_job):
            raise UsageError(f"{printable(str(path))}: No such file or directory")
    removed = []
    for job, source in sorted(sources.items()):
        covering = (item for item in path_by_source.items() if source and _covers(item[0], source))
        if job not in names and (found := next(covering, None)):
            prefix, path = found
            # The search in a folder skips a hidden file. The jobs of a file that exists are not removed.
            if not has_job(path / os.path.relpath(source, prefix), job):
                removed.append(removal(job))
    return removed


def _covers(prefix: str, source: str) -> bool:
    """Return whether `prefix` is the job file `source`, or a folder that contains the job file."""
    return prefix in (".", source) or source.startswith(f"{prefix}/")


ORPHAN: Final = "orphan"

RULES: Final[Mapping[str, str]] = {
    ORPHAN: "The rendered files of a job remain in the repository, but no job file contains the job."
}
"""The summary of the rule, which begins the section of the rule in docs/rules.md."""


def find_orphans(
    checked: Checked,
    paths: Sequence[Path],
    out: Path,
    ledgers: Ledgers,
    removed_files: Collection[str] = (),
    tree: Tree = DISK,
) -> Iterator[Problem]:
    """Yield a problem for each job that was rendered from the paths and that is no longer in any job file.

    A job file with errors may still contain the job, so a job of such a file is not reported.

    Args:
        checked: the jobs in the files and folders.
        paths: the files and folders, which may be deleted.
        out: the output folder.
        ledgers: the ledgers of the output folder.
        removed_files: the paths of removed job files, as `last_job_files` returns.
        tree: the version of the files.

    Raises:
        UsageError: a path does not exist, and no job was rendered from this path.
        TfgenError: the disk cannot be read.
    """
    names = {name for file in checked.files for name in file.result.names}
    broken = {source_name(Path(problem.file)) for problem in checked.problems if problem.severity == "error"}
    for removed in find_removed_jobs(ledgers.sources, paths, names, removed_files):
        source = ledgers.sources[removed.job]
        if source not in broken and not find_job_files(removed.job, out, tree):
            message = (
                f"{source} no longer has the job {removed.job}, but GitOps tools still apply its rendered files; to "
                f"remove the files: {command_line('rm', removed.job)}; to keep the job, restore the job in {source}"
            )
            yield Problem(os.path.relpath(out / ledger_path(removed.job)), Position(1, 1), message, ORPHAN)


def find_loosened_rails(
    paths: Iterable[Path], sources: Sequence[Source], against: str, tree: Tree = DISK
) -> tuple[Problem, ...]:
    """Return a problem for each guard rail that is weaker in a tree than in a commit.

    Args:
        paths: files and folders. The check reads each tfgen.yaml in the repositories that contain the paths.
        sources: the job files. The check also reads the untracked tfgen.yaml files of these jobs.
        against: the commit.
        tree: the version of the tfgen.yaml files.

    Raises:
        UsageError: a tfgen.yaml cannot be read.
        TfgenError: git or the disk fails.
    """
    layers = {Path(layer.file) for source in sources for layer in source.layers()}
    problems: tuple[Problem, ...] = ()
    before = CommitTree(against)
    new = by_repository(path for path in layers if before.kind(path) is None)
    for root in by_repository([path / FILE for path in paths]):
        if not has_commit(root):
            continue  # without a base of comparison, no guard rail is weaker
        files = tree.changed(root, against) | {*new.get(root, {}).values()}
        if any(Path(name).name == FILE for name in files):
            from tfgen.rails.versions import find_loosenings  # takes 20 ms, which few changes need

            problems += tuple(find_loosenings(root, files, against, tree))
    return problems


class Report(Record):
    """The report of a check.

    Attributes:
        problems: the problems, in order.
        notes: messages that are not problems, for example about a check that was skipped.
        compared: the number of jobs that were compared with the committed jobs.
        jobs: the valid jobs. `tfgen check` returns a report without jobs, because the staging folder with the
            rendered files of the jobs is then removed.
        version: the version of the files that `tfgen check` read, such as "the commit HEAD".
    """

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    compared: int
    jobs: tuple[RenderedJob, ...]
    version: str = ""

    @property
    def renderings(self) -> Sequence[Staged[Rendering]]:
        """The rendered files of the jobs."""
        return [job.rendering for job in self.jobs]


def find_cached(
    sources: Iterable[Source], out: Path, manifests: Sequence[Manifest] = (), tree: Tree = DISK
) -> dict[str, CachedFile]:
    """Return the cached results of the job files whose rendered files are unchanged, by the name of the job file.

    Args:
        sources: the job files with their defaults.
        out: the output folder.
        manifests: the hand-written manifests of the repository, such as quotas.
        tree: the version of the rendered files.

    Raises:
        TfgenError: the disk cannot be read.
    """
    files = read_cached_files(sources, manifests)
    unchanged = find_unchanged(out, [ledger for file in files.values() for ledger in file.ledgers.items()], tree)
    return {name: file for name, file in files.items() if file.ledgers.items() <= unchanged}


class FileResults(Record):
    """The results of `check_files`.

    Attributes:
        checker: the `Checker` that checked the files. A second check with this checker reads no tfgen.yaml again.
        checked: the check results of all files.
        rendered: the result of the render of each job file that was not in the cache, by the name of the job file.
        scope: the settings of the check.
    """

    checker: Checker
    checked: Checked
    rendered: Mapping[str, RenderedFile]
    scope: CheckScope


def check_files(
    sources: Sequence[Source], cached: Mapping[str, CachedFile], staging: Staging, scope: CheckScope, track: Track
) -> FileResults:
    """Check job files, and render the files that are not in the cache.

    Args:
        sources: the job files.
        cached: the cached results, by the name of the job file.
        staging: receives the rendered files.
        scope: the settings of the check.
        track: reports the progress.

    Raises:
        TfgenError: the disk fails.
    """
    checker = Checker()
    changed = [source for source in sources if source.file not in cached]
    rendering: Iterable[tuple[str, RenderedFile]] = ()
    if changed:
        from tfgen.pipeline.render import render_files  # takes 60 ms, which cached files do not need

        rendering = render_files(checker, staging, changed, scope)
    files = dict(track(rendering, len(changed)))
    rendered = {source.file: files[source.file] for source in changed}
    checked = checker.check_together(
        CheckedFile(source, rendered[source.file].result)
        if source.file in rendered
        else from_cache(source, cached[source.file])
        for source in sources
    )
    return FileResults(checker, checked, rendered, scope)
