"""The account that a job creates for its pods: its name, its annotations, and the pods that use the account."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tfgen.graph.built import plain_objects

ROLES = "roles: {chief: {}, ps: {}, worker: {serviceAccountName: reader}}"


def made(spec: str) -> list[dict[str, Any]]:
    document = {
        "metadata": {"name": "mnist"},
        "spec": {"run": "r1", "image": "registry.example.com/ml/mnist:1", **yaml.safe_load(f"{spec}\n{ROLES}")},
    }
    return [dict(item) for item in plain_objects(document)]


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
def test_the_pods_use_the_account_that_the_job_makes_or_names(
    spec: str, account: str | None, chief: str | None
) -> None:
    objects = made("run: r1" if spec == "{}" else spec)
    accounts = [item["metadata"]["name"] for item in objects if item["kind"] == "ServiceAccount"]
    assert accounts == [*([account] if account else []), "mnist-r1-finisher"]
    pods = {
        item["metadata"]["name"]: item["spec"]["template"]["spec"].get("serviceAccountName")
        for item in objects
        if item["kind"] in ("Job", "StatefulSet")
    }
    assert pods == {
        "mnist-r1-chief": chief,
        "mnist-r1-ps": chief,
        "mnist-r1-worker": "reader",
        "mnist-r1-finisher": "mnist-r1-finisher",
    }


def test_the_annotations_of_the_account_win_over_those_of_the_job() -> None:
    (account, _) = [
        item
        for item in made("annotations: {a: job, b: job}\nserviceAccount: {create: true, annotations: {a: account}}")
        if item["kind"] == "ServiceAccount"
    ]
    assert account["metadata"]["annotations"] == {"argocd.argoproj.io/sync-wave": "-1", "a": "account", "b": "job"}
    assert account["automountServiceAccountToken"] is False
