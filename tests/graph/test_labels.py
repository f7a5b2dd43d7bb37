"""Labels and annotations: the schema refuses each key in a user's map that tfgen writes into the same map."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from tests.support.tools import ROOT
from tfgen.graph.graph import graph
from tfgen.graph.holes import AsText, Bound, Call, Hole, Let, Merged, NamedTemplate, Splice, Value
from tfgen.job.training_job import TrainingJob
from tfgen.record import Record
from tfgen.schema import file as schema_file

JOBS = sorted((ROOT / "tests" / "golden").glob("*/job.yaml"))
RESERVED = re.compile(
    "|".join(one["pattern"] for one in schema_file.load()["definitions"]["ownLabelKey"]["not"]["anyOf"])
)


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.parent.name)
def test_key_of_tfgen_beside_the_map_of_a_user_is_reserved(path):
    structure = TrainingJob.from_document(yaml.safe_load(path.read_text(encoding="utf-8"))).structure
    keys = {key for template in graph(structure) for key in beside(template.node)}
    assert {"tfgen/job", "app.kubernetes.io/name"} <= keys
    # A patch of annotations puts the user's annotations over the other ones, so no key is in the same literal map.
    assert "argocd.argoproj.io/compare-options" in keys or structure.patches
    assert {key for key in keys if not RESERVED.search(key)} == set()


def beside(node: Any) -> Iterator[str]:
    """Yield the literal keys of each map that includes a user's labels or annotations."""
    if isinstance(node, Mapping):
        if any(isinstance(key, Splice) and is_users(inner) for key, inner in node.items()):
            yield from literal(node)
        for inner in node.values():
            yield from beside(inner)
    elif isinstance(node, (list, tuple)):
        for inner in node:
            yield from beside(inner)
    elif isinstance(node, Hole) and isinstance(node, Record):
        for field in type(node).__annotations__:
            yield from beside(getattr(node, field))


def literal(node: Any) -> Iterator[str]:
    """Yield the literal keys of a map, and of the maps that it includes."""
    if isinstance(node, Call):
        yield from literal(node.template)
    elif isinstance(node, NamedTemplate):
        yield from literal(node.node)
    elif isinstance(node, Let):
        yield from literal(node.body)
    elif isinstance(node, Mapping):
        for key, inner in node.items():
            yield from literal(inner) if isinstance(key, Splice) else [key] if isinstance(key, str) else []


def is_users(node: Any) -> bool:
    """Test whether a node contains the labels or annotations of a user."""
    match node:
        case Value(path=path):
            return path in ("labels", "annotations")
        case Bound(name=name):
            return name in ("labels", "annotations")
        case NamedTemplate(node=inner) | Call(template=inner) | Let(body=inner) | AsText(tree=inner):
            return is_users(inner)
        case Merged(maps=maps):
            return any(map(is_users, maps))
        case Mapping():
            return any(isinstance(key, Splice) and is_users(inner) for key, inner in node.items())
    return False
