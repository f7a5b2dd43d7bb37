"""The provenance of objects: the parts build the filled objects again, and each part has the keys of its value."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.support.tools import ROOT
from tfgen.graph.built import build, object_parts
from tfgen.graph.holes import (
    Bound,
    ForEach,
    Let,
    MapOf,
    Merged,
    NamedTemplate,
    Parameter,
    Release,
    Text,
    Value,
    When,
    call,
)
from tfgen.graph.provenance import Part, bind, bindings_of_named_templates, sources
from tfgen.text.parse import parse

IMAGE = Value("image", "string")
LABELS = Value("labels", "map")
ROLE = Parameter("values", "map", "labels")
PART = NamedTemplate("labels", "Labels.", Merged((LABELS, ROLE)), parameters=("values",))
WORKER = Value("roles.worker", "map")


def rebuilt(parts: Iterable[Part]) -> Any:
    """Return the object that the parts describe. Each part is inside an earlier part."""
    root: Any = None
    for part in parts:
        value = {} if isinstance(part.value, dict) else [] if isinstance(part.value, (list, tuple)) else part.value
        if not part.path:
            root = value
            continue
        around = root
        for step in part.path[:-1]:
            around = around[step]
        if isinstance(around, list):
            assert len(around) == part.path[-1]
            around.append(value)
        else:
            around[part.path[-1]] = value
    return root


@pytest.mark.parametrize("case", ["everything", "kueue", "elastic-dl", "tfjob", "container-order"])
def test_the_parts_build_the_filled_objects_again(case: str) -> None:
    text = (ROOT / "tests/golden" / case / "job.yaml").read_text(encoding="utf-8")
    built = build(parse(text, str(Path(case))).documents[0].data)
    for environment, objects in {None: built.base, **built.environments}.items():
        parts = object_parts(built, environment)
        assert {key: rebuilt(of_object.values()) for key, of_object in parts.items()} == dict(objects)


@pytest.mark.parametrize(
    ("node", "steps", "expected"),
    [
        (IMAGE, (), {("spec", "image")}),
        (Text(("a ", IMAGE, Release("Release.Name"))), (), {("spec", "image"), ("metadata", "name")}),
        (When(Value("gang.enabled", "boolean"), IMAGE, "x"), (), {("spec", "gang", "enabled"), ("spec", "image")}),
        (LABELS, ("team",), {("spec", "labels", "team")}),
        (
            Merged((MapOf({"team": IMAGE, "a": LABELS}), LABELS)),
            ("team",),
            {("spec", "image"), ("spec", "labels", "team")},
        ),
        (MapOf({IMAGE: 1}), ("any",), {("spec", "image")}),
        (call(PART, values=WORKER), ("b",), {("spec", "labels", "b"), ("spec", "roles", "worker", "labels", "b")}),
        (Let("x", LABELS, Bound("x", "string", "a")), (), {("spec", "labels", "a")}),
        (ForEach(LABELS, Bound("value")), (), {("spec", "labels")}),
        ("constant", (), set()),
    ],
)
def test_sources(node: Any, steps: tuple[str, ...], expected: set[tuple[str, ...]]) -> None:
    assert sources(node, steps=steps) == expected


def test_a_name_has_the_sources_of_its_node() -> None:
    assert sources(Bound("x", "string", "a"), bind({}, "x", LABELS)) == {("spec", "labels", "a")}
    assert sources(Bound("x"), {}) == frozenset()


def test_a_parameter_has_the_sources_of_all_calls() -> None:
    calls = [call(PART, values=WORKER), call(PART, values=Value("roles.ps", "map"))]
    bindings = bindings_of_named_templates(calls)["labels"]
    assert sources(ROLE, bindings) == {("spec", "roles", "worker", "labels"), ("spec", "roles", "ps", "labels")}
