"""Tests of the contradictions between the objects of a job: each check can fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tfgen.check.jobs import check
from tfgen.check.object_links import Objects, find_contradictions
from tfgen.graph.graph import plain_objects

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  env: {TOKEN: {secretKeyRef: {name: hub, key: token}}}
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
  storage:
    data: {mountPath: /data, claim: {name: shared}}
    model: {mountPath: /model, claim: {size: 20Gi}}
  gang: {scheduler: volcano}
  network: {egress: {limited: true}}
  podDisruptionBudget: {}
  environments: {prod: {roles: {worker: {replicas: 4}}}}
"""
SAID = frozenset({"shared", "hub"})

Named = dict[str, Any]


def objects(text: str = JOB) -> Named:
    """Return the objects by kind and name. The objects share no data, so a test can change one object alone."""
    (document,) = check(text, "job.yaml").documents
    objects = json.loads(json.dumps(plain_objects(document.data)))
    return {f"{item['kind']} {item['metadata']['name']}": item for item in objects}


def found(named: Named) -> list[str]:
    """Return the distinct problems as "KIND NAME: message"."""
    said = (
        f"{f.item['kind']} {f.item['metadata']['name']}: {f.message}"
        for f in find_contradictions(Objects((*named.values(),), SAID))
    )
    return sorted(set(said))


def pod(named: Named, name: str) -> Any:
    return named[name]["spec"]["template"]["spec"]


def container(named: Named, name: str) -> Any:
    return pod(named, name)["containers"][0]


def policies(named: Named) -> Any:
    return named["NetworkPolicy mnist"]["spec"]


Mutation = tuple[Callable[[Named], object], list[str]]

HOST = "ConfigMap mnist: the host mnist-worker-1.mnist:2222"
OUT = [
    f"ConfigMap mnist: the policies block egress from {one} to {other}"
    for one in ("mnist-chief-0.mnist:2222", "mnist-ps-0.mnist:2222", "mnist-worker-0.mnist:2222")
    for other in ("mnist-chief-0.mnist:2222", "mnist-ps-0.mnist:2222", "mnist-worker-0.mnist:2222")
]
IN = [line.replace("egress", "ingress") for line in OUT]

