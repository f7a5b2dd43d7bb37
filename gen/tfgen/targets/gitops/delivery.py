"""What Argo CD's objects and Flux's have in common.

A file is a path below the output folder and its objects. Some files belong to several jobs, which all say the same of
them: no job's file lists the others, since two authors who add a job each would then meet in one line.
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
from tfgen.schema.workload_kinds import RESOURCES

Files: TypeAlias = Mapping[str, tuple[Object, ...]]

ChangedField: TypeAlias = tuple[str, str, str]
"""The group, the kind and the field of an object that a controller in the cluster changes."""

SUSPENDED: Final[Mapping[tuple[str, str], str]] = {
    ("batch", "Job"): "/spec/suspend",
    **{key: resource.suspend for key, resource in sorted(RESOURCES.items()) if resource.suspend},
}
"""The field that holds an object back, by group and kind."""


class Delivery(Record):
    """Files by path: those of the job alone, and those that it shares."""

    own: Files
    shared: Files


class Site(Record):
    """An environment as a GitOps tool sees it: where it is, and what is applied there."""

    job: TrainingJob
    gitops: GitOps
    environment: Environment
    objects: tuple[Object, ...]

    @property
    def name(self) -> str:
        """The name of the tool's object."""
        return f"{self.job.name}-{self.environment.name}"

    @property
    def namespace(self) -> str:
        """The namespace that the job runs in; a rule says that there is one."""
        return self.environment.namespace or "default"

    @property
    def is_chart(self) -> bool:
        """Whether the chart is applied. Where the job is retired its overlay is, which has the claims alone."""
        return self.gitops.is_chart and self.environment.enabled

    def path(self, *parts: str) -> str:
        """A path from the repository's root."""
        return "/".join(part for part in (self.gitops.path, *parts) if part)

    @property
    def overlay(self) -> str:
        """The overlay's path."""
        return self.path(OVERLAYS, self.job.name, self.environment.name)

    @property
    def chart(self) -> str:
        """The chart's path."""
        return self.path(CHARTS, self.job.name)


def changed_outside(objects: Iterable[Object]) -> Iterator[ChangedField]:
    """Group, kind and field of what a controller in the cluster changes: no GitOps tool may put it back.

    The finisher scales what its Role names. What git suspends, or the webhook of the queue that it names, somebody lets
    start later: put back, its pods would be killed.
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
    """The label of a namespace that takes the job's pods and no weaker ones."""
    return {keys.POD_SECURITY: job.structure.profile}
