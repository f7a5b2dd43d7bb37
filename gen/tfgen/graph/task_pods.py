"""The pods that the controllers of Kubernetes create for the tasks of a job, and the GPUs that they request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfgen.graph.objects.naming import CONTAINER
from tfgen.graph.objects.podspec import IS_GPU
from tfgen.job.training_job import ROLE_NAMES
from tfgen.kubernetes import keys, quantity
from tfgen.kubernetes.object import Object
from tfgen.record import Record


class Pod(Record):
    """The pod of one task.

    Attributes:
        name: the host name of the pod.
        labels: the labels of the pod template, and the labels that the controller adds to the pod.
        spec: the PodSpec of Kubernetes.
        retries: the number of times that the controller restarts the pod; None for no limit.
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
        """The name of the task: its role and its index, such as `worker-0`."""
        return f"{self.role}-{self.index}"

    @property
    def container(self) -> Mapping[str, Any]:
        """The training container."""
        containers: Sequence[Mapping[str, Any]] = self.spec["containers"]
        return next(container for container in containers if container["name"] == CONTAINER)


def pods(objects: Sequence[Object], namespace: str) -> Iterator[Pod]:
    """Yield the pods of all tasks in the order of the objects. The pods of each object are sorted by index.

    Args:
        objects: the objects of the job. Only StatefulSets and Jobs of roles have tasks.
        namespace: the namespace of the job.
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
            controller_labels = (
                {keys.JOB_INDEX: str(index)}
                if is_job
                else {keys.STATEFUL_SET_INDEX: str(index), keys.STATEFUL_SET_POD: name}
            )
            yield Pod(
                role=role,
                index=index,
                name=name,
                namespace=namespace,
                labels={**template["metadata"].get("labels", {}), **controller_labels},
                annotations={**template["metadata"].get("annotations", {}), **(controller_labels if is_job else {})},
                spec=template["spec"],
                retries=spec.get("backoffLimit", spec.get("backoffLimitPerIndex")) if is_job else None,
            )


def gpu_count(container: Mapping[str, Any]) -> int:
    """Return the number of GPUs that a container requests. A share of a GPU, or of its memory, counts as one GPU.

    The claims of a container for devices count as one GPU, because the container does not contain their numbers.
    """
    resources = container.get("resources", {})
    limits = resources.get("limits", {})
    amounts = {name: quantity.parse(amount) for name, amount in limits.items() if re.search(IS_GPU, name)}
    gpus = sum(int(amount) for name, amount in amounts.items() if name.endswith("/gpu"))
    return gpus or int(any(amounts.values()) or bool(resources.get("claims")))
