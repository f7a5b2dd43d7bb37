"""The commands that change a run in a cluster, and the commands that observe the change.

Each test has its own run, on a real API server with real controllers. The tests run each command with its Role of
docs/live.md. tests/e2e/server/test_live.py tests the commands that only read.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest
import yaml

from tests.e2e.client import PATIENCE, Object, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.finisher import Finisher, running
from tests.e2e.jobs import write_job
from tests.e2e.kubelet import end
from tests.e2e.server.live import execute, role, status, tensorboard
from tests.e2e.servers.faulty_proxy import FaultyProxy
from tests.support.command import Command
from tests.support.repository import tfgen
from tests.support.tools import helm_program
from tfgen import cli
from tfgen.kubernetes.keys import KEEP

nightly = pytest.mark.nightly

JOB = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist, namespace: NAMESPACE}
spec:
  image: registry.example.com/mnist:1
  retries: 0
  roles:
    chief: {}
    ps: {replicas: 2}
    worker: {replicas: 2, resources: {gpu: {count: 1}}}
  environments:
    dev: {roles: {worker: {replicas: 1}}}
    off: {enabled: false}
    far: {cluster: elsewhere}
"""


@pytest.fixture
def job(namespace: str, tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(JOB.replace("NAMESPACE", namespace), encoding="utf-8")
    return path


@pytest.fixture
def started(cluster: ControlPlane, namespace: str, job: Path, tmp_path: Path) -> None:
    """Apply the job, and wait until all of its pods run."""
    rendered = write_job(job.read_text(encoding="utf-8"), tmp_path / "rendered")
    cluster.kubectl("apply", "--server-side", "-n", namespace, "-k", rendered.overlay(None))
    eventually(lambda: len(running(cluster.client, namespace)) == 6, "six running pods")


class Following:
    """A command that continues to run, and its output up to now."""

    def __init__(self, *args: str | Path) -> None:
        argv = [sys.executable, "-u", "-m", "tfgen", *map(str, args)]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        stdout: IO[str] | None = self.process.stdout
        assert stdout
        self.stdout = stdout
        self.lines: list[str] = []
        threading.Thread(target=lambda: self.lines.extend(iter(self.stdout.readline, "")), daemon=True).start()

    def __enter__(self) -> Following:
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.kill()
        self.process.wait()
        self.stdout.close()

    def wait_for(self, pattern: str) -> None:
        eventually(lambda: re.search(pattern, "".join(self.lines)), pattern)


# -- status ----------------------------------------------------------------------------------------------------------


@nightly
@pytest.mark.usefixtures("started")
def test_status_counts_the_tasks_that_the_cluster_asks_for_and_names_the_difference(
    cluster: ControlPlane, job: Path, namespace: str
) -> None:
    out = status(job, cluster.admin, "--env", "dev").out
    assert re.search(r"^mnist/dev in .*: Running for .*^worker +2/2 ", out, re.MULTILINE | re.DOTALL)
    assert "differs:  worker: the cluster has 2 tasks, but job.yaml sets 1\n" in out
    cluster.kubectl("scale", "-n", namespace, "statefulset/mnist-worker", "--replicas=1")
    eventually(lambda: len(running(cluster.client, namespace)) == 5, "five running pods")
    out = status(job, cluster.admin).out
    assert re.search(r"^mnist in .*: Running for .*^worker +1/1 ", out, re.MULTILINE | re.DOTALL)
    assert "differs:  worker: the cluster has 1 task, but job.yaml sets 2\n" in out


@pytest.fixture
def install(cluster: ControlPlane, namespace: str, job: Path, tmp_path: Path) -> Callable[[str], None]:
    """Return a function that installs the job's chart as a Helm release."""
    rendered = write_job(job.read_text(encoding="utf-8"), tmp_path / "rendered")

    def helm_install(release: str) -> None:
        argv = (helm_program(), "install", release, rendered.chart, "--namespace", namespace)
        Command(argv, env={"KUBECONFIG": str(cluster.admin)}).run(timeout=300)

    return helm_install


def test_a_release_of_another_name_is_found_by_its_labels(
    cluster: ControlPlane,
    namespace: str,
    job: Path,
    account: Callable[..., Path],
    install: Callable[[str], None],
) -> None:
    install("other")
    eventually(lambda: len(running(cluster.client, namespace)) == 6, "six running pods")
    viewer = account(role("status"))
    output = status(job, viewer, "--format", "json")
    (run,) = json.loads(output.out)["runs"]
    assert (run["phase"], run["gpus"]) == ("Running", 2)
    assert {role["role"]: role["ready"] for role in run["roles"]} == {"chief": 1, "ps": 2, "worker": 2}
    assert "mnist: the run is in the Helm release other, and its object names begin with other-mnist\n" in output.err

    install("night")
    eventually(lambda: len(running(cluster.client, namespace)) == 12, "twelve running pods")
    several = "mnist: the job has the Helm releases night-mnist and other-mnist; add --release NAME"
    assert several in status(job, viewer, code=cli.USAGE).err
    assert status(job, viewer, "--release", "night").out.startswith(f"night-mnist in {namespace}: Running")
    missing = "the Helm release dawn has no pod; the releases with pods are night-mnist and other-mnist"
    assert missing in status(job, viewer, "--release", "dawn", code=cli.USAGE).err
    printed = tfgen("release", str(job), "--release", "night", "--kubeconfig", str(cluster.admin)).out
    assert "StatefulSet night-mnist-ps released" in printed


def test_a_run_that_is_not_there_is_absent(cluster: ControlPlane, job: Path, namespace: str) -> None:
    assert status(job, cluster.admin).out == f"mnist in {namespace}: Absent\n"


@nightly
def test_a_quota_is_why_a_run_waits(cluster: ControlPlane, job: Path, namespace: str, tmp_path: Path) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small"},
        "spec": {"hard": {"pods": "0"}},
    }
    cluster.client.create(quota, namespace)
    eventually(
        lambda: cluster.client.get("ResourceQuota", "small", namespace).get("status", {}).get("hard"), "the quota"
    )
    rendered = write_job(job.read_text(encoding="utf-8"), tmp_path / "rendered")
    cluster.kubectl("apply", "--server-side", "-n", namespace, "-k", rendered.overlay(None))

    def why() -> str:
        return "\n".join(re.findall("why: .*exceeded quota: small", status(job, cluster.admin).out))

    eventually(lambda: why().count("\n") >= 2, "a reason for each role")


