"""A checked job to everything that is written for it.

job.yaml -> TrainingJob -> graph -> FileTree: charts/NAME, overlays/NAME, or both
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfgen.graph.built import BuiltJob, Objects, build
from tfgen.job.facts import own_data
from tfgen.job.sources import source_name
from tfgen.job.training_job import TrainingJob
from tfgen.targets.chart.chart import chart
from tfgen.targets.kustomize.overlays import kustomize
from tfgen.text.document import Document
from tfgen.tree.file_tree import FileTree
from tfgen.tree.rendering import Rendering, Revision


def render(data: Mapping[str, Any], own: Mapping[str, Any] | None = None, built: BuiltJob | None = None) -> Rendering:
    """All files of the outputs that the job asks for, in a document that has no errors.

    Args:
        data: the job, with what is merged under it.
        own: what the job's own file says, where something is: the ledger tells a change of one from that of the other.
        built: what `build` makes of the data, where that is there already.
    """
    built = built or build(data)
    job, environments = built.job, built.environments
    sources = {template.name: template.files for template in built.templates if template.files}
    delivery = _delivery(job, environments)
    parts: dict[str, Mapping[str, str]] = {f"the objects of {name}": tree for name, tree in delivery.items()}
    version: Revision | None = None
    if "charts" in job.outputs:
        parts["the chart"], version = chart(job, data["spec"])
    if "overlays" in job.outputs:
        parts["the overlays"] = kustomize(built, sources)
    return Rendering(
        job=job.name,
        tree=FileTree.combine(parts),
        input_digest=_digest(data if own is None else own),
        defaults_digest=_digest(data) if own is not None else "",
        shared=frozenset(delivery.get("other jobs too", ())),
        revision=version,
    )


def _digest(data: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def input_digest(document: Document) -> str:
    """The digest of what a job's own file says, which its ledger has."""
    return _digest(own_data(document))


def render_document(document: Document, built: BuiltJob | None = None) -> Rendering:
    """The same of a document as it was read from disk, with the file that it was read from."""
    return render(document.data, document.unmerged, built).replaced(source=source_name(Path(document.file)))


def _delivery(job: TrainingJob, environments: Mapping[str, Objects]) -> dict[str, dict[str, str]]:
    """What the GitOps tools apply it by."""
    if job.gitops is None:
        return {}
    from tfgen.targets.gitops.gitops import gitops, texts  # 5 ms, which a job without it need not pay

    delivery = gitops(job, environments)
    return {"one job": texts(delivery.own), "other jobs too": texts(delivery.shared)}
