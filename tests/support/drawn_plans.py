"""Small random clusters with a job for each. About half of the jobs fit.

case = draw_case(random.Random(3), 3)          # nodes "case-3-0", ..., pods that run there, and the job "job-3"

The nodes of a case have their own label, and the job selects the label. So one real cluster has room for many cases.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

ZONES = ("a", "b")
TAINT = {"key": "dedicated", "value": "training", "effect": "NoSchedule"}
TOLERATION = {"key": "dedicated", "operator": "Equal", "value": "training", "effect": "NoSchedule"}
RUNTIME_CLASS = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "boxed"},
    "handler": "boxed",
    "overhead": {"podFixed": {"cpu": "250m", "memory": "512Mi"}},
}
CASE = "example.com/case"
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Case:
    """The nodes of a cluster, the running pods, and a job."""

    nodes: list[Object]
    pods: list[Object]
    job: Object

    @property
    def tasks(self) -> int:
        """Return the number of pods of the job, with the pod of the finisher."""
        roles: Object = self.job["spec"]["roles"]
        return 1 + sum(int(role.get("replicas", 1)) for role in roles.values())


def draw_case(luck: random.Random, number: int) -> Case:
    """Return a random case, whose number is part of the names of its nodes, pods and job."""
    nodes = [_node(luck, number, index) for index in range(luck.randint(2, 5))]
    pods = [
        _pod(luck, f"other-{number}-{index}", luck.choice(nodes)["metadata"]["name"])
        for index in range(luck.randint(0, 4))
    ]
    return Case(nodes, pods, _job(luck, number))


def _node(luck: random.Random, number: int, index: int) -> Object:
    name = f"case-{number}-{index}"
    room = {
        "cpu": str(luck.randint(6, 16)),
        "memory": f"{luck.choice((16, 32, 64))}Gi",
        "pods": str(luck.choice((4, 6, 110, 110))),
    }
    gpus = luck.choice((0, 1, 2, 4, 4))
    if gpus:
        room["nvidia.com/gpu"] = str(gpus)
    labels = {CASE: str(number), HOST: name, ZONE: luck.choice(ZONES), "rank": str(index)}
    node: Object = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {"capacity": room, "allocatable": room},
    }
    if luck.random() < 0.2:
        node["spec"]["taints"] = [TAINT]
    if luck.random() < 0.05:
        node["spec"]["unschedulable"] = True
    return node


def _pod(luck: random.Random, name: str, node: str) -> Object:
    """Return a pod on a node, even if the node has no room for the pod, like the pods of a kubelet."""
    requests = {"cpu": f"{luck.randint(1, 6) * 250}m", "memory": f"{luck.randint(1, 4)}Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "main", "image": "example.com/other:1", "resources": {"requests": requests}}],
        },
    }


def _job(luck: random.Random, number: int) -> Object:
    name = f"job-{number}"
    spec: Object = {
        "image": "registry.example.com/mnist:1",
        "nodeSelector": {CASE: str(number)},
        "roles": {
            "chief": _role(luck, name, "chief", gpus=(0, 1)),
            "ps": {"replicas": luck.randint(1, 2), **_role(luck, name, "ps", gpus=(0,))},
            "worker": {"replicas": luck.randint(1, 5), **_role(luck, name, "worker", gpus=(0, 1, 1, 2))},
        },
    }
    if luck.random() < 0.5:
        spec["tolerations"] = [TOLERATION]
    return {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": name},
        "spec": spec,
    }


def _role(luck: random.Random, job: str, name: str, gpus: tuple[int, ...]) -> Object:
    resources: Object = {"cpu": f"{luck.randint(1, 4) * 500}m", "memory": f"{luck.randint(1, 6)}Gi"}
    count = luck.choice(gpus)
    if count:
        resources["gpu"] = {"count": count}
    role: Object = {"resources": resources}
    if luck.random() < 0.1:
        role["nodeSelector"] = {ZONE: luck.choice(ZONES)}
    if luck.random() < 0.15:
        role["runtimeClassName"] = "boxed"
    if luck.random() < 0.2:
        role["initContainers"] = [_container("prepare", luck.randint(1, 4))]
    if luck.random() < 0.2:
        role["sidecars"] = [_container("beside", luck.randint(1, 2))]
    if luck.random() < 0.15:
        operator, values = luck.choice((("In", ["0", "1", "2"]), ("NotIn", ["1"]), ("Gt", ["0"]), ("Exists", None)))
        expression = {"key": "rank", "operator": operator, **({"values": values} if values else {})}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        role["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    elif luck.random() < 0.05:
        term = {"labelSelector": {"matchLabels": {"tfgen/job": job, "tfgen/role": name}}, "topologyKey": HOST}
        role["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if luck.random() < 0.25:
        role["topologySpreadConstraints"] = [
            {
                "topologyKey": luck.choice((ZONE, HOST)),
                "maxSkew": luck.randint(1, 2),
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"tfgen/job": job, "tfgen/role": name}},
                "nodeTaintsPolicy": luck.choice(("Honor", "Ignore")),
            }
        ]
    return role


def _container(name: str, cores: int) -> Object:
    amounts = {"cpu": str(cores), "memory": "1Gi"}
    return {
        "name": name,
        "image": "registry.example.com/tools:1",
        "resources": {"requests": amounts, "limits": amounts},
    }
