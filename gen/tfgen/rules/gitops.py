"""What Argo CD or Flux could not apply: they need a place for each environment, and for each place one truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.facts import data_of, environments_of, name_of
from tfgen.job.training_job import OUTPUTS, GitOps, Output, Profile, TrainingJob
from tfgen.rules.rule import AcrossRule, Clash
from tfgen.text.document import Document
from tfgen.words import shown

_GITOPS: Final[Path] = ("spec", "gitops")
_ENVIRONMENTS: Final[Path] = ("spec", "environments")
_OUTPUTS: Final[Path] = ("spec", "outputs")
_PROFILE: Final[Path] = ("spec", "security", "profile")
_LONGEST: Final = 63
"""Characters of a label's value, which Flux makes of its objects' names."""

_Place: TypeAlias = tuple[str, str]


def _incomplete(documents: Sequence[Document]) -> Iterator[Clash]:
    for document in documents:
        settings = _gitops(document)
        if settings is not None:
            if "argocd" not in settings and "flux" not in settings:
                yield Clash(document, _GITOPS, "gitops names no tool that applies the job; add argocd: {} or flux: {}")
            if settings.get("source") == "Chart" and _is_in_sets(document):
                message = "an ApplicationSet finds overlays, not charts; write source: Kustomize, or make Applications"
                yield Clash(document, (*_GITOPS, "argocd", "generator"), message)
            yield from _environments(document)


def _unrendered(documents: Sequence[Document]) -> Iterator[Clash]:
    for document, job, settings in _applied(documents):
        if settings.is_chart and "charts" not in job.outputs:
            message = "gitops.source is Chart, but outputs has no charts; add charts, or write source: Kustomize"
            yield Clash(document, _OUTPUTS, message)
        elif not settings.is_chart and "overlays" not in job.outputs:
            cure = "add overlays" if _is_in_sets(document) else "add overlays, or write source: Chart"
            yield Clash(document, _OUTPUTS, f"gitops applies the overlays, but outputs has none; {cure}")
        elif "overlays" not in job.outputs:
            for environment in job.environments:
                if not environment.enabled:
                    message = (
                        f"what stays of {environment.name} is applied by its overlay, but outputs has no overlays; "
                        "add overlays, or take the environment out"
                    )
                    yield Clash(document, (*_ENVIRONMENTS, environment.name, "enabled"), message)


def _environments(document: Document) -> Iterator[Clash]:
    metadata = document.data["metadata"]
    for name, environment in environments_of(document).items():
        if "namespace" not in environment and "namespace" not in metadata:
            message = f"the environment {name} has no namespace; add namespace here, or to metadata"
            yield Clash(document, (*_ENVIRONMENTS, name), message)
        object_name = f"{metadata['name']}-{name}"
        if len(object_name) > _LONGEST:
            message = f"the GitOps object {object_name} would have {len(object_name)} characters, more than {_LONGEST}"
            yield Clash(document, (*_ENVIRONMENTS, name), message)


def _same_place(documents: Sequence[Document]) -> Iterator[Clash]:
    for document in documents:
        first: dict[_Place, str] = {}
        for name, environment in environments_of(document).items():
            place = _place(document, environment)
            if place is None:
                continue
            other = first.setdefault(place, name)
            if other != name:
                where = _in_words(place)
                message = f"the environments {other} and {name} are both in {where}, and have objects of one name"
                yield Clash(document, (*_ENVIRONMENTS, name), message)


def _place(document: Document, environment: Mapping[str, Any]) -> _Place | None:
    """The cluster and the namespace of an environment, as far as they are known."""
    known = _gitops(document) is not None or "namespace" in environment or "cluster" in environment
    namespace = environment.get("namespace", document.data["metadata"].get("namespace"))
    return (environment.get("cluster", ""), namespace) if known and namespace else None


def _mixed_folders(documents: Sequence[Document]) -> Iterator[Clash]:
    unnamed: str | None = None
    named: list[tuple[Document, str, str]] = []
    for document in documents:
        if "flux" in (_gitops(document) or {}):
            for name, environment in environments_of(document).items():
                if "cluster" in environment:
                    named.append((document, name, environment["cluster"]))
                else:
                    unnamed = unnamed or f"the environment {name} of {document.data['metadata']['name']}"
    for document, name, cluster in named if unnamed else ():
        message = (
            f"overlays/flux, where {unnamed} is, is applied with all folders in it, "
            f"and so that of the cluster {cluster} too; name a cluster there as well"
        )
        yield Clash(document, (*_ENVIRONMENTS, name, "cluster"), message)


def _namespace_profiles(documents: Sequence[Document]) -> Iterator[Clash]:
    """Jobs that make one namespace for pods of two profiles: it has one label, whatever the tool that writes it."""
    first: dict[_Place, tuple[Document, Profile]] = {}
    for document, job, settings in _applied(documents):
        if not settings.create_namespace:
            continue
        profile = job.structure.profile
        for environment in job.environments:
            place = environment.cluster or "", environment.namespace or ""
            other, profile_of_other = first.setdefault(place, (document, profile))
            if profile_of_other != profile:
                job_of_other = shown(name_of(other))
                message = (
                    f"security.profile is {profile}, and {profile_of_other} in the job {job_of_other}; both make "
                    f"{_in_words(place)}, which has one label: give both one profile, or namespaces of their own"
                )
                is_said = data_path.has(document.data, _PROFILE)
                yield Clash(document, _PROFILE if is_said else (*_ENVIRONMENTS, environment.name), message)


def _in_words(place: _Place) -> str:
    cluster, namespace = place
    return f"the namespace {namespace}{f' of the cluster {cluster}' if cluster else ''}"


def _disagreement(documents: Sequence[Document]) -> Iterator[Clash]:
    first: dict[str, tuple[Document, Any]] = {}
    for document in documents:
        if _gitops(document) is None:
            continue
        for path, objects in _files(document).items():
            other, objects_before = first.setdefault(path, (document, objects))
            if objects_before != objects:
                name = shown(other.data["metadata"]["name"])
                message = (
                    f"the job {name} says otherwise of {path}, which both have: namespace, profile or gitops differ"
                )
                yield Clash(document, _GITOPS, message)


def _taken_along(documents: Sequence[Document]) -> Iterator[Clash]:
    """Jobs that an ApplicationSet takes though they did not ask: it sees folders, and none of them says whose it is."""
    sets: dict[str, str] = {}
    for document in documents:
        if _is_in_sets(document) and (_gitops(document) or {}).get("source") != "Chart":
            for name in environments_of(document):
                sets.setdefault(name, document.data["metadata"]["name"])
    for document in documents:
        for name in environments_of(document):
            if name in sets and not _is_in_sets(document) and "overlays" in _outputs(document):
                message = (
                    f"the ApplicationSet of {name}, which the job {shown(sets[name])} asks for, applies all overlays "
                    f"of that name, and so this job's; write argocd: {{generator: ApplicationSet}} in both, or in none"
                )
                yield Clash(document, (*_ENVIRONMENTS, name), message)


def _is_in_sets(document: Document) -> bool:
    return bool((_gitops(document) or {}).get("argocd", {}).get("generator") == "ApplicationSet")


def _conflicts(documents: Sequence[Document]) -> Iterator[Clash]:
    yield from _namespace_profiles(documents)
    yield from _disagreement(documents)
    yield from _taken_along(documents)


def _files(document: Document) -> dict[str, Any]:
    """What the tools get for a job, by path; of each environment only its place counts here, not its objects.

    Namespaces are left out, of which `_namespace_profiles` speaks.
    """
    from tfgen.targets.gitops.gitops import gitops  # 5 ms, which a job without it need not pay

    job = TrainingJob.from_document(document.data)
    files = gitops(job, {environment.name: {} for environment in job.environments})
    every = {**files.own, **files.shared}
    return {path: items for path, items in every.items() if all(item["kind"] != "Namespace" for item in items)}


def _chart_with_flux(documents: Sequence[Document]) -> Iterator[Clash]:
    for document in documents:
        settings = _gitops(document) or {}
        if "flux" in settings and settings.get("source") == "Chart":
            structure = TrainingJob.from_document(document.data).structure
            plan = WORKLOADS[structure.kind].plan(structure)
            if plan and plan.scale:
                message = (
                    "an upgrade of a chart by Flux sets the replicas that the finisher has released; "
                    "write source: Kustomize, or workload.kind: Job"
                )
                yield Clash(document, (*_GITOPS, "source"), message)


def _applied(documents: Sequence[Document]) -> Iterator[tuple[Document, TrainingJob, GitOps]]:
    """The jobs that a GitOps tool applies. To read the others too takes time, and there may be many."""
    for document in documents:
        if _gitops(document) is not None:
            job = TrainingJob.from_document(document.data)
            if job.gitops is not None:
                yield document, job, job.gitops


def _gitops(document: Document) -> Mapping[str, Any] | None:
    settings: Mapping[str, Any] | None = document.data["spec"].get("gitops")
    return settings


def _outputs(document: Document) -> Sequence[Output]:
    return data_of(document)["spec"].get("outputs", OUTPUTS)


RULES: Final = (
    AcrossRule("flux-chart", "warning", "Flux would start the pods of a finished run again.", _chart_with_flux),
    AcrossRule("flux-folders", "error", "Flux would apply the objects of another cluster.", _mixed_folders),
    AcrossRule("gitops-conflict", "error", "Two jobs contradict each other on an object of a GitOps tool.", _conflicts),
    AcrossRule("gitops-incomplete", "error", "A GitOps tool lacks a value that it needs.", _incomplete),
    AcrossRule("gitops-output", "error", "A GitOps tool would apply files that tfgen does not write.", _unrendered),
    AcrossRule("same-place", "error", "Two environments of a job are in one namespace of one cluster.", _same_place),
)
