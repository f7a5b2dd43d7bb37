"""What a change of a job does to its objects, and to what applies them: by environment, by object, by field.

    diff_job(Pair(before, after))  ->  JobDiff("mnist", environments=(EnvironmentDiff("prod", ...),), ...)

Both jobs are rendered by this tfgen, so the difference is the job's own. Where a job has environments it is those that
a cluster gets, and the job itself is not compared: what each environment overrides does not show.

With a new run every object of the run is another, with another name. The two are compared as if the first had the
second's name, so what differs is what somebody changed.

A claim is kept whatever becomes of its job. So where a job no longer has one, or has it in another place, the old claim
stays with all that is in it, and a new one begins empty: `kept` says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from tfgen import data_path
from tfgen.change.comparison import Pair
from tfgen.change.field_diff import FieldChange, field_changes
from tfgen.check.totals import Totals, totals
from tfgen.graph.built import build, plain_objects
from tfgen.job.facts import environments_of, name_of, run_of
from tfgen.job.training_job import TrainingJob
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, identity
from tfgen.problems import Problem
from tfgen.record import Record
from tfgen.targets.gitops.gitops import gitops
from tfgen.text.document import Document

ObjectAction: TypeAlias = Literal["added", "changed", "removed"]

_CLAIM: Final = "PersistentVolumeClaim"


class ObjectDiff(Record):
    """One object that changes. An object that is added or removed has no fields here.

    Attributes:
        file: where a GitOps tool's own object stands, below the output folder; a job's objects have none here.
        is_shared: whether other jobs may have that file too.
    """

    action: ObjectAction
    item: Object
    fields: tuple[FieldChange, ...] = ()
    file: str = ""
    is_shared: bool = False

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
        place: its namespace and its cluster, and whether the job runs there, where that changes.
        kept: the claims that stay behind, each in a sentence with the way to go on with it.
    """

    environment: str | None
    objects: tuple[ObjectDiff, ...]
    before: Totals | None
    after: Totals | None
    runs: tuple[str, str] | None = None
    place: tuple[FieldChange, ...] = ()
    kept: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.objects or self.runs or self.place)

    @property
    def ends(self) -> bool:
        """Return whether the change ends the run in the environment, or leaves a claim."""
        is_retired = any(str(change.path) == "enabled" and change.after is False for change in self.place)
        return self.before is not None and (self.after is None or is_retired or bool(self.kept))


class JobDiff(Record):
    """What changes of one job.

    Attributes:
        needs_new_run: what cannot change while a run lasts, and at which line it is asked for.
        delivery: the GitOps tools' own objects that change.
    """

    name: str
    file: str
    environments: tuple[EnvironmentDiff, ...]
    needs_new_run: tuple[Problem, ...]
    delivery: tuple[ObjectDiff, ...] = ()

    def __bool__(self) -> bool:
        return any(self.environments) or bool(self.delivery)

    def with_users(self, users: Mapping[str, str]) -> JobDiff:
        """Return the same difference with the users of the claims that stay.

        Args:
            users: the job that names a claim, by claim.
        """
        lines = {_kept_line(claim): f"kept: {_CLAIM} {claim}, in use by {job}" for claim, job in users.items()}
        environments = (
            environment.replaced(kept=tuple(lines.get(line, line) for line in environment.kept))
            for environment in self.environments
        )
        return self.replaced(environments=tuple(environments))


def claim_users(document: Document | None) -> dict[str, str]:
    """Return the name of a job by each claim that the job names in a volume."""
    if document is None:
        return {}
    spec = document.data["spec"]
    storages = [values.get("storage") or {} for values in (spec, *environments_of(document).values())]
    claims = (data_path.at(volume, ("claim", "name")) for storage in storages for volume in storage.values())
    return {claim: name_of(document) for claim in claims if isinstance(claim, str)}


def diff_job(pair: Pair) -> JobDiff:
    """The difference of a job as it was and as it is."""
    names = _environments(pair)
    document = pair.after or pair.before
    return JobDiff(
        name=pair.name,
        file=document.file if document else "",
        environments=tuple(_environment_diff(pair, name) for name in names),
        needs_new_run=tuple(pair.new_runs),
        delivery=tuple(_delivery_diffs(pair)),
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
    places = _place(pair.before, environment), _place(pair.after, environment)
    return EnvironmentDiff(
        environment,
        tuple(diff for _, diff in _object_diffs(was, now)),
        totals(before) if is_before else None,
        totals(after) if is_after else None,
        runs,
        tuple(field_changes(*places)),
        tuple(_kept(was, now, *places)) if is_before else (),
    )


def _object_diffs(was: Mapping[Any, Object], now: Mapping[Any, Object]) -> Iterator[tuple[Any, ObjectDiff]]:
    """The objects that differ, each with the key that tells it from the others."""
    for key in [*now, *(key for key in was if key not in now)]:
        if key not in was:
            yield key, ObjectDiff("added", now[key])
        elif key not in now:
            yield key, ObjectDiff("removed", was[key])
        elif fields := _said_fields(was[key], now[key]):
            yield key, ObjectDiff("changed", now[key], fields)


def _place(document: Document | None, environment: str | None) -> dict[str, Any]:
    """Where a job is in one of its environments, and whether it runs there; nothing where it is not."""
    if document is None or not _has(document, environment):
        return {}
    job = TrainingJob.from_document(document.data)
    if environment is None:
        return {} if job.namespace is None else {"namespace": job.namespace}
    (of_job,) = (item for item in job.environments if item.name == environment)
    place = {"namespace": of_job.namespace, "cluster": of_job.cluster, "enabled": None if of_job.enabled else False}
    return {key: value for key, value in place.items() if value is not None}


def _kept(
    was: Mapping[Any, Object], now: Mapping[Any, Object], place_before: Mapping[str, Any], place: Mapping[str, Any]
) -> Iterator[str]:
    """What is said of each claim that stays behind."""
    before, after = (tuple(one.get(key, "") for key in ("namespace", "cluster")) for one in (place_before, place))
    for key, item in was.items():
        if item["kind"] != _CLAIM:
            continue
        name = item["metadata"]["name"]
        if key not in now:
            yield _kept_line(name)
        elif before != after:
            yield f"kept: {_CLAIM} {name}{_where(*before)}; no claim moves, and that{_where(*after)} begins empty"


def _kept_line(claim: str) -> str:
    return f"kept: {_CLAIM} {claim}; claim: {{name: {claim}}} goes on with it"


def _where(namespace: str, cluster: str) -> str:
    """A place in words, as far as it is known."""
    of_cluster = f" of the cluster {cluster}" if cluster else ""
    return f" in the namespace {namespace}{of_cluster}" if namespace else of_cluster


def _delivery_diffs(pair: Pair) -> Iterator[ObjectDiff]:
    """What changes of the GitOps tools' own objects, in the files of the job and in those that it shares."""
    before, after = _delivery(pair.before), _delivery(pair.after)
    was, now = ({**own, **shared} for own, shared in (before, after))
    for key, diff in _object_diffs(was, now):
        path, _ = key
        yield diff.replaced(file=path, is_shared=any(key in shared for _, shared in (before, after)))


def _delivery(document: Document | None) -> tuple[dict[Any, Object], dict[Any, Object]]:
    """The tools' objects by file and identity: those of the job, and those that it shares."""
    if document is None or "gitops" not in document.data["spec"]:
        return {}, {}
    built = build(document.data)
    delivery = gitops(built.job, built.environments)
    own, shared = (
        {(path, identity(item)): item for path, items in files.items() for item in items}
        for files in (delivery.job_files, delivery.shared_files)
    )
    return own, shared


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
