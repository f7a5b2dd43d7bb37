"""A node as text within a line, or as a free text such as ``NOTES.txt``: actions of Go templates between words.

Text(("run ", When(IMAGE, IMAGE, "none")))  ->  run {{ if .Values.image }}{{ .Values.image }}{{ else }}none{{ end }}
"""

from __future__ import annotations

from tfgen.graph.holes import ABSENT, Absent, ChartOnly, JoinEntries, Node, Repeat, Text, When
from tfgen.targets.chart.go_template.context import Context
from tfgen.targets.chart.go_template.expressions import argument, chart_only, expression, typed
from tfgen.targets.chart.go_template.go_text import escape, join, literal


def text_of(node: Node, context: Context) -> str:
    """A node as text within a line or a free text such as NOTES.txt."""
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
            comma = f"{{{{ if ${index} }}}},{{{{ end }}}}"
            times = f"{{{{- range ${index} := until (int {argument(count, context)}) }}}}"
            return f"{times}{comma}{text_of(body, context.inside)}{{{{ end }}}}"
        case JoinEntries(over, separator, body, key, item):
            head = f"{{{{- range ${key}, ${item} := {expression(over, context)} }}}}{{{{ $separator }}}}"
            then = f"{{{{ $separator = {literal(separator)} }}}}"
            return f'{{{{- $separator := "" }}}}{head}{then}{text_of(body, context.inside)}{{{{ end }}}}'
        case When(test, then, otherwise):
            out = f"{{{{ if {expression(test, context)} }}}}{text_of(then, context)}"
            while isinstance(otherwise, When):
                out += f"{{{{ else if {expression(otherwise.test, context)} }}}}{text_of(otherwise.if_true, context)}"
                otherwise = otherwise.if_false
            return f"{out}{'' if otherwise is ABSENT else '{{ else }}' + text_of(otherwise, context)}{{{{ end }}}}"
    return f"{{{{ {typed(node, context)} }}}}"
