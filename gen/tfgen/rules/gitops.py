"""What Argo CD or Flux could not apply: they need a place for each environment, and for each place one truth."""

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
_LONGEST: Final = 63
"""Characters of a label's value, which Flux makes of its objects' names."""

_Place: TypeAlias = tuple[str, str]


def _incomplete(document: Document) -> Iterator[Finding]:
    settings = _gitops(document)
    if settings is not None:
        if "argocd" not in settings and "flux" not in settings:
            yield Finding(_GITOPS, "gitops names no tool that applies the job; add argocd: {} or flux: {}")
        if settings.get("source") == "Chart" and _is_in_sets(document):
            message = "an ApplicationSet finds overlays, not charts; write source: Kustomize, or make Applications"
            yield Finding((*_GITOPS, "argocd", "generator"), message)
        yield from _environments(document)


def _unrendered(document: Document) -> Iterator[Finding]:
    applied = _applied(document)
    if applied is None:
        return
    job, settings = applied
    if settings.is_chart and "charts" not in job.outputs:
        message = "gitops.source is Chart, but outputs has no charts; add charts, or write source: Kustomize"
        yield Finding(_OUTPUTS, message)
    elif not settings.is_chart and "overlays" not in job.outputs:
        cure = "add overlays" if _is_in_sets(document) else "add overlays, or write source: Chart"
        yield Finding(_OUTPUTS, f"gitops applies the overlays, but outputs has none; {cure}")
    elif "overlays" not in job.outputs:
        for environment in job.environments:
            if not environment.enabled:
                message = (
                    f"what stays of {environment.name} is applied by its overlay, but outputs has no overlays; "
                    "add overlays, or take the environment out"
                )
                yield Finding((*_ENVIRONMENTS, environment.name, "enabled"), message)


def _environments(document: Document) -> Iterator[Finding]:
    metadata = document.data["metadata"]
    for name, environment in environments_of(document).items():
        if "namespace" not in environment and "namespace" not in metadata:
            message = f"the environment {name} has no namespace; add namespace here, or to metadata"
            yield Finding((*_ENVIRONMENTS, name), message)
        object_name = f"{metadata['name']}-{name}"
        if len(object_name) > _LONGEST:
            message = f"the GitOps object {object_name} would have {len(object_name)} characters, more than {_LONGEST}"
            yield Finding((*_ENVIRONMENTS, name), message)


def _same_place(document: Document) -> Iterator[Finding]:
    first: dict[_Place, str] = {}
    for name, environment in environments_of(document).items():
        place = _place(document, environment)
        if place is None:
            continue
        other = first.setdefault(place, name)
        if other != name:
            where = _in_words(place)
            message = f"the environments {other} and {name} are both in {where}, and have objects of one name"
            yield Finding((*_ENVIRONMENTS, name), message)


def _place(document: Document, environment: Mapping[str, Any]) -> _Place | None:
    """The cluster and the namespace of an environment, as far as they are known."""
    known = _gitops(document) is not None or "namespace" in environment or "cluster" in environment
    namespace = environment.get("namespace", document.data["metadata"].get("namespace"))
    return (environment.get("cluster", ""), namespace) if known and namespace else None


def _clusters(document: Document) -> Any:
    """The cluster of each environment that Flux applies; none where it names none."""
    if "flux" not in (_gitops(document) or {}):
        return None
    return [[name, environment.get("cluster")] for name, environment in environments_of(document).items()]


