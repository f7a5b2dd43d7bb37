"""Reader of the ServiceAccount of a foreign job. The annotations of the account give the pods an identity in a cloud.

metadata: {name: trainer, annotations: {iam.gke.io/gcp-service-account: trainer@ml.iam.gserviceaccount.com}}
    -> serviceAccount: {annotations: {iam.gke.io/gcp-service-account: trainer@ml.iam.gserviceaccount.com}}
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tfgen.data_path import Path
from tfgen.importers.foreign_job import ForeignJob
from tfgen.importers.import_report import ImportReport
from tfgen.importers.objects import api_group, kind, mark_server_fields_read, name
from tfgen.importers.part import Part
from tfgen.importers.pod_template import user_keys
from tfgen.schema import kinds

_TARGET: Final[Path] = ("spec", "serviceAccount")
_FIELDS: Final = {"apiVersion", "kind", "metadata", "automountServiceAccountToken"}
"""The fields of a ServiceAccount that job.yaml supports. The lists of secrets have no equivalent."""


def with_service_account(job: ForeignJob, companions: Iterable[Part], report: ImportReport) -> ForeignJob:
    """Add `serviceAccount` to a job if all pods use one account, and the files contain the account with annotations."""
    accounts = {role.pod.role.get("serviceAccountName", "default") for role in job.roles.values()} - {"default"}
    part = next((item for item in companions if _is_account(item, job) and {name(item)} == accounts), None)
    if part is None or kinds.lacking(job.spec, _TARGET[1:]):
        return job
    mark_server_fields_read(part, report)
    if labels := part.get("metadata", "labels"):
        report.drop(labels, "tfgen sets the labels of the account")
    if token := part.get("automountServiceAccountToken"):
        report.drop(token, "the pods of tfgen set automountServiceAccountToken")
    annotations = user_keys(part.value["metadata"].value["annotations"], (*_TARGET, "annotations"), report)
    report.carry(part.value["metadata"].value["name"], "spec", "serviceAccountName")
    if namespace := part.get("metadata", "namespace"):
        report.carry(namespace, "metadata", "namespace")
    return job.replaced(spec={**job.spec, _TARGET[-1]: {"annotations": annotations}})


def _is_account(item: Part, job: ForeignJob) -> bool:
    """Return whether an object is a ServiceAccount in the job's namespace, with annotations and without secrets."""
    is_account = kind(item) == "ServiceAccount" and not api_group(item)
    namespace = item.text_at("metadata", "namespace")
    has_fields = is_account and {key for key, _ in item.entries()} <= _FIELDS
    return has_fields and namespace in ("", job.namespace) and any(item.entries("metadata", "annotations"))
