"""Prints the lines of templates: mappings and sequences of YAML, control structures, named templates and whole files.

    {"a": [1, ForEach(LABELS, NAME)]}  ->  a:
                                           - 1
                                           {{- range $name, $value := .Values.labels }}
                                           - {{ $name | quote }}
                                           {{- end }}

The indentation of an ``include`` depends on the first line of the included named template, so this module prints both
the ``include`` and the named template.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from tfgen.data_path import TREES
from tfgen.graph import holes as h
from tfgen.graph.holes import ABSENT, Expression, Key, Node, cached_on_record, is_hole, type_of
from tfgen.targets.chart.go_template.expressions import (
    argument,
    arguments,
    dict_of,
    expression,
    include_as_strings,
    range_action,
    scalar,
    text_of,
    yaml_key,
)
from tfgen.targets.chart.go_template.syntax import (
    COMMENT_WIDTH,
    ENDED,
    Context,
    Lines,
    all_of,
    branch_test,
    comment,
    depends_only_on,
    ends_in_tree,
    entries_under_one_test,
    escape,
    has_holes,
    indent_lines,
    is_constant,
    items_under_one_test,
    keep_space,
    let_facts,
    literal,
    needs_root,
    presence,
    remaining_test,
    with_shared_tests,
    without_repeated_reasons,
)
from tfgen.text import yaml_text

# -- if, with and range around lines -----------------------------------------------------------------------------------


Branch: TypeAlias = Callable[[Node, Context], Lines]
"""Function that returns the lines for a node, such as a branch of a `When`, in a context."""


def when(node: h.When, context: Context, indent: str, lines: Branch, *, end: str = "}}") -> Lines:
    """Return ``if``, ``else if`` and ``else`` around the lines of the branches of a `When`.

    A `When` is a node with a test and two branches.

    Args:
        node: the `When`.
        context: the context of the lines.
        indent: the indentation of the lines.
        lines: function that returns the lines of a branch.
        end: the end of the action before each branch: ``-}}`` to remove the white space before the branch.
    """
    if node.if_true is ABSENT:
        node = h.When(h.Not(node.test), node.if_false)
    if node.if_false is ABSENT:
        return _if(node.test, node.if_true, context, indent, lines)
    out, word = [], "if"
    branch: Node = node
    while isinstance(branch, h.When) and branch.if_true is not ABSENT:
        head = f"{indent}{{{{- {word} {expression(branch.test, context)} {end}"
        out += [head, *lines(branch.if_true, context.with_facts(branch.test))]
        branch, word = branch.if_false, "else if"
    if branch is not ABSENT:
        out += [f"{indent}{{{{- else {end}", *lines(branch, context)]
    return [*out, f"{indent}{ENDED}"]


def when_present(node: Node, context: Context, indent: str, lines: Branch) -> Lines:
    """Return the lines of a node. If the output of the node may be empty, an ``if`` around the lines tests the output.

    The function `lines` returns the lines of the node.
    """
    test = presence(node)
    return lines(node, context) if test is True else _if(test, node, context, indent, lines)


def range_over(node: h.ForEach, context: Context, indent: str, lines: Branch) -> Lines:
    """Return the lines of a ``range`` over the entries of a map. The function `lines` returns the lines of the body."""
    body_context = context.range_body_of(node)
    head = f"{indent}{{{{- {range_action(node, context)} }}}}"
    return [head, *lines(node.body, body_context), f"{indent}{ENDED}"]


def _if(test: Node, node: Node, context: Context, indent: str, lines: Branch) -> Lines:
    """Return an ``if`` or a ``with`` around the lines of a node.

    If an outer ``if`` already guarantees the test, return only the lines of the node.
    """
    nested_test = branch_test(node)
    needed_test = remaining_test(test if nested_test is None else all_of(test, nested_test), context.facts)
    if needed_test is True:
        return lines(node, context)
    branch_context, word = context.with_facts(needed_test), "if"
    # In the body of a with, the dot is the tested value. A with is possible if the node needs no other value.
    if depends_only_on(node, needed_test):
        branch_context, word = branch_context.replaced(dot="$", subject=needed_test), "with"
    head, end = f"{indent}{{{{- {word} {expression(needed_test, context)} }}}}", f"{indent}{ENDED}"
    return [head, *lines(node, branch_context), end]


# -- assignments of variables ------------------------------------------------------------------------------------------


_VARIABLE_PARTS: Final = ("run", "fullname")
"""The named templates whose output tfgen may assign to a variable with the name of the named template."""


def repeated_includes(lines: Lines, context: Context, *, least: int) -> tuple[Mapping[str, str], Lines]:
    """Return lines that assign the output of named templates to variables, so that Helm runs each named template once.

    A named template gets a variable if the lines include the named template several times.

    Args:
        lines: the lines of a template.
        context: the context of the lines.
        least: the minimum number of includes for which a named template gets a variable.

    Returns:
        The variables, such as {"mnist.run": "$run"}, and the lines that assign the variables.
    """
    text = "\n".join(lines)
    includes = {name: f"include {literal(context.full_name(name))} " for name in _VARIABLE_PARTS}
    repeated = {name: include for name, include in includes.items() if text.count(include) >= least}
    assignments = [f"{{{{- ${name} := {include}{context.root or '.'} }}}}" for name, include in repeated.items()]
    return {context.full_name(name): f"${name}" for name in repeated}, assignments


def assign(name: str, node: Node, context: Context) -> Lines:
    """Return the lines that assign the value of a node to the Go variable of `name`.

    The lines after the assignment have the context `context.with_names(name)`.

    Raises:
        TypeError: Go templates cannot compute the node.
    """
    variable = context.with_names(name).variable(name)
    return _assign(variable, node, context.replaced(declared=(*context.declared, variable)))


def _assign(variable: str, node: Node, context: Context) -> Lines:
    if isinstance(node, h.Filtered):
        body = context.range_body_of(node)
        return [
            f"{{{{- {variable} := dict }}}}",
            *_set_entries(variable, node, context, f"{{{{- if {expression(node.test, body)} }}}}"),
        ]
    if isinstance(node, h.When):
        # The first lines assign the second branch, and the last lines replace this value if the test is true.
        assigned = _assign(variable, node.if_false, context)
        value = f"{{{{- {variable} = {expression(node.if_true, context)} }}}}"
        return [*assigned, f"{{{{- if {expression(node.test, context)} }}}}", value, ENDED]
    if not isinstance(node, h.Merged):
        return [f"{{{{- {variable} := {expression(node, context)} }}}}"]
    lowest, *maps = node.maps
    if isinstance(lowest, h.MapOf):
        first, lines = _map_of(variable, lowest, context)
    else:
        first, lines = f"deepCopy {argument(lowest, context)}", Lines()
    if node.flat and maps and not lines and not any(isinstance(tree, h.When) for tree in maps):
        return [" ".join([f"{{{{- {variable} := mergeOverwrite ({first})", *arguments(maps, context), "}}"])]
    lines.insert(0, f"{{{{- {variable} := {first} }}}}")
    for is_tested, run in groupby(maps, key=lambda tree: isinstance(tree, h.When)):
        if is_tested:
            lines += [
                line for tree in run for line in _conditional_merge_lines(variable, tree, context, flat=node.flat)
            ]
        else:
            lines += _merge_lines(variable, [*run], context, flat=node.flat)
    return with_shared_tests(lines)


def _conditional_merge_lines(variable: str, choice: Node, context: Context, *, flat: bool) -> Lines:
    """Return an ``if`` block that merges a map into the map in `variable`.

    Args:
        variable: the variable, such as `$labels`.
        choice: a `When` that contains the test of the ``if`` and the map.
        context: the context of the lines.
        flat: whether all entries of the map are scalars.
    """
    if not isinstance(choice, h.When) or choice.if_false != h.MapOf({}) or not is_hole(choice.if_true):
        raise TypeError(f"a merged map must not have a second branch: {choice!r}")
    if isinstance(choice.if_true, h.MapOf):
        entries = choice.if_true.entries.items()
        lines = [
            f"{{{{- $_ := set {variable} {argument(key, context)} {argument(item, context)} }}}}"
            for key, item in entries
        ]
    else:
        lines = _merge_lines(variable, [choice.if_true], context, flat=flat)
    return [f"{{{{- if {expression(choice.test, context)} }}}}", *lines, ENDED]


def _merge_lines(variable: str, maps: Sequence[Expression], context: Context, *, flat: bool) -> Lines:
    """Return the lines that merge several maps, in order, into the map in `variable`.

    Args:
        variable: the variable, such as `$labels`.
        maps: the maps.
        context: the context of the lines.
        flat: whether all entries of the maps are scalars. If True, one call of ``mergeOverwrite`` merges all maps.
    """
    if flat:
        return [" ".join([f"{{{{- {variable} = mergeOverwrite {variable}", *arguments(maps, context), "}}"])]
    return [line for tree in maps for line in _set_entries(variable, h.ForEach(tree, ABSENT, "key"), context)]


def _set_entries(variable: str, entries: h.ForEach | h.Filtered, context: Context, test: str = "") -> Lines:
    """Return a ``range`` that adds the entries of a map to the map in `variable`, inside the ``if`` of `test`."""
    body = context.range_body_of(entries)
    line = f"{{{{- $_ := set {variable} {body.variable(entries.key)} {body.variable(entries.item)} }}}}"
    return [f"{{{{- {range_action(entries, context)} }}}}", *([test, line, ENDED] if test else [line]), ENDED]


def _map_of(variable: str, lowest: h.MapOf, context: Context) -> tuple[str, Lines]:
    """Return the Go expression for the constant entries of a map, and the lines that add its other entries.

    The lines add an entry to the map in `variable` only if the value of the entry is not empty.
    """
    constants = {key: node for key, node in lowest.entries.items() if is_constant(node)}
    lines: Lines = []
    tested = ((*_tested(node), key) for key, node in lowest.entries.items() if is_hole(node) and key not in constants)
    for test, entries in groupby(tested, key=lambda entry: entry[0]):
        lines += [
            f"{{{{- if {expression(test, context)} }}}}",
            *(
                f"{{{{- $_ := set {variable} {argument(key, context)} {_item_of_dict(node, context)} }}}}"
                for _, node, key in entries
            ),
            ENDED,
        ]
    return dict_of(constants, context), lines


def _item_of_dict(node: Node, context: Context) -> str:
    text = argument(node, context)
    return f"(toString {text})" if isinstance(node, h.Hole) and type_of(node) == "quantity" else text


def _tested(node: Expression) -> tuple[Node, Node]:
    """Return the test that decides whether a map gets an entry, and the value of the entry."""
    if not isinstance(node, h.When):
        return node, node
    if node.if_false is not ABSENT:
        raise TypeError(f"an entry of a merged map must not have a second branch: {node!r}")
    may_be_empty = not is_constant(node.if_true) and node.if_true != node.test
    return (h.AllOf((node.test, node.if_true)) if may_be_empty else node.test), node.if_true


# -- mappings and sequences --------------------------------------------------------------------------------------------


_AT_LINE_START: Final = " | nindent 0 }}"


def body_lines(node: Node, context: Context, indent: str) -> Lines:
    """Return the lines of a mapping or a sequence, without the line of its key.

    Raises:
        TypeError: the node is a scalar.
    """
    match node:
        case dict():
            return _entries(node, context, indent)
        case h.NamedTemplate() | h.Call() if type_of(node) in TREES:
            return _included(node, context, indent, [])
        case h.When():
            return when(node, context, indent, lambda branch, scope: body_lines(branch, scope, indent))
        case h.NotEmpty(tree):
            return [_tree_text(tree, context, len(indent))]
        case h.Hole() if type_of(node) in TREES:
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
    if isinstance(node, h.When) and presence(node) is True:
        return when(node, context, "", first_lines, end="-}}")  # each branch begins on a separate line
    if isinstance(node, h.JoinEntries):
        return _joined_lines(node, context)
    if isinstance(node, h.Text) and len(node.parts) > 1 and all(isinstance(part, h.When) for part in node.parts):
        return [text_of(part, context).replace("{{ if", "{{- if", 1) for part in node.parts]
    if type_of(node) not in TREES:
        return [keep_space(text_of(node, context))]
    first, *remaining = body_lines(_present_first(node, context), context, "")
    if first.startswith(("{{- include ", "{{- toYaml ")) and first.endswith(_AT_LINE_START):
        first = f"{{{{ {first.removeprefix('{{- ').removesuffix(_AT_LINE_START)} }}}}"
    return [first, *remaining]


def _joined_lines(node: h.JoinEntries, context: Context) -> Lines:
    """Return the lines that print a text for each entry of a map, with a separator between the texts."""
    body = text_of(node.body, context.range_body_of(node))
    return [
        '{{- $separator := "" -}}',
        f"{{{{- {range_action(node, context)} -}}}}",
        f"{{{{ $separator }}}}{{{{ $separator = {literal(node.separator)} }}}}{body}",
        ENDED,
    ]


def _present_first(node: Node, context: Context) -> Node:
    """Move an entry that is always present to the first place in a mapping. The comment above the entry also moves."""
    if not isinstance(node, dict):
        return node
    first: dict[Key, Node] = {}
    for name, child in node.items():
        if isinstance(name, h.Comment):
            first = {name: child}
        elif remaining_test(presence(child), context.facts) is True and not isinstance(child, h.When):
            return {**first, name: child, **node}
        else:
            first = {}
    return node


def _entries(mapping: Mapping[Key, Node], context: Context, indent: str) -> Lines:
    """Return the lines of a mapping's entries. Neighbouring entries with the same test share an ``if``."""
    lines: Lines = []
    for choice, entries in entries_under_one_test(mapping):
        if choice is not None:
            lines += body_lines(choice, context, indent)
        else:
            lines += [line for name, node in entries.items() for line in _entry(name, node, context, indent)]
    return lines


