"""The objects beside the workloads: network policies, budgets, accounts, priority classes, and objects of the job file.

The tests of policies use a small model of Kubernetes:
https://kubernetes.io/docs/concepts/services-networking/network-policies/#the-two-sorts-of-pod-isolation: A policy that
selects a pod and names a direction isolates the pod in the direction. The pod then allows the connections that any of
its policies allows. Both pods of a connection must allow the connection.
"""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

import pytest

from tests.support.objects import job_with, objects, of_kind
from tfgen.check.jobs import check
from tfgen.graph.graph import plain_objects
from tfgen.kubernetes.object import identity, literal_name
from tfgen.report.problems import as_text
from tfgen.targets.kustomize.overlays import build_objects
from tfgen.targets.render import render
from tfgen.text.yaml_text import dump

# -- network policies -------------------------------------------------------------------------------------------------

BOARD = """\
run: r1
roles: {chief: {}, ps: {}, worker: {}, evaluator: {}}
storage: {logs: {mountPath: /logs, claim: {name: logs}}}
"""


class Pod(NamedTuple):
    """An end of a connection: a pod, or an address outside the cluster."""

    labels: dict[str, str]
    namespace: str = "ml"
    address: str = "10.0.0.1"


def task(role, run="r1"):
    return Pod({"tfgen/job": "mnist", "tfgen/run": run, "tfgen/role": role})


PODS = {
    "worker": task("worker"),
    "ps": task("ps"),
    "finisher": task("finisher"),
    "worker of r2": task("worker", "r2"),
    "tensorboard": Pod({"tfgen/job": "mnist", "tfgen/role": "tensorboard"}),
    "stranger": Pod({"app": "notebook"}),
    "proxy": Pod({"app": "proxy"}, "ingress"),
    "outside": Pod({}, "", "10.20.0.7"),
}


def policies(spec, board="tensorboard: {logDir: /logs}"):
    return [policy["spec"] for policy in of_kind("NetworkPolicy", f"{BOARD}{board}\n{spec}")]


def reaches(rules, source, target, port, protocol="TCP"):
    one, other = PODS[source], PODS[target]
    return allowed(rules, "Egress", one, other, port, protocol) and allowed(
        rules, "Ingress", other, one, port, protocol
    )


def allowed(rules, direction, of, peer, port, protocol):
    peers = {"Ingress": "from", "Egress": "to"}[direction]
    mine = [rule for rule in rules if direction in rule["policyTypes"] and selects(rule["podSelector"], of.labels)]
    return not mine or any(
        ("ports" not in rule or {"port": port, "protocol": protocol} in rule["ports"])
        and (peers not in rule or any(is_peer(each, peer) for each in rule[peers]))
        for policy in mine
        for rule in policy.get(direction.lower(), [])
    )


def is_peer(peer, pod):
    if "ipBlock" in peer:
        return ipaddress.ip_address(pod.address) in ipaddress.ip_network(peer["ipBlock"]["cidr"])
    namespace = peer.get("namespaceSelector", {"matchLabels": {"kubernetes.io/metadata.name": "ml"}})
    labels = {"kubernetes.io/metadata.name": pod.namespace}
    return selects(namespace, labels) and selects(peer.get("podSelector", {}), pod.labels)


def selects(selector, labels):
    assert selector.keys() <= {"matchLabels"}
    return selector.get("matchLabels", {}).items() <= labels.items()


