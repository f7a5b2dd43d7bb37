"""The text of one template file: an object, or several.

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
from tfgen.targets.chart.go_template.go_text import Lines, with_reasons_once
from tfgen.targets.chart.go_template.presence import ends_in_tree, known_of
from tfgen.targets.chart.go_template.variables import assign, texts_asked_for
from tfgen.targets.chart.go_template.yaml_lines import body_lines

_END: Final = "# end, so that Helm cuts no empty line off the text above"
"""The last line of an object whose last text is a user's. Helm cuts the white space off the end of all that it prints,
and puts a line break of its own after each object: a text of empty lines, which YAML keeps, would lose or gain one."""


def template_file(node: Node, context: Context) -> str:
    """The text of one template file: an object, or several of an `ForEach`, each after ``---``."""
    return "\n".join(template_lines(node, context)) + "\n"


def template_lines(node: Node, context: Context) -> Lines:
    """Return the lines of a template file, with their nodes."""
    lines = _document(node, context, separator=[])
    variables, assigned = texts_asked_for(lines, context, least=3)
    if variables:
        lines = [*assigned, *_document(node, context.replaced(variables=variables), separator=[])]
    return with_reasons_once(lines)


def _document(node: Node, context: Context, separator: Lines) -> Lines:
    match node:
        case Let(name, expression, body):
            inside = context.binding(name, expression).knowing(*known_of(name, expression))
            assigned = lines_of(expression, assign(name, expression, context), context)
            return [*assigned, *_document(body, inside, separator)]
        case When():
            return when(node, context, "", lambda inner, there: _document(inner, there, separator))
        case ForEach():
            return range_over(node, context, "", lambda body, there: _document(body, there, ["---"]))
    return [*separator, *body_lines(node, context, ""), *([_END] if ends_in_tree(node) else [])]