def _items(items: Sequence[Node], context: Context, indent: str) -> Lines:
    """Return the lines of a sequence's items. Neighbouring items with the same test share an ``if``."""
    lines: Lines = []
    for choice, group in items_under_one_test(items):
        if choice is None:
            lines += [line for item in group for line in _item(item, context, indent)]
        else:
            lines += body_lines(choice, context, indent)
    return lines


def _entry(name: Key, node: Node, context: Context, indent: str) -> Lines:
    """Return the lines of the entry `name: node` of a mapping."""
    if node is ABSENT:
        return []
    if isinstance(name, h.Comment):
        return comment(name.text, indent)
    if isinstance(node, h.When):
        return when(node, context, indent, lambda branch, scope: _entry(name, branch, scope, indent))
    if isinstance(name, h.Splice):
        return body_lines(node, context, indent)
    if not isinstance(name, h.Hole) and not has_holes(node):
        return indent_lines(escape(yaml_text.dump({name: node})), indent)
    head = f"{indent}{yaml_key(name, context)}:"
    if isinstance(node, h.File) and yaml_text.is_literal(node.text):
        return _block(node, context, head, indent + "  ")
    if isinstance(node, (h.NamedTemplate, h.Call)) and type_of(node) in TREES:
        return _included(node, context, indent, [head])
    if isinstance(node, h.NotEmpty):
        return [head, *body_lines(node, context, indent + ("  " if type_of(node) == "map" else ""))]
    if isinstance(node, h.Hole) and type_of(node) in TREES:
        return _tree(node, context, indent, [head])
    if isinstance(node, dict):
        body_indent = indent + "  "
        return when_present(node, context, indent, lambda n, scope: [head, *body_lines(n, scope, body_indent)])
    if isinstance(node, list | tuple):
        return when_present(node, context, indent, lambda n, scope: [head, *body_lines(n, scope, indent)])
    return [f"{head} {scalar(node, context)}"]


