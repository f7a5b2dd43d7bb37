"""The TensorFlow cluster: TF_CONFIG, the ConfigMap of a run, and the variables of keras.distribution."""

from __future__ import annotations

from typing import Final

from tfgen.graph import naming
from tfgen.graph.holes import Bound, Comment, Key, Length, NamedTemplate, Node, Parameter, Repeat, Sum, Text, call
from tfgen.graph.naming import ROLE, PodName, value
from tfgen.job.training_job import RoleName, Structure

# -- TF_CONFIG ---------------------------------------------------------------------------------------------------------
#
# TF_CONFIG lists the hosts of all tasks:
#
#     {"cluster":{"chief":["NAME-chief-0.NAME:2222"],"ps":[...],"worker":[...]},"task":{"type":"worker","index":1}}
#
# https://www.tensorflow.org/guide/distributed_training#TF_CONFIG. The evaluator appears only in its own TF_CONFIG.
# ParameterServerStrategy waits for every task of the cluster (https://github.com/kubeflow/trainer/issues/650), and an
# evaluator fails if its TF_CONFIG does not contain the evaluator
# (https://github.com/tensorflow/tensorflow/issues/27857).


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
        return Text(('"', naming.host(pod(role, 0), port), '"'))
    host = Text(('"', naming.host(pod(ROLE, Bound("i", "integer")), port), '"'))
    template = NamedTemplate(
        "hosts", "The hosts of the tasks of a role, by index.", Repeat(_REPLICAS, host), parameters=_PARAMETERS
    )
    return call(template, role=role, replicas=replicas(role))


def cluster(structure: Structure, pod: PodName, *, with_evaluator: bool = False) -> NamedTemplate:
    """Return the named template of a JSON text with the hosts of all roles. By default, the evaluator is omitted.

    Example of the text: ``{"chief":["mnist-chief-0.mnist:2222"],"worker":["mnist-worker-0.mnist:2222"]}``.
    """
    parts: list[Node] = []
    for role in structure.roles:
        if role.name != "evaluator" or with_evaluator:
            parts += [f'{"," if parts else "{"}"{role.name}":[', hosts(role.name, structure.port, pod), "]"]
    text = Text((*parts, "}"))
    if with_evaluator:
        doc = "The cluster part of the evaluator's TF_CONFIG, which contains the evaluator."
        return NamedTemplate("evaluatorCluster", doc, text)
    return NamedTemplate("cluster", "The cluster part of TF_CONFIG.", text)


def host_list(structure: Structure, role: RoleName, pod: PodName) -> Node:
    """Return the hosts of a role, separated by commas, for programs of TensorFlow 1.

    The text is empty if the job does not have the role.
    """
    if not structure.role(role):
        return ""
    listed = Repeat(_REPLICAS, naming.host(pod(ROLE, Bound("i", "integer")), structure.port))
    template = NamedTemplate(
        "hostList", "The hosts of the tasks of a role, as the value of a flag.", listed, parameters=_PARAMETERS
    )
    return call(template, role=role, replicas=replicas(role))


# https://github.com/tensorflow/examples/blob/master/community/en/docs/deploy/distributed.md
FLAGS: Final[tuple[Node, ...]] = (
    Text(("--job_name=", ROLE)),
    "--task_index=$(TASK_INDEX)",
    "--ps_hosts=$(PS_HOSTS)",
    "--worker_hosts=$(WORKER_HOSTS)",
)
"""The flags that tell a program of TensorFlow 1 its cluster and its task, such as `--task_index`."""


def tf_config(role: Node) -> Text:
    """Return the value of TF_CONFIG. The value refers to the preceding variables TF_CLUSTER and TASK_INDEX."""
    return Text(('{"cluster":$(TF_CLUSTER),"task":{"type":"', role, '","index":$(TASK_INDEX)}}'))


def longest_tf_config_size(structure: Structure, pod: PodName) -> Node:
    """Return the number of bytes of the longest environment string `TF_CONFIG=VALUE` of the job's tasks."""
    fixed_part = len("TF_CONFIG=") + max(len("".join(map(str, tf_config(role.name).parts))) for role in structure.roles)
    # Kubernetes replaces the two references by the cluster and by an index. The schema limits an index to five digits.
    fixed_part += len("10000") - len("$(TF_CLUSTER)") - len("$(TASK_INDEX)")
    longest = cluster(structure, pod, with_evaluator=structure.role("evaluator") is not None)
    return Sum(Length(longest), fixed_part)


# -- the ConfigMap of a run --------------------------------------------------------------------------------------------


CLUSTER: Final = "cluster"
EVALUATOR_CLUSTER: Final = "evaluatorCluster"
PS_HOSTS: Final = "psHosts"
WORKER_HOSTS: Final = "workerHosts"


def config_map(structure: Structure, pod: naming.PodName) -> Node:
    """Return the ConfigMap of a run. The ConfigMap is immutable, so that a restarted task sees the same cluster."""
    data: dict[Key, Node] = {CLUSTER: cluster(structure, pod)}
    if structure.role("evaluator"):
        data[EVALUATOR_CLUSTER] = cluster(structure, pod, with_evaluator=True)
    if structure.legacy_flags or structure.legacy_variables:
        data[PS_HOSTS] = host_list(structure, "ps", pod)
    if structure.legacy_flags or structure.legacy_variables or structure.uses_keras_distribution:
        data[WORKER_HOSTS] = host_list(structure, "worker", pod)
    fields: dict[Key, Node] = {
        Comment("A restarted task must see the same cluster as the running tasks."): None,
        "immutable": True,
        "data": data,
    }
    return naming.kubernetes_object("v1", "ConfigMap", naming.RUN, fields, naming.BEFORE_PODS)


def variable(name: str, key: str) -> Node:
    """Return an environment variable with the value of a key in the ConfigMap of a run."""
    return {"name": name, "valueFrom": {"configMapKeyRef": {"name": naming.RUN, "key": key}}}


# -- keras.distribution ------------------------------------------------------------------------------------------------
#
# These variables describe the cluster to programs of Keras 3 on the JAX backend:
# https://keras.io/api/distribution/initialize/. Keras reads the addresses of all processes, and JAX connects to the
# first address. Process 0, the coordinator, listens on the port of the job. The coordinator is worker 0.


_KERAS_ROLE: Final[RoleName] = "worker"
JOB_ADDRESSES: Final = "KERAS_DISTRIBUTION_JOB_ADDRESSES"


def keras_variables() -> list[Node]:
    """Return the variables of a worker. The index of the worker is a reference to a preceding variable.

    The backend is JAX, because keras.distribution trains on several hosts only with JAX.
    """
    return [
        {"name": "KERAS_BACKEND", "value": "jax"},
        variable(JOB_ADDRESSES, WORKER_HOSTS),
        {"name": "KERAS_DISTRIBUTION_NUM_PROCESSES", "value": Text((replicas(_KERAS_ROLE),))},
        {"name": "KERAS_DISTRIBUTION_PROCESS_ID", "value": "$(TASK_INDEX)"},
    ]


def keras_addresses_size(structure: Structure, pod: naming.PodName) -> Node:
    """Return the number of bytes of the environment string `NAME=VALUE` that lists the addresses of all processes."""
    return Sum(Length(host_list(structure, _KERAS_ROLE, pod)), len(f"{JOB_ADDRESSES}="))
