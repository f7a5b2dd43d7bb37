"""Patches of a job: equal in all three outputs, and equal to kustomize's patches of the unpatched objects."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.support import normal, tools
from tests.support.command import CommandError
from tests.support.rendered import Rendered
from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.graph.built import build
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
          merge:
            spec:
              template:
                spec:
                  containers:
                  - name: dns
                    image: dns:1
                    ports:
                    - {containerPort: 53, protocol: UDP, name: udp}
                    - {containerPort: 53, protocol: TCP, name: tcp}
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
          json:
          - op: add
            path: /spec/podFailurePolicy/rules/-
            value: {action: FailJob, onExitCodes: {operator: In, values: [3]}}
"""


@pytest.mark.nightly
@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
def test_the_three_outputs_are_equal(patch, tmp_path):
    assert_outputs_equal([patch], tmp_path)


@pytest.mark.parametrize("without", ["all claims", "one claim of several"])
def test_the_three_outputs_are_equal_for_a_job_with_all_patches(without, tmp_path):
    """The two patches contradict each other."""
    assert_outputs_equal([patch for name, patch in PATCHES.items() if name != without], tmp_path)


def assert_outputs_equal(patches, folder):
    entries = ", ".join(f"p{number}: {patch}" for number, patch in enumerate(patches))
    data = checked(JOB.replace("one: PATCH", entries))
    rendered = Rendered.write(data, folder)
    for environment in data["spec"]["environments"]:
        rendered.assert_equal(environment)


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
def test_a_patch_does_what_kustomize_does_with_it(patch, tmp_path):
    data = checked(JOB.replace("PATCH", patch))
    plain = build({**data, "spec": {key: value for key, value in data["spec"].items() if key != "patches"}})
    patched = build(data)
    before, after = (by_namespace(job) for job in (plain, patched))
    built = by_kustomize(before, data["spec"]["patches"]["one"], tmp_path)
    assert built == {namespace: normal_objects(objects) for namespace, objects in after.items()}


def test_a_patch_is_one_of_the_chart_too_for_values_that_no_environment_has(tmp_path):
    data = checked(JOB.replace("PATCH", PATCHES["labels and annotations"]))
    rendered = Rendered.write(data, tmp_path)
    by_helm = rendered.by_helm("--set", "labels.team=x", "--set", "roles.worker.replicas=7")
    (worker,) = (
        item for item in by_helm.values() if item["kind"] == "StatefulSet" and "worker" in item["metadata"]["name"]
    )
    assert worker["metadata"]["labels"]["team"] == "own"
    assert worker["spec"]["replicas"] == 7


def test_an_environment_has_its_own_patches_in_all_three_outputs(tmp_path):
    data = checked(ENVIRONMENTS)
    rendered = Rendered.write(data, tmp_path)
    for environment in data["spec"]["environments"]:
        rendered.assert_equal(environment)


def test_a_chart_keeps_the_annotations_of_an_account_that_an_environment_patches(tmp_path):
    rendered = Rendered.write(checked(ENVIRONMENTS), tmp_path)
    for environment, added in (("dev", {"a": "b"}), ("none", {}), ("prod", {"owner": "ads"})):
        objects = rendered.by_helm(*rendered.values_args(environment))
        (account,) = (item for (_, kind, name), item in objects.items() if (kind, name) == ("ServiceAccount", "mnist"))
        own = {"argocd.argoproj.io/sync-wave": "-1", "role": "trainer"}
        assert account["metadata"]["annotations"] == {**own, **added}


@pytest.mark.parametrize("environment", ["dev", "none", "prod"])
def test_the_patches_of_an_environment_are_those_of_a_job_that_has_them_itself(environment):
    data = checked(ENVIRONMENTS)
    settings = data["spec"]["environments"][environment]
    own = {**data["spec"]["patches"], **settings.get("patches", {})}
    patches = {name: patch for name, patch in own.items() if patch is not None}
    others = {name: value for name, value in settings.items() if name != "patches"}
    alone = {**data, "spec": {**data["spec"], "patches": patches, "environments": {environment: others}}}
    assert build(data).environments[environment] == build(alone).environments[environment]


def test_a_chart_knows_its_environments_and_no_other(tmp_path):
    rendered = Rendered.write(checked(ENVIRONMENTS), tmp_path)
    by_helm = rendered.by_helm("--set", "environment=prod", "--set-string", "run=2")
    assert by_helm["apps/v1", "StatefulSet", "mnist-2-ps"]["spec"]["minReadySeconds"] == 9
    with pytest.raises(CommandError, match="environment"):
        rendered.by_helm("--set", "environment=prdo")


def test_the_job_of_the_page_is_sound_and_its_outputs_are_equal(tmp_path):
    page = (ROOT / "docs" / "patches.md").read_text(encoding="utf-8")
    data = checked(page.partition("```yaml\n")[2].partition("```")[0])
    rendered = Rendered.write(data, tmp_path)
    for environment in data["spec"]["environments"]:
        rendered.assert_equal(environment)


def checked(job):
    result = check(job, "job.yaml")
    assert as_text(result.problems) == ""
    return result.documents[0].data


def by_namespace(job):
    """Return the objects of the job and of two environments, each in a namespace with the name of the environment."""
    variants = {"base": job.base, **{name: job.environments[name] for name in ("dev", "prod")}}
    return {
        namespace: {
            stem: {**item, "metadata": {**item["metadata"], "namespace": namespace}} for stem, item in objects.items()
        }
        for namespace, objects in variants.items()
    }


def by_kustomize(objects, patch, folder):
    """Apply a patch to the objects of all namespaces in one run of kustomize, whose start takes most of the time."""
    kind, text = patch["target"]["kind"], json.dumps(patch.get("json") or head(patch))
    patches = [
        {"target": {"kind": kind, "name": "|".join(names), "namespace": namespace}, "patch": text}
        for namespace, items in objects.items()
        if (names := [item["metadata"]["name"] for stem, item in items.items() if is_target(patch, stem, item)])
    ]
    kustomization = {"resources": [f"{namespace}.yaml" for namespace in objects], "patches": patches}
    for namespace, items in objects.items():
        (folder / f"{namespace}.yaml").write_text(documents(items), encoding="utf-8")
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    built = tools.kustomize_build(folder).split("\n---\n")
    return {
        namespace: read("\n---\n".join(text for text in built if f"\n  namespace: {namespace}\n" in f"{text}\n"))
        for namespace in objects
    }


def is_target(patch, stem, item):
    return item["kind"] == patch["target"]["kind"] and patch["target"].get("name", stem) == stem


def documents(objects):
    return "\n---\n".join(map(json.dumps, objects.values()))


def head(patch):
    metadata = {"name": "any", **patch["merge"].get("metadata", {})}
    return {"apiVersion": "v1", "kind": patch["target"]["kind"], **patch["merge"], "metadata": metadata}


def normal_objects(objects):
    return read(documents(objects))


def read(manifest):
    return {key: sorted_items(item) for key, item in normal.read(manifest).items()}


def sorted_items(value, key=""):
    """Sort the items of lists. kustomize moves the items that a patch names to the front, and kubectl does not."""
    if isinstance(value, dict):
        return {key: sorted_items(inner, key) for key, inner in value.items()}
    if key in ("env", "containers", "ports") and isinstance(value, list):
        return sorted((sorted_items(item) for item in value), key=lambda item: item.get("name", ""))
    return [sorted_items(item) for item in value] if isinstance(value, list) else value
