"""What a job that runs cannot take over from its job.yaml, and the line that asks for it.

    job.yaml:9:24: roles.worker.replicas was 4 and is 8: the tasks of a run keep their TF_CONFIG; for a new run: ...

A job is compared with the committed one by their objects, for the job itself and for each environment. Kubernetes
refuses some changes, and accepts others that no running pod would ever see. Both need another name: of the run, of the
volume, or of the priority class. To find the line to blame, each change is tried alone.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.change.field_diff import NOTHING, in_words
from tfgen.change.immutable import CLAIM_CHANGE, NEW_RUN, OBJECT_CHANGE, PRIORITY_CLASS_CHANGE, find_losses
from tfgen.data_path import Path
from tfgen.graph.built import plain_objects
from tfgen.job.facts import data_of, environments_of, run_of
from tfgen.job.job_data import JobData
from tfgen.problems import Problem
from tfgen.schema import tunables
from tfgen.schema import validate as schema
from tfgen.text.document import Document

MOST: Final = 20
"""Changes of a job, or of an environment, that are tried: each makes all objects anew, and one new run serves all."""

_LONGEST: Final = 100
"""Characters of a value in a message: an image's tag stands at its end."""


class _Blame(NamedTuple):
    """A change in the document that a rule forbids. The path is the document's."""

    path: Path
    rule: str
    why: str
    is_alone: bool
    """Whether it would be forbidden without the other changes."""


def find_new_runs(before: Document, after: Document) -> Iterator[Problem]:
    """What is wrong with the second job as long as what the first one made may be running.

    Both have the same name, and the schema accepts both. An environment that is new, or has a new run, is compared
    with nothing but its claims and priority classes. A job that had environments runs as one of them, not by itself.
    """
    known: dict[Path, set[str]] = {}
    environments = tuple(environments_at_work(before, after))
    following = [name for name in environments if "run" not in _spec_of(after.data, name)]
    runs_itself = not environments_of(before)
    for environment in (None, *environments):
        says_run = environment is not None and environment not in following
        # One command for the job, and one for each environment that it does not reach.
        for blame in _blames(before, after, environment, {} if says_run else known):
            if environment is None:
                if not runs_itself and not any(_reaches(before, after, name, blame) for name in following):
                    continue
                known.setdefault(blame.path, set()).add(blame.rule)
            path = _innermost(before.data, after.data, blame.path)
            message = _message(before, after, environment, blame._replace(path=path))
            yield Problem(*after.place(path), message, blame.rule)


# -- which change is to blame ------------------------------------------------------------------------------------


def environments_at_work(before: Document, after: Document) -> Iterator[str]:
    """The environments of both in which the job runs. Where it is retired, its run has ended."""
    known, now = environments_of(before), environments_of(after)
    return (name for name in now if name in known and _is_enabled(known[name]) and _is_enabled(now[name]))


def environments_enabled_again(before: Document, after: Document) -> Iterator[str]:
    """The environments of both in which the job was retired, and is no longer."""
    known, now = environments_of(before), environments_of(after)
    return (name for name in now if name in known and not _is_enabled(known[name]) and _is_enabled(now[name]))


def _is_enabled(environment: Mapping[str, Any]) -> bool:
    enabled: bool = environment.get("enabled", True)
    return enabled


def _spec_of(data: Any, environment: str | None) -> Mapping[str, Any]:
    """What the job, or an environment itself, says."""
    spec: Mapping[str, Any] = data["spec"]
    return spec if environment is None else spec["environments"][environment]


def _form_of(document: Document, environment: str | None) -> JobData:
    """The document's data with that environment alone, or with none."""
    spec: Any = tunables.without_environments(document.data["spec"])
    if environment is not None:
        spec["environments"] = {environment: _spec_of(document.data, environment)}
    return {**data_of(document), "spec": spec}


