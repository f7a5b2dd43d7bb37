"""Tests that variants of a node join into one node: common parts occur once, and the node yields each variant again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tfgen.graph.alternatives import join_alternatives, with_common_order
from tfgen.graph.fill import Scope, fill
from tfgen.graph.holes import (
    ABSENT,
    AnyOf,
    Call,
    Equal,
    ForEach,
    IsSet,
    NamedTemplate,
    Node,
    Override,
    Parameter,
    Value,
    When,
)

ROLE = Parameter("role")
IMAGE, LABELS = Value("image", "string"), Value("labels", "map")
CHIEF, SERVES = Equal(ROLE, "chief"), AnyOf((Equal(ROLE, "ps"), Equal(ROLE, "worker")))
ALIKE = {"image": IMAGE, "ports": [{"name": "a"}]}

CASES: Mapping[str, tuple[Mapping[str, Node], Node]] = {
    "all alike": ({"chief": ALIKE, "ps": dict(ALIKE), "worker": ALIKE}, ALIKE),
    "another scalar": ({"chief": {"a": 30}, "ps": {"a": 5}, "worker": {"a": 5}}, {"a": When(CHIEF, 30, 5)}),
    "an entry of some": (
        {"chief": {"a": 1}, "ps": {"a": 1, "probe": {"b": 2}}, "worker": {"a": 1, "probe": {"b": 2}}},
        {"a": 1, "probe": When(SERVES, {"b": 2})},
    ),
    "an entry in the middle": (
        {"chief": {"a": 1, "b": 2, "c": 3}, "ps": {"a": 1, "c": 3}},
        {"a": 1, "b": When(CHIEF, 2), "c": 3},
    ),
    "deep within": (
        {"chief": {"a": {"b": {"c": 1, "d": 2}}}, "ps": {"a": {"b": {"c": 1, "d": 3}}}},
        {"a": {"b": {"c": 1, "d": When(CHIEF, 2, 3)}}},
    ),
    "items by their names": (
        {"chief": [{"name": "x", "v": 1}, {"name": "y"}], "ps": [{"name": "x", "v": 2}]},
        [{"name": "x", "v": When(CHIEF, 1, 2)}, When(CHIEF, {"name": "y"})],
    ),
    "items without a name": (
        {"chief": [IMAGE, ForEach(LABELS, "l")], "ps": [IMAGE]},
        [IMAGE, When(CHIEF, ForEach(LABELS, "l"))],
    ),
    "under one condition": (
        {"chief": When(IMAGE, {"a": 1, "b": 2}), "ps": When(IMAGE, {"a": 1})},
        When(IMAGE, {"a": 1, "b": When(CHIEF, 2)}),
    ),
    "an overridden default": (
        {"chief": Override(IMAGE, 30), "ps": Override(IMAGE, 5)},
        When(IsSet(IMAGE), IMAGE, When(CHIEF, 30, 5)),
    ),
    "nothing in some": ({"chief": ABSENT, "ps": {"a": 1}}, When(CHIEF, ABSENT, {"a": 1})),
    "another kind of node": ({"chief": {"a": 1}, "ps": LABELS}, When(CHIEF, {"a": 1}, LABELS)),
    "entries in different orders": (
        {"chief": {"a": 1, "b": 2}, "ps": {"b": 3, "a": 1}},
        {"a": 1, "b": When(CHIEF, 2, 3)},
    ),
    "items in different orders": ({"chief": ["a", "b"], "ps": ["b", "a"]}, When(CHIEF, ["a", "b"], ["b", "a"])),
    "an item twice": ({"chief": ["a", "a"], "ps": ["a"]}, When(CHIEF, ["a", "a"], ["a"])),
}


@pytest.mark.parametrize("name", CASES)
def test_join(name: str) -> None:
    variants, expected = CASES[name]
    assert join_alternatives(variants, ROLE) == expected


def test_name_of_an_item_is_its_first_key() -> None:
    """An item of a chart's list begins with a key that all variants have, for any order in the job file."""
    (item,) = join_alternatives({"ps": [{"dir": {}, "name": "x"}], "worker": [{"name": "x"}]}, ROLE)  # type: ignore[misc]
    assert list(item.items()) == [("name", "x"), ("dir", When(Equal(ROLE, "ps"), {}))]


keys = st.sampled_from(["a", "b", "c", "name"])
scalars = st.one_of(st.integers(0, 2), st.sampled_from(["x", "y"]), st.just(IMAGE), st.just(ABSENT))
nodes = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.dictionaries(keys, inner, max_size=3),
        st.lists(inner, max_size=3),
        st.lists(st.builds(lambda name, node: {"name": name, "v": node}, st.sampled_from("xyz"), inner), max_size=3),
        st.builds(lambda then, otherwise: When(Equal(IMAGE, "i"), then, otherwise), inner, inner),
        st.just(ForEach(LABELS, Parameter("role"))),
    ),
    max_leaves=8,
)


@given(variants=st.dictionaries(st.sampled_from(["chief", "ps", "worker", "evaluator"]), nodes, min_size=1))
def test_joined_node_yields_each_variant(variants: Mapping[str, Node]) -> None:
    joined = NamedTemplate("joined", "All of them.", {"any": join_alternatives(variants, ROLE)}, parameters=("role",))
    scope = Scope({"image": "i", "labels": {"k": "v"}}, "r", "c")
    for role, node in variants.items():
        alone = NamedTemplate("alone", "One of them.", {"any": node}, parameters=("role",))
        filled, expected = (fill(Call(template, (("role", role),)), scope) for template in (joined, alone))
        assert filled == expected


def named(names: Sequence[str]) -> list[Node]:
    """Return a list with an item for each name, such as a container."""
    return [{"name": name} for name in names]


def sublists(names: Sequence[str]) -> st.SearchStrategy[list[list[str]]]:
    """Return a strategy for lists that contain some of the names, in the order of `names`."""
    chosen = st.sets(st.sampled_from(names))
    return st.lists(chosen.map(lambda some: [name for name in names if name in some]), min_size=1)


def common_order(lists: Sequence[Sequence[str]]) -> dict[str, list[Node]]:
    return with_common_order({str(index): named(names) for index, names in enumerate(lists)})


@given(lists=st.permutations("abcde").flatmap(sublists))
@example(lists=[["a"], ["b"], ["a", "b"]])
def test_lists_with_a_common_order_stay_unchanged(lists: Sequence[Sequence[str]]) -> None:
    assert [*common_order(lists).values()] == [named(names) for names in lists]


@given(lists=st.lists(st.lists(st.sampled_from("abcde"), unique=True), min_size=1))
def test_lists_without_a_common_order_get_one(lists: Sequence[Sequence[str]]) -> None:
    ordered: list[list[Any]] = [*common_order(lists).values()]
    names = [[item["name"] for item in items] for items in ordered]
    assert [sorted(each) for each in names] == [sorted(each) for each in lists]
    for first, second in combinations(names, 2):
        assert [name for name in first if name in second] == [name for name in second if name in first]


def test_lists_without_a_common_order_get_the_order_of_the_first_list() -> None:
    assert common_order(["ab", "ba"]) == {"0": named("ab"), "1": named("ab")}


def test_later_list_orders_the_items_of_earlier_lists() -> None:
    lists: Mapping[str, Node] = {"chief": ["a"], "ps": ["b"], "worker": ["a", "b"]}
    joined = join_alternatives(lists, ROLE)
    chief, ps, worker = (Equal(ROLE, name) for name in lists)
    assert joined == [When(AnyOf((chief, worker)), "a"), When(AnyOf((ps, worker)), "b")]
