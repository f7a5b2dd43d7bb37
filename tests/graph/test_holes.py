"""Tests of the filled value of each node, and of the operations that a hole refuses."""

from __future__ import annotations

import pytest

from tfgen.graph.fill import Scope, evaluate, failing_scopes, fill
from tfgen.graph.holes import (
    ABSENT,
    AllOf,
    AnyOf,
    Bound,
    ChartOnly,
    CheckedMap,
    Clean,
    Comment,
    Contains,
    Default,
    Dict,
    Equal,
    Filtered,
    ForEach,
    Greater,
    Guard,
    HasItem,
    Hole,
    IsMap,
    Items,
    JoinEntries,
    Length,
    Let,
    MapOf,
    Matches,
    Merged,
    NamedTemplate,
    Not,
    NotEmpty,
    Parameter,
    Release,
    Repeat,
    Splice,
    Sum,
    Text,
    Value,
    When,
    call,
    if_set,
)

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


def v(path: str) -> Value:
    return Value(path, KINDS.get(path, "string"))


NAME, ITEM = Bound("name"), Bound("value")
INNER = NamedTemplate("inner", "", {"a": Parameter("q")}, parameters=("q",))

FILLED = {
    "a value": (v("word"), "Größe"),
    "an empty text stays": (v("empty"), ""),
    "zero stays": (v("zero"), 0),
    "false stays": (v("off"), False),
    "a map": (v("map"), {"a": "1", "b": "2"}),
    "an empty map is absent": (v("none"), ABSENT),
    "an empty list is absent": (v("nothing"), ABSENT),
    "a quantity is a string": (v("cpu"), "2"),
    "release": (Release("Release.Name"), "prod"),
    "chart": (Release("Chart.Name"), "mnist"),
    "what a chart alone says": ({"a": 1, "b": ChartOnly("{{ .Chart.Version }}")}, {"a": 1}),
    "what tfgen says in its place": (ChartOnly("{{ .Release.Service }}", filled="tfgen"), "tfgen"),
    "text": (Text(("a", v("four"), "-", v("word"))), "a4-Größe"),
    "a map of two keys": (Dict("x", v("four"), "y", v("word")), {"x": 4, "y": "Größe"}),
    "sum": (Sum(1, v("four"), v("zero")), 5),
    "bytes": (Length(v("word")), 7),
    "a path as it is": (Clean("/a/b"), "/a/b"),
    "a path with what says nothing": (Clean("//a/./b//"), "/a/b"),
    "a path that goes up": (Clean("/../a/../b"), "/b"),
    "repeat": (Repeat(v("four"), Text(("h", Bound("i", "integer")))), "h0,h1,h2,h3"),
    "repeat inside": (
        Repeat(2, NamedTemplate("n", "", Text((Bound("i", "integer"), v("four"), Text(("-", Bound("i", "integer"))))))),
        "04-0,14-1",
    ),
    "repeat by more than its index": (Repeat(2, Text((Sum(Bound("i", "integer"), 1), "x"))), "1x,2x"),
    "repeat in a repeat": (
        Repeat(2, Text((Repeat(2, Text((Bound("i", "integer"), Bound("j", "integer"))), "j"),))),
        "00,01,10,11",
    ),
    "repeat none": (Repeat(v("zero"), "h"), ""),
    "default not needed": (Default(v("word"), "else"), "Größe"),
    "default for an empty text": (Default(v("empty"), "else"), "else"),
    "default for zero": (Default(v("zero"), v("four")), 4),
    "merged": (Merged((MapOf({"b": "under", "c": v("empty"), "d": "d"}), v("map"))), {"b": "2", "a": "1", "d": "d"}),
    "a map of entries": (MapOf({"a": v("four"), "b": "", "c": MapOf({"d": "e"})}), {"a": 4, "c": {"d": "e"}}),
    "a map of entries that come to nothing": (MapOf({"a": v("empty"), "b": MapOf({"c": ""})}), ABSENT),
    "named is transparent": (NamedTemplate("n", "A name.", {"a": v("four")}), {"a": 4}),
    "a call binds its arguments": (
        call(NamedTemplate("n", "", {"a": Parameter("p", "integer"), "b": v("word")}, parameters=("p",)), p=v("four")),
        {"a": 4, "b": "Größe"},
    ),
    "an argument's field": (
        call(
            NamedTemplate("n", "", Text((Parameter("p", "string", "image"), "!")), parameters=("p",)),
            p=Value("role", "map"),
        ),
        "a:1!",
    ),
    "a call passes an argument on": (
        call(NamedTemplate("n", "", call(INNER, q=Parameter("p")), parameters=("p",)), p="x"),
        {"a": "x"},
    ),
    "a part sees no name around its call": (Let("q", v("word"), {"b": call(INNER, q="mine")}), {"b": {"a": "mine"}}),
    "items under a condition": (
        ["z", When(v("on"), ForEach(v("map"), NAME)), When(v("off"), Items(v("list")))],
        ["z", "a", "b"],
    ),
    "when": (When(v("on"), "then", "else"), "then"),
    "when not": (When(v("off"), "then", "else"), "else"),
    "given": ({"a": if_set(v("word")), "b": if_set(v("empty"))}, {"a": "Größe"}),
    "an empty map is false": (When(v("none"), 1, 2), 2),
    "an empty list is false": (When(v("nothing"), 1, 2), 2),
    "a literal map stays": ({"emptyDir": {}}, {"emptyDir": {}}),
    "a literal list stays": ({"drop": []}, {"drop": []}),
    "null stays": ({"a": None}, {"a": None}),
    "a map of which nothing is left is absent": ({"a": 1, "b": {"c": if_set(v("empty"))}}, {"a": 1}),
    "a list of which nothing is left is absent": ({"a": 1, "b": [if_set(v("empty")), ABSENT]}, {"a": 1}),
    "nothing at all": ({"b": {"c": v("none")}}, ABSENT),
    "each by key": ([ForEach(v("map"), {"n": NAME, "v": ITEM})], [{"n": "a", "v": "1"}, {"n": "b", "v": "2"}]),
    "each of some": ([ForEach(v("map"), When(Equal(ITEM, "2"), NAME))], ["b"]),
    "each of none": ({"a": 1, "env": [ForEach(v("none"), NAME)]}, {"a": 1}),
    "items": (["z", Items(v("list"))], ["z", "x", "y"]),
    "no items": (["z", Items(v("nothing"))], ["z"]),
    "splice": ({"c": "3", Splice("s"): v("map")}, {"c": "3", "b": "2", "a": "1"}),
    "splice of nothing": ({"c": "3", Splice("s"): v("none")}, {"c": "3"}),
    "a key with a hole": ({v("word"): 1}, {"Größe": 1}),
    "let": (Let("role", Value("role", "map"), {"image": Bound("role", "string", "image")}), {"image": "a:1"}),
    "a field that is missing": (When(Bound("role", "string", "image.tag.x"), 1, 2), 2),
    "not empty": (NotEmpty(v("map")), {"a": "1", "b": "2"}),
}

