"""The cluster as TensorFlow sees it: hosts and TF_CONFIG.

    {"cluster":{"chief":["NAME-chief-0.NAME:2222"],"ps":[...],"worker":[...]},"task":{"type":"worker","index":1}}

https://www.tensorflow.org/guide/distributed_training#TF_CONFIG. The evaluator stands in its own TF_CONFIG alone:
ParameterServerStrategy waits for every task of the cluster (https://github.com/kubeflow/trainer/issues/650), while
an evaluator that is not in its own fails (https://github.com/tensorflow/tensorflow/issues/27857).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from tfgen.graph.holes import Bound, Length, Named, Node, Parameter, Repeat, Sum, Text, call
from tfgen.graph.objects import names
from tfgen.graph.objects.values import ROLE, value
from tfgen.job.training_job import RoleName, Structure

PodName: TypeAlias = Callable[[Node, Node], Node]
"""What a task's pod is named, by role and index: its host name."""

_REPLICAS: Final = Parameter("replicas", "integer")
_OF_ROLE: Final = (ROLE.name, _REPLICAS.name)

SINGLE: Final[tuple[RoleName, ...]] = ("chief", "evaluator")


def replicas(role: RoleName) -> Node:
    """How many tasks a role has: always one chief and one evaluator."""
    return 1 if role in SINGLE else value(f"roles.{role}.replicas")


def hosts(role: RoleName, port: int, pod: PodName) -> Node:
    """The role's hosts as JSON strings with commas between them, by index."""
    if role in SINGLE:
        return Text(('"', names.host(pod(role, 0), port), '"'))
    one = Text(('"', names.host(pod(ROLE, Bound("i", "integer")), port), '"'))
    part = Named("hosts", "The hosts of a role's tasks, by index.", Repeat(_REPLICAS, one), parameters=_OF_ROLE)
    return call(part, role=role, replicas=replicas(role))


def cluster(structure: Structure, pod: PodName) -> Named:
    """The cluster of all that train together, as JSON."""
    return Named("cluster", "The cluster part of TF_CONFIG.", _json(structure, pod, with_evaluator=False))


def evaluator_cluster(structure: Structure, pod: PodName) -> Named:
    """The cluster as the evaluator sees it: with itself in it."""
    doc = "The cluster part of the evaluator's TF_CONFIG: with itself in it."
    return Named("evaluatorCluster", doc, _json(structure, pod, with_evaluator=True))


def host_list(structure: Structure, role: RoleName, pod: PodName) -> Node:
    """A role's hosts with commas between them, as TensorFlow 1's programs want them; empty where there are none."""
    if not structure.role(role):
        return ""
    listed = Repeat(_REPLICAS, names.host(pod(ROLE, Bound("i", "integer")), structure.port))
    part = Named("hostList", "The hosts of a role's tasks, as flags have them.", listed, parameters=_OF_ROLE)
    return call(part, role=role, replicas=replicas(role))


def flags() -> list[Node]:
    """The arguments by which TensorFlow 1's programs are told their place, from the variables of the same names.

    https://github.com/tensorflow/examples/blob/master/community/en/docs/deploy/distributed.md
    """
    return [
        Text(("--job_name=", ROLE)),
        "--task_index=$(TASK_INDEX)",
        "--ps_hosts=$(PS_HOSTS)",
        "--worker_hosts=$(WORKER_HOSTS)",
    ]


def tf_config(role: Node) -> Text:
    """TF_CONFIG, with the cluster and the index from the two variables declared before it."""
    return Text(('{"cluster":$(TF_CLUSTER),"task":{"type":"', role, '","index":$(TASK_INDEX)}}'))


def longest_tf_config(structure: Structure, pod: PodName) -> Node:
    """Bytes of the longest TF_CONFIG, as one string of the environment: name, equals sign and value."""
    rest = len("TF_CONFIG=") + max(len("".join(map(str, tf_config(role.name).parts))) for role in structure.roles)
    # The two references go, and an index of up to five digits comes (the schema allows no more tasks).
    rest += len("10000") - len("$(TF_CLUSTER)") - len("$(TASK_INDEX)")
    longest = evaluator_cluster if structure.role("evaluator") else cluster
    return Sum((Length(longest(structure, pod)), rest))


def _json(structure: Structure, pod: PodName, *, with_evaluator: bool) -> Text:
    parts: list[Node] = []
    for role in structure.roles:
        if role.name != "evaluator" or with_evaluator:
            parts += [f'{"," if parts else "{"}"{role.name}":[', hosts(role.name, structure.port, pod), "]"]
    return Text((*parts, "}"))
