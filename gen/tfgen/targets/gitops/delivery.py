"""Records and functions that the modules for Argo CD and Flux share.

Several jobs may share a file if all these jobs render the same content for the file. So a shared file contains no list
of jobs. Such a list would also cause a merge conflict between two authors who each add a job.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from tfgen import data_path
from tfgen.job.training_job import Environment, GitOps, TrainingJob
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, group, literal_name
from tfgen.places import CHARTS, OVERLAYS
from tfgen.record import Record
from tfgen.schema.kinds import RESOURCES

Files: TypeAlias = Mapping[str, tuple[Object, ...]]

ChangedField: TypeAlias = tuple[str, str, str]
"""(API group of an object, kind of the object, path of the field that a controller in the cluster changes)."""

SUSPENDED: Final[Mapping[tuple[str, str], str]] = {
    ("batch", "Job"): "/spec/suspend",
    **{key: resource.suspend for key, resource in sorted(RESOURCES.items()) if resource.suspend},
}
"""(API group, kind) -> path of the field that suspends an object of this kind."""


class Delivery(Record):
    """The files with the GitOps objects of a job. The keys are paths in the output folder.

    Attributes:
        job_files: the objects in each file that only this job has.
        shared_files: the objects in each file that several jobs share.
    """

    job_files: Files
    shared_files: Files


class DeployedVariant(Record):
    """A variant of a job that a GitOps tool applies, with the objects of the variant."""

    job: TrainingJob
    gitops: GitOps
    environment: Environment
    objects: tuple[Object, ...]

    @property
    def name(self) -> str:
        """Return the name of the Application, Kustomization or HelmRelease of the job in the environment."""
        return f"{self.job.name}-{self.environment.name}"

    @property
    def namespace(self) -> str:
        """Return the namespace of the job in the environment. A rule requires a namespace if the job has `gitops`."""
        return self.environment.namespace or "default"

    @property
    def is_chart(self) -> bool:
        """Return True if the GitOps tool applies the chart. For a retired job, the tool always applies the overlay."""
        return self.gitops.is_chart and self.environment.enabled

    def path(self, *parts: str) -> str:
        """Return the path of a file or folder from the root of the repository.

        `parts` contains the names of the path below the output folder, such as "charts" and "mnist".
        """
        return "/".join(part for part in (self.gitops.path, *parts) if part)

    @property
    def overlay(self) -> str:
        """Return the path of the overlay from the root of the repository."""
        return self.path(OVERLAYS, self.job.name, self.environment.name)

    @property
    def chart(self) -> str:
        """Return the path of the chart from the root of the repository."""
        return self.path(CHARTS, self.job.name)


def controller_fields(objects: Iterable[Object]) -> Iterator[ChangedField]:
    """Yield the fields that a controller in the cluster changes, and that a GitOps tool must not reset.

    For example, the finisher scales StatefulSets to 0, and Kueue resumes suspended Jobs. If the GitOps tool suspended
    the Job again, Kubernetes would kill the pods.
    """
    fields: dict[ChangedField, None] = {}
    for item in objects:
        key = (group(item), item["kind"])
        if item["kind"] == "Role" and literal_name(item) is None:
            resources = {resource for rule in item["rules"] for resource in rule["resources"]}
            if "statefulsets/scale" in resources:
                fields["apps", "StatefulSet", "/spec/replicas"] = None
            if "deployments/scale" in resources:
                fields["apps", "Deployment", "/spec/replicas"] = None
        elif key in SUSPENDED:
            field = SUSPENDED[key]
            if keys.QUEUE in item["metadata"]["labels"] or data_path.has(item, field.split("/")[1:]):
                fields[*key, field] = None
    yield from fields


def pod_security(job: TrainingJob) -> dict[str, str]:
    """Return the Pod Security label that a namespace needs for the pods of a job."""
    return {keys.POD_SECURITY: job.structure.profile}
