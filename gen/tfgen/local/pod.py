"""The pods of a job's tasks, as their controllers would make them of the filled objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfgen.graph.objects.names import CONTAINER
from tfgen.job.training_job import ROLE_NAMES
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object
from tfgen.record import Record


class Pod(Record):
    """One task's pod.

    Attributes:
        name: its host name.
        namespace: where it would be.
        labels: those of its template, with the ones of its controller.
        spec: Kubernetes' PodSpec.
        retries: how often its controller starts it again; None for always.
    """

    role: str
    index: int
    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]
    retries: int | None

    @property
    def task(self) -> str:
        """What the task is called here: its role and its index."""
        return f"{self.role}-{self.index}"

    @property
    def container(self) -> Mapping[str, Any]:
        """The container that trains."""
        containers: Sequence[Mapping[str, Any]] = self.spec["containers"]
        return next(container for container in containers if container["name"] == CONTAINER)


def pods(objects: Sequence[Object], namespace: str) -> Iterator[Pod]:
    """The pods of all tasks, in the order of the objects and by index.

    Args:
        objects: the job's, of the kinds StatefulSet and Job, and others beside them.
        namespace: where the job would be.
    """
    for item in objects:
        role = item["metadata"].get("labels", {}).get(keys.COMPONENT)
        if role not in ROLE_NAMES or item["kind"] not in ("StatefulSet", "Job"):
            continue
        spec = item["spec"]
        is_job = item["kind"] == "Job"
        template = spec["template"]
        for index in range(spec["completions"] if is_job else spec["replicas"]):
            name = f"{item['metadata']['name']}-{index}"
            own = (
                {keys.JOB_INDEX: str(index)}
                if is_job
                else {keys.STATEFUL_SET_INDEX: str(index), keys.STATEFUL_SET_POD: name}
            )
            yield Pod(
                role=role,
                index=index,
                name=name,
                namespace=namespace,
                labels={**template["metadata"].get("labels", {}), **own},
                annotations={**template["metadata"].get("annotations", {}), **(own if is_job else {})},
                spec=template["spec"],
                retries=spec.get("backoffLimit", spec.get("backoffLimitPerIndex")) if is_job else None,
            )