LIMITED = "network: {egress: {limited: true%s}}"
TO_RANGE = "to: [{ipBlock: {cidr: 10.20.0.0/16}}], ports: [{port: %d, protocol: TCP}]"
RULES = f", rules: [{{{TO_RANGE % 443}}}, {{to: [{{podSelector: {{matchLabels: {{app: notebook}}}}}}]}}]"
CONNECTIONS = {
    "": [
        ("worker", "ps", 2222, True),
        ("worker", "ps", 40000, True),  # NCCL and tf.data choose their ports at their start
        ("stranger", "ps", 2222, False),
        ("outside", "ps", 2222, False),
        ("worker of r2", "ps", 2222, False),
        ("tensorboard", "ps", 2222, False),
        ("worker", "outside", 443, True),
        ("stranger", "tensorboard", 6006, True),
        ("worker", "tensorboard", 6006, True),
        ("stranger", "tensorboard", 22, False),
        ("proxy", "tensorboard", 6006, False),
        ("outside", "tensorboard", 6006, False),
    ],
    LIMITED % "": [
        ("worker", "ps", 40000, True),
        ("worker", "outside", 53, True),
        ("worker", "outside", 443, False),
        ("worker", "outside", 6443, False),
        ("worker", "stranger", 8080, False),
        ("worker", "tensorboard", 6006, False),
        ("finisher", "outside", 443, True),
        ("finisher", "outside", 6443, True),
        ("finisher", "outside", 8080, False),
        ("tensorboard", "outside", 53, False),
        ("stranger", "tensorboard", 6006, True),
        ("stranger", "ps", 2222, False),
    ],
    LIMITED % RULES: [
        ("worker", "outside", 443, True),
        ("worker", "stranger", 8080, True),
        ("worker", "outside", 80, False),
        ("worker", "proxy", 8080, False),
    ],
    LIMITED % f", apiServer: [{{{TO_RANGE % 8443}}}]": [
        ("finisher", "outside", 8443, True),
        ("finisher", "outside", 443, False),
        ("worker", "outside", 8443, False),
    ],
    LIMITED % ", apiServer: [], rules: [{ports: [{port: 8443, protocol: TCP}]}]": [
        ("finisher", "outside", 8443, True),
    ],
}


@pytest.mark.parametrize(
    ("spec", "connection"), [(spec, each) for spec, connections in CONNECTIONS.items() for each in connections], ids=str
)
def test_policies_allow_a_connection(spec, connection):
    *ends, port, expected = connection
    assert reaches(policies(spec), *ends, port) is expected


def test_names_are_asked_for_by_udp_too():
    limited = policies(LIMITED % "")
    assert reaches(limited, "worker", "outside", 53, "UDP")
    assert not reaches(limited, "worker", "outside", 123, "UDP")


def test_only_readers_reach_tensorboard():
    ingress = "{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress}}}"
    found = policies("", f"tensorboard: {{logDir: /logs, readers: [{ingress}]}}")
    assert reaches(found, "proxy", "tensorboard", 6006)
    assert not reaches(found, "stranger", "tensorboard", 6006)
    assert not reaches(found, "proxy", "ps", 6006)


def test_policies_exist_only_for_pods_that_need_one():
    kept = f"{LIMITED % ''}\ncompletion: {{release: Keep}}"
    specs = ('network: {policy: "Off"}', LIMITED % "", LIMITED % ", apiServer: []", kept)
    of = [{each["podSelector"]["matchLabels"].get("tfgen/role") for each in policies(spec)} for spec in specs]
    assert of == [set(), {None, "finisher", "tensorboard"}, {None, "tensorboard"}, {None, "tensorboard"}]
    assert policies(f"{kept}\nstartDeadline: 60") == policies(LIMITED % "")
    assert policies("network: {egress: {rules: [{ports: [{port: 443}]}]}}") == policies("")


# -- disruption budgets -----------------------------------------------------------------------------------------------

STRATEGIES = {
    "StatefulSets": "roles: {chief: {}, ps: {replicas: 2}, worker: {replicas: 4}, evaluator: {}}",
    "Jobs": "roles: {chief: {}, ps: {replicas: 2}, worker: {replicas: 4}}\nworkload: {kind: Job}",
    "workers that end": "roles: {chief: {}, ps: {replicas: 2}, worker: {replicas: 4, runs: ToCompletion}}",
    "mirrored": "roles: {worker: {replicas: 4}, evaluator: {}}\nstrategy: MultiWorkerMirrored",
    "single": "roles: {chief: {}}\nstrategy: Single",
}


