"""The lines of YAML of a mapping or a sequence, and of a part that may be one.

    {"a": [1, Each(LABELS, NAME)]}  ->  a:
                                        - 1
                                        {{- range $name, $value := .Values.labels }}
                                        - {{ $name | quote }}
                                        {{- end }}

How a part is included follows from the first line of its own text, so both stand here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tfgen.graph.holes import (
    ABSENT,
    AsText,
    Call,
    Comment,
    Expression,
    File,
    ForEach,
    Hole,
    Items,
    JoinEntries,
    Key,
    Let,
    Named,
    Node,
    NotEmpty,
    Splice,
    Text,
    When,
    cached_on_record,
    type_of,
)
from tfgen.targets.chart.go_template.context import Context, lines_of, with_text
from tfgen.targets.chart.go_template.expressions import argument, expression, texts
from tfgen.targets.chart.go_template.flow_control import range_over, when, when_left
from tfgen.targets.chart.go_template.go_text import Lines, comment, escape, indent_lines, keep_space, literal
from tfgen.targets.chart.go_template.neighbours import entries_under_one_test, items_under_one_test
from tfgen.targets.chart.go_template.nodes import has_holes, is_tree
from tfgen.targets.chart.go_template.presence import known_of, presence, unknown
from tfgen.targets.chart.go_template.scalars import key, scalar
from tfgen.targets.chart.go_template.texts import text_of
from tfgen.text import yaml_text
from tfgen.value_type import TREES

_ON_A_LINE: Final = " | nindent 0 }}"


def body_lines(node: Node, context: Context, indent: str) -> Lines:
    """The lines of a mapping or sequence.

    Raises:
        TypeError: the node is neither.
    """
    match node:
        case dict():
            return _entries(node, context, indent)
        case Named() | Call() if is_tree(node):
            return _included(node, context, indent, [])
        case When():
            return when(node, context, indent, lambda inner, there: body_lines(inner, there, indent))
        case NotEmpty(tree):
            return [_tree_text(tree, context, len(indent))]
        case Hole() if type_of(node) in TREES:
            return _tree(node, context, indent, [])
        case str() | int() | None:
            raise TypeError(f"not a mapping or sequence: {node!r}")
        case list() | tuple():
            return _items(node, context, indent)
    raise TypeError(f"not a mapping or sequence: {node!r}")


def first_lines(node: Node, context: Context) -> Lines:
    """The lines of a part's text: none is broken before it where the part has an entry that is always there."""
    if isinstance(node, When) and presence(node) is True:
        return _first_branches(node, context)
    if isinstance(node, JoinEntries):
        return _joined_lines(node, context)
    if isinstance(node, Text) and len(node.parts) > 1 and all(isinstance(part, When) for part in node.parts):
        return [text_of(part, context).replace("{{ if", "{{- if", 1) for part in node.parts]
    if not is_tree(node):
        return [keep_space(text_of(node, context))]
    first, *others = body_lines(_sure_first(node, context), context, "")
    if first.startswith(("{{- include ", "{{- toYaml ")) and first.endswith(_ON_A_LINE):
        first = with_text(first, f"{{{{ {first.removeprefix('{{- ').removesuffix(_ON_A_LINE)} }}}}")
    return [first, *others]


def _joined_lines(node: JoinEntries, context: Context) -> Lines:
    """A text for each entry of a map: the range on lines of its own."""
    return [
        '{{- $separator := "" -}}',
        f"{{{{- range ${node.key}, ${node.item} := {expression(node.over, context)} -}}}}",
        f"{{{{ $separator }}}}{{{{ $separator = {literal(node.separator)} }}}}{text_of(node.body, context.inside)}",
        "{{- end }}",
    ]


def _sure_first(node: Node, context: Context) -> Node:
    """A mapping whose first entry is one that is always there, where it has one, with the reason above it."""
    if not isinstance(node, dict):
        return node
    first: dict[Key, Node] = {}
    for name, child in node.items():
        if isinstance(name, Comment):
            first = {name: child}
        elif unknown(presence(child), context.known) is True and not isinstance(child, When):
            return {**first, name: child, **node}
        else:
            first = {}
    return node


def _first_branches(node: When, context: Context) -> Lines:
    """The branches of a text of which one is always there: each begins its own line."""
    out, word = [], "if"
    rest: Node = node
    while isinstance(rest, When):
        inside = context.knowing(rest.test)
        head = [f"{{{{- {word} {expression(rest.test, context)} -}}}}"]
        out += [*lines_of(rest.test, head, context), *lines_of(rest.if_true, first_lines(rest.if_true, inside), inside)]
        rest, word = rest.if_false, "else if"
    return [*out, "{{- else -}}", *first_lines(rest, context), "{{- end }}"]


def _entries(mapping: Mapping[Key, Node], context: Context, indent: str) -> Lines:
    """The lines of a mapping's entries; neighbours under one condition share it."""
    lines: Lines = []
    of_entry = context
    for choice, entries in entries_under_one_test(mapping):
        if choice is not None:
            lines += body_lines(choice, of_entry, indent)
            of_entry = context
            continue
        for name, node in entries.items():
            of_entry = context.replaced(reason=name.text) if isinstance(name, Comment) else of_entry
            lines += lines_of(node, _entry(name, node, of_entry, indent), of_entry)
            of_entry = of_entry if isinstance(name, Comment) else context
    return lines


