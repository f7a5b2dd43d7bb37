"""Prints a template file that contains one or several objects.

Each(LABELS, {"kind": NAME})  ->  {{- range $name, $value := .Values.labels }}
                                  ---
                                  kind: {{ $name | quote }}
                                  {{- end }}
"""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import ForEach, Let, Node, When
from tfgen.targets.chart.go_template.context import Context, lines_of
from tfgen.targets.chart.go_template.flow_control import range_over, when
from tfgen.targets.chart.go_template.go_text import Lines, without_repeated_reasons
from tfgen.targets.chart.go_template.presence import ends_in_tree, let_facts
from tfgen.targets.chart.go_template.variables import assign, repeated_includes
from tfgen.targets.chart.go_template.yaml_lines import body_lines

_KIND: Final = "kind"


def template_file(node: Node, context: Context) -> str:
    """Return the text of a template file. The file contains one object, or an object for each entry of a map."""
    return "\n".join(template_lines(node, context)) + "\n"


def template_lines(node: Node, context: Context) -> Lines:
    """Return the lines of a template file. Each line refers to the node that the line prints."""
    lines = _document(node, context, separator=[])
    variables, assignments = repeated_includes(lines, context, least=3)
    if variables:
        lines = [*assignments, *_document(node, context.replaced(variables=variables), separator=[])]
    return without_repeated_reasons(lines)


def _document(node: Node, context: Context, separator: Lines) -> Lines:
    match node:
        case Let(name, expression, body):
            body_context = context.with_binding(name, expression).with_facts(*let_facts(name, expression))
            assignments = lines_of(expression, assign(name, expression, context), context)
            return [*assignments, *_document(body, body_context, separator)]
        case When():
            return when(node, context, "", lambda branch, scope: _document(branch, scope, separator))
        case ForEach():
            return range_over(node, context, "", lambda body, scope: _document(body, scope, ["---"]))
    return [*separator, *body_lines(_with_safe_end(node), context, "")]


def _with_safe_end(node: Node) -> Node:
    """Move the entry `kind` to the end of an object whose last value may end with empty lines.

    Helm removes white space from the end of an object, and would also remove the empty lines of the value.
    """
    if not (isinstance(node, dict) and _KIND in node and ends_in_tree(node)):
        return node
    return {**{key: value for key, value in node.items() if key != _KIND}, _KIND: node[_KIND]}