def _block(node: h.File, context: Context, head: str, indent: str) -> Lines:
    """Return the lines that print `head`, such as ``key:``, and the text of a file as a literal block of YAML (`|`)."""
    header = "|" if node.text.endswith("\n") else "|-"
    return [f"{head} {header}", f"{indent}{{{{- {expression(node, context)} | nindent {len(indent)} }}}}"]


def _item(node: Node, context: Context, indent: str) -> Lines:
    """Return the lines of an item of a sequence."""
    match node:
        case h.When():
            return when(node, context, indent, lambda n, scope: _item(n, scope, indent))
        case h.ForEach():
            return range_over(node, context, indent, lambda body, scope: _item(body, scope, indent))
        case h.Items(items):
            return _tree(items, context, indent, [])
        case dict() if has_holes(node):
            lines = body_lines(node, context, indent + "  ")
            if lines[0].lstrip().startswith("{{-"):
                raise TypeError(f"the first entry of a list item must always be present: {node!r}")
            return [f"{indent}- {lines[0].lstrip()}", *lines[1:]]
    if not has_holes(node):
        return indent_lines(escape(yaml_text.dump([node])), indent)
    if isinstance(node, h.File) and yaml_text.is_literal(node.text):
        return _block(node, context, f"{indent}-", indent + "  ")
    return [f"{indent}- {scalar(node, context)}"]


