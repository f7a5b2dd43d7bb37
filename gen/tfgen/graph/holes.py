"""Objects with holes: the one form from which the chart, the overlays and the plain objects are made.

A graph is plain data (mappings, sequences, scalars) in which a `Hole` stands wherever a value is not known while
the graph is built, because a chart's user or an environment may set it:

    {"replicas": Value("roles.worker.replicas", "integer"), "schedulerName": When(gang, "volcano")}

`fill` puts values into the holes and gives plain objects; `targets.chart.go_template` prints the same graph as Helm
template text. The laws that hold both together:

- A hole has no truth, length, items or text while the graph is built. Asking for one is an error that names the
  node to use instead, because the answer would be frozen into the chart.
- A condition is truth as JSON data has it: 0, "", {}, [], null and false are false, in Go as in Python.
- What is `ABSENT` leaves its key or its place in a list. A mapping or sequence of which nothing is left is absent
  too; a literal ``{}`` or ``[]`` stays.
- A tunable map or list that is empty is absent; a tunable quantity, which may be written as a number, is a string.
- A mapping's order is the order of the printed fields; `ForEach` goes by sorted key, as Go's ``range`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import chain
from typing import Any, Final, Literal, NoReturn, TypeAlias, TypeGuard, TypeVar, assert_never

from tfgen.record import Record
from tfgen.value_type import ValueType


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


# -- values ------------------------------------------------------------------------------------------------------


class Value(Hole):
    """A tunable: its path in the chart's values (the spec's path without ``spec``), dots between the names."""

    path: str
    type: ValueType


class Bound(Hole):
    """What an `ForEach`, `Repeat` or `Let` around it binds to `name`, or a field of that; a missing field is null."""

    name: str
    type: ValueType = "string"
    path: str = ""


class Parameter(Hole):
    """What a `Call` gives to the part that this stands in, or a field of that; a missing field is null."""

    name: str
    type: ValueType = "string"
    path: str = ""


class Release(Hole):
    """A fact of the installation: the release's or chart's name."""

    fact: Literal["Release.Name", "Chart.Name"]


class ChartOnly(Hole):
    """Go template text of the chart alone.

    Attributes:
        template: the text.
        filled: the value in the plain objects.
        reads_root: whether the text reads the root context as ``.root``, in a part with parameters.
    """

    template: str
    filled: str | Absent = ABSENT
    reads_root: bool = False


class File(Hole):
    """The text of a file, such as a program's: a file of its own beside the objects, and read from there.

    Attributes:
        path: in the chart and in a kustomize base: ``files/finisher.py``.
        text: what is in it.
    """

    path: str
    text: str


# -- expressions -------------------------------------------------------------------------------------------------


class Text(Hole):
    """The parts joined to one string."""

    parts: tuple[Node, ...]


class Sum(Hole):
    """The sum of integers."""

    terms: tuple[Node, ...]


class Join(Hole):
    """The items of a tunable list of strings as one text, with commas between them."""

    list: Expression


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


class JoinEntries(Hole):
    """A text for each entry of a map, by sorted key, with a separator between them; `key` and `item` are bound."""

    over: Expression
    separator: str
    body: Node
    key: str = "name"
    item: str = "value"


class Default(Hole):
    """The first that is true: a role's image, or else the job's."""

    first: Expression
    fallback: Node


class MapOf(Hole):
    """A map as data, for other maps to be laid over: an entry that comes to nothing, as "" and 0 do, is left out.

    The printer takes an entry that may come to nothing only in the lowest layer of a `Merged`.
    """

    entries: Mapping[Name, Node]


class Merged(Hole):
    """Maps laid one over the other, key by key at the top only; to be bound by a `Let`.

    Attributes:
        layers: the lowest first.
        flat: whether all entries are scalars, for which Go has a function; else each is set by itself.
    """

    layers: tuple[Expression, ...]
    flat: bool = True


class Filtered(Hole):
    """The entries of a map for which a test holds; `key` and `item` are bound in it. To be bound by a `Let`."""

    over: Expression
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
        parameters: the names of each `Parameter` in the node. A part that has some stands in a `Call` alone.
    """

    name: str
    doc: str
    node: Node
    file: str = "helpers"
    parameters: tuple[str, ...] = ()


