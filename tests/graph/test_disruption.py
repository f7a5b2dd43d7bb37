"""The PodDisruptionBudgets of a job, and their limits."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
import yaml

from tfgen.graph.built import plain_objects

STRATEGIES = {
    "StatefulSets": "roles: {chief: {}, ps: {replicas: 2}, worker: {replicas: 4}, evaluator: {}}",
    "Jobs": "roles: {chief: {}, ps: {replicas: 2}, worker: {replicas: 4}}\nworkload: {kind: Job}",
    "workers that end": "roles: {chief: {}, ps: {replicas: 2}, worker: {replicas: 4, runs: ToCompletion}}",
    "mirrored": "roles: {worker: {replicas: 4}, evaluator: {}}\nstrategy: MultiWorkerMirrored",
    "single": "roles: {chief: {}}\nstrategy: Single",
}


def rendered(spec: str) -> list[Any]:
    document = {
        "metadata": {"name": "mnist"},
        "spec": {"run": "r1", "image": "registry.example.com/ml/mnist:1", **yaml.safe_load(spec)},
    }
    return list(plain_objects(document))


def budgets(spec: str) -> list[Any]:
    return [made for made in rendered(spec) if made["kind"] == "PodDisruptionBudget"]


def all_of(replicas: int) -> dict[str, int]:
    return {"minAvailable": replicas}


def gone(maximum: int) -> dict[str, int]:
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
def test_each_role_that_trains_has_one(strategy, maximum, expected):
    made = budgets(f"{STRATEGIES[strategy]}\npodDisruptionBudget: {{maxUnavailable: {maximum}}}")
    limits = ("minAvailable", "maxUnavailable")
    said = {
        each["metadata"]["name"]: {limit: each["spec"][limit] for limit in limits if limit in each["spec"]}
        for each in made
    }
    assert said == {f"mnist-r1-{role}": limit for role, limit in expected.items()}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_only_what_can_be_scaled_says_how_many_may_be_gone(strategy):
    """The disruption controller reads the scale of the pods' controller. A Job has no scale."""
    made = rendered(f"{STRATEGIES[strategy]}\npodDisruptionBudget: {{}}")
    kinds = {each["metadata"]["name"]: each["kind"] for each in made if each["kind"] in ("StatefulSet", "Job")}
    budgets = [each for each in made if each["kind"] == "PodDisruptionBudget"]
    assert budgets
    for budget in budgets:
        assert ("maxUnavailable" in budget["spec"]) == (kinds[budget["metadata"]["name"]] == "StatefulSet")


def test_one_as_a_whole():
    expected = """\
        apiVersion: policy/v1
        kind: PodDisruptionBudget
        metadata:
          name: mnist-r1-chief
          labels:
            app.kubernetes.io/name: mnist
            app.kubernetes.io/instance: mnist
            app.kubernetes.io/managed-by: tfgen
            app.kubernetes.io/component: chief
        spec:
          minAvailable: 1
          selector: {matchLabels: {tfgen/job: mnist, tfgen/run: r1, tfgen/role: chief}}
          unhealthyPodEvictionPolicy: AlwaysAllow
        """
    assert budgets("roles: {chief: {}}\npodDisruptionBudget: {}") == [yaml.safe_load(dedent(expected))]


def test_none_unless_asked_for():
    assert budgets("roles: {chief: {}}") == []
    assert budgets("roles: {chief: {}}\npodDisruptionBudget: {enabled: false}") == []