def _tree(node: Expression, context: Context, indent: str, head: Lines) -> Lines:
    """Return the lines that print a tunable map or list. For an empty value, Helm prints none of these lines.

    `head` contains the line of the key; empty for a map or list without a key.
    """
    depth = len(indent) + (2 if head and type_of(node) == "map" else 0)
    tree = node.tree if isinstance(node, h.AsText) else node
    if tree in context.facts:
        return [*head, _tree_text(node, context, depth)]
    return [
        f"{indent}{{{{- with {expression(tree, context)} }}}}",
        *head,
        _tree_text(node, context.replaced(dot="$", subject=tree), depth),
        f"{indent}{ENDED}",
    ]


def _tree_text(node: Expression, context: Context, depth: int) -> str:
    """Return the template action that prints a tunable map or list with an indentation of `depth` blanks."""
    if not isinstance(node, h.AsText):
        return f"{' ' * depth}{{{{- toYaml {argument(node, context)} | nindent {depth} }}}}"
    nindent = f' | trimPrefix "\\n" | nindent {depth}' if depth else ""
    return f"{' ' * depth}{{{{- {include_as_strings(node.tree, node.template, context)}{nindent} }}}}"


def _included(node: h.NamedTemplate | h.Call, context: Context, indent: str, head: Lines) -> Lines:
    """Return the lines that include a named template. If its output is empty, Helm prints none of these lines.

    `head` contains the line of the key; empty for a named template without a key.
    """
    template = node.template if isinstance(node, h.Call) else node
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
        f"{indent}{ENDED}",
    ]


