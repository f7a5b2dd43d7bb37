"""Jobs and the nodes of a cluster, for the time of `tfgen plan`: equal sizes give equal files.

write_plan(folder, nodes=1_000, jobs=100)    nodes.json, jobs/00000.yaml ... jobs/00099.yaml
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import yaml

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_PODS = 5
"""Number of pods on each node."""


def write_plan(folder: Path, nodes: int, jobs: int, *, are_apart: bool = False) -> None:
    """Write the jobs of a plan, and the nodes with the pods that run there.

    If `are_apart` is true, each job has 100 workers with a topology spread over the zones and an anti-affinity.
    """
    luck = random.Random(nodes)
    (folder / "jobs").mkdir(parents=True)
    items = [item for index in range(nodes) for item in _node(luck, index)]
    (folder / "nodes.json").write_text(json.dumps({"kind": "List", "items": items}), encoding="utf-8")
    for number in range(jobs):
        job = _job(luck, number)
        if are_apart:
            _keep_apart(job)
        (folder / "jobs" / f"{number:05}.yaml").write_text(yaml.safe_dump(job), encoding="utf-8")


def _node(luck: random.Random, index: int) -> list[dict[str, Any]]:
    """Return a node and its running pods."""
    name = f"node-{index}"
    room = {
        "cpu": str(luck.choice((16, 32, 64))),
        "memory": f"{luck.choice((64, 128))}Gi",
        "pods": "110",
        "nvidia.com/gpu": str(luck.choice((0, 4, 8))),
    }
    labels = {HOST: name, ZONE: luck.choice("abc")}
    node = {"kind": "Node", "metadata": {"name": name, "labels": labels}, "status": {"allocatable": room}}
    return [node, *(_pod(luck, name, number) for number in range(_PODS))]


def _pod(luck: random.Random, node: str, number: int) -> dict[str, Any]:
    requests = {"cpu": f"{luck.randint(1, 12) * 250}m", "memory": f"{luck.randint(1, 8)}Gi"}
    return {
        "kind": "Pod",
        "metadata": {"name": f"{node}-{number}", "namespace": "ml", "labels": {"app": f"app-{number}"}},
        "spec": {"nodeName": node, "containers": [{"name": "main", "resources": {"requests": requests}}]},
    }


def _job(luck: random.Random, number: int) -> dict[str, Any]:
    """Return a job with random amounts. One of three jobs has a topology spread, and one of three an anti-affinity."""
    name = f"job-{number:05}"
    worker = {"replicas": luck.randint(2, 16), **_resources(luck, 32, gpus=luck.choice((1, 2, 4)))}
    ps = {"replicas": luck.randint(1, 3), **_resources(luck, 16)}
    selector = {"matchLabels": {"tfgen/job": name, "tfgen/role": "worker" if number % 3 == 1 else "ps"}}
    if number % 3 == 1:
        spread = {"topologyKey": luck.choice((ZONE, HOST)), "maxSkew": 1, "labelSelector": selector}
        worker["topologySpreadConstraints"] = [{**spread, "whenUnsatisfiable": "DoNotSchedule"}]
    elif number % 3 == 2:
        term = {"topologyKey": HOST, "labelSelector": selector}
        ps["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    roles = {"chief": _resources(luck, 8), "ps": ps, "worker": worker}
    return {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"image": "registry.example.com/ml/dist-mnist:1.4.0", "roles": roles},
    }


def _keep_apart(job: dict[str, Any]) -> None:
    worker = job["spec"]["roles"]["worker"]
    selector = {"matchLabels": {"tfgen/job": job["metadata"]["name"], "tfgen/role": "worker"}}
    spread = {"topologyKey": ZONE, "maxSkew": 1, "labelSelector": selector, "whenUnsatisfiable": "DoNotSchedule"}
    term = {"topologyKey": HOST, "labelSelector": selector}
    worker |= {
        "replicas": 100,
        "topologySpreadConstraints": [spread],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
    }


def _resources(luck: random.Random, quarters: int, gpus: int = 0) -> dict[str, Any]:
    amounts = {"cpu": f"{luck.randint(1, quarters) * 250}m", "memory": f"{luck.randint(1, 16)}Gi"}
    return {"resources": {**amounts, **({"gpu": {"count": gpus}} if gpus else {})}}
