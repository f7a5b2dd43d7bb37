"""Objects of a whole cluster that a GitOps tool would get from two places: each puts back what the other says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.job.facts import environments_of
from tfgen.rules.rule import AcrossRule, Clash, Recorded
from tfgen.text.document import Document

_NONE: Final[Mapping[str, Any]] = {}


def _record(document: Document) -> Any:
    """The objects of each environment for its whole cluster."""
    spec, job = document.data["spec"], document.data["metadata"]["name"]
    if "gitops" not in spec:
        return None
    return [
        [environment, settings.get("cluster", ""), *one]
        for environment, settings in environments_of(document).items()
        for one in _cluster_objects(job, spec, settings)
    ]


def _check(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    first: dict[tuple[str, str, str], tuple[str, str]] = {}
    for number, job, record in jobs:
        for environment, cluster, kind, name, way_out in record:
            other = first.setdefault((cluster, kind, name), (job, environment))
            if other != (job, environment):
                where = f"the cluster {cluster}" if cluster else "one cluster"
                who = f"{other[1]} of the job {other[0]}" if other[0] != job else other[1]
                message = (
                    f"the environments {who} and {environment} are in {where}, and both make its {kind} {name}: "
                    f"the tool would apply it by turns, and delete it with either; {way_out}"
                )
                yield Clash(number, ("spec", "environments", environment), message)


def _cluster_objects(job: str, spec: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What an environment makes for the whole cluster: the kind, the name, and how another does without."""
    if not settings.get("enabled", True):
        return
    classes = {**spec.get("priorityClasses", _NONE), **settings.get("priorityClasses", _NONE)}
    for name, described in classes.items():
        if described is not None:
            yield "PriorityClass", name, f"write priorityClasses: {{{name}: null}} in all but one"
    eci = spec.get("cloud", _NONE).get("eci", _NONE)
    own = settings.get("cloud", _NONE).get("eci", _NONE)
    if "make" in eci.get("imageCache", _NONE) and own.get("enabled", eci.get("enabled", True)):
        yield "ImageCache", job, "give each a cluster, or make the cache by a job of another name"


RULES: Final = (
    AcrossRule(
        "cluster-wide-object",
        "warning",
        "Two environments in one cluster make the same cluster-wide object.",
        _record,
        _check,
    ),
)
