"""``tfgen rename``: rename a job in its file and in the rendered files.

For the cluster, a renamed job is a new job, so its claims have new names and are empty. To keep the data, each volume
must name the existing claim.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tfgen import data_path
from tfgen.change.comparison import Pair
from tfgen.change.job_diff import JobDiff
from tfgen.check.jobs import check_all
from tfgen.cli.arguments import job_name_argument, out_argument, path
from tfgen.cli.output import OK, ended_runs_data, print_ended_runs, print_json, print_remaining, print_result, read_job
from tfgen.commands.render import render_paths
from tfgen.data_path import Path as DataPath
from tfgen.disk_file import read_text, replace_text
from tfgen.errors import ProblemsError, UsageError, stop_at_errors
from tfgen.fix import REMOVED, Assignment
from tfgen.graph.storage import makes_claim
from tfgen.job.facts import environments_of, name_of, rendered_branch
from tfgen.job.sources import output_root, read_sources
from tfgen.pipeline.check import run_ends, run_starts
from tfgen.pipeline.read import find_job_files, remaining_files
from tfgen.pipeline.scope import untracked
from tfgen.places import CHARTS, OVERLAYS
from tfgen.record import Record
from tfgen.schema import tunables
from tfgen.schema.messages import check_name
from tfgen.text.document import Document
from tfgen.text.edit import assign
from tfgen.text.parse import BYTE_ORDER_MARK
from tfgen.tree.ledger import ledger_path
from tfgen.tree.plan import ConflictsError
from tfgen.tree.write import read_ledgers
from tfgen.words import command_line, count

EXAMPLE: Final = "tfgen rename job.yaml video --keep-data"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("job", type=path, metavar="JOB|NAME", help="a job.yaml, or the name of a job in the repository")
    parser.add_argument("name", metavar="NEW", help="the new name")
    job_name_argument(parser)
    parser.add_argument(
        "--keep-data",
        action="store_true",
        help="use the existing claims of the job, with their data, under the new name",
    )
    parser.add_argument(
        "--retired",
        action="store_true",
        help="retire the job in all environments, so that no run starts under the new name",
    )
    out_argument(parser)


def run(args: Namespace) -> int:
    if not args.job.exists():
        args.job_name, args.job = str(args.job), find_job_file(str(args.job), args.out)
    document = read_job(args)
    file, job = document.file, name_of(document)
    out = args.out or output_root(Path(file).parent)
    result = rename_job(document, args.name, out, keeps_data=args.keep_data, retires=args.retired)
    if args.format == "json":
        names = {"before": job, "after": args.name}
        print_json(
            {
                "file": file,
                "name": names,
                "claims": result.claims,
                "remaining": result.remaining,
                "ends": ended_runs_data(result.ends),
                "starts": result.starts,
            }
        )
    else:
        print_result(f"{file}: {job} -> {args.name}")
        _print_result(file, job, result)
    return OK


def _print_result(file: str, job: str, result: Rename) -> None:
    if result.claims:
        print_result(f"existing claims that the job still uses: {', '.join(result.claims)}")
    if result.created is not None:
        print_result(f"{count(result.created, 'rendered file')} created, {result.removed} removed")
    print_remaining(result.remaining)
    folder = Path(file).absolute().parent
    if folder.name == job:
        print_result(f"the job file remains in the folder {Path(file).parent}")
    print_ended_runs(result.ends)
    for start in result.starts:
        print_result(start)
    print_result(f"\nNext:\n\n  {command_line('commit' if result.has_runs else 'render', file)}")


_NAME: Final = ("metadata", "name")
_NOT_WRITTEN: Final = "{file}: nothing was written; the line numbers refer to the file with the new name"


class Rename(Record):
    """The result of `tfgen rename`.

    Attributes:
        claims: the existing claims that the renamed job uses.
        ends: a tuple with one `JobDiff`, which lists the runs that the change of the name ends, and the claims under
            the old name. Without such a run or claim, the tuple is empty.
        starts: a sentence for each run that starts under the new name.
        has_runs: whether the job was rendered, in this branch or another branch, so that a run may exist.
        created: the number of new rendered files; None if the job has no rendered files.
        removed: the number of removed rendered files.
        remaining: the files that tfgen did not write and that remain in the folders of the old name.
    """

    claims: tuple[str, ...] = ()
    ends: tuple[JobDiff, ...] = ()
    starts: tuple[str, ...] = ()
    has_runs: bool = False
    created: int | None = None
    removed: int = 0
    remaining: tuple[str, ...] = ()


def find_job_file(job: str, out: Path | None) -> Path:
    """Return the only job file that contains a job with the given name.

    Args:
        job: the name of the job.
        out: the output folder; None for the output folder of the working directory.

    Raises:
        UsageError: no file contains the job, or several files contain the job.
    """
    files = find_job_files(job, out or output_root(Path()))
    if len(files) != 1:
        owners = (
            f"several files contain a job with this name ({', '.join(files)})"
            if files
            else "no file contains a job with this name"
        )
        raise UsageError(f"{job}: the file does not exist, and {owners}; pass the path of the job file")
    return Path(files[0])


def rename_job(document: Document, name: str, out: Path, *, keeps_data: bool, retires: bool = False) -> Rename:
    """Write the new name of a job into its file, and render the job again if it has rendered files.

    After an error, all files are unchanged.

    Args:
        document: the valid job.
        name: the new name.
        out: the output folder.
        keeps_data: whether to set the existing claims in the volumes of the job.
        retires: whether to retire the job in each environment, so that no run starts under the new name.

    Raises:
        UsageError: the name is not valid or is in use, or `retires` is true and the job has no environments.
        ConflictsError: somebody edited a rendered file.
        ProblemsError: the job with the new name has errors.
        TfgenError: the disk fails, a ledger is invalid, or the edit of the job file would change another value.
    """
    _check_new_name(document, name, out)
    file = Path(document.file)
    (source,) = read_sources([file])
    before = read_text(file)
    volumes = _volumes(document) if keeps_data else []
    edits = [Assignment(_NAME, name), *_claim_edits(document, volumes), *(_retirements(document) if retires else ())]
    after = assign(before, document, edits)
    checked = check_all([source.replaced(content=after.removeprefix(BYTE_ORDER_MARK))])
    stop_at_errors(checked.problems, _NOT_WRITTEN.format(file=file))
    renamed = next(job for job in checked.documents if name_of(job) == name)
    claims = tuple(_claim(document, volume) for volume in volumes)
    has_runs = name_of(document) in read_ledgers(out) or bool(rendered_branch(document))
    end = run_ends(Pair(document, None)) if has_runs else None
    ends = (end.with_users(dict.fromkeys(claims, name)),) if end else ()
    result = _write(file, before, after, name_of(document), out)
    remaining = remaining_files(out, name_of(document))
    starts = tuple(run_starts(renamed)) if has_runs else ()
    return result.replaced(claims=claims, ends=ends, starts=starts, has_runs=has_runs, remaining=remaining)


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
            f"deleted job: {command_line('rm', name)}"
        )


def _write(file: Path, before: str, after: str, job: str, out: Path) -> Rename:
    """Replace the text `before` of a job file by `after`, and render the file. If the render fails, restore `before`.

    If the job `job` has no ledger, the file is not rendered.
    """
    ledgers = read_ledgers(out)
    replace_text(file, before, after)
    if job not in ledgers:
        return Rename()
    is_written = False
    try:
        with render_paths([file], out, track=untracked) as written:
            is_written = True
            return Rename(created=len(written.plan.created), removed=len(written.plan.removed))
    except ConflictsError as error:
        raise ConflictsError(error.conflicts, "tfgen render --force") from error
    except ProblemsError as error:
        raise ProblemsError(error.problems, _NOT_WRITTEN.format(file=file)) from error
    finally:
        if not is_written and read_ledgers(out) == ledgers:
            replace_text(file, after, before)


def _volumes(document: Document) -> list[str]:
    """Return the names of the volumes for which tfgen generates a claim, in the job or in an environment."""
    spec = document.data["spec"]
    storages = [spec.get("storage", {}), *(_storage(spec, name) for name in environments_of(document))]
    return list(dict.fromkeys(name for storage in storages for name, volume in storage.items() if makes_claim(volume)))


def _storage(spec: Mapping[str, Any], environment: str) -> Mapping[str, Any]:
    """Return the settings of each volume in an environment, by the name of the volume.

    The result is `storage` of the job spec, merged with the settings of the environment.
    """
    job = tunables.without_environments(spec)
    storage: Mapping[str, Any] = tunables.merge(job, spec["environments"][environment]).get("storage", {})
    return storage


def _claim(document: Document, volume: str) -> str:
    """Return the name of the claim that tfgen generates for a volume of a job."""
    return f"{name_of(document)}-{volume}"


def _claim_edits(document: Document, volumes: list[str]) -> Iterator[Assignment]:
    """Yield the edits of the job file that set the existing claim in each volume.

    The edits also remove settings of an environment that only change the size of a generated claim.
    """
    spec = document.data["spec"]
    text = document.alone().data
    for volume in volumes:
        of_job = makes_claim(spec.get("storage", {}).get(volume))
        claim = {"name": _claim(document, volume), **_without_defaults(document, volume)}
        if of_job:
            yield Assignment(("spec", "storage", volume, "claim"), claim)
        for environment in environments_of(document):
            path: DataPath = ("spec", "environments", environment, "storage", volume, "claim")
            if not makes_claim(_storage(spec, environment).get(volume)):
                continue
            if not of_job:
                yield Assignment(path, claim)
            elif data_path.has(text, path):
                empty = _outermost_empty(text, path)
                text = data_path.without(text, empty)
                yield Assignment(empty, REMOVED)


def _retirements(document: Document) -> Iterator[Assignment]:
    """Yield the edits of the job file that retire a job in each environment in which the job is enabled.

    Raises:
        UsageError: the job has no environments.
    """
    environments = environments_of(document)
    if not environments:
        raise UsageError(
            f"{document.file}: --retired disables the job in each environment, but the job has no environments; add an "
            "environment to spec.environments, or remove --retired"
        )
    for name, values in environments.items():
        if values.get("enabled", True):
            yield Assignment(("spec", "environments", name, "enabled"), False)


def _without_defaults(document: Document, volume: str) -> dict[str, None]:
    """Return the keys that remove the defaults of a tfgen.yaml from a claim.

    Example: if a tfgen.yaml sets a default for `size`, the result is {"size": None}. In the job file, `size: null`
    removes the default, which is only for a generated claim.
    """
    path = ("spec", "storage", volume, "claim")
    under = data_path.at(document.under.data, path) if document.under else None
    return dict.fromkeys(key for key in under or {} if key != "name")


def _outermost_empty(data: Any, path: DataPath) -> DataPath:
    """Return the path to remove instead of `path`, so that no empty mapping remains.

    For example, if `claim` is the only key of the volume `model`, return the path of `model`. If `model` is also the
    only volume, return the path of `storage`. If the mapping around `path` has other keys, return `path`.
    """
    while len(path) > len(("spec", "environments", "NAME", "storage")) and len(data_path.at(data, path[:-1])) == 1:
        path = path[:-1]
    return path
