"""An ApplicationSet in place of an Application for each job: it finds the jobs, and creates the same Applications."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.client import eventually
from tests.e2e.gitops.jobs import CLAIM, job, started
from tests.e2e.gitops.repository import WAYS, Repository
from tfgen import cli
from tfgen.targets.render import render


@pytest.mark.parametrize("repository", ["applicationset"], indirect=True)
def test_a_set_makes_of_each_job_what_its_own_application_would_be(repository: Repository) -> None:
    """Compare the Applications without the differences to ignore and `allowEmpty`, which all jobs of the set share."""
    started(repository, storage=CLAIM)
    made = eventually(repository.kept, "the Application")
    alone = _application(repository)
    _agree(made["metadata"], alone["metadata"], "annotations", "finalizers", "name", "namespace")
    ignored = made["spec"].pop("ignoreDifferences")
    assert all(each in ignored for each in alone["spec"].pop("ignoreDifferences"))
    assert made["spec"]["syncPolicy"]["automated"].pop("allowEmpty")
    assert made["spec"] == alone["spec"]

    repository.write({**job(), "metadata": {"name": "other"}})
    commit = repository.commit()
    changed = repository.git("show", "--name-only", "--format=", commit).split()
    assert not [path for path in changed if path.startswith("overlays/argocd")], "nothing of Argo CD's is told of it"
    repository.applied(commit, "other")
    repository.there("StatefulSet", "other-ps")

    assert repository.tfgen("rm", "jobs/mnist/job.yaml") == cli.OK
    repository.commit()
    eventually(lambda: repository.kept() is None, "the end of the Application")
    repository.gone("StatefulSet", "mnist-ps")
    assert "deletionTimestamp" not in repository.there("PersistentVolumeClaim", "mnist-model")["metadata"]
    assert repository.there("StatefulSet", "other-ps")


def _application(repository: Repository) -> dict[str, Any]:
    """Return the Application of the same job for a team without an ApplicationSet."""
    team: dict[str, Any] = yaml.safe_load((repository.folder / "tfgen.yaml").read_text(encoding="utf-8"))["spec"]
    team["gitops"] = {"repository": repository.url, **WAYS["argocd"].gitops}
    made = job(storage=CLAIM)
    files = render({**made, "spec": {**made["spec"], **team}}).tree.files
    return dict(yaml.safe_load(files[str(Path("overlays", "argocd", "mnist-prod.yaml"))]))


def _agree(one: dict[str, Any], other: dict[str, Any], *keys: str) -> None:
    assert {key: one.get(key) for key in keys} == {key: other.get(key) for key in keys}
