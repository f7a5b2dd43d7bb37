"""A node as an expression of Go templates: a pipeline, or an argument of another one.

AllOf((Value("gang.enabled", "boolean"), Equal(IMAGE, "a")))  ->  and .Values.gang.enabled (eq .Values.image "a")
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, assert_never

from tfgen.graph.holes import (
    Absent,
    AllOf,
    AnyOf,
    AsText,
    Bound,
    Call,
    ChartOnly,
    Clean,
    Contains,
    Default,
    Digest,
    Equal,
    File,
    Filtered,
    ForEach,
    Greater,
    HasItem,
    HasKey,
    Hole,
    IsMap,
    Items,
    Join,
    JoinEntries,
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
    Sum,
    Text,
    Value,
    When,
    type_of,
)
from tfgen.targets.chart.go_template.context import Context
from tfgen.targets.chart.go_template.go_text import field, literal
from tfgen.targets.chart.go_template.nodes import is_known, needs_root
from tfgen.targets.chart.go_template.presence import parts_of_test, presence
from tfgen.text import canonical_json
from tfgen.value_type import ValueType

_FROM_YAML: Final[Mapping[ValueType, str]] = {"map": " | fromYaml", "list": " | fromYamlArray"}
"""The function that reads the text of a map or list back as data."""


_Test: TypeAlias = Not | AllOf | AnyOf | Equal | Greater | HasItem | HasKey | Contains | IsMap | Matches


def expression(node: Node, context: Context) -> str:  # noqa: C901 - a branch a node
    """A node as a Go template pipeline."""
    if context.subject is not None and node == context.subject:
        return "."
    match node:
        case Value(path):
            return field(f"{context.root}.Values", path)
        case Bound(name, _, path):
            return field(f"${name}", path)
        case Parameter(name, _, path):
            return field(f"{context.base}.{name}", path)
        case Release(fact):
            return f"{context.root}.{fact}"
        case File():
            return _file(node, context)
        case Named(name):
            full_name = context.full_name(name)
            if full_name in context.variables:
                return context.variables[full_name]
            return f"include {literal(full_name)} {context.root or '.'}"
        case Call(part):
            return f"include {literal(context.full_name(part.name))} {_argument_of_include(node, context)}"
        case AsText(tree, part):
            return f"{texts(tree, part, context)}{_FROM_YAML.get(type_of(tree), '')}"
        case Text(parts):
            return _printf(parts, context)
        case Sum((one, int(other))) if other < 0:
            return f"sub {argument(one, context)} {-other}"
        case Sum(terms):
            return " ".join(["add", *arguments(terms, context)])
        case Join(items):
            return f'join "," {argument(items, context)}'
        case Clean(text) | Length(text):
            return f"{'clean' if isinstance(node, Clean) else 'len'} {argument(text, context)}"
        case Default(first, fallback):
            return f"{expression(first, context)} | default {argument(fallback, context)}"
        case NotEmpty(tree):
            return expression(tree, context)
        case Digest(tree):
            return f"{_data(tree, context)} | mustToRawJson | sha256sum | trunc {canonical_json.DIGEST_LENGTH}"
        case MapOf(entries):
            return dict_of(entries, context)
        case str() | int():
            return literal(node)
        case Not() | AllOf() | AnyOf() | Equal() | Greater() | HasItem() | HasKey() | Contains() | IsMap() | Matches():
            return _test(node, context)
        case When() | Merged() | Filtered() | ForEach() | Items() | Let() | Repeat() | JoinEntries() | ChartOnly():
            raise TypeError(f"no expression of Go templates: {node!r}")
        case None | Absent() | Mapping() | Sequence():
            raise TypeError(f"not an expression: {node!r}")
    assert_never(node)


def _test(node: _Test, context: Context) -> str:
    """Return the pipeline of a node that is true or false."""
    match node:
        case Not(Equal(one, other)):
            return f"ne {argument(one, context)} {argument(other, context)}"
        case Not(inner):
            return f"not {argument(inner, context)}"
        case AllOf():
            return " ".join(["and", *arguments(parts_of_test(node), context)])
        case AnyOf(nodes) if (one := _compared(nodes)) is not None:
            others = [inner.right for inner in nodes if isinstance(inner, Equal)]
            return " ".join(["eq", *arguments([one, *others], context)])
        case AnyOf(nodes):
            return " ".join(["or", *arguments(nodes, context)])
        case Equal(one, other):
            return f"eq {argument(one, context)} {argument(other, context)}"
        case Greater(one, other):
            return f"gt {_integer(one, context)} {_integer(other, context)}"
        case HasItem(list=items, item=item):
            return f"has {argument(item, context)} {argument(items, context)}"
        case HasKey(map=inner, key=key):
            return f"hasKey {argument(inner, context)} {argument(key, context)}"
        case Contains(text, part):
            return f"contains {argument(part, context)} {argument(text, context)}"
        case IsMap(inner):
            return f'kindIs "map" {argument(inner, context)}'
        case Matches(text, pattern):
            return f"regexMatch {literal(pattern)} {argument(text, context)}"
    assert_never(node)


def texts(tree: Node, part: Named, context: Context) -> str:
    """The part that writes a text, map or list, applied to the tree."""
    return f"include {literal(context.full_name(part.name))} {argument(tree, context)}"


def argument(node: Node, context: Context) -> str:
    """An expression as an argument of another: in brackets where it is more than a word."""
    text = expression(node, context)
    return f"({text})" if " " in text and not text.startswith('"') else text


def arguments(nodes: Sequence[Node], context: Context) -> list[str]:
    """Several arguments, in order."""
    return [argument(node, context) for node in nodes]


def typed(node: Node, context: Context) -> str:
    """An expression whose text is right for its type, unquoted."""
    text = expression(node, context)
    return f"{text} | int64" if type_of(node) == "integer" and not isinstance(node, (Sum, Length)) else text


def dict_of(entries: Mapping[Name, Node], context: Context) -> str:
    """A ``dict`` of entries that are always there.

    Raises:
        TypeError: one may come to nothing.
    """
    if not all(map(is_known, entries.values())):
        raise TypeError(f"an entry that may come to nothing must stand in the lowest layer: {entries!r}")
    left = {key: node for key, node in entries.items() if isinstance(node, MapOf) or node}
    return " ".join(["dict", *(argument(part, context) for entry in left.items() for part in entry)])


def chart_only(node: ChartOnly, context: Context) -> str:
    """Return the text of the chart alone.

    Raises:
        TypeError: the text reads the root context at the dot, which is the arguments of a part.
    """
    if context.parameters and not node.reads_root:
        raise TypeError(f"a part with parameters has no root context at its dot: {node!r}")
    return node.template


def _file(node: File, context: Context) -> str:
    """The text of a file of the chart's. To Helm one that is missing is empty, which a program never is."""
    read = f"{context.root}.Files.Get {literal(node.path)}"
    message = f"the chart has no {node.path}, or it is empty"
    return f"{read} | required {literal(message)}" if node.text else read