def _mixed_folders(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    places = [(number, job, name, cluster) for number, job, record in jobs for name, cluster in record]
    unnamed = next((f"the environment {name} of {job}" for _, job, name, cluster in places if cluster is None), None)
    for number, _, name, cluster in places:
        if unnamed and cluster is not None:
            message = (
                f"overlays/flux, where {unnamed} is, is applied with all folders in it, "
                f"and so that of the cluster {cluster} too; name a cluster there as well"
            )
            yield Clash(number, (*_ENVIRONMENTS, name, "cluster"), message)


def _conflict_record(document: Document) -> Any:
    return {"profile": _profile_record(document), "files": _file_record(document), "sets": _set_record(document)}


def _conflicts(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    yield from _namespace_profiles(_part(jobs, "profile"))
    yield from _disagreement(_part(jobs, "files"))
    yield from _taken_along(_part(jobs, "sets"))


def _part(jobs: Sequence[Recorded], name: str) -> list[Recorded]:
    """The same jobs with one part of their records, where that is something."""
    return [job._replace(record=job.record[name]) for job in jobs if job.record[name]]


def _profile_record(document: Document) -> Any:
    """The profile of a job, whether it says one, and the namespaces that a tool makes for it."""
    applied = _applied(document)
    if applied is None or not applied[1].create_namespace:
        return None
    places = [[one.name, one.cluster or "", one.namespace or ""] for one in applied[0].environments]
    return [applied[0].structure.profile, data_path.has(document.data, _PROFILE), places]


def _namespace_profiles(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    """Jobs that make one namespace for pods of two profiles: it has one label, whatever the tool that writes it."""
    first: dict[_Place, tuple[str, Profile]] = {}
    for number, job, (profile, is_said, environments) in jobs:
        for name, *rest in environments:
            cluster, namespace = rest
            other, profile_of_other = first.setdefault((cluster, namespace), (job, profile))
            if profile_of_other != profile:
                message = (
                    f"security.profile is {profile}, and {profile_of_other} in the job {shown(other)}; both make "
                    f"{_in_words((cluster, namespace))}, which has one label: give both one profile, or namespaces of "
                    "their own"
                )
                yield Clash(number, _PROFILE if is_said else (*_ENVIRONMENTS, name), message)


def _in_words(place: _Place) -> str:
    cluster, namespace = place
    return f"the namespace {namespace}{f' of the cluster {cluster}' if cluster else ''}"


def _file_record(document: Document) -> Any:
    """A digest of what the tools get for a job, by path."""
    if _gitops(document) is None:
        return None
    return {path: digest(objects) for path, objects in _files(document).items()}


def _disagreement(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    first: dict[str, tuple[str, str]] = {}
    for number, job, digests in jobs:
        for path, of_objects in digests.items():
            other, of_other = first.setdefault(path, (job, of_objects))
            if of_other != of_objects:
                message = (
                    f"the job {shown(other)} says otherwise of {path}, which both have: namespace, profile or gitops "
                    "differ"
                )
                yield Clash(number, _GITOPS, message)


def _set_record(document: Document) -> Any:
    """The environments whose ApplicationSets a job asks for, and those that one would take along unasked."""
    names = [*environments_of(document)]
    is_in_sets = _is_in_sets(document)
    asks = is_in_sets and (_gitops(document) or {}).get("source") != "Chart"
    return [names if asks else [], names if not is_in_sets and "overlays" in _outputs(document) else []]


def _taken_along(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    """Jobs that an ApplicationSet takes though they did not ask: it sees folders, and none of them says whose it is."""
    sets: dict[str, str] = {}
    for _, job, (asked, _) in jobs:
        for name in asked:
            sets.setdefault(name, job)
    for number, _, (_, taken) in jobs:
        for name in taken:
            if name in sets:
                message = (
                    f"the ApplicationSet of {name}, which the job {shown(sets[name])} asks for, applies all overlays "
                    f"of that name, and so this job's; write argocd: {{generator: ApplicationSet}} in both, or in none"
                )
                yield Clash(number, (*_ENVIRONMENTS, name), message)


def _is_in_sets(document: Document) -> bool:
    return bool((_gitops(document) or {}).get("argocd", {}).get("generator") == "ApplicationSet")


def _files(document: Document) -> dict[str, Any]:
    """What the tools get for a job, by path; of each environment only its place counts here, not its objects.

    Namespaces are left out, of which `_namespace_profiles` speaks.
    """
    from tfgen.targets.gitops.gitops import gitops  # 5 ms, which a job without it need not pay

    job = TrainingJob.from_document(document.data)
    files = gitops(job, {environment.name: {} for environment in job.environments})
    every = {**files.own, **files.shared}
    return {path: items for path, items in every.items() if all(item["kind"] != "Namespace" for item in items)}


def _applied(document: Document) -> tuple[TrainingJob, GitOps] | None:
    """A job that a GitOps tool applies, and how. To read the others too takes time, and there may be many."""
    if _gitops(document) is None:
        return None
    job = TrainingJob.from_document(document.data)
    return (job, job.gitops) if job.gitops is not None else None


def _gitops(document: Document) -> Mapping[str, Any] | None:
    settings: Mapping[str, Any] | None = document.data["spec"].get("gitops")
    return settings


def _outputs(document: Document) -> Sequence[Output]:
    return data_of(document)["spec"].get("outputs", OUTPUTS)


_CONFLICT: Final = "Two jobs contradict each other on an object of a GitOps tool."

RULES: Final = (
    AcrossRule("flux-folders", "error", "Flux would apply the objects of another cluster.", _clusters, _mixed_folders),
    AcrossRule("gitops-conflict", "error", _CONFLICT, _conflict_record, _conflicts),
    rule_alone("gitops-incomplete", "error", "A GitOps tool lacks a value that it needs.", _incomplete),
    rule_alone("gitops-output", "error", "A GitOps tool would apply files that tfgen does not write.", _unrendered),
    rule_alone("same-place", "error", "Two environments of a job are in one namespace of one cluster.", _same_place),
)
