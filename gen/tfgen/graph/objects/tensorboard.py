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
from tfgen.graph.objects.podspec import pod_spec
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
        Template(f"{ROLE}-service", _service(port)),
        Template(f"{ROLE}-networkpolicy", _policy(port)),
        Template(ROLE, _deployment(structure, port)),
    )


def _amounts(bound: str) -> Merged:
    """Return the map of TensorBoard's resource `requests` or `limits`."""
    amounts = MapOf({name: value(f"tensorboard.resources.{name}") for name in ("cpu", "memory")})
    return Merged((amounts, value(f"tensorboard.resources.{bound}")))


def _selector() -> dict[Key, Node]:
    return {keys.JOB: naming.JOB, keys.ROLE: ROLE}


def _service(port: int) -> Node:
    spec: Node = {
        "type": "ClusterIP",
        "selector": _selector(),
        "ports": [{"name": _PORT, "port": port, "protocol": "TCP", "targetPort": _PORT}],
    }
    return When(_ENABLED, naming.kubernetes_object("v1", "Service", naming.TENSORBOARD, {"spec": spec}, ROLE))


def _policy(port: int) -> Node:
    """Return TensorBoard's network policy, which allows ingress from the configured clients, and blocks egress."""
    readers = value("tensorboard.readers")
    ingress: Node = {
        "ports": [{"port": port, "protocol": "TCP"}],
        "from": When(readers, NotEmpty(readers), [{"podSelector": {}}]),
    }
    spec: dict[Key, Node] = {
        "podSelector": {"matchLabels": _selector()},
        "ingress": [ingress],
        "policyTypes": supporting.policy_types(),
    }
    return When(AllOf((_ENABLED, supporting.ISOLATED)), supporting.network_policy(naming.TENSORBOARD, spec, ROLE))


def _deployment(structure: Structure, port: int) -> Node:
    ignored_replicas: dict[Key, Node] = {
        key: None if isinstance(key, Comment) else When(Not(_KEPT), node)
        for key, node in naming.IGNORED_REPLICAS.items()
    }
    spec: Node = {
        "replicas": 1,
        Comment("A second pod could not mount a volume that only one node may mount."): None,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": _selector()},
        "template": {
            "metadata": {
                "labels": {
                    **_selector(),
                    keys.NAME: naming.NAME,
                    keys.INSTANCE: naming.RELEASE,
                    keys.COMPONENT: ROLE,
                    Splice("labels"): value("labels"),
                },
                "annotations": value("annotations"),
            },
            "spec": _pod(structure, port),
        },
    }
    deployment = naming.kubernetes_object(
        "apps/v1", "Deployment", naming.TENSORBOARD, {"spec": spec}, ROLE, ignored_replicas
    )
    limited = Let(podspec.LIMITS.name, _amounts("limits"), When(_ENABLED, deployment))
    return Let(podspec.REQUESTS.name, _amounts("requests"), limited)


def _pod(structure: Structure, port: int) -> Node:
    return pod_spec(
        {},
        {},
        {
            "securityContext": podspec.pod_context_template(structure.profile),
            "nodeSelector": value("nodeSelector"),
            "tolerations": podspec.job_tolerations(),
            "imagePullSecrets": value("imagePullSecrets"),
            "volumes": storage.reader_volumes(structure),
            "containers": [
                {
                    "name": ROLE,
                    "image": Default(value("tensorboard.image"), value("image")),
                    "imagePullPolicy": if_set(value("imagePullPolicy")),
                    "command": ["tensorboard"],
                    # https://github.com/tensorflow/tensorboard/blob/master/tensorboard/plugins/core/core_plugin.py
                    "args": ["--logdir", value("tensorboard.logDir"), "--bind_all", "--port", str(port)],
                    "env": [podspec.HOME, podspec.NO_GPUS],
                    "ports": [{"name": _PORT, "containerPort": port, "protocol": "TCP"}],
                    "resources": {"requests": podspec.REQUESTS, "limits": podspec.LIMITS},
                    "startupProbe": {**_probe(), **_START},
                    "readinessProbe": _probe(),
                    "livenessProbe": {**_probe(), "periodSeconds": 30},
                    "securityContext": podspec.container_context_template(structure.profile),
                    "volumeMounts": storage.reader_mounts(),
                }
            ],
        },
    )


def _probe() -> dict[Key, Node]:
    return {"httpGet": {"path": "/", "port": _PORT}, "timeoutSeconds": 10}
