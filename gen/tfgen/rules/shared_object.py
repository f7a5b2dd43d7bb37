"""Objects that two jobs or environments create with the same kind and name in the same place.

The place is the cluster and the namespace. A cluster-wide kind ignores the namespace. An unset cluster or namespace
equals another unset cluster or namespace. A retired environment creates no objects. A job with environments creates
objects only in the environments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.job.facts import data_of, environments_of
from tfgen.kubernetes.scope import CLUSTER_KINDS
from tfgen.rules.rule import AcrossRule, Clash, Recorded
from tfgen.text.document import Document
from tfgen.words import shown

_NAME: Final[Path] = ("metadata", "name")
_ENVIRONMENTS: Final[Path] = ("spec", "environments")

_CAUSES: Final = ("run", "storage", "priorityClasses", "serviceAccountName", "objects")
"""The keys of a job that cause the names of objects, from the least to the most specific key."""

_WRITTEN: Final = ("objects", "priorityClasses", "serviceAccountName")
"""The keys whose values are complete names, so that two jobs can name one object on purpose."""


def rank_cause(cause: Path) -> int:
    """Return how specific the cause of a name is: 0 for the name of the job, and the highest rank for `objects`.

    Args:
        cause: the values path that gives an object its name, as in `Identity.cause`.
    """
    return _CAUSES.index(str(cause[0])) + 1 if cause else 0


class _Place(NamedTuple):
    """The place of an object; the namespace of a cluster-wide object is None."""

    cluster: str | None
    namespace: str | None

    def __str__(self) -> str:
        """Return text such as `in the namespace ml of the cluster gpu`; empty if both are unset."""
        namespace = f" in the namespace {self.namespace}" if self.namespace else ""
        cluster = f" {'of' if namespace else 'in'} the cluster {self.cluster}" if self.cluster else ""
        return f"{namespace}{cluster}".lstrip()


class _Created(NamedTuple):
    """An object that a job creates in an environment.

    Attributes:
        job: the job.
        job_place: the file and the line of the job's name.
        has_gitops: whether a GitOps tool applies the job.
        environment: the environment; None for a job without environments.
        path: the path in the document that causes the name of the object.
    """

    kind: str
    name: str
    place: _Place
    job: Recorded
    job_place: str
    has_gitops: bool
    environment: str | None
    path: Path

    @property
    def cause(self) -> Path:
        """The values path that causes the name of the object, as in `Identity.cause`."""
        return () if self.path == _NAME else self.path[3 if self.path[:2] == _ENVIRONMENTS else 1 :]

    @property
    def is_written(self) -> bool:
        """True if the job file contains the complete name of the object."""
        return self.cause[:1] in [(key,) for key in _WRITTEN]

    def __str__(self) -> str:
        return f"{self.job.job}/{self.environment}" if self.environment is not None else self.job.job


def _record(document: Document) -> Any:
    """Return the objects that a job creates as JSON text, because the records of many jobs are in memory at once.

    Example: ``["job.yaml:3", false, [["dev", null, "ml"]], [[[0], ["spec", "run"], ["Service,ConfigMap mnist"]]]]``.
    The four items are the place of the job's name, whether the job has `gitops`, the environments with their clusters
    and namespaces, and the objects. The objects are grouped by the positions of their environments and by the path that
    causes their names. For a job whose objects tfgen cannot build, return None.
    """
    from tfgen.graph.identities import identities  # the three imports take 60 ms, which a check of cached files saves
    from tfgen.rules.view import views  # 60 ms, as above
    from tfgen.rules.wrong_shape import has_objects  # 60 ms, as above

    variants: list[list[str | None]] = []
    numbers: dict[tuple[Path, str, str], list[int]] = {}
    environments = environments_of(document)
    for view in views(document):
        name = view.environment
        if not has_objects(view):
            return None
        settings = environments[name] if name is not None else {}
        if (name is None and environments) or not settings.get("enabled", True):
            continue
        for item in identities(view.job.structure, view.scope):
            path: Path = ("spec", *item.cause) if item.cause else _NAME
            if item.cause and data_path.has(document.data, (*_ENVIRONMENTS, name or "", *item.cause)):
                path = (*_ENVIRONMENTS, name or "", *item.cause)
            kind = f"{item.kind}.{item.group}" if item.group else item.kind
            numbers.setdefault((path, kind, item.name), []).append(len(variants))
        variants.append([name, settings.get("cluster"), view.job.namespace_of(name)])
    groups: dict[tuple[tuple[int, ...], Path], dict[str, list[str]]] = {}
    for (path, kind, object_name), listed in numbers.items():
        groups.setdefault((tuple(listed), path), {}).setdefault(object_name, []).append(kind)
    objects = [
        (listed, path, [f"{','.join(kinds)} {object_name}" for object_name, kinds in kinds_by_name.items()])
        for (listed, path), kinds_by_name in groups.items()
    ]
    place = f"{document.file}:{document.value(_NAME).line}"
    record = (place, "gitops" in data_of(document)["spec"], variants, objects)
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def _check_written(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    """Report an object that the job files define twice, and a cluster-wide object of two environments of a job."""
    for owner, current in _pairs(jobs):
        is_same_job = owner.job.number == current.job.number
        if not is_same_job and not (owner.is_written and current.is_written):
            continue
        if is_same_job:
            subject = f"the environments {owner.environment} and {current.environment}"
        else:
            are_environments = owner.environment is not None and current.environment is not None
            subject = f"the {'environments' if are_environments else 'jobs'} {owner} and {current}"
        path = current.path
        if current.environment is not None:
            path = (*_ENVIRONMENTS, current.environment, *current.cause)
        where = str(current.place) or ("in one cluster" if current.kind in CLUSTER_KINDS else "in one namespace")
        message = (
            f"{subject} both create the {current.kind} {current.name} {where}, so each would overwrite or delete the "
            f"object of the other; {_cure_of_written(current)}"
        )
        yield Clash(current.job.number, path, message)


def _check_generated(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    """Report two jobs that create the same object, once for each cause, at the more specific of the two causes."""
    names: dict[tuple[int, Path, int], dict[tuple[str, str], tuple[_Created, _Created]]] = {}
    for owner, current in _pairs(jobs):
        if owner.job.number == current.job.number or (owner.is_written and current.is_written):
            continue
        reported, other = (current, owner)
        if rank_cause(owner.cause) > rank_cause(current.cause):
            reported, other = owner, current
        key = (reported.job.number, reported.path, other.job.number)
        names.setdefault(key, {}).setdefault((current.kind, current.name), (reported, other))
    for (number, path, _), pairs in names.items():
        reported, other = next(iter(pairs.values()))
        count = len(pairs) - 1
        more = f" and {count} more object{'s' if count > 1 else ''}" if count else ""
        where = f" {reported.place}" if str(reported.place) else ""
        message = (
            f"the job {shown(other.job.job)} of {other.job_place} also creates the {reported.kind} "
            f"{reported.name}{more}{where}; {_cure_of_generated(reported)}"
        )
        yield Clash(number, path, message)


def _pairs(jobs: Sequence[Recorded]) -> Iterator[tuple[_Created, _Created]]:
    """Yield each object that exists twice: first the object of the earlier job or environment, then the later object.

    Omit two jobs of one name, which have their own rule. For two environments of one job, yield only cluster-wide
    objects and entries of `objects`, because the job itself gives the other objects the same names in each namespace.
    """
    variants_of: dict[int, tuple[str, bool, Sequence[Sequence[str | None]]]] = {}
    found: dict[tuple[str, str], list[tuple[Recorded, Sequence[int], Path]]] = {}
    for job in jobs:
        job_place, has_gitops, all_variants, groups = json.loads(job.record)
        variants_of[job.number] = job_place, has_gitops, all_variants
        for variants, path, items in groups:
            for item in items:
                kinds, _, name = item.partition(" ")
                for kind in kinds.split(","):
                    found.setdefault((kind, name), []).append((job, variants, tuple(path)))
    for (kind_and_group, name), entries in found.items():
        if len(entries) == 1 and len(entries[0][1]) == 1:
            continue
        kind = kind_and_group.partition(".")[0]
        owners: dict[_Place, _Created] = {}
        for job, variants, path in entries:
            job_place, has_gitops, all_variants = variants_of[job.number]
            for number in variants:
                environment, cluster, namespace = all_variants[number]
                place = _Place(cluster, None if kind in CLUSTER_KINDS else namespace)
                current = _Created(kind, name, place, job, job_place, has_gitops, environment, path)
                owner = owners.setdefault(place, current)
                if _is_clash(owner, current):
                    yield owner, current


def _is_clash(owner: _Created, current: _Created) -> bool:
    if owner.job.number != current.job.number:
        return owner.job.job != current.job.job
    if owner.environment == current.environment:
        return False  # The rule `object-name` reports two objects of one environment.
    is_entry = current.cause[:1] == ("objects",)
    if current.kind in CLUSTER_KINDS:
        return is_entry or current.has_gitops
    return is_entry and current.place.namespace is not None


def _cure_of_written(current: _Created) -> str:
    key, *entry = current.cause or ("",)
    is_in_environment = current.environment is not None
    if key == "objects":
        other = f"write objects: {{{entry[0]}: null}} in one environment"
        return f"change metadata.name, or {other if is_in_environment else 'delete the object from one of the jobs'}"
    if key == "priorityClasses":
        other = f"write priorityClasses: {{{current.name}: null}} in all environments except one"
        return other if is_in_environment else "delete the class from one of the jobs"
    if key == "serviceAccountName":
        return "write serviceAccount: {create: false} in one of the jobs"
    return "set a different cluster in each environment, or rename one job"


def _cure_of_generated(reported: _Created) -> str:
    cures = {
        "objects": "choose a different metadata.name",
        "priorityClasses": "rename the class",
        "run": "choose a different run, or rename one of the jobs",
        "serviceAccountName": "choose a different serviceAccountName",
        "storage": f"rename the volume, or write claim: {{name: {reported.name}}} to use the claim of the other job",
    }
    return cures[str(reported.cause[0])] if reported.cause else "rename one of the jobs"


RULES: Final = (
    AcrossRule("duplicate-object", "error", "Two jobs create the same object.", _record, _check_generated),
    AcrossRule(
        "shared-object",
        "warning",
        "Two jobs or environments define the same object in the same cluster.",
        _record,
        _check_written,
    ),
)
