"""Tests of the filled value of each node, and of the operations that a hole refuses."""

from __future__ import annotations

import pytest

from tfgen.graph import holes as h
from tfgen.graph.fill import Scope, evaluate, failing_scopes, fill

VALUES = {
    "empty": "",
    "word": "Größe",
    "zero": 0,
    "four": 4,
    "off": False,
    "on": True,
    "none": {},
    "map": {"b": "2", "a": "1"},
    "nothing": [],
    "list": ["x", "y"],
    "cpu": 2,
    "role": {"image": "a:1"},
}
SCOPE = Scope(VALUES, release="prod", chart="mnist")
KINDS = {"cpu": "quantity", "zero": "integer", "four": "integer", "off": "boolean", "on": "boolean"} | {
    "none": "map",
    "map": "map",
    "nothing": "list",
    "list": "list",
}


def v(path: str) -> h.Value:
    return h.Value(path, KINDS.get(path, "string"))


NAME, ITEM = h.Bound("name"), h.Bound("value")
INNER = h.NamedTemplate("inner", "", {"a": h.Parameter("q")}, parameters=("q",))

FILLED = {
    "an empty text stays": (v("empty"), ""),
    "a map": (v("map"), {"a": "1", "b": "2"}),
    "an empty map is absent": (v("none"), h.ABSENT),
    "an empty list is absent": (v("nothing"), h.ABSENT),
    "a quantity is a string": (v("cpu"), "2"),
    "what a chart alone says": ({"a": 1, "b": h.ChartOnly("{{ .Chart.Version }}")}, {"a": 1}),
    "what tfgen says in its place": (h.ChartOnly("{{ .Release.Service }}", filled="tfgen"), "tfgen"),
    "bytes": (h.Length(v("word")), 7),
    "a path with what says nothing": (h.Clean("//a/./b//"), "/a/b"),
    "a path that goes up": (h.Clean("/../a/../b"), "/b"),
    "repeat": (h.Repeat(v("four"), h.Text(("h", h.Bound("i", "integer")))), "h0,h1,h2,h3"),
    "repeat inside": (
        h.Repeat(
            2,
            h.NamedTemplate(
                "n", "", h.Text((h.Bound("i", "integer"), v("four"), h.Text(("-", h.Bound("i", "integer")))))
            ),
        ),
        "04-0,14-1",
    ),
    "repeat in a repeat": (
        h.Repeat(2, h.Text((h.Repeat(2, h.Text((h.Bound("i", "integer"), h.Bound("j", "integer"))), "j"),))),
        "00,01,10,11",
    ),
    "default for an empty text": (h.Default(v("empty"), "else"), "else"),
    "default for zero": (h.Default(v("zero"), v("four")), 4),
    "merged": (
        h.Merged((h.MapOf({"b": "under", "c": v("empty"), "d": "d"}), v("map"))),
        {"b": "2", "a": "1", "d": "d"},
    ),
    "a map of entries": (h.MapOf({"a": v("four"), "b": "", "c": h.MapOf({"d": "e"})}), {"a": 4, "c": {"d": "e"}}),
    "a map of entries that come to nothing": (h.MapOf({"a": v("empty"), "b": h.MapOf({"c": ""})}), h.ABSENT),
    "a call binds its arguments": (
        h.call(
            h.NamedTemplate("n", "", {"a": h.Parameter("p", "integer"), "b": v("word")}, parameters=("p",)), p=v("four")
        ),
        {"a": 4, "b": "Größe"},
    ),
    "an argument's field": (
        h.call(
            h.NamedTemplate("n", "", h.Text((h.Parameter("p", "string", "image"), "!")), parameters=("p",)),
            p=h.Value("role", "map"),
        ),
        "a:1!",
    ),
    "a call passes an argument on": (
        h.call(h.NamedTemplate("n", "", h.call(INNER, q=h.Parameter("p")), parameters=("p",)), p="x"),
        {"a": "x"},
    ),
    "a part sees no name around its call": (
        h.Let("q", v("word"), {"b": h.call(INNER, q="mine")}),
        {"b": {"a": "mine"}},
    ),
    "items under a condition": (
        ["z", h.When(v("on"), h.ForEach(v("map"), NAME)), h.When(v("off"), h.Items(v("list")))],
        ["z", "a", "b"],
    ),
    "given": ({"a": h.if_set(v("word")), "b": h.if_set(v("empty"))}, {"a": "Größe"}),
    "an empty map is false": (h.When(v("none"), 1, 2), 2),
    "an empty list is false": (h.When(v("nothing"), 1, 2), 2),
    "a literal map stays": ({"emptyDir": {}}, {"emptyDir": {}}),
    "a literal list stays": ({"drop": []}, {"drop": []}),
    "null stays": ({"a": None}, {"a": None}),
    "a map of which nothing is left is absent": ({"a": 1, "b": {"c": h.if_set(v("empty"))}}, {"a": 1}),
    "a list of which nothing is left is absent": ({"a": 1, "b": [h.if_set(v("empty")), h.ABSENT]}, {"a": 1}),
    "nothing at all": ({"b": {"c": v("none")}}, h.ABSENT),
    "each by key": ([h.ForEach(v("map"), {"n": NAME, "v": ITEM})], [{"n": "a", "v": "1"}, {"n": "b", "v": "2"}]),
    "each of some": ([h.ForEach(v("map"), h.When(h.Equal(ITEM, "2"), NAME))], ["b"]),
    "each of none": ({"a": 1, "env": [h.ForEach(v("none"), NAME)]}, {"a": 1}),
    "splice of nothing": ({"c": "3", h.Splice("s"): v("none")}, {"c": "3"}),
    "a key with a hole": ({v("word"): 1}, {"Größe": 1}),
    "let": (h.Let("role", h.Value("role", "map"), {"image": h.Bound("role", "string", "image")}), {"image": "a:1"}),
    "a field that is missing": (h.When(h.Bound("role", "string", "image.tag.x"), 1, 2), 2),
}

