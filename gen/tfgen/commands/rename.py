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
from tfgen.check.jobs import check_all
from tfgen.cli.arguments import flag, job_name_argument, out_argument, path
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
    flag(parser, "--keep-data", "use the existing claims of the job, with their data, under the new name")
    flag(parser, "--retired", "retire the job in all environments, so that no run starts under the new name")
    out_argument(parser)


def run(args: Namespace) -> int:
    if not args.job.exists():
        name, files = str(args.job), find_job_files(str(args.job), args.out or output_root(Path()))
        if len(files) != 1:
            several = f"several files contain a job with this name ({', '.join(files)})"
            owners = several if files else "no file contains a job with this name"
            raise UsageError(f"{name}: the file does not exist, and {owners}; pass the path of the job file")
        args.job_name, args.job = name, Path(files[0])
    document = read_job(args)
    file, job = Path(document.file), name_of(document)
    out = args.out or output_root(file.parent)
    _check_new_name(document, args.name, out)
    before = read_text(file)
    after, renamed, claims = _renamed(args, document, before)
    # The job was rendered, in this branch or another branch, so that a run may exist.
    has_runs = job in read_ledgers(out) or bool(rendered_branch(document))
    end = run_ends(Pair(document, None)) if has_runs else None
    ends = [end.with_users(dict.fromkeys(claims, args.name))] if end else []
    written = _write(file, before, after, job, out)
    remaining = remaining_files(out, job)
    starts = [*run_starts(renamed)] if has_runs else []
    if args.format == "json":
        data = {"file": document.file, "name": {"before": job, "after": args.name}, "claims": claims}
        print_json({**data, "remaining": remaining, "ends": ended_runs_data(ends), "starts": starts})
        return OK
    print_result(f"{document.file}: {job} -> {args.name}")
    if claims:
        print_result(f"existing claims that the job still uses: {', '.join(claims)}")
    if written:
        print_result(f"{count(written[0], 'rendered file')} created, {written[1]} removed")
    print_remaining(remaining)
    if file.absolute().parent.name == job:
        print_result(f"the job file remains in the folder {file.parent}")
    print_ended_runs(ends)
    for start in starts:
        print_result(start)
    print_result(f"\nNext:\n\n  {command_line('commit' if has_runs else 'render', document.file)}")
    return OK


_NAME: Final = ("metadata", "name")
_NOT_WRITTEN: Final = "{file}: nothing was written; the line numbers refer to the file with the new name"


def _renamed(args: Namespace, document: Document, before: str) -> tuple[str, Document, list[str]]:
    """Return the new text of a job file, the renamed job, and the existing claims that the renamed job uses.

    `before` is the old text of the file, whose job is `document`.

    Raises:
        UsageError: the options have --retired, and the job has no environments.
        ProblemsError: the job with the new name has errors.
        TfgenError: the edit of the job file would change another value.
    """
    file = Path(document.file)
    (source,) = read_sources([file])
    spec, environments = document.data["spec"], environments_of(document)
    storages = [spec.get("storage", {}), *(_storage(spec, environment) for environment in environments)]
    with_claim = (name for storage in storages for name, volume in storage.items() if makes_claim(volume))
    volumes = list(dict.fromkeys(with_claim)) if args.keep_data else []
    edits = [Assignment(_NAME, args.name), *_claim_edits(document, volumes)]
    if args.retired and not environments:
        raise UsageError(
            f"{document.file}: --retired disables the job in each environment, but the job has no environments; add an "
            "environment to spec.environments, or remove --retired"
        )
    if args.retired:
        enabled = (environment for environment, values in environments.items() if values.get("enabled", True))
        edits += (Assignment(("spec", "environments", environment, "enabled"), False) for environment in enabled)
    after = assign(before, document, edits)
    checked = check_all([source.replaced(content=after.removeprefix(BYTE_ORDER_MARK))])
    stop_at_errors(checked.problems, _NOT_WRITTEN.format(file=file))
    renamed = next(job for job in checked.documents if name_of(job) == args.name)
    return after, renamed, [_claim(document, volume) for volume in volumes]


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


def _write(file: Path, before: str, after: str, job: str, out: Path) -> tuple[int, int] | None:
    """Replace the text `before` of a job file by `after`, and render the file. If the render fails, restore `before`.

    Return the numbers of created and removed files. If the job `job` has no ledger, do not render the file, and return
    None.
    """
    ledgers = read_ledgers(out)
    replace_text(file, before, after)
    if job not in ledgers:
        return None
    is_written = False
    try:
        with render_paths([file], out, track=untracked) as written:
            is_written = True
            return len(written.plan.created), len(written.plan.removed)
    except ConflictsError as error:
        raise ConflictsError(error.conflicts, "tfgen render --force") from error
    except ProblemsError as error:
        raise ProblemsError(error.problems, _NOT_WRITTEN.format(file=file)) from error
    finally:
        if not is_written and read_ledgers(out) == ledgers:
            replace_text(file, after, before)


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
        # In the job file, `size: null` removes the default of a tfgen.yaml, which is only for a generated claim.
        under = data_path.at(document.under.data, ("spec", "storage", volume, "claim")) if document.under else None
        claim = {"name": _claim(document, volume), **dict.fromkeys(key for key in under or {} if key != "name")}
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


def _outermost_empty(data: Any, path: DataPath) -> DataPath:
    """Return the path to remove instead of `path`, so that no empty mapping remains.

    For example, if `claim` is the only key of the volume `model`, return the path of `model`. If `model` is also the
    only volume, return the path of `storage`. If the mapping around `path` has other keys, return `path`.
    """
    while len(path) > len(("spec", "environments", "NAME", "storage")) and len(data_path.at(data, path[:-1])) == 1:
        path = path[:-1]
    return path
