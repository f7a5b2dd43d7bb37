"""Every name that an object of a job has, and every host.

What belongs to the job (its claims) is named after the release; what belongs to one run of it (its workloads, its
Service, its pods) has the run's name in it, because a run cannot be changed in place. `nameOverride` and
`fullnameOverride` are values of a chart alone (`schema.chart_values`): all else is filled without them.
"""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import (
    Contains,
    Default,
    Named,
    Node,
    Release,
    Text,
    Value,
    When,
)
from tfgen.graph.objects.values import value

RELEASE = Release("Release.Name")
NAME = Named(
    "name",
    "The chart's name: nameOverride, else its own.",
    Default(Value("nameOverride", "string"), Release("Chart.Name")),
)

_FULL = Value("fullnameOverride", "string")

JOB = Named(
    "fullname",
    "The job's name: fullnameOverride, else the release's, with the chart's behind it unless it is in it already.",
    When(_FULL, _FULL, When(Contains(RELEASE, NAME), RELEASE, Text((RELEASE, "-", NAME)))),
)

RUN = Named(
    "run",
    "The name of one run: the job's, and the run's behind it where there is one.",
    Text((JOB, When(value("run"), Text(("-", value("run")))))),
)

CONTAINER: Final = "tensorflow"  # the name that the TFJob operator asks for, so that tools find it
PORT_NAME: Final = "tensorflow"

# Kubernetes' limits. A StatefulSet's pods carry its name and a hash of 10 as the label controller-revision-hash;
# past 52 it is accepted and never makes a pod (https://github.com/kubernetes/kubernetes/issues/64023).
STATEFUL_SET_NAME_MAX = 52
HOST_NAME_MAX = 63  # a DNS label (RFC 1123); the host name of a task is the name of its pod
SERVICE_NAME_MAX = 63  # a DNS label too
LABEL_VALUE_MAX = 63  # a Job's pods have its name as a label


def workload(role: Node) -> Text:
    """The name of the object that makes a role's pods."""
    return Text((RUN, "-", role))


def claim(storage: Node) -> Text:
    """The name of the claim that is made for a volume."""
    return Text((JOB, "-", storage))


def literal(key: Node) -> Text:
    """The name of an object that stands in job.yaml and says none."""
    return Text((JOB, "-", key))


def tensorboard() -> Text:
    """The name of TensorBoard's Deployment, Service and policy: it belongs to the job, not to a run."""
    return Text((JOB, "-tensorboard"))


def code(digest: str) -> Text:
    """The name of the ConfigMap of the code that stands in the job."""
    return Text((RUN, f"-code-{digest}"))


def connection_test() -> Text:
    """The name of the pod of ``helm test``."""
    return Text((RUN, "-connection-test"))


def finisher() -> Text:
    """The name of the finisher's Job, account, Role and binding."""
    return Text((RUN, "-finisher"))


def finisher_program(digest: str) -> Text:
    """The name of the ConfigMap with the finisher's program: another one for another program, since none changes."""
    return Text((RUN, f"-finisher-{digest}"))


def run_lock_program(digest: str) -> Text:
    """The name of the ConfigMap with the program that holds the run lock, likewise."""
    return Text((RUN, f"-run-lock-{digest}"))


def pod(role: Node, index: Node) -> Text:
    """The name of a task's pod, and its host name."""
    return Text((workload(role), "-", index))


def operator_pod(task: Node, index: Node) -> Text:
    """The name that an operator gives the pod of a task that it knows by that word, and its Service."""
    return Text((RUN, "-", task, "-", index))


def job_set_pod(role: Node, index: Node) -> Text:
    """The name of a task's pod where its Job is the first, and only, of those that a JobSet makes of the role's."""
    return Text((workload(role), "-0-", index))


def elastic_dl_master() -> Text:
    """The name by which ElasticDL's pods and its client know the master of a job."""
    return Text(("elasticdl-", RUN, "-master"))


def elastic_dl_account() -> Text:
    """The name of the master's account, Role and binding."""
    return Text((RUN, "-master"))


def host(pod_name: Node, port: int) -> Text:
    """``HOST:PORT`` of one task, relative to the namespace, so that nothing depends on it."""
    return Text((pod_name, ".", RUN, f":{port}"))
