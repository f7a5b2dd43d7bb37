"""Patches of a job: equal in all three outputs, and equal to kustomize's patches of the unpatched objects."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.support import normal, tools
from tests.support.command import CommandError
from tests.support.rendered import Rendered, assert_outputs_equal
from tfgen.check.jobs import check
from tfgen.graph.graph import build
from tfgen.report.problems import as_text

pytestmark = pytest.mark.long

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {replicas: 2}, evaluator: {}}
  labels: {team: vision, tier: gold}
  annotations: {owner: vision}
  serviceAccount: {create: true, annotations: {role: trainer}}
  storage:
    model: {mountPath: /model, claim: {size: 1Gi}}
    data: {mountPath: /data, claim: {size: 2Gi}}
  tensorboard: {logDir: /model/logs}
  podDisruptionBudget: {}
  gang: {scheduler: volcano, queue: research}
  patches: {one: PATCH}
  environments:
    dev: {roles: {worker: {replicas: 1}}, labels: {team: other}, tensorboard: {enabled: false}}
    prod: {run: "2", annotations: {owner: null, more: "yes"}, storage: {data: null}}
"""

PATCHES = {
    "a field of all of a kind": "{target: {kind: StatefulSet}, merge: {spec: {minReadySeconds: 5}}}",
    "a mapping that is not there yet": (
        "{target: {kind: StatefulSet, name: worker}, "
        "merge: {spec: {persistentVolumeClaimRetentionPolicy: {whenScaled: Retain, whenDeleted: null}}}}"
    ),
    "labels and annotations": (
        "{target: {kind: StatefulSet}, "
        'merge: {metadata: {labels: {team: own, more: a}, annotations: {owner: "{{ ads }}", "note": "1e3"}}}}'
    ),
    "labels of what a condition decides on": "{target: {kind: Deployment}, merge: {metadata: {labels: {team: own}}}}",
    "a wave": (
        "{target: {kind: Service, name: service}, "
        'merge: {metadata: {annotations: {argocd.argoproj.io/sync-wave: "-5"}}}}'
    ),
    "one claim of several": (
        "{target: {kind: PersistentVolumeClaim, name: claim-data}, "
        "merge: {metadata: {labels: {team: own}, annotations: {a: b}}, spec: {volumeMode: Block}}}"
    ),
    "all claims": "{target: {kind: PersistentVolumeClaim}, merge: {spec: {volumeMode: Filesystem}}}",
    "annotations over those of a service account": (
        "{target: {kind: ServiceAccount, name: serviceaccount}, "
        "merge: {metadata: {annotations: {role: patched, more: '{{x}}'}}}}"
    ),
    "a list that is replaced": "{target: {kind: Job, name: finisher}, merge: {spec: {podFailurePolicy: {rules: []}}}}",
    "a rule after that of the exit codes": (
        "{target: {kind: Job, name: chief}, json: [{op: add, path: /spec/podFailurePolicy/rules/-, value: "
        "{action: FailJob, onExitCodes: {operator: In, values: [3]}}}]}"
    ),
    "null": (
        "{target: {kind: Job, name: finisher}, merge: {spec: {podFailurePolicy: null, activeDeadlineSeconds: null}}}"
    ),
    "the last key of a mapping": (
        "{target: {kind: Deployment}, merge: {spec: {template: {spec: {containers: ["
        "{name: tensorboard, startupProbe: {httpGet: null, exec: {command: [a]}}}]}}}}}"
    ),
    "items of a list by their names": (
        "{target: {kind: Deployment}, merge: {spec: {template: {spec: {dnsPolicy: Default, containers: ["
        "{name: tensorboard, env: [{name: HOME, value: /home}, {name: LEVEL, value: '{{2}}'}], "
        "ports: [{containerPort: 6006, protocol: TCP, name: web}], "
        "livenessProbe: null}]}}}}}"
    ),
    "an item that goes": (
        "{target: {kind: Deployment}, merge: {spec: {template: {spec: {containers: [{name: tensorboard, "
        "env: [{name: HOME, $patch: delete}]}]}}}}}"
    ),
    "a security context that is a part of the chart": (
        "{target: {kind: Deployment}, merge: {spec: {template: {spec: {securityContext: {supplementalGroups: [7]}}}}}}"
    ),
    "a custom kind": "{target: {kind: PodGroup}, merge: {spec: {minTaskMember: {worker: 1}, own: [a]}}}",
    "a port by its place": (
        "{target: {kind: Service, name: tensorboard-service}, json: ["
        "{op: test, path: /spec/ports/0/name, value: http}, "
        "{op: add, path: /spec/ports/0, value: {name: first, port: 80, targetPort: http}}, "
        "{op: add, path: /spec/ports/-, value: {name: last, port: 81}}, "
        "{op: copy, from: /spec/ports/1/targetPort, path: /spec/ports/2/targetPort}, "
        "{op: replace, path: /spec/type, value: LoadBalancer}]}"
    ),
    "a port by its number and protocol": (
        "{target: {kind: Service, name: tensorboard-service}, "
        "merge: {spec: {ports: [{port: 6006, protocol: TCP, appProtocol: http}, "
        "{port: 81, protocol: TCP, name: more}]}}}"
    ),
    "two ports of one number in a container that had none": (
        "{target: {kind: Deployment}, merge: {spec: {template: {spec: {containers: [{name: dns, image: 'dns:1', ports: "
        "[{containerPort: 53, protocol: UDP, name: u}, {containerPort: 53, protocol: TCP, name: t}], securityContext: "
        "{allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}}]}}}}}"
    ),
    "two ports of one number beside another": (
        "{target: {kind: Deployment}, merge: {spec: {template: {spec: {containers: [{name: tensorboard, ports: "
        "[{containerPort: 53, protocol: UDP, name: u}, {containerPort: 53, protocol: TCP, name: t}]}]}}}}}"
    ),
    "two ports of one number of a Service": (
        "{target: {kind: Service, name: tensorboard-service}, "
        "merge: {spec: {ports: [{port: 53, protocol: UDP, name: u}, {port: 53, protocol: TCP, name: t}]}}}"
    ),
    "two constraints of one key": (
        "{target: {kind: Deployment}, merge: {spec: {template: {spec: {topologySpreadConstraints: ["
        "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}, "
        "{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}}}}}"
    ),
    "a value that moves": (
        "{target: {kind: Service, name: tensorboard-service}, json: ["
        "{op: add, path: /spec/own, value: {a~b/c: [1]}}, {op: move, from: /spec/own/a~0b~1c, path: /spec/more}, "
        "{op: remove, path: /spec/own}]}"
    ),
    "a copy of what follows a value": (
        "{target: {kind: PodGroup}, json: [{op: copy, from: /spec/minMember, path: /spec/most}]}"
    ),
    "one more rule": (
        "{target: {kind: NetworkPolicy, name: networkpolicy}, "
        "json: [{op: add, path: /spec/ingress/-, value: {from: [{namespaceSelector: {}}]}}]}"
    ),
}


