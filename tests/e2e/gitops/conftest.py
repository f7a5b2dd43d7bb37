"""Real Flux and real Argo CD on a control plane, a git server, and a repository that each tool can follow.

    def test_something(repository: Repository) -> None:
        repository.write(job())
        repository.commit()
        repository.follow()
        repository.there("StatefulSet", "mnist-ps")

Each test runs once with each tool, in its own namespaces. A test with `@every_way("flux")` runs in each of the WAYS:
in the way `flux` in each .ci/run, and in the other ways in `make nightly`.
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
from tests.e2e.conftest import dns_label, skipped_without_requirements
from tests.e2e.control_plane import ControlPlane
from tests.e2e.custom_kinds import definitions_in, stand_in
from tests.e2e.gitops.jobs import WAITS_FOR_ITS_CONSUMER
from tests.e2e.gitops.repository import APPLICATION, GIT_REPOSITORY, HELM_RELEASE, KUSTOMIZATION, WAYS, Repository
from tests.e2e.servers import argocd as argocd_server
from tests.e2e.servers import flux as flux_server
from tests.e2e.servers.git_server import GitServer
from tests.e2e.servers.program import MissingRequirementError
from tests.support.tools import ROOT

FOLDER = Path(__file__).parent
APPLICATION_SET = "argoproj.io/v1alpha1/ApplicationSet"


@pytest.hookimpl(tryfirst=True)  # before xdist's own hook, which reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(FOLDER):
            # All tests of a tool run in one worker, and so on one control plane.
            way = WAYS.get(str(item.callspec.params.get("repository") if hasattr(item, "callspec") else ""))
            item.add_marker(pytest.mark.xdist_group(f"gitops-{way.tool}" if way else "gitops"))


@pytest.fixture(scope="session")
def cluster(gang_cluster: ControlPlane) -> ControlPlane:
    """Return the control plane whose own scheduler supports gangs."""
    # Other tests have defined kinds: one test here needs a missing kind, and another needs a kind that accepts any
    # content.
    gang_cluster.uninstall()
    return gang_cluster


@pytest.fixture(scope="session")
def git_server(cluster: ControlPlane) -> Iterator[GitServer]:
    folder = cluster.folder / "git"
    folder.mkdir()
    with GitServer(folder, cluster.address) as server:
        yield server


@pytest.fixture(scope="session")
def pod_groups(cluster: ControlPlane) -> None:
    """Define Volcano's PodGroup. Volcano does not run, and no pod waits for a gang."""
    cluster.install([stand_in("scheduling.volcano.sh", "PodGroup", ["v1beta1"])])


@pytest.fixture(scope="session")
def storage(cluster: ControlPlane) -> None:
    """Create a storage class whose claims are bound when a pod is scheduled, and some volumes."""
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
    for number in range(40):  # one for each test, because a volume is bound only once
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
    """Start Flux's source, kustomize and helm controllers."""
    env = _environment()
    with skipped_without_requirements():
        made = [
            flux_server.SourceController(cluster.folder, cluster.address, cluster.admin, env),
            flux_server.KustomizeController(cluster.folder, cluster.address, cluster.admin, env),
            flux_server.HelmController(cluster.folder, cluster.address, cluster.admin, env),
        ]
        folders = [sources(process.name, f"github.com/fluxcd/{process.name}") for process in made]
    for folder in folders:
        cluster.install(definitions_in(folder / "config" / "crd" / "bases"))
    cluster.namespace(flux_server.NAMESPACE)
    for process in made:
        cluster.start(process)
    for process in made:
        process.wait_until_ready()


@pytest.fixture(scope="session")
def argocd(cluster: ControlPlane) -> None:
    """Start Argo CD, with tfgen's health checks."""
    with skipped_without_requirements():
        folder = sources("argocd", "github.com/argoproj/argo-cd/v3")
        kubeconfig = _argocd_kubeconfig(cluster)
        made = [*argocd_server.parts(cluster.folder, cluster.address, kubeconfig, _environment(), folder / "hack")]
    cluster.install(definitions_in(folder / "manifests" / "crds"))
    cluster.namespace(argocd_server.NAMESPACE)
    from tfgen.targets.gitops import health_checks

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
    """Create an empty repository for the tool. The parameter is a key of WAYS."""
    way = WAYS[request.param]
    request.getfixturevalue(way.tool)
    name = dns_label(request.node.name, 58)  # Flux uses "root-" and this name as a label
    yield Repository(cluster, git_server.repository(name), tmp_path / "checkout", name, way)
    root = APPLICATION if way.tool == "argocd" else KUSTOMIZATION
    _remove(cluster, root, way.namespace, f"root-{name}")
    # Argo CD leaves the objects of the root, and the next test's objects have the same names. A set would create its
    # Applications again, so it is removed first. Flux would continue to poll the repositories.
    left = (APPLICATION_SET, APPLICATION) if way.tool == "argocd" else (HELM_RELEASE, KUSTOMIZATION, GIT_REPOSITORY)
    for kind in left:
        _remove(cluster, kind, way.namespace, *(_names(cluster, kind, way.namespace)))
    for claim in _names(cluster, "PersistentVolumeClaim", name):
        cluster.client.delete("PersistentVolumeClaim", claim, name)


def every_way(*each_run: str) -> pytest.MarkDecorator:
    """Return the parameters of a test for all WAYS. Only the ways of `each_run` are not marked nightly."""
    ways = [pytest.param(way, marks=() if way in each_run else pytest.mark.nightly) for way in WAYS]
    return pytest.mark.parametrize("repository", ways, indirect=True)


def _names(cluster: ControlPlane, kind: str, namespace: str) -> list[str]:
    return [each["metadata"]["name"] for each in cluster.client.list(kind, namespace)]


def _remove(cluster: ControlPlane, kind: str, namespace: str, *names: str) -> None:
    """Delete the existing objects of these names, and wait until they are deleted."""
    for name in {*names} & {*_names(cluster, kind, namespace)}:
        try:
            cluster.client.delete(kind, name, namespace)
        except ApiError as error:
            if error.status != 404:  # the tool was faster
                raise

    def are_gone() -> bool:
        if kind == APPLICATION:  # repeated, because an operation may begin later
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
    """Write the administrator's kubeconfig with Argo CD's namespace, which contains its settings."""
    config = yaml.safe_load(cluster.admin.read_text(encoding="utf-8"))
    config["contexts"][0]["context"]["namespace"] = argocd_server.NAMESPACE
    path = cluster.folder / "argocd.kubeconfig"
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def _environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "GOMAXPROCS": "2"}


def sources(tool: str, module: str) -> Path:
    """Return the folder of the sources of a program."""
    if shutil.which("go") is None:
        raise MissingRequirementError("needs go, to find the sources of the controllers")
    # Unlike `go list`, this downloads the sources again if only the built programs are cached.
    said = subprocess.run(
        ["go", "mod", "download", "-json", module],
        cwd=ROOT / "tests" / "e2e" / "tools" / tool,
        env={**os.environ, "GOFLAGS": "-mod=mod", "GOWORK": "off", "GOTOOLCHAIN": "auto"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return Path(json.loads(said)["Dir"])
