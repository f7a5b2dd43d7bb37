"""Objects that stand in several jobs or environments as they are, and that one place has once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from tfgen.job.facts import data_of, environments_of, name_of
from tfgen.kubernetes.object import group
from tfgen.kubernetes.scope import CLUSTER_KINDS
from tfgen.rules.rule import AcrossRule, Clash, Recorded
from tfgen.schema import tunables
from tfgen.text.document import Document

if TYPE_CHECKING:
    from tfgen.job.job_data import EnvironmentData


def _record(document: Document) -> Any:
    """The objects of each environment."""
    return [
        [environment, *one]
        for environment, settings in environments_of(document).items()
        for one in _names(document, settings)
    ]


def _check(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    first: dict[tuple[str, ...], tuple[str, str]] = {}
    for number, job, record in jobs:
        for environment, key, name, item in record:
            other = first.setdefault(tuple(key), (job, environment))
            if other != (job, environment):
                who = f"{other[1]} of the job {other[0]}" if other[0] != job else other[1]
                message = (
                    f"the environments {who} and {environment} both make {item}: whoever applies it last wins, "
                    f"and it goes with either; give it another metadata.name, or write "
                    f"objects: {{{name}: null}} in all but one"
                )
                yield Clash(number, ("spec", "environments", environment, "objects", name), message)


def _names(document: Document, settings: EnvironmentData) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """For each object in an environment: where it is and what it is called there, its name in the job, and it in words.

    Of a namespace that is not said nobody knows which it is.
    """
    if not settings.get("enabled", True):
        return
    data = data_of(document)
    cluster, namespace = settings.get("cluster", ""), settings.get("namespace") or data["metadata"].get("namespace")
    for name, item in tunables.merge(data["spec"].get("objects", {}), settings.get("objects", {})).items():
        if item is None:
            continue
        own_name = (item.get("metadata") or {}).get("name") or f"{name_of(document)}-{name}"
        is_of_cluster = item["kind"] in CLUSTER_KINDS
        if is_of_cluster or namespace:
            place = (cluster, "" if is_of_cluster else str(namespace))
            where = f" in the namespace {namespace}" if not is_of_cluster else " of one cluster"
            yield (*place, group(item), item["kind"], own_name), name, f"the {item['kind']} {own_name}{where}"


RULES: Final = (
    AcrossRule(
        "shared-object",
        "warning",
        "Two jobs or environments make the same object in one place.",
        _record,
        _check,
    ),
)
