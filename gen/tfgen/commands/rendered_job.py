"""All that comes of checked jobs: their files, and what is wrong with their objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from tfgen.check.admission.folder import PolicyFolders, read_policy_folders
from tfgen.check.checked import Weighed
from tfgen.check.manifests import Manifest
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.check.severities import weigh
from tfgen.graph.built import build
from tfgen.record import Record
from tfgen.targets.render import render_document
from tfgen.text.document import Document
from tfgen.tree.rendering import Rendering
from tfgen.workers import map_items


class RenderedJob(Record):
    """One job: what is wrong with its objects, the kinds that no schema is known of, and its files."""

    weighed: Weighed
    unknown: frozenset[str]
    rendering: Rendering


def render_jobs(
    documents: Sequence[Document], manifests: Sequence[Manifest] = (), kubernetes_version: str | None = None
) -> Iterator[RenderedJob]:
    """Render jobs that have no errors, in their order, each as soon as it is done.

    Args:
        documents: the jobs.
        manifests: what the repository has of the namespaces in which jobs run.
        kubernetes_version: whose schemas the objects are held against; none where it is None.

    Raises:
        UsageError: the jobs' tfgen.yaml names policies, and there is nothing that evaluates them.
        TfgenError: the disk fails.
    """
    policies = read_policy_folders(documents)
    return map_items(partial(render_job, kubernetes_version, manifests, policies), documents)


def render_job(
    kubernetes_version: str | None, manifests: Sequence[Manifest], policies: PolicyFolders, document: Document
) -> RenderedJob:
    """Render one job. What varies from job to job comes last.

    Args:
        kubernetes_version: as `render_jobs` has it.
        manifests: as `render_jobs` has it.
        policies: those that the platform holds jobs to.
        document: the job.
    """
    schemas = ObjectSchemas(kubernetes_version)
    built = build(document.data)
    problems = check_objects(document, built, schemas, manifests, policies)
    items = [item for objects in (built.base, *built.environments.values()) for item in objects.values()]
    return RenderedJob(weigh(document, problems), schemas.unknown(items), render_document(document, built))
