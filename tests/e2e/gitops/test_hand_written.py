"""An Application or a Kustomization that a person writes by hand, with the lines of docs/gitops.md."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from tests.e2e.client import eventually
from tests.e2e.gitops.jobs import job
from tests.e2e.gitops.repository import GIT_REPOSITORY, KUSTOMIZATION, Repository
from tests.support.tools import ROOT
from tfgen import cli

SOURCES = {
    "argocd": {"path": "overlays/mnist/prod"},
    "argocd-chart": {"path": "charts/mnist", "helm": {"releaseName": "mnist", "valueFiles": ["values-prod.yaml"]}},
    "flux": {"path": "./overlays/mnist/prod"},
}


@pytest.mark.parametrize(
    ("repository", "source"),
    [
        # The chart shows the lines of an Application, and an Application of an overlay has the same lines.
        pytest.param(way, source, id=way, marks=pytest.mark.nightly if way == "argocd" else ())
        for way, source in SOURCES.items()
    ],
    indirect=["repository"],
)
def test_lines_of_the_page_keep_a_finished_run_released(repository: Repository, source: dict[str, Any]) -> None:
    team = {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "Defaults",
        "spec": {"environments": {"prod": {"namespace": repository.namespace}}},
    }
    (repository.folder / "tfgen.yaml").write_text(yaml.safe_dump(team), encoding="utf-8")
    repository.write(job())
    assert repository.tfgen("render", "jobs") == cli.OK
    application, kustomization = _lines_of_the_page()
    lines = kustomization if repository.way.tool == "flux" else application
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": repository.namespace}}
    repository.cluster.client.create(namespace)
    spec = _spec(repository, source)
    _apply(repository, spec)
    commit = repository.commit()
    repository.applied(commit)

    repository.there("StatefulSet", "mnist-ps")
    repository.scale("mnist-ps", 0)
    _change_job(repository, "first")
    eventually(lambda: _replicas(repository) == 1, "the second start of the ps")

    _apply(repository, _with_lines(spec, lines))
    repository.applied(_change_job(repository, "after the lines"))
    repository.scale("mnist-ps", 0)
    for text in ("second", "third"):
        repository.applied(_change_job(repository, text))
        assert _replicas(repository) == 0
    _check_end(repository)


def _check_end(repository: Repository) -> None:
    """Remove the job: its objects stay until the Application or the Kustomization is deleted, as `tfgen rm` prints."""
    client, way = repository.cluster.client, repository.way
    kind = KUSTOMIZATION if way.tool == "flux" else way.kind
    assert repository.tfgen("rm", "jobs/mnist/job.yaml") == cli.OK
    repository.commit()

    def has_no_source() -> bool:
        conditions = client.get(kind, "mnist-prod", way.namespace).get("status", {}).get("conditions", ())
        return any("ComparisonError" in c["type"] or "path not found" in c.get("message", "") for c in conditions)

    eventually(has_no_source, "the missing folder")
    assert "deletionTimestamp" not in repository.there("StatefulSet", "mnist-worker")["metadata"]
    if way.tool == "argocd":
        finalizers = {"metadata": {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}}
        client.patch(kind, "mnist-prod", way.namespace, finalizers)
    client.delete(kind, "mnist-prod", way.namespace)
    repository.gone("StatefulSet", "mnist-worker")


def _spec(repository: Repository, source: dict[str, Any]) -> dict[str, Any]:
    """Return the spec of an Application or a Kustomization for the environment prod."""
    if repository.way.tool == "flux":
        repository.cluster.client.apply(repository.of_tool(GIT_REPOSITORY, "mnist", repository.source()))
        reference = {"kind": "GitRepository", "name": "mnist"}
        return {"interval": "2s", "prune": True, "sourceRef": reference, **source}
    return {
        "project": "default",
        "source": {"repoURL": repository.url, "targetRevision": "main", **source},
        "destination": {"server": "https://kubernetes.default.svc", "namespace": repository.namespace},
        "syncPolicy": {"automated": {"prune": True, "selfHeal": True}},
    }


def _apply(repository: Repository, spec: dict[str, Any]) -> None:
    kind = KUSTOMIZATION if repository.way.tool == "flux" else repository.way.kind
    repository.cluster.client.apply(repository.of_tool(kind, "mnist-prod", spec))


def _lines_of_the_page() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the lines for the spec of an Application, and the lines for the spec of a Kustomization."""
    page = (ROOT / "docs" / "gitops.md").read_text(encoding="utf-8")
    _, _, section = page.partition("## An Application or a Kustomization of your own\n")
    application, _, kustomization = re.findall(
        r"^```yaml\n(.*?)^```$", section.partition("\n## ")[0], re.DOTALL | re.MULTILINE
    )
    return yaml.safe_load(application), yaml.safe_load(kustomization)


def _with_lines(spec: dict[str, Any], lines: dict[str, Any]) -> dict[str, Any]:
    """Return a spec with the lines; a person adds the entries of `syncPolicy` to the present ones."""
    policy = {**spec.get("syncPolicy", {}), **lines.get("syncPolicy", {})}
    return {**spec, **lines, **({"syncPolicy": policy} if policy else {})}


def _change_job(repository: Repository, text: str) -> str:
    """Commit and push a job with another ConfigMap, so that a sync applies all objects of the job."""
    repository.write(job(objects={"page": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": text}}}))
    assert repository.tfgen("render", "jobs") == cli.OK
    return repository.commit()


def _replicas(repository: Repository) -> int:
    replicas: int = repository.there("StatefulSet", "mnist-ps")["spec"]["replicas"]
    return replicas
