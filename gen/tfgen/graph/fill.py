"""Fills the holes of a graph with values.

    fill(node, scope)       -> plain data, or `ABSENT`
    evaluate(node, scope)   -> what an expression comes to

A graph is filled for each environment, and a part of it for each role. So a node is turned into a function of the scope
once, by one match over all nodes, and a hole keeps that function as long as it lives.
"""

from __future__ import annotations

import operator
import posixpath
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, assert_never

from tfgen.data_path import Path, at
from tfgen.graph.holes import (
    ABSENT,
    Absent,
    AllOf,
    AnyOf,
    AsText,
    Bound,
    Call,
    ChartOnly,
    Clean,
    Comment,
    Contains,
    Default,
    Digest,
    Entries,
    Equal,
    File,
    Filtered,
    ForEach,
    Greater,
    Guard,
    HasItem,
    HasKey,
    IsMap,
    Items,
    Join,
    JoinEntries,
    Key,
    Length,
    Let,
    MapOf,
    Matches,
    Merged,
    Name,
    Named,
    Node,
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
    cached_on_record,
    child_nodes,
    is_hole,
    type_of,
)
from tfgen.graph.reads import reads, reads_of_call
from tfgen.record import EMPTY, Record
from tfgen.schema.value_paths import differences, whole_values
from tfgen.text import canonical_json
from tfgen.value_type import TREES


class Scope(NamedTuple):
    """What the holes are filled from: a chart's complete values, the release's and the chart's name.

    It is no `Record`: a tuple is made in a third of the time, and thousands are made for each job.

    Attributes:
        kept: what was filled for the scopes of a job: what reads no value that differs is the same object.
    """

    values: Mapping[str, Any]
    release: str
    chart: str
    bound: Mapping[str, Any] = EMPTY
    arguments: Mapping[str, Any] = EMPTY
    cache: FillCache | None = None

    def fork(self) -> tuple[Scope, dict[str, Any]]:
        """The same scope with a mapping of its own for the names: each entry, index or let is bound in that one."""
        bound = dict(self.bound)
        return Scope(self.values, self.release, self.chart, bound, self.arguments, self.cache), bound


_NOTHING: Final = Scope(EMPTY, release="", chart="")

Filler: TypeAlias = Callable[[Scope], Any]
"""A node as a function of the scope."""


def fill(node: Node, scope: Scope) -> Any:
    """Plain data: the graph with its holes filled, or `ABSENT`."""
    return compile_filler(node)(scope)


def evaluate(node: Node, scope: Scope) -> Any:
    """What an expression comes to: a scalar, a map or list (perhaps empty), or null for what is missing."""
    return compile_expression(node)(scope)


def fill_entries(node: ForEach, scope: Scope) -> Iterator[tuple[str, Any]]:
    """What is filled for each entry, with its key; nothing for an entry that is absent."""
    return compile_entries(node)(scope)


def failing_scopes(guard: Guard, scope: Scope) -> Iterator[Scope]:
    """The scopes in which a guard's test is true: one for each entry that is wrong, or else the only one."""
    inner, bound = scope.fork()
    for _ in _bind_entries(guard.over, inner, bound):
        for name, expression in guard.let:
            bound[name] = evaluate(expression, inner)
        if evaluate(guard.test, inner):
            yield inner.fork()[0]  # a copy: the next entry is bound in the same mapping


def _bind_entries(entries: Sequence[Entries], scope: Scope, bound: dict[str, Any]) -> Iterator[None]:
    """Bind one entry after another in a scope; of several entries, each with each."""
    if not entries:
        yield
        return
    first, *rest = entries
    over = evaluate(first.over, scope) or {}
    for key in sorted(over):
        bound[first.key], bound[first.item] = key, over[key]
        yield from _bind_entries(rest, scope, bound)


def clean_path(path: str) -> str:
    """A path from the root as `Clean` has it. POSIX lets two slashes at the start be something else, Go does not."""
    return posixpath.normpath("/" + path.lstrip("/"))


# -- once for the same values -------------------------------------------------------------------------------------


class FillCache:
    """What was filled for the forms of a job, and what tells the values of this form from the job's own.

    Args:
        values: of this form.
        own: of the job itself, whose values are the same object wherever a form does not change them.
        filled: by what it is and the values that it reads and that differ; all forms share it, and outlive it.
    """

    def __init__(self, values: Mapping[str, Any], own: Mapping[str, Any], filled: dict[Hashable, Any]) -> None:
        self.filled = filled
        self.differing = frozenset(differences(own, values))
        self._marks = {path: _mark(at(values, path)) for path in self.differing}

    def of(self, what: Hashable, paths: frozenset[Path]) -> Hashable:
        """What tells something that reads the values at some paths from what else is filled."""
        differing = paths & self.differing
        return (what, frozenset((path, self._marks[path]) for path in differing)) if differing else what


