"""The main container's environment variables.

Kubernetes expands ``$(X)`` only from variables that stand before it in the list, so the order is: tfgen's own, then
the user's without a reference, then those with one, each by name.
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
from tfgen.graph.objects import cluster_spec, config_map, names, resources, storage
from tfgen.graph.objects.values import ROLE, role_value, value
from tfgen.job.run_names import UNNAMED
from tfgen.job.training_job import RoleName, Structure

ENV: Final = Bound("env", "map")

ORDER: Final = Comment(
    "Kubernetes expands $(X) from the variables before it alone: first our own, then the values that refer to none."
)

# TensorFlow's two thread pools and oneDNN's: each takes all cores of the node, whatever the CPU limit says.
_THREADS: Final = ("OMP_NUM_THREADS", "TF_NUM_INTEROP_THREADS", "TF_NUM_INTRAOP_THREADS")

# With one thread between operations, a worker that waits for a parameter server in it waits for itself: for ever.
_AT_MOST_ONE_CPU: Final = r"^(1|1000m|[0-9]{1,3}m|0?[.][0-9]+)$"
_CPU_LIMIT: Final = MapOf({"resourceFieldRef": MapOf({"resource": "limits.cpu"})})
_INTEROP: Final = When(
    AllOf((resources.CPU_LIMIT, Matches(Text((resources.CPU_LIMIT,)), _AT_MOST_ONE_CPU))),
    MapOf({"TF_NUM_INTEROP_THREADS": "2"}),
    MapOf({}),
)

# TensorFlow's images for GPUs say "all": what has no GPU of its own would take memory of each one of its node.
_VISIBLE_DEVICES: Final = "NVIDIA_VISIBLE_DEVICES"
_NO_DEVICES: Final = "void"
NO_GPUS: Final[Mapping[Key, Node]] = {"name": _VISIBLE_DEVICES, "value": _NO_DEVICES}

_ITEM: Final = Bound("value")
_EXPANDS: Final = Contains(_ITEM, "$(")
_LITERAL: Final[Mapping[Key, Node]] = {"name": Bound("name"), "value": _ITEM}
_REFERENCE: Final[Mapping[Key, Node]] = {"name": Bound("name"), "valueFrom": NotEmpty(Bound("value", "map"))}


def env() -> Merged:
    """What `ENV` is bound to: what tfgen sets unless the user does, under the job's variables and the role's."""
    defaults: dict[Name, Node] = {
        "HOME": "/tmp",  # noqa: S108 - the pod's own emptyDir, not this machine's
        _VISIBLE_DEVICES: When(Not(resources.GPUS), _NO_DEVICES),
        **{name: When(resources.CPU_LIMIT, _CPU_LIMIT) for name in _THREADS},
    }
    return Merged((MapOf(defaults), _INTEROP, value("env"), role_value("env")), flat=False)


def variables(structure: Structure, role: RoleName, *, index_label: str, told: bool) -> list[Node]:
    """The variables of a role's main container.

    Args:
        structure: the job.
        role: whose container it is.
        index_label: the label in which the pod's controller puts its index.
        told: whether these variables tell the task of its cluster.
    """
    return [
        *(_cluster(structure, role, index_label) if told else []),
        *run(),
        ForEach(ENV, When(IsMap(_ITEM), _REFERENCE, When(Not(_EXPANDS), _LITERAL))),
        ForEach(ENV, When(AllOf((Not(IsMap(_ITEM)), _EXPANDS)), _LITERAL)),
    ]


def run() -> list[Node]:
    """What tells a task of its run, and of the run whose folder it works in."""
    return [{"name": "TFGEN_RUN", "value": value("run")}, {"name": storage.RUN_FOLDER, "value": run_folder()}]


def run_folder() -> Default:
    """The name of the run's folder on a volume where runs have separate ones."""
    return Default(value("resumeFrom"), Default(value("run"), UNNAMED))


def _cluster(structure: Structure, role: RoleName, index_label: str) -> list[Node]:
    """What tells a task of its cluster. Kubernetes puts the earlier variables into the last."""
    key = config_map.EVALUATOR_CLUSTER if role == "evaluator" else config_map.CLUSTER
    references = {"TF_CLUSTER": key}
    if structure.legacy_flags or structure.legacy_variables:
        references |= {"PS_HOSTS": config_map.PS_HOSTS, "WORKER_HOSTS": config_map.WORKER_HOSTS}
    variables: list[Node] = [
        {"name": "TASK_INDEX", "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{index_label}']"}}}
    ]
    for name, key in references.items():
        variables.append({"name": name, "valueFrom": {"configMapKeyRef": {"name": names.RUN, "key": key}}})
    if structure.legacy_variables:
        variables.append({"name": "JOB_NAME", "value": ROLE})
    return [*variables, {"name": "TF_CONFIG", "value": cluster_spec.tf_config(ROLE)}]
