"""Tests of the lines that `tfgen render` prints for GitOps objects that a person writes by hand.

tests/e2e/gitops/test_hand_written.py tests the lines in a cluster.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tfgen import cli
from tfgen.report.gitops_advice import gitops_advice

STATEFUL_SET = ("apps", "StatefulSet", "/spec/replicas")
STORAGE = {"model": {"mountPath": "/model", "claim": {"size": "1Gi"}}}
BOARD = {"storage": STORAGE, "tensorboard": {"logDir": "/model/logs", "keep": False}}
GITOPS = {
    "gitops": {"repository": "https://git.ml.internal/ml/jobs.git", "flux": {}},
    "environments": {"prod": {"namespace": "ml"}},
}
KUEUE = {"workload": {"kind": "JobSet"}, "gang": {"scheduler": "kueue", "queue": "research"}}


@pytest.mark.parametrize(
    ("spec", "fields", "effect"),
    [
        ({}, [STATEFUL_SET], "starts the tasks of a finished run again."),
        (BOARD, [STATEFUL_SET, ("apps", "Deployment", "/spec/replicas")], "starts the tasks of a finished run again."),
        (KUEUE, [("jobset.x-k8s.io", "JobSet", "/spec/suspend")], "stops a run that has left its queue."),
        ({"workload": {"kind": "Job"}}, [], ""),
        (GITOPS, [], ""),
    ],
    ids=["stateful-sets", "tensorboard", "kueue", "jobs", "gitops"],
)
def test_a_new_job_prints_the_lines_that_it_needs(
    spec: dict[str, Any],
    fields: list[tuple[str, str, str]],
    effect: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    job = {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "mnist"},
        "spec": {"image": "mnist:1", "roles": {"chief": {}, "ps": {}, "worker": {}}, **spec},
    }
    Path("job.yaml").write_text(yaml.safe_dump(job), encoding="utf-8")
    assert cli.run(["render", "job.yaml"]) == cli.OK
    printed = capsys.readouterr().err
    if not fields:
        assert "note: mnist" not in printed
        return
    assert f"note: mnist: gitops is not set. A hand-written Application or Kustomization {effect}\n" in printed
    application, kustomization = (
        yaml.safe_load(block.partition(":\n\n")[2]) for block in printed.split("To the spec of ")[1:]
    )
    assert application == {
        "ignoreDifferences": [{"group": group, "kind": kind, "jsonPointers": [field]} for group, kind, field in fields],
        "syncPolicy": {"syncOptions": ["RespectIgnoreDifferences=true"]},
    }
    assert kustomization == {
        "ignore": [{"paths": [field], "target": {"group": group, "kind": kind}} for group, kind, field in fields]
    }
    assert cli.run(["render", "job.yaml"]) == cli.OK
    assert "note: mnist" not in capsys.readouterr().err


def test_many_jobs_are_counted():
    advice = gitops_advice({f"job-{number}": [STATEFUL_SET] for number in range(4)})
    assert advice.startswith("note: 4 jobs: gitops is not set.")
