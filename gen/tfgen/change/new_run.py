"""Changes of job.yaml that need a new run, because Kubernetes cannot apply the changes to a started run.

    job.yaml:9:24: roles.worker.replicas was 4 and is 8: running tasks keep their list of hosts; for a new run: ...

tfgen compares the objects of the current job with the objects of the committed job, for the job without an environment
and for each environment. Kubernetes refuses some changes, and does not apply others to running pods. Such a change
needs a new name for the run, the volume or the priority class. To find the line that causes the change of an object,
tfgen tests each changed value of the job separately.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tfgen import data_path
from tfgen.change.field_diff import NOTHING, in_words
from tfgen.change.immutable import (
    CLAIM_CHANGE,
    NEW_RUN,
    OBJECT_CHANGE,
    PRIORITY_CLASS_CHANGE,
    ForbiddenChange,
    find_forbidden_changes,
)
from tfgen.data_path import Path
from tfgen.graph.built import BuiltJob, build, plain_objects, variant_objects
from tfgen.job.facts import data_of, environments_of, run_of
from tfgen.problems import Problem
from tfgen.schema import tunables
from tfgen.schema import validate as schema
from tfgen.text.document import Document

if TYPE_CHECKING:
    from tfgen.job.job_data import JobData

MOST: Final = 20
"""Maximum number of changes that tfgen tests per job or environment, because each test builds all objects."""

_LONGEST: Final = 100
"""Maximum number of characters of a value in a message. The tag at the end of a long image should be visible."""


class _Cause(NamedTuple):
    """A change of the job that breaks a rule.

    Attributes:
        path: the path of the change in the job.
        rule: the id of the rule.
        effect: the effect of the change in the cluster.
        is_alone: True if this change alone breaks the rule, False if only all changes of the job together break the
            rule.
    """

    path: Path
    rule: str
    effect: str
    is_alone: bool


def find_new_runs(
    before: Document, after: Document, built_before: BuiltJob | None = None, built_after: BuiltJob | None = None
) -> Iterator[Problem]:
    """Yield a problem for each change of a job that needs a new run, because the committed run may still be active.

    Both versions must be valid, and have the same name. If the run name of a variant changes, the variant gets a new
    run, so tfgen reports only forbidden changes of claims, priority classes and entries of `objects`. A job with
    environments never runs without an environment.

    Args:
        before: the committed version.
        after: the current version.
        built_before: the objects of the committed version; None if the caller has not built the objects.
        built_after: the objects of the current version; None if the caller has not built the objects.
    """
    reported: dict[Path, set[str]] = {}
    environments = tuple(environments_enabled_in_both(before, after))
    following = [name for name in environments if "run" not in _spec_of(after.data, name)]
    runs_itself = not environments_of(before)
    committed, current = built_before or build(before.data), built_after or build(after.data)
    for environment in (None, *environments):
        names_run = environment is not None and environment not in following
        forbidden = find_forbidden_changes(
            variant_objects(committed, environment), variant_objects(current, environment)
        )
        # `tfgen rerun` without --env changes the run of each environment that does not set `run`.
        for cause in _causes(before, after, environment, forbidden, {} if names_run else reported):
            if environment is None:
                if not runs_itself and not any(_breaks_rule_in(before, after, name, cause) for name in following):
                    continue
                reported.setdefault(cause.path, set()).add(cause.rule)
            path = _deepest(before.data, after.data, cause.path)
            message = _message(before, after, environment, cause._replace(path=path))
            yield Problem(*after.place(path), message, cause.rule)


# -- cause of a problem ------------------------------------------------------------------------------------------


def environments_enabled_in_both(before: Document, after: Document) -> Iterator[str]:
    """Yield the environments that are enabled in both versions. The run of a retired environment has ended."""
    was, now = environments_of(before), environments_of(after)
    return (name for name in now if name in was and _is_enabled(was[name]) and _is_enabled(now[name]))


def environments_enabled_again(before: Document, after: Document) -> Iterator[str]:
    """Yield the environments that are retired in the committed version and enabled in the current version."""
    was, now = environments_of(before), environments_of(after)
    return (name for name in now if name in was and not _is_enabled(was[name]) and _is_enabled(now[name]))


def _is_enabled(environment: Mapping[str, Any]) -> bool:
    enabled: bool = environment.get("enabled", True)
    return enabled


def _spec_of(data: Any, environment: str | None) -> Mapping[str, Any]:
    """Return the spec of the job for the environment None, or the mapping of the given environment."""
    spec: Mapping[str, Any] = data["spec"]
    return spec if environment is None else spec["environments"][environment]


def _variant_data(document: Document, environment: str | None) -> JobData:
    """Return the data of a job without the other environments. If `environment` is None, remove all environments."""
    spec: Any = tunables.without_environments(document.data["spec"])
    if environment is not None:
        spec["environments"] = {environment: _spec_of(document.data, environment)}
    return {**data_of(document), "spec": spec}


def _causes(
    before: Document,
    after: Document,
    environment: str | None,
    forbidden: dict[str, ForbiddenChange],
    reported: Mapping[Path, set[str]],
) -> Iterator[_Cause]:
    """Yield each change in a variant of a job that breaks a rule, with the rule and the effect in the cluster.

    If only all changes together break a rule, yield one cause with the common parent of their paths.

    Args:
        before: the committed version.
        after: the current version.
        environment: the environment of the variant; None for the job without an environment.
        forbidden: the forbidden change for each rule that the variant breaks, by rule id.
        reported: the rule ids for which tfgen has already reported a change, by path of the change.
    """
    if not forbidden:
        return
    was, now = _variant_data(before, environment), _variant_data(after, environment)
    runs = {("spec", "run"), ("spec", "environments", environment, "run")}
    changed = [path for path in _changed_paths(was["spec"], now["spec"], ("spec",)) if path not in runs]
    if not changed:
        return
    if run_of(was, environment) != run_of(now, environment):
        forbidden.pop(NEW_RUN, None)
    unexplained = dict(forbidden)
    for path in islice(changed, MOST) if forbidden else ():
        if path in reported:
            for rule in reported[path]:
                unexplained.pop(rule, None)
            continue
        tried = _with_change(was, now, path)
        if schema.check(before.replaced(data=tried)):
            continue  # an incomplete change, such as a removed source without the new source
        forbidden_alone = find_forbidden_changes(plain_objects(was, environment), plain_objects(tried, environment))
        for rule in forbidden_alone.keys() & forbidden.keys():
            unexplained.pop(rule, None)
            yield _Cause(path, rule, forbidden_alone[rule].effect, is_alone=True)
    together = data_path.shared(changed)
    for rule in unexplained.keys() - reported.get(together, set()):
        yield _Cause(together, rule, unexplained[rule].effect, is_alone=False)


def _breaks_rule_in(before: Document, after: Document, environment: str, cause: _Cause) -> bool:
    """Return True if the change in `cause` also breaks the rule in `environment`.

    If the environment overrides the changed value, the change has no effect in the environment.
    """
    was, now = _variant_data(before, environment), _variant_data(after, environment)
    tried = _with_change(was, now, cause.path) if cause.is_alone else now
    if schema.check(before.replaced(data=tried)):
        tried = now  # the change alone makes the job invalid, so test all changes together
    return cause.rule in find_forbidden_changes(plain_objects(was, environment), plain_objects(tried, environment))


def _changed_paths(before: Any, after: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths at which two nested mappings have different values."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            if key in before and key in after:
                yield from _changed_paths(before[key], after[key], (*path, key))
            else:
                yield (*path, key)
    elif json.dumps(before, sort_keys=True) != json.dumps(after, sort_keys=True):  # in Python, true equals 1
        yield path


def _with_change(before: Any, after: Any, path: Path) -> Any:
    """Return the data `before` with the value of `after` at `path`. If `after` has no such value, remove the path."""
    if data_path.has(after, path):
        return data_path.with_value(before, path, data_path.at(after, path))
    return data_path.without(before, path)


# -- words of a problem ------------------------------------------------------------------------------------------


def _deepest(before: Any, after: Any, path: Path) -> Path:
    """Extend the path of a new or removed mapping by the only key of the mapping, so that a message can be exact.

    For the new block `gang: {queue: research}`, for example, the path ends with `queue`. The function extends the path
    until the value is a mapping with several keys, or not a mapping. If both versions have a value at `path`, return
    `path` unchanged.
    """
    was, now = data_path.at(before, path), data_path.at(after, path)
    only = now if was is None else was if now is None else None
    while isinstance(only, Mapping) and len(only) == 1:
        ((key, only),) = only.items()
        path = (*path, key)
    return path


def _message(before: Document, after: Document, environment: str | None, cause: _Cause) -> str:
    path = cause.path[1:]
    if path[:2] == ("environments", environment):
        path = path[2:]
    name = ".".join(map(str, path)) or "spec"
    was, now = (_value(document.data, environment, path) for document in (before, after))
    change = in_words(NOTHING if was is None else was, NOTHING if now is None else now, _LONGEST)
    return f"{name} {change if cause.is_alone else 'changed'}: {cause.effect}; {advice(after, environment, cause.rule)}"


def advice(document: Document, environment: str | None, rule: str) -> str:
    """Return the advice for a change that a rule forbids, such as `for a new claim, rename the volume`."""
    if rule == CLAIM_CHANGE:
        return "for a new claim, rename the volume"
    if rule == OBJECT_CHANGE:
        return "for a new object, change metadata.name"
    if rule == PRIORITY_CLASS_CHANGE:
        return "for a new class, rename the class"
    command = ["tfgen", "rerun", document.file, *(["--env", environment] if environment else [])]
    return f"for a new run: {shlex.join(command)}"


def _value(data: Any, environment: str | None, path: Path) -> Any:
    """Return the value at `path` below `spec` that applies in an environment; None without a value.

    The environment overrides the job, and the job overrides the default of the tunable. `environment` is None for the
    job without an environment.
    """
    spec = data["spec"]
    values: Any = tunables.values(spec) if environment is None else tunables.environment_values(spec, environment)
    places = (values, spec) if environment is None else (values, spec["environments"][environment], spec)
    return next((value for place in places if (value := data_path.at(place, path)) is not None), None)
