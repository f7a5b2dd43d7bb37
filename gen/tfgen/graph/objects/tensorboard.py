"""TensorBoard: a Deployment that reads the logs of all runs, a Service, and a network policy.

TensorBoard belongs to the job, and shows the metrics of all runs. TensorBoard's pod has no labels of a run, so no
selector of a run or of a workload matches the pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tfgen.graph.fill import Template
from tfgen.graph.holes import (
    AllOf,
    Comment,
    Default,
    Key,
    Let,
    MapOf,
    Merged,
    Node,
    Not,
    NotEmpty,
    Splice,
    When,
    if_set,
)
from tfgen.graph.objects import naming, podspec, storage, supporting
from tfgen.graph.objects.podspec import PodParts, pod_spec
from tfgen.graph.objects.values import value
from tfgen.job.training_job import Structure
from tfgen.kubernetes import keys

ROLE: Final = storage.READER
"""The name of TensorBoard in the role label of the pod and in the container name."""

_PORT: Final = "http"
_ENABLED: Final = value("tensorboard.enabled")

_KEPT: Final = value("tensorboard.keep")
RELEASED: Final = When(AllOf((_ENABLED, Not(_KEPT))), naming.TENSORBOARD)
"""The name of TensorBoard's Deployment, with the condition under which the finisher releases TensorBoard."""

# With half a CPU, the import of TensorFlow takes one or two minutes.
_START: Final[Mapping[Key, Node]] = {"periodSeconds": 5, "failureThreshold": 60}


def tensorboard(structure: Structure, port: int) -> tuple[Template, ...]:
    """Return the templates of TensorBoard. The chart prints the objects only if TensorBoard is enabled."""
    return (
        Template(f"{ROLE}-service", _if_enabled(_service(port))),
        Template(f"{ROLE}-networkpolicy", _policy(port)),
        Template(ROLE, _deployment(structure, port)),
    )


def requests() -> Merged:
    """Return the map of TensorBoard's resource requests. `_deployment` gives the map the name `resources.REQUESTS`."""
    return Merged((_cpu_and_memory(), value("tensorboard.resources.requests")))


def limits() -> Merged:
    """Return the map of TensorBoard's resource limits. `_deployment` gives the map the name `resources.LIMITS`."""
    return Merged((_cpu_and_memory(), value("tensorboard.resources.limits")))


def _if_enabled(item: Node) -> When:
    return When(_ENABLED, item)


def _selector() -> dict[Key, Node]:
    return {keys.JOB: naming.JOB, keys.ROLE: ROLE}


def _service(port: int) -> Node:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": naming.metadata(naming.TENSORBOARD, ROLE),
        "spec": {
            "type": "ClusterIP",
            "selector": _selector(),
            "ports": [{"name": _PORT, "port": port, "protocol": "TCP", "targetPort": _PORT}],
        },
    }


def _policy(port: int) -> Node:
    """Return TensorBoard's network policy, which allows ingress from the configured clients, and blocks egress."""
    readers = value("tensorboard.readers")
    return When(
        AllOf((_ENABLED, supporting.ISOLATED)),
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": naming.metadata(naming.TENSORBOARD, ROLE),
            "spec": {
                "podSelector": {"matchLabels": _selector()},
                "ingress": [
                    {
                        "ports": [{"port": port, "protocol": "TCP"}],
                        "from": When(readers, NotEmpty(readers), [{"podSelector": {}}]),
                    }
                ],
                "policyTypes": supporting.policy_types(),
            },
        },
    )


def _deployment(structure: Structure, port: int) -> Node:
    deployment: Node = _if_enabled(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": naming.metadata(naming.TENSORBOARD, ROLE, annotations=_ignored_replicas()),
            "spec": {
                "replicas": 1,
                Comment("A second pod could not mount a volume that only one node may mount."): None,
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": _selector()},
                "template": {"metadata": _pod_metadata(), "spec": _pod(structure, port)},
            },
        }
    )
    return Let(podspec.REQUESTS.name, requests(), Let(podspec.LIMITS.name, limits(), deployment))


def _ignored_replicas() -> dict[Key, Node]:
    return {
        key: None if isinstance(key, Comment) else When(Not(_KEPT), node)
        for key, node in naming.IGNORED_REPLICAS.items()
    }


def _cpu_and_memory() -> MapOf:
    return MapOf({name: value(f"tensorboard.resources.{name}") for name in ("cpu", "memory")})


def _pod_metadata() -> Node:
    return {
        "labels": {
            **_selector(),
            keys.NAME: naming.NAME,
            keys.INSTANCE: naming.RELEASE,
            keys.COMPONENT: ROLE,
            Splice("labels"): value("labels"),
        },
        "annotations": value("annotations"),
    }


def _pod(structure: Structure, port: int) -> Node:
    return pod_spec(
        PodParts(
            security_context=podspec.pod_context_template(structure.profile),
            scheduling={"nodeSelector": value("nodeSelector"), "tolerations": podspec.job_tolerations()},
            pull_secrets=value("imagePullSecrets"),
            containers=[
                {
                    "name": ROLE,
                    "image": Default(value("tensorboard.image"), value("image")),
                    "imagePullPolicy": if_set(value("imagePullPolicy")),
                    "command": ["tensorboard"],
                    # https://github.com/tensorflow/tensorboard/blob/master/tensorboard/plugins/core/core_plugin.py
                    "args": ["--logdir", value("tensorboard.logDir"), "--bind_all", "--port", str(port)],
                    "env": [
                        {"name": "HOME", "value": "/tmp"},  # noqa: S108 - the emptyDir of the pod
                        podspec.NO_GPUS,
                    ],
                    "ports": [{"name": _PORT, "containerPort": port, "protocol": "TCP"}],
                    "resources": podspec.resources(),
                    "startupProbe": {**_probe(), **_START},
                    "readinessProbe": _probe(),
                    "livenessProbe": {**_probe(), "periodSeconds": 30},
                    "securityContext": podspec.container_context_template(structure.profile),
                    "volumeMounts": storage.reader_mounts(),
                }
            ],
            volumes=storage.reader_volumes(structure),
        )
    )


def _probe() -> dict[Key, Node]:
    return {"httpGet": {"path": "/", "port": _PORT}, "timeoutSeconds": 10}