def _blames(
    before: Document, after: Document, environment: str | None, known: Mapping[Path, set[str]]
) -> Iterator[_Blame]:
    """What is to blame in a job or one of its environments, without what `known` has already."""
    was, now = _form_of(before, environment), _form_of(after, environment)
    runs = {("spec", "run"), ("spec", "environments", environment, "run")}
    changed = [path for path in _changed_paths(was["spec"], now["spec"], ("spec",)) if path not in runs]
    if not changed:
        return
    committed = plain_objects(was, environment)
    losses = find_losses(committed, plain_objects(now, environment))
    if run_of(was, environment) != run_of(now, environment):
        losses.pop(NEW_RUN, None)
    unexplained = dict(losses)
    for path in islice(changed, MOST) if losses else ():
        if path in known:
            for rule in known[path]:
                unexplained.pop(rule, None)
            continue
        tried = _with_change(was, now, path)
        if schema.check(before.replaced(data=tried)):
            continue  # half of a change, such as one of two sources without the other
        own_losses = find_losses(committed, plain_objects(tried, environment))
        for rule in own_losses.keys() & losses.keys():
            unexplained.pop(rule, None)
            yield _Blame(path, rule, own_losses[rule].why, is_alone=True)
    together = data_path.shared(changed)
    for rule in unexplained.keys() - known.get(together, set()):
        yield _Blame(together, rule, unexplained[rule].why, is_alone=False)


def _reaches(before: Document, after: Document, environment: str, blame: _Blame) -> bool:
    """Whether a change of the job changes the environment too: an environment may set another value there."""
    was, now = _form_of(before, environment), _form_of(after, environment)
    tried = _with_change(was, now, blame.path) if blame.is_alone else now
    if schema.check(before.replaced(data=tried)):
        tried = now  # the environment removes what the change alone leaves nothing of
    return blame.rule in find_losses(plain_objects(was, environment), plain_objects(tried, environment))


def _changed_paths(before: Any, after: Any, path: Path = ()) -> Iterator[Path]:
    """The paths at which two values differ: as deep as both are mappings."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            if key in before and key in after:
                yield from _changed_paths(before[key], after[key], (*path, key))
            else:
                yield (*path, key)
    elif json.dumps(before, sort_keys=True) != json.dumps(after, sort_keys=True):  # to Python, true is 1
        yield path


def _with_change(before: Any, after: Any, path: Path) -> Any:
    """The first with what the second has at one of the paths at which they differ."""
    if data_path.has(after, path):
        return data_path.with_value(before, path, data_path.at(after, path))
    return data_path.without(before, path)


# -- how it is said ----------------------------------------------------------------------------------------------


def _innermost(before: Any, after: Any, path: Path) -> Path:
    """The path to the only value below a key that is new or gone; the path itself, if there are several."""
    was, now = data_path.at(before, path), data_path.at(after, path)
    only = now if was is None else was if now is None else None
    while isinstance(only, Mapping) and len(only) == 1:
        ((key, only),) = only.items()
        path = (*path, key)
    return path


def _message(before: Document, after: Document, environment: str | None, blame: _Blame) -> str:
    path = blame.path[1:]
    if path[:2] == ("environments", environment):
        path = path[2:]
    name = ".".join(map(str, path)) or "spec"
    was, now = (_value(document.data, environment, path) for document in (before, after))
    change = in_words(NOTHING if was is None else was, NOTHING if now is None else now, _LONGEST)
    return f"{name} {change if blame.is_alone else 'changed'}: {blame.why}; {way_out(after, environment, blame.rule)}"


def way_out(document: Document, environment: str | None, rule: str) -> str:
    """What to do where one of the rules forbids a change of a job, or of one of its environments."""
    if rule == CLAIM_CHANGE:
        return "for another one, give the volume another name"
    if rule == OBJECT_CHANGE:
        return "for another one, give the object another name (metadata.name)"
    if rule == PRIORITY_CLASS_CHANGE:
        return "for another one, give the class another name"
    command = ["tfgen", "rerun", document.file, *(["--env", environment] if environment else [])]
    return f"for a new run: {shlex.join(command)}"


def _value(data: Any, environment: str | None, path: Path) -> Any:
    """The value at a values path: with its default, as the environment has it; None where there is none."""
    spec = data["spec"]
    values: Any = tunables.values(spec) if environment is None else tunables.environment_values(spec, environment)
    places = (values, spec) if environment is None else (values, spec["environments"][environment], spec)
    return next((value for place in places if (value := data_path.at(place, path)) is not None), None)