def all_of(replicas):
    return {"minAvailable": replicas}


def gone(maximum):
    return {"maxUnavailable": maximum}


@pytest.mark.parametrize(
    ("strategy", "maximum", "expected"),
    [
        ("StatefulSets", 0, {"chief": all_of(1), "ps": gone(0), "worker": gone(0)}),
        ("StatefulSets", 1, {"chief": all_of(1), "ps": gone(1), "worker": gone(1)}),
        ("Jobs", 1, {"chief": all_of(1), "ps": all_of(2), "worker": all_of(4)}),
        ("workers that end", 0, {"chief": all_of(1), "ps": gone(0), "worker": all_of(4)}),
        ("mirrored", 0, {"worker": all_of(4)}),
        ("single", 0, {"chief": all_of(1)}),
    ],
)
def test_each_role_that_trains_has_a_budget(strategy, maximum, expected):
    """The disruption controller reads the scale of the pods' controller. A Job has no scale."""
    made = objects(f"{STRATEGIES[strategy]}\npodDisruptionBudget: {{maxUnavailable: {maximum}}}")
    budgets = {
        name.removeprefix("mnist-"): item for (kind, name), item in made.items() if kind == "PodDisruptionBudget"
    }
    limits = ("minAvailable", "maxUnavailable")
    assert expected == {
        role: {limit: item["spec"][limit] for limit in limits if limit in item["spec"]}
        for role, item in budgets.items()
    }
    for role, limit in expected.items():
        assert ("maxUnavailable" in limit) == (("StatefulSet", f"mnist-{role}") in made)


@pytest.mark.parametrize("section", ["{}", "podDisruptionBudget: {enabled: false}"])
def test_job_has_no_budget_unless_it_has_the_section(section):
    assert of_kind("PodDisruptionBudget", section) == []


# -- the account of the pods ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "account", "chief"),
    [
        ("{}", None, None),
        ("serviceAccountName: trainer", None, "trainer"),
        ("serviceAccount: {create: true}", "mnist", "mnist"),
        ("serviceAccount: {create: true}\nserviceAccountName: trainer", "trainer", "trainer"),
        ("serviceAccount: {create: false, annotations: {a: b}}", None, None),
        ("serviceAccount: {}", "mnist", "mnist"),
    ],
)
def test_pods_use_the_account_that_the_job_creates_or_names(spec, account, chief):
    roles = "roles: {chief: {}, ps: {}, worker: {serviceAccountName: reader}}"
    made = objects(roles if spec == "{}" else f"{roles}\n{spec}")
    accounts = [name for kind, name in made if kind == "ServiceAccount"]
    assert accounts == [*([account] if account else []), "mnist-finisher"]
    templates = {name: item["spec"].get("template") for (_, name), item in made.items() if "spec" in item}
    assert {name: pod["spec"].get("serviceAccountName") for name, pod in templates.items() if pod} == {
        "mnist-chief": chief,
        "mnist-ps": chief,
        "mnist-worker": "reader",
        "mnist-finisher": "mnist-finisher",
    }


def test_annotations_of_the_account_win_over_those_of_the_job():
    spec = "annotations: {a: job, b: job}\nserviceAccount: {create: true, annotations: {a: account}}"
    account = objects(spec)["ServiceAccount", "mnist"]
    assert account["metadata"]["annotations"] == {"argocd.argoproj.io/sync-wave": "-1", "a": "account", "b": "job"}
    assert account["automountServiceAccountToken"] is False


# -- priority classes -------------------------------------------------------------------------------------------------

CLASSES = "priorityClasses: {low: {value: -10, preemptionPolicy: Never}, high: {value: 1000000000}}"


def test_priority_class_has_its_own_name_unless_an_environment_removes_it():
    spec = f"{CLASSES}\nenvironments: {{shared: {{priorityClasses: {{low: null}}}}}}"
    assert [item["metadata"]["name"] for item in of_kind("PriorityClass", spec)] == ["high", "low"]
    assert [item["metadata"]["name"] for item in of_kind("PriorityClass", spec, "shared")] == ["high"]


