"""Real Flux and real Argo CD on a control plane, a git server beside them, and a repository that both could follow.

    def test_something(repository: Repository) -> None:
        repository.write(job())
        repository.commit()
        repository.follow()
        repository.there("StatefulSet", "mnist-ps")

Each test is run once with either tool, in namespaces of its own; one marked `@every_way` in each of the WAYS.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from tests.e2e.client import ApiError, Object, eventually
from tests.e2e.conftest import dns_label, skipped_without_programs
from tests.e2e.control_plane import ControlPlane
from tests.e2e.custom_kinds import definitions_in, stand_in
from tests.e2e.gitops.jobs import WAITS_FOR_ITS_CONSUMER
from tests.e2e.gitops.repository import APPLICATION, GIT_REPOSITORY, HELM_RELEASE, KUSTOMIZATION, WAYS, Repository
from tests.e2e.servers import argocd as argocd_server
from tests.e2e.servers import flux as flux_server
from tests.e2e.servers.git_server import GitServer
from tests.e2e.servers.program import MissingProgramError
from tests.support import git_author
from tests.support.tools import ROOT

FOLDER = Path(__file__).parent
APPLICATION_SET = "argoproj.io/v1alpha1/ApplicationSet"


@pytest.hookimpl(tryfirst=True)  # before xdist's own, which asks for the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(FOLDER):
            # One worker, and so one control plane, for all tests of a tool.
            way = WAYS.get(str(item.callspec.params.get("repository") if hasattr(item, "callspec") else ""))
            item.add_marker(pytest.mark.xdist_group(f"gitops-{way.tool}" if way else "gitops"))


@pytest.fixture(scope="session")
def cluster(gang_cluster: ControlPlane) -> ControlPlane:
    """The one whose own scheduler knows gangs."""
    # Of what other tests have defined there, one test here wants a kind to be missing, and another to take anything.
    gang_cluster.uninstall()
    return gang_cluster


@pytest.fixture(scope="session")
def git_server(cluster: ControlPlane) -> Iterator[GitServer]:
    folder = cluster.folder / "git"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        # Before the server's threads, which read them; the author's git has them too.
        for name, value in git_author.VARIABLES.items():
            patch.setenv(name, value)
        with GitServer(folder, cluster.address) as server:
            yield server


@pytest.fixture(scope="session")
def pod_groups(cluster: ControlPlane) -> None:
    """The kind of Volcano's gangs; there is no Volcano, and no pod waits for it."""
    cluster.install([stand_in("scheduling.volcano.sh", "PodGroup", ["v1beta1"])])


@pytest.fixture(scope="session")
def storage(cluster: ControlPlane) -> None:
    """A class whose claims are bound when a pod is scheduled, and volumes for some."""
    meta = {"name": WAITS_FOR_ITS_CONSUMER}
    cluster.client.apply(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": meta,
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    )
    for number in range(40):  # one a test: what was bound once is not bound again
        cluster.client.apply(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": f"volume-{number}"},
                "spec": {
                    "capacity": {"storage": "1Gi"},
                    "accessModes": ["ReadWriteMany"],
                    "storageClassName": WAITS_FOR_ITS_CONSUMER,
                    "hostPath": {"path": f"/volumes/{number}"},
                },
            }
        )


@pytest.fixture(scope="session")
def flux(cluster: ControlPlane) -> None:
    """Flux's source, kustomize and helm controllers."""
    env = _environment()
    with skipped_without_programs():
        made = [
            flux_server.SourceController(cluster.folder, cluster.address, cluster.admin, env),
            flux_server.KustomizeController(cluster.folder, cluster.address, cluster.admin, env),
            flux_server.HelmController(cluster.folder, cluster.address, cluster.admin, env),
        ]
    for process in made:
        folder = sources(process.name, f"github.com/fluxcd/{process.name}") / "config" / "crd" / "bases"
        cluster.install(definitions_in(folder))
    cluster.namespace(flux_server.NAMESPACE)
    for process in made:
        cluster.start(process)
    for process in made:
        process.wait_until_ready()


