"""Check for a run with the name of an earlier run, after a `git revert` or in an environment that is enabled again.

    job.yaml:9:8: run was "3" and is "2", the name of an earlier run: ...; for a new run: tfgen set job.yaml run=4

The objects of the earlier run no longer exist. The old name would create the objects again, and the run would train
again in the folder with the results of the earlier run. The job file does not list the names of earlier runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import dropwhile
from operator import eq
from pathlib import Path as FilePath
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.change.new_run import environments_enabled_again, environments_enabled_in_both
from tfgen.data_path import Path
from tfgen.errors import Problem
from tfgen.git.history import all_contents, earlier_contents, histories
from tfgen.git.tree import HEAD
from tfgen.job.facts import command_for, environments_of, name_of, next_run, own_data, precedes, run_of
from tfgen.text.document import Document
from tfgen.text.parse import decode, parse
from tfgen.words import shown

RUN_GOES_BACK: Final = "run-goes-back"
NOT_FRESH: Final = "not-fresh"

RULES: Final[Mapping[str, str]] = {
    RUN_GOES_BACK: "A run has the name of an earlier run, so the earlier run would train again.",
    NOT_FRESH: "A fresh run finds the files of earlier runs, because no volume has a separate folder for each run.",
}
"""Summary of each rule, which is also the first line of the rule's section in docs/rules.md."""

Runs: TypeAlias = Collection[tuple[str | None, str]]
"""The environment and the name of each run. The environment is None for the run of the job itself."""


def find_runs_back(before: Document, after: Document, earlier: Runs = ()) -> Iterator[Problem]:
    """Yield a problem for each run name, of the job or of an environment, that an earlier run already had.

    Args:
        before: committed version of the job.
        after: current version of the job.
        earlier: earlier runs of the job. A run name with a lower number is earlier, even if the list lacks the name.
    """
    environments = environments_of(after)
    reported: set[str | None] = set()
    again = (*environments_enabled_again(before, after),)
    for environment in (*(() if environments else (None,)), *environments_enabled_in_both(before, after), *again):
        was, run = run_of(before.data, environment), run_of(after.data, environment)
        of_both = [environments_of(document).get(environment or "", {}) for document in (before, after)]
        target = environment if any("run" in settings for settings in of_both) else None
        is_back = precedes(run, was) or (environment, run) in earlier or (target, run) in earlier
        if run != was and is_back and target not in reported:
            reported.add(target)
            path: Path = ("spec", "run") if target is None else ("spec", "environments", target, "run")
            yield Problem(*after.place(path), _message(after, target, was, run, earlier), RUN_GOES_BACK)
        elif run == was and environment in again and (environment, run) in earlier:
            path = ("spec", "environments", environment, "enabled")
            yield Problem(*after.place(path), _message(after, environment, run, run, earlier), RUN_GOES_BACK)


def earlier_runs(before: Document, after: Document, revision: str) -> Runs:
    """Return the earlier runs of a job in the git history of the job file.

    The result has each run up to a revision. Of the commits after the revision, the result has each run that a later
    commit replaced. The function skips an environment in each commit in which the environment is retired.

    Args:
        before: the version of the job in the revision.
        after: current version of the job.
        revision: the revision.
    """
    contents = earlier_contents(FilePath(before.file), revision)
    runs = {run for of_content in _runs_in(before, contents) for run in of_content}
    if revision == HEAD:
        return runs
    path = FilePath(after.file)
    later = (commit.content for commit in histories([path], since=revision)[path] if commit.content is not None)
    versions = [dict(of_content) for of_content in _runs_in(after, later)]
    for environment, run in _runs_of(own_data(after), _layer_environments(after)):
        names = (version[environment] for version in versions if environment in version)
        runs |= {(environment, name) for name in dropwhile(partial(eq, run), names)}
    return runs


def all_runs(document: Document) -> Runs:
    """Return the runs of a job in all commits of the git history of the job file, up to HEAD.

    Raises:
        TfgenError: git fails.
    """
    contents = {*all_contents(FilePath(document.file))}
    return {run for of_content in _runs_in(document, contents) for run in of_content}


def _runs_in(job: Document, contents: Iterable[bytes]) -> Iterator[set[tuple[str | None, str]]]:
    """Yield the runs of a job in each content of its file. If a content does not have the job, yield nothing."""
    layer_environments = _layer_environments(job)
    for content in contents:
        text = decode(content, job.file)
        for document in parse(text, job.file).documents if isinstance(text, str) else ():
            if data_path.at(document.data, ("metadata", "name")) == name_of(job):
                yield _runs_of(document.data, layer_environments)


def _layer_environments(job: Document) -> set[str]:
    return {name for layer in job.layers() if layer.file != job.file for name in _environments(layer.data)}


def _runs_of(data: Any, layer_environments: Collection[str]) -> set[tuple[str | None, str]]:
    """Return the environment and the run name of each run in the data of a job. Omit retired environments.

    Example: {(None, ""), ("prod", "2")}. The environment is None for the run of the job itself. The data may be
    invalid.

    Args:
        data: data of the job, without the values of its layers.
        layer_environments: names of the environments that the layers of the job define, because `data` may lack such an
            environment.
    """
    run = data_path.at(data, ("spec", "run"))
    of_job = run if isinstance(run, str) else ""
    runs: set[tuple[str | None, str]] = {(None, of_job)}
    for name, environment in {**dict.fromkeys(layer_environments), **_environments(data)}.items():
        environment_run = data_path.at(environment, ("run",))
        if data_path.at(environment, ("enabled",)) is not False:
            runs.add((name, environment_run if isinstance(environment_run, str) else of_job))
    return runs


def _environments(data: Any) -> Mapping[str, Any]:
    environments = data_path.at(data, ("spec", "environments"))
    return environments if isinstance(environments, Mapping) else {}


def _message(after: Document, environment: str | None, was: str, run: str, earlier: Runs) -> str:
    """Return the message about the name `run` of an earlier run; equal to `was` in an environment enabled again."""
    if run == was:
        title = f"run {shown(run)}" if run else "run without a name"
        change = (
            f"the environment {environment} is enabled again with the {title}, which has ended: the run would start "
            "again in its old folder"
        )
    else:
        old_name = shown(was) if was else "without a name"
        new_name = f"{shown(run)}, the name of an earlier run" if run else "without a name, like an earlier run"
        change = f"run was {old_name} and is {new_name}: the earlier run would start again in its old folder"
    unused = next_run(was, {name for _, name in earlier})
    env = ("--env", environment) if environment else ()
    return f"{change}; for a new run: {command_for(after, 'set', *env, f'run={unused}')}"
