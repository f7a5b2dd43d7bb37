"""The advice for a run that no field holds back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("kubernetes", reason="needs the kubernetes client: pip install 'tfgen[live]'")

from tests.support.recorded_run import read_run
from tfgen.commands.release import release_run
from tfgen.errors import TfgenError
from tfgen.live.api import Resource

GOLDEN = Path(__file__).parents[1] / "golden"


class Volcano:
    """The discovery of a cluster with Volcano."""

    def resource(self, api_version: str, kind: str) -> Resource:
        assert (api_version, kind) == ("batch.volcano.sh/v1alpha1", "Job")
        return Resource("/apis/batch.volcano.sh/v1alpha1", "jobs", True)


def test_the_advice_names_volcano_s_jobs_and_not_those_of_kubernetes() -> None:
    run = read_run(GOLDEN / "volcano-job" / "job.yaml", None)
    advice = "kubectl delete jobs.batch.volcano.sh volcano-job --namespace ml"
    with pytest.raises(TfgenError, match=advice):
        list(release_run(cast("Any", Volcano()), "ml", run))
