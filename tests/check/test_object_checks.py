"""Tests of the checks of a job's objects: each check can fail, and no check fails on an object that tfgen renders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tfgen.check.jobs import check
from tfgen.check.object_checks import faults
from tfgen.check.object_checks.fault import Objects
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.graph.built import build, plain_objects
from tfgen.job.sources import Source
from tfgen.report.problems import as_text

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

ROOT = Path(__file__).parents[2]
JOBS = sorted([*ROOT.glob("examples/*/job.yaml"), *ROOT.glob("tests/golden/*/job.yaml")])

Named = dict[str, Any]


def objects(text: str = JOB) -> Named:
    """Return the objects by kind and name. The objects share no data, so a test can change one object alone."""
    (document,) = check(text, "job.yaml").documents
    objects = json.loads(json.dumps(plain_objects(document.data)))
    return {f"{item['kind']} {item['metadata']['name']}": item for item in objects}


def found(named: Named) -> list[str]:
    """Return the distinct problems as "KIND NAME: message"."""
    said = (
        f"{f.item['kind']} {f.item['metadata']['name']}: {f.message}" for f in faults(Objects((*named.values(),), SAID))
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
    assert list(faults(Objects(items, SAID, min_available=3))) == []
    (fault,) = faults(Objects(items, SAID, min_available=2))
    assert fault.message == "the PodGroup waits for 3 pods, but the gang of the job has 2 pods"


def test_a_gang_of_kubernetes_itself() -> None:
    named = objects(JOB.replace("volcano}", "kubernetes}"))
    assert found(named) == []
    named["StatefulSet mnist-worker"]["spec"]["replicas"] = 3
    assert found(named) == ["PodGroup mnist: the PodGroup waits for 4 pods, but the gang of the job has 5 pods"]


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.parent.name)
def test_what_tfgen_makes_has_no_fault(path: Path) -> None:
    (document,) = check(path.read_bytes(), path.parent.name).documents
    spec = document.data["spec"]
    own_gang = spec.get("gang", {}).get("scheduler") == "kubernetes"
    image_volume = any("image" in volume for volume in spec.get("storage", {}).values())
    in_place = spec.get("restart", {}).get("inPlace")
    schemas = ObjectSchemas("1.37" if own_gang or image_volume or in_place else "1.31")
    problems = check_objects(document, build(document.data), schemas)
    # The golden job container-order has a second container, which keeps a task from ending.
    assert [str(problem) for problem in problems if problem.rule != "second-container"] == []


def problems(text: str, version: str | None = None) -> str:
    (document,) = check(text, "job.yaml").documents
    return as_text(check_objects(document, build(document.data), ObjectSchemas(version)))


def test_a_problem_stands_where_the_job_says_what_is_wrong() -> None:
    """The problem is in every environment, so the message names no environment."""
    template = "{spec: {containers: [{name: tensorflow, volumeMounts: [{name: gone, mountPath: /gone}]}]}}"
    assert problems(JOB.replace("ps: {}", f"ps: {{podTemplate: {template}}}")) == (
        'job.yaml:7:102: roles.ps.podTemplate.spec.containers[0].volumeMounts[0].name: the volume "gone" that the pod '
        "does not have, which the API server refuses; declare the volume in storage, or add the role to "
        "storage.NAME.for [unknown-volume]\n"
    )


def test_a_problem_of_an_environment_of_the_defaults_stands_there() -> None:
    defaults = Source("tfgen.yaml", "apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec:\n  environments:\n    dev: {}\n")
    (document,) = check(JOB, "job.yaml", defaults).documents
    built = build(document.data)
    rest = {name: item for name, item in built.environments["dev"].items() if item["kind"] != "ServiceAccount"}
    without_account = built.replaced(environments={**built.environments, "dev": rest})
    assert as_text(check_objects(document, without_account, ObjectSchemas())) == (
        "tfgen.yaml:5:5: Job mnist-finisher: spec.template.spec.serviceAccountName: the ServiceAccount "
        "mnist-finisher does not exist, and the job file does not name the object (in the environment dev) "
        "[object-links]\n"
        "tfgen.yaml:5:5: RoleBinding mnist-finisher: subjects[0]: the ServiceAccount mnist-finisher does not "
        "exist, and the job file does not name the object (in the environment dev) [object-links]\n"
    )


def test_a_schema_of_kubernetes() -> None:
    wrong = JOB.replace("ps: {}", "ps: {podTemplate: {spec: {hostAliases: [{ip: 10.0.0.1, names: [a]}]}}}")
    assert problems(wrong) == ""
    assert problems(wrong, "1.33") == (
        "job.yaml:7:77: StatefulSet mnist-ps: spec.template.spec.hostAliases[0]: Additional properties are not allowed "
        "('names' was unexpected) [object-schema]\n"
    )


def test_an_unknown_field_of_pods_is_one_problem_of_all_environments() -> None:
    unknown = JOB.replace("ps: {}", "ps: {podTemplate: {spec: {hostAlias: []}}}")
    assert problems(unknown, "1.33") == (
        "job.yaml:7:48: StatefulSet mnist-ps: spec.template.spec: Additional properties are not allowed "
        "('hostAlias' was unexpected) [object-schema]\n"
    )


def test_an_image_as_a_volume_needs_kubernetes_1_35() -> None:
    """The schema of Kubernetes 1.31 has the field, but the feature gate of the field is off by default."""
    volume = "{mountPath: /data, image: {reference: 'registry.example.com/data:1'}}"
    template = "{spec: {volumes: [{name: words, image: {reference: 'registry.example.com/words:1'}}]}}"
    text = JOB.replace("ps: {}", f"ps: {{podTemplate: {template}}}")
    text = text.replace("{prod: {", f"{{prod: {{storage: {{more: {volume}}}, ").replace("/data, image", "/more, image")
    why = (
        "an image as a volume, which the API server refuses in Kubernetes 1.34; use a claim, a csi volume or spec.code"
    )
    lines = [problem.split(":", 3) for problem in problems(text, "1.34").splitlines()]
    assert [(row, message.partition(": ")[2]) for _, row, _, message in lines] == [
        (row, f"{why} [object-schema]") for row in ("7", "14")
    ]
    assert problems(text, "1.35") == problems(text) == ""


def test_a_restart_in_place_needs_kubernetes_1_35() -> None:
    """The schema of Kubernetes 1.34 has the field, but its feature gate ContainerRestartRules is off by default."""
    text = JOB.replace("spec:\n", "spec:\n  restart: {inPlace: true, ignoreExitCodes: [42]}\n")
    line = "a restart of a container in place, which the API server refuses in Kubernetes 1.34; remove inPlace"
    assert problems(text, "1.34") == f"job.yaml:5:22: restart.inPlace: {line} [object-schema]\n"
    assert problems(text, "1.35") == problems(text) == ""
    assert problems(text.replace("inPlace: true", "inPlace: false"), "1.34") == ""


def test_a_kind_without_a_schema() -> None:
    """Kubernetes 1.31 has no PodGroup. For custom kinds, tfgen has its own schemas, for all versions of Kubernetes."""
    items = [*objects(JOB.replace("volcano}", "kubernetes}")).values()]
    (group,) = (item for item in items if item["kind"] == "PodGroup")
    schemas = ObjectSchemas("1.31")
    assert list(schemas.faults(group)) == []
    assert schemas.kinds_without_schema(items) == {f"PodGroup of {group['apiVersion']}"}
    assert schemas.kinds_without_schema(objects().values()) == frozenset()
    assert ObjectSchemas().kinds_without_schema(items) == frozenset()


PATCHED = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {}}
  gang: {scheduler: volcano}
  patches:
    group: {target: {kind: PodGroup}, merge: {spec: {retryLimits: 3}}}
  environments:
    prod:
      patches:
        more: {target: {kind: PodGroup}, json: [{op: add, path: /spec/nodes, value: 2}]}
"""


def test_a_field_that_a_patch_adds_is_reported_in_the_patch() -> None:
    (document,) = check(PATCHED, "job.yaml").documents
    problems = check_objects(document, build(document.data), ObjectSchemas())
    assert {(problem.position.line, problem.position.column) for problem in problems} == {(9, 67), (13, 49)}
