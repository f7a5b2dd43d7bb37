"""A repository of jobs, and the objects that a GitOps tool creates from it in a cluster.

    repository.write(job())
    repository.commit()                                                # tfgen commit jobs --push
    repository.follow()
    repository.there("StatefulSet", "mnist-ps")

`WAYS` are the ways of a job from the repository into the cluster.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from tests.e2e.client import Object, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.servers import argocd, flux
from tests.support.command import Command
from tfgen import cli

APPLICATION: Final = "argoproj.io/v1alpha1/Application"
KUSTOMIZATION: Final = "kustomize.toolkit.fluxcd.io/v1/Kustomization"
GIT_REPOSITORY: Final = "source.toolkit.fluxcd.io/v1/GitRepository"
HELM_RELEASE: Final = "helm.toolkit.fluxcd.io/v2/HelmRelease"
JOB: Final = "batch/v1/Job"
HELM_CHART: Final = "source.toolkit.fluxcd.io/v1/HelmChart"


@dataclass(frozen=True)
class Way:
    """Way of a job from git into the cluster.

    Attributes:
        tool: argocd or flux.
        kind: the kind of the tool's object for one environment.
        gitops: the key `gitops` of tfgen.yaml.
    """

    tool: str
    kind: str
    gitops: Mapping[str, Any]

    @property
    def namespace(self) -> str:
        """Return the namespace of the tool."""
        return {"argocd": argocd.NAMESPACE, "flux": flux.NAMESPACE}[self.tool]


_OFTEN: Final = {"flux": {"interval": "2s"}}
WAYS: Final = {
    "argocd": Way("argocd", APPLICATION, {"argocd": {}}),
    "argocd-chart": Way("argocd", APPLICATION, {"argocd": {}, "source": "Chart"}),
    "applicationset": Way("argocd", APPLICATION, {"argocd": {"generator": "ApplicationSet"}}),
    "flux": Way("flux", KUSTOMIZATION, _OFTEN),
    "flux-chart": Way("flux", HELM_RELEASE, {**_OFTEN, "source": "Chart"}),
}


class Repository:
    """A git repository that a GitOps tool follows, and its objects in the cluster.

    Attributes:
        folder: the author's checkout.
        namespace: the namespace of the environment prod.
        way: the way of its jobs into the cluster.
        branch: the branch that the tool follows.
    """

    branch = "main"

    def __init__(self, cluster: ControlPlane, url: str, folder: Path, namespace: str, way: Way) -> None:
        self.cluster, self.url, self.folder, self.namespace, self.way = cluster, url, folder, namespace, way
        self.git("clone", "--quiet", url, str(folder), cwd=folder.parent)
        for key in ("name", "email"):
            self.git("config", f"user.{key}", "a@example.com")
        team = {
            "apiVersion": "tfgen/v1alpha1",
            "kind": "Defaults",
            "spec": {
                "gitops": {"repository": url, **way.gitops},
                "environments": {"prod": {"namespace": namespace}},
            },
        }
        (folder / "tfgen.yaml").write_text(yaml.safe_dump(team), encoding="utf-8")

    def render_into(self, branch: str) -> None:
        """Set a separate branch for the rendered files."""
        self.branch = branch
        path = self.folder / "tfgen.yaml"
        team = yaml.safe_load(path.read_text(encoding="utf-8"))
        team["spec"]["gitops"]["rendered"] = {"branch": branch}
        path.write_text(yaml.safe_dump(team), encoding="utf-8")

    # -- the author ----------------------------------------------------------------------------------------------

    def git(self, *args: str, cwd: Path | None = None) -> str:
        """Return the output of `git ARGS...` in the checkout."""
        return Command(("git", *args), cwd=cwd or self.folder).run()

    def write(self, job: Mapping[str, Any]) -> None:
        """Write the file of a job."""
        path = self.folder / "jobs" / job["metadata"]["name"] / "job.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(dict(job), sort_keys=False), encoding="utf-8")

    def tfgen(self, *args: str) -> int:
        """Return the exit code of a tfgen command in the checkout."""
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            return cli.run(args)
        finally:
            os.chdir(before)

    def commit(self) -> str:
        """Run `tfgen commit jobs --push`, and return the commit."""
        assert self.tfgen("commit", "jobs", "--push") == cli.OK
        assert not self.git("status", "--porcelain"), "all of it is committed"
        return self._pushed()

    def push(self, message: str) -> str:
        """Commit and push all files with git alone: files of no job, or files that `tfgen commit` refuses."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.push_commits()

    def push_commits(self) -> str:
        """Push the commits, and return the last commit."""
        self.git("push", "--quiet", "origin", "HEAD:main")
        return self._pushed()

    def _pushed(self) -> str:
        branch = "HEAD" if self.branch == "main" else self.branch
        commit = self.git("rev-parse", branch).strip()
        assert self.git("ls-remote", "origin", f"refs/heads/{self.branch}").split()[0] == commit
        return commit

    def live_arguments(self) -> tuple[str, ...]:
        """Return the arguments of a command that reads or changes the run of the job mnist."""
        return "jobs/mnist/job.yaml", "--env", "prod", "--kubeconfig", str(self.cluster.admin)

    def status(self) -> str:
        """Return the output of `tfgen status` for the job mnist."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            assert self.tfgen("status", *self.live_arguments()) == cli.OK
        return printed.getvalue()

    # -- the cluster ---------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Let the tool follow its own objects in the repository, as docs/gitops.md describes: once for each cluster."""
        name, folder = f"root-{self.namespace}", f"overlays/{self.way.tool}"
        client = self.cluster.client
        if self.way.tool == "argocd":
            source = {"repoURL": self.url, "targetRevision": self.branch, "path": folder}
            spec: dict[str, Any] = {
                "project": "default",
                "source": source,
                "destination": {"server": "https://kubernetes.default.svc", "namespace": argocd.NAMESPACE},
                "syncPolicy": {"automated": {"prune": True, "selfHeal": True, "allowEmpty": True}},
            }
            client.apply(self.of_tool(APPLICATION, name, spec))
        else:
            client.apply(self.of_tool(GIT_REPOSITORY, name, self.source()))
            spec = {"path": f"./{folder}", "sourceRef": {"kind": "GitRepository", "name": name}}
            client.apply(self.of_tool(KUSTOMIZATION, name, {**spec, "interval": "2s", "prune": True}))

    def source(self) -> dict[str, Any]:
        """Return the spec of a GitRepository of Flux."""
        return {"interval": "2s", "url": self.url, "ref": {"branch": self.branch}}

    def of_tool(self, kind: str, name: str, spec: Mapping[str, Any]) -> Object:
        """Return an object of the tool itself."""
        version, _, kind = kind.rpartition("/")
        metadata = {"name": name, "namespace": self.way.namespace}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": dict(spec)}

    def find(self, kind: str, name: str) -> Object | None:
        """Return an object of the environment, or None."""
        return self.cluster.client.find(kind, name, self.namespace)

    def there(self, kind: str, name: str) -> Object:
        """Wait for an object of the environment, and return the object."""
        return eventually(lambda: self.find(kind, name), f"{kind} {name}")

    def gone(self, kind: str, name: str) -> None:
        """Wait until an object does not exist."""
        eventually(lambda: self.find(kind, name) is None, f"the end of {kind} {name}")

    def kept(self, job: str = "mnist") -> Object | None:
        """Return the tool's object of a job, or None."""
        return self.cluster.client.find(self.way.kind, f"{job}-prod", self.way.namespace)

    def applied(self, commit: str, job: str = "mnist") -> None:
        """Wait until the tool has applied a commit for a job, or has seen that the commit changes nothing."""
        eventually(lambda: self.revision(job) == commit, f"{commit} of {job}")

    def revision(self, job: str = "mnist") -> str:
        """Return the last applied commit."""
        status = self.state(job)
        if self.way.tool == "argocd":
            sync = status.get("sync", {})
            running = status.get("operationState", {}).get("phase") in ("Running", "Failed", "Error")
            return sync.get("revision", "") if sync.get("status") == "Synced" and not running else ""
        if not _is_ready(status):
            return ""
        if self.way.kind == HELM_RELEASE:
            return self._released(status)
        return str(status.get("lastAppliedRevision", "")).rpartition(":")[2]

    def _released(self, status: Mapping[str, Any]) -> str:
        """Return the commit of the chart that a HelmRelease has installed. Its status has only the chart's version."""
        name = str(status.get("helmChart", "")).rpartition("/")[2]
        chart = self.cluster.client.find(HELM_CHART, name, self.way.namespace) or {}
        made = chart.get("status", {})
        last: Mapping[str, Any] = next(iter(status.get("history", ())), {})
        # A chart that is not ready may have observed a commit whose archive does not exist yet.
        version = made.get("artifact", {}).get("revision")
        installed = _is_ready(made) and last and (last["chartVersion"], last["status"]) == (version, "deployed")
        return str(made.get("observedSourceArtifactRevision", "")).rpartition(":")[2] if installed else ""

    def state(self, job: str = "mnist") -> Mapping[str, Any]:
        """Return the status of the tool's object of a job."""
        return (self.kept(job) or {}).get("status", {})  # type: ignore[no-any-return]

    def suspend_sources(self, suspended: bool) -> None:
        """Suspend or resume Flux's sources of the jobs. The source of Flux's own objects stays active."""
        for item in self.cluster.client.list(GIT_REPOSITORY, self.way.namespace):
            name, change = item["metadata"]["name"], {"spec": {"suspend": suspended}}
            if name != f"root-{self.namespace}":
                self.cluster.client.patch(GIT_REPOSITORY, name, self.way.namespace, change)

    def force_upgrade(self, job: str = "mnist") -> None:
        """Upgrade the Helm release of a job once more, like `flux reconcile helmrelease NAME --with-source --force`."""
        annotations = {f"reconcile.fluxcd.io/{name}": "now" for name in ("requestedAt", "forceAt")}
        change = {"metadata": {"annotations": annotations}}
        self.cluster.client.patch(self.way.kind, f"{job}-prod", self.way.namespace, change)

    def root_revision(self) -> str:
        """Return the commit whose Flux objects Flux has applied."""
        root = self.cluster.client.get(KUSTOMIZATION, f"root-{self.namespace}", self.way.namespace)
        return str(root.get("status", {}).get("lastAppliedRevision", "")).rpartition(":")[2]

    def has_failed(self, job: str = "mnist") -> bool:
        """Test whether the GitOps tool reports that the last commit could not be applied."""
        status = self.state(job)
        if self.way.tool == "argocd":
            operation = status.get("operationState", {})
            return operation.get("phase") in ("Failed", "Error") or bool(operation.get("retryCount"))
        return any(c["type"] == "Ready" and c["status"] == "False" for c in status.get("conditions", ()))

    def scale(self, name: str, replicas: int) -> None:
        """Scale a StatefulSet, like the finisher."""
        change = {"spec": {"replicas": replicas}}
        self.cluster.client.patch("StatefulSet", name, self.namespace, change, subresource="scale")

    def suspend(self, name: str) -> None:
        """Suspend a Job, like the finisher."""
        self.cluster.client.patch(JOB, name, self.namespace, {"spec": {"suspend": True}})


def _is_ready(status: Mapping[str, Any]) -> bool:
    """Test whether Flux has reconciled the spec of an object."""
    return any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", ()))
