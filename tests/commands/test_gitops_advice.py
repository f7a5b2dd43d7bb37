"""Tests of the lines that `tfgen render` prints for GitOps objects that a person writes by hand.

tests/e2e/gitops/test_hand_written.py tests the lines in a cluster.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.repository import tfgen
from tfgen.commands.render import gitops_advice

STATEFUL_SET = ("apps", "StatefulSet", "/spec/replicas")
STORAGE = {"model": {"mountPath": "/model", "claim": {"size": "1Gi"}}}
BOARD = {"storage": STORAGE, "tensorboard": {"logDir": "/model/logs", "keep": False}}
GITOPS = {
    "gitops": {"repository": "https://git.ml.internal/ml/jobs.git", "flux": {}},
    "environments": {"prod": {"namespace": "ml"}},
}
KUEUE = {"workload": {"kind": "JobSet"}, "gang": {"scheduler": "kueue", "queue": "research"}}


@pytest.mark.parametrize(
    ("spec", "need", "effect"),
    [
        ({}, "set RespectIgnoreDifferences=true", "starts the tasks of a finished run again"),
        (BOARD, "set RespectIgnoreDifferences=true", "starts the tasks of a finished run again"),
        (KUEUE, "ignore /spec/suspend of each JobSet", "stops a run that has left its queue"),
        ({"workload": {"kind": "Job"}}, "", ""),
        (GITOPS, "", ""),
    ],
    ids=["stateful-sets", "tensorboard", "kueue", "jobs", "gitops"],
)
def test_first_render_of_a_job_names_what_an_application_needs(
    spec: dict[str, Any], need: str, effect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job = {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "mnist"},
        "spec": {"image": "mnist:1", "roles": {"chief": {}, "ps": {}, "worker": {}}, **spec},
    }
    Path("job.yaml").write_text(yaml.safe_dump(job), encoding="utf-8")
    printed = tfgen("render", "job.yaml").err
    note = (
        f"note: mnist: gitops is not set. A hand-written Application must {need}; otherwise each sync {effect}. "
        "For Flux, and for Argo CD before 3.6: docs/gitops.md#an-application-or-a-kustomization-of-your-own\n"
    )
    assert (note in printed) == bool(need)
    assert ("note: mnist: gitops" in printed) == bool(need)
    assert "note: mnist" not in tfgen("render", "job.yaml").err


def test_many_jobs_are_counted():
    advice = gitops_advice({f"job-{number}": [STATEFUL_SET] for number in range(4)})
    assert advice.startswith("note: 4 jobs: gitops is not set.")
