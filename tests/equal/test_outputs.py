"""The invariant: Helm, kustomize and tfgen give the same objects, in each environment of a job.

`assert_outputs_equal` is the property. CASES are hand-written examples with the reason of each, and DRAWN draws others.
"""

from __future__ import annotations

import functools
import json
import random
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.support import normal, tools
from tests.support.chart_job import JOB
from tests.support.command import CommandError
from tests.support.draws import drawn
from tests.support.generated import TEXT, accepted, job, jobs, saying
from tests.support.helm import HelmProgram
from tests.support.rendered import Rendered, assert_outputs_equal
from tests.support.tools import ROOT, helm_lint
from tfgen import data_path
from tfgen.graph.fill import Scope, fill
from tfgen.graph.graph import plain_objects
from tfgen.graph.helper_pods import finisher_config_map
from tfgen.graph.schedulers import GANGS
from tfgen.schema.kinds import GANG_FIELDS, WORKLOAD_KINDS
from tfgen.schema.tunables import all_tunables
from tfgen.targets.render import render

HOSTILE_WORDS = [
    'it\'s "quoted"', "two\nlines\n", "{{ .Values.image }}", "}}{{", "$(TASK_INDEX) $$(ESCAPED)", "${HOME}",
    "back\\slash", "Größe 世界 🚀", "y", "1e3", "08", "- item", "trailing ", "\ttab",
]  # fmt: skip


def of_worker(**resources: Any) -> Mapping[str, Any]:
    return {"roles": {"worker": {"resources": resources}}}


def of_class(**gpu: Any) -> Mapping[str, Any]:
    """Return a job whose workers claim GPUs, with environments that change the claim."""
    gpus = {"count": 2, "deviceClass": "gpu.example.com", "selectors": HOSTILE_WORDS, **gpu}
    environments = {
        "other": {"deviceClass": "08", "selectors": ["1e3", "{{ .Values.run }}"], "count": 3},
        "none": {"count": 0},
        "plugin": {"deviceClass": "", "selectors": [], "resource": "amd.com/gpu"},
    }
    role = {"replicas": 2, "resources": {"gpu": gpus}}
    roles = {"chief": {}, "ps": {}, "worker": role}
    return job(roles=roles, environments={name: of_worker(gpu=changed) for name, changed in environments.items()})


