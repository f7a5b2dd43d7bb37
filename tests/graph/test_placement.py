"""Tests of the nodes for pods: spot nodes, and a single node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from tfgen.graph.built import plain_objects
from tfgen.graph.fill import Scope
from tfgen.graph.graph import graph
from tfgen.job.training_job import TrainingJob

JOB = """\
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1
  tolerations: [{key: nvidia.com/gpu, operator: Exists}]
  roles: {chief: {}, ps: {replicas: 2}, worker: {replicas: 4}, evaluator: {}}
"""
GPU = {"key": "nvidia.com/gpu", "operator": "Exists"}

# The documents of Google, Microsoft and Oracle give these taints of spot nodes.
SPOT = [
    {"key": key, "operator": "Exists", "effect": "NoSchedule"}
    for key in (
        "cloud.google.com/gke-spot",
        "kubernetes.azure.com/scalesetpriority",
        "oci.oraclecloud.com/oke-is-preemptible",
    )
]


def rendered(spec: str) -> list[Any]:
    document = yaml.safe_load(JOB)
    document["spec"] |= yaml.safe_load(spec) or {}
    return list(plain_objects(document))


def pods(spec: str) -> Mapping[str, Any]:
    """Return the specs of the pods by role."""
    return {
        made["metadata"]["labels"]["app.kubernetes.io/component"]: made["spec"]["template"]["spec"]
        for made in rendered(spec)
        if made["kind"] in ("StatefulSet", "Job", "Deployment")
        and "app.kubernetes.io/component" in made["metadata"]["labels"]
    }


def test_no_pod_runs_on_spot_nodes_unless_it_is_said():
    made = pods("")
    assert made.keys() == {"chief", "ps", "worker", "evaluator"}
    assert all(pod["tolerations"] == [GPU] for pod in made.values())


def test_a_job_that_may_run_on_spot_nodes():
    made = pods("spot: true\nroles: {chief: {}, worker: {tolerations: [{key: a}]}, ps: {spot: false}}")
    assert made["chief"]["tolerations"] == [*SPOT, GPU]
    assert made["worker"]["tolerations"] == [*SPOT, {"key": "a"}]
    assert made["ps"]["tolerations"] == [GPU]


def test_a_role_that_may_run_on_spot_nodes():
    made = pods("tolerations: []\nroles: {chief: {}, ps: {}, worker: {spot: true}}")
    assert made["worker"]["tolerations"] == SPOT
    assert "tolerations" not in made["chief"]


def test_the_node_of_a_role():
    made = pods("roles: {chief: {nodeName: node-1}, ps: {}, worker: {}}")
    assert {role: pod.get("nodeName") for role, pod in made.items()} == {"chief": "node-1", "ps": None, "worker": None}


def test_only_tasks_with_a_gpu_need_a_node_with_the_product():
    gpu = "gpu: {count: 1, product: NVIDIA-T4}"
    made = pods(
        f"roles: {{chief: {{resources: {{{gpu}}}}}, ps: {{}}, worker: {{resources: {{{gpu.replace('1', '0')}}}}}, "
        "evaluator: {resources: {gpu: {count: 0, product: NVIDIA-T4}, limits: {nvidia.com/mig-1g.5gb: 1}}}}"
    )
    assert {role: pod.get("nodeSelector") for role, pod in made.items()} == {
        "chief": {"nvidia.com/gpu.product": "NVIDIA-T4"},
        "ps": None,
        "worker": None,
        "evaluator": {"nvidia.com/gpu.product": "NVIDIA-T4"},
    }


def test_the_pod_of_helm_test_finds_the_nodes_of_the_job():
    """If all nodes of a cluster have a taint, `helm test` waits forever for a pod without the toleration."""
    document = yaml.safe_load(JOB)
    document["spec"] |= {"spot": True, "nodeSelector": {"pool": "training"}}
    job = TrainingJob.from_document(document)
    (template,) = (template for template in graph(job.structure) if template.name == "tests/connection")
    ((_, pod),) = template.objects(Scope(job.values, "mnist", "mnist"))
    assert pod["spec"]["nodeSelector"] == {"pool": "training"}
    assert pod["spec"]["tolerations"] == [*SPOT, GPU]
