"""Tests of `tfgen check` with the manifests of a namespace that affect the pods of a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tfgen.cli.parser import read_arguments
from tfgen.commands.check import check_paths

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist, namespace: ml}
spec:
  image: registry.example.com/ml/mnist:1
  roles:
    chief: {resources: {cpu: 2, memory: 1Gi}}
    ps: {resources: {cpu: 2, memory: 1Gi}}
    worker: {resources: {cpu: 2, memory: 1Gi}}
"""

QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: team, namespace: ml}
spec: {hard: {limits.cpu: "100", limits.memory: 1Ti, cpu: "50", requests.memory: 500Gi, pods: "50"}}
"""

Check = Callable[[str, Mapping[str, str]], list[str]]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Return a function that checks a job beside other manifests, and returns problems of the `namespace-` rules."""
    monkeypatch.chdir(tmp_path)

    def problems(job: str, files: Mapping[str, str]) -> list[str]:
        for name, text in {**files, "job.yaml": job}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        report = check_paths(read_arguments(["check", "job.yaml", "--out", "."]))
        found = [problem for problem in report.problems if problem.rule.startswith("namespace-")]
        assert {problem.severity for problem in found} <= {"warning"}
        return [f"{problem.position.line}: {problem.message}" for problem in found]

    return problems


# -- quotas --------------------------------------------------------------------------------------------------------


def test_every_container_of_tfgen_s_own_says_all_that_a_quota_asks_for(check: Check) -> None:
    more = """\
    evaluator: {resources: {cpu: 2, memory: 1Gi}}
  code: {git: {repository: "https://git.example.com/ml/train.git"}}
  tensorboard: {logDir: /model}
  storage: {model: {mountPath: /model, runs: Separate, claim: {size: 1Gi}}}
"""
    assert check(JOB + more, {"k8s/quota.yaml": QUOTA}) == []


def test_a_role_that_leaves_out_what_a_quota_counts_is_refused(check: Check) -> None:
    job = JOB.replace("worker: {resources: {cpu: 2, memory: 1Gi}}", "worker: {resources: {limits: {memory: 1Gi}}}")
    container = "StatefulSet mnist-worker: spec.template.spec.containers[0].resources"
    quota = "ResourceQuota team of k8s/quota.yaml counts"
    assert check(job, {"k8s/quota.yaml": QUOTA}) == [
        f"9: {container}.limits.cpu: {quota} limits.cpu, so the container tensorflow must set limits.cpu",
        f"9: {container}.requests.cpu: {quota} cpu, so the container tensorflow must set requests.cpu",
    ]


RANGE = """\
apiVersion: v1
kind: LimitRange
metadata: {name: defaults, namespace: ml}
spec:
  limits:
  - {type: Container, default: {cpu: "1", memory: 1Gi}}
"""


@pytest.mark.parametrize(
    "quota",
    [
        QUOTA.replace("namespace: ml", "namespace: other"),
        QUOTA.replace("namespace: ml", ""),
        QUOTA.replace("spec: {", "spec: {scopes: [BestEffort], "),
        QUOTA.replace("limits.cpu", "limits.{{ .Values.cpu }}"),
        QUOTA + "---\n" + RANGE,
    ],
    ids=["of another namespace", "of none", "of a scope", "a template", "with defaults"],
)
def test_a_quota_that_is_none_of_the_job_s_or_is_met_by_defaults_is_no_matter(check: Check, quota: str) -> None:
    job = JOB.replace("{cpu: 2, memory: 1Gi}", "{}")
    assert check(job, {"k8s/quota.yaml": quota}) == []


def test_a_kustomization_says_the_namespace_of_what_has_none(check: Check) -> None:
    job = JOB.replace("worker: {resources: {cpu: 2, memory: 1Gi}}", "worker: {resources: {cpu: 2}}")
    files = {"k8s/quota.yaml": QUOTA.replace(", namespace: ml", ""), "k8s/kustomization.yaml": "namespace: ml\n"}
    assert len(check(job, files)) == 2


def test_each_environment_is_held_against_its_own_namespace(check: Check) -> None:
    job = JOB.replace("worker: {resources: {cpu: 2, memory: 1Gi}}", "worker: {resources: {cpu: 2}}")
    environments = "  environments:\n    dev: {namespace: ml-dev}\n    prod: {}\n"
    problems = check(job + environments, {"k8s/quota.yaml": QUOTA})
    assert len(problems) == 2
    assert all(problem.endswith("(in the environment prod)") for problem in problems)