def with_claims_of_pods(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a job whose podTemplate names the claim of tfgen in all pods, also in pods without this claim."""
    claims = [{"name": "gpu"}, {"name": "nic"}]
    containers = [{"name": "tensorflow", "resources": {"claims": claims}}]
    pod = {"resourceClaims": [{"name": "nic", "resourceClaimName": "nic"}], "containers": containers}
    return {**document, "spec": {**document["spec"], "podTemplate": {"spec": pod}}}


def last_text(text: str) -> Mapping[str, Any]:
    """Return a volume that is the last volume of each pod, and whose last text is `text`."""
    source = {"driver": "hub.example.com", "volumeAttributes": {"query": text}}
    return {"storage": {"zoo": {"mountPath": "/zoo", "csi": source}}}


# Values of an environment of JOB, or of a user of its chart.
VALUES: Mapping[str, Mapping[str, Any]] = {
    "replicas of ps": {"roles": {"ps": {"replicas": 7}}},
    "one worker": {"roles": {"worker": {"replicas": 1}}},
    "more workers than one digit": {"roles": {"worker": {"replicas": 12}}},
    "image": {"image": "other:2"},
    "image of a role": {"roles": {"worker": {"image": "gpu:2"}}},
    "images of roles alone": {"image": "", "roles": {role: {"image": "a"} for role in JOB["spec"]["roles"]}},
    "gpu to 0": of_worker(gpu={"count": 0}),
    "gpu from 0": {"roles": {"ps": {"resources": {"gpu": {"count": 2, "product": "NVIDIA-L4"}}}}},
    "gpu of another vendor": of_worker(gpu={"resource": "amd.com/gpu"}),
    "gang off": {"gang": {"enabled": False}},
    "queue of a gang": {"gang": {"queue": "prod"}},
    "minimum of a gang": {"gang": {"minAvailable": 5}},
    "priority of a gang": {"gang": {"priorityClassName": "high"}},
    "env: null, an empty text, a key of a reference": {
        "env": {"DATA": None, "A": "$(DATA2)", "DATA2": "", "TOKEN": {"secretKeyRef": {"key": "1e3"}}}
    },
    "env: a role replaces variables of the job and of tfgen": {
        "roles": {"worker": {"env": {"DATA": "/mine", "OMP_NUM_THREADS": "1", "HOME": "/h"}}}
    },
    "env: a literal in place of a reference": {"env": {"TOKEN": None, "PLAIN": "y"}},
    "one cpu": of_worker(cpu="1"),
    "less than one cpu": of_worker(cpu="500m"),
    "less than one cpu, as a number": of_worker(cpu=0.5),
    # Helm prints a fraction in a map as a number, and tfgen writes a fraction as a text.
    "amounts as numbers": {
        "shm": 2.0,
        "roles": {
            "worker": {"resources": {"cpu": 0.5, "requests": {"memory": "0.00001"}, "limits": {"memory": "1.5"}}},
            "ps": {"resources": {"cpu": 3.0, "memory": 999998.5}},
            "chief": {"resources": {"limits": {"cpu": "0.25", "memory": 4.0}}},
        },
    },
    "resources": {"roles": {"chief": {"resources": {"cpu": "500m", "memory": 999000}}}},
    "resources by name": {"roles": {"ps": {"resources": {"limits": {"cpu": 3, "a.b/c": 1}, "requests": {"a.b/c": 1}}}}},
    "command": {"command": HOSTILE_WORDS},
    "command of a role": {"roles": {"chief": {"command": HOSTILE_WORDS, "args": HOSTILE_WORDS}}},
    "no command": {"command": []},
    "storage by another source": {"storage": {"data": {"claim": None, "emptyDir": {}}}},
    "storage by the name of a claim": {"storage": {"data": {"claim": {"size": None, "name": "mine"}}}},
    "storage of one role": {"storage": {"data": {"for": ["chief"], "readOnly": True, "subPath": "a/{{b}}"}}},
    "no storage": {"storage": {"data": None}},
    "more storage": {"storage": {"1e3": {"mountPath": "/x", "configMap": {"name": "y", "items": []}}}},
    "last text of one empty line": last_text("\n"),
    "last text that ends with empty lines": last_text("a\n\n\n"),
    "last text that ends with a wide space": last_text("a\n\u3000"),
    "run": {"run": "2"},
    "run that reads as a number": {"run": "1e3"},
    "network policy off": {"network": {"policy": "Off"}},
    "label without a value": {"labels": {"example.com/team": ""}},
    "labels of a role": {"roles": {"ps": {"labels": {"example.com/team": "on", "sidecar.istio.io/inject": "true"}}}},
    "annotations": {"annotations": {"example.com/a": HOSTILE_WORDS[1], "y": "{{"}},
    "shm": {"shm": "2Gi"},
    "shm of a role": {"roles": {"worker": {"shm": 1024}}},
    "pack": {"placement": "pack"},
    "affinity over placement": {"placement": "none", "affinity": {"nodeAffinity": {}}},
    "user": {"security": {"runAsUser": 2**31 - 1, "fsGroup": 0, "readOnlyRootFilesystem": False}},
    "retries": {"retries": 0},
    "exit codes": {"restart": {"ignoreExitCodes": [42, 143]}},
    "grace": {"roles": {"ps": {"terminationGracePeriodSeconds": 60}}},
    "service account": {"serviceAccount": {"create": True, "annotations": {"a/b": HOSTILE_WORDS[1], "n": "7"}}},
    "service account by name": {"serviceAccountName": "trainer", "serviceAccount": {"create": True}},
    "pull secrets": {"imagePullSecrets": [{"name": "a"}, {"name": "1e3"}]},
}

ONE_TASK = {"strategy": "Single", "roles": {"chief": {}}}
# A value that nothing reads, so the chart does not contain it.
IDLE = [
    ("completion.evaluatorGrace", 5, {}),
    ("completion.onFailure", "Keep", {"completion": {"release": "Keep"}}),
    ("completion.onFailure", "Keep", ONE_TASK),
    ("podDisruptionBudget.maxUnavailable", 1, {**ONE_TASK, "podDisruptionBudget": {}}),
    ("gang.queue", "", {"gang": {"scheduler": "coscheduling"}}),
    ("gang.scheduleTimeoutSeconds", 0, {"gang": {"scheduler": "volcano"}}),
    ("network.egress.apiServer", [], {"workload": {"kind": "TFJob"}}),
    ("network.egress.apiServer", [], {"workload": {"kind": "JobSet"}}),
]

CUSTOM_KINDS = ("JobSet", "VolcanoJob", "TFJob")
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "replicas": {"roles": {"worker": {"replicas": 8}}},
    "a run": {"run": "2", "args": ["b"]},
    "annotations come": {"annotations": {"a/b": "1e3", "c": "x~1"}},
    "annotations go": {"annotations": {"team": None}, "env": {"B": None, "N": "no", "AA": "1"}},
    "an image": {"image": "registry.example.com/mnist:2", "roles": {"ps": {"image": "other:3"}}},
}


def of_kind(kind: str, environment: Mapping[str, Any], text: str | None = None) -> dict[str, Any]:
    """Return a job of a custom kind with an environment, and with a text in each field of the custom object."""
    roles: dict[str, Any] = {"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 4}}
    spec: dict[str, Any] = {"annotations": {"team": "vision"}, "env": {"A": "1", "B": "2"}}
    if text is not None:
        roles["chief"] = {"command": ["sh", "-c", text], "args": [text], "env": {"T": text}, "annotations": {"a": text}}
        spec["sidecars"] = [{"name": "log", "image": "log:1", "args": [text]}]
    return job(workload={"kind": kind}, roles=roles, environments={"prod": environment}, **spec)


PODS = (
    "selector: {matchLabels: {a: a}}, template: {metadata: {labels: {a: a}}, spec: {containers: [{name: a, image: b}]}}"
)
WEBHOOK = (
    "{name: a, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {service: {name: a, namespace: b}}}"
)
OWN = "apiVersion: example.com/v1, kind: Own"
# An object of the job, and its change by an environment. kustomize merges some lists by a key, and replaces others.
OBJECTS = {
    "ports of a Service": (
        "{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}, {port: 81}]}}",
        "{spec: {ports: [{port: 81}, {port: 82}]}}",
    ),
    "secrets of an account": (
        "{apiVersion: v1, kind: ServiceAccount, secrets: [{name: a}, {name: b}], imagePullSecrets: [{name: a}]}",
        "{secrets: [{name: b}, {name: c}], imagePullSecrets: [{name: c}]}",
    ),
    "webhooks": (
        f"{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, webhooks: [{WEBHOOK}]}}",
        f"{{webhooks: [{WEBHOOK.replace('name: a', 'name: b')}]}}",
    ),
    "rules": (
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: [{verbs: [get]}, {verbs: [list]}]}",
        "{rules: [{verbs: [list]}]}",
    ),
    "containers of a custom kind": (
        f"{{{OWN}, spec: {{containers: [{{name: a, image: x}}], env: [{{name: b}}]}}}}",
        "{spec: {containers: [{name: c}], env: []}}",
    ),
    "a container without a name": (
        f"{{{OWN}, spec: {{containers: [{{image: x}}], initContainers: [text, 1]}}}}",
        "{spec: {containers: [{image: y}]}}",
    ),
    "a size beside that of a StatefulSet": (
        f"{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: mnist-worker}}, spec: {{replicas: 1, {PODS}}}}}",
        "{spec: {replicas: 2}}",
    ),
    "a StatefulSet without a size": (
        f"{{apiVersion: apps/v1, kind: StatefulSet, spec: {{serviceName: a, {PODS}}}}}",
        "{spec: {serviceName: b, replicas: 2}}",
    ),
    "true for one": (f"{{{OWN}, spec: {{a: 1, b: {{c: 0}}}}}}", "{spec: {a: true, b: {c: false}}}"),
    "the last key of a mapping": (f"{{{OWN}, spec: {{a: {{b: {{c: 1}}}}}}}}", "{spec: {a: {b: {c: null}}}}"),
    "a mapping for a text": (f"{{{OWN}, spec: {{a: text, b: {{c: 1}}}}}}", "{spec: {a: {d: 1}, b: text}}"),
    "a text for the spec": (f"{{{OWN}, spec: {{a: 1}}}}", "{spec: text}"),
    "a mapping for a list": (f"{{{OWN}, spec: [a]}}", "{spec: {a: 1}, metadata: {annotations: {a: b}}}"),
    "another name": (
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: mnist}}",
        "{metadata: {name: b, labels: {c: d}}}",
    ),
    "a reference to an object of another run": (
        "{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {service: {name: mnist}}}}",
        "{metadata: {annotations: {a: b}}}",
    ),
}


def changed_object(own: str, change: str) -> dict[str, Any]:
    prod = {"run": "2", "roles": {"worker": {"replicas": 3}}, "objects": {"one": yaml.safe_load(change)}}
    return job(objects={"one": yaml.safe_load(own)}, environments={"prod": prod})


OLD, NEW = "registry.example.com/ml/mnist:1", "registry.example.com/ml/mnist:2"
IMAGE_VOLUME = {"reference": OLD}
# Nodes that kustomize reads as images, or whose shape makes kustomize fail if the kustomization has `images`.
SHAPES = {
    "a template that is a text": {"template": "text"},
    "a spec that is a text": "text",
    "a spec that is a list of texts": ["text"],
    "a container that is a list": {"containers": [["text"]]},
    "a container that is a text": {"below": [{"initContainers": ["text"]}]},
    "containers that are a text": {"containers": "text"},
    "containers that are one container": {"containers": {"image": OLD}},
    "an image that is a list": {"below": {"containers": [{"image": [OLD]}]}},
    "an image that is a number": {"containers": [{"image": 1}]},
    "an image that stays": {"below": [{"containers": [{"image": OLD}]}]},
    "an image of a volume that stays": {"template": {"spec": {"volumes": [{"name": "a", "image": IMAGE_VOLUME}]}}},
    "an image of a volume that is a text": {"volumes": [{"image": OLD}]},
    "volumes that are a number": {"template": {"spec": {"volumes": 1}}},
}


def another_image(spec: Any, kind: str = "Own", change: Any = None, **more: Any) -> dict[str, Any]:
    """Return a job with an object of a custom kind, and an environment with another image."""
    objects = {"one": {"apiVersion": "example.com/v1", "kind": kind, "spec": spec}}
    prod = {"image": NEW, **({} if change is None else {"objects": {"one": {"spec": change}}})}
    return saying(job(objects=objects, environments={"prod": prod}), more)


GANG = {
    "apiVersion": "v1alpha2",
    "disruption": "All",
    "minAvailable": 3,
    "minResources": {"cpu": 4, "nvidia.com/gpu": "2"},
    "networkTopology": {"mode": "hard", "highestTierAllowed": 2},
    "preferredTopology": "example.com/block",
    "priorityClassName": "high",
    "queue": "research",
    "requiredTopology": "example.com/rack",
    "scheduleTimeoutSeconds": 90,
}


def gang(scheduler: str) -> Mapping[str, Any]:
    """Return a job with all fields of a gang scheduler. Two fields exclude each other in a gang."""
    environments: dict[str, Any] = {
        "fewer": {"roles": {"worker": {"replicas": 2}}},
        "named": {"gang": {"schedulerName": "another"}, "run": "2"},
        "off": {"gang": {"enabled": False}},
    }
    fields = {path.partition(".")[0] for path in GANG_FIELDS[scheduler]}
    if "networkTopology" in fields:
        environments["named"]["gang"]["networkTopology"] = {"highestTierAllowed": 0, "highestTierName": "rack"}
        environments["far"] = {"gang": {"networkTopology": {"mode": ""}}}
    if fields >= {"requiredTopology", "preferredTopology"}:
        fields -= {"requiredTopology"}
        environments["near"] = {"gang": {"requiredTopology": "example.com/rack", "preferredTopology": ""}}
    said = {"scheduler": scheduler, **{key: GANG[key] for key in sorted(fields)}}
    kind = "JobSet" if scheduler == "kueue" else "StatefulSet"  # Kueue queues no group of StatefulSets
    return {**JOB, "spec": {**JOB["spec"], "workload": {"kind": kind}, "gang": said, "environments": environments}}


def cloud(kind: str) -> Mapping[str, Any]:
    """Return the golden job with settings of a cloud in a workload kind whose pods tfgen describes."""
    eci = yaml.safe_load((ROOT / "tests/golden/eci/job.yaml").read_text(encoding="utf-8"))
    single = {"strategy": "Single", "roles": {"chief": eci["spec"]["roles"]["worker"]}} if kind == "Pod" else {}
    spec = {**eci["spec"], "workload": {"kind": kind}, **single}
    roles = {role: {k: v for k, v in said.items() if k != "replicas"} for role, said in spec["roles"].items()}
    return {**eci, "spec": {**spec, "roles": roles}}


def page(name: str) -> Any:
    """Return the job of a page of the documentation."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    return yaml.safe_load(text.partition("```yaml\n")[2].partition("```")[0])


VARIABLES = job(
    **ONE_TASK,
    env={"TEXT": "a", "REFERENCE": {"secretKeyRef": {"name": "hub", "key": "token"}}},
    storage={"data": {"mountPath": "/data", "claim": {"name": "mnist"}}},
    environments={
        "dev": {
            "env": {"TEXT": {"secretKeyRef": {"name": "hub", "key": "text"}}, "REFERENCE": "b"},
            "storage": {"data": {"claim": None, "emptyDir": {}}},
        }
    },
)
NEWER_KUBERNETES = {
    "old": {},
    "old-all": {"gang": {"disruption": "All"}},
    "new": {"gang": {"apiVersion": "v1beta1"}},
    "new-low": {"gang": {"apiVersion": "v1beta1"}, "priorityClassName": "low"},
    "new-single": {"gang": {"apiVersion": "v1beta1", "disruption": "Single"}},
}
TASK_IMAGES = {
    "workload": {"kind": "JobSet"},
    "tensorboard": {"enabled": True, "logDir": "/logs", "image": OLD},
    "roles": {"ps": {"image": "registry.example.com/ml/mnist:9"}},
    "environments": {"prod": {"tensorboard": {"image": NEW}}},
}
VOLUME_IMAGE = {"spec": {"volumes": [{"name": "model", "image": IMAGE_VOLUME}]}}
DEFINITION = {"versions": [{"schema": {"default": {"containers": [{"image": OLD}]}}}]}
CASES: Mapping[str, Any] = {
    **{name: {**JOB, "spec": {**JOB["spec"], "environments": {"dev": VALUES[name]}}} for name in VALUES},
    **{
        f"idle {path} {number}": job(
            **more, environments={"dev": data_path.with_value({}, tuple(path.split(".")), value)}
        )
        for number, (path, value, more) in enumerate(IDLE)
    },
    **{f"{kind}: {name}": of_kind(kind, CHANGES[name]) for kind in CUSTOM_KINDS for name in CHANGES},
    # kustomize writes such a text as a literal block, and no YAML reader can read some of these blocks.
    **{
        f"{kind}: {name} beside a block that begins with a tab": of_kind(kind, CHANGES[name], "\tx\ny")
        for kind in CUSTOM_KINDS
        for name in CHANGES
    },
    "an environment adds a text that begins with a tab": of_kind("JobSet", {"args": ["\tx\ny"], **CHANGES["replicas"]}),
    **{f"object: {name}": changed_object(*texts) for name, texts in OBJECTS.items()},
    **{f"another image leaves {name}": another_image(spec) for name, spec in SHAPES.items()},
    "another image leaves a definition of a kind": another_image(DEFINITION, "CustomResourceDefinition"),
    "another image leaves the image of a volume": another_image({}, podTemplate=VOLUME_IMAGE),
    "another image leaves the image of a task of a custom kind": another_image({}, **TASK_IMAGES),
    **{f"gang of {scheduler}": gang(scheduler) for scheduler in GANGS},
    "claims of devices": of_class(),
    "claims of devices and of a podTemplate": with_claims_of_pods(of_class()),
    "gang of a newer Kubernetes": job(gang={"scheduler": "kubernetes"}, environments=NEWER_KUBERNETES),
    "equal workers of a newer Kubernetes": job(
        strategy="MultiWorkerMirrored",
        roles={"worker": {"replicas": 3}},
        gang={"scheduler": "kubernetes"},
        environments=NEWER_KUBERNETES,
    ),
    **{f"cloud of {kind}": cloud(kind) for kind in WORKLOAD_KINDS if kind != "ElasticDL"},
    "a variable of another kind": VARIABLES,
    "docs/objects.md": page("objects.md"),
    "docs/patches.md": page("patches.md"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_outputs_of_a_job_are_equal(name, tmp_path):
    assert_outputs_equal(CASES[name], tmp_path)


@pytest.mark.parametrize("name", VALUES)
def test_case_changes_the_objects(name):
    assert plain_objects(CASES[name], "dev") != plain_objects(JOB)


# -- drawn jobs -------------------------------------------------------------------------------------------------------


SCOPE = Scope({"run": "", "labels": {}, "annotations": {}}, "mnist", "mnist")
PROGRAM = fill(finisher_config_map(), SCOPE)["metadata"]["name"].removeprefix("mnist-")


@st.composite
def reruns(draw):
    """Draw a job with an environment that has its own run and drawn changes."""
    document = draw(jobs(environments=1))
    (name,) = document["spec"]["environments"]
    names = st.sampled_from(["", "2", "b", "finisher", "worker", "tensorboard-2", PROGRAM])
    runs = draw(st.lists(names, min_size=2, max_size=2, unique=True))
    own = {"run": runs[1], "args": draw(st.lists(st.sampled_from(["a", "b"]), max_size=2)), "image": "other:2"}
    return saying(document, {"run": runs[0], "environments": {name: own}})


BLOCKS = st.builds("".join, st.lists(st.sampled_from("\t\n x:#-"), min_size=2, max_size=6))
KEYS = st.sampled_from(["spec", "template", "containers", "initContainers", "image", "volumes", "reference", "name"])
NODES = st.recursive(
    st.sampled_from(["text", OLD, NEW, 1, True]),
    lambda node: st.lists(node, max_size=2) | st.dictionaries(KEYS, node, max_size=3),
    max_leaves=8,
)
DRAWN = {
    **{f"jobs {share}": jobs() for share in range(3)},  # a process of pytest for each
    **{f"runs {share}": reruns() for share in range(2)},
    **{
        kind: st.builds(of_kind, st.just(kind), st.sampled_from([*CHANGES.values()]), TEXT | BLOCKS)
        for kind in CUSTOM_KINDS
    },
    "shapes of an object": st.builds(lambda before, after: another_image(before, change=after), NODES, NODES),
}


@pytest.mark.long
@pytest.mark.parametrize("source", DRAWN)
@drawn(8)
@given(data=st.data())
def test_outputs_of_a_drawn_job_are_equal(source, data):
    document = data.draw(DRAWN[source])
    assume(accepted(document))
    with tempfile.TemporaryDirectory() as folder:
        assert_outputs_equal(document, Path(folder))
    dice = random.Random(data.draw(st.integers(0, 99)))
    assert render(shuffled(document, dice)) == render(document), "the order of keys matters"


def shuffled(node: Any, dice: random.Random) -> Any:
    if isinstance(node, list):
        return [shuffled(item, dice) for item in node]
    if isinstance(node, Mapping):
        return {key: shuffled(node[key], dice) for key in dice.sample(list(node), len(node))}
    return node


@pytest.mark.long
@drawn(4)
@given(document=jobs(environments=1))
def test_kubernetes_knows_every_field_of_a_drawn_job(document):
    with tempfile.TemporaryDirectory() as folder:
        rendered = Rendered.write(document, Path(folder))
        rendered.kubeconform(rendered.environments[0])
        # `helm lint` restores a default that a null removes, and then finds two sources of a volume.
        (environment,) = document["spec"]["environments"].values()
        removes = "null" in json.dumps(environment.get("storage", {}))
        helm_lint(rendered.chart, "--strict", *([] if removes else rendered.values_args(rendered.environments[0])))


# -- one value of one key ---------------------------------------------------------------------------------------------

STRUCTURES: Mapping[str, Mapping[str, Any]] = {
    "all sections": {
        "roles": {"chief": {}, "ps": {}, "worker": {"replicas": 2}, "evaluator": {}},
        "gang": {"scheduler": "volcano"},
        "storage": {"model": {"mountPath": "/model", "claim": {"size": "1Gi"}}},
        "tensorboard": {"logDir": "/model"},
        "podDisruptionBudget": {},
        "network": {"egress": {"limited": True}},
    },
    "one task": {**ONE_TASK, "podDisruptionBudget": {}},
    "workers": {
        "strategy": "MultiWorkerMirrored",
        "roles": {"worker": {"replicas": 3}},
        "gang": {"scheduler": "coscheduling"},
        "completion": {"release": "Keep"},
    },
    "Kubernetes' gang": {"gang": {"scheduler": "kubernetes"}},
    "TFJob": {"workload": {"kind": "TFJob"}},
    "JobSet": {"workload": {"kind": "JobSet"}, "gang": {"scheduler": "kueue", "queue": "a"}},
    "ElasticDL": {
        "workload": {"kind": "ElasticDL"},
        "args": ["--model_def=mnist.model"],
        "security": {"profile": "baseline"},
        "roles": {"ps": {}, "worker": {"replicas": 2}},
    },
    "VolcanoJob": {"workload": {"kind": "VolcanoJob"}, "gang": {"scheduler": "volcano"}},
}
TEXTS = ["", "a", "1", "0.5", "1Gi", "1e3", "50%", "300s", "/a", "a/b:1", "a\nb", "a b", "Keep", "Never", "pack", "Off"]
SCALARS = st.sampled_from([None, True, False, 0, 1, -1, 5, 1.5, 2.0, 10**6, 2**31, 2**53, *TEXTS])
ENTRY = st.sampled_from(["a", "A", "a.b/c", "name", "key", "operator", "ports", "port"])
ONE_VALUE = SCALARS | st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(ENTRY, inner, max_size=2), max_leaves=3
)


@pytest.fixture(scope="module")
def chart_of(tmp_path_factory):
    return functools.cache(lambda name: Rendered.write(job(**STRUCTURES[name]), tmp_path_factory.mktemp("chart")))


@pytest.mark.long
@drawn(500)
@given(structure=st.sampled_from([*STRUCTURES]), path=st.sampled_from([*all_tunables()]), value=ONE_VALUE)
@example(structure="one task", path=("image",), value="a:1")
def test_chart_takes_a_value_that_an_environment_may_have(structure, path, value, chart_of):
    values = data_path.with_value({}, path, value)
    document = job(**STRUCTURES[structure], environments={"dev": values})
    if accepted(document):
        by_tfgen = normal.by_identity(plain_objects(document, "dev"))
        normal.assert_equal({"helm": chart_of(structure).by_helm_with(values), "tfgen": by_tfgen})


@pytest.mark.parametrize("structure", STRUCTURES)
def test_draws_of_a_value_reach_both_verdicts(structure):
    for environment, is_accepted in (({}, True), ({"image": "a:1"}, True), ({"image": 5}, False)):
        assert accepted(job(**STRUCTURES[structure], environments={"dev": environment})) == is_accepted


# -- Helm's own ways --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chart(tmp_path_factory):
    return Rendered.write(JOB, tmp_path_factory.mktemp("values"))


SETTINGS = {
    "replicas of ps": "--set roles.ps.replicas=7",
    "more workers than one digit": "--set-json roles.worker.replicas=12",
    "image of a role": "--set roles.worker.image=gpu:2",
    "gang off": "--set gang.enabled=false",
    "less than one cpu, as a number": "--set-json roles.worker.resources.cpu=0.5",
    "no command": "--set-json command=[]",
    "no storage": "--set storage.data=null",
    "run": "--set-string run=2",
    "run that reads as a number": "--set-string run=1e3",
    "exit codes": "--set restart.ignoreExitCodes={42,143}",
    "service account by name": "--set serviceAccount.create=true,serviceAccountName=trainer",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_setting_of_the_command_line_is_a_value(name, chart):
    by_tfgen = normal.by_identity(plain_objects(saying(JOB, VALUES[name])))
    normal.assert_equal({"helm": chart.by_helm(*SETTINGS[name].split(maxsplit=1)), "tfgen": by_tfgen})


@pytest.mark.parametrize(("path", "more"), [(path, more) for path, _, more in IDLE])
def test_values_yaml_omits_a_value_that_nothing_reads(path, more):
    values = render(job(**more)).tree.files["charts/mnist/values.yaml"]
    assert path.rpartition(".")[2] not in values


def test_helm_warns_about_a_variable_of_another_kind(tmp_path):
    """Helm prints the warning in docs/environments.md."""
    rendered = Rendered.write(VARIABLES, tmp_path)
    with pytest.raises(CommandError) as raised:
        rendered.by_helm(*rendered.values_args("dev"), helm=HelmProgram(tools.helm_program()))
    assert "destination for mnist.env.TEXT is a table. Ignoring non-table value" in raised.value.stderr
    assert "cannot overwrite table with non table for mnist.env.REFERENCE" in raised.value.stderr


def test_helm_lint_ignores_a_removal_by_null(tmp_path):
    """Delete this test and the explanation in docs/environments.md when a newer Helm fails here."""
    rendered = Rendered.write(VARIABLES, tmp_path)
    with pytest.raises(CommandError, match="'oneOf' failed"):
        helm_lint(rendered.chart, *rendered.values_args("dev"))