class Call(Hole):
    """A named part with arguments: ``include "NAME" (dict "root" $ "role" "worker")`` in the chart.

    Attributes:
        part: the part.
        arguments: a scalar or a values map for each of its parameters, in their order (`call` sees to that).
    """

    part: Named
    arguments: tuple[tuple[str, Node], ...]


class AsText(Hole):
    """A text, or a map or list of texts, for which a chart's user may set integers or booleans.

    The plain objects have the text unchanged, because job.yaml accepts text alone.

    Attributes:
        tree: the text, map or list.
        part: the named part that writes each number in digits, `TEXT` or `TEXTS` of `objects.values`.
    """

    tree: Expression
    part: Named


class Digest(Hole):
    """A digest of a named mapping, in hexadecimal digits: another one wherever the mapping is filled otherwise."""

    tree: Named | Call


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

    left: Node
    right: Node


class Greater(Hole):
    """True when the first integer is above the second."""

    left: Node
    right: Node


class HasItem(Hole):
    """True when a list of strings (null is an empty one) has the item."""

    list: Expression
    item: Node


class HasKey(Hole):
    """True when a map has the key."""

    map: Expression
    key: Node


class Contains(Hole):
    """True when a text contains another."""

    text: Node
    part: Node


class IsMap(Hole):
    """True for a map."""

    node: Expression


class Matches(Hole):
    """True when a regular expression, in the subset that RE2 and Python share, is found in a text."""

    text: Node
    pattern: str


# -- structure ---------------------------------------------------------------------------------------------------


class When(Hole):
    """`then` where the test is true, else `otherwise`."""

    test: Node
    if_true: Node
    if_false: Node = ABSENT


class ForEach(Hole):
    """In a sequence: an item for each entry of a map, by sorted key; `key` and `item` are bound."""

    over: Expression
    body: Node
    key: str = "name"
    item: str = "value"


class Items(Hole):
    """In a sequence: the items of a tunable list."""

    list: Expression


class NotEmpty(Hole):
    """A map or list that a test around it says is not empty."""

    tree: Expression


class Let(Hole):
    """A name for an expression, known in `body`: at the top of a document, or of a `Named` part, only."""

    name: str
    expression: Expression
    body: Node


class Comment(Record):
    """As a mapping's key, with null under it: why the entry below it is as it is, for the chart's reader."""

    text: str


class Splice(Record):
    """As a mapping's key: the entries of the mapping under it join the mapping around it. The name tells two apart."""

    name: str


class Entries(Record):
    """The entries of a map, one after the other by sorted key; `key` and `item` are bound."""

    over: Expression
    key: str
    item: str


class Guard(Record):
    """What must not be: printed as Helm's ``fail``, and reported by the rules at the job's own `path`.

    Attributes:
        test: true where the values are wrong.
        path: the values path to report at, or its steps where they depend on the entry.
        message: what was found and what is allowed.
        rule: the rule's id.
        over: whose entries it looks at, one by one; of several, the later ones for each entry of those before.
        let: names for expressions, known in the test and the message.
    """

    test: Expression
    path: str | tuple[Node, ...]
    message: Text
    rule: str
    over: tuple[Entries, ...] = ()
    let: tuple[tuple[str, Node], ...] = ()


# -- all of them -------------------------------------------------------------------------------------------------

Expression: TypeAlias = (
    Value
    | Bound
    | Parameter
    | Release
    | ChartOnly
    | File
    | Text
    | Sum
    | Join
    | Clean
    | Length
    | Repeat
    | JoinEntries
    | Default
    | MapOf
    | Merged
    | Filtered
    | Named
    | Call
    | AsText
    | Digest
    | Not
    | AllOf
    | AnyOf
    | Equal
    | Greater
    | HasItem
    | HasKey
    | Contains
    | IsMap
    | Matches
    | When
    | ForEach
    | Items
    | NotEmpty
    | Let
)
"""Every kind of hole. A type checker finds each `match` over it that lacks one."""

Name: TypeAlias = Expression | str
"""The name of an entry of a map: a text, or what comes to one."""

Key: TypeAlias = Name | Comment | Splice
"""The key of an entry of a mapping in a graph."""

Node: TypeAlias = "Expression | Absent | str | int | bool | Mapping[Key, Node] | Sequence[Node] | None"


