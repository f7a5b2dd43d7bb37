"""Tests of JSON patches for custom kinds: the operations that a reviewer reads, and the object from kustomize."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfgen.kubernetes.merge import changes_items, json_patch, patched

CASES = {
    "nothing": ({"a": [{"name": "x"}]}, {"a": [{"name": "x"}]}, []),
    "a field": ({"spec": {"a": 1}}, {"spec": {"a": 2}}, [{"op": "replace", "path": "/spec/a", "value": 2}]),
    "a field more, whose name a path escapes": (
        {"a": 1},
        {"a": 1, "b/c~d": {"e": 2}},
        [{"op": "add", "path": "/b~1c~0d", "value": {"e": 2}}],
    ),
    "a field gone": ({"a": 1, "b": {"c": 2}}, {"a": 1}, [{"op": "remove", "path": "/b"}]),
    "a list of words": ({"args": ["a", "b"]}, {"args": ["a"]}, [{"op": "replace", "path": "/args", "value": ["a"]}]),
    "an item changed": (
        {"tasks": [{"name": "ps", "replicas": 1}, {"name": "worker", "replicas": 4}]},
        {"tasks": [{"name": "ps", "replicas": 1}, {"name": "worker", "replicas": 8}]},
        [
            {"op": "test", "path": "/tasks/1/name", "value": "worker"},
            {"op": "replace", "path": "/tasks/1/replicas", "value": 8},
        ],
    ),
    "an item within an item": (
        {"tasks": [{"name": "ps", "containers": [{"name": "tensorflow", "args": ["a"]}]}]},
        {"tasks": [{"name": "ps", "containers": [{"name": "tensorflow", "args": ["b"]}]}]},
        [
            {"op": "test", "path": "/tasks/0/name", "value": "ps"},
            {"op": "test", "path": "/tasks/0/containers/0/name", "value": "tensorflow"},
            {"op": "replace", "path": "/tasks/0/containers/0/args", "value": ["b"]},
        ],
    ),
    "items gone, from the end on, and one more in its place": (
        {"env": [{"name": "A"}, {"name": "B"}, {"name": "C", "value": "1"}, {"name": "D"}]},
        {"env": [{"name": "A"}, {"name": "AA"}, {"name": "C", "value": "2"}]},
        [
            {"op": "test", "path": "/env/3/name", "value": "D"},
            {"op": "remove", "path": "/env/3"},
            {"op": "test", "path": "/env/1/name", "value": "B"},
            {"op": "remove", "path": "/env/1"},
            {"op": "add", "path": "/env/1", "value": {"name": "AA"}},
            {"op": "test", "path": "/env/2/name", "value": "C"},
            {"op": "replace", "path": "/env/2/value", "value": "2"},
        ],
    ),
    "items in another order": (
        {"env": [{"name": "A"}, {"name": "B"}]},
        {"env": [{"name": "B"}, {"name": "A"}]},
        [{"op": "replace", "path": "/env", "value": [{"name": "B"}, {"name": "A"}]}],
    ),
    "items that a name does not tell apart": (
        {"mounts": [{"name": "m", "path": "/a"}, {"name": "m", "path": "/b"}]},
        {"mounts": [{"name": "m", "path": "/a"}]},
        [{"op": "replace", "path": "/mounts", "value": [{"name": "m", "path": "/a"}]}],
    ),
    "no item stays": (
        {"volumes": [{"name": "a"}]},
        {"volumes": [{"name": "b"}]},
        [{"op": "replace", "path": "/volumes", "value": [{"name": "b"}]}],
    ),
}
WITH_ITEMS = (
    "an item changed",
    "an item within an item",
    "items gone, from the end on, and one more in its place",
)
"""The cases in which a merge patch would repeat unchanged items."""


@pytest.mark.parametrize("name", CASES)
def test_a_patch(name):
    before, after, expected = CASES[name]
    assert json_patch(before, after) == expected
    assert patched(before, expected) == after
    assert changes_items(before, after) == (name in WITH_ITEMS)


LEAF = st.integers(0, 2) | st.sampled_from(["", "a"])
NAMED = st.fixed_dictionaries({"name": st.sampled_from(["x", "y", "z", "a/b"])}, optional={"value": LEAF})
OBJECTS = st.dictionaries(
    st.sampled_from(["a", "b", "~1", "c/d"]),
    st.recursive(
        LEAF | st.lists(NAMED, max_size=4),
        lambda part: (
            st.dictionaries(st.sampled_from(["a", "b", "name"]), part, max_size=3)
            | st.lists(st.builds(lambda item, inner: {**item, "inner": inner}, NAMED, part), max_size=3)
        ),
        max_leaves=12,
    ),
    max_size=4,
)


@given(before=OBJECTS, after=OBJECTS)
def test_a_patch_makes_one_of_the_other_and_changes_neither(before, after):
    copies = copy.deepcopy((before, after))
    assert patched(before, json_patch(before, after)) == after
    assert (before, after) == copies


def test_on_another_list_it_fails():
    before, after, patch = CASES["an item changed"]
    other = {"tasks": [*before["tasks"][::-1]]}
    with pytest.raises(ValueError, match=r"test of 'worker' at /tasks/1/name"):
        patched(other, patch)
    with pytest.raises(IndexError):
        patched({"tasks": after["tasks"][:1]}, patch)


def test_an_operation_that_it_never_writes_is_refused():
    with pytest.raises(ValueError, match="copy"):
        patched({"a": 1}, [{"op": "copy", "from": "/a", "path": "/b"}])