@cached_on_record
def _begins_with_break(template: h.NamedTemplate) -> bool:
    """Test whether the output of a named template begins with a line break, because its first entry may be absent."""
    node, context = template.node, Context(chart="", parameters=template.parameters)
    while isinstance(node, h.Let):
        context, node = context.with_facts(*let_facts(node.name, node.expression)), node.body
    first = first_lines(node, context)[0]
    return first.startswith("{{-") and not first.endswith("-}}")


# -- named templates ---------------------------------------------------------------------------------------------------


def helpers_file(head: str, defines: Sequence[str]) -> str:
    """Return the text of a helper file (``_FILE.tpl``).

    Args:
        head: the comment at the top of the file.
        defines: the text of each named template.
    """
    return "\n".join([*comment(head, ""), "", *defines])


def define(template: h.NamedTemplate, context: Context) -> str:
    """Return the text of the ``define`` of a named template."""
    names = [*(["root"] if needs_root(template) else []), *template.parameters]
    doc = f"{template.doc} Takes {', '.join(names)}." if template.parameters else template.doc
    doc = "\n     ".join(textwrap.wrap(f"{{{{/* {doc}", COMMENT_WIDTH - len("  */}}")))
    body = _definition(template.node, context.replaced(parameters=template.parameters))
    head = [*f"{doc} */}}}}".split("\n"), f'{{{{- define "{context.full_name(template.name)}" -}}}}']
    return "".join(f"{line}\n" for line in [*head, *body, ENDED])


def _definition(node: Node, context: Context) -> Lines:
    lines, assignments = _body_lines(node, context)
    variables, texts = repeated_includes(lines, context, least=3 if type_of(node) in TREES else 2)
    if variables:
        lines, assignments = _body_lines(node, context.replaced(variables=variables))
    assignments = [*texts, *assignments]
    if assignments:  # the dash removes the line breaks of the assignments from the output of the named template
        assignments[-1] = f"{assignments[-1].removesuffix(' }}')} -}}}}"
    return [*assignments, *lines]


def _body_lines(node: Node, context: Context) -> tuple[Lines, Lines]:
    """Return the lines that print the content of a named template, and the lines that assign its variables."""
    assignments: Lines = []
    while isinstance(node, h.Let):
        assignments += assign(node.name, node.expression, context)
        context = context.with_names(node.name).with_facts(*let_facts(node.name, node.expression))
        node = node.body
    return first_lines(node, context), assignments


# -- template files ----------------------------------------------------------------------------------------------------


_KIND: Final = "kind"


def template_file(node: Node, context: Context) -> str:
    """Return the text of a template file. The file contains one object, or an object for each entry of a map."""
    lines = _document(node, context, separator=[])
    variables, assignments = repeated_includes(lines, context, least=3)
    if variables:
        lines = [*assignments, *_document(node, context.replaced(variables=variables), separator=[])]
    return "\n".join(without_repeated_reasons(lines)) + "\n"


def _document(node: Node, context: Context, separator: Lines) -> Lines:
    match node:
        case h.Let(name, expression, body):
            body_context = context.with_names(name).with_facts(*let_facts(name, expression))
            return [*assign(name, expression, context), *_document(body, body_context, separator)]
        case h.When():
            return when(node, context, "", lambda branch, scope: _document(branch, scope, separator))
        case h.ForEach():
            return range_over(node, context, "", lambda body, scope: _document(body, scope, ["---"]))
    return [*separator, *body_lines(_with_safe_end(node), context, "")]


def _with_safe_end(node: Node) -> Node:
    """Move the entry `kind` to the end of an object whose last value may end with empty lines.

    Helm removes white space from the end of an object, and would also remove the empty lines of the value.
    """
    if not (isinstance(node, dict) and _KIND in node and ends_in_tree(node)):
        return node
    return {**{key: value for key, value in node.items() if key != _KIND}, _KIND: node[_KIND]}