@nightly
@pytest.mark.usefixtures("started")
@pytest.mark.parametrize("fault", ["hang", "refuse"])
def test_a_watch_is_back_when_its_server_is(
    cluster: ControlPlane, job: Path, through: Path, proxy: FaultyProxy, namespace: str, fault: str
) -> None:
    with Following("status", job, "--kubeconfig", through, "--watch") as watch:
        watch.wait_for("Running for")
        getattr(proxy, fault)()
        watch.wait_for("trying again")
        cluster.client.delete("Pod", "mnist-worker-1", namespace)
        cluster.client.delete("Job", "mnist-chief", namespace)
        proxy.work()
        watch.wait_for("the run was deleted")


# -- wait ------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("started")
@pytest.mark.parametrize(
    ("exit_code", "code", "phase"),
    [(0, cli.OK, "Succeeded"), pytest.param(1, cli.PROBLEMS, "Failed", marks=nightly)],
)
def test_wait_and_a_watch_end_with_the_run_though_the_server_was_lost(
    cluster: ControlPlane,
    job: Path,
    through: Path,
    proxy: FaultyProxy,
    namespace: str,
    finisher: Finisher,
    exit_code: int,
    code: int,
    phase: str,
) -> None:
    finisher.run()
    with (
        Following("wait", job, "--kubeconfig", through) as wait,
        Following("status", job, "--kubeconfig", through, "--watch") as watch,
    ):
        wait.wait_for("mnist: Running, 5/5 ready")
        watch.wait_for(": Running for ")
        proxy.hang()
        for command in (wait, watch):
            command.wait_for("trying again")
        (chief,) = cluster.client.list("v1/Pod", namespace, labels="tfgen/role=chief")
        end(cluster.client, chief, exit_code)
        eventually(lambda: cluster.client.get("Job", "mnist-chief", namespace)["status"].get("conditions"), "its end")
        proxy.work()
        wait.wait_for(f"mnist: {phase}")
        watch.wait_for(f": {phase} ")
        finisher.finish()
        for command in (wait, watch):
            assert command.process.wait(PATIENCE) == code
    eventually(lambda: cluster.client.get("Job", "mnist-finisher", namespace)["status"].get("conditions"), "its end")
    printed = tfgen("release", str(job), "--kubeconfig", str(cluster.admin)).out
    outcomes = [line.partition("mnist-")[2] for line in printed.splitlines()]
    ended = [f"{role} already ended" for role in ("finisher", "chief")]
    assert outcomes == ["ps already released", "worker already released", *ended]


