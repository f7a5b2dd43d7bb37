"""The objects that remain released in an upgrade of the chart. tests/e2e/server/test_released.py tests lookups."""

from __future__ import annotations

import pytest

from tfgen.graph.built import build
from tfgen.job.training_job import TrainingJob
from tfgen.targets.chart.templates import template_files

ROLES = {"chief": {}, "ps": {}, "worker": {}, "evaluator": {}}
WORKERS = {"strategy": "MultiWorkerMirrored", "roles": {"worker": {"replicas": 2}}}
STORAGE = {"model": {"mountPath": "/model", "claim": {"size": "1Gi"}}}
BOARD = {"storage": STORAGE, "tensorboard": {"logDir": "/model/logs"}}
TWO_BOARDS = {
    "board": {"target": {"kind": "Deployment", "name": "tensorboard"}, "merge": {"spec": {"replicas": 2}}},
}
TWO_BOARDS_BY_OPERATION = {
    "board": {
        "target": {"kind": "Deployment", "name": "tensorboard"},
        "json": [{"op": "replace", "path": "/spec/replicas", "value": 2}],
    },
}


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ({"roles": ROLES}, {"evaluator", "ps", "worker"}),
        ({"roles": ROLES, "workload": {"kind": "Job"}}, {"evaluator", "ps", "worker"}),
        ({"roles": ROLES, **BOARD}, {"evaluator", "ps", "tensorboard", "worker"}),
        ({"roles": ROLES, "completion": {"release": "Keep"}}, set()),
        (WORKERS, set()),
        ({**WORKERS, **BOARD}, {"tensorboard"}),
        ({"roles": {"chief": {}, "worker": {}}, "workload": {"kind": "JobSet"}}, set()),
    ],
)
def test_an_upgrade_keeps_what_the_finisher_releases(spec, names):
    files = template_files(TrainingJob.from_document(_job(spec)).structure)
    assert {path for path, text in files.items() if 'include "mnist.isReleased"' in text} == {
        f"templates/{name}.yaml" for name in names
    }


@pytest.mark.parametrize("patches", [TWO_BOARDS, TWO_BOARDS_BY_OPERATION], ids=["merge", "json"])
def test_a_patch_sets_the_replicas_of_a_run_that_trains(patches):
    job = _job({"roles": ROLES, **BOARD, "patches": patches})
    assert build(job).base["tensorboard"]["spec"]["replicas"] == 2
    text = template_files(TrainingJob.from_document(job).structure)["templates/tensorboard.yaml"]
    assert "  replicas: 0\n  {{- else }}\n  replicas: 2\n  {{- end }}\n" in text


def test_a_patch_of_an_environment_sets_the_replicas_of_a_run_that_trains():
    job = _job({"roles": ROLES, **BOARD, "environments": {"prod": {"patches": TWO_BOARDS}}})
    text = template_files(TrainingJob.from_document(job).structure)["templates/tensorboard.yaml"]
    replicas = """\
  replicas: 0
  {{- else if eq .Values.environment "prod" }}
  replicas: 2
  {{- else }}
  replicas: 1
  {{- end }}
"""
    assert replicas in text


def _job(spec):
    return {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "mnist"},
        "spec": {"image": "registry.example.com/ml/mnist:1", **spec},
    }
