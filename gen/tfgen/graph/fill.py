"""Fills the holes of a graph with values."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

from tfgen.graph.holes import (
    ABSENT,
    Absent,
    AllOf,
    AnyOf,
    Bound,
    Call,
    ChartOnly,
    Clean,
    Comment,
    Contains,
    Default,
    Digest,
    Each,
    Entries,
    Equal,
    Expression,
    File,
    Filtered,
    Greater,
    Guard,
    Has,
    HasKey,
    IsMap,
    Items,
    Join,
    JoinEach,
    Length,
    Let,
    MapOf,
    Matches,
    Merged,
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
    type_of,
)
from tfgen.record import EMPTY, Record
from tfgen.text import canonical_json
from tfgen.value_type import TREES


class Scope(Record):
    """What the holes are filled from: a chart's complete values, the release's and the chart's name."""

    values: Mapping[str, Any]
    release: str
    chart: str
    bound: Mapping[str, Any] = EMPTY
    arguments: Mapping[str, Any] = EMPTY

    def binding(self, names: Mapping[str, Any]) -> Scope:
        """The scope with more names bound."""
        return Scope(self.values, self.release, self.chart, {**self.bound, **names}, self.arguments)

    def inside(self, call: Call) -> Scope:
        """The scope of the part that is called: its arguments, and nothing that is bound around the call."""
        arguments = {name: evaluate(node, self) for name, node in call.arguments}
        return Scope(self.values, self.release, self.chart, EMPTY, arguments)


def fill(node: Node, scope: Scope) -> Any:
    """Plain data: the graph with its holes filled, or `ABSENT`."""
    match node:
        case str() | int() | None:
            return node
        case dict():
            return _fill_mapping(node, scope)
        case list() | tuple():
            return _fill_sequence(node, scope)
        case When(test, then, otherwise):
            return fill(then if evaluate(test, scope) else otherwise, scope)
        case Named(node=inner):
            return fill(inner, scope)
        case Call(part):
            return fill(part.node, scope.inside(node))
        case Let(name, expression, body):
            return fill(body, scope.binding({name: evaluate(expression, scope)}))
        case Each():
            return [item for _, item in fill_entries(node, scope)] or ABSENT
        case Absent():
            return node
        case Splice() | Comment():
            raise TypeError(f"{node!r} is a key, not a node")
    value, value_type = evaluate(node, scope), type_of(node)
    if value_type == "quantity":
        return str(value)
    return ABSENT if value_type in TREES and not value else value


def _fill_mapping(node: Mapping[Any, Node], scope: Scope) -> Any:
    filled: dict[str, Any] = {}
    for key, child in node.items():
        if isinstance(key, Comment):
            continue
        value = fill(child, scope)
        if value is ABSENT:
            continue
        if isinstance(key, Splice):
            filled.update(value)
        else:
            filled[key if isinstance(key, str) else evaluate(key, scope)] = value
    return filled if filled or not node else ABSENT


def _fill_sequence(node: Sequence[Node], scope: Scope) -> Any:
    filled: list[Any] = []
    for child in node:
        while isinstance(child, When):
            child = child.then if evaluate(child.test, scope) else child.otherwise
        value = fill(child, scope)
        if value is ABSENT:
            continue
        if isinstance(child, (Each, Items)):
            filled.extend(value)
        else:
            filled.append(value)
    return filled if filled or not node else ABSENT


def fill_entries(node: Each, scope: Scope) -> Iterator[tuple[str, Any]]:
    """What is filled for each entry, with its key; nothing for an entry that is absent."""
    over = evaluate(node.over, scope) or {}
    for key in sorted(over):
        item = fill(node.body, scope.binding({node.key: key, node.item: over[key]}))
        if item is not ABSENT:
            yield key, item


