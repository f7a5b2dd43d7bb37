"""Explain a line of a chart, for `tfgen explain FILE:LINE`."""

from __future__ import annotations

from typing import Final

from tfgen.commands.line_origin.job_parts import JobParts
from tfgen.commands.line_origin.line_facts import LineFacts
from tfgen.commands.line_origin.pages import ENVIRONMENTS, RUNS, purpose
from tfgen.data_path import Path
from tfgen.graph.holes import Guard
from tfgen.graph.provenance import JOB_NAME, sources
from tfgen.targets.chart.go_template.syntax import Line
from tfgen.targets.chart.notes import NOTES
from tfgen.text.line_path import line_paths

_RULES: Final = "docs/rules.md"
_CHART_FIELDS: Final[dict[str, tuple[Path, ...]]] = {
    "name": (JOB_NAME,),
    "description": (JOB_NAME,),
    "appVersion": (("spec", "image"),),
    **{field: (("spec", "chart", field),) for field in ("keywords", "home", "sources", "maintainers", "icon")},
}
"""The keys of job.yaml that set a field of Chart.yaml, by the name of the field."""

_VALUES: Final = "values.yaml"
_SCHEMA: Final = "values.schema.json"
_PLAIN: Final = {
    "README.md": "The README describes the chart. Its tables come from the values of the job and from their schema.",
    ".helmignore": "Helm does not add the files of editors and operating systems to the package of the chart.",
}


def chart_line(parts: JobParts, file: str, number: int, text: str) -> LineFacts:
    """Return the job keys, the reason and the documentation page for a line of a file in a chart.

    Args:
        parts: the job.
        file: the path of the file in the chart.
        number: the number of the line, from 1.
        text: the text of the file.
    """
    if file in parts.templates:
        return _template_line(parts, file, parts.templates[file][number - 1])
    if file in _PLAIN:
        return LineFacts(_PLAIN[file], ENVIRONMENTS)
    if file.startswith("files/"):
        return program_line(file)
    path = line_paths(text)[number - 1]
    if file == "Chart.yaml":
        return _chart_yaml_line(path)
    if file == _SCHEMA:
        return _schema_line(path)
    environment = None if file == _VALUES else file.removeprefix("values-").removesuffix(".yaml")
    reason = "The line is a value of the chart." if environment is None else "The line is a value of the environment."
    keys = frozenset((("spec", *path),) if path else ())
    return LineFacts(reason, ENVIRONMENTS, sources=keys, environment=environment)


def program_line(file: str) -> LineFacts:
    """Return the job keys, the reason and the documentation page for a line of a program in a ConfigMap."""
    if file.rpartition("/")[2] in ("finisher.py", "run_lock.py"):
        return LineFacts("The program is part of tfgen, and is the same for every job.", RUNS)
    return LineFacts(
        "The file contains the training code in job.yaml.",
        "docs/storage.md#code-in-the-job",
        sources=frozenset({("spec", "code")}),
    )


def _template_line(parts: JobParts, file: str, line: str) -> LineFacts:
    name = file.removeprefix("templates/").removesuffix(".yaml")
    about = _about_template(name)
    if not isinstance(line, Line):
        return about
    keys = frozenset() if isinstance(line.node, (dict, list, tuple)) else sources(line.node, line.context.bindings)
    if isinstance(line.node, Guard):
        rule = line.node.rule
        return LineFacts(f"Helm refuses values that break the rule {rule}.", f"{_RULES}#{rule}", sources=keys)
    about = about.replaced(comment=line.context.reason, reason=line.context.template_doc or about.reason)
    if keys:
        return about.replaced(sources=keys)
    tests = frozenset(key for test in line.context.facts for key in sources(test, line.context.bindings))
    return about.replaced(sources=parts.keys_that_shape_line(file, line), tests=tests)


def _about_template(name: str) -> LineFacts:
    if name == "guards":
        return LineFacts("The template makes Helm fail if a value is invalid.", "docs/environments.md")
    if name == NOTES.removeprefix("templates/"):
        return LineFacts("Helm prints these notes after an installation.", RUNS)
    if name.startswith("_"):
        return LineFacts("The file contains named templates for the objects of the chart.", "docs/workloads.md")
    item = purpose(name)
    return LineFacts(f"The line is a fixed part of {item.text}.", item.page)


def _chart_yaml_line(path: Path) -> LineFacts:
    page = "docs/gitops.md"
    field = str(path[0]) if path else ""
    if field in _CHART_FIELDS:
        return LineFacts("Chart.yaml describes the chart.", page, sources=frozenset(_CHART_FIELDS[field]))
    if field == "version":
        return LineFacts("The version rises with each change of the chart.", page)
    return LineFacts("The line is the same in the chart of every job.", page)


def _schema_line(path: Path) -> LineFacts:
    steps: list[str | int] = []
    while len(path) > 1 and path[0] == "properties":
        steps, path = [*steps, path[1]], path[2:]
    keys = frozenset((("spec", *steps),) if steps else ())
    return LineFacts("The schema of the values comes from the schema of job.yaml.", ENVIRONMENTS, sources=keys)
