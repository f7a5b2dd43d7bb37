"""Advice for a run that no field suspends, and a refusal of `tfgen release` before any change."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("kubernetes", reason="needs the kubernetes client: pip install kubernetes")

from tests.support.recorded_run import read_run
from tfgen.commands.cluster.target import Target
from tfgen.commands.release import release_run
from tfgen.errors import TfgenError
from tfgen.live.api import Resource
from tfgen.live.run import DeclaredRun

GOLDEN = Path(__file__).parents[1] / "golden"


def target(api: object, run: DeclaredRun) -> Target:
    return Target(cast("Any", api), "ml", run.job, run.full_name, "tfgen rerun job.yaml", run=run.run)


class Volcano:
    """A cluster whose API discovery contains only Volcano."""

    def resource(self, api_version: str, kind: str) -> Resource:
        assert (api_version, kind) == ("batch.volcano.sh/v1alpha1", "Job")
        return Resource("/apis/batch.volcano.sh/v1alpha1", "jobs", True)


def test_the_advice_names_volcano_s_jobs_and_not_those_of_kubernetes() -> None:
    run = read_run(GOLDEN / "volcano-job" / "job.yaml", None)
    advice = "kubectl delete jobs.batch.volcano.sh volcano-job --namespace ml"
    with pytest.raises(TfgenError, match=advice):
        list(release_run(target(Volcano(), run), run))


class Queued:
    """A cluster that has Jobs of a run in a queue of Kueue, and no Workloads."""

    def __init__(self) -> None:
        self.verbs: set[str] = set()

    def resource(self, api_version: str, kind: str) -> Resource | None:
        return Resource("/apis/batch/v1", "jobs", True) if (api_version, kind) == ("batch/v1", "Job") else None

    def data(self, verb: str, path: str, *_: object) -> Any:
        self.verbs.add(verb)
        labels = {"app.kubernetes.io/name": "queued", "app.kubernetes.io/managed-by": "tfgen"}
        labels |= {"kueue.x-k8s.io/queue-name": "research"} if path.endswith("worker") else {}
        return {"metadata": {"name": path.rpartition("/")[2], "uid": "1", "labels": labels}, "spec": {}}


def test_a_refused_release_leaves_the_evaluator_running() -> None:
    """The evaluator is a Job outside the queue. Its name is before the Job that ends the run."""
    run = read_run(GOLDEN / "kueue" / "job.yaml", None)
    assert [name for _, _, name in run.controllers.values()] == ["queued-worker", "queued-evaluator"]
    cluster = Queued()
    with pytest.raises(TfgenError, match="Job queued-worker is in the queue research"):
        list(release_run(target(cluster, run), run))
    assert cluster.verbs == {"GET"}
