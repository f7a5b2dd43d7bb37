"""A job of an example on the real node: rendered by tfgen at the size of a laptop, applied, observed and disturbed.

    job = NodeJob(node, namespace, folder, "dist-mnist", {"args": ["--steps=600"]})
    job.apply()                                              # kubectl apply -k overlays/dist-mnist/laptop
    job.wait_for_line(r"step 100:", "chief")
    job.kill("worker", 1)
    assert job.wait_for_end() == "Complete"

The example's job.yaml stays unchanged, except for an additional environment `laptop`, as a user would write it.
"""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.client import Object, eventually
from tests.e2e.finisher import RELEASED
from tests.e2e.real_node import STORAGE_CLASS, Node
from tests.e2e.servers.program import program
from tests.support.command import Command
from tests.support.tools import ROOT

PATIENCE = 900.0
"""The number of seconds that a test waits for progress of a training. An idle machine with two cores needs below 60."""

ENVIRONMENT = "laptop"
CONTAINER = "tensorflow"

# The tasks share the processors. A task of TensorFlow takes 600 MiB.
SMALL = {"cpu": "", "memory": "", "requests": {"cpu": "50m", "memory": "300Mi"}, "limits": {"memory": "2Gi"}}
NO_GPU = {"count": 0, "product": ""}

# Without a handler, process 1 of a container ignores SIGTERM, and runs until the end of its grace period.
ENDS_AT_SIGTERM = "import os, signal, time\nsignal.signal(signal.SIGTERM, lambda *_: os._exit(143))\n"
"""The first lines of a program."""
SLEEPS = f"{ENDS_AT_SIGTERM}time.sleep(3600)"

COUNTS = """
import json, os, pathlib, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
if json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {}).get("type") in ("ps", "worker"):
    signal.sigwait({signal.SIGTERM})
    sys.exit()
steps = int(dict(argument.split("=") for argument in sys.argv[1:]).get("--steps", 10**9))
saved, last = pathlib.Path(os.environ["MODEL_DIR"], "step"), pathlib.Path("/tmp/last")
step = int(saved.read_text()) if saved.exists() else 0
print("starts at step", step, flush=True)
while step < steps and not last.exists():
    if signal.sigtimedwait({signal.SIGTERM}, 0.05):
        sys.exit(143)
    step += 1
    saved.write_text(str(step))
    print("step", step, flush=True)
print("done: step", step, flush=True)
"""
"""A program without TensorFlow, which costs little processor time, for tests of a job around its training.

Like a training, the chief continues at the saved step, up to `--steps` or until the file /tmp/last exists. The ps and
the workers serve until SIGTERM.
"""
COUNTING = {"command": ["python", "-c", COUNTS], "args": []}
"""The part of an environment whose tasks run COUNTS in place of the example."""


def merge(under: Any, over: Any) -> Any:
    """Apply a JSON merge patch (RFC 7386), like Helm for values; null stays null."""
    if not isinstance(under, Mapping) or not isinstance(over, Mapping):
        return over
    return {**under, **{key: merge(under.get(key), value) for key, value in over.items()}}


def laptop(spec: Mapping[str, Any]) -> Object:
    """Return the environment of a job for one small machine: few resources, and no gang scheduler."""
    roles = {
        name: {"resources": {**SMALL, **({"gpu": NO_GPU} if "gpu" in role.get("resources", {}) else {})}}
        | ({"shm": ""} if "shm" in role else {})
        for name, role in spec["roles"].items()
    }
    claim = {"claim": {"storageClass": STORAGE_CLASS, "size": "1Gi"}}
    return {
        "roles": roles,
        "storage": {name: claim for name, volume in spec.get("storage", {}).items() if "claim" in volume},
        **({"gang": {"enabled": False}} if "gang" in spec else {}),
        **({"tensorboard": {"resources": SMALL}} if "tensorboard" in spec else {}),
        **({"spot": False} if "spot" in spec else {}),
    }


