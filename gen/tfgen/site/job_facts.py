"""Collects the facts about a job from the job's document and the job's Kubernetes objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from tfgen import data_path
from tfgen.graph.built import BuiltJob, build, variant_objects
from tfgen.job.origin import origins
from tfgen.kubernetes import quantity
from tfgen.kubernetes.object import Object
from tfgen.kubernetes.pods import gpu_product, pod_requests, pods_of, queue_name, totals
from tfgen.pictures.describe import describe_built
from tfgen.pictures.picture import Picture
from tfgen.pictures.svg import as_svg
from tfgen.site.facts import Change, EnvironmentFacts, JobFacts, ObjectText, ProblemLine, Requests, ValueOrigin
from tfgen.text.document import Document
from tfgen.text.yaml_text import dump
from tfgen.words import path_name, shown

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount

_CLAIM: Final = "PersistentVolumeClaim"
_OWNER_LABELS: Final = ("team", "owner")
_PROJECT: Final = ("spec", "gitops", "argocd", "project")
_LONGEST: Final = 80
"""Maximum number of characters of a value in the table of a job's values."""


def job_facts(
    document: Document, problems: Sequence[ProblemLine], history: Sequence[Change], waiting: Sequence[str]
) -> JobFacts:
    """Return the facts about a job that has no errors.

    Args:
        document: the document of the job.
        problems: the problems of the job file.
        history: the commits that changed the job file, the newest first.
        waiting: texts that describe the uncommitted changes of the job.
    """
    built = build(document.data)
    names: Sequence[str | None] = [*built.environments] or [None]
    picture = describe_built(document, built)
    return JobFacts(
        name=built.job.name,
        file=document.file,
        team=_team(document),
        environments=tuple(_environment(document, built, name) for name in names),
        problems=tuple(problems),
        history=tuple(history),
        waiting=tuple(waiting),
        delivery=tuple(dict.fromkeys(_delivery(picture))),
        picture=as_svg(picture),
    )


def _team(document: Document) -> str:
    """Return the team of a job: the value of a label, or else the project of Argo CD, or else the name of a folder.

    The label is `team` or `owner`. The folder is the parent of the job's folder, such as `ads` for
    jobs/ads/mnist/job.yaml.
    """
    labels = document.data["spec"].get("labels") or {}
    for name in _OWNER_LABELS:
        for key, value in labels.items():
            if key.rpartition("/")[2] == name and value:
                return str(value)
    project = data_path.at(document.data, _PROJECT)
    if project:
        return str(project)
    folders = PurePosixPath(document.file).parent.parent.parts
    return folders[-1] if len(folders) > 1 else ""


def _environment(document: Document, built: BuiltJob, name: str | None) -> EnvironmentFacts:
    job = built.job
    variant = next((item for item in job.environments if item.name == name), None)
    objects = variant_objects(built, name)
    return EnvironmentFacts(
        name=name or "",
        namespace=(variant.namespace if variant else job.namespace) or "",
        cluster=(variant.cluster if variant else None) or "",
        queue=queue_name(objects),
        is_enabled=variant is None or variant.enabled,
        requests=_requests(objects),
        objects=tuple(ObjectText(f"{item['kind']} {item['metadata']['name']}", dump(item)) for item in objects),
        origins=tuple(_origins(document, name)),
    )


def _requests(objects: Sequence[Object]) -> Requests:
    """Return the sum of the requests of all pods and claims, even of pods that do not run at the same time."""
    sums = totals(objects)
    gpus: dict[str, Amount] = {}
    for pods in (pods for item in objects for pods in pods_of(item)):
        for resource, value in pod_requests(pods.spec).items():
            if resource.endswith("/gpu"):
                product = gpu_product(pods.spec) or resource
                gpus[product] = gpus.get(product, 0) + value * pods.count
    return Requests(
        pods=sums.pods,
        cpu=sums.requests.get("cpu", 0),
        memory=sums.requests.get("memory", 0),
        storage=sum(_claimed(item) for item in objects if item["kind"] == _CLAIM),
        gpus={key: value for key, value in gpus.items() if value},
    )


def _claimed(claim: Object) -> Amount:
    return quantity.parse(claim["spec"]["resources"]["requests"]["storage"])


def _origins(document: Document, environment: str | None) -> Iterator[ValueOrigin]:
    for item in origins(document, environment):
        if item.place is not None:
            yield ValueOrigin(path_name(item.path), shown(item.value, _LONGEST), str(item))


def _delivery(picture: Picture) -> Iterator[str]:
    for panel in picture.panels:
        for label, text in panel.notes:
            if label == "delivery":
                yield f"{panel.title}: {text}"