def test_priority_class_that_kubernetes_reserves_is_refused():
    job = dump(job_with(CLASSES.replace("low: {value: -10", "system-low: {value: 1000000001")))
    messages = [problem.message for problem in check(job, "job.yaml").problems]
    assert messages == [
        'spec.priorityClasses: found the key "system-low", expected another name: Kubernetes reserves names that begin '
        "with system-",
        "spec.priorityClasses.system-low.value: found 1000000001, expected an integer from -2147483648 to 1000000000",
    ]


def test_file_of_a_priority_class_is_its_own_and_has_a_short_name():
    """The file of a class `x.patch` differs from the file of an environment's patch of the class `x`."""
    long = "a" * 252
    spec = {
        "priorityClasses": {"x": {"value": 1}, f"{long}b": {"value": 2}, f"{long}c": {"value": 3}},
        "environments": {
            "dev": {"priorityClasses": {"x": {"value": 4}, "x.patch": {"value": 5}, f"{long}b": {"value": 6}}}
        },
    }
    data = job_with(spec)
    assert as_text(check(dump(data), "job.yaml").problems) == ""
    files = {path.removeprefix("overlays/mnist/"): text for path, text in render(data).tree.files.items()}
    for environment in (None, "dev"):
        built, filled = build_objects(files, environment), plain_objects(data, environment)
        assert {identity(item): item for item in built} == {identity(item): item for item in filled}


# -- objects of the job file ------------------------------------------------------------------------------------------

OBJECTS = """\
labels: {team: vision, tier: gold}
objects:
  quota: {apiVersion: v1, kind: ResourceQuota, spec: {hard: {pods: 20, requests.nvidia.com/gpu: "8"}}}
  notes:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: notes, labels: {team: other}, annotations: {argocd.argoproj.io/sync-wave: "5"}}
    data: {a.txt: "{{ .Values.image }}\\n\\n", "08": "no"}
  viewer: {apiVersion: v1, kind: Service, spec: {ports: [{port: 80, protocol: TCP}, {port: 81}]}}
environments:
  prod:
    objects:
      quota: {spec: {hard: {pods: null, cpu: 4}}}
      notes: null
      viewer: {spec: {ports: [{port: 81}, {port: 82}]}}
      hub: {apiVersion: external-secrets.io/v1, kind: ExternalSecret, spec: {data: []}}
"""


def literals(environment=None):
    items = {literal_name(item): item for item in objects(OBJECTS, environment).values()}
    return {name: item for name, item in items.items() if name is not None}


def test_object_of_the_job_file_gets_a_name_labels_and_a_wave():
    metadata = {name: item["metadata"] for name, item in literals().items()}
    wave = "argocd.argoproj.io/sync-wave"
    assert {name: (each["name"], each.get("annotations", {}).get(wave)) for name, each in metadata.items()} == {
        "notes": ("notes", "5"),
        "quota": ("mnist-quota", "-1"),
        "viewer": ("mnist-viewer", None),
    }
    own = {
        "app.kubernetes.io/name": "mnist",
        "app.kubernetes.io/instance": "mnist",
        "app.kubernetes.io/managed-by": "tfgen",
    }
    assert {name: each["labels"] for name, each in metadata.items()} == {
        name: {**own, "tfgen/object": name, "team": "other" if name == "notes" else "vision", "tier": "gold"}
        for name in metadata
    }
    assert literals()["notes"]["data"] == {"a.txt": "{{ .Values.image }}\n\n", "08": "no"}


def test_environment_changes_adds_and_removes_objects_of_the_job_file():
    assert {name: item["spec"] for name, item in literals("prod").items()} == {
        "hub": {"data": []},
        "quota": {"hard": {"requests.nvidia.com/gpu": "8", "cpu": 4}},
        "viewer": {"ports": [{"port": 81}, {"port": 82}]},
    }
