"""Prints mappings, sequences and named templates as lines of YAML.

    {"a": [1, Each(LABELS, NAME)]}  ->  a:
                                        - 1
                                        {{- range $name, $value := .Values.labels }}
                                        - {{ $name | quote }}
                                        {{- end }}

The indentation of an ``include`` depends on the first line of the included named template, so this module prints both
the ``include`` and the named template.
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
    NamedTemplate,
    Node,
    NotEmpty,
    Splice,
    Text,
    When,
    cached_on_record,
    type_of,
)
from tfgen.targets.chart.go_template.context import Context, lines_of, with_text
from tfgen.targets.chart.go_template.expressions import argument, expression, include_as_strings, range_action
from tfgen.targets.chart.go_template.flow_control import range_over, when, when_present
from tfgen.targets.chart.go_template.go_text import Lines, comment, escape, indent_lines, keep_space, literal
from tfgen.targets.chart.go_template.neighbours import entries_under_one_test, items_under_one_test
from tfgen.targets.chart.go_template.nodes import has_holes, is_map_or_list
from tfgen.targets.chart.go_template.presence import let_facts, presence, remaining_test
from tfgen.targets.chart.go_template.scalars import key, scalar
from tfgen.targets.chart.go_template.texts import text_of
from tfgen.text import yaml_text
from tfgen.value_type import TREES

_AT_LINE_START: Final = " | nindent 0 }}"


def body_lines(node: Node, context: Context, indent: str) -> Lines:
    """Return the lines of a mapping or a sequence, without the line of its key.

    Raises:
        TypeError: the node is a scalar.
    """
    match node:
        case dict():
            return _entries(node, context, indent)
        case NamedTemplate() | Call() if is_map_or_list(node):
            return _included(node, context, indent, [])
        case When():
            return when(node, context, indent, lambda branch, scope: body_lines(branch, scope, indent))
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
    """Return the lines that print the content of a named template.

    If possible, the first line belongs to an entry that is always present. Then the output begins without a line break.
    """
    if isinstance(node, When) and presence(node) is True:
        return _first_branches(node, context)
    if isinstance(node, JoinEntries):
        return _joined_lines(node, context)
    if isinstance(node, Text) and len(node.parts) > 1 and all(isinstance(part, When) for part in node.parts):
        return [text_of(part, context).replace("{{ if", "{{- if", 1) for part in node.parts]
    if not is_map_or_list(node):
        return [keep_space(text_of(node, context))]
    first, *remaining = body_lines(_present_first(node, context), context, "")
    if first.startswith(("{{- include ", "{{- toYaml ")) and first.endswith(_AT_LINE_START):
        first = with_text(first, f"{{{{ {first.removeprefix('{{- ').removesuffix(_AT_LINE_START)} }}}}")
    return [first, *remaining]


def _joined_lines(node: JoinEntries, context: Context) -> Lines:
    """Return the lines that print a text for each entry of a map, with a separator between the texts."""
    body = text_of(node.body, context.range_body_of(node))
    return [
        '{{- $separator := "" -}}',
        f"{{{{- {range_action(node, context)} -}}}}",
        f"{{{{ $separator }}}}{{{{ $separator = {literal(node.separator)} }}}}{body}",
        "{{- end }}",
    ]


def _present_first(node: Node, context: Context) -> Node:
    """Move an entry that is always present to the first place in a mapping. The comment above the entry also moves."""
    if not isinstance(node, dict):
        return node
    first: dict[Key, Node] = {}
    for name, child in node.items():
        if isinstance(name, Comment):
            first = {name: child}
        elif remaining_test(presence(child), context.facts) is True and not isinstance(child, When):
            return {**first, name: child, **node}
        else:
            first = {}
    return node


def _first_branches(node: When, context: Context) -> Lines:
    """Return the lines of a `When` that always prints something. Each branch begins on a separate line."""
    out, word = [], "if"
    branch: Node = node
    while isinstance(branch, When):
        scope = context.with_facts(branch.test)
        head = [f"{{{{- {word} {expression(branch.test, context)} -}}}}"]
        body = lines_of(branch.if_true, first_lines(branch.if_true, scope), scope)
        out += [*lines_of(branch.test, head, context), *body]
        branch, word = branch.if_false, "else if"
    return [*out, "{{- else -}}", *first_lines(branch, context), "{{- end }}"]


def _entries(mapping: Mapping[Key, Node], context: Context, indent: str) -> Lines:
    """Return the lines of a mapping's entries. Neighbouring entries with the same test share an ``if``."""
    lines: Lines = []
    # The reason of an entry is the comment before the entry.
    entry_context = context
    for choice, entries in entries_under_one_test(mapping):
        if choice is not None:
            lines += body_lines(choice, entry_context, indent)
            entry_context = context
            continue
        for name, node in entries.items():
            entry_context = context.replaced(reason=name.text) if isinstance(name, Comment) else entry_context
            lines += lines_of(node, _entry(name, node, entry_context, indent), entry_context)
            entry_context = entry_context if isinstance(name, Comment) else context
    return lines


def _items(items: Sequence[Node], context: Context, indent: str) -> Lines:
    """Return the lines of a sequence's items. Neighbouring items with the same test share an ``if``."""
    lines: Lines = []
    for choice, group in items_under_one_test(items):
        if choice is None:
            lines += [line for item in group for line in lines_of(item, _item(item, context, indent), context)]
        else:
            lines += body_lines(choice, context, indent)
    return lines


