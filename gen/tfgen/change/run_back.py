"""A run that goes back to the name of an earlier one: by a `git revert` of a new run, or where a job is enabled again.

    job.yaml:9:8: run was "3" and is "2", which ran before: ...; for a new run: tfgen set job.yaml run=4 [run-goes-back]

The earlier run's objects are gone from the cluster. With its name they are made again: it trains anew, in the folder in
which it left what it had written, and nobody sees that from the job's file.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.change.new_run import environments_at_work, environments_enabled_again
from tfgen.data_path import Path
from tfgen.git import read as git
from tfgen.job.facts import environments_of, name_of, run_of
from tfgen.job.run_names import next_run, precedes
from tfgen.problems import Problem
from tfgen.text.document import Document
from tfgen.text.parse import decode, parse
from tfgen.words import shown

RUN_GOES_BACK: Final = "run-goes-back"

RULES: Final[Mapping[str, str]] = {RUN_GOES_BACK: "A run has the name of an earlier one, which would train again."}
"""What each rule says; it begins the rule's section of docs/rules.md."""

Runs: TypeAlias = Collection[tuple[str | None, str]]
"""Environments and names of their runs; of None, where a job names its run for all of them."""


def find_runs_back(before: Document, after: Document, earlier: Runs = ()) -> Iterator[Problem]:
    """A problem for the job, and for each environment that names its run itself, whose run ran before.

    Args:
        before: the job as it is committed.
        after: the job as it is.
        earlier: the runs that the job had once. By their numbers, runs are known without.
    """
    environments = environments_of(after)
    reported: set[str | None] = set()
    again = (*environments_enabled_again(before, after),)
    for environment in (*(() if environments else (None,)), *environments_at_work(before, after), *again):
        was, run = run_of(before.data, environment), run_of(after.data, environment)
        names_it = any(_names_run(document.data, environment) for document in (before, after))
        of = environment if names_it else None
        is_back = precedes(run, was) or (environment, run) in earlier or (of, run) in earlier
        if run != was and is_back and of not in reported:
            reported.add(of)
            path: Path = ("spec", "run") if of is None else ("spec", "environments", of, "run")
            yield Problem(*after.place(path), _message(after, of, was, run, earlier), RUN_GOES_BACK)
        elif run == was and environment in again and (environment, run) in earlier:
            path = ("spec", "environments", environment, "enabled")
            yield Problem(*after.place(path), _message_of_enabled(after, environment, run, earlier), RUN_GOES_BACK)


def earlier_runs(before: Document, revision: str) -> Runs:
    """The runs that a job had in the history of its file, up to a revision; those of which git still knows.

    Where the job was retired nothing ran.
    """
    runs: set[tuple[str | None, str]] = set()
    of_defaults = {name for layer in before.layers() if layer.file != before.file for name in _environments(layer.data)}
    for content in git.earlier_contents(FilePath(before.file), revision):
        text = decode(content, before.file)
        for document in parse(text, before.file).documents if isinstance(text, str) else ():
            if data_path.at(document.data, ("metadata", "name")) == name_of(before):
                runs |= _runs_of(document.data, of_defaults)
    return runs


def _runs_of(data: Any, of_defaults: Collection[str]) -> set[tuple[str | None, str]]:
    """What a job that nobody has checked says of its runs.

    Args:
        data: the job's own.
        of_defaults: the environments that it has without saying them.
    """
    run = data_path.at(data, ("spec", "run"))
    of_job = run if isinstance(run, str) else ""
    runs: set[tuple[str | None, str]] = {(None, of_job)}
    for name, environment in {**dict.fromkeys(of_defaults), **_environments(data)}.items():
        own = data_path.at(environment, ("run",))
        if data_path.at(environment, ("enabled",)) is not False:
            runs.add((name, own if isinstance(own, str) else of_job))
    return runs


def _environments(data: Any) -> Mapping[str, Any]:
    environments = data_path.at(data, ("spec", "environments"))
    return environments if isinstance(environments, Mapping) else {}


def _names_run(data: Any, environment: str | None) -> bool:
    return environment is not None and data_path.has(data, ("spec", "environments", environment, "run"))


def _message(after: Document, environment: str | None, was: str, run: str, earlier: Runs) -> str:
    one, other = (shown(name) if name else "without a name" for name in (was, run))
    return (
        f"run was {one} and is {other}, as it once was: its objects would be made again, and train anew where that run "
        f"ended; {_way_out(after, environment, was, earlier)}"
    )


def _message_of_enabled(after: Document, environment: str, run: str, earlier: Runs) -> str:
    one = f"run {shown(run)}" if run else "run without a name"
    return (
        f"no longer retired in {environment}, with the {one} that ran there before: its objects would be made again, "
        f"and train anew where it ended; {_way_out(after, environment, run, earlier)}"
    )


def _way_out(after: Document, environment: str | None, was: str, earlier: Runs) -> str:
    unused = next_run(was)
    while any(unused == name for _, name in earlier):
        unused = next_run(unused)
    env = ["--env", environment] if environment else []
    return f"for a new run: {shlex.join(['tfgen', 'set', after.file, *env, f'run={unused}'])}"
