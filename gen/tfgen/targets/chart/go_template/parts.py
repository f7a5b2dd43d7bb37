"""A part with a name of its own as the ``define`` that templates include, and the files of such parts.

Named("run", "The run.", Release("Release.Name"))  ->  {{/* The run. */}}
                                                       {{- define "mnist.run" -}}
                                                       {{ .Release.Name }}
                                                       {{- end }}
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from tfgen.graph.holes import Let, Named, Node
from tfgen.graph.provenance import Bindings
from tfgen.record import EMPTY
from tfgen.targets.chart.go_template.context import Context, lines_of, with_text
from tfgen.targets.chart.go_template.go_text import COMMENT_WIDTH, Lines, comment
from tfgen.targets.chart.go_template.nodes import is_tree, needs_root
from tfgen.targets.chart.go_template.presence import known_of
from tfgen.targets.chart.go_template.variables import assign, texts_asked_for
from tfgen.targets.chart.go_template.yaml_lines import first_lines


def helpers_file(head: str, defines: Sequence[str]) -> str:
    """``_FILE.tpl``: a head that says what is in it, then the defines of its parts."""
    return "\n".join([*comment(head, ""), "", *defines])


def helpers_lines(head: str, parts: Sequence[Named], bindings: Mapping[str, Bindings], context: Context) -> Lines:
    """Return the lines of ``_FILE.tpl`` with their nodes.

    Args:
        head: the purpose of the file.
        parts: the parts in the file.
        bindings: the bindings of the parameters of each part.
        context: the context of the root.
    """
    lines = [*comment(head, ""), ""]
    for part in parts:
        lines += [*define_lines(part, context.replaced(bindings=bindings.get(part.name, EMPTY))), ""]
    return lines[:-1]


def define(part: Named, context: Context) -> str:
    """Return the text of the ``define`` of a part."""
    return "".join(f"{line}\n" for line in define_lines(part, context))


def define_lines(part: Named, context: Context) -> Lines:
    """Return the lines of the ``define`` of a part, with their nodes."""
    names = [*(["root"] if needs_root(part) else []), *part.parameters]
    doc = f"{part.doc} Takes {', '.join(names)}." if part.parameters else part.doc
    doc = "\n     ".join(textwrap.wrap(f"{{{{/* {doc}", COMMENT_WIDTH - len("  */}}")))
    context = context.replaced(part=part.doc)
    body = _definition(part.node, context.replaced(parameters=part.parameters))
    head = [*f"{doc} */}}}}".split("\n"), f'{{{{- define "{context.full_name(part.name)}" -}}}}']
    return lines_of(part, [*head, *body, "{{- end }}"], context)


def _definition(node: Node, context: Context) -> Lines:
    lines, assigned = _own_lines(node, context)
    variables, texts = texts_asked_for(lines, context, least=3 if is_tree(node) else 2)
    if variables:
        lines, assigned = _own_lines(node, context.replaced(variables=variables))
    assigned = [*texts, *assigned]
    if assigned:  # what they leave behind would be an empty line where the part is used
        assigned[-1] = with_text(assigned[-1], f"{assigned[-1].removesuffix(' }}')} -}}}}")
    return [*assigned, *lines]


def _own_lines(node: Node, context: Context) -> tuple[Lines, Lines]:
    """The lines of a part's text, and those before them, that name what it uses."""
    assigned: Lines = []
    while isinstance(node, Let):
        assigned += lines_of(node.expression, assign(node.name, node.expression, context), context)
        context = context.binding(node.name, node.expression).knowing(*known_of(node.name, node.expression))
        node = node.body
    return lines_of(node, first_lines(node, context), context), assigned
