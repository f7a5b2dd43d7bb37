"""Prints the files of a chart that depend only on the structure of a job: templates, helper files, guards and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tfgen.graph.graph import graph
from tfgen.graph.guards import guards
from tfgen.graph.holes import NamedTemplate, Node, cached_on_record, chart_files, named_templates
from tfgen.graph.structure_cache import NAME, cached_by_structure
from tfgen.graph.template import Template
from tfgen.job.training_job import Structure
from tfgen.record import Record
from tfgen.targets.chart.go_template.expressions import text_of
from tfgen.targets.chart.go_template.lines import define, helpers_file, template_file
from tfgen.targets.chart.go_template.syntax import Context
from tfgen.targets.chart.guards_file import guards_file
from tfgen.targets.chart.notes import NOTES, notes
from tfgen.targets.chart.wrap import wrap

_CONTEXT: Final = Context(NAME)

FILE_HEADS: Final[Mapping[str, str]] = {
    "helpers": "Names, labels and the cluster. A named template takes the root context or a dict with the listed keys.",
    "pod": "The pod of a task. The template of a role includes the pod with the name and values of the role.",
    "environment": "The environment variables of a task.",
    "scheduling": "The scheduling fields of a pod.",
    "run-lock": "The containers that keep two runs from writing to one folder at the same time.",
    "volumes": "The volumes of a pod and their mounts.",
    "released": "The condition under which an upgrade does not start the tasks of a finished run again.",
    "finisher": "The pod of the finisher, which releases the tasks when the training ends.",
}
"""Name of a helper file (`templates/_NAME.tpl`) -> comment at the top of the file."""


def print_templates(structure: Structure, length: int) -> dict[str, str]:
    """Return the text of each template, and of each other file that the templates read, such as the finisher's program.

    The keys of the result are paths in the chart. A placeholder replaces the name of the chart in the templates. The
    placeholder and the name have the same length `length`, on which the wrapping of lines depends.
    """
    printed, mark = _printed(structure), NAME * length
    templates = {path: wrap(text.replace(NAME, mark)) for path, text in printed.templates.items()}
    return {**templates, **printed.files}


class _Printed(Record):
    """The printed files that all jobs with the same structure share. The keys are paths in the chart.

    Attributes:
        templates: the text of each template, with a placeholder for the name of the chart.
        files: the text of each other file, such as a program that a template reads.
    """

    templates: Mapping[str, str]
    files: Mapping[str, str]


@cached_by_structure
def _printed(structure: Structure) -> _Printed:
    templates, checks, notes_text = graph(structure), guards(structure), notes(structure)
    nodes = [*templates, *checks, notes_text]
    files = {f"templates/{template.name}.yaml": _template_text(template) for template in templates}
    files["templates/guards.yaml"] = guards_file(checks, templates, _CONTEXT)
    files[NOTES] = text_of(notes_text, _CONTEXT)
    return _Printed({**files, **_helper_files(nodes)}, chart_files(nodes))


@cached_on_record
def _template_text(template: Template) -> str:
    return template_file(template.node, _CONTEXT)


@cached_on_record
def _define(template: NamedTemplate) -> str:
    return define(template, _CONTEXT)


def _helper_files(nodes: Sequence[Node | Record]) -> dict[str, str]:
    """Return the text of each helper file. A helper file, such as `templates/_pod.tpl`, defines named templates.

    `nodes` are the nodes of the object graph that include the named templates.
    """
    templates = named_templates(nodes).values()
    return {
        f"templates/_{file}.tpl": helpers_file(
            FILE_HEADS[file], [_define(item) for item in templates if item.file == file]
        )
        for file in sorted({item.file for item in templates})
    }