def _data(tree: Named | Call, context: Context) -> str:
    """A named mapping as data, of which Go has no more than the text.

    A part is without its last line break; it is put back, or a last text of empty lines would lose one.
    """
    if type_of(tree) != "map" or presence(tree) is not True:
        raise TypeError(f"not a mapping that is always there: {tree!r}")
    return f'printf "%s\\n" ({expression(tree, context)}) | fromYaml'


def _argument_of_include(node: Call, context: Context) -> str:
    """The one argument of ``include``: a ``dict``, or the context as it is where all of it is in that already.

    Null is what a ``dict`` has under each name that is not in it.
    """
    if context.parameters and all(_passes(name, inner, context) for name, inner in node.arguments):
        return context.dot
    root = [f'"root" {context.root or "$"}'] if needs_root(node.part) else []
    others = [f"{literal(name)} {argument(inner, context)}" for name, inner in node.arguments if inner is not None]
    return f"(dict {' '.join([*root, *others])})"


def _passes(name: str, node: Node, context: Context) -> bool:
    """Whether an argument is in the context under the same name."""
    if node is None:
        return name not in context.parameters
    return isinstance(node, Parameter) and node.name == name and not node.path


def _integer(node: Node, context: Context) -> str:
    """An argument as an integer of Go's: what comes from the values is float64 until it is converted."""
    text = argument(node, context)
    return text if isinstance(node, (int, Sum, Length)) else f"(int64 {text})"


def _printf(parts: Sequence[Node], context: Context) -> str:
    form, values = "", []
    for part in _flat(parts):
        if isinstance(part, str):
            form += part.replace("%", "%%")
        elif isinstance(part, Hole) and type_of(part) == "integer":
            form += "%d"
            values.append(_integer(part, context))
        else:
            form += "%v"
            values.append(argument(part, context))
    return " ".join(["printf", literal(form), *values]) if values else literal(form.replace("%%", "%"))


def _flat(parts: Sequence[Node]) -> Iterator[Node]:
    """The parts of a text, those of texts within it in their place."""
    for part in parts:
        if isinstance(part, Text):
            yield from _flat(part.parts)
        else:
            yield part


def _compared(nodes: Sequence[Node]) -> Node:
    """What all of several tests compare with something; null where they do not."""
    ones = [node.left for node in nodes if isinstance(node, Equal)]
    return ones[0] if len(ones) == len(nodes) and all(one == ones[0] for one in ones) else None
