"""TF_CONFIG, which lists the hosts of all tasks of a TensorFlow cluster.

    {"cluster":{"chief":["NAME-chief-0.NAME:2222"],"ps":[...],"worker":[...]},"task":{"type":"worker","index":1}}

https://www.tensorflow.org/guide/distributed_training#TF_CONFIG. The evaluator appears only in its own TF_CONFIG.
ParameterServerStrategy waits for every task of the cluster (https://github.com/kubeflow/trainer/issues/650), and an
evaluator fails if its TF_CONFIG does not contain the evaluator (https://github.com/tensorflow/tensorflow/issues/27857).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from tfgen.graph.holes import Bound, Length, NamedTemplate, Node, Parameter, Repeat, Sum, Text, call
from tfgen.graph.objects import names
from tfgen.graph.objects.values import ROLE, value
from tfgen.job.training_job import RoleName, Structure

PodName: TypeAlias = Callable[[Node, Node], Node]
"""Function that takes a role and the index of a task, and returns the pod name, which is also the host name."""

_REPLICAS: Final = Parameter("replicas", "integer")
_PARAMETERS: Final = (ROLE.name, _REPLICAS.name)

SINGLE_TASK_ROLES: Final[tuple[RoleName, ...]] = ("chief", "evaluator")


def replicas(role: RoleName) -> Node:
    """Return the number of tasks of a role. A chief and an evaluator always have one task."""
    return 1 if role in SINGLE_TASK_ROLES else value(f"roles.{role}.replicas")


def hosts(role: RoleName, port: int, pod: PodName) -> Node:
    """Return the hosts of a role, sorted by index, as text: `"mnist-ps-0.mnist:2222","mnist-ps-1.mnist:2222"`.

    `pod` is a function that takes a role and an index, and returns the name of the pod, such as `mnist-ps-0`.
    """
    if role in SINGLE_TASK_ROLES:
        return Text(('"', names.host(pod(role, 0), port), '"'))
    host = Text(('"', names.host(pod(ROLE, Bound("i", "integer")), port), '"'))
    template = NamedTemplate(
        "hosts", "The hosts of the tasks of a role, by index.", Repeat(_REPLICAS, host), parameters=_PARAMETERS
    )
    return call(template, role=role, replicas=replicas(role))


def cluster(structure: Structure, pod: PodName) -> NamedTemplate:
    """Return the named template of a JSON text with the hosts of all roles except the evaluator.

    Example of the text: ``{"chief":["mnist-chief-0.mnist:2222"],"worker":["mnist-worker-0.mnist:2222"]}``.
    """
    return NamedTemplate("cluster", "The cluster part of TF_CONFIG.", _json(structure, pod, with_evaluator=False))


def evaluator_cluster(structure: Structure, pod: PodName) -> NamedTemplate:
    """Return the named template of a JSON text with the hosts of all roles, including the evaluator."""
    doc = "The cluster part of the evaluator's TF_CONFIG, which contains the evaluator."
    return NamedTemplate("evaluatorCluster", doc, _json(structure, pod, with_evaluator=True))


def host_list(structure: Structure, role: RoleName, pod: PodName) -> Node:
    """Return the hosts of a role, separated by commas, for programs of TensorFlow 1.

    The text is empty if the job does not have the role.
    """
    if not structure.role(role):
        return ""
    listed = Repeat(_REPLICAS, names.host(pod(ROLE, Bound("i", "integer")), structure.port))
    template = NamedTemplate(
        "hostList", "The hosts of the tasks of a role, as the value of a flag.", listed, parameters=_PARAMETERS
    )
    return call(template, role=role, replicas=replicas(role))


def flags() -> list[Node]:
    """Return the flags that tell a program of TensorFlow 1 its cluster and its task, such as `--task_index`.

    https://github.com/tensorflow/examples/blob/master/community/en/docs/deploy/distributed.md
    """
    return [
        Text(("--job_name=", ROLE)),
        "--task_index=$(TASK_INDEX)",
        "--ps_hosts=$(PS_HOSTS)",
        "--worker_hosts=$(WORKER_HOSTS)",
    ]


def tf_config(role: Node) -> Text:
    """Return the value of TF_CONFIG. The value refers to the preceding variables TF_CLUSTER and TASK_INDEX."""
    return Text(('{"cluster":$(TF_CLUSTER),"task":{"type":"', role, '","index":$(TASK_INDEX)}}'))


def longest_tf_config_size(structure: Structure, pod: PodName) -> Node:
    """Return the number of bytes of the longest environment string `TF_CONFIG=VALUE` of the job's tasks."""
    fixed_part = len("TF_CONFIG=") + max(len("".join(map(str, tf_config(role.name).parts))) for role in structure.roles)
    # Kubernetes replaces the two references by the cluster and by an index. The schema limits an index to five digits.
    fixed_part += len("10000") - len("$(TF_CLUSTER)") - len("$(TASK_INDEX)")
    longest = evaluator_cluster if structure.role("evaluator") else cluster
    return Sum(Length(longest(structure, pod)), fixed_part)


def _json(structure: Structure, pod: PodName, *, with_evaluator: bool) -> Text:
    parts: list[Node] = []
    for role in structure.roles:
        if role.name != "evaluator" or with_evaluator:
            parts += [f'{"," if parts else "{"}"{role.name}":[', hosts(role.name, structure.port, pod), "]"]
    return Text((*parts, "}"))
