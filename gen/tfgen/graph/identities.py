"""The kinds and names of the objects of a job, without the other fields of the objects.

The identity of an object needs only a few nodes of the object graph, so tfgen finds the names of all objects of an
environment in a fraction of the time that tfgen needs to fill the objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from tfgen.data_path import Path
from tfgen.graph.fill import Scope
from tfgen.graph.graph import graph, objects
from tfgen.graph.holes import ForEach, Let, Node, When, bound_key, used_names
from tfgen.graph.objects.supporting import LITERAL
from tfgen.graph.structure_cache import cached_by_structure
from tfgen.graph.template import Template
from tfgen.job.training_job import Structure
from tfgen.kubernetes.object import group

_MAPS: Final = {LITERAL: "objects", "claim": "storage", "priorityclass": "priorityClasses"}
"""The map of the job whose entries create objects, by the beginning of the file names of the objects."""

JOB_NAME: Final[Path] = ()
"""The cause of a name that follows only from the name of the job."""


class Identity(NamedTuple):
    """The identity of an object within a namespace, and the cause of the identity.

    Attributes:
        group: the API group without its version; empty for the core group.
        cause: the values path of the value that gives the object its name, such as ("storage", "model"), ("run",) or
            ("serviceAccountName",). `JOB_NAME` for a name that follows only from the name of the job.
    """

    group: str
    kind: str
    name: str
    cause: Path


def identities(structure: Structure, scope: Scope) -> Iterator[Identity]:
    """Yield the identity of each object of a job that the values of `scope` create.

    Unlike the chart, the result omits the objects that only the chart contains.
    """
    for file, item in objects(_identity_graph(structure), scope).items():
        name = item["metadata"]["name"]
        yield Identity(group(item), item["kind"], name, _cause(file, name, scope))


@cached_by_structure
def _identity_graph(structure: Structure) -> tuple[Template, ...]:
    """Return the object graph, reduced to the fields of the objects that identify an object."""
    return tuple(
        template.replaced(node=_reduce(template.node)) for template in graph(structure) if not template.chart_only
    )


def _reduce(node: Node) -> Node:
    """Reduce each object in a template's node, and omit the names of `Let` nodes that only other fields need."""
    match node:
        case Let(name, expression, body):
            reduced = _reduce(body)
            return Let(name, expression, reduced) if bound_key(name) in used_names(reduced) else reduced
        case When(test, if_true, if_false):
            return When(test, _reduce(if_true), _reduce(if_false))
        case ForEach():
            return node.replaced(body=_reduce(node.body))
        case {"apiVersion": version, "kind": kind, "metadata": {"name": name}}:
            return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}
    return node


def _cause(file: str, name: str, scope: Scope) -> Path:
    prefix, _, key = file.partition("-")
    if key and prefix in _MAPS:
        return _MAPS[prefix], key
    if file == "serviceaccount" and scope.values.get("serviceAccountName"):
        return ("serviceAccountName",)
    run = scope.values["run"]
    return ("run",) if run and f"{scope.release}-{run}" in name else JOB_NAME
