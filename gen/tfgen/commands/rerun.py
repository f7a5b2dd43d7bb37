"""``tfgen rerun``: the name of the next run, put into job.yaml where the last one stands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, Final

from tfgen.commands.commit import commit_paths
from tfgen.commands.git.commit_steps import CommitOptions, Outcome
from tfgen.data_path import Path
from tfgen.errors import UsageError
from tfgen.git import read as git
from tfgen.graph.objects.storage import WRITABLE
from tfgen.job.facts import check_environment, environments_of
from tfgen.job.run_names import UNNAMED, next_run
from tfgen.job.sources import read_sources
from tfgen.problems import Problem
from tfgen.record import Record
from tfgen.schema import tunables
from tfgen.text.document import Document
from tfgen.text.edit import with_values
from tfgen.tree.disk_file import replace_text
from tfgen.tree.write import read_ledgers

RULES: Final[Mapping[str, str]] = {
    "not-fresh": "A run that is to begin anew finds what earlier ones wrote, since no volume has a folder for each.",
}
"""What `tfgen rerun` warns of."""

_JOB: Final[Path] = ("spec",)


class Raised(Record):
    """A run and the one after it: the job's, or that of an environment."""

    environment: str | None
    before: str
    after: str


class Rerun(Record):
    """The new text of the file, and the runs that are raised in it."""

    text: str
    raised: tuple[Raised, ...]


def rerun(text: str, document: Document, environment: str | None, *, resume: bool, enables: bool = False) -> Rerun:
    """The file with the next run in it.

    Args:
        text: the file's text, as `disk_file.read_text` gives it.
        document: the job in it, which has no errors.
        environment: the environment that is to run again; None for the job and all of them, where each that has a run
            of its own gets the one after that.
        resume: go on in the folder of the last run, instead of the new run's own.
        enables: whether the job is retired in that environment, and is to be no longer.

    Raises:
        UsageError: the job has no such environment, or is retired there unasked, or is not retired.
        TfgenError: a run's next name is too long, or the job is so written that it cannot be put in.
    """
    spec, environments = document.data["spec"], environments_of(document)
    if environment is not None:
        check_environment(document, environment)
        _check_enabled(document, environment, enables=enables)
    changes: dict[Path, dict[str, str | bool]] = {}
    raised = []
    for name in (None, *environments) if environment is None else (environment,):
        own, merged = spec if name is None else environments[name], _merged_spec(spec, name)
        values: dict[str, str | bool] = {"enabled": True} if enables else {}
        before = merged.get("run", "")
        if name == environment or "run" in own:
            raised.append(Raised(name, before, next_run(before)))
            values["run"] = raised[-1].after
        of_job = {**spec, **changes.get(_JOB, {})}
        folder = (merged.get("resumeFrom") or before or UNNAMED) if resume and _has_folders(merged) else ""
        if folder != own.get("resumeFrom", of_job.get("resumeFrom", "")):
            values["resumeFrom"] = folder
        if values:
            changes[_JOB if name is None else (*_JOB, "environments", name)] = values
    return Rerun(with_values(text, document, changes), tuple(raised))


def commit_run(file: FilePath, before: str, after: str, *, out: FilePath, is_beside: bool, pushes: bool) -> Outcome:
    """Write a job's file with its new run, and commit what comes of it.

    The file is as before where nothing was rendered of it, nor committed.

    Args:
        file: the job's.
        before: its text.
        after: its text with the new run.
        out: the output folder.
        is_beside: whether charts/ and overlays/ are there, whatever the job says.
        pushes: whether to push the commit.

    Raises:
        TfgenError: all that `commit_paths` raises.
    """
    ledgers = read_ledgers(out)
    replace_text(file, before, after)
    try:
        return commit_paths([file], read_sources([file]), CommitOptions(out, pushes=pushes), is_beside=is_beside)
    except BaseException:
        if read_ledgers(out) == ledgers and git.committed(file) != after.encode():
            replace_text(file, after, before)
        raise


def _check_enabled(document: Document, environment: str, *, enables: bool) -> None:
    """See that a new run would start in an environment.

    Raises:
        UsageError: the job is retired there and stays so, or is to be enabled and is not retired.
    """
    of_environment: Path = (*_JOB, "environments", environment)
    is_retired = not environments_of(document)[environment].get("enabled", True)
    if is_retired and not enables:
        command = shlex.join(["tfgen", "rerun", document.file, "--env", environment, "--enable"])
        raise UsageError(
            f"{document.place((*of_environment, 'enabled'))}: retired in {environment} (enabled: false), so that no "
            f"run would start there; to run it there again: {command}"
        )
    if enables and not is_retired:
        place = document.place(of_environment)
        raise UsageError(f"{place}: not retired in {environment}; for a new run there leave --enable out")


def not_fresh(document: Document, environment: str | None) -> Iterator[Problem]:
    """What keeps a run from beginning anew: in one environment, or in the job and all of its environments."""
    spec = document.data["spec"]
    for name in (environment,) if environment is not None else (None, *environments_of(document)):
        merged = _merged_spec(spec, name)
        if not _has_folders(merged):
            yield _not_fresh(document, merged)


def _not_fresh(document: Document, merged: Mapping[str, Any]) -> Problem:
    for name, volume in merged.get("storage", {}).items():
        if not volume.get("readOnly") and any(source in volume for source in WRITABLE):
            path: Path = (*_JOB, "storage", name)
            message = (
                f"all runs share storage.{name}, so that a fresh one finds what is there; add runs: Separate to it"
            )
            break
    else:
        path = _JOB
        message = (
            "no volume keeps what a run writes; if the program keeps it elsewhere, a fresh run finds that, "
            "unless each has a folder by its name, which is in the variable TFGEN_RUN"
        )
    return Problem(*document.place(path), message, "not-fresh", "warning")


def _merged_spec(spec: Mapping[str, Any], environment: str | None) -> dict[str, Any]:
    """The spec of the job itself, or as one of its environments changes it."""
    job = tunables.without_environments(spec)
    return job if environment is None else tunables.merge(job, spec["environments"][environment])


def _has_folders(merged: Mapping[str, Any]) -> bool:
    """Whether a volume has a folder for each run. If none has, every run finds the files of the last one anyway."""
    return any(volume.get("runs") == "Separate" for volume in merged.get("storage", {}).values())