def _mark(value: Any) -> str | int:
    """What tells a value from another: a text by itself, all else by its identity."""
    return value if type(value) is str else id(value)


@cached_on_record
def _paths_of_call(call: Call) -> frozenset[Path]:
    return whole_values(reads_of_call(call))


def cached_by_values(paths: Iterable[Path], filler: Filler) -> Filler:
    """The same filler, which does its work once for all scopes that share what they keep and agree in some values.

    Args:
        paths: of the values that it reads. Nothing that is bound, and no argument, is among what it reads.
        filler: nobody changes what comes of it.
    """
    whole = whole_values(paths)

    def fill_once(scope: Scope) -> Any:
        return filler(scope) if scope.cache is None else _keep(scope.cache, fill_once, whole, filler, scope)

    return fill_once


def _keep(cache: FillCache, what: Hashable, paths: frozenset[Path], filler: Filler, scope: Scope) -> Any:
    """What was kept for the values at some paths, or else what the filler makes of them now."""
    key = cache.of(what, paths)
    if key not in cache.filled:
        cache.filled[key] = filler(scope), scope.arguments  # which stay, lest their identities become others'
    return cache.filled[key][0]


# -- data ----------------------------------------------------------------------------------------------------------


@cached_on_record
def compile_filler(node: Node) -> Filler:
    """What `fill` does with the node."""
    match node:
        case str() | int() | None | Absent():
            return lambda _: node
        case dict():
            return _of_data(_mapping(node)) if _is_data(node) else _mapping(node)
        case list() | tuple():
            return _of_data(_sequence(node)) if _is_data(node) else _sequence(node)
        case When(test, if_true, if_false):
            return _choice(compile_expression(test), compile_filler(if_true), compile_filler(if_false))
        case Named(node=inner, parameters=()):
            return cached_by_values(reads(inner), compile_filler(inner))
        case Named(node=inner):
            return compile_filler(inner)
        case Call(part):
            return _called(node, compile_filler(part))
        case Let():
            return _let(node)
        case ForEach():
            return _items(compile_entries(node))
        case Splice() | Comment():
            raise TypeError(f"{node!r} is a key, not a node")
    expression_of, value_type = compile_expression(node), type_of(node)
    if value_type == "quantity":
        return lambda scope: str(expression_of(scope))
    if value_type in TREES:
        return lambda scope: expression_of(scope) or ABSENT
    return expression_of


@cached_on_record
def compile_entries(node: ForEach) -> Callable[[Scope], Iterator[tuple[str, Any]]]:
    """What `fill_entries` does with the node."""
    over, body = compile_expression(node.over), compile_filler(node.body)

    def fill_each(scope: Scope) -> Iterator[tuple[str, Any]]:
        entries = over(scope) or {}
        inner, bound = scope.fork()
        for key in sorted(entries):
            bound[node.key], bound[node.item] = key, entries[key]
            item = body(inner)
            if item is not ABSENT:
                yield key, item

    return fill_each


def _items(entries: Callable[[Scope], Iterator[tuple[str, Any]]]) -> Filler:
    return lambda scope: [item for _, item in entries(scope)] or ABSENT


def _is_data(node: Node | Record) -> bool:
    """Whether nothing in a node is to be filled."""
    return not is_hole(node) and not isinstance(node, Splice) and all(map(_is_data, child_nodes(node)))


def _of_data(filler: Filler) -> Filler:
    """What is the same wherever it is filled is one object."""
    data = filler(_NOTHING)
    return lambda _: data


def _mapping(node: Mapping[Key, Node]) -> Filler:
    entries = [
        (
            key if isinstance(key, str) else None,
            None if isinstance(key, (str, Splice)) else compile_expression(key),
            compile_filler(child),
        )
        for key, child in node.items()
        if not isinstance(key, Comment)
    ]

    def fill_mapping(scope: Scope) -> Any:
        filled: dict[str, Any] = {}
        for name, key, child in entries:
            value = child(scope)
            if value is ABSENT:
                continue
            if name is not None:
                filled[name] = value
            elif key is not None:
                filled[key(scope)] = value
            else:
                filled.update(value)
        return filled if filled or not node else ABSENT

    return fill_mapping


_Adder: TypeAlias = Callable[[Scope, list[Any]], None]
"""Puts what comes of a sequence's item to the list's end."""


def _sequence(node: Sequence[Node]) -> Filler:
    adders = [_adder(child) for child in node]

    def fill_sequence(scope: Scope) -> Any:
        filled: list[Any] = []
        for add in adders:
            add(scope, filled)
        return filled if filled or not node else ABSENT

    return fill_sequence


