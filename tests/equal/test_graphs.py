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
from tfgen.graph.fill import Scope, evaluate, failing_scopes, fill
from tfgen.graph.holes import (
    ABSENT,
    AllOf,
    AnyOf,
    Bound,
    ChartOnly,
    CheckedMap,
    Clean,
    Contains,
    Default,
    Digest,
    Equal,
    File,
    Filtered,
    ForEach,
    Greater,
    Guard,
    HasItem,
    HasKey,
    Hole,
    IsMap,
    IsSet,
    Items,
    Join,
    JoinEntries,
    Length,
    Let,
    MapOf,
    Matches,
    Merged,
    NamedTemplate,
    Node,
    Not,
    NotEmpty,
    Override,
    Parameter,
    Release,
    Repeat,
    Splice,
    Sum,
    Text,
    Value,
    When,
    call,
    chart_files,
    named_templates,
)
from tfgen.graph.objects.values import as_text
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
TEXT_VALUE, OTHER = Value("text", "string"), Value("other", "string")
COUNT, ON = Value("count", "integer"), Value("on", "boolean")
MAP, MORE, LIST = Value("map", "map"), Value("more", "map"), Value("list", "list")
OWN_TEXT, OWN_ON = Value("role.text", "string"), Override(Value("role.on", "boolean"), ON)
OWN_LIST = Override(Value("role.list", "list"), LIST)
MORE_OR_MAP, DEEP = Default(MORE, MAP), Value("deep", "map")
MERGED, LAID, FILTERED = Bound("merged", "map"), Bound("laid", "map"), Bound("filtered", "map")
CHOSEN = Bound("chosen", "map")
"""Entries of a map of texts. Entries of FILTERED may be maps, which Go and Python write as different texts."""
NAME, ENTRY_VALUE = Bound("name"), Bound("value")

TEXTS, TEXT_LIST = as_text(MORE_OR_MAP), as_text(LIST)
TREES = (MAP, LIST, OWN_LIST, MORE_OR_MAP, MERGED, LAID, FILTERED, TEXTS, TEXT_LIST)

# A hole that Go writes as statements needs its own named template. A separator, and the text around a separator, may be
# white space.
PAIR = Text((NAME, "={{", ENTRY_VALUE))
NAMED = (
    NamedTemplate("part", "Part of a name.", Text((Release("Chart.Name"), "-", COUNT))),
    NamedTemplate("hosts", "Hosts.", Repeat(COUNT, Text(("h", Bound("i", "integer"), "{{")))),
    NamedTemplate(
        "spaced", "Hosts with white space.", Text((" h ", Repeat(COUNT, Text((" ", Bound("i", "integer"), " "))), "\n"))
    ),
    NamedTemplate("pairs", "Pairs.", JoinEntries(MAP, ";", PAIR)),
    NamedTemplate(
        "others", "Pairs.", Text(("{", JoinEntries(MORE_OR_MAP, ' {{"\n', When(Equal(NAME, "y"), PAIR, NAME)), " "))
    ),
    NamedTemplate("service", "Who installs.", ChartOnly("{{ .Release.Service }}", filled="Helm")),
)

DOCUMENT = NamedTemplate(
    "document",
    "A mapping.",
    {"a": {"b": {"c<&>": TEXT_VALUE, "é": COUNT}, "more": MORE}, "data": Value("data", "list")},
)

P, M = Parameter("p"), Parameter("m", "map")
HASHED = NamedTemplate(
    "hashed",
    "A mapping that may have the hash of what it is without.",
    {"text": TEXT_VALUE, "p": P, "hash": When(Parameter("hash"), Parameter("hash"))},
    parameters=("p", "hash"),
)
HASH = NamedTemplate("hash", "The hash of it.", Digest(call(HASHED, p=P, hash=None)), parameters=("p",))
JOINED_TEXT = Text((P, "={{", TEXT_VALUE, JoinEntries(M, ";", PAIR)))
JOINED = NamedTemplate("joined", "Text of arguments.", JOINED_TEXT, parameters=("p", "m"))

FILES = (*HOSTILE, "import os\n\n\tprint('{{ .Values }}')\n", "a\n  b", "a\n\n", " a\nb\n")

