"""Writes the Helm chart of a job: the folder ``charts/NAME``."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tfgen.job.training_job import TrainingJob
from tfgen.places import CHARTS
from tfgen.schema.values_form import ValuesForm, once_a_form, values_form
from tfgen.targets.chart.chart_yaml import chart_yaml
from tfgen.targets.chart.notes import NOTES, environment_notes
from tfgen.targets.chart.readme import readme
from tfgen.targets.chart.templates import template_files
from tfgen.targets.chart.values_yaml import values_yaml
from tfgen.targets.generated_note import generated_note
from tfgen.text import yaml_text
from tfgen.tree.cache import cached_texts
from tfgen.tree.staging import Revision

_VALUES_SCHEMA: Final = "values.schema.json"
_STRAY_FILES: Final = (".DS_Store", ".git/", ".idea/", ".vscode/", "*.bak", "*.orig", "*.swp", "*.tmp", "*~")
"""Patterns of files that Helm ignores: https://helm.sh/docs/chart_template_guide/helm_ignore_file/."""


def chart(job: TrainingJob, spec: Mapping[str, Any], *, uses_cache: bool = False) -> tuple[dict[str, str], Revision]:
    """Return the files of the chart, and the file ``Chart.yaml`` as a `Revision`.

    The files are a mapping from the path in the output folder to the text. A `Revision` is a file in which tfgen later
    inserts a number that counts the changes of the chart.

    Args:
        job: the job.
        spec: the spec of the job, from which tfgen makes the schema of the values.
        uses_cache: whether to use the cache on disk for the texts that depend only on the structure of the job.
    """
    environments = [environment for environment in job.environments if environment.enabled]
    files = template_files(job.structure, uses_cache=uses_cache)
    files[NOTES] += environment_notes(environment.name for environment in environments)
    form, note = values_form(spec), generated_note(job.name)
    files["values.yaml"] = (
        f"{note}# The values of {job.name}, each with its default.\n\n{values_yaml(job.values, form)}"
    )
    for environment in environments:
        files[f"values-{environment.name}.yaml"] = note + _environment_values(environment.name, environment.overrides)
    files[_VALUES_SCHEMA] = _values_schema(form, uses_cache)
    files["README.md"] = readme(job, form)
    files[".helmignore"] = _helm_ignore(files)
    version = chart_yaml(job, files)
    folder = f"{CHARTS}/{job.name}"
    tree = {f"{folder}/{path}": text for path, text in files.items()}
    return {**tree, version.path: version.text(0)}, version


@once_a_form
def _values_schema(form: ValuesForm, uses_cache: bool) -> str:
    def write_schema() -> Mapping[str, str]:
        from tfgen.schema.values_schema import values_schema_text  # takes 2 ms, which a cached schema saves

        return {_VALUES_SCHEMA: values_schema_text(form)}

    parts = (_VALUES_SCHEMA.encode(), repr(form).encode())
    return (cached_texts(parts, write_schema) if uses_cache else write_schema())[_VALUES_SCHEMA]


def _helm_ignore(files: Iterable[str]) -> str:
    """Return the text of ``.helmignore``, which lists the files that Helm does not package.

    If the chart contains a file such as x.tmp, the text omits the pattern ``*.tmp``, so that Helm packages the file.
    """
    names = [path.rpartition("/")[2] for path in files]
    patterns = [pattern for pattern in _STRAY_FILES if not fnmatch.filter(names, pattern)]
    return "\n".join(("# Files of editors and operating systems.", *patterns, ""))


def _environment_values(name: str, overrides: Mapping[str, Any]) -> str:
    return f"# The values that differ in {name}.\n{yaml_text.dump(dict(overrides))}"