@pytest.fixture(scope="session")
def argocd(cluster: ControlPlane) -> None:
    """Argo CD, with tfgen's health checks."""
    with skipped_without_programs():
        made = [*argocd_server.parts(cluster.folder, cluster.address, _argocd_kubeconfig(cluster), _environment())]
    cluster.install(definitions_in(sources("argocd", "github.com/argoproj/argo-cd/v3") / "manifests" / "crds"))
    cluster.namespace(argocd_server.NAMESPACE)
    from tfgen.targets.gitops.argocd import health_checks

    settings = {"application.resourceTrackingMethod": "annotation", **health_checks()["data"]}
    labels = {"app.kubernetes.io/part-of": "argocd"}
    for name in ("cm", "rbac-cm", "cmd-params-cm", "ssh-known-hosts-cm", "tls-certs-cm", "gpg-keys-cm"):
        made_map: Object = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": f"argocd-{name}",
                "namespace": argocd_server.NAMESPACE,
                "labels": {**labels, "app.kubernetes.io/name": f"argocd-{name}"},
            },
        }
        cluster.client.apply({**made_map, **({"data": settings} if name == "cm" else {})})
    cluster.client.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "argocd-secret", "namespace": argocd_server.NAMESPACE, "labels": labels},
            "stringData": {"server.secretkey": "of-this-test-alone"},
        }
    )
    anything = [{"group": "*", "kind": "*"}]
    project: Object = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "default", "namespace": argocd_server.NAMESPACE},
        "spec": {
            "sourceRepos": ["*"],
            "destinations": [{"server": "*", "namespace": "*"}],
            "clusterResourceWhitelist": anything,
        },
    }
    cluster.client.apply(project)
    for process in made:
        cluster.start(process)
    for process in made:
        process.wait_until_ready()


@pytest.fixture(params=("argocd", "flux"))
def repository(
    request: pytest.FixtureRequest,
    cluster: ControlPlane,
    git_server: GitServer,
    pod_groups: None,
    storage: None,
    tmp_path: Path,
) -> Iterator[Repository]:
    """An empty repository that is about to be followed, in the way of WAYS that the parameter names."""
    way = WAYS[request.param]
    request.getfixturevalue(way.tool)
    name = dns_label(request.node.name, 58)  # "root-" comes before it, and Flux makes a label of that
    yield Repository(cluster, git_server.repository(name), tmp_path / "checkout", name, way)
    root = APPLICATION if way.tool == "argocd" else KUSTOMIZATION
    _remove(cluster, root, way.namespace, f"root-{name}")
    # Argo CD leaves what the root brought, of which the next test's has the same name; and what is made by a set goes
    # after the set. Flux would go on asking for what is new in the repositories.
    left = (APPLICATION_SET, APPLICATION) if way.tool == "argocd" else (HELM_RELEASE, KUSTOMIZATION, GIT_REPOSITORY)
    for kind in left:
        _remove(cluster, kind, way.namespace, *(_names(cluster, kind, way.namespace)))
    for claim in _names(cluster, "PersistentVolumeClaim", name):
        cluster.client.delete("PersistentVolumeClaim", claim, name)


every_way = pytest.mark.parametrize("repository", WAYS, indirect=True)


def _names(cluster: ControlPlane, kind: str, namespace: str) -> list[str]:
    return [each["metadata"]["name"] for each in cluster.client.list(kind, namespace)]


def _remove(cluster: ControlPlane, kind: str, namespace: str, *names: str) -> None:
    """Ends the objects of those names that are there, and waits for it."""
    for name in {*names} & {*_names(cluster, kind, namespace)}:
        try:
            cluster.client.delete(kind, name, namespace)
        except ApiError as error:
            if error.status != 404:  # the tool was faster
                raise

    def are_gone() -> bool:
        if kind == APPLICATION:  # again and again, because an operation may begin later
            _end_operations(cluster, namespace, names)
        return not {*names} & {*_names(cluster, kind, namespace)}

    eventually(are_gone, f"the end of {names}")


def _end_operations(cluster: ControlPlane, namespace: str, names: Sequence[str]) -> None:
    """End the operations like `argocd app terminate-op`, because a retry without end blocks the deletion of an
    Application.

    An operation that Argo CD has not begun has no state, and the API server refuses a state of the phase alone.
    """
    for item in cluster.client.list(APPLICATION, namespace):
        has_begun = item.get("operation") and item.get("status", {}).get("operationState")
        if item["metadata"]["name"] in names and has_begun:
            ended = {"status": {"operationState": {"phase": "Terminating"}}}
            try:
                cluster.client.patch(APPLICATION, item["metadata"]["name"], namespace, ended)
            except ApiError as error:
                if error.status != 404:
                    raise


def _argocd_kubeconfig(cluster: ControlPlane) -> Path:
    """The administrator's, in Argo CD's namespace, which is where it looks for its settings."""
    config = yaml.safe_load(cluster.admin.read_text(encoding="utf-8"))
    config["contexts"][0]["context"]["namespace"] = argocd_server.NAMESPACE
    path = cluster.folder / "argocd.kubeconfig"
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def _environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "GOMAXPROCS": "2"}


def sources(tool: str, module: str) -> Path:
    """The folder of the sources that a program was built from."""
    if shutil.which("go") is None:
        raise MissingProgramError("needs go, to find the sources of the controllers")
    # Unlike `go list`, it fetches them again where the programs are kept, and the sources are not.
    said = subprocess.run(
        ["go", "mod", "download", "-json", module],
        cwd=ROOT / "tests" / "e2e" / "tools" / tool,
        env={**os.environ, "GOFLAGS": "-mod=mod", "GOWORK": "off"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return Path(json.loads(said)["Dir"])
