"""The algebra of the graph: a filled graph equals the objects that Helm renders from the printed graph."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support import normal
from tests.support.command import CommandError
from tests.support.draws import drawn
from tests.support.generated import HOSTILE, TEXT
from tests.support.tools import helm_template
from tfgen.graph import holes as h
from tfgen.graph.fill import Scope, evaluate, failing_scopes, fill
from tfgen.graph.naming import as_text
from tfgen.targets.chart.go_template.lines import define, helpers_file, template_file
from tfgen.targets.chart.go_template.syntax import Context
from tfgen.targets.chart.print_templates import guards_file

ANY = Context("any")

# Data of a digest. The digest is of JSON with numbers and key order as in Go, and without its escapes. Go reads -0 in
# YAML as 0.
DATA = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number or 0),
        st.sampled_from([1e21, 1e20, 123456789012345680.0, 1e-6, 1e-7, 0.5, 5.0]),
        TEXT,
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["<&>", "é", "z", "Z", "😀", "\uff5e", "08"]), inner, max_size=3),
    ),
    max_leaves=6,
)
VALUES = st.fixed_dictionaries(
    {
        "text": TEXT,
        "other": st.sampled_from(["", "a"]),
        "count": st.integers(0, 3),
        "on": st.booleans(),
        "map": st.dictionaries(st.sampled_from(["y", "1e3", "a-b"]), TEXT, max_size=2),
        "more": st.dictionaries(st.sampled_from(["y", "z"]), TEXT, max_size=2),
        "list": st.lists(st.sampled_from(["a", "y", "08"]), max_size=2),
        "data": st.lists(DATA, max_size=3),
        "amount": st.sampled_from(["", "1e3", 2, 0]),
        "path": st.sampled_from(["/", "//a//b/.", "/a/../b", "/../..", "/a b/", "/{{"]),
        "deep": st.dictionaries(
            st.sampled_from(["y", "z", "08"]),
            st.one_of(
                TEXT,
                st.fixed_dictionaries({}, optional={"for": st.lists(st.sampled_from(["a", "y"])), "x": TEXT}),
            ),
            max_size=2,
        ),
        "role": st.fixed_dictionaries(
            {}, optional={"text": TEXT, "on": st.booleans(), "list": st.lists(st.sampled_from(["a", "08"]), max_size=2)}
        ),
    }
)
TEXT_VALUE, OTHER = h.Value("text", "string"), h.Value("other", "string")
COUNT, ON = h.Value("count", "integer"), h.Value("on", "boolean")
MAP, MORE, LIST = h.Value("map", "map"), h.Value("more", "map"), h.Value("list", "list")
OWN_TEXT, OWN_ON = h.Value("role.text", "string"), h.Override(h.Value("role.on", "boolean"), ON)
OWN_LIST = h.Override(h.Value("role.list", "list"), LIST)
MORE_OR_MAP, DEEP = h.Default(MORE, MAP), h.Value("deep", "map")
MERGED, LAID, FILTERED = h.Bound("merged", "map"), h.Bound("laid", "map"), h.Bound("filtered", "map")
CHOSEN = h.Bound("chosen", "map")
"""Entries of a map of texts. Entries of FILTERED may be maps, which Go and Python write as different texts."""
NAME, ENTRY_VALUE = h.Bound("name"), h.Bound("value")

TEXTS, TEXT_LIST = as_text(MORE_OR_MAP), as_text(LIST)
TREES = (MAP, LIST, OWN_LIST, MORE_OR_MAP, MERGED, LAID, FILTERED, TEXTS, TEXT_LIST)

# A hole that Go writes as statements needs its own named template. A separator, and the text around a separator, may be
# white space.
PAIR = h.Text((NAME, "={{", ENTRY_VALUE))
NAMED = (
    h.NamedTemplate("part", "Part of a name.", h.Text((h.Release("Chart.Name"), "-", COUNT))),
    h.NamedTemplate("hosts", "Hosts.", h.Repeat(COUNT, h.Text(("h", h.Bound("i", "integer"), "{{")))),
    h.NamedTemplate(
        "spaced",
        "Hosts with white space.",
        h.Text((" h ", h.Repeat(COUNT, h.Text((" ", h.Bound("i", "integer"), " "))), "\n")),
    ),
    h.NamedTemplate("pairs", "Pairs.", h.JoinEntries(MAP, ";", PAIR)),
    h.NamedTemplate(
        "others",
        "Pairs.",
        h.Text(("{", h.JoinEntries(MORE_OR_MAP, ' {{"\n', h.When(h.Equal(NAME, "y"), PAIR, NAME)), " ")),
    ),
    h.NamedTemplate("service", "Who installs.", h.ChartOnly("{{ .Release.Service }}", filled="Helm")),
)

DOCUMENT = h.NamedTemplate(
    "document",
    "A mapping.",
    {"a": {"b": {"c<&>": TEXT_VALUE, "é": COUNT}, "more": MORE}, "data": h.Value("data", "list")},
)

P, M = h.Parameter("p"), h.Parameter("m", "map")
HASHED = h.NamedTemplate(
    "hashed",
    "A mapping that may have the hash of what it is without.",
    {"text": TEXT_VALUE, "p": P, "hash": h.When(h.Parameter("hash"), h.Parameter("hash"))},
    parameters=("p", "hash"),
)
HASH = h.NamedTemplate("hash", "The hash of it.", h.Digest(h.call(HASHED, p=P, hash=None)), parameters=("p",))
JOINED_TEXT = h.Text((P, "={{", TEXT_VALUE, h.JoinEntries(M, ";", PAIR)))
JOINED = h.NamedTemplate("joined", "Text of arguments.", JOINED_TEXT, parameters=("p", "m"))

FILES = (*HOSTILE, "import os\n\n\tprint('{{ .Values }}')\n", "a\n  b", "a\n\n", " a\nb\n")

strings = st.recursive(
    st.sampled_from(
        [
            *(TEXT_VALUE, OTHER, h.Release("Release.Name"), h.Default(OTHER, TEXT_VALUE), h.Default(OTHER, "else")),
            *(h.Join(LIST), h.Join(h.Default(LIST, h.Value("list", "list"))), h.Clean(h.Value("path", "string"))),
            *NAMED,
            as_text(TEXT_VALUE),
            h.Override(OWN_TEXT, TEXT_VALUE),
            *(h.Digest(DOCUMENT), h.call(HASH, p=OTHER)),
            *(h.File(f"files/{number}.txt", text) for number, text in enumerate(FILES)),
        ]
    ),
    lambda inner: st.one_of(
        st.builds(lambda p, m: h.call(JOINED, p=p, m=m), inner, st.sampled_from([MAP, MORE_OR_MAP])),
        st.lists(st.one_of(st.sampled_from(HOSTILE), inner, st.just(COUNT)), min_size=1, max_size=3).map(
            lambda parts: h.Text(tuple(parts))
        ),
        inner.map(lambda path: h.Clean(h.Text(("/", path)))),
    ),
    max_leaves=4,
)
integers = st.sampled_from([COUNT, h.Sum(COUNT, 1), h.Length(TEXT_VALUE), h.Sum(h.Length(TEXT_VALUE), COUNT, 5)])
tests = st.recursive(
    st.one_of(
        st.sampled_from([TEXT_VALUE, OTHER, COUNT, ON, MAP, LIST, h.IsMap(MAP), h.IsMap(OTHER), as_text(OTHER), TEXTS]),
        st.builds(h.Equal, strings, st.one_of(st.sampled_from(["", "a"]), strings)),
        st.builds(h.Greater, integers, st.integers(0, 3)),
        st.builds(h.Contains, strings, st.sampled_from(HOSTILE[1:])),
        st.builds(h.HasItem, st.just(LIST), st.one_of(st.sampled_from(["y", "08"]), strings)),
        st.builds(
            h.HasKey, st.sampled_from([MAP, MORE, MORE_OR_MAP]), st.one_of(st.sampled_from(["y", "a-b"]), strings)
        ),
        st.sampled_from([h.Matches(OTHER, "^a?$"), h.IsSet(OWN_TEXT), OWN_ON]),
    ),
    lambda inner: st.one_of(
        st.builds(h.Not, inner),
        st.tuples(inner, inner).map(h.AllOf),
        st.tuples(inner, inner).map(h.AnyOf),
    ),
    max_leaves=3,
)
scalars = st.one_of(
    st.sampled_from(HOSTILE), st.integers(-5, 5), st.booleans(), st.none(), strings, integers, st.just(ON),
    st.just(h.ChartOnly("{{ $.Release.Service }}", filled="Helm")),
)  # fmt: skip
keys = st.sampled_from(["a", "b", "on", "0x1F", "k{{"])
ENTRY = {"name": NAME, "value": h.Text((ENTRY_VALUE, TEXT_VALUE))}
OF_DEEP = {"name": NAME, "tree": h.When(h.IsMap(ENTRY_VALUE), h.When(ENTRY_VALUE, h.NotEmpty(h.Bound("value", "map"))))}
items = st.one_of(
    st.sampled_from(HOSTILE),
    strings,
    st.builds(lambda first, second: {"name": first, "b": second}, scalars, scalars),
    st.builds(lambda test, text: h.When(test, {"name": "x", "b": h.When(OTHER, text)}), tests, strings),
    st.sampled_from([h.ForEach(MAP, ENTRY), h.ForEach(MAP, h.When(h.Contains(ENTRY_VALUE, "{{"), ENTRY))]),
    st.sampled_from([h.Items(LIST), h.Items(TEXT_LIST), h.ForEach(OWN_LIST, {"b": ENTRY_VALUE})]),
    st.sampled_from([h.ForEach(DEEP, OF_DEEP), h.ForEach(FILTERED, {"name": NAME})]),
)


def _mappings(nodes: st.SearchStrategy[h.Node]) -> st.SearchStrategy[h.Node]:
    plain = st.dictionaries(keys, nodes, min_size=1, max_size=4)
    spliced = st.sampled_from(
        [
            {},
            {h.Splice("merged"): MERGED},
            {h.Splice("laid"): LAID},
            {h.Splice("given"): h.When(FILTERED, h.NotEmpty(FILTERED))},
            {h.Splice("named"): h.NamedTemplate("both", "Both.", {"n": MAP, "m": OTHER})},
        ]
    )
    return st.builds(lambda mapping, more: {**mapping, **more}, plain, spliced)


def _named_template(node: h.Node, more: h.Node) -> h.NamedTemplate:
    """Return a named template that contains drawn nodes, and uses only its arguments and the root."""
    name = hashlib.sha256(repr((node, more)).encode()).hexdigest()[:8]
    return h.NamedTemplate(
        name, "A part.", {"p": h.When(P, P), "any": node, h.Splice("m"): M, "more": more}, parameters=("p", "m")
    )


of_parts = st.recursive(
    st.one_of(
        st.sampled_from(HOSTILE), strings, integers,
        st.sampled_from([P, M, h.When(M, h.NotEmpty(M)), MAP, LIST, MORE_OR_MAP]),
        st.builds(lambda p: {"hash": h.call(HASHED, p=p, hash=h.call(HASH, p=p))}, strings),
        st.sampled_from([[h.ForEach(M, ENTRY)], [h.Items(LIST), h.When(P, h.ForEach(MAP, ENTRY))]]),
        st.just({"x": h.When(P, "x")}),
    ),
    lambda inner: st.one_of(
        st.builds(h.When, st.one_of(st.just(P), st.just(M), tests), inner, st.one_of(st.just(h.ABSENT), inner)),
        st.dictionaries(keys, inner, min_size=1, max_size=3),
        st.builds(lambda node, more: h.call(_named_template(node, more), p=P, m=M), inner, inner),
    ),
    max_leaves=6,
)  # fmt: skip
calls = st.builds(
    lambda node, more, p, m: h.call(_named_template(node, more), p=p, m=m),
    of_parts, of_parts, strings, st.sampled_from([MAP, MORE, MORE_OR_MAP, MERGED, CHOSEN, TEXTS]),
)  # fmt: skip


nodes = st.recursive(
    st.one_of(
        scalars,
        st.sampled_from([*TREES, {}, []]),
        st.sampled_from(TREES).map(lambda tree: h.When(tree, h.NotEmpty(tree))),
    ),
    lambda inner: st.one_of(
        calls,
        st.builds(lambda test, part: {"a": h.When(test, 1), h.Splice("called"): part}, tests, calls),
        st.builds(h.When, tests, inner, st.one_of(st.just(h.ABSENT), inner)),
        _mappings(inner),
        st.lists(items, min_size=1, max_size=3),
    ),
    max_leaves=8,
)


# Literal entries, and holes that a test or their own value leaves out.
lowest = st.one_of(
    st.sampled_from([h.MapOf({}), h.MapOf({"x": "x", "y": "under"}), MORE]),
    st.builds(lambda test, text: h.MapOf({"x": h.When(test, text), "y": "under"}), tests, strings),
    st.just(h.MapOf({h.Text(("k.", OTHER)): TEXT_VALUE, "amount": h.Value("amount", "quantity"), "z": ""})),
)
of_entries = st.one_of(
    st.builds(h.Contains, st.just(NAME), st.sampled_from(["y", "1"])),
    st.builds(lambda test, name: h.AnyOf((test, h.Equal(NAME, name))), tests, st.sampled_from(["y", "z"])),
)


@st.composite
def bindings(draw: st.DrawFn) -> list[tuple[str, h.Hole]]:
    return [
        ("merged", h.Merged((draw(lowest), draw(st.sampled_from([MAP, TEXTS])), MORE))),
        ("laid", h.Merged((draw(lowest), DEEP, h.Bound("merged", "map")), flat=False)),
        ("filtered", h.Filtered(draw(st.sampled_from([MAP, DEEP, MERGED, LAID])), draw(of_entries))),
        ("chosen", h.Filtered(draw(st.sampled_from([MAP, MERGED])), draw(of_entries))),
    ]


def _document(node: h.Node, bound: list[tuple[str, h.Hole]]) -> h.Node:
    # Helm adds a line break to a document. A text of empty lines at the end would include the line break.
    document: h.Node = {"apiVersion": "v1", "kind": "Any", "graph": node, "metadata": {"name": "any"}}
    for name, expression in reversed(bound):
        document = h.Let(name, expression, document)
    return document


@pytest.mark.long
@drawn(100)
@given(node=nodes, bound=bindings(), values=VALUES)
def test_filled_node_equals_what_helm_makes_of_the_printed_node(node, bound, values):
    document = _document(node, bound)
    try:
        template = template_file(document, ANY)
    except TypeError:
        assume(False)  # the node cannot be printed
    by_helm = normal.read(_by_helm(template, values, [document]))
    by_tfgen = normal.by_identity([fill(document, Scope(values, "release", "any"))])
    normal.assert_equal({"helm": by_helm, "tfgen": by_tfgen})


@pytest.mark.long
def test_draws_have_every_class_of_node():
    met: set[type] = set()

    @settings(max_examples=400, derandomize=True, database=None)
    @given(node=nodes, bound=bindings())
    def collect(node, bound):
        document = _document(node, bound)
        try:
            template_file(document, ANY)
        except TypeError:
            return
        met.update(map(type, _holes(document)))

    collect()
    assert met == set(h.Hole.__subclasses__())


def _holes(node: Any) -> Iterator[h.Hole]:
    if isinstance(node, h.Hole):
        yield node
        inside: Any = [getattr(node, field) for field in node.__match_args__]
    else:
        inside = node.items() if isinstance(node, dict) else node if isinstance(node, (list, tuple)) else ()
    for each in inside:
        yield from _holes(each)


ROLE = h.Bound("role")
OF_MAP, OF_DEEP_MAP = h.CheckedMap(MAP, "name", "value"), h.CheckedMap(DEEP, "role", "said")
FOR, NAMES = h.Bound("said", "list", "for"), h.Bound("names", "map")
of_guards = st.one_of(
    tests,
    st.builds(lambda test, part: h.AllOf((test, h.Contains(TEXT_VALUE, part))), tests, st.sampled_from(HOSTILE[1:])),
    st.builds(h.HasKey, st.just(NAMES), st.sampled_from(["y", "1e3"])),
)
of_their_entries = st.one_of(
    st.builds(lambda test, part: h.AnyOf((test, h.Contains(ENTRY_VALUE, part))), tests, st.sampled_from(HOSTILE[1:])),
    st.sampled_from(
        [h.Equal(h.Clean(h.Text(("/", NAME))), "/y"), h.HasKey(NAMES, NAME), h.HasItem(LIST, NAME), h.Not(ENTRY_VALUE)]
    ),
)
of_two = st.sampled_from(
    [
        h.AllOf((h.IsMap(h.Bound("said")), h.HasItem(FOR, "y"), h.Not(h.Equal(NAME, ROLE)))),
        h.AllOf((h.IsMap(h.Bound("said")), h.HasKey(h.Bound("said", "map"), "x"), h.HasKey(NAMES, ROLE))),
    ]
)


def _guards(
    each: tuple[h.CheckedMap, ...], looks: st.SearchStrategy[Any], *names: h.Hole
) -> st.SearchStrategy[h.Guard]:
    return st.builds(
        lambda test, parts, bound: h.Guard(
            "any",
            "text",
            test,
            h.Text((*names, ": ", *parts)),
            over=each,
            let=(("names", h.Filtered(MORE_OR_MAP, bound)),),
        ),
        looks,
        st.lists(st.one_of(strings, integers, st.sampled_from(HOSTILE)), max_size=2),
        of_entries,
    )


guards = st.one_of(
    _guards((), of_guards),
    _guards((OF_MAP,), of_their_entries, NAME),
    _guards((OF_DEEP_MAP, OF_MAP), of_two, ROLE, NAME),
)


@pytest.mark.long
@drawn(100)
@given(several=st.lists(guards, min_size=1, max_size=3), values=VALUES)
def test_helm_fails_with_the_message_of_the_guard(several, values):
    scope = Scope(values, "release", "any")
    template = guards_file(several, (), ANY)
    found = [str(evaluate(guard.message, each)) for guard in several for each in failing_scopes(guard, scope)]
    if not found:
        assert _by_helm(template, values, several) == ""
        return
    with pytest.raises(CommandError) as refusal:
        _by_helm(template, values, several)
    # Guards of the same entries check entry by entry in Helm, so another guard may fail first.
    known = found[:1] if len(several) == 1 else found
    assert refusal.value.stderr.endswith(tuple(known)), (refusal.value.stderr, known)


def _by_helm(template: str, values: Any, nodes: Sequence[Any]) -> str:
    files = {
        "Chart.yaml": "{apiVersion: v2, name: any, version: 0.1.0}",
        "values.yaml": json.dumps(values, ensure_ascii=False),
        "templates/any.yaml": template,
        "templates/_helpers.tpl": helpers_file(
            "Helpers.", [define(template, ANY) for template in h.named_templates(nodes).values()]
        ),
        **h.chart_files(nodes),
    }
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            (Path(folder) / path).parent.mkdir(exist_ok=True)
            (Path(folder) / path).write_text(text, encoding="utf-8")
        return helm_template(Path(folder), "release", "--skip-tests")