def _adder(node: Node) -> _Adder:
    if isinstance(node, When):
        test, if_true, if_false = compile_expression(node.test), _adder(node.if_true), _adder(node.if_false)
        return lambda scope, filled: (if_true if test(scope) else if_false)(scope, filled)
    filler, are_many = compile_filler(node), isinstance(node, (ForEach, Items))

    def add(scope: Scope, filled: list[Any]) -> None:
        value = filler(scope)
        if value is ABSENT:
            return
        if are_many:
            filled.extend(value)
        else:
            filled.append(value)

    return add


def _choice(test: Filler, if_true: Filler, if_false: Filler) -> Filler:
    return lambda scope: if_true(scope) if test(scope) else if_false(scope)


def _called(call: Call, part: Filler) -> Filler:
    """A part in its own scope: its arguments, and nothing that is bound around the call.

    So it is filled once for the values that it reads, and for the same arguments: a pod template and its hash share it.
    """
    arguments = [(name, compile_expression(argument)) for name, argument in call.arguments]
    computed = [name for name, argument in call.arguments if not isinstance(argument, Value)]

    def fill_call(scope: Scope) -> Any:
        given = {name: argument(scope) for name, argument in arguments}
        inner = Scope(scope.values, scope.release, scope.chart, EMPTY, given, scope.cache)
        if scope.cache is None:
            return part(inner)
        marks = tuple(_mark(given[name]) for name in computed)
        return _keep(scope.cache, (fill_call, marks), _paths_of_call(call), part, inner)

    return fill_call


def _let(node: Node) -> Filler:
    """All names that are bound one inside the other are bound in one scope."""
    names = []
    while isinstance(node, Let):
        names.append((node.name, compile_expression(node.expression)))
        node = node.body
    body = compile_filler(node)

    def bind(scope: Scope) -> Any:
        inner, bound = scope.fork()
        for name, expression in names:
            bound[name] = expression(inner)
        return body(inner)

    return bind


# -- expressions ---------------------------------------------------------------------------------------------------


_OF_ONE: Final[Mapping[type[Node], Callable[[Any], Any]]] = {
    Clean: clean_path,
    IsMap: lambda data: isinstance(data, dict),
    Join: lambda items: ",".join(items or ()),
    Length: lambda text: len(text.encode()),
    Not: operator.not_,
}
"""The functions of nodes that have one value."""
_OF_TWO: Final[Mapping[type[Node], Callable[[Any, Any], Any]]] = {
    Contains: operator.contains,
    Equal: operator.eq,
    Greater: operator.gt,
    HasItem: lambda items, item: item in (items or ()),
    HasKey: lambda data, key: key in (data or {}),
}
"""The functions of nodes that have two values."""


@cached_on_record
def compile_expression(node: Node) -> Filler:  # noqa: C901 - a branch a node
    """What `evaluate` does with the node."""
    match node:
        case str() | int() | None | Absent():
            return lambda _: node
        case ChartOnly(_, constant, _) | File(_, constant):
            return lambda _: constant
        case Bound(name, _, path):
            return _looked_up(lambda scope: scope.bound[name], path)
        case Parameter(name, _, path):
            return _looked_up(lambda scope: scope.arguments[name], path)
        case Value(path):
            return _looked_up(operator.attrgetter("values"), path)
        case Release(fact):
            return (lambda scope: scope.release) if fact == "Release.Name" else (lambda scope: scope.chart)
        case Named(node=inner, parameters=()):
            return cached_by_values(reads(inner), compile_expression(inner))
        case Named(node=inner) | NotEmpty(inner) | Items(inner) | AsText(inner):
            return compile_expression(inner)
        case Call(part):
            return _called(node, compile_expression(part))
        case When(test, if_true, if_false):
            return _choice(compile_expression(test), compile_expression(if_true), compile_expression(if_false))
        case Default(one, other):
            return _first_true(compile_expression(one), compile_expression(other))
        case Text(parts):
            return _text(parts)
        case MapOf(entries):
            return _entries_left(entries)
        case Merged(layers):
            return _merged(layers)
        case Filtered():
            return _filtered(node)
        case Repeat():
            return _repeated(node)
        case JoinEntries():
            return _joined(node)
        case Digest(tree):
            return _applied(canonical_json.digest, compile_filler(tree))
        case Sum(nodes):
            return _sum(nodes)
        case AllOf(nodes):
            return _all(nodes)
        case AnyOf(nodes):
            return _any(nodes)
        case Not(inner) | IsMap(inner) | Length(inner) | Clean(inner) | Join(inner):
            return _applied(_OF_ONE[type(node)], compile_expression(inner))
        case Matches(inner, pattern):
            return _applied(lambda text: re.search(pattern, text) is not None, compile_expression(inner))
        case Equal(one, other) | Greater(one, other) | Contains(one, other) | HasItem(one, other) | HasKey(one, other):
            return _of_two(_OF_TWO[type(node)], one, other)
        case ForEach() | Let() | Mapping() | Sequence():
            raise TypeError(f"no expression: {node!r}")
    assert_never(node)


