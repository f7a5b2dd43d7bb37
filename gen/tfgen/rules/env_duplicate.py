"""Variables, labels and annotations that podTemplate sets beside the key that job.yaml has for them.

Nothing could merge the two: which of them there are is known only when the chart's values are.
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
        users = view.env(role.name) if added else {}
        for item in added:
            if (name := pod_parts.name(item)) in users:
                yield _twice((*item.path, "name"), "variable", name, "env")
        for template in pod_parts.templates(view, role.name):
            for metadata in pod_parts.child(template, "metadata"):
                yield from _keys(view, metadata, "label", labels.pod_labels(), role.name)
                yield from _keys(view, metadata, "annotation", labels.pod_annotations(), role.name)


def _keys(view: View, metadata: Part, kind: str, node: Node, role: RoleName) -> Iterator[Finding]:
    field = f"{kind}s"
    for part in pod_parts.child(metadata, field):
        users = view.evaluate_in_role(role, node)
        yield from (_twice((*part.path, key), kind, key, field) for key in part.data if key in users)


def _twice(path: Path, kind: str, name: str, field: str) -> Finding:
    return Finding(path, f"podTemplate sets the {kind} {name}, which the job sets already; set it in {field} alone")


RULES: Final = (
    Rule("env-duplicate", "error", "podTemplate sets a variable, label or annotation that the job sets.", _check),
)
