"""Render one job, and check its objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tfgen.check.checked import Reported
from tfgen.check.manifests import Manifest
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.check.severities import set_severities
from tfgen.errors import Place
from tfgen.graph.built import build
from tfgen.job.facts import name_of, rendered_branch
from tfgen.rails.limits import JobUse, has_limited_sums, uses
from tfgen.targets.gitops.delivery import ChangedField, controller_fields
from tfgen.targets.render import render_document
from tfgen.text.document import Document
from tfgen.tree.staging import Rendering, Staged, Staging


class RenderedJob(NamedTuple):
    """A rendered job.

    Attributes:
        place: the file and line of the job's name.
        branch: the separate branch for rendered files (gitops.rendered); empty without such a branch.
        reported: the problems of the job's objects.
        kinds_without_schema: the kinds of the job's objects for which no schema exists.
        uses: the resources that the job requests; empty if no tfgen.yaml of the job limits the sum of several jobs.
        rendering: the job's rendered files in the staging folder.
        fields_reset_by_gitops: for a job without `gitops`, the fields that controllers in the cluster change, such as
            `spec.replicas`. A hand-written Application or Kustomization would reset these fields.
    """

    name: str
    place: Place
    branch: str
    reported: Reported
    kinds_without_schema: frozenset[str]
    uses: tuple[JobUse, ...]
    rendering: Staged[Rendering]
    fields_reset_by_gitops: tuple[ChangedField, ...]


def render_job(
    staging: Staging,
    kubernetes_version: str | None,
    manifests: Sequence[Manifest],
    document: Document,
    *,
    uses_cache: bool,
) -> RenderedJob:
    """Render one job, and check its objects.

    Args:
        staging: receives the job's files.
        kubernetes_version: the Kubernetes version whose schemas the objects are validated against; None for no
            validation.
        manifests: the hand-written manifests of the repository, such as quotas.
        document: the job.
        uses_cache: whether to cache on disk the texts that depend only on the structure of the job.
    """
    schemas = ObjectSchemas(kubernetes_version)
    built = build(document.data)
    problems = check_objects(document, built, schemas, manifests)
    items = [item for objects in (built.base, *built.environments.values()) for item in objects.values()]
    return RenderedJob(
        name=name_of(document),
        place=Place(document.file, document.value(("metadata", "name"))),
        branch=rendered_branch(document),
        reported=set_severities(document, problems),
        kinds_without_schema=schemas.kinds_without_schema(items),
        uses=uses(built) if has_limited_sums(document) else (),
        rendering=staging.add(render_document(document, built, uses_cache=uses_cache)),
        fields_reset_by_gitops=tuple(controller_fields(items)) if built.job.gitops is None else (),
    )