ENVIRONMENTS = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
  labels: {team: vision}
  serviceAccount: {create: true, annotations: {role: trainer}}
  storage:
    model: {mountPath: /model, claim: {size: 1Gi}}
    data: {mountPath: /data, claim: {size: 2Gi}}
  tensorboard: {logDir: /model/logs}
  patches:
    account: {target: {kind: ServiceAccount, name: serviceaccount}, merge: {metadata: {annotations: {a: b}}}}
    settle:
      target: {kind: StatefulSet}
      merge: {spec: {minReadySeconds: 5}, metadata: {labels: {team: own, more: a}, annotations: {a: "{{ b }}"}}}
    open-board: {target: {kind: Service, name: tensorboard-service}, json: [{op: add, path: /spec/own, value: [a, b]}]}
    claim: {target: {kind: PersistentVolumeClaim, name: claim-data}, merge: {spec: {volumeMode: Block}}}
  environments:
    dev: {roles: {worker: {replicas: 1}}}
    none: {patches: {account: null, settle: null, open-board: null, claim: null}}
    prod:
      run: "2"
      labels: {team: ads}
      patches:
        settle:
          target: {kind: StatefulSet, name: ps}
          merge: {spec: {minReadySeconds: 9}, metadata: {labels: {x: "1"}}}
        open-board:
          target: {kind: Service, name: tensorboard-service}
          json:
          - {op: add, path: /spec/own, value: [a, c]}
          - {op: replace, path: /spec/type, value: NodePort}
          - {op: replace, path: /spec/ports/0/name, value: board}
        more-ports: {target: {kind: Service, name: tensorboard-service}, merge: {spec: {ports: [{port: 81, name: w}]}}}
        dns:
          target: {kind: Deployment}
          merge: {spec: {template: {spec: {containers: [{name: dns, image: "dns:1", ports: [
            {containerPort: 53, protocol: UDP, name: udp}, {containerPort: 53, protocol: TCP, name: tcp}]}]}}}}
        claim:
          target: {kind: PersistentVolumeClaim, name: claim-model}
          merge: {metadata: {annotations: {e: f}}, spec: {volumeMode: Filesystem}}
        proxy:
          target: {kind: Deployment}
          merge: {spec: {template: {spec: {containers: [{name: proxy, image: "proxy:1"}], dnsPolicy: Default}}}}
        account: {target: {kind: ServiceAccount}, merge: {metadata: {annotations: {owner: ads}, labels: {a: b}}}}
        rules: {target: {kind: Job, name: finisher}, merge: {spec: {podFailurePolicy: null}}}
        wrong-data:
          target: {kind: Job, name: chief}
          json: [{op: add, path: /spec/podFailurePolicy/rules/-, value: {action: FailJob, onExitCodes: {operator: In,
            values: [3]}}}]