def test_a_range_refuses_what_is_outside_it(check: Check) -> None:
    limit = "{type: Container, min: {memory: 64Mi, cpu: 200m}, max: {memory: 1Gi}, maxLimitRequestRatio: {cpu: 2}}"
    text = RANGE.replace('{type: Container, default: {cpu: "1", memory: 1Gi}}', limit)
    job = JOB.replace("worker: {resources: {cpu: 2, memory: 1Gi}}", WORKER)
    container = "spec.template.spec.containers[0].resources"
    range_ = "LimitRange defaults of range.yaml"
    assert check(job, {"range.yaml": text}) == [
        f"3: Job mnist-finisher: {container}.requests.cpu: {range_} requires at least 200m of cpu, more than the "
        "request 100m of the container finisher",
        f"9: StatefulSet mnist-worker: {container}.limits.cpu: {range_} allows a limit of 2 times the request of cpu, "
        "less than 5 of the container tensorflow",
        f"9: StatefulSet mnist-worker: {container}.limits.memory: {range_} allows at most 1Gi of memory, less than the "
        "limit 2Gi of the container tensorflow",
    ]


WORKER = "worker: {resources: {requests: {cpu: 2, memory: 1Gi}, limits: {cpu: 5, memory: 2Gi}}}"


# -- egress --------------------------------------------------------------------------------------------------------

DENY = """\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny, namespace: ml}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
"""
ALLOW_DNS = """\
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: dns, namespace: ml}
spec:
  podSelector: {}
  policyTypes: [Egress]
  egress:
  - to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}}]
    ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
"""
ALLOW_EACH_OTHER = """\
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: inside, namespace: ml}
spec: {podSelector: {}, policyTypes: [Egress], egress: [{to: [{podSelector: {}}]}]}
"""
ALLOW_SERVER = """\
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: server, namespace: ml}
spec: {podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.0.0.1/32}}], ports: [{port: 6443}]}]}
"""
LIMITED = "  network: {egress: {limited: true}}\n"
LIMITED_ELSEWHERE = "  network: {egress: {limited: true, apiServer: [{ports: [{port: 8443}]}]}}\n"


@pytest.mark.parametrize(
    ("policies", "closed"),
    [
        (
            DENY,
            "Job mnist-finisher: NetworkPolicy deny of k8s/deny.yaml blocks connections of the pods to the API server",
        ),
        (
            DENY + ALLOW_SERVER,
            "Job mnist-chief: NetworkPolicy deny of k8s/deny.yaml blocks connections of the pods to DNS",
        ),
        (
            DENY + ALLOW_DNS + ALLOW_SERVER,
            "Job mnist-chief: NetworkPolicy deny of k8s/deny.yaml blocks connections of the pods to each other",
        ),
        (
            DENY + ALLOW_DNS + ALLOW_EACH_OTHER.replace("podSelector: {}, ", "podSelector: {matchLabels: ROLED}, "),
            "Job mnist-finisher: NetworkPolicy deny of k8s/deny.yaml blocks connections of the pods to the API server",
        ),
    ],
)
def test_a_namespace_that_denies_the_way_out_is_told_with_the_cure(check: Check, policies: str, closed: str) -> None:
    policies = policies.replace("ROLED", "{tfgen/job: mnist}")
    (problem,) = check(JOB, {"k8s/deny.yaml": policies})
    assert problem == (
        f"3: {closed}, so the job would never start, or never end; set network.egress.limited to true, which "
        "adds the required rules"
    )
    assert check(JOB + LIMITED, {"k8s/deny.yaml": policies}) == []
    assert check(JOB + LIMITED_ELSEWHERE, {"k8s/deny.yaml": policies}) == []


@pytest.mark.parametrize(
    "policies",
    [
        DENY + ALLOW_DNS + ALLOW_EACH_OTHER + ALLOW_SERVER,
        DENY.replace("podSelector: {}", "podSelector: {matchLabels: {app: web}}"),
        DENY.replace(", Egress", ""),
        DENY.replace("namespace: ml", "namespace: other"),
    ],
    ids=["with the ways that it needs", "of other pods", "of the way in", "of another namespace"],
)
def test_other_policies_are_no_matter(check: Check, policies: str) -> None:
    assert check(JOB, {"k8s/deny.yaml": policies}) == []
