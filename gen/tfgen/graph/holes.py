"""Objects with holes: the one form from which the chart, the overlays and the plain objects are made.

A graph is plain data (mappings, sequences, scalars) in which a `Hole` stands wherever a value is not known while
the graph is built, because a chart's user or an environment may set it:

    {"replicas": Value("roles.worker.replicas", "integer"), "schedulerName": When(gang, "volcano")}

`fill` puts values into the holes and gives plain objects; `targets.go_template` prints the same graph as Helm
template text. The laws that hold both together:

- A hole has no truth, length, items or text while the graph is built. Asking for one is an error that names the
  node to use instead, because the answer would be frozen into the chart.
- A condition is truth as JSON data has it: 0, "", {}, [], null and false are false, in Go as in Python.
- What is `ABSENT` leaves its key or its place in a list. A mapping or sequence of which nothing is left is absent
  too; a literal ``{}`` or ``[]`` stays.
- A tunable map or list that is empty is absent; a tunable quantity, which may be written as a number, is a string.
- A mapping's order is the order of the printed fields; `Each` goes by sorted key, as Go's ``range`` does.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, Literal, NoReturn, TypeAlias

from tfgen.record import EMPTY, Record

Kind: TypeAlias = Literal["string", "integer", "boolean", "quantity", "map", "list"]
TREES: Final = ("map", "list")


class Absent(Enum):
    """The type of `ABSENT`, which leaves out its key or list item."""

    ABSENT = "absent"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = Absent.ABSENT


class Hole(Record):
    """What stands in a graph for a value that is not known yet."""

    def __bool__(self) -> NoReturn:
        self._refuse("truth", "When(hole, ...)")

    def __len__(self) -> NoReturn:
        self._refuse("length", "Length(hole)")

    def __iter__(self) -> NoReturn:
        self._refuse("items", "Each(hole, ...)")

    def __contains__(self, item: object) -> NoReturn:
        self._refuse("items", "Has(hole, item), HasKey(hole, key) or Contains(hole, text)")

    def __str__(self) -> NoReturn:
        self._refuse("text", "Text((..., hole, ...))")

    def __format__(self, spec: str) -> NoReturn:
        self._refuse("text", "Text((..., hole, ...))")

    def __add__(self, other: object) -> NoReturn:
        self._refuse("sum", "Sum((hole, ...)) or Text((hole, ...))")

    __radd__ = __add__

    def _refuse(self, what: str, instead: str) -> NoReturn:
        raise TypeError(f"a hole has no {what} while the graph is built: use {instead}, not {self!r}")


Node: TypeAlias = "Hole | Absent | str | int | bool | Mapping[Any, Node] | Sequence[Node] | None"


# -- values ------------------------------------------------------------------------------------------------------


class Value(Hole):
    """A tunable: its path in the chart's values (the spec's path without ``spec``), dots between the names."""

    path: str
    kind: Kind


class Bound(Hole):
    """What an `Each`, `Repeat` or `Let` around it binds to `name`, or a field of that; a missing field is null."""

    name: str
    kind: Kind = "string"
    path: str = ""


class Release(Hole):
    """A fact of the installation: the release's or chart's name."""

    fact: Literal["Release.Name", "Chart.Name"]


class ChartOnly(Hole):
    """What only a chart says: Go template text there, `filled` in the plain objects."""

    template: str
    filled: str | Absent = ABSENT


# -- expressions -------------------------------------------------------------------------------------------------


class Text(Hole):
    """The parts joined to one string."""

    parts: tuple[Node, ...]


class Sum(Hole):
    """The sum of integers."""

    terms: tuple[Node, ...]


class Join(Hole):
    """The items of a tunable list of strings as one text, with commas between them."""

    list: Hole


class Clean(Hole):
    """A path from the root, written as short as it can be: ``/a//b/.`` as ``/a/b``."""

    path: Node


class Length(Hole):
    """The number of bytes of a text in UTF-8."""

    text: Node


class Repeat(Hole):
    """`count` copies of a text with commas between them; `index` is bound to 0, 1, 2 ..."""

    count: Node
    body: Node
    index: str = "i"


class JoinEach(Hole):
    """A text for each entry of a map, by sorted key, with a separator between them; `key` and `item` are bound."""

    over: Hole
    separator: str
    body: Node
    key: str = "name"
    item: str = "value"


class Default(Hole):
    """The first that is true: a role's image, or else the job's."""

    first: Hole
    fallback: Node


class Merged(Hole):
    """Maps laid one over the other, key by key at the top only; to be bound by a `Let`.

    Attributes:
        layers: the lowest first. A literal mapping may be the lowest: its entries that come to nothing are left out.
        flat: whether all entries are scalars, for which Go has a function; else each is set by itself.
    """

    layers: tuple[Node, ...]
    flat: bool = True


