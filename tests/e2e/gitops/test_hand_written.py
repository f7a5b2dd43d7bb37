"""An Application or a Kustomization that a person writes by hand, with the lines that `tfgen render` prints for it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.e2e.client import eventually
from tests.e2e.gitops.jobs import job
from tests.e2e.gitops.repository import GIT_REPOSITORY, KUSTOMIZATION, Repository
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
def test_the_printed_lines_keep_a_finished_run_released(
    repository: Repository, source: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    team = {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "Defaults",
        "spec": {"environments": {"prod": {"namespace": repository.namespace}}},
    }
    (repository.folder / "tfgen.yaml").write_text(yaml.safe_dump(team), encoding="utf-8")
    repository.write(job())
    assert repository.tfgen("render", "jobs") == cli.OK
    lines = _lines(capsys.readouterr().err, "Kustomization" if repository.way.tool == "flux" else "Application")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": repository.namespace}}
    repository.cluster.client.create(namespace)
    spec = _spec(repository, source)
    _apply(repository, spec)
    commit = repository.commit()
    repository.applied(commit)

    repository.there("StatefulSet", "mnist-ps")
    repository.scale("mnist-ps", 0)
    _change_page(repository, "The first page.\n")
    eventually(lambda: _replicas(repository) == 1, "the second start of the ps")

    _apply(repository, _with_lines(spec, lines))
    repository.applied(_change_page(repository, "The page after the lines.\n"))
    repository.scale("mnist-ps", 0)
    for text in ("The second page.\n", "The third page.\n"):
        repository.applied(_change_page(repository, text))
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


def _lines(printed: str, kind: str) -> dict[str, Any]:
    """Return the printed lines for the spec of a kind."""
    _, _, after = printed.partition(f"To the spec of {'an' if kind == 'Application' else 'a'} {kind}")
    _, _, block = after.partition(":\n\n")
    text, _, _ = block.partition("\nTo the spec")
    lines: dict[str, Any] = yaml.safe_load(text)
    return lines


def _with_lines(spec: dict[str, Any], lines: dict[str, Any]) -> dict[str, Any]:
    """Return a spec with the lines; a person adds the entries of `syncPolicy` to the present ones."""
    policy = {**spec.get("syncPolicy", {}), **lines.get("syncPolicy", {})}
    return {**spec, **lines, **({"syncPolicy": policy} if policy else {})}


def _change_page(repository: Repository, text: str) -> str:
    """Commit and push a page beside the jobs."""
    (repository.folder / "README.md").write_text(text, encoding="utf-8")
    return repository.push("Write a page")


def _replicas(repository: Repository) -> int:
    replicas: int = repository.there("StatefulSet", "mnist-ps")["spec"]["replicas"]
    return replicas
