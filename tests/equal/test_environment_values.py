"""Values that `tfgen check` accepts in an environment: Helm accepts them for the chart, and renders the same objects.

The job has no environment, so its chart does not contain the values. Each case sets one value of one key.
"""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import normal
from tests.support.draws import drawn
from tests.support.generated import accepted
from tests.support.rendered import Rendered
from tfgen import data_path
from tfgen.graph.built import plain_objects
from tfgen.schema.tunables import all_leaves

PS: Mapping[str, Any] = {"chief": {}, "ps": {}, "worker": {"replicas": 2}}
STRUCTURES: Mapping[str, Mapping[str, Any]] = {
    "all sections": {
        "roles": {**PS, "evaluator": {}},
        "gang": {"scheduler": "volcano"},
        "storage": {"model": {"mountPath": "/model", "claim": {"size": "1Gi"}}},
        "tensorboard": {"logDir": "/model"},
        "podDisruptionBudget": {},
        "network": {"egress": {"limited": True}},
    },
    "one task": {"strategy": "Single", "roles": {"chief": {}}, "podDisruptionBudget": {}},
    "workers": {
        "strategy": "MultiWorkerMirrored",
        "roles": {"worker": {"replicas": 3}},
        "gang": {"scheduler": "coscheduling"},
        "completion": {"release": "Keep"},
    },
    "Kubernetes' gang": {"roles": PS, "gang": {"scheduler": "kubernetes"}},
    "TFJob": {"workload": {"kind": "TFJob"}, "roles": PS},
    "JobSet": {"workload": {"kind": "JobSet"}, "roles": PS, "gang": {"scheduler": "kueue", "queue": "a"}},
    "ElasticDL": {
        "workload": {"kind": "ElasticDL"},
        "args": ["--model_def=mnist.model"],
        "security": {"profile": "baseline"},
        "roles": {"ps": {}, "worker": {"replicas": 2}},
    },
    "VolcanoJob": {"workload": {"kind": "VolcanoJob"}, "roles": PS, "gang": {"scheduler": "volcano"}},
}
TEXTS = ["", "a", "1", "0.5", "1Gi", "1e3", "50%", "300s", "/a", "a/b:1", "a\nb", "a b", "Keep", "Never", "pack", "Off"]
SCALARS = st.sampled_from([None, True, False, 0, 1, -1, 5, 1.5, 2.0, 10**6, 2**31, 2**53, *TEXTS])
KEYS = st.sampled_from(["a", "A", "a.b/c", "name", "key", "operator", "ports", "port"])
VALUES = SCALARS | st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=3,
)


def job_of(structure: str) -> dict[str, Any]:
    spec = {"image": "registry.ml.internal/ml/mnist:1", **STRUCTURES[structure]}
    return {"apiVersion": "tfgen/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "mnist"}, "spec": spec}


@functools.cache
def rendered(structure: str) -> Rendered:
    folder = tempfile.TemporaryDirectory()  # the folder exists as long as the cached chart
    chart = Rendered.write(job_of(structure), Path(folder.name))
    _FOLDERS.append(folder)
    return chart


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


def with_environment(structure: str, values: Mapping[str, Any]) -> dict[str, Any]:
    job = job_of(structure)
    return {**job, "spec": {**job["spec"], "environments": {"dev": values}}}


@pytest.mark.long
@drawn(500)
@given(structure=st.sampled_from([*STRUCTURES]), path=st.sampled_from([*all_leaves()]), value=VALUES)
def test_helm_takes_a_value_that_check_takes_in_an_environment(structure: str, path: Any, value: Any) -> None:
    values = data_path.with_value({}, path, value)
    job = with_environment(structure, values)
    if not accepted(job):
        return
    chart = rendered(structure)
    file = chart.chart.parent / "values-of-the-test.json"
    file.write_text(json.dumps(values), encoding="utf-8")
    by_helm = chart.by_helm("--values", str(file))
    normal.assert_equal({"helm": by_helm, "tfgen": normal.by_identity(plain_objects(job, "dev"))})


def test_the_draws_reach_both_verdicts() -> None:
    for structure in STRUCTURES:
        assert accepted(with_environment(structure, {}))
        assert accepted(with_environment(structure, {"image": "a:1"}))
        assert not accepted(with_environment(structure, {"image": 5}))