TESTS = {
    "not": (h.Not(v("zero")), True),
    "all": (h.AllOf((v("on"), v("four"), v("map"))), True),
    "any": (h.AnyOf((v("empty"), v("word"))), True),
    "greater": (h.Greater(v("four"), 3), True),
    "has": (h.HasItem(v("list"), "x"), True),
    "null has nothing": (h.HasItem(h.Bound("role", "list", "for"), "z"), False),
    "a map": (h.IsMap(v("map")), True),
    "matches": (h.Matches(v("word"), "^G.*e$"), True),
}


@pytest.mark.parametrize("name", FILLED)
def test_fill(name):
    node, expected = FILLED[name]
    scope = SCOPE._replace(bound={"role": {"image": None}}) if name == "a field that is missing" else SCOPE
    assert fill(node, scope) == expected
    assert type(fill(node, scope)) is type(expected)


@pytest.mark.parametrize(
    ("node", "expected", "comments"),
    [
        ({h.Comment("Because."): None, "a": 1}, {"a": 1}, {"a": "Because."}),
        ({h.Comment("Because."): None, "a": v("word"), "b": 1}, {"a": "Größe", "b": 1}, {"a": "Because."}),
        ({"b": 1, h.Splice("s"): {h.Comment("Because."): None, "a": 1}}, {"b": 1, "a": 1}, {"a": "Because."}),
        ({h.Comment("Because."): None, h.Splice("s"): {"a": 1, "b": 2}}, {"a": 1, "b": 2}, {"a": "Because."}),
        ({h.Comment("Because."): None, NAME: 1}, {"n": 1}, {"n": "Because."}),
    ],
)
def test_filled_mapping_has_its_comments(node, expected, comments):
    filled = fill(node, SCOPE._replace(bound={"name": "n"}))
    assert (filled, filled.comments) == (expected, comments)


def test_comment_of_an_absent_entry_is_absent():
    assert type(fill({h.Comment("Because."): None, "a": h.if_set(v("empty")), "b": 1}, SCOPE)) is dict
    assert type(fill({h.Comment("Because."): None, h.Splice("s"): {}, "b": 1}, SCOPE)) is dict


