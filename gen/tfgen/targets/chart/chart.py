"""The Helm chart of a job: ``charts/NAME``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

from tfgen.graph.holes import Guard, Node, chart_files, named_parts
from tfgen.graph.template import Template
from tfgen.job.training_job import TrainingJob
from tfgen.places import CHARTS
from tfgen.schema.values_schema import lacking, values_schema_text
from tfgen.targets.chart.chart_yaml import chart_yaml
from tfgen.targets.chart.go_template import Printer
from tfgen.targets.chart.guards_file import guards_file
from tfgen.targets.chart.notes import notes
from tfgen.targets.chart.readme import readme
from tfgen.targets.chart.values_yaml import values_yaml
from tfgen.targets.chart.wrap import wrap
from tfgen.text import yaml_text
from tfgen.tree.file_tree import FileTree
from tfgen.tree.rendering import Revision

_LEFT_BEHIND: Final = (".DS_Store", ".git/", ".idea/", ".vscode/", "*.bak", "*.orig", "*.swp", "*.tmp", "*~")
"""Patterns for the names of files and folders: https://helm.sh/docs/chart_template_guide/helm_ignore_file/."""

_HELPERS_HEAD: Final = """\
Names, labels and the cluster, each once.

A helper is called as  include "CHART.NAME" .  with the root context, or with a dict of what it takes; it prints text,
without a line break at its end.
"""

_FILE_HEADS: Final[Mapping[str, str]] = {
    "helpers": _HELPERS_HEAD,
    "pod": "The pod of a task, whatever object makes it. The role's templates call it with the role's name and values.",
    "environment": "The variables of a task.",
    "scheduling": "Where a pod may run.",
    "run-lock": "What keeps two runs from writing to one folder at once.",
    "volumes": "Volumes, and where a pod has them.",
    "finisher": "The pod of what releases the run once the Job that ends it has ended.",
}
"""What is in each of the files of helpers."""


def chart(
    job: TrainingJob, spec: Mapping[str, Any], templates: Sequence[Template], checks: Sequence[Guard]
) -> tuple[FileTree, Revision]:
    """The files of a job's chart, by path below the output folder; and what of them is its version.

    Args:
        job: the job.
        spec: what job.yaml says, for the schema of its values.
        templates: the job's graph.
        checks: the job's guards.
    """
    printer = Printer(job.name)
    files = {f"templates/{template.name}.yaml": printer.template(template.node) for template in templates}
    files["templates/guards.yaml"] = guards_file(printer, checks, templates)
    environments = [environment for environment in job.environments if environment.enabled]
    text = notes(job.structure, [environment.name for environment in environments])
    files["templates/NOTES.txt"] = printer.text(text)
    nodes = [*(template.node for template in templates), *checks, text]
    files |= _helper_files(printer, nodes)
    files = {path: wrap(content) for path, content in files.items()}
    values = values_yaml(job.values, lacking(spec))
    files["values.yaml"] = f"# Values of {job.name}: every one has a default here.\n\n{values}"
    for environment in environments:
        files[f"values-{environment.name}.yaml"] = _environment_values(environment.name, environment.overrides)
    files["values.schema.json"] = values_schema_text(spec)
    files["README.md"] = readme(job, spec)
    files |= chart_files(nodes)
    files[".helmignore"] = _helm_ignore(files)
    version = chart_yaml(job, files)
    folder = f"{CHARTS}/{job.name}"
    tree = {f"{folder}/{path}": text for path, text in files.items()}
    return FileTree({**tree, version.path: version.text(0)}), version


def _helm_ignore(files: Iterable[str]) -> str:
    """The file, without a pattern that fits one of the chart's own: a job's code may be called as an editor's copy."""
    names = [path.rpartition("/")[2] for path in files]
    patterns = [pattern for pattern in _LEFT_BEHIND if not any(fnmatchcase(name, pattern) for name in names)]
    return "\n".join(("# What editors and systems leave behind.", *patterns, ""))


def _helper_files(printer: Printer, nodes: Sequence[Node | Guard]) -> dict[str, str]:
    """The files of the named parts in what the chart prints."""
    parts = named_parts(nodes).values()
    return {
        f"templates/_{file}.tpl": printer.helpers_file(_FILE_HEADS[file].strip(), [p for p in parts if p.file == file])
        for file in sorted({part.file for part in parts})
    }


def _environment_values(name: str, overrides: Mapping[str, Any]) -> str:
    return f"# What is different in {name}.\n{yaml_text.dump(dict(overrides))}"
