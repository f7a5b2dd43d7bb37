"""Jobs whose charts/ and overlays/ are not beside the jobs: on a separate branch, or not in git."""

from __future__ import annotations

import pytest
import yaml

from tests.e2e.client import eventually
from tests.e2e.gitops.conftest import sources
from tests.e2e.gitops.jobs import job, started
from tests.e2e.gitops.repository import APPLICATION, JOB, Repository
from tests.e2e.servers.program import program
from tests.support.command import Command
from tests.support.tools import ROOT
from tfgen import cli


@pytest.mark.parametrize("repository", [pytest.param("argocd", marks=pytest.mark.nightly), "flux"], indirect=True)
def test_the_cluster_follows_the_branch_of_what_is_rendered(repository: Repository) -> None:
    repository.render_into("rendered")
    started(repository)
    repository.there("StatefulSet", "mnist-ps")
    assert repository.git("ls-tree", "--name-only", "origin/main").split() == ["jobs", "tfgen.yaml"]
    assert repository.tfgen("rerun", "jobs/mnist/job.yaml", "--commit", "--push") == cli.OK
    repository.applied(repository.git("rev-parse", "rendered").strip())
    repository.there(JOB, "mnist-2-chief")
    repository.gone("StatefulSet", "mnist-ps")
    repository.there("StatefulSet", "mnist-2-ps")
    assert repository.tfgen("rm", "jobs/mnist/job.yaml") == cli.OK
    repository.commit()
    for kind, name in (("StatefulSet", "mnist-2-ps"), (JOB, "mnist-2-chief")):
        repository.gone(kind, name)
    eventually(lambda: repository.kept() is None, "the end of what kept the last job")


@pytest.mark.parametrize("repository", ["argocd"], indirect=True)
def test_argo_cd_renders_by_the_plugin(repository: Repository) -> None:
    repository.write(job())
    commit = repository.push("Train mnist")
    spec = {
        "project": "default",
        "source": {
            "repoURL": repository.url,
            "targetRevision": "main",
            "path": "jobs/mnist",
            "plugin": {"name": "tfgen", "parameters": [{"name": "env", "string": "prod"}]},
        },
        "destination": {"server": "https://kubernetes.default.svc", "namespace": repository.namespace},
        # An earlier Application of the same name may have left objects.
        "syncPolicy": {"automated": {"prune": True}, "syncOptions": ["CreateNamespace=true"]},
    }
    repository.cluster.client.apply(repository.of_tool(APPLICATION, "mnist-prod", spec))
    repository.applied(commit)
    assert repository.there("StatefulSet", "mnist-worker")["spec"]["replicas"] == 2
    pods = repository.cluster.client.list
    eventually(lambda: len(pods("Pod", repository.namespace)) == 5, "all pods")


def test_the_sidecar_fits_argo_cds_repo_server() -> None:
    deployment = "manifests/base/repo-server/argocd-repo-server-deployment.yaml"
    file = sources("argocd", "github.com/argoproj/argo-cd/v3") / deployment
    patch = ROOT / "docs" / "argocd-plugin" / "sidecar.patch.yaml"
    command = (program("kubectl"), "patch", "--local", "--filename", file, "--patch-file", patch, "--output", "yaml")
    spec = yaml.safe_load(Command(command).run())["spec"]["template"]["spec"]
    server, sidecar = sorted(spec["containers"], key=lambda container: str(container["name"]) == "tfgen")
    volumes = {volume["name"] for volume in spec["volumes"]}
    assert {mount["name"] for mount in sidecar["volumeMounts"]} <= volumes
    (programs,) = [mount["name"] for mount in sidecar["volumeMounts"] if mount["mountPath"] == "/var/run/argocd"]
    assert programs in {mount["name"] for container in spec["initContainers"] for mount in container["volumeMounts"]}
    plugins = "/home/argocd/cmp-server/plugins"
    assert len({m["name"] for c in (server, sidecar) for m in c["volumeMounts"] if m["mountPath"] == plugins}) == 1
