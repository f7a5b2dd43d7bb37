"""All that comes of a checked job: its files, and what is wrong with its objects."""

from __future__ import annotations

from collections.abc import Sequence

from tfgen.check.admission.folder import PolicyFolders
from tfgen.check.checked import Weighed
from tfgen.check.limits import JobUse, has_limited_sums, uses
from tfgen.check.manifests import Manifest
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.check.severities import weigh
from tfgen.graph.built import build
from tfgen.record import Record
from tfgen.targets.render import render_document
from tfgen.text.document import Document
from tfgen.tree.rendering import Rendering


class RenderedJob(Record):
    """One job.

    Attributes:
        weighed: what is wrong with its objects.
        unknown: the kinds of its objects that no schema is known of.
        uses: what it asks for, where sums of that are limited.
        rendering: its files.
    """

    weighed: Weighed
    unknown: frozenset[str]
    uses: tuple[JobUse, ...]
    rendering: Rendering


def render_job(
    kubernetes_version: str | None, manifests: Sequence[Manifest], policies: PolicyFolders, document: Document
) -> RenderedJob:
    """Render one job. What varies from job to job comes last.

    Args:
        kubernetes_version: whose schemas the objects are held against; none where it is None.
        manifests: what the repository has of the namespaces in which jobs run.
        policies: those that the platform holds jobs to.
        document: the job.
    """
    schemas = ObjectSchemas(kubernetes_version)
    built = build(document.data)
    problems = check_objects(document, built, schemas, manifests, policies)
    items = [item for objects in (built.base, *built.environments.values()) for item in objects.values()]
    return RenderedJob(
        weighed=weigh(document, problems),
        unknown=schemas.unknown(items),
        uses=uses(built) if has_limited_sums(document) else (),
        rendering=render_document(document, built),
    )
