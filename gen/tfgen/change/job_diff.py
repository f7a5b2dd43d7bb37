"""The differences between the objects of two versions of a job, by environment, object and field.

The same tfgen renders both versions, so that all differences come from the job. If the job has environments, only the
environments are compared, because no cluster receives the job without an environment.

A new run renames all objects of the run. tfgen therefore gives the old objects the name of the new run before the
comparison, so that the comparison shows only the user's changes.

Kubernetes never deletes a claim together with a job. If the job no longer has the claim, or moves to a different
namespace or cluster, the old claim stays in the cluster with its data. `kept_claims` lists such claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from tfgen import data_path
from tfgen.change.comparison import Pair
from tfgen.change.field_diff import FieldChange, field_changes
from tfgen.errors import Problem
from tfgen.graph.graph import plain_objects, variant_objects
from tfgen.job.facts import environments_of, name_of, run_of
from tfgen.job.training_job import TrainingJob
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, identity
from tfgen.kubernetes.pods import Totals, queue_name, totals
from tfgen.record import Record
from tfgen.targets.gitops import Delivery, gitops
from tfgen.text.document import Document

ObjectAction: TypeAlias = Literal["added", "changed", "removed"]

_CLAIM: Final = "PersistentVolumeClaim"


class ObjectDiff(Record):
    """A changed object.

    Attributes:
        fields: changed fields; empty for an added or removed object.
        file: path of a GitOps object below the output folder; empty for an object of the job.
        is_shared: True if several jobs share the file.
    """

    action: ObjectAction
    item: Object
    fields: tuple[FieldChange, ...] = ()
    file: str = ""
    is_shared: bool = False

    @property
    def title(self) -> str:
        """Return the kind and the name of the object."""
        return f"{self.item['kind']} {self.item['metadata']['name']}"


class EnvironmentDiff(Record):
    """The changes in an environment.

    Attributes:
        environment: name of the environment; None for the job without an environment.
        before: sum of the old resource requests; None for a new environment.
        after: sum of the new resource requests; None for a removed environment.
        runs: names of the old run and of the new run; None for an unchanged run.
        place: changes of the namespace, of the cluster, and of `enabled`.
        kept_claims: a sentence for each claim that stays in the cluster, with the setting that reuses the claim.
        queues: the old and the new queue of Kueue or Volcano; empty texts without a queue.
    """

    environment: str | None
    objects: tuple[ObjectDiff, ...]
    before: Totals | None
    after: Totals | None
    runs: tuple[str, str] | None = None
    place: tuple[FieldChange, ...] = ()
    kept_claims: tuple[str, ...] = ()
    queues: tuple[str, str] = ("", "")

    def __bool__(self) -> bool:
        return bool(self.objects or self.runs or self.place)

    @property
    def ends_run(self) -> bool:
        """Return True if the change ends the run in the environment."""
        is_retired = any(str(change.path) == "enabled" and change.after is False for change in self.place)
        return self.before is not None and (self.after is None or is_retired)

    @property
    def ends_run_or_keeps_claim(self) -> bool:
        """Return True if the change ends the run in the environment, or leaves a claim in the cluster."""
        return self.ends_run or (self.before is not None and bool(self.kept_claims))


class JobDiff(Record):
    """The changes of a job.

    Attributes:
        needs_new_run: a problem for each change that Kubernetes cannot apply to a started run.
        delivery: changed GitOps objects.
        has_gitops: whether the old version of the job has `gitops`. If not, no tool deletes the objects of a removed
            job, unless the user wrote the object of the tool.
    """

    name: str
    file: str
    environments: tuple[EnvironmentDiff, ...]
    needs_new_run: tuple[Problem, ...]
    delivery: tuple[ObjectDiff, ...] = ()
    has_gitops: bool = True

    def __bool__(self) -> bool:
        return any(self.environments) or bool(self.delivery)

    @property
    def is_removed_without_gitops(self) -> bool:
        """Return True if the change removes a job, or an environment of a job, that has no `gitops`."""
        return not self.has_gitops and any(environment.after is None for environment in self.environments)

    def with_users(self, users: Mapping[str, str]) -> JobDiff:
        """Return a copy in which the sentence about each kept claim names the job that now uses the claim.

        Args:
            users: name of the job that uses a claim, by name of the claim. Example: {"mnist-model": "mnist"}.
        """
        lines = {_kept_line(claim): f"kept: {_CLAIM} {claim}, in use by {job}" for claim, job in users.items()}
        environments = (
            environment.replaced(kept_claims=tuple(lines.get(line, line) for line in environment.kept_claims))
            for environment in self.environments
        )
        return self.replaced(environments=tuple(environments))


def claim_users(document: Document | None) -> dict[str, str]:
    """Return the name of the job for each claim of the job. Example: {"mnist-model": "mnist", "mnist-data": "mnist"}.

    The caller merges the mappings of all jobs.
    """
    if document is None:
        return {}
    spec = document.data["spec"]
    storages = [values.get("storage") or {} for values in (spec, *environments_of(document).values())]
    claims = (data_path.at(volume, ("claim", "name")) for storage in storages for volume in storage.values())
    return {claim: name_of(document) for claim in claims if isinstance(claim, str)}


def diff_job(pair: Pair) -> JobDiff:
    """Return the difference between the committed version and the current version of a job."""
    # The environments are in the order of the current version. If one version has no environments, the first item is
    # None, for the job without an environment.
    name_lists = [tuple(environments_of(document)) for document in (pair.after, pair.before) if document is not None]
    job_alone = [None] if not all(name_lists) else []
    names: list[str | None] = [*job_alone, *dict.fromkeys(name for names in name_lists for name in names)]
    document = pair.after or pair.before
    return JobDiff(
        name=pair.name,
        file=document.file if document else "",
        environments=tuple(_environment_diff(pair, name) for name in names),
        needs_new_run=tuple(pair.new_runs),
        delivery=tuple(_delivery_diffs(pair)),
        has_gitops=pair.built_before is not None and pair.built_before.job.gitops is not None,
    )


def _environment_diff(pair: Pair, environment: str | None) -> EnvironmentDiff:
    is_before, is_after = _has(pair.before, environment), _has(pair.after, environment)
    runs = None
    before: Sequence[Object] = (
        variant_objects(pair.built_before, environment) if pair.built_before and is_before else ()
    )
    if pair.before and pair.after and is_before and is_after:
        was_run, run = (run_of(document.data, environment) for document in (pair.before, pair.after))
        if run != was_run:
            runs = (was_run, run)
            run_path = ("spec", *(("environments", environment) if environment is not None else ()), "run")
            before = plain_objects(data_path.with_value(pair.before.data, run_path, run), environment)
    after = variant_objects(pair.built_after, environment) if pair.built_after and is_after else ()
    was, now = ({identity(item): item for item in items} for items in (before, after))
    places = _place(pair.before, environment), _place(pair.after, environment)
    return EnvironmentDiff(
        environment,
        tuple(diff for _, diff in _object_diffs(was, now)),
        totals(before) if is_before else None,
        totals(after) if is_after else None,
        runs,
        tuple(field_changes(*places)),
        tuple(_kept_claims(was, now, *places)) if is_before else (),
        (queue_name(before), queue_name(after)),
    )


def _object_diffs(was: Mapping[Any, Object], now: Mapping[Any, Object]) -> Iterator[tuple[Any, ObjectDiff]]:
    """Yield the identity and the difference of each object that differs between two versions.

    `was` and `now` contain the objects of the old version and of the new version, by identity. The removed objects come
    last.
    """
    for key in [*now, *(key for key in was if key not in now)]:
        if key not in was:
            yield key, ObjectDiff("added", now[key])
        elif key not in now:
            yield key, ObjectDiff("removed", was[key])
        else:
            changes = field_changes(was[key], now[key])
            # The hash of a pod template changes with each other field of the template.
            fields = tuple(change for change in changes if keys.POD_TEMPLATE_HASH not in change.path.steps)
            if fields:
                yield key, ObjectDiff("changed", now[key], fields)


def _place(document: Document | None, environment: str | None) -> dict[str, Any]:
    """Return the place of an environment without missing values, such as {"namespace": "ml", "cluster": "west"}.

    For a retired environment, the mapping also contains `"enabled": False`. For the job without an environment (None),
    the mapping contains only the namespace. For an environment that the job lacks, the mapping is empty.
    """
    if document is None or not _has(document, environment):
        return {}
    job = TrainingJob.from_document(document.data)
    if environment is None:
        return {} if job.namespace is None else {"namespace": job.namespace}
    (item,) = (item for item in job.environments if item.name == environment)
    place = {"namespace": item.namespace, "cluster": item.cluster, "enabled": None if item.enabled else False}
    return {key: value for key, value in place.items() if value is not None}


def _kept_claims(
    was: Mapping[Any, Object], now: Mapping[Any, Object], old_place: Mapping[str, Any], new_place: Mapping[str, Any]
) -> Iterator[str]:
    """Yield a sentence for each claim that stays in the cluster although the new version no longer uses the claim."""
    words = (("namespace", " in the namespace "), ("cluster", " of the cluster "))
    before, after = (
        "".join(f"{word}{place[key]}" for key, word in words if place.get(key)) for place in (old_place, new_place)
    )
    is_moved = any(old_place.get(key, "") != new_place.get(key, "") for key in ("namespace", "cluster"))
    for key, item in was.items():
        name = item["metadata"]["name"]
        if item["kind"] == _CLAIM and key not in now:
            yield _kept_line(name)
        elif item["kind"] == _CLAIM and is_moved:
            yield f"kept: {_CLAIM} {name}{before}; a claim cannot move, so the new claim{after} is empty"


def _kept_line(claim: str) -> str:
    return f"kept: {_CLAIM} {claim}; to use the claim again, set claim: {{name: {claim}}}"


def _delivery_diffs(pair: Pair) -> Iterator[ObjectDiff]:
    """Yield an `ObjectDiff` for each changed GitOps object, in the job's own files and in the files that jobs share."""
    deliveries = [
        gitops(built.job, built.environments) if built else Delivery({}, {})
        for built in (pair.built_before, pair.built_after)
    ]
    was, now = (
        {(path, identity(item)): item for path, item in {**files.job_files, **files.shared_files}.items()}
        for files in deliveries
    )
    for (path, _), diff in _object_diffs(was, now):
        yield diff.replaced(file=path, is_shared=any(path in files.shared_files for files in deliveries))


def _has(document: Document | None, environment: str | None) -> bool:
    """Return True if a job has an environment. A job without environments has only the environment None."""
    if document is None:
        return False
    environments = environments_of(document)
    return environment in environments or (environment is None and not environments)
