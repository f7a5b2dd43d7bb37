"""Functions for the objects in imported files, for example to read the kind, or to report an object as kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tfgen.importers.import_report import ImportReport
from tfgen.importers.part import Part, document_part
from tfgen.text.document import Document

_SERVER_FIELDS: Final = (
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

_DEFAULT_REASON: Final = "the object is not part of the job; continue to apply the object"
_REASONS: Final[Mapping[str, str]] = {
    "PersistentVolumeClaim": "the job refers to the claim by name; keep the claim, which may contain the model",
    "PersistentVolume": "a claim of the job may use this volume; do not delete the volume",
    **dict.fromkeys(
        ("ConfigMap", "Secret", "ServiceAccount"), "the job refers to the object by name; continue to apply the object"
    ),
    "Namespace": "the job runs in the namespace; continue to apply the namespace",
    "Service": "tfgen creates the Services of the job; continue to apply this Service only if a client uses its name",
}
"""Kind of an object that the import did not convert to a job -> reason to keep the object."""


def objects(documents: Iterable[Document]) -> Iterator[Part]:
    """Yield the objects of YAML documents. In place of an object of kind List, yield the items of the List."""
    for document in documents:
        yield from _items(document_part(document))


def _items(part: Part) -> Iterator[Part]:
    if kind(part).endswith("List") and part.get("items"):
        for item in part.items("items"):
            yield from _items(item)
    else:
        yield part


def api_group(item: Part) -> str:
    """Return the API group of an object; empty for the core group."""
    return item.text_at("apiVersion").rpartition("/")[0]


def api_version(item: Part) -> str:
    """Return the version in the apiVersion of an object, such as v1 for apps/v1."""
    return item.text_at("apiVersion").rpartition("/")[2]


def kind(item: Part) -> str:
    """Return the kind of an object."""
    return item.text_at("kind")


def name(item: Part) -> str:
    """Return the name of an object."""
    return item.text_at("metadata", "name")


def mark_server_fields_read(item: Part, report: ImportReport) -> None:
    """Mark the fields that the API server added to an object as read. So the import report does not list the fields."""
    for key, part in item.entries("metadata"):
        if key in _SERVER_FIELDS:
            report.mark_read(part)
    if last_applied := item.get("metadata", "annotations", LAST_APPLIED):
        report.mark_read(last_applied)
    for key in ("apiVersion", "kind", "status"):
        if field := item.get(key):
            report.mark_read(field)


def keep_object(item: Part, report: ImportReport) -> None:
    """Report an object as kept, with the reason for its kind."""
    report.keep(item, _REASONS.get(kind(item), _DEFAULT_REASON))
