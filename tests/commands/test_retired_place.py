"""A retired environment in the namespace of an enabled environment, where the objects of both have the same names."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.repository import tfgen

pytest.importorskip("kubernetes", reason="needs the kubernetes client: pip install kubernetes")

from tfgen import cli
from tfgen.check.jobs import check
from tfgen.live import clusters
from tfgen.live.run import Snapshot, find_run

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: web, namespace: ml}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {}}
  environments: {dev: {enabled: false}, prod: {}}
"""


@pytest.mark.parametrize("command", ["delete", "release"])
def test_a_retired_environment_does_not_change_an_enabled_one(command: str, tmp_path: Path) -> None:
    """With --context or --namespace the user names another namespace. The command then reads the kubeconfig."""
    job = tmp_path / "job.yaml"
    job.write_text(JOB, encoding="utf-8")
    run = [command, str(job), "--env", "dev", "--kubeconfig", str(tmp_path / "none")]
    printed = tfgen(*run, code=cli.FAILED).err
    assert f"belong to the environment prod; for these objects: tfgen {command} JOB --env prod" in printed
    assert "belong to" not in tfgen(*run, "--namespace", "another", code=cli.USAGE).err


def test_the_status_of_a_retired_environment_shows_no_task_of_an_enabled_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (document,) = check(JOB, "job.yaml").documents
    run = find_run(document, "dev", may_be_retired=True).run
    metadata = {"name": "web-worker-0", "labels": {"tfgen/job": "web", "tfgen/run": "", "tfgen/role": "worker"}}
    pod = {
        "metadata": {**metadata, "creationTimestamp": ""},
        "spec": {"nodeName": "n", "containers": [{"name": "tensorflow"}]},
        "status": {},
    }
    monkeypatch.setattr(clusters, "read_snapshot", lambda *_, **__: Snapshot((pod,)))
    connections = SimpleNamespace(is_place_set=False, by_namespace=lambda runs: [(None, "ml", runs)])
    for live_runs, subjects in ((run.live_runs, []), ({}, [("worker",)])):
        (state,) = clusters.read_states(cast("Any", connections), [run.replaced(live_runs=live_runs)])
        assert state.phase == "Disabled"
        assert [why.subjects for why in state.causes] == subjects