@pytest.mark.usefixtures("started")
def test_wait_ends_where_the_run_is_deleted(cluster: ControlPlane, job: Path, namespace: str) -> None:
    with Following("wait", job, "--kubeconfig", cluster.admin) as wait:
        wait.wait_for("mnist: Running")
        cluster.client.delete("Job", "mnist-chief", namespace)
        wait.wait_for("the run was deleted")
        assert wait.process.wait(PATIENCE) == cli.PROBLEMS


# -- a run that does not start ----------------------------------------------------------------------------------------


def unscheduled(cluster: ControlPlane, namespace: str) -> set[str]:
    events = cluster.client.list("v1/Event", namespace, fields="reason=FailedScheduling")
    return {event["involvedObject"]["name"] for event in events}


def test_a_run_that_missed_its_start_deadline_has_ended_for_every_command(
    cluster: ControlPlane, job: Path, namespace: str, account: Callable[..., Path], finisher: Finisher
) -> None:
    text = job.read_text(encoding="utf-8").replace("  retries: 0\n", "  retries: 0\n  startDeadline: 5\n")
    job.write_text(text.replace("count: 1", "count: 50"), encoding="utf-8")
    admin = ["--kubeconfig", str(cluster.admin)]
    reason = "Job mnist-chief: NotStarted: not started within 5 s: worker lacks 100 nvidia.com/gpu"
    with ExitStack() as stack:
        apply = stack.enter_context(Following("apply", job, *admin, "--wait"))
        apply.wait_for("created +Job mnist-chief")
        watch = stack.enter_context(Following("status", job, *admin, "--watch"))
        logs = stack.enter_context(Following("logs", job, *admin, "--follow"))
        eventually(lambda: unscheduled(cluster, namespace) == {"mnist-worker-0", "mnist-worker-1"}, "both events")
        finisher.run()
        finisher.finish()
        for command in (apply, watch, logs):
            assert command.process.wait(PATIENCE) == cli.PROBLEMS, command.lines
            command.wait_for("NotStarted")
            assert reason in "".join(command.lines), command.lines
    assert tfgen("wait", str(job), *admin, code=cli.PROBLEMS).out == f"mnist: NotStarted, 0/5 ready, {reason}\n"
    printed = tfgen("wait", str(job), "--kubeconfig", str(account(role("wait"))), code=cli.PROBLEMS).out
    assert "Job mnist-chief: NotStarted: not started within 5 s\n" in printed
    assert status(job, cluster.admin).out.startswith(f"mnist in {namespace}: NotStarted ")


def with_tensorboard(job: Path) -> None:
    text = job.read_text(encoding="utf-8")
    storage = "  storage: {model: {mountPath: /model, emptyDir: {}}}\n  tensorboard: {logDir: /model/logs}\n"
    job.write_text(text.replace("  environments:", f"{storage}  environments:", 1), encoding="utf-8")


@pytest.fixture
def showing(cluster: ControlPlane, namespace: str, job: Path, tmp_path: Path) -> Object:
    """Apply the job with TensorBoard, and return its pod when the fake node reports that the pod runs."""
    with_tensorboard(job)
    rendered = write_job(job.read_text(encoding="utf-8"), tmp_path / "rendered")
    cluster.kubectl("apply", "--server-side", "-n", namespace, "-k", rendered.overlay(None))

    def look() -> Object | None:
        pods = cluster.client.list("v1/Pod", namespace, labels="tfgen/role=tensorboard")
        return next((pod for pod in pods if pod["status"].get("phase") == "Running"), None)

    return eventually(look, "a pod of TensorBoard") or {}


def test_exec_in_a_run_that_is_not_there_says_so(cluster: ControlPlane, job: Path, namespace: str) -> None:
    printed = execute(job, cluster.admin, code=cli.FAILED).err
    assert f"mnist: chief-0 has no pod in the namespace {namespace}; the run has no task\n" in printed


@nightly
@pytest.mark.usefixtures("started")
def test_exec_in_a_task_that_has_ended_says_so(cluster: ControlPlane, job: Path, namespace: str) -> None:
    (chief,) = cluster.client.list("v1/Pod", namespace, labels="tfgen/role=chief")
    end(cluster.client, chief)
    assert execute(job, cluster.admin, code=cli.FAILED).err == "tfgen: error: mnist: chief-0 does not run: Completed\n"