TESTS = {
    "not": (Not(v("zero")), True),
    "all": (AllOf((v("on"), v("four"), v("map"))), True),
    "all but one": (AllOf((v("on"), v("empty"))), False),
    "any": (AnyOf((v("empty"), v("word"))), True),
    "none of any": (AnyOf((v("empty"), v("zero"))), False),
    "equal": (Equal(v("word"), "Größe"), True),
    "greater": (Greater(v("four"), 3), True),
    "not greater": (Greater(v("four"), 4), False),
    "has": (HasItem(v("list"), "x"), True),
    "has not": (HasItem(v("list"), "z"), False),
    "null has nothing": (HasItem(Bound("role", "list", "for"), "z"), False),
    "contains": (Contains(v("word"), "öß"), True),
    "a map": (IsMap(v("map")), True),
    "no map": (IsMap(v("word")), False),
    "matches": (Matches(v("word"), "^G.*e$"), True),
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
        ({Comment("Because."): None, "a": 1}, {"a": 1}, {"a": "Because."}),
        ({Comment("Because."): None, "a": v("word"), "b": 1}, {"a": "Größe", "b": 1}, {"a": "Because."}),
        ({"b": 1, Splice("s"): {Comment("Because."): None, "a": 1}}, {"b": 1, "a": 1}, {"a": "Because."}),
        ({Comment("Because."): None, Splice("s"): {"a": 1, "b": 2}}, {"a": 1, "b": 2}, {"a": "Because."}),
        ({Comment("Because."): None, NAME: 1}, {"n": 1}, {"n": "Because."}),
    ],
)
def test_a_filled_mapping_has_its_comments(node, expected, comments):
    filled = fill(node, SCOPE._replace(bound={"name": "n"}))
    assert (filled, filled.comments) == (expected, comments)


