"""``tfgen rename``: rename a job in its file and in the rendered files.

    rename_job(document, "adverts", Path("."), keeps_data=True)
        ->  Rename((), claims=("ads-model",), ends=(JobDiff("ads", ...),), created=52, removed=53)

A renamed job is a new job for the cluster, so its claims have new names, and the new claims are empty. To keep the
data, each volume names the existing claim.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tfgen import data_path
from tfgen.change.comparison import Pair
from tfgen.change.job_diff import JobDiff
from tfgen.check.jobs import check_all
from tfgen.commands.authoring.job_name import check_name
from tfgen.commands.pipeline.job_files import find_job_files
from tfgen.commands.pipeline.removed_jobs import remaining_files
from tfgen.commands.pipeline.run_ends import run_ends
from tfgen.commands.pipeline.track import untracked
from tfgen.commands.render import render_paths
from tfgen.data_path import Path as DataPath
from tfgen.errors import UsageError
from tfgen.job.facts import environments_of, name_of, rendered_branch
from tfgen.job.output_root import output_root
from tfgen.job.sources import read_sources
from tfgen.places import CHARTS, OVERLAYS
from tfgen.problems import Problem, has_errors
from tfgen.record import Record
from tfgen.schema import tunables
from tfgen.text.document import Document
from tfgen.text.edit import REMOVED, Assignment, assign
from tfgen.text.parse import BYTE_ORDER_MARK
from tfgen.tree.disk_file import read_text, replace_text
from tfgen.tree.ledger import ledger_path
from tfgen.tree.plan import ConflictsError
from tfgen.tree.write import read_ledgers

_NAME: Final = ("metadata", "name")


class Rename(Record):
    """The result of a rename.

    Attributes:
        problems: the problems of the renamed job. No file changes if one is an error.
        claims: the claims that the job keeps in use.
        ends: the run that ends, and the claims that stay without use.
        has_runs: whether the job was rendered, here or in another branch, so the name so far may have a run.
        created: the number of new rendered files; None if the job has no rendered files.
        removed: the number of rendered files that are removed.
        remaining: the files in the folders of the name so far, which tfgen did not write.
    """

    problems: tuple[Problem, ...]
    claims: tuple[str, ...] = ()
    ends: tuple[JobDiff, ...] = ()
    has_runs: bool = False
    created: int | None = None
    removed: int = 0
    remaining: tuple[str, ...] = ()


def find_job_file(job: str, out: Path | None) -> Path:
    """Return the one file that has a job of a name.

    Args:
        job: the name.
        out: the output folder; None for the folder that belongs to the working directory.

    Raises:
        UsageError: no file, or more than one file, has such a job.
    """
    files = find_job_files(job, out or output_root(Path()))
    if len(files) != 1:
        owners = (
            f"several files have a job of this name: {', '.join(files)}" if files else "no file has a job of this name"
        )
        raise UsageError(f"{job}: the file does not exist, and {owners}; name the job file")
    return Path(files[0])


def rename_job(document: Document, name: str, out: Path, *, keeps_data: bool) -> Rename:
    """Write the new name of a job into its file, and render the file if the job has rendered files.

    No file changes if there is an error.

    Args:
        document: the job, which has no errors.
        name: the new name.
        out: the output folder.
        keeps_data: whether each volume names the existing claim of the job.

    Raises:
        UsageError: the schema does not allow the name, or the name is in use.
        ConflictsError: somebody edited a rendered file.
        TfgenError: the disk fails, a file is not a ledger, or the job file is written in a way in which another value
            would change as well.
    """
    _check_new_name(document, name, out)
    file = Path(document.file)
    (source,) = read_sources([file])
    before = read_text(file)
    volumes = _volumes(document) if keeps_data else []
    after = assign(before, document, [Assignment(_NAME, name), *_claim_edits(document, volumes)])
    problems = check_all([source.replaced(content=after.removeprefix(BYTE_ORDER_MARK))]).problems
    if has_errors(problems):
        return Rename(problems)
    claims = tuple(_claim(document, volume) for volume in volumes)
    has_runs = name_of(document) in read_ledgers(out) or bool(rendered_branch(document))
    end = run_ends(Pair(document, None)) if has_runs else None
    ends = (end.with_users(dict.fromkeys(claims, name)),) if end else ()
    result = _write(file, before, after, name_of(document), out)
    remaining = remaining_files(out, name_of(document))
    return result.replaced(claims=claims, ends=ends, has_runs=has_runs, remaining=remaining)


def _check_new_name(document: Document, name: str, out: Path) -> None:
    check_name(name, "job name")
    if name == name_of(document):
        raise UsageError(f"{document.place(_NAME)}: the job has the name {name} already")
    if files := find_job_files(name, out):
        raise UsageError(f"{name!r} is the name of a job in {', '.join(files)}; choose another name")
    paths = (ledger_path(name), f"{CHARTS}/{name}", f"{OVERLAYS}/{name}")
    if path := next((path for path in paths if os.path.lexists(out / path)), None):
        raise UsageError(
            f"{name!r}: {os.path.relpath(out / path)} exists already; choose another name, or remove the files of the "
            f"deleted job: tfgen rm {name}"
        )


def _write(file: Path, before: str, after: str, job: str, out: Path) -> Rename:
    """Write the text of a job file, and render the file. If nothing was rendered, write the text before."""
    ledgers = read_ledgers(out)
    replace_text(file, before, after)
    if job not in ledgers:
        return Rename(())
    is_written = False
    try:
        with render_paths([file], out, track=untracked) as written:
            if written.plan is None:
                return Rename(written.problems)
            is_written = True
            return Rename(written.problems, created=len(written.plan.created), removed=len(written.plan.removed))
    except ConflictsError as error:
        raise ConflictsError(error.conflicts, "tfgen render --force") from error
    finally:
        if not is_written and read_ledgers(out) == ledgers:
            replace_text(file, after, before)


def _volumes(document: Document) -> list[str]:
    """List the volumes for which the job makes a claim, in the job or in an environment."""
    spec = document.data["spec"]
    storages = [spec.get("storage", {}), *(_storage(spec, name) for name in environments_of(document))]
    return list(dict.fromkeys(name for storage in storages for name, volume in storage.items() if _makes_claim(volume)))


def _storage(spec: Mapping[str, Any], environment: str) -> Mapping[str, Any]:
    """Return the volumes of an environment."""
    job = tunables.without_environments(spec)
    storage: Mapping[str, Any] = tunables.merge(job, spec["environments"][environment]).get("storage", {})
    return storage


def _makes_claim(volume: Any) -> bool:
    claim = volume.get("claim") if isinstance(volume, dict) else None
    return isinstance(claim, dict) and bool(claim.get("size")) and not claim.get("name")


def _claim(document: Document, volume: str) -> str:
    """Return the name of the claim that a job makes for a volume."""
    return f"{name_of(document)}-{volume}"


def _claim_edits(document: Document, volumes: list[str]) -> Iterator[Assignment]:
    """Yield the changes by which volumes name the claims of the job so far.

    An environment that only changes the size of a claim then has nothing to change.
    """
    spec = document.data["spec"]
    text = document.alone().data
    for volume in volumes:
        of_job = _makes_claim(spec.get("storage", {}).get(volume))
        claim = {"name": _claim(document, volume), **_without_defaults(document, volume)}
        if of_job:
            yield Assignment(("spec", "storage", volume, "claim"), claim)
        for environment in environments_of(document):
            path: DataPath = ("spec", "environments", environment, "storage", volume, "claim")
            if not _makes_claim(_storage(spec, environment).get(volume)):
                continue
            if not of_job:
                yield Assignment(path, claim)
            elif data_path.has(text, path):
                empty = _emptied(text, path)
                text = data_path.without(text, empty)
                yield Assignment(empty, REMOVED)


def _without_defaults(document: Document, volume: str) -> dict[str, None]:
    """Return a null for each default of a claim, since a claim that exists has its size and class already."""
    path = ("spec", "storage", volume, "claim")
    under = data_path.at(document.under.data, path) if document.under else None
    return dict.fromkeys(key for key in under or {} if key != "name")


def _emptied(data: Any, path: DataPath) -> DataPath:
    """Return the path of the largest mapping within an environment that is empty without a key."""
    while len(path) > len(("spec", "environments", "NAME", "storage")) and len(data_path.at(data, path[:-1])) == 1:
        path = path[:-1]
    return path