@nightly
def test_exec_in_a_task_without_a_node_says_why(cluster: ControlPlane, job: Path, namespace: str) -> None:
    job.write_text(job.read_text(encoding="utf-8").replace("count: 1", "count: 100"), encoding="utf-8")
    tfgen("apply", job, "--kubeconfig", cluster.admin)

    def why() -> str:
        return execute(job, cluster.admin, "--role", "worker", code=cli.FAILED).err

    pattern = r"mnist: worker-0 does not run: Pending: Unschedulable: 0/\d+ nodes are available: .*nvidia.com/gpu"
    eventually(lambda: re.search(pattern, why()), pattern)


@nightly
def test_a_tensorboard_that_is_not_ready_is_told_with_its_reason(
    cluster: ControlPlane, job: Path, namespace: str, showing: Object
) -> None:
    state = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    container = {"name": "tensorboard", "image": "a", "imageID": "", "ready": False, "restartCount": 0, "state": state}
    status = {"phase": "Pending", "containerStatuses": [container]}
    cluster.kubectl("delete", "-n", namespace, "deployment/mnist-tensorboard", "--cascade=orphan")
    cluster.client.patch("v1/Pod", showing["metadata"]["name"], namespace, {"status": status}, subresource="status")
    message = "mnist: TensorBoard is not ready: ImagePullBackOff: no such image"
    assert tensorboard(job, cluster.admin, code=cli.FAILED).err == f"tfgen: error: {message}\n"


def test_a_tensorboard_that_is_nowhere_is_told(cluster: ControlPlane, job: Path, namespace: str) -> None:
    printed = tensorboard(job, cluster.admin, code=cli.FAILED).err
    assert "mnist: the job has no TensorBoard; set tensorboard.logDir" in printed
    with_tensorboard(job)
    message = f"mnist: TensorBoard has no pod in the namespace {namespace}: the Deployment does not exist"
    assert message in tensorboard(job, cluster.admin, code=cli.FAILED).err
    dev = "    dev: {roles: {worker: {replicas: 1}}}"
    text = job.read_text(encoding="utf-8").replace(dev, "    dev: {tensorboard: {enabled: false}}")
    job.write_text(text, encoding="utf-8")
    printed = tensorboard(job, cluster.admin, "--env", "dev", code=cli.FAILED).err
    assert "mnist/dev: the job has no TensorBoard" in printed


# -- release ---------------------------------------------------------------------------------------------------------

RELEASED = """
StatefulSet mnist-ps FATE
StatefulSet mnist-worker FATE
Job mnist-finisher FATE
Job mnist-chief FATE
""".lstrip()


@pytest.mark.usefixtures("started")
def test_release_needs_the_role_of_its_page(
    cluster: ControlPlane, job: Path, namespace: str, account: Callable[..., Path]
) -> None:
    arguments = ["release", str(job), "--kubeconfig", str(account(role("release")))]
    assert tfgen(*arguments).out == RELEASED.replace("FATE", "released")
    eventually(lambda: not running(cluster.client, namespace), "the end of all pods")
    assert tfgen(*arguments).out == RELEASED.replace("FATE", "already released")
    assert re.search(r": Suspended for .*^GPUs: +0 in use$", status(job, cluster.admin).out, re.DOTALL | re.MULTILINE)


