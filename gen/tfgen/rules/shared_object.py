"""Objects under ``objects`` that several jobs or environments create with the same name in the same namespace."""

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
    """Return a list of the objects under ``objects`` that each environment creates.

    Each item begins with the name of the environment. The remaining three values come from `_objects`.
    """
    return [
        [environment, *described_object]
        for environment, settings in environments_of(document).items()
        for described_object in _objects(document, settings)
    ]


def _check(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    owners: dict[tuple[str, ...], tuple[str, str]] = {}
    for number, job, record in jobs:
        for environment, key, name, description in record:
            owner_job, owner_environment = owners.setdefault(tuple(key), (job, environment))
            if (owner_job, owner_environment) != (job, environment):
                owner, current = owner_environment, environment
                if owner_job != job:
                    owner, current = f"{owner_job}/{owner}", f"{job}/{current}"
                message = (
                    f"the environments {owner} and {current} both create {description}, so each would overwrite or "
                    f"delete the object of the other; change metadata.name, or write objects: {{{name}: null}} in one "
                    "environment"
                )
                yield Clash(number, ("spec", "environments", environment, "objects", name), message)


def _objects(document: Document, settings: EnvironmentData) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield the identity, the key and a description, for each object under ``objects`` of an environment.

    Example: ``(("", "ml", "", "ConfigMap", "mnist-data"), "data", "the ConfigMap mnist-data in the namespace ml")``.
    The identity is the cluster, the namespace, the API group, the kind and the name. Objects with the same identity are
    the same object in the cluster.

    Omit a namespaced object if neither the environment nor the job sets a namespace. `settings` is the mapping of the
    environment.
    """
    if not settings.get("enabled", True):
        return
    data = data_of(document)
    cluster, namespace = settings.get("cluster", ""), settings.get("namespace") or data["metadata"].get("namespace")
    for name, item in tunables.merge(data["spec"].get("objects", {}), settings.get("objects", {})).items():
        if item is None:
            continue
        object_name = (item.get("metadata") or {}).get("name") or f"{name_of(document)}-{name}"
        is_cluster_wide = item["kind"] in CLUSTER_KINDS
        if is_cluster_wide or namespace:
            place = (cluster, "" if is_cluster_wide else str(namespace))
            where = "one cluster" if is_cluster_wide else f"the namespace {namespace}"
            yield (*place, group(item), item["kind"], object_name), name, f"the {item['kind']} {object_name} in {where}"


RULES: Final = (
    AcrossRule(
        "shared-object",
        "warning",
        "Two jobs or environments create the same object in the same cluster.",
        _record,
        _check,
    ),
)