class NodeJob:
    """The job, and its last applied run.

    Attributes:
        name: the job's name.
        namespace: the namespace of its objects.
        run: the run's name; empty for a run without a name.
        folders: the folders of its claims on this machine, by volume.
    """

    def __init__(
        self,
        node: Node,
        namespace: str,
        folder: Path,
        example: str,
        environment: Mapping[str, Any] | None = None,
        *,
        name: str = "",
        spec: Mapping[str, Any] | None = None,
    ) -> None:
        """Write and render the job, and create its volumes.

        Args:
            node: The node of the pods.
            namespace: The namespace of the objects.
            folder: The folder for the files.
            example: The example's name.
            environment: Merged over the result of `laptop`.
            name: The job's name; by default the example's.
            spec: Merged over the example's spec, for keys that an environment cannot set.
        """
        self._node, self.namespace = node, namespace
        document = yaml.safe_load((ROOT / "examples" / example / "job.yaml").read_text(encoding="utf-8"))
        self.name, self.run = name or example, ""
        document["metadata"] |= {"name": self.name, "namespace": namespace}
        self._spec = merge(document["spec"], spec or {})
        self._environment = merge(laptop(self._spec), environment or {})
        self._document, self._folder = document, folder / self.name
        self._folder.mkdir()
        self.render()
        self.folders = {
            volume: node.volume(f"{self.name}-{volume}", namespace) for volume in self._environment["storage"]
        }

    def render(self, environment: Mapping[str, Any] | None = None) -> None:
        """Render the job. From now on, its environment also contains `environment`."""
        self._environment = merge(self._environment, environment or {})
        self.run = str(self._environment.get("run", ""))
        spec = {**self._spec, "environments": {ENVIRONMENT: self._environment}}
        path = self._folder / "job.yaml"
        path.write_text(yaml.safe_dump({**self._document, "spec": spec}, sort_keys=False), encoding="utf-8")
        Command((sys.executable, "-m", "tfgen", "render", path, "--out", self._folder)).run()

    # -- actions of a user ---------------------------------------------------------------------------------------

    def apply(self) -> None:
        """Apply the overlay."""
        overlay = self._folder / "overlays" / self.name / ENVIRONMENT
        self._node.cluster.kubectl("apply", "--namespace", self.namespace, "--kustomize", overlay)

    def helm(self, *args: str) -> str:
        """Return the output of `helm ARGS...` in the namespace of the job."""
        helm = (program("helm"), f"--kubeconfig={self._node.cluster.admin}", f"--namespace={self.namespace}")
        return Command((*helm, *args)).run(timeout=PATIENCE)

    @property
    def chart(self) -> tuple[str, ...]:
        """Return the arguments of `helm install NAME` and `helm upgrade NAME`: the chart and the values file."""
        chart = self._folder / "charts" / self.name
        return (str(chart), f"--values={chart / f'values-{ENVIRONMENT}.yaml'}")

    def kubectl(self, *args: str) -> str:
        """Return the output of `kubectl ARGS...` in the namespace of the job."""
        return self._node.cluster.kubectl("--namespace", self.namespace, *args)

    # -- objects and logs ----------------------------------------------------------------------------------------

    def release(self, name: str) -> NodeJob:
        """Return the same job as the objects of another Helm release."""
        other = copy.copy(self)
        other.name = f"{name}-{self.name}"
        return other

    def pods(self, role: str = "", *, run: str | None = None) -> list[Object]:
        """Return the pods of a run and a role, the oldest first. By default, of the last run and of all roles."""
        run = self.run if run is None else run
        labels = f"tfgen/job={self.name},tfgen/run={run}" + (f",tfgen/role={role}" if role else "")
        pods = self._node.client.list("v1/Pod", self.namespace, labels=labels)
        return sorted(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))

    def pod(self, role: str, index: int = 0) -> Object:
        """Return the newest pod of a task that has not ended, once the pod runs."""

        def look() -> Object | None:
            return next((pod for pod in reversed(self._pods_of(role, index)) if _runs(pod)), None)

        return eventually(look, f"a running pod of {role} {index}", PATIENCE) or {}

    def replicas(self, role: str) -> int:
        """Return the requested replicas of the StatefulSet of a role."""
        return int(self.object("StatefulSet", role)["spec"]["replicas"])

    def object(self, kind: str, role: str) -> Object:
        """Return the object of a role."""
        return self._node.client.get(kind, self.object_name(role), self.namespace)

    def object_name(self, role: str) -> str:
        """Return the name of a role's objects."""
        return "-".join(filter(None, (self.name, self.run, role)))

    def log(self, role: str, index: int = 0, container: str = CONTAINER) -> str:
        """Return the log of a task, over all existing pods of the task and all of their restarts."""
        texts = dict(self._node.logs(self.namespace))
        # Each pod has a folder (NAMESPACE_NAME_UID), with a folder for each container, and a file for each start.
        return "".join(
            text
            for pod in self._pods_of(role, index)
            for path, text in sorted(texts.items(), key=lambda item: int(item[0].stem))
            if path.parent.name == container and path.parent.parent.name.endswith(pod["metadata"]["uid"])
        )

    # -- waiting -------------------------------------------------------------------------------------------------

    def wait_for_line(self, pattern: str, role: str, index: int = 0, container: str = CONTAINER) -> re.Match[str]:
        """Return the first match in a task's log, once there is a match."""

        def look() -> re.Match[str] | None:
            return re.search(pattern, self.log(role, index, container), re.MULTILINE)

        match = eventually(look, f"{pattern!r} in the log of {role} {index} of {self.name}", PATIENCE)
        assert match
        return match

    def wait_for_end(self, role: str = "chief") -> str:
        """Wait for the end of the Job of a role, and return "Complete" or "Failed"."""

        def look() -> str:
            conditions = self.object("Job", role).get("status", {}).get("conditions", ())
            ends = [c["type"] for c in conditions if c["type"] in ("Complete", "Failed") and c["status"] == "True"]
            return ends[0] if ends else ""

        return eventually(look, f"the end of the {role} of {self.name}", PATIENCE)

    def wait_until_released(self) -> None:
        """Return when the finisher has released the run, and no task of the run occupies resources."""
        self.wait_for_line(RELEASED, "finisher", container="finisher")
        self.wait_until_free()

    def wait_until_free(self) -> None:
        """Return when no task of the run occupies resources. A Job of equal workers needs no finisher for this."""
        eventually(lambda: not [*filter(_holds, self.pods())], f"the end of the tasks of {self.name}", PATIENCE)

    # -- disturbing ----------------------------------------------------------------------------------------------

    def kill(self, role: str, index: int = 0, signal: str = "SIGKILL") -> None:
        """Kill a task's process, as the kernel does when memory is short. The pod stays on its node.

        After SIGTERM, the task may end like before a drain of its node.
        """
        statuses = self.pod(role, index)["status"]["containerStatuses"]
        container = next(status["containerID"] for status in statuses if status["name"] == CONTAINER)
        self._node.machine.run(
            "ctr", "--namespace=k8s.io", "task", "kill", f"--signal={signal}", container.removeprefix("containerd://")
        )

    def delete_pod(self, role: str, index: int = 0) -> None:
        """Delete a task's pod at once, like a lost node."""
        name = self.pod(role, index)["metadata"]["name"]
        self.kubectl("delete", "pod", name, "--force", "--grace-period=0", "--wait=false")

    def run_in(self, role: str, index: int, *command: str) -> str:
        """Run a command in the container of a task and return its output. Raise a CommandError if the command fails."""
        name = self.pod(role, index)["metadata"]["name"]
        return self.kubectl("exec", name, f"--container={CONTAINER}", "--", *command)

    def _pods_of(self, role: str, number: int) -> list[Object]:
        """Return the pods of a task. The finisher's pods have no index."""
        return [pod for pod in self.pods(role) if index(pod) == str(number)]


def index(pod: Object) -> str:
    """Return the index of the task of a pod."""
    labels = pod["metadata"]["labels"]
    found = (labels.get(key) for key in ("apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index"))
    return next(filter(None, found), "0")


def _runs(pod: Object) -> bool:
    """Test whether the main container of the pod runs."""
    if "deletionTimestamp" in pod["metadata"]:
        return False
    statuses = pod["status"].get("containerStatuses", ())
    return any(status["name"] == CONTAINER and "running" in status["state"] for status in statuses)


def _holds(pod: Object) -> bool:
    """Test whether the pod of a task occupies resources of its node.

    The finisher's pod does not count, because the finisher runs for half a minute after the release.
    """
    is_finisher = pod["metadata"]["labels"].get("tfgen/role") == "finisher"
    return not is_finisher and pod["status"]["phase"] not in ("Succeeded", "Failed")
