"""The objects in foreign files: one a document, or the items of a List; and what the API server adds to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tfgen.importers.import_report import ImportReport
from tfgen.importers.part import Part, document_part
from tfgen.text.document import Document

_OF_SERVER: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

_STAYS: Final = "it is no part of the job; go on applying it"
_KEPT: Final[Mapping[str, str]] = {
    "PersistentVolumeClaim": "the job has it by its name, and the model with it; leave it where it is",
    "PersistentVolume": "a claim has it; leave it where it is",
    "ConfigMap": "the job has it by its name; go on applying it",
    "Secret": "the job has it by its name; go on applying it",
    "ServiceAccount": "the job has it by its name; go on applying it",
    "Namespace": "the job runs in it; go on applying it",
    "Service": "the job has Services of its own; go on applying it only if something else asks for its name",
}
"""What becomes of the objects beside a job, by their kind."""


def objects(documents: Iterable[Document]) -> Iterator[Part]:
    """All objects of some documents, those in a List, or in a List of it, one by one."""
    for document in documents:
        yield from _items(document_part(document))


def _items(part: Part) -> Iterator[Part]:
    if kind(part).endswith("List") and part.get("items"):
        for item in part.items("items"):
            yield from _items(item)
    else:
        yield part


def api_group(item: Part) -> str:
    """The API group of an object; empty for the core group."""
    return item.text_at("apiVersion").rpartition("/")[0]


def api_version(item: Part) -> str:
    """The version of an object's API group."""
    return item.text_at("apiVersion").rpartition("/")[2]


def kind(item: Part) -> str:
    """The kind of an object."""
    return item.text_at("kind")


def name(item: Part) -> str:
    """The name of an object."""
    return item.text_at("metadata", "name")


def drop_server_fields(item: Part, report: ImportReport) -> None:
    """Name what the API server adds to an object that lives: it is no loss."""
    for key, part in item.entries("metadata"):
        if key in _OF_SERVER:
            report.mark_read(part)
    last = item.get("metadata", "annotations")
    if last:
        report.mark_read(last.replaced(value={k: v for k, v in last.value.items() if k == LAST_APPLIED}))
    for key in ("apiVersion", "kind", "status"):
        if field := item.get(key):
            report.mark_read(field)


def keep(item: Part, report: ImportReport) -> None:
    """Say what becomes of an object beside the job."""
    report.keep(item, _KEPT.get(kind(item), _STAYS))