@nightly
@pytest.mark.usefixtures("started")
def test_a_finisher_that_cannot_work_is_shown_and_release_leaves_the_result(
    cluster: ControlPlane, job: Path, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (finisher,) = cluster.client.list("v1/Pod", namespace, labels="tfgen/role=finisher")
    state = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    container = {"name": "finisher", "image": "a", "imageID": "", "ready": False, "restartCount": 0, "state": state}
    broken = {"conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [container]}
    cluster.client.patch("v1/Pod", finisher["metadata"]["name"], namespace, {"status": broken}, subresource="status")
    (chief,) = cluster.client.list("v1/Pod", namespace, labels="tfgen/role=chief")
    end(cluster.client, chief)
    eventually(lambda: cluster.client.get("Job", "mnist-chief", namespace)["status"].get("completionTime"), "its end")
    output = status(job, cluster.admin).out
    assert output.partition("\nGPUs: ")[2].splitlines()[:4] == [
        "    2 in use",
        "finisher: Pending",
        "held:     nodes of ps and worker; to free the nodes now: tfgen release",
        "why:      finisher: ImagePullBackOff: no such image",
    ]
    monkeypatch.setattr("tfgen.live.clusters._RELEASE_SECONDS", 3)
    first, last = tfgen("wait", str(job), "--kubeconfig", str(cluster.admin), code=cli.PROBLEMS).out.splitlines()
    assert first.endswith(", finisher: ImagePullBackOff: no such image")
    assert last == f"{first}, finisher: Pending, held: nodes of ps and worker; to free the nodes now: tfgen release"
    printed = tfgen("release", str(job), "--kubeconfig", str(cluster.admin)).out
    assert printed.splitlines()[-1] == "Job mnist-chief already ended"
    assert ": Succeeded " in status(job, cluster.admin).out


def test_release_of_what_is_not_there_says_so(cluster: ControlPlane, job: Path) -> None:
    assert tfgen("release", str(job), "--kubeconfig", str(cluster.admin)).out == RELEASED.replace("FATE", "not found")


def test_release_of_a_kind_that_nothing_holds_back_says_what_to_do(cluster: ControlPlane, job: Path) -> None:
    text = job.read_text(encoding="utf-8").split("  roles:")[0]
    text += "  strategy: Single\n  workload: {kind: Pod}\n  roles: {chief: {}}\n"
    job.write_text(text.replace("  retries: 0\n", ""), encoding="utf-8")
    printed = tfgen("release", str(job), "--kubeconfig", str(cluster.admin), code=cli.FAILED).err
    assert (
        "a Pod has no field that stops its pods; to free the GPUs, delete the object: kubectl delete pods mnist-chief"
        in printed
    )


# -- apply and delete ------------------------------------------------------------------------------------------------


def names(cluster: ControlPlane, namespace: str) -> set[str]:
    kinds = ("v1/Service", "ConfigMap", "StatefulSet", "batch/v1/Job", "Role", "PersistentVolumeClaim")
    found = {item["metadata"]["name"] for kind in kinds for item in cluster.client.list(kind, namespace)}
    return {name for name in found if name != "kube-root-ca.crt" and not name.startswith("viewer-")}


def fates(out: str) -> dict[str, set[str]]:
    """Return the objects of an output by action."""
    by_fate: dict[str, set[str]] = {}
    for line in out.splitlines():
        if not line.startswith(" "):
            fate, name = line.split(maxsplit=1)
            by_fate.setdefault(fate, set()).add(name)
    return by_fate


def with_claim(job: Path) -> None:
    text = job.read_text(encoding="utf-8")
    claim = "  storage: {model: {mountPath: /model, claim: {size: 1Gi, accessMode: ReadWriteMany}}}\n  environments:"
    job.write_text(text.replace("  environments:", claim, 1), encoding="utf-8")


def test_apply_needs_the_role_of_its_page(
    cluster: ControlPlane, job: Path, namespace: str, account: Callable[..., Path]
) -> None:
    with_claim(job)
    apply = ["apply", str(job), "--kubeconfig", str(account(role("apply")))]
    planned = fates(tfgen(*apply, "--dry-run").out)
    assert names(cluster, namespace) == set(), "a dry run makes nothing"
    assert fates(tfgen(*apply).out) == planned
    assert {"Job mnist-chief", "StatefulSet mnist-worker", "PersistentVolumeClaim mnist-model"} <= planned["created"]
    assert fates(tfgen(*apply).out) == {"unchanged": planned["created"]}


def test_an_apply_shows_and_changes_what_differs_and_removes_what_is_gone(
    cluster: ControlPlane, job: Path, namespace: str
) -> None:
    with_claim(job)
    apply = ["apply", str(job), "--kubeconfig", str(cluster.admin)]
    tfgen(*apply)
    text = job.read_text(encoding="utf-8")
    job.write_text(text.replace("spec:\n", "spec:\n  run: r2\n  labels: {team: vision}\n", 1), encoding="utf-8")
    shown = tfgen(*apply, "--dry-run").out
    assert 'changed    PersistentVolumeClaim mnist-model\n    + metadata.labels.team: "vision"\n' in shown
    after = fates(tfgen(*apply).out)
    assert after == fates(shown)
    assert {"StatefulSet mnist-ps", "StatefulSet mnist-worker", "Job mnist-chief"} <= after["deleted"]
    assert {"StatefulSet mnist-r2-ps", "StatefulSet mnist-r2-worker", "Job mnist-r2-chief"} <= after["created"]
    eventually(lambda: not {"mnist-ps", "mnist-chief", "mnist"} & names(cluster, namespace), "the end of the first run")


def test_nothing_is_applied_where_the_server_refuses_one_object(
    cluster: ControlPlane, job: Path, namespace: str
) -> None:
    text = job.read_text(encoding="utf-8")
    unheard = "{apiVersion: unheard.example/v1, kind: Unheard}"  # no other test defines this kind
    job.write_text(text.replace("spec:\n", f"spec:\n  objects: {{odd: {unheard}}}\n", 1), encoding="utf-8")
    error = tfgen("apply", str(job), "--kubeconfig", str(cluster.admin), code=cli.FAILED).err
    assert "nothing was applied:\nUnheard mnist-odd: the cluster has no kind Unheard of unheard.example" in error
    assert names(cluster, namespace) == set()


@pytest.mark.parametrize("manager", ["tfgen", pytest.param("kubectl", marks=nightly)])
def test_a_change_that_a_run_refuses_has_a_short_reason_and_its_cure(
    cluster: ControlPlane, job: Path, namespace: str, manager: str, tmp_path: Path
) -> None:
    apply = ["apply", str(job), "--kubeconfig", str(cluster.admin)]
    if manager == "tfgen":
        tfgen(*apply)
    else:
        rendered = write_job(job.read_text(encoding="utf-8"), tmp_path / "rendered")
        cluster.kubectl("apply", "--server-side", "-n", namespace, "-k", rendered.overlay(None))
    job.write_text(job.read_text(encoding="utf-8").replace("mnist:1", "mnist:2"), encoding="utf-8")
    lines = tfgen(*apply, code=cli.FAILED).err.splitlines()
    assert max(map(len, lines)) < 500
    refused = {line.split(":")[0]: line for line in lines if line.startswith(("Job ", "StatefulSet "))}
    assert {"Job mnist-chief", "StatefulSet mnist-ps", "StatefulSet mnist-worker"} <= refused.keys()
    for line in refused.values():
        assert line.endswith(f"; the pods of a run cannot change; for a new run: tfgen rerun {job}"), line


def test_an_apply_waits_until_all_tasks_run(cluster: ControlPlane, job: Path, account: Callable[..., Path]) -> None:
    rules = {**role("apply"), "rules": [*role("apply")["rules"], *role("wait")["rules"]]}  # type: ignore[misc]
    apply = ["apply", str(job), "--kubeconfig", str(account(rules)), "--wait"]
    lines = tfgen(*apply, "--timeout", "120s").out.splitlines()
    assert "created    Job mnist-chief" in lines
    assert lines[-1] == "mnist: Running, 5/5 ready"
    printed = tfgen(*apply, "--format", "json")
    assert {row["action"] for row in json.loads(printed.out)["objects"]} == {"unchanged"}
    assert printed.err == "mnist: Running, 5/5 ready\n"


def test_an_apply_waits_no_longer_than_it_may(cluster: ControlPlane, job: Path) -> None:
    job.write_text(job.read_text(encoding="utf-8").replace("count: 1", "count: 100"), encoding="utf-8")
    apply = ["apply", str(job), "--kubeconfig", str(cluster.admin), "--wait", "--timeout", "5s"]
    printed = tfgen(*apply, code=cli.FAILED)
    assert "Insufficient nvidia.com/gpu" in printed.out
    assert re.search(r"^tfgen: error: mnist: still Partial after 5 s$", printed.err, re.MULTILINE)


def test_a_retired_run_is_disabled_and_can_be_released_and_deleted(
    cluster: ControlPlane, job: Path, namespace: str
) -> None:
    where = [str(job), "--env", "dev", "--kubeconfig", str(cluster.admin)]
    tfgen("apply", *where)
    eventually(lambda: len(running(cluster.client, namespace)) == 5, "five running pods")
    tfgen("rm", str(job), "--env", "dev")
    printed = tfgen("apply", *where, code=cli.FAILED).err
    assert "mnist/dev: the job is retired in the environment (enabled: false)" in printed
    out = status(job, cluster.admin, "--env", "dev").out
    assert out.startswith(f"mnist/dev in {namespace}: Disabled for ")
    assert "\nGPUs:     1 in use\n" in out
    assert (
        "why:      chief, ps and worker: Disabled: the job is retired in this environment, but the tasks still run"
        in out
    )
    assert tfgen("release", *where).out == RELEASED.replace("FATE", "released")
    eventually(lambda: not running(cluster.client, namespace), "the end of all pods")
    assert {"StatefulSet mnist-worker", "Job mnist-chief"} <= fates(tfgen("delete", *where).out)["deleted"]
    eventually(lambda: names(cluster, namespace) == set(), "an empty namespace")
    assert status(job, cluster.admin, "--env", "dev").out == f"mnist/dev in {namespace}: Disabled\n"


def test_an_apply_forces_no_released_run_and_no_field_of_somebody_else_unless_asked(
    cluster: ControlPlane, job: Path, namespace: str
) -> None:
    apply = ["apply", str(job), "--kubeconfig", str(cluster.admin)]
    tfgen(*apply)
    cluster.kubectl("scale", "-n", namespace, "statefulset/mnist-worker", "--replicas=0")
    printed = tfgen(*apply, code=cli.FAILED).err
    assert "nothing was applied:\nStatefulSet mnist-worker: the object is scaled to 0, and the apply would" in printed
    tfgen(*apply, "--force")
    assert cluster.client.get("StatefulSet", "mnist-worker", namespace)["spec"]["replicas"] == 2
    cluster.client.patch("StatefulSet", "mnist-ps", namespace, {"spec": {"replicas": 3}})
    printed = tfgen(*apply, code=cli.FAILED).err
    assert re.search(
        r"StatefulSet mnist-ps: 409: .*\.spec\.replicas.*to take over the fields, add --force",
        printed,
        re.S,
    )
    tfgen(*apply, "--force")
    assert cluster.client.get("StatefulSet", "mnist-ps", namespace)["spec"]["replicas"] == 2


def test_what_a_gitops_tool_looks_after_is_shown_by_diff_and_refused_unless_forced(
    cluster: ControlPlane, job: Path, namespace: str
) -> None:
    arguments = [str(job), "--kubeconfig", str(cluster.admin)]
    diff = ["diff", "--live", "--exit-code", *arguments]
    tfgen("apply", *arguments)
    assert tfgen(*diff).out == ""
    by_flux = {"metadata": {"labels": {"kustomize.toolkit.fluxcd.io/name": "mnist"}}, "spec": {"replicas": 5}}
    by_argocd = {"metadata": {"annotations": {"argocd.argoproj.io/tracking-id": "a:apps/StatefulSet:ml/mnist-worker"}}}
    cluster.client.patch("StatefulSet", "mnist-ps", namespace, by_flux)
    cluster.client.patch("StatefulSet", "mnist-worker", namespace, by_argocd)
    assert tfgen(*diff, code=cli.PROBLEMS).out == "changed    StatefulSet mnist-ps\n    ~ spec.replicas: 5 -> 2\n"
    for command in ("apply", "delete"):
        refused = tfgen(command, *arguments, code=cli.FAILED).err
        assert "StatefulSet mnist-ps: Flux manages the object" in refused
        assert "StatefulSet mnist-worker: Argo CD manages the object" in refused
    assert cluster.client.get("StatefulSet", "mnist-ps", namespace)["spec"]["replicas"] == 5
    tfgen("delete", *arguments, "--force")


def test_delete_needs_the_role_of_its_page(
    cluster: ControlPlane, job: Path, namespace: str, account: Callable[..., Path]
) -> None:
    with_claim(job)
    tfgen("apply", str(job), "--kubeconfig", str(cluster.admin))
    printed = tfgen("delete", str(job), "--kubeconfig", str(account(role("delete")))).out
    assert fates(printed)["kept"] == {"PersistentVolumeClaim mnist-model"}
    eventually(lambda: names(cluster, namespace) == {"mnist-model"}, "the claim alone")


FOREIGN = """
apiVersion: v1
kind: Service
metadata: {name: mnist, labels: {app.kubernetes.io/name: mnist}}
spec: {clusterIP: None, selector: {app: mnist}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: mnist-worker}
spec:
  serviceName: mnist
  replicas: 0
  selector: {matchLabels: {app: mnist}}
  template:
    metadata: {labels: {app: mnist}}
    spec: {containers: [{name: web, image: "registry.example.com/web:1"}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: mnist-model}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""


def test_delete_leaves_objects_that_tfgen_did_not_create(cluster: ControlPlane, job: Path, namespace: str) -> None:
    """The claim has the annotation with which tfgen keeps its own claims, and `--claim` names the claim."""
    with_claim(job)
    foreign = list(yaml.safe_load_all(FOREIGN))
    foreign[2]["metadata"]["annotations"] = {**KEEP}
    uids = {item["kind"]: cluster.client.create(item, namespace)["metadata"]["uid"] for item in foreign}
    where = [str(job), "--kubeconfig", str(cluster.admin)]
    refused = tfgen("apply", *where, code=cli.FAILED).err
    assert "nothing was applied" in refused
    cure = "the job mnist did not create the object; rename the job, or delete the object with kubectl"
    assert refused.count(cure) == 2, "a line for the StatefulSet, and a line for the objects without pods"
    left = {f"{item['kind']} {item['metadata']['name']}: the job mnist did not create the object" for item in foreign}
    for more in ([], ["--dry-run"], ["--force"], ["--claim", "mnist-model"]):
        assert fates(tfgen("delete", *where, *more, code=cli.PROBLEMS).out) == {"left": left}
    printed = tfgen("delete", *where, "--claim", "mnist-data", code=cli.USAGE).err
    assert f"--claim: the namespace {namespace} has no claim mnist-data; choose mnist-model" in printed
    live = [
        cluster.client.get(kind, item["metadata"]["name"], namespace)
        for kind, item in zip(("v1/Service", "StatefulSet", "PersistentVolumeClaim"), foreign, strict=True)
    ]
    assert {item["kind"]: item["metadata"]["uid"] for item in live} == uids
    assert not any("deletionTimestamp" in item["metadata"] for item in live)


def test_delete_removes_what_the_inventory_lists_or_the_labels_name_and_the_finisher_last(
    cluster: ControlPlane, job: Path, namespace: str, tmp_path: Path
) -> None:
    with_claim(job)
    rendered = write_job(job.read_text(encoding="utf-8"), tmp_path / "rendered")
    cluster.kubectl("apply", "--server-side", "-n", namespace, "-k", rendered.overlay(None))
    for item in ("service/mnist", "statefulset/mnist-ps"):
        cluster.kubectl("delete", "-n", namespace, item)
    where = [str(job), "--kubeconfig", str(cluster.admin)]
    tfgen("apply", *where, "--force")
    cluster.kubectl("label", "-n", namespace, "statefulset/mnist-ps", "app.kubernetes.io/managed-by-")
    out = tfgen("delete", *where, "--claim", "mnist-model").out
    assert "kept" not in out
    assert {"StatefulSet mnist-ps", "StatefulSet mnist-worker"} <= fates(out)["deleted"]
    of_finisher = [" mnist-finisher" in line for line in out.splitlines()]
    assert any(of_finisher)
    assert of_finisher == sorted(of_finisher), "the finisher is the last"
    eventually(lambda: names(cluster, namespace) == set(), "an empty namespace")


def test_an_environment_leaves_the_objects_of_another_one_in_its_namespace(
    cluster: ControlPlane, job: Path, namespace: str, tmp_path: Path
) -> None:
    with_claim(job)
    text = job.read_text(encoding="utf-8").partition("  environments:")[0]
    environments = "  environments: {dev: {run: dev}, prod: {run: prod}, old: {run: old, enabled: false}}\n"
    job.write_text(text + environments, encoding="utf-8")
    where = ["--kubeconfig", str(cluster.admin)]
    for environment in ("dev", "prod"):
        assert "deleted" not in tfgen("apply", str(job), "--env", environment, *where).out
    before = names(cluster, namespace)
    assert {"mnist-dev-chief", "mnist-prod-chief"} <= before
    assert fates(tfgen("delete", str(job), "--env", "old", *where).out).keys() <= {"kept"}
    shown = fates(tfgen("delete", str(job), "--env", "dev", *where).out)
    assert not any("prod" in line.partition(":")[0] for line in shown["deleted"])
    eventually(lambda: not any("dev" in name for name in names(cluster, namespace)), "the end of dev")
    assert {name for name in before if "dev" not in name} == names(cluster, namespace)
    rendered = write_job(job.read_text(encoding="utf-8"), tmp_path / "rendered")
    cluster.kubectl("apply", "--server-side", "-n", namespace, "-k", rendered.overlay("dev"))
    shown = fates(tfgen("delete", str(job), "--env", "prod", *where, "--claim", "mnist-model", code=cli.PROBLEMS).out)
    assert shown["left"] == {"PersistentVolumeClaim mnist-model: the environment dev also has the object"}