def is_hole(node: object) -> TypeGuard[Expression]:
    """Whether a part of a graph is a hole, and no data."""
    return isinstance(node, Hole)


def child_nodes(node: Node | Record) -> Sequence[Node | Record]:
    """What a node consists of, in the order in which it is printed: keys and values, items, the fields of a hole."""
    if isinstance(node, Record):
        return [*map(node.__dict__.__getitem__, node.__match_args__)]
    if isinstance(node, (list, tuple)):
        return node
    return [*chain.from_iterable(node.items())] if isinstance(node, dict) else ()


_Node = TypeVar("_Node")
_Result = TypeVar("_Result")


def cached_on_record(function: Callable[[_Node], _Result]) -> Callable[[_Node], _Result]:
    """The same function, which does its work once for a record, such as a hole, and keeps what it returns in it."""
    slot = f"{function.__module__}.{function.__qualname__}"

    def remember(node: _Node) -> _Result:
        kept = node.__dict__ if isinstance(node, Record) else {}
        if slot not in kept:
            kept[slot] = function(node)
        result: _Result = kept[slot]
        return result

    return remember


def named_parts(nodes: Iterable[Node | Record]) -> Mapping[str, Named]:
    """The named parts of a graph by name, in the order of their first use; a part stands before those within it.

    Raises:
        ValueError: two parts of one name are different.
    """
    parts: dict[str, Named] = {}
    for part in chain.from_iterable(map(_parts_and_files, nodes)):
        if isinstance(part, Named) and parts.setdefault(part.name, part) != part:
            raise ValueError(f"two parts are named {part.name}: {parts[part.name]!r} and {part!r}")
    return parts


def chart_files(nodes: Iterable[Node | Record]) -> Mapping[str, str]:
    """The texts of the files that a graph has, by their paths in the chart."""
    within = chain.from_iterable(map(_parts_and_files, nodes))
    return {file.path: file.text for file in within if isinstance(file, File)}


@cached_on_record
def _parts_and_files(node: Node | Record) -> tuple[Named | File, ...]:
    """The named parts and the files of a node, each object once, in the order of their first use."""
    within: dict[int, Named | File] = {id(node): node} if isinstance(node, (Named, File)) else {}
    for inner in child_nodes(node):
        if inner is not None and not isinstance(inner, (str, int)):
            within.update((id(part), part) for part in _parts_and_files(inner))
    return tuple(within.values())


def plain_mapping(data: Mapping[str, Any]) -> dict[Key, Node]:
    """A mapping of plain data, such as a user's, as one of a graph."""
    return dict(data.items())


def if_set(hole: Expression) -> When:
    """The hole where it has a value; absent where it is empty."""
    return When(hole, hole)


def call(part: Named, **arguments: Node) -> Named | Call:
    """A part with its arguments, by name; the part itself where it takes none.

    Raises:
        TypeError: the names are not those of the part's parameters.
    """
    if arguments.keys() != set(part.parameters):
        raise TypeError(f"{part.name} has the parameters {part.parameters}, but was given {tuple(arguments)}")
    if not part.parameters:
        return part
    return Call(part, tuple((name, arguments[name]) for name in part.parameters))


def type_of(node: Node) -> ValueType:
    """The type of what a node is filled with."""
    match node:
        case Value(type=value_type) | Bound(type=value_type) | Parameter(type=value_type):
            return value_type
        case Call(part=inner):
            return type_of(inner)
        case When(if_true=Absent(), if_false=inner):
            return type_of(inner)
        case (
            Default(first=inner)
            | Named(node=inner)
            | Let(body=inner)
            | When(if_true=inner)
            | NotEmpty(tree=inner)
            | Items(list=inner)
            | AsText(tree=inner)
        ):
            return type_of(inner)
        case MapOf() | Merged() | Filtered() | dict():
            return "map"
        case Sum() | Length():
            return "integer"
        case Not() | AllOf() | AnyOf() | Equal() | Greater() | HasItem() | HasKey() | Contains() | IsMap() | Matches():
            return "boolean"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case str() | Text() | Release() | ChartOnly() | File() | Repeat() | Join() | JoinEntries() | Clean() | Digest():
            return "string"
        case list() | tuple():
            return "list"
        case ForEach() | Absent() | Mapping() | Sequence() | None:
            raise TypeError(f"no type: {node!r}")
    assert_never(node)
