"""Tests of the values that a node reads, and of the single fill for environments with equal values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.tools import ROOT
from tfgen.graph.built import BuiltJob, build
from tfgen.graph.fill import FillCache, Scope, compile_filler, fill
from tfgen.graph.graph import objects
from tfgen.graph.holes import (
    ABSENT,
    Bound,
    Comment,
    Default,
    ForEach,
    Let,
    Merged,
    NamedTemplate,
    Node,
    Parameter,
    Text,
    Value,
    call,
    child_nodes,
)
from tfgen.graph.reads import reads
from tfgen.record import Record
from tfgen.text.parse import parse

JOBS = sorted([*ROOT.glob("examples/*/job.yaml"), *ROOT.glob("tests/golden/*/job.yaml")])

IMAGE, REPLICAS, ROLE = Value("image", "string"), Value("roles.ps.replicas", "integer"), Value("roles.ps", "map")
LABELS, ENV = Value("labels", "map"), Parameter("values", "map", "env")
INNER = NamedTemplate("inner", "", Merged((LABELS, ENV)), parameters=("values",))
OUTER = NamedTemplate("outer", "", {"labels": call(INNER, values=Parameter("values", "map"))}, parameters=("values",))


@pytest.mark.parametrize(
    ("node", "paths"),
    [
        ("text", []),
        ({"replicas": REPLICAS, "image": Default(IMAGE, "x")}, ["image", "roles.ps.replicas"]),
        ([ROLE, REPLICAS], ["roles.ps"]),
        (ForEach(LABELS, Text((Bound("name"), Bound("value")))), ["labels"]),
        (Let("role", ROLE, Text((Bound("role", "string", "image"),))), ["roles.ps.image"]),
        (Let("both", Default(IMAGE, REPLICAS), Bound("both")), ["image", "roles.ps.replicas"]),
        (call(OUTER, values=ROLE), ["labels", "roles.ps.env"]),
        (call(OUTER, values=Default(ROLE, LABELS)), ["labels", "roles.ps"]),
    ],
    ids=repr,
)
def test_a_node_reads_the_values_that_its_names_stand_for(node: Node, paths: list[str]) -> None:
    assert [".".join(path) for path in reads(node)] == paths


def test_a_hole_is_looked_into_once_however_many_others_it_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []

    def look(node: Node | Record) -> Iterator[Node | Record]:
        looked.append(node)
        return child_nodes(node)

    monkeypatch.setattr("tfgen.graph.reads.child_nodes", look)
    node = Text((IMAGE,))
    for _ in range(20):
        node = Text((node, node))  # the text contains the image a million times
    assert reads(node) == (("image",),)
    assert sum(isinstance(hole, Text) for hole in looked) == 21


def test_a_part_is_filled_once_for_the_same_arguments_also_within_another() -> None:
    inner = NamedTemplate("inner", "", {"env": Merged((Parameter("own", "map"), LABELS))}, parameters=("own",))
    one, two = (call(inner, own=Parameter(name, "map")) for name in ("one", "two"))
    outer = NamedTemplate("outer", "", [one, two, one], parameters=("one", "two"))
    values = {"labels": {"a": "1"}, "ps": {"b": "2"}, "worker": {"b": "2"}}
    node = call(outer, one=Value("ps", "map"), two=Value("worker", "map"))
    first, second, third = fill(node, Scope(values, "release", "chart", cache=FillCache(values, values, {})))
    assert first == second == {"env": {"a": "1", "b": "2"}}
    assert first is third
    assert first is not second


def test_what_has_no_hole_is_the_same_object_wherever_it_is_filled() -> None:
    node = {"name": IMAGE, "ports": [{"port": 80, Comment("why"): None, "name": ABSENT}]}
    fill_node = compile_filler(node)
    one, other = (fill_node(Scope({"image": image}, "release", "chart")) for image in ("i:1", "i:2"))
    assert one == {"name": "i:1", "ports": [{"port": 80}]}
    assert one["ports"] is other["ports"]


def built(**environments: Any) -> BuiltJob:
    spec = {"roles": {"chief": {}, "ps": {}, "worker": {"replicas": 2}}, "image": "i:1", "environments": environments}
    return build({"metadata": {"name": "mnist"}, "spec": spec})


def test_what_reads_nothing_that_an_environment_changes_is_the_same_object() -> None:
    job = built(prod={"roles": {"worker": {"replicas": 3}}})
    prod = job.environments["prod"]
    assert [name for name in prod if prod[name] is not job.base[name]] == ["configmap", "worker"]
    assert prod["worker"]["spec"]["template"] is job.base["worker"]["spec"]["template"]


def test_environments_that_say_the_same_share_what_they_change() -> None:
    job = built(prod={"image": "i:2"}, test={"image": "i:2"})
    assert job.environments["prod"]["worker"] is job.environments["test"]["worker"] is not job.base["worker"]


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.parent.name)
def test_what_is_shared_is_what_is_filled_for_each_environment_alone(path: Path) -> None:
    data = parse(path.read_text(encoding="utf-8"), str(path)).documents[0].data
    job = build(data)
    for form in job.job.environments:
        templates = [template for template in job.templates if form.enabled or template.survives_retirement]
        assert job.environments[form.name] == objects(templates, Scope(form.values, job.job.name, job.job.name))