@pytest.mark.parametrize("name", TESTS)
def test_test_node_is_a_boolean(name):
    node, expected = TESTS[name]
    assert evaluate(node, SCOPE._replace(bound={"role": {}})) is expected


def test_filling_changes_neither_graph_nor_values():
    node = {"a": [h.ForEach(v("map"), {"name": NAME})], h.Splice("s"): v("map")}
    fill(node, SCOPE)["new"] = 1
    assert node == {"a": [h.ForEach(v("map"), {"name": NAME})], h.Splice("s"): v("map")}
    assert VALUES["map"] == {"b": "2", "a": "1"}


REFUSED = {
    "truth": (bool, "When(hole, ...)"),
    "length": (len, "Length(hole)"),
    "items": (list, "ForEach(hole, ...)"),
    "items in": (lambda hole: "x" in hole, "HasItem(hole, item), HasKey(hole, key) or Contains(hole, text)"),
    "str": (str, "Text((..., hole, ...))"),
    "format": (lambda hole: f"{hole}", "Text((..., hole, ...))"),
    "percent": (lambda hole: "%s" % hole, "Text((..., hole, ...))"),  # noqa: UP031
    "plus": (lambda hole: hole + 1, "Sum(hole, ...) or Text((hole, ...))"),
    "plus from the left": (lambda hole: "name-" + hole, "Sum(hole, ...) or Text((hole, ...))"),
    "if": (lambda hole: 1 if hole else 2, "When(hole, ...)"),
    "or": (lambda hole: hole or "else", "When(hole, ...)"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_hole_refuses_an_operation_and_names_the_node_for_it(what):
    look, instead = REFUSED[what]
    with pytest.raises(TypeError) as refusal:
        look(v("word"))
    assert f"use {instead}, not Value(path='word', type='string')" in str(refusal.value)


def test_every_node_is_a_hole_that_refuses():
    assert all(node.__bool__ is h.Hole.__bool__ and node.__str__ is h.Hole.__str__ for node in h.Hole.__subclasses__())


@pytest.mark.parametrize("count", [range, lambda hole: [0] * hole, lambda hole: hole < 3, lambda hole: hole[0]])
def test_python_refuses_other_operations(count):
    with pytest.raises(TypeError):
        count(v("four"))


def test_texts_of_entries_are_joined_by_sorted_key():
    each = h.JoinEntries(h.Value("map", "map"), ";", h.Text((h.Bound("name"), "=", h.Bound("value"))))
    assert evaluate(each, Scope({"map": {"b": "2", "a": "1"}}, "release", "chart")) == "a=1;b=2"
    assert evaluate(each, Scope({"map": {}}, "release", "chart")) == ""


def test_index_of_a_repeat_is_only_a_part_of_a_text():
    with pytest.raises(ValueError, match="invalid literal"):
        fill(h.Repeat(2, h.Text((h.Sum(h.Bound("i", "integer"), 1), "x"))), SCOPE)


def test_guard_finds_each_wrong_entry():
    pairs = (h.CheckedMap(v("map"), "name", "value"), h.CheckedMap(v("map"), "other", "second"))
    guard = h.Guard("two", "map", h.Not(h.Equal(NAME, h.Bound("other"))), h.Text((NAME, h.Bound("second"))), over=pairs)
    assert [evaluate(guard.message, scope) for scope in failing_scopes(guard, SCOPE)] == ["a2", "b1"]
    assert list(failing_scopes(guard.replaced(over=(h.CheckedMap(v("none"), "name", "value"),)), SCOPE)) == []


def test_guard_counts_named_entries():
    ones = (("ones", h.Filtered(v("map"), h.Equal(ITEM, "1"))),)
    guard = h.Guard("some", "map", h.Bound("ones", "map"), "some", let=ones)
    assert len(list(failing_scopes(guard, SCOPE))) == 1
    assert list(failing_scopes(guard.replaced(when=h.Not(h.Bound("ones", "map"))), SCOPE)) == []
