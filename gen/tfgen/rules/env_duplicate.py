"""Variables, labels and annotations that both podTemplate and a key of job.yaml set.

tfgen cannot merge the two settings when it renders a chart, because only Helm knows all keys that the values set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.data_path import Path
from tfgen.graph.holes import Node
from tfgen.graph.objects import labels
from tfgen.job.training_job import RoleName
from tfgen.rules import pod_parts
from tfgen.rules.finding import Finding
from tfgen.rules.pod_parts import Part
from tfgen.rules.rule import Rule
from tfgen.rules.view import View


def _check(view: View) -> Iterator[Finding]:
    for role in view.roles:
        added = [item for part in pod_parts.main_container(view, role.name) for item in pod_parts.items(part, "env")]
        job_env = view.env(role.name) if added else {}
        for item in added:
            if (name := pod_parts.name(item)) in job_env:
                yield _duplicate((*item.path, "name"), "variable", name, "env")
        for template in pod_parts.templates(view, role.name):
            for metadata in pod_parts.child(template, "metadata"):
                yield from _keys(view, metadata, "label", labels.pod_labels(), role.name)
                yield from _keys(view, metadata, "annotation", labels.pod_annotations(), role.name)


def _keys(view: View, metadata: Part, kind: str, node: Node, role: RoleName) -> Iterator[Finding]:
    field = f"{kind}s"
    for part in pod_parts.child(metadata, field):
        job_keys = view.evaluate_in_role(role, node)
        yield from (_duplicate((*part.path, key), kind, key, field) for key in part.data if key in job_keys)


def _duplicate(path: Path, kind: str, name: str, field: str) -> Finding:
    return Finding(
        path, f"both podTemplate and {field} of the job set the {kind} {name}; set the {kind} only in {field}"
    )


RULES: Final = (
    Rule("env-duplicate", "error", "podTemplate sets a variable, label or annotation that the job also sets.", _check),
)