class Filtered(Hole):
    """The entries of a map for which a test holds; `key` and `item` are bound in it. To be bound by a `Let`."""

    over: Hole
    test: Node
    key: str = "name"
    item: str = "value"


class Named(Hole):
    """A part with a name and a sentence on what it is: a ``define`` in the chart, nothing of its own elsewhere.

    Its node may hold no `Bound` of a scope around it; a `Let` at its top is its own.

    Attributes:
        name: the define's, without the chart's before it.
        doc: the sentence.
        node: what it stands for.
        file: the chart's file that it is defined in, ``templates/_FILE.tpl``.
    """

    name: str
    doc: str
    node: Node
    file: str = "helpers"


# -- tests -------------------------------------------------------------------------------------------------------


class Not(Hole):
    """True when the node is not."""

    node: Node


class AllOf(Hole):
    """True when every node is."""

    nodes: tuple[Node, ...]


class AnyOf(Hole):
    """True when one node is."""

    nodes: tuple[Node, ...]


class Equal(Hole):
    """True when two strings are the same."""

    one: Node
    other: Node


class Greater(Hole):
    """True when the first integer is above the second."""

    one: Node
    other: Node


class Has(Hole):
    """True when a list of strings (null is an empty one) has the item."""

    list: Hole
    item: Node


class HasKey(Hole):
    """True when a map has the key."""

    map: Hole
    key: Node


class Contains(Hole):
    """True when a text contains another."""

    text: Node
    part: Node


class IsMap(Hole):
    """True for a map."""

    node: Hole


class Matches(Hole):
    """True when a regular expression, in the subset that RE2 and Python share, is found in a text."""

    text: Node
    pattern: str


# -- structure ---------------------------------------------------------------------------------------------------


class When(Hole):
    """`then` where the test is true, else `otherwise`."""

    test: Node
    then: Node
    otherwise: Node = ABSENT


class Each(Hole):
    """In a sequence: an item for each entry of a map, by sorted key; `key` and `item` are bound."""

    over: Hole
    body: Node
    key: str = "name"
    item: str = "value"


class Items(Hole):
    """In a sequence: the items of a tunable list."""

    list: Hole


class NotEmpty(Hole):
    """A map or list that a test around it says is not empty."""

    tree: Hole


class Let(Hole):
    """A name for an expression, known in `body`: at the top of a document, or of a `Named` part, only."""

    name: str
    expression: Hole
    body: Node


class Splice(Record):
    """As a mapping's key: the entries of the mapping under it join the mapping around it. The name tells two apart."""

    name: str


class Entries(Record):
    """The entries of a map, one after the other by sorted key; `key` and `item` are bound."""

    over: Hole
    key: str
    item: str


class Guard(Record):
    """What must not be: printed as Helm's ``fail``, and reported by the rules at the job's own `path`.

    Attributes:
        test: true where the values are wrong.
        path: the values path to report at, or its steps where they depend on the entry.
        message: what was found and what is allowed.
        rule: the rule's id.
        each: whose entries it looks at, one by one; of several, the later ones for each entry of those before.
        let: names for expressions, known in the test and the message.
    """

    test: Hole
    path: str | tuple[Node, ...]
    message: Text
    rule: str
    each: tuple[Entries, ...] = ()
    let: tuple[tuple[str, Hole], ...] = ()


def given(hole: Hole) -> When:
    """The hole where it has a value; absent where it is empty."""
    return When(hole, hole)


def kind_of(node: Node) -> Kind:
    """The kind of what a node is filled with."""
    match node:
        case Value(kind=kind) | Bound(kind=kind):
            return kind
        case (
            Default(first=inner)
            | Named(node=inner)
            | Let(body=inner)
            | When(then=inner)
            | NotEmpty(tree=inner)
            | Items(list=inner)
        ):
            return kind_of(inner)
        case Merged() | Filtered() | dict():
            return "map"
        case Sum() | Length():
            return "integer"
        case Not() | AllOf() | AnyOf() | Equal() | Greater() | Has() | HasKey() | Contains() | IsMap() | Matches():
            return "boolean"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case str() | Text() | Release() | ChartOnly() | Repeat() | Join() | JoinEach() | Clean():
            return "string"
        case list() | tuple():
            return "list"
    raise TypeError(f"no kind: {node!r}")


# -- filling -----------------------------------------------------------------------------------------------------


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
    value, kind = evaluate(node, scope), kind_of(node)
    if kind == "quantity":
        return str(value)
    return ABSENT if kind in TREES and not value else value


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


def _evaluate_repeat(node: Repeat, scope: Scope) -> str:
    count = int(evaluate(node.count, scope))
    return ",".join(evaluate(node.body, scope.binding({node.index: i})) for i in range(count))


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
