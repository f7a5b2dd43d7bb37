"""Writes the Helm chart of a job: the folder ``charts/NAME``."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tfgen.job.training_job import TrainingJob
from tfgen.places import CHARTS
from tfgen.schema.values_form import values_form
from tfgen.schema.values_schema import values_schema_text
from tfgen.targets.chart.chart_yaml import chart_yaml
from tfgen.targets.chart.notes import environment_notes
from tfgen.targets.chart.readme import readme
from tfgen.targets.chart.templates import NOTES, template_files
from tfgen.targets.chart.values_yaml import values_yaml
from tfgen.targets.generated_note import generated_note
from tfgen.text import yaml_text
from tfgen.tree.rendering import Revision

_STRAY_FILES: Final = (".DS_Store", ".git/", ".idea/", ".vscode/", "*.bak", "*.orig", "*.swp", "*.tmp", "*~")
"""Patterns of files that Helm ignores: https://helm.sh/docs/chart_template_guide/helm_ignore_file/."""


def chart(job: TrainingJob, spec: Mapping[str, Any]) -> tuple[dict[str, str], Revision]:
    """Return a job's chart: the text of each file by its path in the output folder, and the chart's revision.

    Args:
        job: the job.
        spec: the spec of the job, from which the schema of the values is made.
    """
    environments = [environment for environment in job.environments if environment.enabled]
    files = template_files(job.structure)
    files[NOTES] += environment_notes(environment.name for environment in environments)
    form, note = values_form(spec), generated_note(job.name)
    files["values.yaml"] = (
        f"{note}# The values of {job.name}, each with its default.\n\n{values_yaml(job.values, form)}"
    )
    for environment in environments:
        files[f"values-{environment.name}.yaml"] = note + _environment_values(environment.name, environment.overrides)
    files["values.schema.json"] = values_schema_text(form)
    files["README.md"] = readme(job, form)
    files[".helmignore"] = _helm_ignore(files)
    version = chart_yaml(job, files)
    folder = f"{CHARTS}/{job.name}"
    tree = {f"{folder}/{path}": text for path, text in files.items()}
    return {**tree, version.path: version.text(0)}, version


def _helm_ignore(files: Iterable[str]) -> str:
    """Return ``.helmignore``, without each pattern that would match a file of the chart, such as a program x.tmp."""
    names = [path.rpartition("/")[2] for path in files]
    patterns = [pattern for pattern in _STRAY_FILES if not fnmatch.filter(names, pattern)]
    return "\n".join(("# Files of editors and operating systems.", *patterns, ""))


def _environment_values(name: str, overrides: Mapping[str, Any]) -> str:
    return f"# The values that differ in {name}.\n{yaml_text.dump(dict(overrides))}"
