"""Prints named templates: the ``define`` of a named template, and the helper files (``_FILE.tpl``).

NamedTemplate("run", "The run.", Release("Release.Name"))  ->  {{/* The run. */}}
                                                               {{- define "mnist.run" -}}
                                                               {{ .Release.Name }}
                                                               {{- end }}
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from tfgen.graph.holes import Let, NamedTemplate, Node
from tfgen.graph.provenance import Bindings
from tfgen.record import EMPTY
from tfgen.targets.chart.go_template.context import Context, lines_of, with_text
from tfgen.targets.chart.go_template.go_text import COMMENT_WIDTH, Lines, comment
from tfgen.targets.chart.go_template.nodes import is_map_or_list, needs_root
from tfgen.targets.chart.go_template.presence import let_facts
from tfgen.targets.chart.go_template.variables import assign, repeated_includes
from tfgen.targets.chart.go_template.yaml_lines import first_lines


def helpers_file(head: str, defines: Sequence[str]) -> str:
    """Return the text of a helper file (``_FILE.tpl``).

    Args:
        head: the comment at the top of the file.
        defines: the text of each named template.
    """
    return "\n".join([*comment(head, ""), "", *defines])


def helpers_lines(
    head: str, templates: Sequence[NamedTemplate], bindings: Mapping[str, Bindings], context: Context
) -> Lines:
    """Return the lines of a helper file (``_FILE.tpl``). Each line refers to the node that the line prints.

    Args:
        head: the comment at the top of the file.
        templates: the named templates in the file.
        bindings: for the name of each named template, the nodes to which its parameters refer.
        context: the context outside of the named templates.
    """
    lines = [*comment(head, ""), ""]
    for template in templates:
        lines += [*define_lines(template, context.replaced(bindings=bindings.get(template.name, EMPTY))), ""]
    return lines[:-1]


def define(template: NamedTemplate, context: Context) -> str:
    """Return the text of the ``define`` of a named template."""
    return "".join(f"{line}\n" for line in define_lines(template, context))


def define_lines(template: NamedTemplate, context: Context) -> Lines:
    """Return the lines of the ``define`` of a named template. Each line refers to the node that the line prints."""
    names = [*(["root"] if needs_root(template) else []), *template.parameters]
    doc = f"{template.doc} Takes {', '.join(names)}." if template.parameters else template.doc
    doc = "\n     ".join(textwrap.wrap(f"{{{{/* {doc}", COMMENT_WIDTH - len("  */}}")))
    context = context.replaced(template_doc=template.doc)
    body = _definition(template.node, context.replaced(parameters=template.parameters))
    head = [*f"{doc} */}}}}".split("\n"), f'{{{{- define "{context.full_name(template.name)}" -}}}}']
    return lines_of(template, [*head, *body, "{{- end }}"], context)


def _definition(node: Node, context: Context) -> Lines:
    lines, assignments = _body_lines(node, context)
    variables, texts = repeated_includes(lines, context, least=3 if is_map_or_list(node) else 2)
    if variables:
        lines, assignments = _body_lines(node, context.replaced(variables=variables))
    assignments = [*texts, *assignments]
    if assignments:  # the dash removes the line breaks of the assignments from the output of the named template
        assignments[-1] = with_text(assignments[-1], f"{assignments[-1].removesuffix(' }}')} -}}}}")
    return [*assignments, *lines]


def _body_lines(node: Node, context: Context) -> tuple[Lines, Lines]:
    """Return the lines that print the content of a named template, and the lines that assign its variables."""
    assignments: Lines = []
    while isinstance(node, Let):
        assignments += lines_of(node.expression, assign(node.name, node.expression, context), context)
        context = context.with_binding(node.name, node.expression).with_facts(*let_facts(node.name, node.expression))
        node = node.body
    return lines_of(node, first_lines(node, context), context), assignments
