"""A checked job to everything that is written for it.

job.yaml -> TrainingJob -> graph -> FileTree: charts/NAME and overlays/NAME
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tfgen.file_tree import FileTree
from tfgen.holes import Scope
from tfgen.job import TrainingJob
from tfgen.objects.graph import graph, objects
from tfgen.objects.guards import guards
from tfgen.targets.chart import chart
from tfgen.targets.kustomize import kustomize
from tfgen.tree_plan import Rendering


def render(data: Mapping[str, Any]) -> Rendering:
    """All files of the job in a document that has no errors."""
    job = TrainingJob.from_document(data)
    templates = graph(job.structure)
    environments = {e.name: objects(templates, _scope(job, e.values)) for e in job.environments}
    parts = {
        "the chart": chart(job, data["spec"], templates, guards(job.structure)),
        "the overlays": kustomize(job.name, objects(templates, _scope(job, job.values)), environments),
    }
    digest = hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    return Rendering(job.name, FileTree.combine(parts), digest)


def plain_objects(data: Mapping[str, Any], environment: str | None = None) -> Sequence[Mapping[str, Any]]:
    """The objects of the job itself, or of one of its environments.

    Raises:
        KeyError: the job has no such environment.
    """
    job = TrainingJob.from_document(data)
    values = job.values if environment is None else {e.name: e.values for e in job.environments}[environment]
    return objects(graph(job.structure), _scope(job, values))


def _scope(job: TrainingJob, values: Mapping[str, Any]) -> Scope:
    """As Helm sees a release that has the job's own name."""
    return Scope(values, release=job.name, chart=job.name)