def _items(items: Sequence[Node], context: Context, indent: str) -> Lines:
    """The lines of a sequence's items; neighbours under one condition share it."""
    lines: Lines = []
    for choice, run in items_under_one_test(items):
        if choice is None:
            lines += [line for item in run for line in lines_of(item, _item(item, context, indent), context)]
        else:
            lines += body_lines(choice, context, indent)
    return lines


def _entry(name: Key, node: Node, context: Context, indent: str) -> Lines:
    """The lines of one entry of a mapping."""
    if node is ABSENT:
        return []
    if isinstance(name, Comment):
        return comment(name.text, indent)
    if isinstance(node, When):
        return when(
            node, context, indent, lambda inner, there: lines_of(inner, _entry(name, inner, there, indent), there)
        )
    if isinstance(name, Splice):
        return body_lines(node, context, indent)
    if not isinstance(name, Hole) and not has_holes(node):
        return indent_lines(escape(yaml_text.dump({name: node})), indent)
    head = f"{indent}{key(name, context)}:"
    if isinstance(node, File) and yaml_text.is_literal(node.text):
        return _block(node, context, head, indent + "  ")
    if isinstance(node, (Named, Call)) and is_tree(node):
        return _included(node, context, indent, [head])
    if isinstance(node, NotEmpty):
        return [head, *body_lines(node, context, indent + ("  " if type_of(node) == "map" else ""))]
    if isinstance(node, Hole) and type_of(node) in TREES:
        return _tree(node, context, indent, [head])
    if isinstance(node, dict):
        return when_left(node, context, indent, lambda inner, there: [head, *body_lines(inner, there, indent + "  ")])
    if isinstance(node, list | tuple):
        return when_left(node, context, indent, lambda inner, there: [head, *body_lines(inner, there, indent)])
    return [f"{head} {scalar(node, context)}"]


def _block(node: File, context: Context, head: str, indent: str) -> Lines:
    """A text of several lines as a literal block."""
    header = "|" if node.text.endswith("\n") else "|-"
    return [f"{head} {header}", f"{indent}{{{{- {expression(node, context)} | nindent {len(indent)} }}}}"]


def _item(node: Node, context: Context, indent: str) -> Lines:
    """The lines of one item of a sequence."""
    match node:
        case When():
            return when(node, context, indent, lambda inner, there: lines_of(inner, _item(inner, there, indent), there))
        case ForEach():
            return range_over(node, context, indent, lambda body, there: _item(body, there, indent))
        case Items(items):
            return _tree(items, context, indent, [])
        case dict() if has_holes(node):
            lines = body_lines(node, context, indent + "  ")
            if lines[0].lstrip().startswith("{{-"):
                raise TypeError(f"a list item must begin with an entry that is always there: {node!r}")
            return [with_text(lines[0], f"{indent}- {lines[0].lstrip()}"), *lines[1:]]
    if not has_holes(node):
        return indent_lines(escape(yaml_text.dump([node])), indent)
    if isinstance(node, File) and yaml_text.is_literal(node.text):
        return _block(node, context, f"{indent}-", indent + "  ")
    return [f"{indent}- {scalar(node, context)}"]


def _tree(node: Expression, context: Context, indent: str, head: Lines) -> Lines:
    """A tunable map or list, and its key where it has one; nothing where it is empty."""
    depth = len(indent) + (2 if head and type_of(node) == "map" else 0)
    tree = node.tree if isinstance(node, AsText) else node
    if tree in context.known:
        return [*head, _tree_text(node, context, depth)]
    return [
        f"{indent}{{{{- with {expression(tree, context)} }}}}",
        *head,
        _tree_text(node, context.replaced(dot="$", subject=tree), depth),
        f"{indent}{{{{- end }}}}",
    ]


def _tree_text(node: Expression, context: Context, depth: int) -> str:
    """The action that prints a tunable map or list."""
    if not isinstance(node, AsText):
        return f"{' ' * depth}{{{{- toYaml {argument(node, context)} | nindent {depth} }}}}"
    nindent = f' | trimPrefix "\\n" | nindent {depth}' if depth else ""
    return f"{' ' * depth}{{{{- {texts(node.tree, node.part, context)}{nindent} }}}}"


def _included(node: Named | Call, context: Context, indent: str, head: Lines) -> Lines:
    """A part that is a mapping or sequence, and its key where it has one; nothing where nothing of it is left."""
    part = node.part if isinstance(node, Call) else node
    depth = len(indent) + (2 if head and type_of(node) == "map" else 0)
    include, pad, nindent = expression(node, context), " " * depth, f" | nindent {depth}"
    if _begins_with_break(part):
        include, nindent = (f'{include} | trimPrefix "\\n"', nindent) if depth else (include, "")
    if presence(node) is True or not (head or nindent):
        return [*head, f"{pad}{{{{- {include}{nindent} }}}}"]
    return [
        f"{indent}{{{{- with {include} }}}}",
        *head,
        f"{pad}{{{{- .{nindent} }}}}",
        f"{indent}{{{{- end }}}}",
    ]


@cached_on_record
def _begins_with_break(part: Named) -> bool:
    """Whether the text of a part begins with a line break: none of its entries is always there to be the first."""
    node, context = part.node, Context(chart="", parameters=part.parameters)
    while isinstance(node, Let):
        context, node = context.knowing(*known_of(node.name, node.expression)), node.body
    first = first_lines(node, context)[0]
    return first.startswith("{{-") and not first.endswith("-}}")
