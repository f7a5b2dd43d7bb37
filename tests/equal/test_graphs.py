"""The algebra itself: any graph that is filled gives what Helm makes of its printed text."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.equal import normal
from tests.generated import HOSTILE, TEXT
from tests.helm import HelmLibrary
from tfgen.holes import (
    ABSENT,
    AllOf,
    AnyOf,
    Bound,
    Contains,
    Default,
    Each,
    Equal,
    Greater,
    Has,
    IsMap,
    Items,
    Length,
    Let,
    Matches,
    Merged,
    Named,
    Node,
    Not,
    Release,
    Repeat,
    Scope,
    Splice,
    Sum,
    Text,
    Value,
    When,
    fill,
)
from tfgen.targets.go_template import Printer

VALUES = st.fixed_dictionaries(
    {
        "text": TEXT,
        "other": st.sampled_from(["", "a"]),
        "count": st.integers(0, 3),
        "on": st.booleans(),
        "map": st.dictionaries(st.sampled_from(["y", "1e3", "a-b"]), TEXT, max_size=2),
        "more": st.dictionaries(st.sampled_from(["y", "z"]), TEXT, max_size=2),
        "list": st.lists(st.sampled_from(["a", "y", "08"]), max_size=2),
        "amount": st.sampled_from(["", "1e3", 2, 0]),
    }
)
TEXT_VALUE, OTHER = Value("text", "string"), Value("other", "string")
COUNT, ON = Value("count", "integer"), Value("on", "boolean")
MAP, MORE, LIST = Value("map", "map"), Value("more", "map"), Value("list", "list")
MERGED = Bound("merged", "map")

strings = st.recursive(
    st.sampled_from([TEXT_VALUE, OTHER, Release("Release.Name"), Default(OTHER, TEXT_VALUE), Default(OTHER, "else")]),
    lambda inner: st.one_of(
        st.lists(st.one_of(st.sampled_from(HOSTILE), inner, st.just(COUNT)), min_size=1, max_size=3).map(
            lambda parts: Text(tuple(parts))
        ),
        st.just(Named("part", "Part of a name.", Text((Release("Chart.Name"), "-", COUNT)))),
    ),
    max_leaves=4,
)
integers = st.sampled_from([COUNT, Sum((COUNT, 1)), Length(TEXT_VALUE), Sum((Length(TEXT_VALUE), COUNT, 5))])
tests = st.recursive(
    st.one_of(
        st.sampled_from([TEXT_VALUE, OTHER, COUNT, ON, MAP, LIST, IsMap(MAP), IsMap(OTHER)]),
        st.builds(Equal, strings, st.sampled_from(["", "a"])),
        st.builds(Greater, integers, st.integers(0, 3)),
        st.builds(Contains, strings, st.sampled_from(HOSTILE[1:])),
        st.sampled_from([Has(LIST, "y"), Matches(OTHER, "^a?$")]),
    ),
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.tuples(inner, inner).map(AllOf),
        st.tuples(inner, inner).map(AnyOf),
    ),
    max_leaves=3,
)
scalars = st.one_of(
    st.sampled_from(HOSTILE), st.integers(-5, 5), st.booleans(), st.none(), strings, integers, st.just(ON),
    st.just(Repeat(COUNT, Text(("h", Bound("i", "integer"), "{{")))),
)  # fmt: skip
keys = st.sampled_from(["a", "b", "on", "0x1F", "k{{"])
ENTRY = {"name": Bound("name"), "value": Text((Bound("value"), TEXT_VALUE))}
items = st.one_of(
    st.sampled_from(HOSTILE),
    strings,
    st.builds(lambda first, second: {"name": first, "b": second}, scalars, scalars),
    st.builds(lambda test, text: When(test, {"name": "x", "b": When(OTHER, text)}), tests, strings),
    st.sampled_from([Each(MAP, ENTRY), Each(MAP, When(Contains(Bound("value"), "{{"), ENTRY)), Items(LIST)]),
)


def _mappings(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    plain = st.dictionaries(keys, nodes, min_size=1, max_size=4)
    spliced = st.sampled_from(
        [{}, {Splice("merged"): MERGED}, {Splice("named"): Named("both", "Both.", {"n": MAP, "m": OTHER})}]
    )
    return st.builds(lambda mapping, more: {**mapping, **more}, plain, spliced)


nodes = st.recursive(
    st.one_of(scalars, st.sampled_from([MAP, LIST, MERGED, {}, []])),
    lambda inner: st.one_of(
        st.builds(When, tests, inner, st.one_of(st.just(ABSENT), inner)),
        _mappings(inner),
        st.lists(items, min_size=1, max_size=3),
    ),
    max_leaves=8,
)


@settings(max_examples=300)
@given(node=nodes, values=VALUES)
def test_what_is_filled_is_what_helm_makes_of_the_printed_text(node, values):
    # Helm ends a document with a line break more, which a text of empty lines at its very end would take for its own.
    whole: Any = {"apiVersion": "v1", "kind": "Any", "graph": node, "metadata": {"name": "any"}}
    document = Let("merged", Merged(({"x": When(OTHER, "x"), "y": "under"}, MAP, MORE)), whole)
    printer = Printer("any")
    try:
        template = printer.template((document,))
    except TypeError:
        assume(False)  # what cannot be printed, it says so
    files = {
        "Chart.yaml": "{apiVersion: v2, name: any, version: 0.1.0}",
        "values.yaml": json.dumps(values, ensure_ascii=False),
        "templates/any.yaml": template,
        "templates/_helpers.tpl": printer.helpers_file("Helpers."),
    }
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            (Path(folder) / path).parent.mkdir(exist_ok=True)
            (Path(folder) / path).write_text(text, encoding="utf-8")
        by_helm = normal.read(HelmLibrary().template(Path(folder), "release", "--skip-tests"))
    by_tfgen = normal.by_identity([fill(document, Scope(values, "release", "any"))])
    normal.assert_equal({"helm": by_helm, "tfgen": by_tfgen})
