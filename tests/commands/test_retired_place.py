"""A retired environment in the namespace of an enabled environment, where the objects of both have the same names."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("kubernetes", reason="needs the kubernetes client: pip install kubernetes")

from tfgen import cli
from tfgen.check.jobs import check
from tfgen.commands import status
from tfgen.commands.cluster.declared_runs import find_run
from tfgen.live.run import Snapshot

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
def test_a_retired_environment_does_not_change_an_enabled_one(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --context or --namespace the user names another namespace. The command then reads the kubeconfig."""
    job = tmp_path / "job.yaml"
    job.write_text(JOB, encoding="utf-8")
    run = [command, str(job), "--env", "dev", "--kubeconfig", str(tmp_path / "none")]
    assert cli.run(run) == cli.FAILED
    assert (
        f"belong to the environment prod; for these objects: tfgen {command} JOB --env prod" in capsys.readouterr().err
    )
    assert cli.run([*run, "--namespace", "another"]) == cli.USAGE
    assert "belong to" not in capsys.readouterr().err


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
    monkeypatch.setattr(status, "read_snapshot", lambda *_, **__: Snapshot((pod,)))
    clusters = SimpleNamespace(is_place_set=False, by_namespace=lambda runs: [(None, "ml", runs)])
    for live_runs, subjects in ((run.live_runs, []), ({}, [("worker",)])):
        (state,) = status.read_states(cast("Any", clusters), [run.replaced(live_runs=live_runs)])
        assert state.phase == "Disabled"
        assert [why.subjects for why in state.causes] == subjects