strings = st.recursive(
    st.sampled_from(
        [
            *(TEXT_VALUE, OTHER, Release("Release.Name"), Default(OTHER, TEXT_VALUE), Default(OTHER, "else")),
            *(Join(LIST), Join(Default(LIST, Value("list", "list"))), Clean(Value("path", "string"))),
            *NAMED,
            as_text(TEXT_VALUE),
            Override(OWN_TEXT, TEXT_VALUE),
            *(Digest(DOCUMENT), call(HASH, p=OTHER)),
            *(File(f"files/{number}.txt", text) for number, text in enumerate(FILES)),
        ]
    ),
    lambda inner: st.one_of(
        st.builds(lambda p, m: call(JOINED, p=p, m=m), inner, st.sampled_from([MAP, MORE_OR_MAP])),
        st.lists(st.one_of(st.sampled_from(HOSTILE), inner, st.just(COUNT)), min_size=1, max_size=3).map(
            lambda parts: Text(tuple(parts))
        ),
        inner.map(lambda path: Clean(Text(("/", path)))),
    ),
    max_leaves=4,
)
integers = st.sampled_from([COUNT, Sum(COUNT, 1), Length(TEXT_VALUE), Sum(Length(TEXT_VALUE), COUNT, 5)])
tests = st.recursive(
    st.one_of(
        st.sampled_from([TEXT_VALUE, OTHER, COUNT, ON, MAP, LIST, IsMap(MAP), IsMap(OTHER), as_text(OTHER), TEXTS]),
        st.builds(Equal, strings, st.one_of(st.sampled_from(["", "a"]), strings)),
        st.builds(Greater, integers, st.integers(0, 3)),
        st.builds(Contains, strings, st.sampled_from(HOSTILE[1:])),
        st.builds(HasItem, st.just(LIST), st.one_of(st.sampled_from(["y", "08"]), strings)),
        st.builds(HasKey, st.sampled_from([MAP, MORE, MORE_OR_MAP]), st.one_of(st.sampled_from(["y", "a-b"]), strings)),
        st.sampled_from([Matches(OTHER, "^a?$"), IsSet(OWN_TEXT), OWN_ON]),
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
    st.just(ChartOnly("{{ $.Release.Service }}", filled="Helm")),
)  # fmt: skip
keys = st.sampled_from(["a", "b", "on", "0x1F", "k{{"])
ENTRY = {"name": NAME, "value": Text((ENTRY_VALUE, TEXT_VALUE))}
OF_DEEP = {"name": NAME, "tree": When(IsMap(ENTRY_VALUE), When(ENTRY_VALUE, NotEmpty(Bound("value", "map"))))}
items = st.one_of(
    st.sampled_from(HOSTILE),
    strings,
    st.builds(lambda first, second: {"name": first, "b": second}, scalars, scalars),
    st.builds(lambda test, text: When(test, {"name": "x", "b": When(OTHER, text)}), tests, strings),
    st.sampled_from([ForEach(MAP, ENTRY), ForEach(MAP, When(Contains(ENTRY_VALUE, "{{"), ENTRY))]),
    st.sampled_from([Items(LIST), Items(TEXT_LIST), ForEach(OWN_LIST, {"b": ENTRY_VALUE})]),
    st.sampled_from([ForEach(DEEP, OF_DEEP), ForEach(FILTERED, {"name": NAME})]),
)


def _mappings(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    plain = st.dictionaries(keys, nodes, min_size=1, max_size=4)
    spliced = st.sampled_from(
        [
            {},
            {Splice("merged"): MERGED},
            {Splice("laid"): LAID},
            {Splice("given"): When(FILTERED, NotEmpty(FILTERED))},
            {Splice("named"): NamedTemplate("both", "Both.", {"n": MAP, "m": OTHER})},
        ]
    )
    return st.builds(lambda mapping, more: {**mapping, **more}, plain, spliced)


def _named_template(node: Node, more: Node) -> NamedTemplate:
    """Return a named template that contains drawn nodes, and uses only its arguments and the root."""
    name = hashlib.sha256(repr((node, more)).encode()).hexdigest()[:8]
    return NamedTemplate(
        name, "A part.", {"p": When(P, P), "any": node, Splice("m"): M, "more": more}, parameters=("p", "m")
    )


of_parts = st.recursive(
    st.one_of(
        st.sampled_from(HOSTILE), strings, integers,
        st.sampled_from([P, M, When(M, NotEmpty(M)), MAP, LIST, MORE_OR_MAP]),
        st.builds(lambda p: {"hash": call(HASHED, p=p, hash=call(HASH, p=p))}, strings),
        st.sampled_from([[ForEach(M, ENTRY)], [Items(LIST), When(P, ForEach(MAP, ENTRY))], {"x": When(P, "x")}]),
    ),
    lambda inner: st.one_of(
        st.builds(When, st.one_of(st.just(P), st.just(M), tests), inner, st.one_of(st.just(ABSENT), inner)),
        st.dictionaries(keys, inner, min_size=1, max_size=3),
        st.builds(lambda node, more: call(_named_template(node, more), p=P, m=M), inner, inner),
    ),
    max_leaves=6,
)  # fmt: skip
calls = st.builds(
    lambda node, more, p, m: call(_named_template(node, more), p=p, m=m),
    of_parts, of_parts, strings, st.sampled_from([MAP, MORE, MORE_OR_MAP, MERGED, CHOSEN, TEXTS]),
)  # fmt: skip


nodes = st.recursive(
    st.one_of(
        scalars,
        st.sampled_from([*TREES, {}, []]),
        st.sampled_from(TREES).map(lambda tree: When(tree, NotEmpty(tree))),
    ),
    lambda inner: st.one_of(
        calls,
        st.builds(lambda test, part: {"a": When(test, 1), Splice("called"): part}, tests, calls),
        st.builds(When, tests, inner, st.one_of(st.just(ABSENT), inner)),
        _mappings(inner),
        st.lists(items, min_size=1, max_size=3),
    ),
    max_leaves=8,
)


# Literal entries, and holes that a test or their own value leaves out.
lowest = st.one_of(
    st.sampled_from([MapOf({}), MapOf({"x": "x", "y": "under"}), MORE]),
    st.builds(lambda test, text: MapOf({"x": When(test, text), "y": "under"}), tests, strings),
    st.just(MapOf({Text(("k.", OTHER)): TEXT_VALUE, "amount": Value("amount", "quantity"), "z": ""})),
)
of_entries = st.one_of(
    st.builds(Contains, st.just(NAME), st.sampled_from(["y", "1"])),
    st.builds(lambda test, name: AnyOf((test, Equal(NAME, name))), tests, st.sampled_from(["y", "z"])),
)


@st.composite
def bindings(draw: st.DrawFn) -> list[tuple[str, Hole]]:
    return [
        ("merged", Merged((draw(lowest), draw(st.sampled_from([MAP, TEXTS])), MORE))),
        ("laid", Merged((draw(lowest), DEEP, Bound("merged", "map")), flat=False)),
        ("filtered", Filtered(draw(st.sampled_from([MAP, DEEP, MERGED, LAID])), draw(of_entries))),
        ("chosen", Filtered(draw(st.sampled_from([MAP, MERGED])), draw(of_entries))),
    ]


def _document(node: Node, bound: list[tuple[str, Hole]]) -> Node:
    # Helm adds a line break to a document. A text of empty lines at the end would include the line break.
    document: Node = {"apiVersion": "v1", "kind": "Any", "graph": node, "metadata": {"name": "any"}}
    for name, expression in reversed(bound):
        document = Let(name, expression, document)
    return document


@pytest.mark.long
@drawn(100)
@given(node=nodes, bound=bindings(), values=VALUES)
def test_what_is_filled_is_what_helm_makes_of_the_printed_text(node, bound, values):
    document = _document(node, bound)
    try:
        template = template_file(document, ANY)
    except TypeError:
        assume(False)  # the node cannot be printed
    by_helm = normal.read(_by_helm(template, values, [document]))
    by_tfgen = normal.by_identity([fill(document, Scope(values, "release", "any"))])
    normal.assert_equal({"helm": by_helm, "tfgen": by_tfgen})


@pytest.mark.long
def test_every_node_of_the_algebra_is_among_those_that_are_compared():
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
    assert met == set(Hole.__subclasses__())


def _holes(node: Any) -> Iterator[Hole]:
    if isinstance(node, Hole):
        yield node
        inside: Any = [getattr(node, field) for field in node.__match_args__]
    else:
        inside = node.items() if isinstance(node, dict) else node if isinstance(node, (list, tuple)) else ()
    for each in inside:
        yield from _holes(each)


ROLE = Bound("role")
OF_MAP, OF_DEEP_MAP = CheckedMap(MAP, "name", "value"), CheckedMap(DEEP, "role", "said")
FOR, NAMES = Bound("said", "list", "for"), Bound("names", "map")
of_guards = st.one_of(
    tests,
    st.builds(lambda test, part: AllOf((test, Contains(TEXT_VALUE, part))), tests, st.sampled_from(HOSTILE[1:])),
    st.builds(HasKey, st.just(NAMES), st.sampled_from(["y", "1e3"])),
)
of_their_entries = st.one_of(
    st.builds(lambda test, part: AnyOf((test, Contains(ENTRY_VALUE, part))), tests, st.sampled_from(HOSTILE[1:])),
    st.sampled_from(
        [Equal(Clean(Text(("/", NAME))), "/y"), HasKey(NAMES, NAME), HasItem(LIST, NAME), Not(ENTRY_VALUE)]
    ),
)
of_two = st.sampled_from(
    [
        AllOf((IsMap(Bound("said")), HasItem(FOR, "y"), Not(Equal(NAME, ROLE)))),
        AllOf((IsMap(Bound("said")), HasKey(Bound("said", "map"), "x"), HasKey(NAMES, ROLE))),
    ]
)


def _guards(each: tuple[CheckedMap, ...], looks: st.SearchStrategy[Any], *names: Hole) -> st.SearchStrategy[Guard]:
    return st.builds(
        lambda test, parts, bound: Guard(
            "any", "text", test, Text((*names, ": ", *parts)), each, (("names", Filtered(MORE_OR_MAP, bound)),)
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
def test_helm_fails_on_what_a_guard_finds_and_says_the_same(several, values):
    scope = Scope(values, "release", "any")
    template = guards_file(several, (), ANY)
    found = [str(evaluate(guard.say, each)) for guard in several for each in failing_scopes(guard, scope)]
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
            "Helpers.", [define(template, ANY) for template in named_templates(nodes).values()]
        ),
        **chart_files(nodes),
    }
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            (Path(folder) / path).parent.mkdir(exist_ok=True)
            (Path(folder) / path).write_text(text, encoding="utf-8")
        return helm_template(Path(folder), "release", "--skip-tests")
