"""Volumes, mounts and claims: the objects for the storage of a job."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tfgen.check.jobs import check
from tfgen.graph.built import plain_objects

HEAD = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {}}
"""

# https://kubernetes.io/docs/concepts/security/pod-security-standards/, the rows "Volume Types" and "HostPath Volumes".
LEAST = {
    "claim: {name: a}": "restricted",
    "configMap: {name: a}": "restricted",
    "csi: {driver: a.example.com}": "restricted",
    "emptyDir: {}": "restricted",
    "image: {reference: 'a:1'}": "restricted",
    "projected: {sources: [{secret: {name: a}}]}": "restricted",
    "secret: {secretName: a}": "restricted",
    "azureFile: {secretName: a, shareName: a}": "baseline",
    "flexVolume: {driver: a/b}": "baseline",
    "nfs: {server: a, path: /}": "baseline",
    "hostPath: {path: /a}": "privileged",
}
PROFILES = ("restricted", "baseline", "privileged")


def job(*spec: str) -> str:
    return HEAD + "".join(f"  {line}\n" for line in spec)


def rules(text: str) -> list[str]:
    return [problem.rule for problem in check(text, "job.yaml").problems]


def objects(text: str, environment: str | None = None) -> dict[tuple[str, str], Any]:
    assert rules(text) == []
    made = plain_objects(yaml.safe_load(text), environment)
    return {(item["kind"], item["metadata"]["name"]): item for item in made}


