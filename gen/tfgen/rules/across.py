"""Rules that compare several jobs. These rules import few modules, so that `tfgen check` starts fast."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.fix import Fix, Hint, assignment, hint
from tfgen.job.facts import environments_of
from tfgen.job.training_job import OUTPUTS, GitOps, Output, TrainingJob
from tfgen.kubernetes.object import CLUSTER_KINDS
from tfgen.kubernetes.pods import Profile
from tfgen.rules.rule import AcrossRule, Clash, Finding, Recorded, advise, rule_alone
from tfgen.text.document import Document
from tfgen.text.yaml_text import digest
from tfgen.words import shown

# -- duplicate job -----------------------------------------------------------------------------------------------------
#
# Jobs with the same name, which tfgen would render to the same folders.


_NAME: Final = ("metadata", "name")


def _name_record(document: Document) -> Any:
    return [document.file, document.value(_NAME).line]


def _equal_names(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    jobs_by_name: dict[str, Recorded] = {}
    for job in jobs:
        namesake = jobs_by_name.setdefault(job.job, job)
        if namesake is not job:
            file, line = namesake.record
            message = (
                f"the job {shown(job.job)} is already in {file}:{line}, and both jobs write to charts/{job.job}; "
                "rename one of the jobs"
            )
            yield Clash(job.number, _NAME, message)


# -- gitops ------------------------------------------------------------------------------------------------------------
#
# Jobs that Argo CD or Flux cannot apply, because a value is missing or two jobs contradict each other.


_GITOPS: Final[Path] = ("spec", "gitops")
_ENVIRONMENTS: Final[Path] = ("spec", "environments")
_OUTPUTS: Final[Path] = ("spec", "outputs")
_PROFILE: Final[Path] = ("spec", "security", "profile")
_MAX_NAME_LENGTH: Final = 63
"""Maximum length of the names of Flux objects, because Flux writes these names into labels."""

_Destination: TypeAlias = tuple[str, str]


def _incomplete(document: Document) -> Iterator[Finding]:
    settings = _gitops(document)
    if settings is not None:
        if "argocd" not in settings and "flux" not in settings:
            argocd, flux = (assignment((*_GITOPS, tool), {}, f"add {tool}: {{}}") for tool in ("argocd", "flux"))
            text = f"; {argocd.words} or flux: {{}}"
            yield advise(_GITOPS, "gitops names no tool that applies the job", Hint(text, (argocd, flux)))
        if settings.get("source") == "Chart" and _is_in_sets(document):
            message = (
                "an ApplicationSet applies overlays, not charts; write source: Kustomize, or remove argocd.generator"
            )
            yield Finding((*_GITOPS, "argocd", "generator"), message)
        yield from _environments(document)


def _unrendered(document: Document) -> Iterator[Finding]:
    applied = _applied(document)
    if applied is None:
        return
    job, settings = applied
    if settings.is_chart and "charts" not in job.outputs:
        message = "gitops.source is Chart, but outputs does not list charts"
        yield advise(_OUTPUTS, message, hint(_added(job, "charts"), other="write source: Kustomize"))
    elif not settings.is_chart and "overlays" not in job.outputs:
        other = "" if _is_in_sets(document) else "write source: Chart"
        message = "gitops applies overlays, but outputs does not list overlays"
        yield advise(_OUTPUTS, message, hint(_added(job, "overlays"), other=other))
    elif "overlays" not in job.outputs:
        for environment in job.environments:
            if not environment.enabled:
                message = (
                    f"the environment {environment.name} is disabled, and gitops applies a disabled environment from "
                    "its overlay, but outputs does not list overlays"
                )
                advice = hint(_added(job, "overlays"), other="remove the environment")
                yield advise((*_ENVIRONMENTS, environment.name, "enabled"), message, advice)


def _added(job: TrainingJob, output: str) -> Fix:
    return assignment((*_OUTPUTS, len(job.outputs)), output, f"add {output}")


def _environments(document: Document) -> Iterator[Finding]:
    metadata = document.data["metadata"]
    for name, environment in environments_of(document).items():
        if "namespace" not in environment and "namespace" not in metadata:
            message = f"the environment {name} has no namespace; set namespace in the environment, or in metadata"
            yield Finding((*_ENVIRONMENTS, name), message)
        object_name = f"{metadata['name']}-{name}"
        if len(object_name) > _MAX_NAME_LENGTH:
            message = (
                f"the name of the GitOps object {object_name} has {len(object_name)} characters, but at most "
                f"{_MAX_NAME_LENGTH} are allowed; shorten the name of the job or of the environment"
            )
            yield Finding((*_ENVIRONMENTS, name), message)


def _same_place(document: Document) -> Iterator[Finding]:
    environment_by_place: dict[_Destination, str] = {}
    for name, environment in environments_of(document).items():
        namespace = environment.get("namespace", document.data["metadata"].get("namespace"))
        has_place = _gitops(document) is not None or "namespace" in environment or "cluster" in environment
        if not namespace or not has_place:
            continue
        place = (environment.get("cluster", ""), namespace)
        first = environment_by_place.setdefault(place, name)
        if first != name:
            message = (
                f"the environments {first} and {name} are both in {_describe(place)}, so their objects have equal "
                "names; set different namespaces or clusters"
            )
            yield Finding((*_ENVIRONMENTS, name), message)


def _clusters(document: Document) -> Any:
    """Return the cluster of each environment of a job that Flux applies. For another job, return None.

    Example: ``[["dev", "staging"], ["prod", None]]``. In the example, the environment prod sets no cluster.
    """
    if "flux" not in (_gitops(document) or {}):
        return None
    return [[name, environment.get("cluster")] for name, environment in environments_of(document).items()]


def _mixed_folders(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    places = [(number, job, name, cluster) for number, job, record in jobs for name, cluster in record]
    unnamed = next(
        (f"the environment {name} of the job {job}" for _, job, name, cluster in places if cluster is None), None
    )
    for number, _, name, cluster in places:
        if unnamed and cluster is not None:
            message = (
                f"{unnamed} sets no cluster, so Flux applies all of overlays/flux, including the folder of the "
                f"cluster {cluster}; set cluster in each environment"
            )
            yield Clash(number, (*_ENVIRONMENTS, name, "cluster"), message)


def _conflict_record(document: Document) -> Any:
    return {
        "profile": _profile_record(document),
        "files": _file_record(document),
        "sets": _application_set_record(document),
    }


def _conflicts(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    for part, check in (("profile", _namespace_profiles), ("files", _different_files), ("sets", _foreign_overlays)):
        yield from check([job._replace(record=job.record[part]) for job in jobs if job.record[part]])


def _profile_record(document: Document) -> Any:
    """Return the Pod Security profile and the environments of a job that creates its namespaces; None for other jobs.

    Example: ``["baseline", True, [["dev", "staging", "ml-dev"]]]``. True means that the document sets the profile. The
    list has the name, the cluster and the namespace of each environment.
    """
    applied = _applied(document)
    if applied is None or not applied[1].create_namespace:
        return None
    places = [[item.name, item.cluster or "", item.namespace or ""] for item in applied[0].environments]
    return [applied[0].structure.profile, data_path.has(document.data, _PROFILE), places]


def _namespace_profiles(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    """Report jobs that create one namespace with different profiles, because a namespace can have only one profile."""
    jobs_by_place: dict[_Destination, tuple[str, Profile]] = {}
    for number, job, (profile, is_set, environments) in jobs:
        for name, cluster, namespace in environments:
            first_job, first_profile = jobs_by_place.setdefault((cluster, namespace), (job, profile))
            if first_profile != profile:
                message = (
                    f"security.profile is {profile}, but the job {shown(first_job)} sets {first_profile}, and both "
                    f"jobs create {_describe((cluster, namespace))}; set the same profile, or use different namespaces"
                )
                yield Clash(number, _PROFILE if is_set else (*_ENVIRONMENTS, name), message)


def _describe(place: _Destination) -> str:
    cluster, namespace = place
    return f"the namespace {namespace}{f' of the cluster {cluster}' if cluster else ''}"


def _file_record(document: Document) -> Any:
    """Return the digests of the files that tfgen renders from a job for Argo CD and Flux, by the path of the file.

    Omit files that contain a Namespace, because `_namespace_profiles` compares the Namespaces. For a job without
    gitops, return None.
    """
    if _gitops(document) is None:
        return None
    from tfgen.targets.gitops import gitops  # takes 20 ms, which jobs without gitops save

    job = TrainingJob.from_document(document.data)
    files = gitops(job, {environment.name: {} for environment in job.environments})
    all_files = {**files.job_files, **files.shared_files}
    return {path: digest(item) for path, item in all_files.items() if item["kind"] != "Namespace"}


def _different_files(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    jobs_by_file: dict[str, tuple[str, str]] = {}
    for number, job, digests in jobs:
        for path, content in digests.items():
            first_job, first_content = jobs_by_file.setdefault(path, (job, content))
            if first_content != content:
                message = (
                    f"the job {shown(first_job)} writes {path} with a different content; set the same namespace, "
                    "profile and gitops in both jobs"
                )
                yield Clash(number, _GITOPS, message)


def _application_set_record(document: Document) -> Any:
    """Return two lists: the environments with an ApplicationSet, and the environments with only an overlay.

    Example: ``[["dev", "prod"], []]``.
    """
    names = [*environments_of(document)]
    is_in_sets = _is_in_sets(document)
    has_sets = is_in_sets and (_gitops(document) or {}).get("source") != "Chart"
    outputs: Sequence[Output] = document.data["spec"].get("outputs", OUTPUTS)
    return [names if has_sets else [], names if not is_in_sets and "overlays" in outputs else []]


def _foreign_overlays(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    """Report the jobs whose overlays an ApplicationSet of a different job applies.

    An ApplicationSet selects folders by their names, so a job cannot exclude its overlay.
    """
    job_by_set: dict[str, str] = {}
    for _, job, (set_names, _) in jobs:
        for name in set_names:
            job_by_set.setdefault(name, job)
    for number, _, (_, overlay_names) in jobs:
        for name in overlay_names:
            if name in job_by_set:
                message = (
                    f"the job {shown(job_by_set[name])} creates an ApplicationSet of the environment {name}, and this "
                    "ApplicationSet applies the overlay of this job as well; write argocd: {generator: ApplicationSet} "
                    "in both jobs, or in neither job"
                )
                yield Clash(number, (*_ENVIRONMENTS, name), message)


def _is_in_sets(document: Document) -> bool:
    return bool((_gitops(document) or {}).get("argocd", {}).get("generator") == "ApplicationSet")


def _applied(document: Document) -> tuple[TrainingJob, GitOps] | None:
    """Return the job and its GitOps settings; None for a job without GitOps settings.

    The function parses only a document with the key `gitops`, to save time.
    """
    if _gitops(document) is None:
        return None
    job = TrainingJob.from_document(document.data)
    return (job, job.gitops) if job.gitops is not None else None


def _gitops(document: Document) -> Mapping[str, Any] | None:
    settings: Mapping[str, Any] | None = document.data["spec"].get("gitops")
    return settings


_CONFLICT: Final = "Two jobs contradict each other about an object that the jobs share in Argo CD or Flux."


# -- shared object -----------------------------------------------------------------------------------------------------
#
# Objects that two jobs or environments create with the same kind and name in the same place.
#
# The place is the cluster and the namespace. A cluster-wide kind ignores the namespace. An unset cluster or namespace
# equals another unset cluster or namespace. A retired environment creates no objects. A job with environments creates
# objects only in the environments.


_CAUSES: Final = ("run", "storage", "priorityClasses", "serviceAccountName", "objects")
"""The keys of a job that cause the names of objects, from the least to the most specific key."""

_WRITTEN: Final = ("objects", "priorityClasses", "serviceAccountName")
"""The keys whose values are complete names, so that two jobs can name one object on purpose."""


CURES: Final = {
    "objects": "choose a different metadata.name",
    "priorityClasses": "rename the class",
    "serviceAccountName": "choose a different serviceAccountName",
    "storage": "rename the volume",
}
"""The advice for a name that another object has, by the key that causes the name."""


def rank_cause(cause: Path) -> int:
    """Return how specific the cause of a name is: 0 for the name of the job, and the highest rank for `objects`.

    Args:
        cause: the values path that gives an object its name, as in `Identity.cause`.
    """
    return _CAUSES.index(str(cause[0])) + 1 if cause else 0


class _ObjectPlace(NamedTuple):
    """The place of an object; the namespace of a cluster-wide object is None."""

    cluster: str | None
    namespace: str | None

    def __str__(self) -> str:
        """Return text such as `in the namespace ml of the cluster gpu`; empty if both are unset."""
        namespace = f" in the namespace {self.namespace}" if self.namespace else ""
        cluster = f" {'of' if namespace else 'in'} the cluster {self.cluster}" if self.cluster else ""
        return f"{namespace}{cluster}".lstrip()


class _ObjectEntry(NamedTuple):
    """An object of a job in `_objects_record`. Each variant is an environment, its cluster and its namespace.

    Attributes:
        job_place: the file and the line of the job's name.
        has_gitops: whether a GitOps tool applies the job.
        path: the path in the document that causes the name of the object.
    """

    job: Recorded
    job_place: str
    has_gitops: bool
    variants: Sequence[Sequence[str | None]]
    path: Path


class _Created(NamedTuple):
    """An object that a job creates in an environment. The environment is None for a job without environments."""

    kind: str
    name: str
    place: _ObjectPlace
    environment: str | None
    entry: _ObjectEntry

    @property
    def job(self) -> Recorded:
        """The job that creates the object."""
        return self.entry.job

    @property
    def cause(self) -> Path:
        """The values path that causes the name of the object, as in `Identity.cause`."""
        path = self.entry.path
        return () if path == _NAME else path[3 if path[:2] == _ENVIRONMENTS else 1 :]

    @property
    def is_written(self) -> bool:
        """True if the job file contains the complete name of the object."""
        return self.cause[:1] in [(key,) for key in _WRITTEN]

    def __str__(self) -> str:
        return f"{self.job.job}/{self.environment}" if self.environment is not None else self.job.job


def _objects_record(document: Document) -> Any:
    """Return the objects that a job creates as JSON text, because the records of many jobs are in memory at once.

    Example: ``["job.yaml:3", false, [["dev", null, "ml"]], [[[0], ["spec", "run"], ["Service,ConfigMap mnist"]]]]``.
    The four items are the place of the job's name, whether the job has `gitops`, the environments with their clusters
    and namespaces, and the objects. The objects are grouped by the positions of their environments and by the path that
    causes their names. For a job whose objects tfgen cannot build, return None.
    """
    from tfgen.graph.graph import identities  # the three imports take 60 ms, which a check of cached files saves
    from tfgen.rules.pod_fields import has_objects  # 60 ms, as above
    from tfgen.rules.view import views  # 60 ms, as above

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
    record = (place, "gitops" in document.data["spec"], variants, objects)
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
        path = current.entry.path
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
        is_owner = rank_cause(owner.cause) > rank_cause(current.cause)
        reported, other = (owner, current) if is_owner else (current, owner)
        key = (reported.job.number, reported.entry.path, other.job.number)
        names.setdefault(key, {}).setdefault((current.kind, current.name), (reported, other))
    for (number, path, _), pairs in names.items():
        reported, other = next(iter(pairs.values()))
        count = len(pairs) - 1
        more = f" and {count} more object{'s' if count > 1 else ''}" if count else ""
        where = f" {reported.place}" if str(reported.place) else ""
        message = (
            f"the job {shown(other.job.job)} of {other.entry.job_place} also creates the {reported.kind} "
            f"{reported.name}{more}{where}; {_cure_of_generated(reported)}"
        )
        yield Clash(number, path, message)


def _pairs(jobs: Sequence[Recorded]) -> Iterator[tuple[_Created, _Created]]:
    """Yield each object that exists twice: first the object of the earlier job or environment, then the later object.

    Omit two jobs of one name, which have their own rule. For two environments of one job, yield only cluster-wide
    objects and entries of `objects`, because the job itself gives the other objects the same names in each namespace.
    """
    # Most objects belong to one job, so only the second pass keeps objects in memory: those that several jobs create.
    numbers = Counter(hash(item) for job in jobs for item, _ in _entries(job))
    found: dict[tuple[str, str], list[_ObjectEntry]] = {}
    for job in jobs:
        for item, entry in _entries(job):
            if numbers[hash(item)] > 1:
                found.setdefault(item, []).append(entry)
            elif len(entry.variants) > 1:
                yield from _pairs_of_object(item, [entry])
    for item, entries in found.items():
        yield from _pairs_of_object(item, entries)


def _entries(job: Recorded) -> Iterator[tuple[tuple[str, str], _ObjectEntry]]:
    """Yield each object of a job, with the kind and the name of the object."""
    job_place, has_gitops, all_variants, groups = json.loads(job.record)
    for numbers, path, items in groups:
        entry = _ObjectEntry(job, job_place, has_gitops, [all_variants[number] for number in numbers], tuple(path))
        for item in items:
            kinds, _, name = item.partition(" ")
            yield from (((kind, name), entry) for kind in kinds.split(","))


def _pairs_of_object(item: tuple[str, str], entries: Iterable[_ObjectEntry]) -> Iterator[tuple[_Created, _Created]]:
    kind, name = item[0].partition(".")[0], item[1]
    owners: dict[_ObjectPlace, _Created] = {}
    for entry in entries:
        for environment, cluster, namespace in entry.variants:
            place = _ObjectPlace(cluster, None if kind in CLUSTER_KINDS else namespace)
            current = _Created(kind, name, place, environment, entry)
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
        return is_entry or current.entry.has_gitops
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
    key = str(reported.cause[0]) if reported.cause else ""
    if key == "storage":
        return f"{CURES[key]}, or write claim: {{name: {reported.name}}} to use the claim of the other job"
    if key == "run":
        return "choose a different run, or rename one of the jobs"
    return CURES[key] if key else "rename one of the jobs"


ACROSS: Final[tuple[AcrossRule, ...]] = (
    AcrossRule("duplicate-job", "error", "Two jobs have the same name.", _name_record, _equal_names),
    AcrossRule(
        "flux-folders",
        "error",
        "Flux would apply objects that belong to a different cluster.",
        _clusters,
        _mixed_folders,
    ),
    AcrossRule("gitops-conflict", "error", _CONFLICT, _conflict_record, _conflicts),
    rule_alone("gitops-incomplete", "error", "A job does not set a value that Argo CD or Flux needs.", _incomplete),
    rule_alone("gitops-output", "error", "A GitOps tool would apply files that tfgen does not write.", _unrendered),
    rule_alone(
        "same-place", "error", "Two environments of a job use the same namespace of the same cluster.", _same_place
    ),
    AcrossRule("duplicate-object", "error", "Two jobs create the same object.", _objects_record, _check_generated),
    AcrossRule(
        "shared-object",
        "warning",
        "Two jobs or environments define the same object in the same cluster.",
        _objects_record,
        _check_written,
    ),
)
