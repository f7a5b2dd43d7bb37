"""A part with a name of its own as the ``define`` that templates include, and the files of such parts.

Named("run", "The run.", Release("Release.Name"))  ->  {{/* The run. */}}
                                                       {{- define "mnist.run" -}}
                                                       {{ .Release.Name }}
                                                       {{- end }}
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from tfgen.graph.holes import Let, Named, Node
from tfgen.targets.chart.go_template.context import Context
from tfgen.targets.chart.go_template.go_text import COMMENT_WIDTH, Lines, comment
from tfgen.targets.chart.go_template.nodes import is_tree, needs_root
from tfgen.targets.chart.go_template.presence import known_of
from tfgen.targets.chart.go_template.variables import assign, texts_asked_for
from tfgen.targets.chart.go_template.yaml_lines import first_lines


def helpers_file(head: str, defines: Sequence[str]) -> str:
    """``_FILE.tpl``: a head that says what is in it, then the defines of its parts."""
    return "\n".join([*comment(head, ""), "", *defines])


def define(part: Named, context: Context) -> str:
    """The ``define`` of a part."""
    names = [*(["root"] if needs_root(part) else []), *part.parameters]
    doc = f"{part.doc} Takes {', '.join(names)}." if part.parameters else part.doc
    doc = "\n     ".join(textwrap.wrap(f"{{{{/* {doc}", COMMENT_WIDTH - len("  */}}")))
    body = "\n".join(_definition(part.node, context.replaced(parameters=part.parameters)))
    return f'{doc} */}}}}\n{{{{- define "{context.full_name(part.name)}" -}}}}\n{body}\n{{{{- end }}}}\n'


def _definition(node: Node, context: Context) -> Lines:
    lines, assigned = _own_lines(node, context)
    variables, texts = texts_asked_for(lines, context, least=3 if is_tree(node) else 2)
    if variables:
        lines, assigned = _own_lines(node, context.replaced(variables=variables))
    assigned = [*texts, *assigned]
    if assigned:  # what they leave behind would be an empty line where the part is used
        assigned[-1] = f"{assigned[-1].removesuffix(' }}')} -}}}}"
    return [*assigned, *lines]


def _own_lines(node: Node, context: Context) -> tuple[Lines, Lines]:
    """The lines of a part's text, and those before them, that name what it uses."""
    assigned: Lines = []
    while isinstance(node, Let):
        assigned += assign(node.name, node.expression, context)
        context, node = context.knowing(*known_of(node.name, node.expression)), node.body
    return first_lines(node, context), assigned
