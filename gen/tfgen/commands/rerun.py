"""``tfgen rerun``: the name of the next run, put into job.yaml where the last one stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.errors import UsageError
from tfgen.graph.objects.storage import WRITABLE
from tfgen.job.facts import check_environment, environments_of
from tfgen.job.run_names import UNNAMED, next_run
from tfgen.problems import Problem
from tfgen.record import Record
from tfgen.schema import tunables
from tfgen.text.document import Document
from tfgen.text.edit import with_values

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


def rerun(text: str, document: Document, environment: str | None, *, resume: bool) -> Rerun:
    """The file with the next run in it.

    Args:
        text: the file's text, as `disk_file.read_text` gives it.
        document: the job in it, which has no errors.
        environment: the environment that is to run again; None for the job and all of them, where each that has a run
            of its own gets the one after that.
        resume: go on in the folder of the last run, instead of the new run's own.

    Raises:
        UsageError: the job has no such environment, or is retired there.
        TfgenError: a run's next name is too long, or the job is so written that it cannot be put in.
    """
    spec, environments = document.data["spec"], environments_of(document)
    if environment is not None:
        check_environment(document, environment)
        if not environments[environment].get("enabled", True):
            path = (*_JOB, "environments", environment, "enabled")
            raise UsageError(
                f"{document.place(path)}: retired in {environment} (enabled: false), so that no run would start there"
            )
    changes: dict[Path, dict[str, str]] = {}
    raised = []
    for name in (None, *environments) if environment is None else (environment,):
        own, merged, values = spec if name is None else environments[name], _merged_spec(spec, name), {}
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
