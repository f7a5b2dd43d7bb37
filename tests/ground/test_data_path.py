"""Tests of paths into plain data."""

from __future__ import annotations

import pytest

from tfgen.data_path import at, follow, has, leaves, shared, texts, with_value, without

DATA = {"spec": {"args": ["a"], "gang": None, "roles": {"ps": {"replicas": 0}}}}


@pytest.mark.parametrize(
    ("path", "value", "is_there"),
    [
        ((), DATA, True),
        (("spec", "roles", "ps", "replicas"), 0, True),
        (("spec", "gang"), None, True),
        (("spec", "gang", "queue"), None, False),
        (("spec", "roles", "worker"), None, False),
        (("spec", "args", 0), None, False),
    ],
)
def test_what_stands_at_a_path(path, value, is_there):
    assert at(DATA, path) == value
    assert has(DATA, path) == is_there


def test_a_path_may_lead_through_lists():
    assert follow(DATA, ("spec", "args", 0)) == "a"
    assert follow(DATA, ()) == DATA
    for path in (("spec", "args", 1), ("spec", "run")):
        with pytest.raises(LookupError):
            follow(DATA, path)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((), 7),
        (("spec",), {"spec": 7}),
        (("spec", "gang"), {"spec": {"args": ["a"], "gang": 7, "roles": {"ps": {"replicas": 0}}}}),
        (("spec", "gang", "queue"), {"spec": {"args": ["a"], "gang": {"queue": 7}, "roles": {"ps": {"replicas": 0}}}}),
        (("spec", "run"), {"spec": {"args": ["a"], "gang": None, "roles": {"ps": {"replicas": 0}}, "run": 7}}),
    ],
)
def test_data_with_another_value(path, expected):
    assert with_value(DATA, path, 7) == expected
    assert DATA == {"spec": {"args": ["a"], "gang": None, "roles": {"ps": {"replicas": 0}}}}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("spec", "roles", "ps", "replicas"), {"spec": {"args": ["a"], "gang": None, "roles": {"ps": {}}}}),
        (("spec", "roles"), {"spec": {"args": ["a"], "gang": None}}),
        (("spec", "gang"), {"spec": {"args": ["a"], "roles": {"ps": {"replicas": 0}}}}),
        (("spec", "run"), DATA),
        (("spec", "gang", "queue"), DATA),
    ],
)
def test_data_without_a_value(path, expected):
    assert without(DATA, path) == expected


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([], ()),
        ([("spec", "args", 0)], ("spec", "args", 0)),
        ([("spec", "roles", "ps"), ("spec", "roles", "worker")], ("spec", "roles")),
        ([("spec",), ("spec", "run")], ("spec",)),
        ([("spec",), ("metadata",)], ()),
    ],
)
def test_what_several_begin_with(paths, expected):
    assert shared(paths) == expected


def test_the_texts_of_data():
    data = {"a": "x", "b": [{"c": "y"}, 1, "z"], "d": {}, "e": None}
    assert list(texts(data)) == [(("a",), "x"), (("b", 0, "c"), "y"), (("b", 2), "z")]
    assert list(texts("x", ("a",))) == [(("a",), "x")]


def test_the_leaves_of_mappings():
    data = {"a": {"b": 1, "c": {}}, "d": [{"e": 2}]}
    assert list(leaves(data)) == [(("a", "b"), 1), (("a", "c"), {}), (("d",), [{"e": 2}])]
