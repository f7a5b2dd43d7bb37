"""Tests of the variables of a task, which tfgen expands like the kubelet."""

from __future__ import annotations

from typing import Any

import pytest

from tfgen.graph.graph import Pod, gpu_count
from tfgen.kubernetes.pods import expand
from tfgen.local.variables import shares, unknown_sources, variables


def pod(env: list[dict[str, Any]], **container: Any) -> Pod:
    return Pod(
        role="worker",
        index=1,
        name="mnist-worker-1",
        namespace="ml",
        labels={"tfgen/role": "worker", "index": "1"},
        annotations={"team": "vision"},
        spec={"containers": [{"name": "tensorflow", "env": env, **container}]},
        retries=None,
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"fieldRef": {"fieldPath": "metadata.name"}}, "mnist-worker-1"),
        ({"fieldRef": {"fieldPath": "metadata.namespace"}}, "ml"),
        ({"fieldRef": {"fieldPath": "metadata.labels['index']"}}, "1"),
        ({"fieldRef": {"fieldPath": "metadata.annotations['team']"}}, "vision"),
        ({"fieldRef": {"fieldPath": "metadata.labels['none']"}}, ""),
        ({"fieldRef": {"fieldPath": "spec.serviceAccountName"}}, "default"),
        ({"fieldRef": {"fieldPath": "status.podIP"}}, "127.0.0.1"),
        # The value is rounded up: https://kubernetes.io/docs/concepts/workloads/pods/downward-api/
        ({"resourceFieldRef": {"resource": "limits.cpu"}}, "2"),
        ({"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}, "1500"),
        ({"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}, "4096"),
        ({"configMapKeyRef": {"name": "mnist", "key": "cluster"}}, "{}"),
    ],
)
def test_a_variable_from_the_pod(source: dict[str, Any], expected: str) -> None:
    task = pod([{"name": "X", "valueFrom": source}], resources={"limits": {"cpu": "1500m", "memory": "4Gi"}})
    assert variables(task, {"mnist": {"cluster": "{}"}}, {}).values == {"X": expected}


@pytest.mark.parametrize("name", ["cpu", "memory"])
def test_what_is_not_limited_is_all_of_the_machine(name: str) -> None:
    told = variables(pod([{"name": "X", "valueFrom": {"resourceFieldRef": {"resource": f"limits.{name}"}}}]), {}, {})
    assert int(told.values["X"]) >= 1


def test_later_variables_have_earlier_ones_in_them() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(C)$$(A)"}, {"name": "C", "value": "3"}]
    assert variables(pod(env), {}, {}).values == {"A": "1", "B": "1$(C)$(A)", "C": "3"}


def test_what_the_user_gives_stands_under_what_the_job_says() -> None:
    env = [
        {"name": "MODE", "value": "job"},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "key"}}},
        {"name": "MAYBE", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "maybe", "optional": True}}},
        {"name": "URL", "value": "https://$(TOKEN)@hub"},
    ]
    told = variables(pod(env), {}, {"MODE": "user", "TOKEN": "t", "MORE": "m"})
    assert told.values == {"MODE": "job", "TOKEN": "t", "MORE": "m", "URL": "https://t@hub"}
    assert told.missing == {"KEY": "the key key of the Secret hub"}


def test_all_of_a_config_map() -> None:
    sources = [
        {"configMapRef": {"name": "own"}, "prefix": "P_"},
        {"configMapRef": {"name": "others"}},
        {"secretRef": {"name": "hub"}},
    ]
    task = pod([], envFrom=sources)
    assert variables(task, {"own": {"A": "1"}}, {}).values == {"P_A": "1"}
    assert list(unknown_sources(task, {"own": {}})) == ["ConfigMap others", "Secret hub"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(B)", "$(B)"),
        ("$A $", "$A $"),
        ("$(A", "$(A"),
        ("$()", "$()"),
    ],
)
def test_references_as_kubernetes_has_them(text: str, expected: str) -> None:
    assert expand(text, {"A": "1"}) == expected


@pytest.mark.parametrize(
    ("limits", "number"),
    [
        ({"cpu": "2"}, 0),
        ({"nvidia.com/gpu": "2"}, 2),
        ({"nvidia.com/gpu": "0"}, 0),
        ({"amd.com/gpu": 1}, 1),
        ({"nvidia.com/mig-1g.5gb": "3"}, 1),
        ({"aliyun.com/gpu-mem": "8"}, 1),
    ],
)
def test_how_many_gpus_a_task_asks_for(limits: dict[str, Any], number: int) -> None:
    assert gpu_count({"resources": {"limits": limits}}) == number


def test_a_claim_counts_as_one_gpu() -> None:
    assert gpu_count({"resources": {"limits": {"cpu": "2"}, "claims": [{"name": "gpu"}]}}) == 1


@pytest.mark.parametrize(
    ("numbers", "gpus", "expected"),
    [
        ([0, 1, 1], ["0", "1", "2"], ["", "0", "1"]),
        ([2, 1, 1], ["0", "1", "2", "3"], ["0,1", "2", "3"]),
        ([1, 1, 1], ["0", "1"], ["0", "1", "0"]),  # shared
        ([4], ["0", "1"], ["0,1"]),  # all GPUs of the machine
        ([1, 1], ["MIG-a", "MIG-b"], ["MIG-a", "MIG-b"]),
        ([1], [], [""]),
    ],
)
def test_gpus_are_shared_out(numbers: list[int], gpus: list[str], expected: list[str]) -> None:
    assert shares(numbers, gpus) == expected