def _entry(name: Key, node: Node, context: Context, indent: str) -> Lines:
    """Return the lines of the entry `name: node` of a mapping."""
    if node is ABSENT:
        return []
    if isinstance(name, Comment):
        return comment(name.text, indent)
    if isinstance(node, When):

        def entry_lines(branch: Node, scope: Context) -> Lines:
            return lines_of(branch, _entry(name, branch, scope, indent), scope)

        return when(node, context, indent, entry_lines)
    if isinstance(name, Splice):
        return body_lines(node, context, indent)
    if not isinstance(name, Hole) and not has_holes(node):
        return indent_lines(escape(yaml_text.dump({name: node})), indent)
    head = f"{indent}{key(name, context)}:"
    if isinstance(node, File) and yaml_text.is_literal(node.text):
        return _block(node, context, head, indent + "  ")
    if isinstance(node, (NamedTemplate, Call)) and is_map_or_list(node):
        return _included(node, context, indent, [head])
    if isinstance(node, NotEmpty):
        return [head, *body_lines(node, context, indent + ("  " if type_of(node) == "map" else ""))]
    if isinstance(node, Hole) and type_of(node) in TREES:
        return _tree(node, context, indent, [head])
    if isinstance(node, dict):
        body_indent = indent + "  "
        return when_present(node, context, indent, lambda n, scope: [head, *body_lines(n, scope, body_indent)])
    if isinstance(node, list | tuple):
        return when_present(node, context, indent, lambda n, scope: [head, *body_lines(n, scope, indent)])
    return [f"{head} {scalar(node, context)}"]


def _block(node: File, context: Context, head: str, indent: str) -> Lines:
    """Return the lines that print `head`, such as ``key:``, and the text of a file as a literal block of YAML (`|`)."""
    header = "|" if node.text.endswith("\n") else "|-"
    return [f"{head} {header}", f"{indent}{{{{- {expression(node, context)} | nindent {len(indent)} }}}}"]


def _item(node: Node, context: Context, indent: str) -> Lines:
    """Return the lines of an item of a sequence."""
    match node:
        case When():
            return when(node, context, indent, lambda n, scope: lines_of(n, _item(n, scope, indent), scope))
        case ForEach():
            return range_over(node, context, indent, lambda body, scope: _item(body, scope, indent))
        case Items(items):
            return _tree(items, context, indent, [])
        case dict() if has_holes(node):
            lines = body_lines(node, context, indent + "  ")
            if lines[0].lstrip().startswith("{{-"):
                raise TypeError(f"the first entry of a list item must always be present: {node!r}")
            return [with_text(lines[0], f"{indent}- {lines[0].lstrip()}"), *lines[1:]]
    if not has_holes(node):
        return indent_lines(escape(yaml_text.dump([node])), indent)
    if isinstance(node, File) and yaml_text.is_literal(node.text):
        return _block(node, context, f"{indent}-", indent + "  ")
    return [f"{indent}- {scalar(node, context)}"]


def _tree(node: Expression, context: Context, indent: str, head: Lines) -> Lines:
    """Return the lines that print a tunable map or list. For an empty value, Helm prints none of these lines.

    `head` contains the line of the key; empty for a map or list without a key.
    """
    depth = len(indent) + (2 if head and type_of(node) == "map" else 0)
    tree = node.tree if isinstance(node, AsText) else node
    if tree in context.facts:
        return [*head, _tree_text(node, context, depth)]
    return [
        f"{indent}{{{{- with {expression(tree, context)} }}}}",
        *head,
        _tree_text(node, context.replaced(dot="$", subject=tree), depth),
        f"{indent}{{{{- end }}}}",
    ]


def _tree_text(node: Expression, context: Context, depth: int) -> str:
    """Return the template action that prints a tunable map or list with an indentation of `depth` blanks."""
    if not isinstance(node, AsText):
        return f"{' ' * depth}{{{{- toYaml {argument(node, context)} | nindent {depth} }}}}"
    nindent = f' | trimPrefix "\\n" | nindent {depth}' if depth else ""
    return f"{' ' * depth}{{{{- {include_as_strings(node.tree, node.template, context)}{nindent} }}}}"


def _included(node: NamedTemplate | Call, context: Context, indent: str, head: Lines) -> Lines:
    """Return the lines that include a named template. If its output is empty, Helm prints none of these lines.

    `head` contains the line of the key; empty for a named template without a key.
    """
    template = node.template if isinstance(node, Call) else node
    depth = len(indent) + (2 if head and type_of(node) == "map" else 0)
    include, pad, nindent = expression(node, context), " " * depth, f" | nindent {depth}"
    if _begins_with_break(template):
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
def _begins_with_break(template: NamedTemplate) -> bool:
    """Test whether the output of a named template begins with a line break, because its first entry may be absent."""
    node, context = template.node, Context(chart="", parameters=template.parameters)
    while isinstance(node, Let):
        context, node = context.with_facts(*let_facts(node.name, node.expression)), node.body
    first = first_lines(node, context)[0]
    return first.startswith("{{-") and not first.endswith("-}}")
