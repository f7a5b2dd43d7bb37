"""Prints a node as text inside a line, or as a free text such as ``NOTES.txt``.

Text(("run ", When(IMAGE, IMAGE, "none")))  ->  run {{ if .Values.image }}{{ .Values.image }}{{ else }}none{{ end }}
"""

from __future__ import annotations

from tfgen.graph.holes import ABSENT, Absent, ChartOnly, JoinEntries, Node, Repeat, Text, When
from tfgen.targets.chart.go_template.context import Context
from tfgen.targets.chart.go_template.expressions import argument, chart_only, expression, range_action, typed
from tfgen.targets.chart.go_template.go_text import escape, join, literal


def text_of(node: Node, context: Context) -> str:
    """Return the template text that prints a node inside a line, such as ``run {{ .Values.run }}``."""
    match node:
        case str():
            return escape(node)
        case int():
            return str(node)
        case Absent():
            return ""
        case Text(parts):
            return join([text_of(part, context) for part in parts])
        case ChartOnly():
            return chart_only(node, context)
        case Repeat(count, body, index):
            body_context = context.range_body.with_names(index)
            comma = f"{{{{ if {body_context.variable(index)} }}}},{{{{ end }}}}"
            times = f"{{{{- range {body_context.variable(index)} := until (int {argument(count, context)}) }}}}"
            return f"{times}{comma}{text_of(body, body_context)}{{{{ end }}}}"
        case JoinEntries(separator=separator, body=body):
            head = f"{{{{- {range_action(node, context)} }}}}{{{{ $separator }}}}"
            assignment = f"{{{{ $separator = {literal(separator)} }}}}"
            entry = text_of(body, context.range_body_of(node))
            return f'{{{{- $separator := "" }}}}{head}{assignment}{entry}{{{{ end }}}}'
        case When(test, if_true, if_false):
            out = f"{{{{ if {expression(test, context)} }}}}{text_of(if_true, context)}"
            while isinstance(if_false, When):
                out += f"{{{{ else if {expression(if_false.test, context)} }}}}{text_of(if_false.if_true, context)}"
                if_false = if_false.if_false
            return f"{out}{'' if if_false is ABSENT else '{{ else }}' + text_of(if_false, context)}{{{{ end }}}}"
    return f"{{{{ {typed(node, context)} }}}}"