"""


def checked(job):
    result = check(job, "job.yaml")
    assert as_text(result.problems) == ""
    return result.documents[0].data


@pytest.mark.parametrize("without", ["all claims", "one claim of several"])
def test_outputs_of_a_job_with_all_patches_are_equal(without, tmp_path):
    """The two patches contradict each other."""
    patches = [patch for name, patch in PATCHES.items() if name != without]
    entries = ", ".join(f"p{number}: {patch}" for number, patch in enumerate(patches))
    assert_outputs_equal(checked(JOB.replace("one: PATCH", entries)), tmp_path)


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
def test_patch_does_what_kustomize_does_with_it(patch, tmp_path):
    """One run of kustomize, whose start takes most of the time, patches the objects of three namespaces."""
    data = checked(JOB.replace("PATCH", patch))
    said = data["spec"]["patches"]["one"]
    kind, name = said["target"]["kind"], said["target"].get("name")
    metadata = {"name": "any", **said.get("merge", {}).get("metadata", {})}
    head = {"apiVersion": "v1", "kind": kind, **said.get("merge", {}), "metadata": metadata}
    before = by_namespace({**data, "spec": {key: value for key, value in data["spec"].items() if key != "patches"}})
    targets = [
        {"kind": kind, "name": item["metadata"]["name"], "namespace": namespace}
        for namespace, items in before.items()
        for stem, item in items.items()
        if item["kind"] == kind and name in (None, stem)
    ]
    patches = [{"target": target, "patch": json.dumps(said.get("json") or head)} for target in targets]
    kustomization = {"resources": [f"{namespace}.yaml" for namespace in before], "patches": patches}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    for namespace, items in before.items():
        (tmp_path / f"{namespace}.yaml").write_text(documents(items), encoding="utf-8")
    built = tools.kustomize_build(tmp_path).split("\n---\n")
    for namespace, items in by_namespace(data).items():
        mine = "\n---\n".join(text for text in built if f"\n  namespace: {namespace}\n" in f"{text}\n")
        assert read(mine) == read(documents(items))


def by_namespace(data):
    """Return the objects of the job and of two environments, each in a namespace with the name of the environment."""
    job = build(data)
    variants = {"base": job.base, **{name: job.environments[name] for name in ("dev", "prod")}}
    return {
        namespace: {
            stem: {**item, "metadata": {**item["metadata"], "namespace": namespace}} for stem, item in objects.items()
        }
        for namespace, objects in variants.items()
    }


def documents(objects):
    return "\n---\n".join(map(json.dumps, objects.values()))


def read(manifest):
    return {key: sorted_items(item) for key, item in normal.read(manifest).items()}


def sorted_items(value, key=""):
    """Sort the items of lists. kustomize moves the items that a patch names to the front, and kubectl does not."""
    if isinstance(value, dict):
        return {key: sorted_items(inner, key) for key, inner in value.items()}
    if key in ("env", "containers", "ports") and isinstance(value, list):
        return sorted((sorted_items(item) for item in value), key=lambda item: item.get("name", ""))
    return [sorted_items(item) for item in value] if isinstance(value, list) else value


def test_chart_has_a_patch_for_values_that_no_environment_has(tmp_path):
    rendered = Rendered.write(checked(JOB.replace("PATCH", PATCHES["labels and annotations"])), tmp_path)
    by_helm = rendered.by_helm("--set", "labels.team=x", "--set", "roles.worker.replicas=7")
    worker = by_helm["apps/v1", "StatefulSet", "mnist-worker"]
    assert (worker["metadata"]["labels"]["team"], worker["spec"]["replicas"]) == ("own", 7)


def test_outputs_of_a_job_whose_environments_have_patches_are_equal(tmp_path):
    rendered = assert_outputs_equal(checked(ENVIRONMENTS), tmp_path)
    for environment, added in (("dev", {"a": "b"}), ("none", {}), ("prod", {"owner": "ads"})):
        account = rendered.by_helm(*rendered.values_args(environment))["v1", "ServiceAccount", "mnist"]
        own = {"argocd.argoproj.io/sync-wave": "-1", "role": "trainer"}
        assert account["metadata"]["annotations"] == {**own, **added}
    by_helm = rendered.by_helm("--set", "environment=prod", "--set-string", "run=2")
    assert by_helm["apps/v1", "StatefulSet", "mnist-2-ps"]["spec"]["minReadySeconds"] == 9
    with pytest.raises(CommandError, match="environment"):
        rendered.by_helm("--set", "environment=prdo")


@pytest.mark.parametrize("environment", ["dev", "none", "prod"])
def test_patches_of_an_environment_are_those_of_a_job_with_them(environment):
    data = checked(ENVIRONMENTS)
    settings = data["spec"]["environments"][environment]
    own = {**data["spec"]["patches"], **settings.get("patches", {})}
    patches = {name: patch for name, patch in own.items() if patch is not None}
    others = {name: value for name, value in settings.items() if name != "patches"}
    alone = {**data, "spec": {**data["spec"], "patches": patches, "environments": {environment: others}}}
    assert build(data).environments[environment] == build(alone).environments[environment]