MUTATIONS: dict[str, Mutation] = {
    "none": (dict, []),
    "a pod label that the selector needs": (
        lambda o: o["StatefulSet mnist-ps"]["spec"]["template"]["metadata"]["labels"].pop("tfgen/role"),
        [
            "PodDisruptionBudget mnist-ps: the selector matches no pod of the job",
            "StatefulSet mnist-ps: the selector does not match the labels of the pods",
        ],
    ),
    "a Service that selects another run": (
        lambda o: o["Service mnist"]["spec"]["selector"].update({"tfgen/run": "2"}),
        ["Service mnist: the selector matches no pod of the job"],
    ),
    "a selector's expression": (
        lambda o: o["StatefulSet mnist-ps"]["spec"]["selector"].update(
            matchExpressions=[{"key": "tfgen/role", "operator": "NotIn", "values": ["ps"]}]
        ),
        ["StatefulSet mnist-ps: the selector does not match the labels of the pods"],
    ),
    "no claim": (
        lambda o: o.pop("PersistentVolumeClaim mnist-model"),
        [
            f"{name}: the PersistentVolumeClaim mnist-model does not exist, and the job file does not name the object"
            for name in ("Job mnist-chief", "StatefulSet mnist-ps", "StatefulSet mnist-worker")
        ],
    ),
    "another claim of the user's": (
        lambda o: pod(o, "Job mnist-chief")["volumes"].append(
            {"name": "x", "persistentVolumeClaim": {"claimName": "nowhere"}}
        ),
        [
            "Job mnist-chief: the PersistentVolumeClaim nowhere does not exist, and the job file does not name the "
            "object"
        ],
    ),
    "a secret that the job does not name": (
        lambda o: container(o, "Job mnist-chief")["env"].append(
            {"name": "X", "valueFrom": {"secretKeyRef": {"name": "other", "key": "token"}}}
        ),
        ["Job mnist-chief: the Secret other does not exist, and the job file does not name the object"],
    ),
    "an optional one": (
        lambda o: container(o, "Job mnist-chief")["env"].append(
            {"name": "X", "valueFrom": {"secretKeyRef": {"name": "other", "key": "token", "optional": True}}}
        ),
        [],
    ),
    "a key of a ConfigMap": (
        lambda o: o["ConfigMap mnist"].update(data={}),
        [
            f"{name}: the ConfigMap mnist has no key cluster"
            for name in ("Job mnist-chief", "StatefulSet mnist-ps", "StatefulSet mnist-worker")
        ],
    ),
    "no account": (
        lambda o: o.pop("ServiceAccount mnist-finisher"),
        [
            f"{name}: the ServiceAccount mnist-finisher does not exist, and the job file does not name the object"
            for name in ("Job mnist-finisher", "RoleBinding mnist-finisher")
        ],
    ),
    "no role": (
        lambda o: o.pop("Role mnist-finisher"),
        [
            "RoleBinding mnist-finisher: the Role mnist-finisher does not exist, and the job file does not name the "
            "object"
        ],
    ),
    "no Service": (
        lambda o: o.pop("Service mnist"),
        [
            f"{name}: the Service mnist does not exist, and the job file does not name the object"
            for name in ("Job mnist-chief", "StatefulSet mnist-ps", "StatefulSet mnist-worker")
        ],
    ),
    "a Service's port": (
        lambda o: o["Service mnist"]["spec"]["ports"][0].update(targetPort="grpc"),
        ["Service mnist: the selected pods have no port grpc"],
    ),
    "a policy's port": (
        lambda o: policies(o)["ingress"].append({"ports": [{"port": "metrics"}]}),
        ["NetworkPolicy mnist: the selected pods have no port metrics"],
    ),
    "a probe's port": (
        lambda o: container(o, "StatefulSet mnist-ps")["readinessProbe"]["tcpSocket"].update(port="grpc"),
        [
            "StatefulSet mnist-ps: the readinessProbe of its container tensorflow uses the port grpc, which does not "
            "exist"
        ],
    ),
    "a port's name twice": (
        lambda o: container(o, "StatefulSet mnist-ps")["ports"].append({"name": "tensorflow", "containerPort": 1}),
        ["StatefulSet mnist-ps: 2 ports of its pod have the name tensorflow"],
    ),
    "a container's name twice": (
        lambda o: pod(o, "StatefulSet mnist-ps").update(initContainers=[{"name": "tensorflow", "image": "x:1"}]),
        ["StatefulSet mnist-ps: several containers of its pod have the name tensorflow"],
    ),
    "a volume's name twice": (
        lambda o: pod(o, "StatefulSet mnist-ps")["volumes"].append({"name": "data", "emptyDir": {}}),
        ["StatefulSet mnist-ps: several volumes of its pod have the name data"],
    ),
    "a worker less": (
        lambda o: o["StatefulSet mnist-worker"]["spec"].update(replicas=1),
        [
            f"{HOST} does not exist, because StatefulSet mnist-worker has only 1 pod",
            "PodGroup mnist: the PodGroup waits for 4 pods, but has 3 pods",
        ],
    ),
    "a worker more": (
        lambda o: o["StatefulSet mnist-worker"]["spec"].update(replicas=3),
        ["PodGroup mnist: the PodGroup waits for 4 pods, but the gang of the job has 5 pods"],
    ),
    "no workers": (
        lambda o: o.pop("StatefulSet mnist-worker"),
        [
            "ConfigMap mnist: the host mnist-worker-0.mnist:2222 is not a pod of any object",
            f"{HOST} is not a pod of any object",
            "PodDisruptionBudget mnist-worker: the selector matches no pod of the job",
            "PodGroup mnist: the PodGroup waits for 4 pods, but has 2 pods",
        ],
    ),
    "another port": (
        lambda o: container(o, "StatefulSet mnist-ps")["ports"][0].update(containerPort=2223),
        ["ConfigMap mnist: the host mnist-ps-0.mnist:2222 has the port 2222, but its pod has no such port"],
    ),
    "another subdomain": (
        lambda o: pod(o, "Job mnist-chief").update(subdomain="shared"),
        [
            "ConfigMap mnist: the host mnist-chief-0.mnist:2222 is in the Service mnist, but its pod is in the Service "
            "shared"
        ],
    ),
    "an address that is none": (
        lambda o: o["ConfigMap mnist"]["data"].update(cluster='{"ps": ["mnist-ps"]}'),
        ["ConfigMap mnist: the host mnist-ps is not of the form NAME-INDEX.SERVICE:PORT"],
    ),
    "no group": (
        lambda o: o.pop("PodGroup mnist"),
        [
            f"{name}: the pods are in the PodGroup mnist, which does not exist"
            for name in ("Job mnist-chief", "StatefulSet mnist-ps", "StatefulSet mnist-worker")
        ],
    ),
    "a policy that lets nobody in": (lambda o: policies(o).update(ingress=[]), IN),
    "a policy that lets others in": (
        lambda o: policies(o).update(
            ingress=[{"from": [{"namespaceSelector": {}}, {"ipBlock": {"cidr": "10.0.0.0/8"}}]}]
        ),
        IN,
    ),
    "a policy that lets them in by another port": (
        lambda o: policies(o).update(ingress=[{"ports": [{"port": 80}]}]),
        IN,
    ),
    "a policy that lets them in by a range of ports": (
        lambda o: policies(o).update(ingress=[{"ports": [{"port": 2000, "endPort": 3000}]}]),
        [],
    ),
    "a policy that lets them in by the port's name": (
        lambda o: policies(o).update(ingress=[{"ports": [{"port": "tensorflow"}]}]),
        [],
    ),
    "a policy that lets everybody in": (lambda o: policies(o).update(ingress=[{}]), []),
    "a policy that lets nobody out but to DNS": (lambda o: policies(o)["egress"].pop(0), OUT),
    "a policy that lets them out by the name of the receiver's port": (
        lambda o: (
            policies(o)["egress"][0].update(ports=[{"port": "tensorflow"}]),
            container(o, "Job mnist-chief")["ports"][0].update(name="grpc"),
        ),
        [line for line in OUT if line.endswith("to mnist-chief-0.mnist:2222")],
    ),
    "a policy that lets nobody ask DNS": (
        lambda o: policies(o)["egress"].pop(1),
        [
            f"ConfigMap mnist: the policies block DNS requests of mnist-{role}-0.mnist:2222 ({protocol} 53)"
            for role in ("chief", "ps", "worker")
            for protocol in ("TCP", "UDP")
        ],
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_found(name: str) -> None:
    mutate, expected = MUTATIONS[name]
    named = objects()
    mutate(named)
    assert found(named) == sorted(expected)


def test_a_gang_that_is_asked_for() -> None:
    named = objects(JOB.replace("volcano}", "volcano, minAvailable: 3}"))
    items = tuple(named.values())
    assert list(find_contradictions(Objects(items, SAID, min_available=3))) == []
    (fault,) = find_contradictions(Objects(items, SAID, min_available=2))
    assert fault.message == "the PodGroup waits for 3 pods, but the gang of the job has 2 pods"


def test_a_gang_of_kubernetes_itself() -> None:
    named = objects(JOB.replace("volcano}", "kubernetes}"))
    assert found(named) == []
    named["StatefulSet mnist-worker"]["spec"]["replicas"] = 3
    assert found(named) == ["PodGroup mnist: the PodGroup waits for 4 pods, but the gang of the job has 5 pods"]
