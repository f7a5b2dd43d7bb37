"""The variables of keras.distribution, which describe the cluster to programs of Keras 3 on the JAX backend.

https://keras.io/api/distribution/initialize/. Keras reads the addresses of all processes, and JAX connects to the first
address. Process 0, the coordinator, listens on the port of the job. The coordinator is worker 0.
"""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import Length, Node, Sum, Text
from tfgen.graph.objects import cluster_spec, config_map, names
from tfgen.job.training_job import RoleName, Structure

_ROLE: Final[RoleName] = "worker"
JOB_ADDRESSES: Final = "KERAS_DISTRIBUTION_JOB_ADDRESSES"


def variables() -> list[Node]:
    """Return the variables of a worker. The index of the worker is a reference to a preceding variable.

    The backend is JAX, because keras.distribution trains on several hosts only with JAX.
    """
    return [
        {"name": "KERAS_BACKEND", "value": "jax"},
        {
            "name": JOB_ADDRESSES,
            "valueFrom": {"configMapKeyRef": {"name": names.RUN, "key": config_map.WORKER_HOSTS}},
        },
        {"name": "KERAS_DISTRIBUTION_NUM_PROCESSES", "value": Text((cluster_spec.replicas(_ROLE),))},
        {"name": "KERAS_DISTRIBUTION_PROCESS_ID", "value": "$(TASK_INDEX)"},
    ]


def addresses_size(structure: Structure, pod: cluster_spec.PodName) -> Node:
    """Return the number of bytes of the environment string `NAME=VALUE` that lists the addresses of all processes."""
    return Sum(Length(cluster_spec.host_list(structure, _ROLE, pod)), len(f"{JOB_ADDRESSES}="))
