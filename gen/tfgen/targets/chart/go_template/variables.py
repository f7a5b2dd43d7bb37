"""Prints the lines that assign a variable of a template.

Let("role", Value("roles.ps", "map"), ...)  ->  {{- $role := .Values.roles.ps }}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from tfgen.graph.holes import (
    ABSENT,
    AllOf,
    Expression,
    Filtered,
    ForEach,
    Hole,
    MapOf,
    Merged,
    Node,
    When,
    is_hole,
    type_of,
)
from tfgen.targets.chart.go_template.context import Context
from tfgen.targets.chart.go_template.expressions import argument, arguments, dict_of, expression, range_action
from tfgen.targets.chart.go_template.go_text import ENDED, Lines, literal, with_shared_tests
from tfgen.targets.chart.go_template.nodes import is_constant

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
    if isinstance(node, Filtered):
        return _filter(variable, node, context)
    if isinstance(node, When):
        return _choose(variable, node, context)
    if not isinstance(node, Merged):
        return [f"{{{{- {variable} := {expression(node, context)} }}}}"]
    lowest, *maps = node.maps
    if isinstance(lowest, MapOf):
        first, lines = _map_of(variable, lowest, context)
    else:
        first, lines = f"deepCopy {argument(lowest, context)}", Lines()
    if node.flat and maps and not lines and not any(isinstance(tree, When) for tree in maps):
        return [" ".join([f"{{{{- {variable} := mergeOverwrite ({first})", *arguments(maps, context), "}}"])]
    lines.insert(0, f"{{{{- {variable} := {first} }}}}")
    for is_tested, run in groupby(maps, key=lambda tree: isinstance(tree, When)):
        if is_tested:
            lines += [
                line for tree in run for line in _conditional_merge_lines(variable, tree, context, flat=node.flat)
            ]
        else:
            lines += _merge_lines(variable, [*run], context, flat=node.flat)
    return with_shared_tests(lines)


def _choose(variable: str, node: When, context: Context) -> Lines:
    """Return the lines that assign the value of a `When` to `variable`."""
    # The first lines assign the second branch, and the last lines replace this value if the test is true.
    return [
        *_assign(variable, node.if_false, context),
        f"{{{{- if {expression(node.test, context)} }}}}",
        f"{{{{- {variable} = {expression(node.if_true, context)} }}}}",
        "{{- end }}",
    ]


def _conditional_merge_lines(variable: str, choice: Node, context: Context, *, flat: bool) -> Lines:
    """Return an ``if`` block that merges a map into the map in `variable`.

    Args:
        variable: the variable, such as `$labels`.
        choice: a `When` that contains the test of the ``if`` and the map.
        context: the context of the lines.
        flat: whether all entries of the map are scalars.
    """
    if not isinstance(choice, When) or choice.if_false != MapOf({}) or not is_hole(choice.if_true):
        raise TypeError(f"a merged map must not have a second branch: {choice!r}")
    if isinstance(choice.if_true, MapOf):
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
    lines: Lines = []
    for tree in maps:
        entries = ForEach(tree, ABSENT, "key")
        body = context.range_body_of(entries)
        lines += [
            f"{{{{- {range_action(entries, context)} }}}}",
            f"{{{{- $_ := set {variable} {body.variable(entries.key)} {body.variable(entries.item)} }}}}",
            "{{- end }}",
        ]
    return lines


def _filter(variable: str, node: Filtered, context: Context) -> Lines:
    body = context.range_body_of(node)
    return [
        f"{{{{- {variable} := dict }}}}",
        f"{{{{- {range_action(node, context)} }}}}",
        f"{{{{- if {expression(node.test, body)} }}}}",
        f"{{{{- $_ := set {variable} {body.variable(node.key)} {body.variable(node.item)} }}}}",
        "{{- end }}",
        "{{- end }}",
    ]


def _map_of(variable: str, lowest: MapOf, context: Context) -> tuple[str, Lines]:
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
            "{{- end }}",
        ]
    return dict_of(constants, context), lines


def _item_of_dict(node: Node, context: Context) -> str:
    text = argument(node, context)
    return f"(toString {text})" if isinstance(node, Hole) and type_of(node) == "quantity" else text


def _tested(node: Expression) -> tuple[Node, Node]:
    """Return the test that decides whether a map gets an entry, and the value of the entry."""
    if not isinstance(node, When):
        return node, node
    if node.if_false is not ABSENT:
        raise TypeError(f"an entry of a merged map must not have a second branch: {node!r}")
    may_be_empty = not is_constant(node.if_true) and node.if_true != node.test
    return (AllOf((node.test, node.if_true)) if may_be_empty else node.test), node.if_true
