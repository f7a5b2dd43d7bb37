"""Renders a checked job to files: the chart, the overlays and the GitOps objects.

The first step makes a `TrainingJob` from the data of job.yaml, and the second step makes the object graph of the job.
The last step writes the graph as charts/NAME, as overlays/NAME, or as both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfgen.graph.graph import BuiltJob, build
from tfgen.job.facts import own_data
from tfgen.job.sources import source_name
from tfgen.places import placeholders
from tfgen.targets.chart.chart import chart
from tfgen.targets.gitops import gitops, yaml_texts
from tfgen.targets.kustomize.overlays import kustomize
from tfgen.text.document import Document
from tfgen.tree.files import FileTree
from tfgen.tree.staging import NumberedFile, Rendering


def render(
    data: Mapping[str, Any],
    job_data: Mapping[str, Any] | None = None,
    built: BuiltJob | None = None,
    *,
    uses_cache: bool = False,
) -> Rendering:
    """Render all outputs of a job that has no errors. The caller has checked the job.

    Args:
        data: the job, merged with its layers.
        job_data: the job without its layers; None for a job without layers. The ledger uses this data to distinguish a
            change of the job from a change of a layer.
        built: the result of `build` for `data`; None if the caller has not called `build`.
        uses_cache: whether to use the cache on disk for the texts that depend only on the structure of the job.
    """
    built = built or build(data)
    job = built.job
    delivery = gitops(job, built.environments)
    empty_files = dict.fromkeys(placeholders((*delivery.job_files, *delivery.shared_files)), "")
    shared = {**yaml_texts(delivery.shared_files), **empty_files}
    parts: dict[str, Mapping[str, str]] = {
        "the objects of one job": yaml_texts(delivery.job_files),
        "the objects of several jobs": shared,
    }
    version: NumberedFile | None = None
    if "charts" in job.outputs:
        parts["the chart"], version = chart(job, data["spec"], uses_cache=uses_cache)
    if "overlays" in job.outputs:
        parts["the overlays"] = kustomize(built)
    return Rendering(
        job=job.name,
        tree=FileTree.combine(parts),
        input_digest=_digest(data if job_data is None else job_data),
        defaults_digest=_digest(data) if job_data is not None else "",
        shared=frozenset(shared),
        revision=version,
    )


def _digest(data: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def input_digest(document: Document) -> str:
    """Return the digest that the ledger stores for a job: the digest of the job without its layers."""
    return _digest(own_data(document))


def render_document(document: Document, built: BuiltJob | None = None, *, uses_cache: bool = False) -> Rendering:
    """Render the job of a document. The result names the file of the job, so that the ledger can contain the path."""
    rendering = render(document.data, document.unmerged, built, uses_cache=uses_cache)
    return rendering.replaced(source=source_name(Path(document.file)))
