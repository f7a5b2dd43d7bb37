"""Cluster-wide objects in two overlays. A GitOps tool would alternate between the two versions of such an object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.job.facts import environments_of
from tfgen.rules.rule import AcrossRule, Clash, Recorded
from tfgen.text.document import Document

_EMPTY: Final[Mapping[str, Any]] = {}


def _record(document: Document) -> Any:
    """Return a list of the cluster-wide objects that each environment creates. For a job without gitops, return None.

    Each item has the environment, the cluster, the kind, the name, and the advice for the message. Example: ``["dev",
    "", "PriorityClass", "train", "write priorityClasses: ..."]``.
    """
    spec, job = document.data["spec"], document.data["metadata"]["name"]
    if "gitops" not in spec:
        return None
    return [
        [environment, settings.get("cluster", ""), *described_object]
        for environment, settings in environments_of(document).items()
        for described_object in _cluster_objects(job, spec, settings)
    ]


def _check(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    owners: dict[tuple[str, str, str], tuple[str, str]] = {}
    for number, job, record in jobs:
        for environment, cluster, kind, name, advice in record:
            owner_job, owner_environment = owners.setdefault((cluster, kind, name), (job, environment))
            if (owner_job, owner_environment) != (job, environment):
                where = f"the cluster {cluster}" if cluster else "one cluster"
                owner, current = owner_environment, environment
                if owner_job != job:
                    owner, current = f"{owner_job}/{owner}", f"{job}/{current}"
                message = (
                    f"the environments {owner} and {current} both create the {kind} {name} in {where}, so "
                    f"each would overwrite or delete the object of the other; {advice}"
                )
                yield Clash(number, ("spec", "environments", environment), message)


def _cluster_objects(job: str, spec: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the kind, the name and the advice for the message, for each cluster-wide object of an environment.

    `job` is the name of the job, and `settings` is the mapping of the environment.
    """
    if not settings.get("enabled", True):
        return
    classes = {**spec.get("priorityClasses", _EMPTY), **settings.get("priorityClasses", _EMPTY)}
    for name, priority_class in classes.items():
        if priority_class is not None:
            yield "PriorityClass", name, f"write priorityClasses: {{{name}: null}} in all environments except one"
    eci = spec.get("cloud", _EMPTY).get("eci", _EMPTY)
    environment_eci = settings.get("cloud", _EMPTY).get("eci", _EMPTY)
    if "make" in eci.get("imageCache", _EMPTY) and environment_eci.get("enabled", eci.get("enabled", True)):
        yield "ImageCache", job, "set a different cluster in each environment, or rename one job"


RULES: Final = (
    AcrossRule(
        "cluster-wide-object",
        "warning",
        "Two environments in one cluster create the same cluster-wide object.",
        _record,
        _check,
    ),
)
