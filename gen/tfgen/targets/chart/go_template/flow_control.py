"""Flow control around lines: ``if``, ``with`` and ``range``, for which Helm's documents have that name.

When(ENABLED, {"a": 1})  ->  {{- if .Values.gang.enabled }}
                             a: 1
                             {{- end }}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tfgen.graph.holes import ABSENT, ForEach, Node, Not, When
from tfgen.targets.chart.go_template.context import Context, lines_of
from tfgen.targets.chart.go_template.expressions import expression
from tfgen.targets.chart.go_template.go_text import Lines
from tfgen.targets.chart.go_template.presence import all_of, inner_test, is_of, mentions, presence, unknown

Branch: TypeAlias = Callable[[Node, Context], Lines]
"""What is printed of a branch, in the context there."""


def when(node: When, context: Context, indent: str, lines: Branch) -> Lines:
    """``if``, ``else if`` ... around what `lines` gives for each branch."""
    if node.if_true is ABSENT:
        node = When(Not(node.test), node.if_false)
    if node.if_false is ABSENT:
        return _if(node.test, node.if_true, context, indent, lines)
    out, word = [], "if"
    rest: Node = node
    while isinstance(rest, When) and rest.if_true is not ABSENT:
        inside = context.knowing(rest.test)
        head = [f"{indent}{{{{- {word} {expression(rest.test, context)} }}}}"]
        out += [*lines_of(rest.test, head, context), *lines(rest.if_true, inside)]
        rest, word = rest.if_false, "else if"
    if rest is not ABSENT:
        out += [*lines_of(node.test, [f"{indent}{{{{- else }}}}"], context), *lines(rest, context)]
    return lines_of(node.test, [*out, f"{indent}{{{{- end }}}}"], context)


def when_left(node: Node, context: Context, indent: str, lines: Branch) -> Lines:
    """The lines, under the condition that anything of the node is left."""
    test = presence(node)
    return lines(node, context) if test is True else _if(test, node, context, indent, lines)


def range_over(node: ForEach, context: Context, indent: str, lines: Branch) -> Lines:
    """``range`` around what `lines` gives for the body."""
    head = f"{indent}{{{{- range ${node.key}, ${node.item} := {expression(node.over, context)} }}}}"
    still = tuple(test for test in context.known if not mentions(test, (node.key, node.item)))
    body = lines(node.body, context.binding_entry(node).replaced(known=still))
    return lines_of(node.over, [head, *body, f"{indent}{{{{- end }}}}"], context)


def _if(test: Node, node: Node, context: Context, indent: str, lines: Branch) -> Lines:
    """One branch: under one test with what all of it stands under, and by ``with`` where it is of that alone."""
    inner = inner_test(node)
    left = unknown(test if inner is None else all_of(test, inner), context.known)
    if left is True:
        return lines(node, context)
    inside = context.knowing(left)
    if is_of(node, left):
        inside, word = inside.replaced(dot="$", subject=left), "with"
    else:
        word = "if"
    head, end = f"{indent}{{{{- {word} {expression(left, context)} }}}}", f"{indent}{{{{- end }}}}"
    return lines_of(left, [head, *lines(node, inside), end], context)
