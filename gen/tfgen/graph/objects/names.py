"""The names of all objects and hosts of a job.

The name of an object that belongs to the job, such as a claim, contains the name of the Helm release. The name of an
object that belongs to a run, such as a workload, the Service or a pod, also contains the name of the run, because a run
cannot be changed in place. Only a chart has the values `nameOverride` and `fullnameOverride` (`schema.tunables`).
In all other outputs, both values are empty.
"""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import (
    Contains,
    Default,
    NamedTemplate,
    Node,
    Release,
    Text,
    Value,
    When,
)
from tfgen.graph.objects.values import value

RELEASE = Release("Release.Name")
NAME = NamedTemplate(
    "name",
    "The name of the chart, or nameOverride.",
    Default(Value("nameOverride", "string"), Release("Chart.Name")),
)

_FULL = Value("fullnameOverride", "string")

JOB = NamedTemplate(
    "fullname",
    "The name of the job: fullnameOverride, or RELEASE-CHART, or RELEASE if the name of the release contains the name "
    "of the chart.",
    When(_FULL, _FULL, When(Contains(RELEASE, NAME), RELEASE, Text((RELEASE, "-", NAME)))),
)

RUN = NamedTemplate(
    "run",
    "The name of the run: JOB-RUN, or JOB if the run has no name.",
    Text((JOB, When(value("run"), Text(("-", value("run")))))),
)

CONTAINER: Final = "tensorflow"  # the TFJob operator requires this name, and tools look for the name
PORT_NAME: Final = "tensorflow"

# The label controller-revision-hash of a pod contains the name of the StatefulSet and a hash of 10 characters.
# Kubernetes accepts a longer name, but never creates a pod (https://github.com/kubernetes/kubernetes/issues/64023).
STATEFUL_SET_NAME_MAX = 52
HOST_NAME_MAX = 63  # a DNS label (RFC 1123); the host name of a task is the name of its pod
SERVICE_NAME_MAX = 63  # a DNS label
LABEL_VALUE_MAX = 63  # the name of a Job is a label value of its pods


def workload(role: Node) -> Text:
    """Return the name of the workload object of a role, such as a StatefulSet."""
    return Text((RUN, "-", role))


def claim(storage: Node) -> Text:
    """Return the name of the claim for a volume."""
    return Text((JOB, "-", storage))


def literal(key: Node) -> Text:
    """Return the name for an object under `objects` of the job file, if the object itself sets no name."""
    return Text((JOB, "-", key))


def tensorboard() -> Text:
    """Return the name of TensorBoard's Deployment, Service and network policy. The objects belong to the job."""
    return Text((JOB, "-tensorboard"))


def code(digest: str) -> Text:
    """Return the name of the ConfigMap with the code of the job file."""
    return Text((RUN, f"-code-{digest}"))


def connection_test() -> Text:
    """Return the name of the test pod that ``helm test`` runs."""
    return Text((RUN, "-connection-test"))


def finisher() -> Text:
    """Return the name of the Job, ServiceAccount, Role and RoleBinding of the finisher."""
    return Text((RUN, "-finisher"))


def finisher_program(digest: str) -> Text:
    """Return the name of the ConfigMap with the program of the finisher.

    The ConfigMap is immutable, so the name contains the digest of the program.
    """
    return Text((RUN, f"-finisher-{digest}"))


def run_lock_program(digest: str) -> Text:
    """Return the name of the run lock's ConfigMap. The name contains the digest of the run lock's program."""
    return Text((RUN, f"-run-lock-{digest}"))


def pod(role: Node, index: Node) -> Text:
    """Return the name of a task's pod, which is also the pod's host name."""
    return Text((workload(role), "-", index))


def operator_pod(task: Node, index: Node) -> Text:
    """Return the name that an operator, such as the TFJob operator, gives to the pod and to the Service of a task."""
    return Text((RUN, "-", task, "-", index))


def job_set_pod(role: Node, index: Node) -> Text:
    """Return the name of a task's pod in a JobSet: `RUN-ROLE-0-INDEX`. The 0 is the index of the role's only Job."""
    return Text((workload(role), "-0-", index))


def elastic_dl_master() -> Text:
    """Return the name of the ElasticDL master's pod. The pods and the client of ElasticDL require this name."""
    return Text(("elasticdl-", RUN, "-master"))


def elastic_dl_account() -> Text:
    """Return the name of the ServiceAccount, Role and RoleBinding of the ElasticDL master."""
    return Text((RUN, "-master"))


def host(pod_name: Node, port: int) -> Text:
    """Return the host of a task as ``POD.SERVICE:PORT``. A host without a namespace works in every namespace."""
    return Text((pod_name, ".", RUN, f":{port}"))
