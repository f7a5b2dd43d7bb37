"""TensorFlow reads the TF_CONFIG of every task of every example, with its variables expanded like by a kubelet.

The examples of other workload kinds are omitted, because an operator writes their TF_CONFIG.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.tools import ROOT
from tfgen.graph.graph import plain_objects
from tfgen.schema import kinds
from tfgen.text.parse import parse

JOBS = sorted((ROOT / "examples").glob("*/job.yaml"))


def job(path: Path) -> dict[str, Any]:
    return parse(path.read_text(encoding="utf-8"), path.name).documents[0].data


def environments() -> list[object]:
    return [
        pytest.param(path, name, id=f"{path.parent.name}-{name or 'base'}")
        for path in JOBS
        if kinds.of_spec(job(path)["spec"]) in ("StatefulSet", "Job")
        if job(path)["spec"].get("strategy") != "KerasDistribution"  # Keras on JAX reads no TF_CONFIG
        for name in (None, *job(path)["spec"].get("environments", {}))
    ]


def expanded(container: dict[str, Any], config_map: dict[str, str], index: int) -> dict[str, str]:
    """Return the container's variables as its program receives them.

    Kubernetes replaces ``$(NAME)`` if the variable is declared before:
    https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
    """
    variables: dict[str, str] = {}
    for variable in container["env"]:
        source = variable.get("valueFrom", {})
        if "configMapKeyRef" in source:
            value = config_map[source["configMapKeyRef"]["key"]]
        elif "fieldRef" in source:
            value = str(index)
        else:
            value = variable.get("value", "")
        variables[variable["name"]] = re.sub(r"\$\((\w+)\)", lambda m: variables.get(m[1], m[0]), value)
    return variables


def tasks(objects: tuple[dict[str, Any], ...]) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yield the role, the index and the variables of every task."""
    cluster = next((o["data"] for o in objects if o["kind"] == "ConfigMap" and "cluster" in o["data"]), {})
    for item in objects:
        role = item["metadata"]["labels"].get("app.kubernetes.io/component")
        if role in ("chief", "ps", "worker", "evaluator"):
            spec = item["spec"]
            (container,) = spec["template"]["spec"]["containers"]
            for index in range(spec.get("replicas", spec.get("completions"))):
                yield role, index, expanded(container, cluster, index)


@pytest.mark.parametrize(("path", "environment"), environments())
def test_tensorflow_reads_every_tasks_place(
    path: Path, environment: str | None, tf: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = plain_objects(job(path), environment)
    found = list(tasks(objects))
    counts = {role: sum(1 for other, _, _ in found if other == role) for role, _, _ in found}
    assert found
    for role, index, variables in found:
        if "TF_CONFIG" not in variables:
            assert counts == {"chief": 1}
            continue
        monkeypatch.setenv("TF_CONFIG", variables["TF_CONFIG"])
        resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
        cluster = resolver.cluster_spec().as_dict()
        assert (resolver.task_type, resolver.task_id) == (role, index)
        assert {name: len(hosts) for name, hosts in cluster.items()} == {
            name: count for name, count in counts.items() if name != "evaluator" or role == "evaluator"
        }
        assert all(
            re.fullmatch(rf"\S+-{name}-{i}\.\S+:2222", host) for name in cluster for i, host in enumerate(cluster[name])
        )
