"""Equal parts of graphs are the same object, and share the results that tfgen derives from the object."""

from __future__ import annotations

from typing import Any

import pytest

from tfgen.graph import interning
from tfgen.graph.graph import graph
from tfgen.graph.guards import guards
from tfgen.graph.holes import ABSENT, Comment, Equal, Node, Value, When
from tfgen.graph.interning import intern_node
from tfgen.job.training_job import TrainingJob


def _node(text: Any = "a", other: Node = ABSENT) -> Node:
    test = Equal(Value("image", "string"), text)
    return {Comment("Why."): None, "spec": [When(test, {"a": 1, "b": [True, None, 1.5]}, other)]}


def test_shared_parts_that_are_alike_are_one_object() -> None:
    one, other, third = intern_node(_node()), intern_node(_node()), intern_node(_node(other="c"))
    assert one == _node()
    assert one is other
    assert third == _node(other="c")
    assert isinstance(one, dict)
    assert isinstance(third, dict)
    [first], [second] = one["spec"], third["spec"]
    assert first is not second
    assert first.test is second.test
    assert first.if_true is second.if_true


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (0, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (["a"], ("a",)),
        ({"a": "b"}, ["a", "b"]),
        (Value("image", "string"), Value("image", "quantity")),
    ],
    ids=repr,
)
def test_what_equals_or_prints_otherwise_stays_itself(one: Node, other: Node) -> None:
    for first, second in ((one, other), (other, one)):
        intern_node([first])
        assert repr(intern_node([second])) == repr([second])


def test_a_long_text_and_its_node_are_not_interned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interning, "MAX_CACHED", 10**6)  # keep the nodes of other tests
    text = "long " * interning.MAX_TEXT
    first, second = intern_node(_node(text)), intern_node(_node())
    assert first == _node(text)
    assert text not in interning._interned
    assert id(first) not in interning._interned
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert first["spec"][0].if_true is second["spec"][0].if_true


def test_the_number_of_interned_nodes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interning, "MAX_CACHED", 10)
    for text in map(str, range(100)):
        assert intern_node(_node(text)) == _node(text)
        assert len(interning._interned) < 50


def _job(**spec: Any) -> TrainingJob:
    """Return a job with a structure that no other test has, so that no part of its graph exists yet."""
    pod = {"metadata": {"labels": {"shared": "here"}}}
    roles = {"chief": {}, "worker": {"replicas": 2}}
    own = {"image": "tf", "command": ["a"], "roles": roles, "podTemplate": pod, **spec}
    document = {"metadata": {"name": "mnist"}, "spec": own}
    return TrainingJob.from_document(document)


def test_a_structure_that_has_more_shares_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interning, "MAX_CACHED", 10**6)  # keep the nodes of other tests
    plain, with_tensorboard = _job().structure, _job(tensorboard={"logDir": "/logs"}).structure
    templates = {template.name: template for template in graph(plain)}
    same = [template.name for template in graph(with_tensorboard) if templates.get(template.name) is template]
    assert {"chief", "worker", "service", "configmap"} <= {*same}
    assert {*guards(plain)} <= {*guards(with_tensorboard)}
    kept = {id(guard) for guard in guards(with_tensorboard)}
    assert sum(id(guard) in kept for guard in guards(plain)) > len(guards(plain)) / 2
