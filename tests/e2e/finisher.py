"""The finisher of a job on fake nodes, as a process of this machine."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.client import Client, Object, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.kubelet import PodProcess, end

RELEASED = "all tasks are released"
"""Text in the log of the finisher after the release of all tasks."""


class Finisher:
    """The finisher of the job in a namespace: its Job, and its pods as processes, one at a time."""

    def __init__(self, cluster: ControlPlane, namespace: str, folder: Path) -> None:
        self._cluster, self._namespace, self._folder = cluster, namespace, folder
        self._pods: list[str] = []
        self.pod: Object = {}
        self.process: PodProcess | None = None

    def run(self) -> PodProcess:
        """Start the program of the Job's next running pod. Return when the program waits for the training."""
        self.pod = eventually(self._new_pod, "the finisher's pod")
        self._pods.append(self.pod["metadata"]["uid"])
        process = PodProcess(self._cluster, self.pod, self._folder / self.pod["metadata"]["uid"])
        self.process = process
        process.start()
        eventually(lambda: "waiting for its end" in process.tail(), "the finisher")
        return process

    def _new_pod(self) -> Object | None:
        pods = self._cluster.client.list("Pod", self._namespace, labels="tfgen/role=finisher")
        return next((pod for pod in pods if _runs(pod) and pod["metadata"]["uid"] not in self._pods), None)

    def finish(self) -> str:
        """Wait for the release or for the end of the program. Then stop the program, end the pod, and return the log.

        After the release, the program only repeats the release for half a minute.
        """
        process = self.process
        assert process
        eventually(lambda: process.has_ended or RELEASED in process.tail(), "the release")
        if process.has_ended:
            assert process.wait() == 0, process.tail()
        process.stop()
        end(self._cluster.client, self.pod)
        return process.tail()


def running(client: Client, namespace: str, role: str = "") -> list[Object]:
    """Return the running pods of a role, or of all roles, sorted by name."""
    pods = client.list("Pod", namespace, labels=f"tfgen/role={role}" if role else "")
    return sorted(filter(_runs, pods), key=lambda pod: str(pod["metadata"]["name"]))


def _runs(pod: Object) -> bool:
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
