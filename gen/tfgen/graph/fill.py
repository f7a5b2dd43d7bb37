"""Fills the holes of a graph with values."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.graph.holes import (
    ABSENT,
    Absent,
    AllOf,
    AnyOf,
    Bound,
    ChartOnly,
    Clean,
    Contains,
    Default,
    Digest,
    Each,
    Entries,
    Equal,
    Filtered,
    Greater,
    Guard,
    Has,
    HasKey,
    Hole,
    IsMap,
    Items,
    Join,
    JoinEach,
    Length,
    Let,
    Matches,
    Merged,
    Named,
    Node,
    Not,
    NotEmpty,
    Overlaid,
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

    def binding(self, names: Mapping[str, Any]) -> Scope:
        """The scope with more names bound."""
        return Scope(self.values, self.release, self.chart, {**self.bound, **names})


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
        case Let(name, expression, body):
            return fill(body, scope.binding({name: evaluate(expression, scope)}))
        case Each():
            return _fill_each(node, scope)
        case Absent():
            return node
        case Splice():
            raise TypeError(f"{node!r} is a key, not a node")
    value, value_type = evaluate(node, scope), type_of(node)
    if value_type == "quantity":
        return str(value)
    return ABSENT if value_type in TREES and not value else value


def _fill_mapping(node: Mapping[Any, Node], scope: Scope) -> Any:
    filled: dict[str, Any] = {}
    for key, child in node.items():
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
        value = fill(child, scope)
        if value is ABSENT:
            continue
        if isinstance(child, (Each, Items)):
            filled.extend(value)
        else:
            filled.append(value)
    return filled if filled or not node else ABSENT


def _fill_each(node: Each, scope: Scope) -> Any:
    over = evaluate(node.over, scope) or {}
    items = [fill(node.body, scope.binding({node.key: key, node.item: over[key]})) for key in sorted(over)]
    return [item for item in items if item is not ABSENT] or ABSENT


def evaluate(node: Node, scope: Scope) -> Any:
    """What an expression comes to: a scalar, a map or list (perhaps empty), or null for what is missing."""
    if isinstance(node, Hole):
        return _EVALUATE[type(node)](node, scope)
    if isinstance(node, dict):
        filled = ((evaluate(key, scope), fill(child, scope)) for key, child in node.items() if evaluate(child, scope))
        return {key: item for key, item in filled if item is not ABSENT}
    return node


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


def _evaluate_bound(node: Bound, scope: Scope) -> Any:
    data = scope.bound[node.name]
    return _lookup(data, node.path) if node.path else data


def _evaluate_text(node: Text, scope: Scope) -> str:
    parts = (evaluate(part, scope) for part in node.parts)
    return "".join(str(part) for part in parts if part is not ABSENT)


def cleaned(path: str) -> str:
    """A path from the root as `Clean` has it. POSIX lets two slashes at the start be something else, Go does not."""
    return posixpath.normpath("/" + path.lstrip("/"))


def _overlaid(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    inner = {key: _overlaid(under.get(key, {}), part) for key, part in over.items() if isinstance(part, dict)}
    return {**under, **over, **inner}


def _evaluate_repeat(node: Repeat, scope: Scope) -> str:
    """All that does not depend on the index is evaluated once: there may be ten thousand hosts."""
    indexes = range(int(evaluate(node.count, scope)))
    others = {name: bound for name, bound in scope.bound.items() if name != node.index}
    try:
        around = _texts_around(node.index, node.body, Scope(scope.values, scope.release, scope.chart, others))
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


def _evaluate_joined(node: JoinEach, scope: Scope) -> str:
    over = evaluate(node.over, scope) or {}
    return node.separator.join(
        str(evaluate(node.body, scope.binding({node.key: key, node.item: over[key]}))) for key in sorted(over)
    )


def _evaluate_filtered(node: Filtered, scope: Scope) -> dict[str, Any]:
    over = evaluate(node.over, scope) or {}
    return {
        key: item for key, item in over.items() if evaluate(node.test, scope.binding({node.key: key, node.item: item}))
    }


_EVALUATE: Final[dict[type[Hole], Callable[[Any, Scope], Any]]] = {
    Value: lambda n, s: _lookup(s.values, n.path),
    Bound: _evaluate_bound,
    Release: lambda n, s: s.release if n.fact == "Release.Name" else s.chart,
    ChartOnly: lambda n, _: n.filled,
    Text: _evaluate_text,
    Sum: lambda n, s: sum(int(evaluate(t, s)) for t in n.terms),
    Join: lambda n, s: ",".join(evaluate(n.list, s) or ()),
    Clean: lambda n, s: cleaned(evaluate(n.path, s)),
    Length: lambda n, s: len(evaluate(n.text, s).encode()),
    Repeat: _evaluate_repeat,
    JoinEach: _evaluate_joined,
    Default: lambda n, s: evaluate(n.first, s) or evaluate(n.fallback, s),
    Merged: lambda n, s: {key: item for layer in n.layers for key, item in (evaluate(layer, s) or {}).items()},
    Filtered: _evaluate_filtered,
    Digest: lambda n, s: canonical_json.digest(fill(n.tree, s)),
    Overlaid: lambda n, s: _overlaid(fill(n.under, s), fill(n.over, s)),
    NotEmpty: lambda n, s: evaluate(n.tree, s),
    Items: lambda n, s: evaluate(n.list, s),
    Named: lambda n, s: evaluate(n.node, s),
    When: lambda n, s: evaluate(n.then if evaluate(n.test, s) else n.otherwise, s),
    Not: lambda n, s: not evaluate(n.node, s),
    AllOf: lambda n, s: all(evaluate(x, s) for x in n.nodes),
    AnyOf: lambda n, s: any(evaluate(x, s) for x in n.nodes),
    Equal: lambda n, s: evaluate(n.one, s) == evaluate(n.other, s),
    Greater: lambda n, s: evaluate(n.one, s) > evaluate(n.other, s),
    Has: lambda n, s: evaluate(n.item, s) in (evaluate(n.list, s) or ()),
    HasKey: lambda n, s: evaluate(n.key, s) in (evaluate(n.map, s) or {}),
    Contains: lambda n, s: evaluate(n.part, s) in evaluate(n.text, s),
    IsMap: lambda n, s: isinstance(evaluate(n.node, s), dict),
    Matches: lambda n, s: re.search(n.pattern, evaluate(n.text, s)) is not None,
}
