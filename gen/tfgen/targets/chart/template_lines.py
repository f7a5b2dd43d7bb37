"""Returns the templates of a chart as lines. A line that prints a node of the object graph refers to this node.

`tfgen explain FILE:LINE` needs the nodes. `templates.template_files` returns the templates as texts without nodes, and
is faster, because it caches the texts for all jobs with the same structure.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfgen.graph.graph import graph
from tfgen.graph.guards import guards
from tfgen.graph.holes import Node, Text, named_templates
from tfgen.graph.provenance import bindings_of_named_templates
from tfgen.job.training_job import Structure
from tfgen.targets.chart.go_template.expressions import text_of
from tfgen.targets.chart.go_template.lines import helpers_lines, template_lines
from tfgen.targets.chart.go_template.syntax import Context, Line, Lines, lines_of
from tfgen.targets.chart.guards_file import guards_lines
from tfgen.targets.chart.notes import NOTES, environment_notes, notes
from tfgen.targets.chart.print_templates import FILE_HEADS
from tfgen.targets.chart.wrap import wrap


def chart_lines(structure: Structure, environments: Iterable[str]) -> dict[str, Lines]:
    """Return the lines of each template of a chart, and of the notes. The keys of the result are paths in the chart.

    A line that prints a node of the object graph is a `Line`, which refers to the node. A line of constant text is a
    plain string.

    Args:
        structure: the structure of the job.
        environments: the environments that the notes list.
    """
    context = Context(structure.name)
    templates, checks, notes_text = graph(structure), guards(structure), notes(structure)
    nodes = [*templates, *checks, notes_text]
    bindings, defined = bindings_of_named_templates(nodes), named_templates(nodes).values()
    files = {f"templates/{template.name}.yaml": template_lines(template.node, context) for template in templates}
    files["templates/guards.yaml"] = guards_lines(checks, templates, context)
    for file in sorted({item.file for item in defined}):
        in_file = [item for item in defined if item.file == file]
        files[f"templates/_{file}.tpl"] = helpers_lines(FILE_HEADS[file], in_file, bindings, context)
    wrapped = {path: [piece for line in lines for piece in _wrapped(line)] for path, lines in files.items()}
    return {**wrapped, NOTES: [*_text_lines(notes_text, context), *environment_notes(environments).splitlines()]}


def _wrapped(line: str) -> Lines:
    """Split a long line into pieces. Each piece of a `Line` refers to the same node as the whole line."""
    pieces = wrap(line).split("\n")
    return lines_of(line.node, pieces, line.context) if isinstance(line, Line) else pieces


def _text_lines(text: Node, context: Context) -> Lines:
    """Return the lines of a file that is not YAML, such as NOTES.txt.

    Each line refers to the nodes that the line prints.
    """
    nodes: list[list[Node]] = [[]]
    printed = text_of(text, context).splitlines()
    for part in text.parts if isinstance(text, Text) else (text,):
        nodes[-1].append(part)
        nodes += [[part] for _ in range(text_of(part, context).count("\n"))]
    return [
        line
        for text, parts in zip(printed, nodes, strict=False)
        for line in lines_of(Text(tuple(parts)), [text], context)
    ]
