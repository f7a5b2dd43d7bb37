"""Tests that tfgen names a run's objects as Helm does when the Helm release and the job have different names."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.support.recorded_run import read_run
from tests.support.tools import ROOT, helm_template
from tfgen.kubernetes.object import identity

JOBS = sorted((ROOT / "examples").glob("*/job.yaml"))


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.parent.name)
def test_a_release_of_another_name_has_the_names_that_helm_gives(job: Path) -> None:
    run = read_run(job, None)
    text = helm_template(ROOT / "charts" / run.job, "other", "--skip-tests")
    printed = {identity(item) for item in yaml.safe_load_all(text) if item}
    renamed = run.with_full_name(f"other-{run.job}")
    assert renamed.title.startswith(f"other-{run.job}")
    assert renamed.identities
    assert {*renamed.identities} <= printed
    assert not {*renamed.identities} & {*run.identities}
