"""Jobs that Argo CD or Flux cannot apply, because a value is missing or two jobs contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.job.facts import data_of, environments_of
from tfgen.job.training_job import OUTPUTS, GitOps, Output, Profile, TrainingJob
from tfgen.rules.finding import Finding
from tfgen.rules.rule import AcrossRule, Clash, Recorded, rule_alone
from tfgen.text.canonical_json import digest
from tfgen.text.document import Document
from tfgen.words import shown

_GITOPS: Final[Path] = ("spec", "gitops")
_ENVIRONMENTS: Final[Path] = ("spec", "environments")
_OUTPUTS: Final[Path] = ("spec", "outputs")
_PROFILE: Final[Path] = ("spec", "security", "profile")
_MAX_NAME_LENGTH: Final = 63
"""Maximum length of the names of Flux objects, because Flux writes these names into labels."""

_Place: TypeAlias = tuple[str, str]


def _incomplete(document: Document) -> Iterator[Finding]:
    settings = _gitops(document)
    if settings is not None:
        if "argocd" not in settings and "flux" not in settings:
            yield Finding(_GITOPS, "gitops names no tool that applies the job; add argocd: {} or flux: {}")
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
        message = "gitops.source is Chart, but outputs does not list charts; add charts, or write source: Kustomize"
        yield Finding(_OUTPUTS, message)
    elif not settings.is_chart and "overlays" not in job.outputs:
        fix = "add overlays" if _is_in_sets(document) else "add overlays, or write source: Chart"
        yield Finding(_OUTPUTS, f"gitops applies overlays, but outputs does not list overlays; {fix}")
    elif "overlays" not in job.outputs:
        for environment in job.environments:
            if not environment.enabled:
                message = (
                    f"the environment {environment.name} is disabled, and gitops applies a disabled environment from "
                    "its overlay, but outputs does not list overlays; add overlays, or remove the environment"
                )
                yield Finding((*_ENVIRONMENTS, environment.name, "enabled"), message)


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
    environment_by_place: dict[_Place, str] = {}
    for name, environment in environments_of(document).items():
        place = _place(document, environment)
        if place is None:
            continue
        first = environment_by_place.setdefault(place, name)
        if first != name:
            message = (
                f"the environments {first} and {name} are both in {_describe(place)}, so their objects have equal "
                "names; set different namespaces or clusters"
            )
            yield Finding((*_ENVIRONMENTS, name), message)


def _place(document: Document, environment: Mapping[str, Any]) -> _Place | None:
    """Return the cluster and the namespace of an environment, such as ``("staging", "ml")``; None without a namespace.

    If the job has no gitops, and the environment sets neither a namespace nor a cluster, return None as well.
    """
    has_place = _gitops(document) is not None or "namespace" in environment or "cluster" in environment
    namespace = environment.get("namespace", document.data["metadata"].get("namespace"))
    return (environment.get("cluster", ""), namespace) if has_place and namespace else None


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
    yield from _namespace_profiles(_with_part_of_record(jobs, "profile"))
    yield from _different_files(_with_part_of_record(jobs, "files"))
    yield from _foreign_overlays(_with_part_of_record(jobs, "sets"))


def _with_part_of_record(jobs: Sequence[Recorded], name: str) -> list[Recorded]:
    """Return the jobs, each with only the part `name` of the record. Omit jobs whose part is empty.

    For example, with the name "files", the record ``{"files": {...}, "sets": [...]}`` becomes ``{...}``.
    """
    return [job._replace(record=job.record[name]) for job in jobs if job.record[name]]


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
    jobs_by_place: dict[_Place, tuple[str, Profile]] = {}
    for number, job, (profile, is_set, environments) in jobs:
        for name, cluster, namespace in environments:
            first_job, first_profile = jobs_by_place.setdefault((cluster, namespace), (job, profile))
            if first_profile != profile:
                message = (
                    f"security.profile is {profile}, but the job {shown(first_job)} sets {first_profile}, and both "
                    f"jobs create {_describe((cluster, namespace))}; set the same profile, or use different namespaces"
                )
                yield Clash(number, _PROFILE if is_set else (*_ENVIRONMENTS, name), message)


def _describe(place: _Place) -> str:
    cluster, namespace = place
    return f"the namespace {namespace}{f' of the cluster {cluster}' if cluster else ''}"


def _file_record(document: Document) -> Any:
    """Return the digests of the files that tfgen renders from a job for Argo CD and Flux, by the path of the file.

    For a job without gitops, return None.
    """
    if _gitops(document) is None:
        return None
    return {path: digest(objects) for path, objects in _files(document).items()}


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
    return [names if has_sets else [], names if not is_in_sets and "overlays" in _outputs(document) else []]


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


def _files(document: Document) -> dict[str, Any]:
    """Return the objects in each file that tfgen renders from a job for Argo CD and Flux, by the path of the file.

    Omit files that contain a Namespace, because `_namespace_profiles` compares the Namespaces.
    """
    from tfgen.targets.gitops.gitops import gitops  # takes 5 ms, which a job without gitops saves

    job = TrainingJob.from_document(document.data)
    files = gitops(job, {environment.name: {} for environment in job.environments})
    all_files = {**files.job_files, **files.shared_files}
    return {path: items for path, items in all_files.items() if all(item["kind"] != "Namespace" for item in items)}


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


def _outputs(document: Document) -> Sequence[Output]:
    return data_of(document)["spec"].get("outputs", OUTPUTS)


_CONFLICT: Final = "Two jobs contradict each other about an object that the jobs share in Argo CD or Flux."

RULES: Final = (
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
)
