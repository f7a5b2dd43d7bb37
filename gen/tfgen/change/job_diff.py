"""What a change of a job does to its objects: by environment, by object, by field.

    diff_job(Pair(before, after))  ->  JobDiff("mnist", environments=(EnvironmentDiff("prod", ...),), ...)

Both jobs are rendered by this tfgen, so the difference is the job's own. Where a job has environments it is those that
a cluster gets, and the job itself is not compared: what each environment overrides does not show.

With a new run every object of the run is another, with another name. The two are compared as if the first had the
second's name, so what differs is what somebody changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from tfgen import data_path
from tfgen.change.comparison import Pair
from tfgen.change.field_diff import FieldChange, field_changes
from tfgen.change.totals import Totals, totals
from tfgen.graph.built import plain_objects
from tfgen.job.facts import environments_of, run_of
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, identity
from tfgen.problems import Problem
from tfgen.record import Record
from tfgen.text.document import Document

ObjectAction: TypeAlias = Literal["added", "changed", "removed"]


class ObjectDiff(Record):
    """One object that changes. An object that is added or removed has no fields here."""

    action: ObjectAction
    item: Object
    fields: tuple[FieldChange, ...] = ()

    @property
    def title(self) -> str:
        """Kind and name."""
        return f"{self.item['kind']} {self.item['metadata']['name']}"


class EnvironmentDiff(Record):
    """What changes in one environment.

    Attributes:
        environment: its name; None for the job itself.
        before: what it asked of the cluster; None where it was not.
        after: what it asks; None where it is no more.
        runs: the names of both runs, where the second is a new one.
    """

    environment: str | None
    objects: tuple[ObjectDiff, ...]
    before: Totals | None
    after: Totals | None
    runs: tuple[str, str] | None = None

    def __bool__(self) -> bool:
        return bool(self.objects or self.runs)


class JobDiff(Record):
    """What changes of one job.

    Attributes:
        needs_new_run: what cannot change while a run lasts, and at which line it is asked for.
    """

    name: str
    file: str
    environments: tuple[EnvironmentDiff, ...]
    needs_new_run: tuple[Problem, ...]

    def __bool__(self) -> bool:
        return any(self.environments)


def diff_job(pair: Pair) -> JobDiff:
    """The difference of a job as it was and as it is."""
    names = _environments(pair)
    document = pair.after or pair.before
    return JobDiff(
        name=pair.name,
        file=document.file if document else "",
        environments=tuple(_environment_diff(pair, name) for name in names),
        needs_new_run=tuple(pair.new_runs),
    )


def _environments(pair: Pair) -> Sequence[str | None]:
    """Those of both, in the order of the job as it is; the job itself where one of the two has none."""
    of_both = [tuple(environments_of(d)) for d in (pair.after, pair.before) if d is not None]
    itself = [None] if not all(of_both) else []
    return [*itself, *dict.fromkeys(name for names in of_both for name in names)]


def _environment_diff(pair: Pair, environment: str | None) -> EnvironmentDiff:
    is_before, is_after = _has(pair.before, environment), _has(pair.after, environment)
    runs = None
    was_data, data = (document.data if document else {} for document in (pair.before, pair.after))
    if is_before and is_after and (run := run_of(data, environment)) != run_of(was_data, environment):
        runs = (run_of(was_data, environment), run)
        was_data = _with_run(was_data, environment, run)
    before = plain_objects(was_data, environment) if is_before else ()
    after = plain_objects(data, environment) if is_after else ()
    was, now = ({identity(item): item for item in items} for items in (before, after))
    objects = []
    for key in [*now, *(key for key in was if key not in now)]:
        if key not in was:
            objects.append(ObjectDiff("added", now[key]))
        elif key not in now:
            objects.append(ObjectDiff("removed", was[key]))
        elif fields := _said_fields(was[key], now[key]):
            objects.append(ObjectDiff("changed", now[key], fields))
    return EnvironmentDiff(
        environment,
        tuple(objects),
        totals(before) if is_before else None,
        totals(after) if is_after else None,
        runs,
    )


def _said_fields(before: Object, after: Object) -> tuple[FieldChange, ...]:
    """The fields that differ, but for the hash of those of a pod template."""
    return tuple(change for change in field_changes(before, after) if keys.POD_TEMPLATE_HASH not in change.path.steps)


def _has(document: Document | None, environment: str | None) -> bool:
    """Whether a document's job has the environment; the job itself is one where it has none."""
    if document is None:
        return False
    known = environments_of(document)
    return environment in known or (environment is None and not known)


def _with_run(data: Any, environment: str | None, run: str) -> Any:
    of_environment = ("environments", environment) if environment is not None else ()
    return data_path.with_value(data, ("spec", *of_environment, "run"), run)