def evaluate(node: Node, scope: Scope) -> Any:  # noqa: C901 - a branch a node
    """What an expression comes to: a scalar, a map or list (perhaps empty), or null for what is missing.

    The nodes that a job asks for most often come first.
    """
    match node:
        case str() | int() | None | Absent():
            return node
        case Bound(name, _, path):
            return _lookup(scope.bound[name], path) if path else scope.bound[name]
        case Parameter(name, _, path):
            return _lookup(scope.arguments[name], path) if path else scope.arguments[name]
        case Value(path):
            return _lookup(scope.values, path)
        case Text(parts):
            return _text(parts, scope)
        case Default(first, fallback):
            return evaluate(first, scope) or evaluate(fallback, scope)
        case Named(node=inner) | NotEmpty(inner) | Items(inner):
            return evaluate(inner, scope)
        case Call(part):
            return evaluate(part.node, scope.inside(node))
        case When(test, then, otherwise):
            return evaluate(then if evaluate(test, scope) else otherwise, scope)
        case Release(fact):
            return scope.release if fact == "Release.Name" else scope.chart
        case Not(inner):
            return not evaluate(inner, scope)
        case AllOf(nodes):
            return all(evaluate(inner, scope) for inner in nodes)
        case AnyOf(nodes):
            return any(evaluate(inner, scope) for inner in nodes)
        case Equal(one, other):
            return evaluate(one, scope) == evaluate(other, scope)
        case Contains(text, part):
            return evaluate(part, scope) in evaluate(text, scope)
        case Greater(one, other):
            return evaluate(one, scope) > evaluate(other, scope)
        case Has(items, item):
            return evaluate(item, scope) in (evaluate(items, scope) or ())
        case HasKey(inner, key):
            return evaluate(key, scope) in (evaluate(inner, scope) or {})
        case IsMap(inner):
            return isinstance(evaluate(inner, scope), dict)
        case Matches(text, pattern):
            return re.search(pattern, evaluate(text, scope)) is not None
        case Sum(terms):
            return sum(int(evaluate(term, scope)) for term in terms)
        case Length(text):
            return len(evaluate(text, scope).encode())
        case Join(items):
            return ",".join(evaluate(items, scope) or ())
        case Clean(path):
            return cleaned(evaluate(path, scope))
        case MapOf(entries):
            return _entries_left(entries, scope)
        case Merged(layers):
            return {key: item for layer in layers for key, item in (evaluate(layer, scope) or {}).items()}
        case Filtered():
            return _filtered(node, scope)
        case Repeat():
            return _repeated(node, scope)
        case JoinEach():
            return _joined(node, scope)
        case ChartOnly(_, filled):
            return filled
        case File(_, text):
            return text
        case Digest(tree):
            return canonical_json.digest(fill(tree, scope))
        case Each() | Let() | Mapping() | Sequence():
            raise TypeError(f"no expression: {node!r}")
    assert_never(node)


def _entries_left(entries: Mapping[str | Expression, Node], scope: Scope) -> dict[str, Any]:
    """The entries of a `MapOf` that come to something."""
    filled = ((evaluate(key, scope), fill(child, scope)) for key, child in entries.items() if evaluate(child, scope))
    return {key: item for key, item in filled if item is not ABSENT}


def broken(guard: Guard, scope: Scope) -> Iterator[Scope]:
    """The scopes in which a guard's test is true: one for each entry that is wrong, or else the only one."""
    for name, expression in guard.let:
        scope = scope.binding({name: evaluate(expression, scope)})
    return (each for each in _scopes(guard.each, scope) if evaluate(guard.test, each))


def _scopes(entries: Sequence[Entries], scope: Scope) -> Iterator[Scope]:
    if not entries:
        yield scope
        return
    first, *rest = entries
    over = evaluate(first.over, scope) or {}
    for key in sorted(over):
        yield from _scopes(rest, scope.binding({first.key: key, first.item: over[key]}))


def _lookup(data: Any, path: str) -> Any:
    for key in path.split("."):
        if data is None:
            return None
        data = data.get(key)
    return data


def _text(parts: Sequence[Node], scope: Scope) -> str:
    texts = (evaluate(part, scope) for part in parts)
    return "".join(str(text) for text in texts if text is not ABSENT)


def cleaned(path: str) -> str:
    """A path from the root as `Clean` has it. POSIX lets two slashes at the start be something else, Go does not."""
    return posixpath.normpath("/" + path.lstrip("/"))


def _repeated(node: Repeat, scope: Scope) -> str:
    """All that does not depend on the index is evaluated once: there may be ten thousand hosts."""
    indexes = range(int(evaluate(node.count, scope)))
    others = {name: bound for name, bound in scope.bound.items() if name != node.index}
    try:
        around = _texts_around(
            node.index, node.body, Scope(scope.values, scope.release, scope.chart, others, scope.arguments)
        )
    except KeyError:  # the body does more with its index than to write it
        return ",".join(evaluate(node.body, scope.binding({node.index: i})) for i in indexes)
    return ",".join(str(i).join(around) for i in indexes)


def _texts_around(name: str, node: Node, scope: Scope) -> list[str]:
    """What an expression comes to, cut where it writes a bound name.

    Raises:
        KeyError: it depends on the name, which the scope does not have, in another way.
    """
    match node:
        case Bound(name=bound, path="") if bound == name:
            return ["", ""]
        case Named(node=inner):
            return _texts_around(name, inner, scope)
        case Text(parts=parts):
            texts = [""]
            for part in parts:
                first, *others = _texts_around(name, part, scope)
                texts[-1] += first
                texts += others
            return texts
    value = evaluate(node, scope)
    return ["" if value is ABSENT else str(value)]


def _joined(node: JoinEach, scope: Scope) -> str:
    over = evaluate(node.over, scope) or {}
    return node.separator.join(
        str(evaluate(node.body, scope.binding({node.key: key, node.item: over[key]}))) for key in sorted(over)
    )


def _filtered(node: Filtered, scope: Scope) -> dict[str, Any]:
    over = evaluate(node.over, scope) or {}
    return {
        key: item for key, item in over.items() if evaluate(node.test, scope.binding({node.key: key, node.item: item}))
    }
