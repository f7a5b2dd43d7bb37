"""Tests of the tasks of a run: their numbers, and the errors of failed tasks."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.recorded_run import read_recorded, read_run
from tests.support.repository import tfgen
from tfgen import cli
from tfgen.kubernetes import keys
from tfgen.live.run import Snapshot
from tfgen.live.run_state import state_of_run
from tfgen.live.tasks import failed_pods, task_counts, task_errors
from tfgen.report.status import as_text, rows

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize(
    ("case", "file", "expected"),
    [
        ("job-set", "jobset", {"evaluator": 1, "worker": 4}),
        ("volcano-job", "volcanojob", {"chief": 1, "ps": 2, "worker": 4, "evaluator": 1}),
        ("tfjob", "tfjob", {"chief": 1, "ps": 2, "worker": 4}),
    ],
)
def test_an_operator_s_job_has_the_number_of_tasks_of_each_role(case: str, file: str, expected: dict[str, int]) -> None:
    path = GOLDEN / case / "expected" / "overlays" / case / "base" / f"{file}.yaml"
    assert task_counts(yaml.safe_load(path.read_text(encoding="utf-8"))) == expected


FAILED = Path(__file__).parent / "failed"
SUCCEEDED = Path(__file__).parent / "succeeded"
CHIEF = "mnist-chief-0-fqxlj"
LOG = "Epoch 1/2\nValueError: Attempt to convert a value (PerReplica:{\n  0: 1.0}) with an unsupported type\n"
LINE = (
    "chief-0: model.fit of Keras 3 does not train under MultiWorkerMirroredStrategy; use tf_keras: "
    "see docs/keras.md#errors-and-fixes"
)
STOPPED = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2026-11-22T09:45:20Z"}}
REFUSED_EARLIER = {"terminated": {**STOPPED["terminated"], "finishedAt": "2026-11-22T09:45:10Z"}}


def with_state(
    snapshot: Snapshot, name: str, state: Mapping[str, Any], last: Mapping[str, Any] | None = None
) -> Snapshot:
    """Return the snapshot with another state of the container of a pod."""
    pods = [copy.deepcopy(pod) for pod in snapshot.pods]
    (pod,) = (pod for pod in pods if pod["metadata"]["name"] == name)
    pod["status"]["containerStatuses"][0] |= {"state": state, "lastState": last or {}}
    return snapshot.replaced(pods=tuple(pods))


def lines(snapshot: Snapshot, logs: Mapping[str, str]) -> list[str]:
    """Return the errors of the recorded run as lines."""
    run = read_run(FAILED / "job.yaml", None)
    return [str(error) for error in task_errors(failed_pods(run, snapshot), logs)]


def test_wait_prints_the_error_of_a_failed_task_once(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, _, _ = read_recorded(FAILED / "cluster.json")
    state = state_of_run(read_run(FAILED / "job.yaml", None), snapshot.replaced(logs={CHIEF: LOG}), "ml")
    monkeypatch.setattr("tfgen.cli.live.follow_run", lambda *_: iter([state, state]))
    monkeypatch.setattr("tfgen.live.clusters.Clusters.with_release_names", lambda _clusters, run, _release: run)
    printed = tfgen("wait", str(FAILED / "job.yaml"), "--timeout", "1m", code=cli.PROBLEMS).out
    assert printed.count(f"error:    {LINE}\n") == 1


def test_status_shows_the_error_in_the_log_of_a_failed_task() -> None:
    snapshot, _, now = read_recorded(FAILED / "cluster.json")
    state = state_of_run(read_run(FAILED / "job.yaml", None), snapshot.replaced(logs={CHIEF: LOG}), "ml")
    assert f"error:    {LINE}\n" in as_text(state, now)
    assert rows([state])[0]["errors"] == [
        {
            "task": "chief-0",
            "error": "keras-3-mirrored",
            "meaning": "model.fit of Keras 3 does not train under MultiWorkerMirroredStrategy; use tf_keras",
            "page": "docs/keras.md#errors-and-fixes",
        }
    ]


def test_a_running_task_has_only_an_error_with_which_a_task_goes_on() -> None:
    snapshot, _, _ = read_recorded(FAILED / "cluster.json")
    (worker,) = (pod for pod in snapshot.pods if pod["metadata"]["name"] == "mnist-worker-0")
    assert list(task_errors([worker], {"mnist-worker-0": LOG})) == []
    (error,) = task_errors([worker], {"mnist-worker-0": f"{LOG}64/64 - 2s - loss: nan - accuracy: 0.1"})
    assert (error.task, error.error.name) == ("worker-0", "nan-loss")


def test_status_shows_the_loss_of_a_leading_task_that_succeeded() -> None:
    snapshot, _, now = read_recorded(SUCCEEDED / "cluster.json")
    run = read_run(SUCCEEDED / "job.yaml", None)
    logs = {pod["metadata"]["name"]: "step 600: loss nan, 40 steps/s" for pod in snapshot.pods}
    shown = as_text(state_of_run(run, snapshot.replaced(logs=logs), "ml"), now)
    assert "error:    chief-0: the loss is not a number" in shown


def test_a_run_that_succeeded_has_no_error() -> None:
    snapshot, _, _ = read_recorded(SUCCEEDED / "cluster.json")
    stopped = with_state(snapshot, "mnist-ps-0", STOPPED)
    assert failed_pods(read_run(SUCCEEDED / "job.yaml", None), stopped) == []


def test_an_error_has_the_task_that_failed_first() -> None:
    snapshot, _, _ = read_recorded(FAILED / "cluster.json")
    for name, state in (("mnist-worker-1", STOPPED), ("mnist-worker-2", REFUSED_EARLIER), (CHIEF, STOPPED)):
        snapshot = with_state(snapshot, name, state)
    logs = dict.fromkeys(("mnist-worker-1", "mnist-worker-2"), "Connection refused")
    assert [line.partition(":")[0] for line in lines(snapshot, logs)] == ["worker-2"]


def test_a_message_of_the_kubelet_is_enough_where_nobody_may_read_logs() -> None:
    snapshot, _, _ = read_recorded(FAILED / "cluster.json")
    again = with_state(
        snapshot,
        "mnist-ps-0",
        {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}},
        {"terminated": {"exitCode": 1, "reason": "Error", "message": "E0000 Could not start gRPC server\n"}},
    )
    assert lines(again, {}) == [
        "ps-0: the program starts a second server or the server of another task, or another program uses the port: "
        "see docs/keras.md#errors-and-fixes"
    ]


def test_an_image_that_cannot_be_pulled_is_no_error_of_the_program() -> None:
    snapshot, _, _ = read_recorded(FAILED / "cluster.json")
    message = "dial tcp 10.0.0.9:443: connect: connection refused"
    waiting = with_state(snapshot, "mnist-ps-0", {"waiting": {"reason": "ErrImagePull", "message": message}})
    assert lines(waiting, {}) == []


def test_a_tensorboard_whose_image_lacks_the_program_is_named(tmp_path: Path) -> None:
    snapshot, _, _ = read_recorded(FAILED / "cluster.json")
    job = tmp_path / "job.yaml"
    text = (FAILED / "job.yaml").read_text(encoding="utf-8")
    volume = (
        "  storage: {logs: {mountPath: /logs, claim: {accessMode: ReadWriteMany}}}\n  tensorboard: {logDir: /logs}\n"
    )
    job.write_text(text + volume, encoding="utf-8")
    worker = next(pod for pod in snapshot.pods if pod["metadata"]["name"] == "mnist-worker-0")
    labels = {keys.JOB: "mnist", keys.ROLE: "tensorboard"}
    message = 'exec: "tensorboard": executable file not found in $PATH'
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    last = {"terminated": {"exitCode": 128, "reason": "StartError", "message": message}}
    pod = {
        "metadata": {**worker["metadata"], "name": "mnist-tensorboard-x", "labels": labels},
        "spec": {"containers": [{"name": "tensorboard"}]},
        "status": {"containerStatuses": [{"name": "tensorboard", "state": state, "lastState": last}]},
    }
    run = read_run(job, None)
    errors = task_errors(failed_pods(run, snapshot.replaced(pods=(*snapshot.pods, pod))), {})
    assert [str(error) for error in errors] == [
        "tensorboard: the image has no tensorboard; install the package, or set tensorboard.image: "
        "see docs/keras.md#errors-and-fixes"
    ]


class RecordedLogs:
    """A cluster with the recorded run, and with a log for the chief."""

    def with_release_names(self, run: object, _release: None) -> object:
        return run

    def place(self, _run: object) -> RecordedLogs:
        return self

    context, namespace = None, "ml"

    def api(self, _context: None) -> RecordedLogs:
        return self

    def resource(self, _api_version: str, kind: str) -> object:
        from tfgen.live.api import Resource

        return Resource("/api/v1", kind, True)

    def objects(self, resource: Any, _namespace: str, _query: object) -> list[Any]:
        snapshot, _, _ = read_recorded(FAILED / "cluster.json")
        if resource.name == "Pod":
            return [*snapshot.pods]
        return [item for item in snapshot.objects.values() if item["kind"] == resource.name]

    def text(self, path: str, _query: object) -> str:
        return "".join(f"2026-11-22T09:45:19Z {line}\n" for line in LOG.splitlines()) if CHIEF in path else ""


@pytest.mark.parametrize(("options", "expected"), [([], f"{LINE}\n"), (["--role", "worker"], "")])
def test_logs_ends_with_the_error(options: list[str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("kubernetes", reason="needs the kubernetes client: pip install kubernetes")
    monkeypatch.setattr("tfgen.commands.logs.clusters_of", lambda _args, _patience: RecordedLogs())
    printed = tfgen("logs", str(FAILED / "job.yaml"), *options)
    assert ("PerReplica" in printed.out) == bool(expected)
    assert printed.err == expected
