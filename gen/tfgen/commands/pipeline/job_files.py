"""Find the job file of a job by the name of the job."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from tfgen import data_path
from tfgen.disk_file import whole_path
from tfgen.git.tree import DISK, Tree
from tfgen.job.sources import contains_job, read_sources, root_above
from tfgen.text.parse import MAX_BYTES, decode, parse
from tfgen.tree.ledger import LEDGER_FOLDER


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
        if isinstance(text := source.text(), str) and _has_job(text, job)
    ]
    return [
        str(file.relative_to(working_directory) if file.is_relative_to(working_directory) else file) for file in files
    ]


def has_job(file: Path, job: str, tree: Tree = DISK) -> bool:
    """Return whether a file in a version of the repository contains a job with this name. The job may be invalid.

    Raises:
        TfgenError: git or the disk fails.
    """
    content = None if file.is_dir() else tree.read(file, MAX_BYTES)
    text = decode(content, str(file)) if content and contains_job(content) else None
    return isinstance(text, str) and _has_job(text, job)


def find_job_at(files: Iterable[str], tree: Tree = DISK) -> Callable[[str, str], bool]:
    """Return a function that tests whether a job file that a ledger names still has the job.

    The arguments of the function are the name of the job, and the path of the job file from the root of the repository.

    Args:
        files: the job files of a command. The root of the repository is the root of the first file.
        tree: the version of the files.
    """
    root = next((root_above(Path(file).parent, tree) for file in files), None)
    return lambda job, source: root is not None and has_job(root / source, job, tree)


def _has_job(text: str, job: str) -> bool:
    documents = parse(text, "").documents if job in text else ()
    return any(data_path.at(document.data, ("metadata", "name")) == job for document in documents)
