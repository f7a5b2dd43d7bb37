"""Prints ``if``, ``with`` and ``range`` around lines.

When(ENABLED, {"a": 1})  ->  {{- if .Values.gang.enabled }}
                             a: 1
                             {{- end }}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tfgen.graph.holes import ABSENT, ForEach, Node, Not, When
from tfgen.targets.chart.go_template.context import Context, lines_of
from tfgen.targets.chart.go_template.expressions import expression, range_action
from tfgen.targets.chart.go_template.go_text import Lines
from tfgen.targets.chart.go_template.presence import (
    all_of,
    branch_test,
    depends_only_on,
    presence,
    remaining_test,
)

Branch: TypeAlias = Callable[[Node, Context], Lines]
"""Function that returns the lines for a node, such as a branch of a `When`, in a context."""


def when(node: When, context: Context, indent: str, lines: Branch) -> Lines:
    """Return ``if``, ``else if`` and ``else`` around the lines of the branches of a `When`.

    A `When` is a node with a test and two branches. The function `lines` returns the lines of a branch.
    """
    if node.if_true is ABSENT:
        node = When(Not(node.test), node.if_false)
    if node.if_false is ABSENT:
        return _if(node.test, node.if_true, context, indent, lines)
    out, word = [], "if"
    branch: Node = node
    while isinstance(branch, When) and branch.if_true is not ABSENT:
        head = [f"{indent}{{{{- {word} {expression(branch.test, context)} }}}}"]
        out += [*lines_of(branch.test, head, context), *lines(branch.if_true, context.with_facts(branch.test))]
        branch, word = branch.if_false, "else if"
    if branch is not ABSENT:
        out += [*lines_of(node.test, [f"{indent}{{{{- else }}}}"], context), *lines(branch, context)]
    return lines_of(node.test, [*out, f"{indent}{{{{- end }}}}"], context)


def when_present(node: Node, context: Context, indent: str, lines: Branch) -> Lines:
    """Return the lines of a node. If the output of the node may be empty, an ``if`` around the lines tests the output.

    The function `lines` returns the lines of the node.
    """
    test = presence(node)
    return lines(node, context) if test is True else _if(test, node, context, indent, lines)


def range_over(node: ForEach, context: Context, indent: str, lines: Branch) -> Lines:
    """Return the lines of a ``range`` over the entries of a map. The function `lines` returns the lines of the body."""
    body_context = context.range_body_of(node)
    head = f"{indent}{{{{- {range_action(node, context)} }}}}"
    return lines_of(node.over, [head, *lines(node.body, body_context), f"{indent}{{{{- end }}}}"], context)


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
    head, end = f"{indent}{{{{- {word} {expression(needed_test, context)} }}}}", f"{indent}{{{{- end }}}}"
    return lines_of(needed_test, [head, *lines(node, branch_context), end], context)