def test_the_comment_of_an_absent_entry_is_absent():
    assert type(fill({Comment("Because."): None, "a": if_set(v("empty")), "b": 1}, SCOPE)) is dict
    assert type(fill({Comment("Because."): None, Splice("s"): {}, "b": 1}, SCOPE)) is dict


@pytest.mark.parametrize("name", TESTS)
def test_a_test_is_a_boolean(name):
    node, expected = TESTS[name]
    assert evaluate(node, SCOPE._replace(bound={"role": {}})) is expected


def test_filling_changes_neither_graph_nor_values():
    node = {"a": [ForEach(v("map"), {"name": NAME})], Splice("s"): v("map")}
    fill(node, SCOPE)["new"] = 1
    assert node == {"a": [ForEach(v("map"), {"name": NAME})], Splice("s"): v("map")}
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
def test_a_hole_refuses_to_be_looked_at_and_names_the_node_for_it(what):
    look, instead = REFUSED[what]
    with pytest.raises(TypeError) as refusal:
        look(v("word"))
    assert f"use {instead}, not Value(path='word', type='string')" in str(refusal.value)


def test_every_node_is_a_hole_that_refuses():
    nodes = {type(node) for node, _ in (*FILLED.values(), *TESTS.values()) if isinstance(node, Hole)}
    assert len(nodes) > 15
    assert all(node.__bool__ is Hole.__bool__ and node.__str__ is Hole.__str__ for node in Hole.__subclasses__())


@pytest.mark.parametrize("count", [range, lambda hole: [0] * hole, lambda hole: hole < 3, lambda hole: hole[0]])
def test_python_itself_refuses_the_rest(count):
    with pytest.raises(TypeError):
        count(v("four"))


def test_a_text_for_each_entry_is_joined_by_sorted_key():
    each = JoinEntries(Value("map", "map"), ";", Text((Bound("name"), "=", Bound("value"))))
    assert evaluate(each, Scope({"map": {"b": "2", "a": "1"}}, "release", "chart")) == "a=1;b=2"
    assert evaluate(each, Scope({"map": {}}, "release", "chart")) == ""


def test_a_guard_finds_each_entry_that_is_wrong():
    pairs = (CheckedMap(v("map"), "name", "value"), CheckedMap(v("map"), "other", "second"))
    guard = Guard("two", "map", Not(Equal(NAME, Bound("other"))), Text((NAME, Bound("second"))), over=pairs)
    assert [evaluate(guard.say, scope) for scope in failing_scopes(guard, SCOPE)] == ["a2", "b1"]
    assert list(failing_scopes(guard.replaced(over=(CheckedMap(v("none"), "name", "value"),)), SCOPE)) == []


def test_a_guard_counts_what_it_names():
    ones = (("ones", Filtered(v("map"), Equal(ITEM, "1"))),)
    guard = Guard("some", "map", Bound("ones", "map"), "some", let=ones)
    assert len(list(failing_scopes(guard, SCOPE))) == 1
    assert list(failing_scopes(guard.replaced(when=Not(Bound("ones", "map"))), SCOPE)) == []
