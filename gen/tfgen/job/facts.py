"""Single facts of a job's document: its name, its environments, its runs.

The schema accepts the document. All that it says is a `training_job.TrainingJob`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tfgen.errors import UsageError
from tfgen.schema import file as schema_file
from tfgen.text.document import Document

if TYPE_CHECKING:
    from tfgen.job.job_data import EnvironmentData, FormData, JobData


def data_of(document: Document) -> JobData:
    """What the job says, over the defaults under it."""
    data: JobData = document.data
    return data


def name_of(document: Document) -> str:
    """The job's name."""
    return data_of(document)["metadata"]["name"]


def own_data(document: Document) -> Any:
    """What the job's own file says, without the defaults under it."""
    return document.data if document.unmerged is None else document.unmerged


def environments_of(document: Document) -> Mapping[str, EnvironmentData]:
    """What the job says of its environments, by their names."""
    return data_of(document)["spec"].get("environments", {})


def rendered_branch(document: Document) -> str:
    """The branch that has the job's charts/ and overlays/ alone; empty where they are beside the job."""
    gitops = data_of(document)["spec"].get("gitops", {})
    branch: str = gitops.get("rendered", {}).get("branch", "")
    return branch


def source_branch(document: Document) -> str:
    """The branch that the job itself is in, as `gitops` says it."""
    schema = schema_file.load()["properties"]["spec"]["properties"]["gitops"]
    branch: str = schema_file.complete(schema_file.load(), schema, data_of(document)["spec"]["gitops"])["branch"]
    return branch


def run_of(data: JobData, environment: str | None) -> str:
    """The name of the run of a job's data, or of one of its environments; empty where it has none."""
    spec = data["spec"]
    own: FormData = spec if environment is None else spec["environments"][environment]
    return own.get("run", spec.get("run", ""))


def check_environment(document: Document, name: str) -> None:
    """See that the job has an environment.

    Raises:
        UsageError: it has none of that name.
    """
    known = environments_of(document)
    if name not in known:
        raise UsageError(f"{document.file}: no environment {name!r}; it has {', '.join(known) or 'none'}")