def _looked_up(data: Filler, path: str) -> Filler:
    """What stands at a path; null where there is nothing."""
    if not path:
        return data
    keys = path.split(".")

    def look_up(scope: Scope) -> Any:
        place = data(scope)
        try:
            for key in keys:
                place = place[key]
        except (KeyError, TypeError):  # a value that is missing, or null; asking at each step would be slower
            return None
        return place

    return look_up


def _applied(function: Callable[[Any], Any], inner: Filler) -> Filler:
    return lambda scope: function(inner(scope))


def _of_two(function: Callable[[Any, Any], Any], one: Node, other: Node) -> Filler:
    first, second = compile_expression(one), compile_expression(other)
    return lambda scope: function(first(scope), second(scope))


def _all(nodes: Sequence[Node]) -> Filler:
    tests = [compile_expression(node) for node in nodes]

    def test_all(scope: Scope) -> bool:
        for test in tests:  # noqa: SIM110 - a generator for each of many thousands of entries costs
            if not test(scope):
                return False
        return True

    return test_all


def _sum(nodes: Sequence[Node]) -> Filler:
    terms = [compile_expression(node) for node in nodes]
    return lambda scope: sum(int(term(scope)) for term in terms)


def _any(nodes: Sequence[Node]) -> Filler:
    tests = [compile_expression(node) for node in nodes]
    return lambda scope: any(test(scope) for test in tests)


def _first_true(one: Filler, other: Filler) -> Filler:
    return lambda scope: one(scope) or other(scope)


def _text(parts: Sequence[Node]) -> Filler:
    fillers = [compile_expression(part) for part in parts]

    def join(scope: Scope) -> str:
        return "".join([str(text) for filler in fillers if (text := filler(scope)) is not ABSENT])

    return join


def _entries_left(entries: Mapping[Name, Node]) -> Filler:
    """The entries of a `MapOf` that come to something."""
    compiled = [
        (compile_expression(key), compile_expression(child), compile_filler(child)) for key, child in entries.items()
    ]

    def fill_left(scope: Scope) -> dict[str, Any]:
        filled = ((key(scope), child(scope)) for key, is_left, child in compiled if is_left(scope))
        return {key: item for key, item in filled if item is not ABSENT}

    return fill_left


def _merged(nodes: Sequence[Node]) -> Filler:
    layers = [compile_expression(node) for node in nodes]

    def merge(scope: Scope) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for layer in layers:
            merged.update(layer(scope) or {})
        return merged

    return merge


def _filtered(node: Filtered) -> Filler:
    over, test = compile_expression(node.over), compile_expression(node.test)

    def keep(scope: Scope) -> dict[str, Any]:
        cache: dict[str, Any] = {}
        inner, bound = scope.fork()
        for key, item in (over(scope) or {}).items():
            bound[node.key], bound[node.item] = key, item
            if test(inner):
                cache[key] = item
        return cache

    return keep


def _joined(node: JoinEntries) -> Filler:
    over, body = compile_expression(node.over), compile_expression(node.body)

    def join(scope: Scope) -> str:
        texts: list[str] = []
        entries = over(scope) or {}
        inner, bound = scope.fork()
        for key in sorted(entries):
            bound[node.key], bound[node.item] = key, entries[key]
            texts.append(str(body(inner)))
        return node.separator.join(texts)

    return join


def _repeated(node: Repeat) -> Filler:
    """All that does not depend on the index is evaluated once: there may be ten thousand hosts."""
    count = compile_expression(node.count)
    if (around := _around(node.index, node.body)) is not None:
        texts = [_text(nodes) for nodes in around]

        def copy(scope: Scope) -> str:
            parts = [text(scope) for text in texts]
            return ",".join(str(index).join(parts) for index in range(int(count(scope))))

        return copy
    body = compile_expression(node.body)

    def repeat(scope: Scope) -> str:
        copies: list[str] = []
        inner, bound = scope.fork()
        for bound[node.index] in range(int(count(scope))):
            copies.append(body(inner))
        return ",".join(copies)

    return repeat


def _around(name: str, node: Node) -> list[list[Node]] | None:
    """What stands around a bound name where a text writes it; None where the node does more with it."""
    match node:
        case Bound(name=bound, path="") if bound == name:
            return [[], []]
        case Named(node=inner):
            return _around(name, inner)
        case Text(parts=parts):
            around: list[list[Node]] = [[]]
            for part in parts:
                of_part = _around(name, part)
                if of_part is None:
                    return None
                first, *others = of_part
                around[-1] += first
                around += others
            return around
    return None if _depends(name, node) else [[node]]


def _depends(name: str, node: Node | Record) -> bool:
    return (isinstance(node, Bound) and node.name == name) or any(_depends(name, inner) for inner in child_nodes(node))
