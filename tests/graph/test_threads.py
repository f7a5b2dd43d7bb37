"""Tests of TensorFlow's number of threads: the CPU limit, with at least two threads between operations."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tfgen.graph.built import plain_objects

LIMITED = {"resourceFieldRef": {"resource": "limits.cpu"}}


def threads(resources: str, env: str = "") -> dict[str, Any]:
    """Return the variables of a worker that set numbers of threads."""
    document = yaml.safe_load(
        f"metadata: {{name: a}}\nspec: {{image: a:1, strategy: MultiWorkerMirrored, env: {{{env}}}, "
        f"roles: {{worker: {{resources: {{{resources}}}}}}}}}"
    )
    (job,) = (item for item in plain_objects(document) if item["metadata"]["name"] == "a-worker")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    variables = {variable["name"]: variable for variable in container["env"]}
    return {
        name.removesuffix("_THREADS").removesuffix("_NUM"): variable.get("value") or variable["valueFrom"]
        for name, variable in variables.items()
        if name.endswith("_THREADS")
    }


@pytest.mark.parametrize("cpu", ["1", "1000m", "500m", "'0.5'", "'.25'", "50m"])
def test_one_cpu_has_two_threads_between_operations(cpu: str) -> None:
    assert threads(f"cpu: {cpu}") == {"OMP": LIMITED, "TF_NUM_INTEROP": "2", "TF_NUM_INTRAOP": LIMITED}


@pytest.mark.parametrize("cpu", ["2", "10", "1500m", "1001m", "'1.5'", "2000m", "1k"])
def test_more_have_as_many(cpu: str) -> None:
    assert threads(f"cpu: {cpu}") == {"OMP": LIMITED, "TF_NUM_INTEROP": LIMITED, "TF_NUM_INTRAOP": LIMITED}


def test_the_user_has_the_last_word() -> None:
    assert threads("cpu: 1", 'TF_NUM_INTEROP_THREADS: "1"')["TF_NUM_INTEROP"] == "1"


def test_no_limit_is_no_number() -> None:
    assert threads("memory: 1Gi") == {}