def in_pod(text: str, environment: str | None = None, role: str = "worker") -> tuple[Any, Any]:
    """Return the volumes and the mounts of a role's pod, without those of tfgen."""
    found = objects(text, environment)
    workload = found.get(("StatefulSet", f"mnist-{role}")) or found["Job", f"mnist-{role}"]
    pod = workload["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    return pod["volumes"][1:], container["volumeMounts"][1:]


def test_every_source_has_its_profile() -> None:
    schema_has = check(job("storage: {a: {mountPath: /a}}"), "job.yaml").problems[0].message.partition("one of ")[2]
    assert sorted(schema_has.replace(" or ", ", ").split(", ")) == sorted(source.partition(":")[0] for source in LEAST)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("source", LEAST)
def test_a_profile_allows_a_source(source: str, profile: str) -> None:
    text = job(f"security: {{profile: {profile}}}", f"storage: {{a: {{mountPath: /a, {source}}}}}")
    allowed = PROFILES.index(profile) >= PROFILES.index(LEAST[source])
    assert rules(text) == ([] if allowed else ["volume-profile"])


@pytest.mark.parametrize(
    "source",
    [
        "azureFile: {secretName: a, shareName: b, readOnly: true}",
        "configMap: {name: a, items: [{key: k, path: p/q, mode: 256}], defaultMode: 288, optional: true}",
        'csi: {driver: a.b, volumeAttributes: {"on": "yes", "08": "1e3"}, nodePublishSecretRef: {name: s}}',
        "emptyDir: {medium: Memory, sizeLimit: 1Gi}",
        'flexVolume: {driver: a/b, fsType: nfs, options: {vers: "4.0", x: "{{ .Values.x }}"}, secretRef: {name: s}}',
        "hostPath: {path: /a, type: Directory}",
        "image: {reference: 'registry.example.com/a:1', pullPolicy: IfNotPresent}",
        "nfs: {server: nfs.example.com, path: /a, readOnly: true}",
        "projected: {sources: [{serviceAccountToken: {path: t, expirationSeconds: 3600}}, {secret: {name: s}}]}",
        "secret: {secretName: a, defaultMode: 256}",
    ],
)
def test_a_source_stands_as_it_is_written(source: str) -> None:
    text = job("security: {profile: privileged}", f"storage: {{a: {{mountPath: /a, {source}}}}}")
    assert in_pod(text) == ([{"name": "a", **yaml.safe_load(source)}], [{"name": "a", "mountPath": "/a"}])


def test_mounts_and_roles() -> None:
    text = job(
        "storage:",
        "  a: {mountPath: /a, subPath: x, readOnly: true, claim: {name: c}, for: [worker, chief]}",
        "  b: {mountPath: /b, subPathExpr: runs/$(TASK_INDEX), claim: {name: c}, for: [worker]}",
    )
    claim = {"persistentVolumeClaim": {"claimName": "c"}}
    mounts = [
        {"name": "a", "mountPath": "/a", "subPath": "x", "readOnly": True},
        {"name": "b", "mountPath": "/b", "subPathExpr": "runs/$(TASK_INDEX)"},
    ]
    assert in_pod(text) == ([{"name": "a", **claim}, {"name": "b", **claim}], mounts)
    assert in_pod(text, role="chief") == ([{"name": "a", **claim}], mounts[:1])
    assert in_pod(text, role="ps") == ([], [])


def test_an_environment_has_another_source() -> None:
    text = job(
        "security: {profile: baseline}",
        "storage: {a: {mountPath: /a, subPath: x, csi: {driver: a.b, volumeAttributes: {k: v, l: w}}}}",
        "environments:",
        "  claim: {storage: {a: {csi: null, claim: {size: 1Gi}}}}",
        "  more: {storage: {a: {subPath: null, subPathExpr: $(TASK_INDEX), csi: {volumeAttributes: {k: null, m: x}}}}}",
        "  none: {storage: {a: null}}",
    )
    csi = [{"name": "a", "csi": {"driver": "a.b", "volumeAttributes": {"l": "w", "m": "x"}}}]
    mounts = [{"name": "a", "mountPath": "/a", "subPath": "x"}]
    assert in_pod(text, "claim") == ([{"name": "a", "persistentVolumeClaim": {"claimName": "mnist-a"}}], mounts)
    assert in_pod(text, "more") == (csi, [{"name": "a", "mountPath": "/a", "subPathExpr": "$(TASK_INDEX)"}])
    assert in_pod(text, "none") == ([], [])
    assert ("PersistentVolumeClaim", "mnist-a") in objects(text, "claim")
    assert ("PersistentVolumeClaim", "mnist-a") not in objects(text)


@pytest.mark.parametrize(
    ("claim", "spec"),
    [
        ("{size: 1Gi}", {"accessModes": ["ReadWriteMany"]}),
        ("{size: 1Gi, storageClass: nfs}", {"accessModes": ["ReadWriteMany"], "storageClassName": "nfs"}),
        # https://kubernetes.io/docs/concepts/storage/persistent-volumes/#reserving-a-persistentvolume: Without the
        # empty class, Kubernetes would set the default class, and the claim could not bind to a volume without a class.
        ("{size: 1Gi, volumeName: v}", {"accessModes": ["ReadWriteMany"], "volumeName": "v", "storageClassName": ""}),
        (
            "{size: 1Gi, volumeName: v, storageClass: nfs}",
            {"accessModes": ["ReadWriteMany"], "volumeName": "v", "storageClassName": "nfs"},
        ),
    ],
)
def test_a_claim_that_is_made(claim: str, spec: dict[str, Any]) -> None:
    made = objects(job(f"storage: {{a: {{mountPath: /a, claim: {claim}}}}}"))["PersistentVolumeClaim", "mnist-a"]
    assert made["spec"] == {**spec, "resources": {"requests": {"storage": "1Gi"}}}


@pytest.mark.parametrize(
    ("mode", "of", "rule"),
    [
        ("ReadWriteOnce", "for: [chief]", []),
        ("ReadWriteOnce", "for: [worker]", []),
        ("ReadWriteOnce", "for: [chief, ps]", ["claim-access-mode"]),
        ("ReadWriteOncePod", "for: [ps]", []),
        ("ReadWriteOncePod", "for: [chief, worker]", ["claim-single-pod"]),
        ("ReadOnlyMany", "readOnly: true", []),
        ("ReadOnlyMany", "readOnly: false", ["claim-access-mode"]),
        ("ReadWriteMany", "readOnly: false", []),
    ],
)
def test_who_may_mount_a_claim(mode: str, of: str, rule: list[str]) -> None:
    found = rules(job(f"storage: {{a: {{mountPath: /a, claim: {{size: 1Gi, accessMode: {mode}}}, {of}}}}}"))
    assert [each for each in found if each.startswith("claim-")] == rule


def test_a_single_task_has_no_index() -> None:
    text = job("storage: {a: {mountPath: /a, emptyDir: {}, subPathExpr: $(TASK_INDEX)}}")
    single = text.replace("  roles: {chief: {}, ps: {}, worker: {}}", "  strategy: Single\n  roles: {chief: {}}")
    (problem,) = check(single, "job.yaml").problems
    assert problem.rule == "sub-path-variable"
    assert problem.message.endswith("; strategy Single has one task, which has no index")
