"""The environment variables of the main container.

Kubernetes expands ``$(X)`` only from preceding variables of the list. So the variables of tfgen come first, then the
user's variables without a reference, and then the user's variables with a reference. Each group is sorted by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tfgen.graph.holes import (
    AllOf,
    Bound,
    Comment,
    Contains,
    Default,
    ForEach,
    IsMap,
    Key,
    MapOf,
    Matches,
    Merged,
    Name,
    Node,
    Not,
    NotEmpty,
    Text,
    When,
)
from tfgen.graph.objects import cluster_spec, config_map, keras_distribution, names, resources, storage
from tfgen.graph.objects.values import ROLE, role_value, value
from tfgen.job.run_names import UNNAMED
from tfgen.job.training_job import RoleName, Structure

ENV: Final = Bound("env", "map")

REASON: Final = Comment(
    "Kubernetes expands $(X) only from preceding variables, so the variables of tfgen come first, and the values with "
    "a reference come last. Without a GPU, NVIDIA_VISIBLE_DEVICES=void hides the GPUs of the node. By default, each "
    "thread pool of TensorFlow has a thread for each core of the node. OMP_NUM_THREADS and TF_NUM_* reduce the pools "
    "to the CPU limit. TF_NUM_INTEROP_THREADS is at least 2, because a worker that waits for a parameter server blocks "
    "one thread."
)

# The sizes of the thread pools of TensorFlow and oneDNN. By default each pool has a thread for each core of the node,
# even if the container has a CPU limit.
_THREADS: Final = ("OMP_NUM_THREADS", "TF_NUM_INTEROP_THREADS", "TF_NUM_INTRAOP_THREADS")

# With one inter-op thread, a worker that waits for a parameter server blocks the only thread and deadlocks.
_AT_MOST_ONE_CPU: Final = r"^(1|1000m|[0-9]{1,3}m|0?[.][0-9]+)$"
_CPU_LIMIT: Final = MapOf({"resourceFieldRef": MapOf({"resource": "limits.cpu"})})
_INTEROP: Final = When(
    AllOf((resources.CPU_LIMIT, Matches(Text((resources.CPU_LIMIT,)), _AT_MOST_ONE_CPU))),
    MapOf({"TF_NUM_INTEROP_THREADS": "2"}),
    MapOf({}),
)

# The GPU images of TensorFlow set "all", so a container without a GPU would allocate memory on every GPU of its node.
_VISIBLE_DEVICES: Final = "NVIDIA_VISIBLE_DEVICES"
_NO_DEVICES: Final = "void"
NO_GPUS: Final[Mapping[Key, Node]] = {
    "name": _VISIBLE_DEVICES,
    Comment("An image for GPUs sets the value all. The value void hides the GPUs of the node."): None,
    "value": _NO_DEVICES,
}

_ITEM: Final = Bound("value")
_EXPANDS: Final = Contains(_ITEM, "$(")
_LITERAL: Final[Mapping[Key, Node]] = {"name": Bound("name"), "value": _ITEM}
_REFERENCE: Final[Mapping[Key, Node]] = {"name": Bound("name"), "valueFrom": NotEmpty(Bound("value", "map"))}


def env() -> Merged:
    """Return the map of environment variables: the defaults of tfgen, overridden by the job, and then by the role."""
    defaults: dict[Name, Node] = {
        "HOME": "/tmp",  # noqa: S108 - the emptyDir of the pod
        _VISIBLE_DEVICES: When(Not(resources.GPUS), _NO_DEVICES),
        **{name: When(resources.CPU_LIMIT, _CPU_LIMIT) for name in _THREADS},
    }
    return Merged((MapOf(defaults), _INTEROP, value("env"), role_value("env")), flat=False)


def variables(structure: Structure, role: RoleName, *, index_label: str, has_cluster: bool) -> list[Node]:
    """Return the environment variables of the main container of a role, as a list.

    Args:
        structure: the job.
        role: the role of the container.
        index_label: the label with which the controller tells a pod its index.
        has_cluster: whether the variables describe the cluster. If False, an operator adds TF_CONFIG.
    """
    return [
        *(_cluster_variables(structure, role, index_label) if has_cluster else []),
        *run_variables(),
        ForEach(ENV, When(IsMap(_ITEM), _REFERENCE, When(Not(_EXPANDS), _LITERAL))),
        ForEach(ENV, When(AllOf((Not(IsMap(_ITEM)), _EXPANDS)), _LITERAL)),
    ]


def run_variables() -> list[Node]:
    """Return the environment variables that contain the name of the run and the name of the run's folder."""
    return [{"name": "TFGEN_RUN", "value": value("run")}, {"name": storage.RUN_FOLDER, "value": run_folder()}]


def run_folder() -> Default:
    """Return the name of the run's folder in each volume that has a folder for each run."""
    return Default(value("resumeFrom"), Default(value("run"), UNNAMED))


def _cluster_variables(structure: Structure, role: RoleName, index_label: str) -> list[Node]:
    """Return the variables with the task's index and the cluster. The last variable refers to earlier variables."""
    index: Node = {
        "name": "TASK_INDEX",
        "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{index_label}']"}},
    }
    if structure.uses_keras_distribution:
        return [index, *keras_distribution.variables()]
    key = config_map.EVALUATOR_CLUSTER if role == "evaluator" else config_map.CLUSTER
    references = {"TF_CLUSTER": key}
    if structure.legacy_flags or structure.legacy_variables:
        references |= {"PS_HOSTS": config_map.PS_HOSTS, "WORKER_HOSTS": config_map.WORKER_HOSTS}
    variables: list[Node] = [index]
    for name, key in references.items():
        variables.append({"name": name, "valueFrom": {"configMapKeyRef": {"name": names.RUN, "key": key}}})
    if structure.legacy_variables:
        variables.append({"name": "JOB_NAME", "value": ROLE})
    return [*variables, {"name": "TF_CONFIG", "value": cluster_spec.tf_config(ROLE)}]
