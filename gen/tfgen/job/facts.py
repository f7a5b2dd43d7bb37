"""Read single fields of a valid job document, such as the job's name, the environments and the run name.

`training_job.TrainingJob` has the complete content of a job.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfgen.errors import UsageError
from tfgen.schema import file as schema_file
from tfgen.text.document import Document
from tfgen.words import either


def name_of(document: Document) -> str:
    """Return the name of the job."""
    name: str = document.data["metadata"]["name"]
    return name


def own_data(document: Document) -> Any:
    """Return the content of the job's YAML document, without the defaults from the tfgen.yaml files."""
    return document.data if document.unmerged is None else document.unmerged


def environments_of(document: Document) -> Mapping[str, Mapping[str, Any]]:
    """Return the settings of each environment, by name of the environment. Example: {"dev": {"retries": 3}}."""
    environments: Mapping[str, Mapping[str, Any]] = document.data["spec"].get("environments", {})
    return environments


def rendered_branch(document: Document) -> str:
    """Return `gitops.rendered.branch`; empty if the rendered files are in the same branch as the job file."""
    gitops = document.data["spec"].get("gitops", {})
    branch: str = gitops.get("rendered", {}).get("branch", "")
    return branch


def source_branch(document: Document) -> str:
    """Return `gitops.branch`, the branch that contains the job file."""
    schema = schema_file.load()["properties"]["spec"]["properties"]["gitops"]
    branch: str = schema_file.complete(schema_file.load(), schema, document.data["spec"]["gitops"])["branch"]
    return branch


def run_of(data: Mapping[str, Any], environment: str | None) -> str:
    """Return the run name of a job in an environment; empty for a run without a name.

    If `environment` is None, return the run name of the job without an environment.
    """
    spec = data["spec"]
    variant_data = spec if environment is None else spec["environments"][environment]
    run: str = variant_data.get("run", spec.get("run", ""))
    return run


def check_environment(document: Document, name: str) -> None:
    """Check that the job has an environment.

    Raises:
        UsageError: the job has no environment with this name.
    """
    environments = environments_of(document)
    if name not in environments:
        choice = f"choose {either(environments)}" if environments else "add the environment to spec.environments"
        raise UsageError(f"{document.file}: the job has no environment {name!r}; {choice}")
