"""Objects that a job does not own, deleted runs, and roles without tasks, on a real API server and real controllers.

A person creates objects with the names of a job, replaces objects of the job, and deletes or scales objects by hand.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from tests.e2e.client import PATIENCE, Object, eventually
from tests.e2e.control_plane import ControlPlane
from tests.support.repository import git, tfgen
from tfgen import cli

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: web, namespace: NAMESPACE}
spec:
  image: registry.example.com/web:1
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
"""
CLAIM = "  storage: {model: {mountPath: /model, claim: {size: 20Gi, accessMode: ReadWriteMany}}}\n"
FOREIGN = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web-worker, labels: {app.kubernetes.io/name: web, app.kubernetes.io/managed-by: Helm}}
spec:
  serviceName: web
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "registry.example.com/web:1"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: web-chief}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example.com/web:1"}]}}}
"""
WITH_PODS = (("StatefulSet", "web-worker"), ("Job", "web-chief"))
NOT_CREATED = "the job web did not create the object"


@pytest.fixture
def job(namespace: str, tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(JOB.replace("NAMESPACE", namespace), encoding="utf-8")
    return path


@pytest.fixture
def run(cluster: ControlPlane, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Return a function that runs a command as the administrator, and returns the exit code and the whole output."""

    def run_command(command: str, job: str | Path, *more: str) -> tuple[int, str]:
        capsys.readouterr()
        code = cli.run([command, str(job), "--kubeconfig", str(cluster.admin), *more])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return run_command


Run = Callable[..., tuple[int, str]]


def spec(cluster: ControlPlane, namespace: str, kind: str, name: str) -> Object:
    found: Object = cluster.client.get(kind, name, namespace)["spec"]
    return found


def create_foreign(cluster: ControlPlane, namespace: str) -> None:
    for item in yaml.safe_load_all(FOREIGN):
        cluster.client.create(item, namespace)


@pytest.fixture
def applied(cluster: ControlPlane, namespace: str, job: Path, run: Run) -> None:
    """Apply the job, and wait until the chief and its workers run."""
    code, out = run("apply", job)
    assert code == cli.OK, out
    eventually(lambda: tasks(cluster, namespace) == 3, "three running tasks")


def tasks(cluster: ControlPlane, namespace: str) -> int:
    pods = cluster.client.list("v1/Pod", namespace)
    named = [pod for pod in pods if pod["metadata"]["name"].startswith(("web-worker", "web-chief"))]
    return sum(pod["status"].get("phase") == "Running" for pod in named)


# -- objects that the job does not own --------------------------------------------------------------------------------


def test_no_command_changes_hand_made_objects_with_pods(
    cluster: ControlPlane, namespace: str, job: Path, run: Run
) -> None:
    create_foreign(cluster, namespace)
    before = [spec(cluster, namespace, *item) for item in WITH_PODS]
    for more in ((), ("--force",)):
        code, out = run("apply", job, *more)
        assert code == cli.FAILED
        (line,) = (line for line in out.splitlines() if NOT_CREATED in line)
        assert all(" ".join(item) in line for item in WITH_PODS), line
    assert run("status", job) == (cli.OK, f"web in {namespace}: Absent\n")
    code, out = run("release", job)
    assert code == cli.PROBLEMS
    assert out.splitlines() == [
        "StatefulSet web-ps not found",
        f"StatefulSet web-worker left: {NOT_CREATED}",
        "Job web-finisher not found",
        f"Job web-chief left: {NOT_CREATED}",
    ]
    for more in ((), ("--force",)):
        code, out = run("delete", job, *more)
        assert code == cli.PROBLEMS
        assert {line.partition(": ")[2] for line in out.splitlines()} == {NOT_CREATED}
    assert [spec(cluster, namespace, *item) for item in WITH_PODS] == before


@pytest.mark.usefixtures("applied")
def test_a_replaced_object_stays_and_a_recreated_object_is_released(
    cluster: ControlPlane, namespace: str, job: Path, run: Run
) -> None:
    """A person replaces the StatefulSet. A GitOps tool creates the chief's Job again, with the labels of the job."""
    chief = cluster.client.get("Job", "web-chief", namespace)
    labels = chief["spec"]["template"]["metadata"]["labels"]
    own = {key: value for key, value in labels.items() if key.startswith(("tfgen/", "app.kubernetes.io/"))}
    for item in WITH_PODS:
        cluster.client.delete(*item, namespace)
    eventually(lambda: not any(cluster.client.find(*item, namespace) for item in WITH_PODS), "no object with pods")
    statefulset, job_object = yaml.safe_load_all(FOREIGN)
    cluster.client.create(statefulset, namespace)
    job_object["spec"]["template"]["metadata"] = {"labels": own}
    cluster.client.create(job_object, namespace)
    code, out = run("release", job)
    assert code == cli.PROBLEMS
    assert out.splitlines() == [
        "StatefulSet web-ps released",
        f"StatefulSet web-worker left: {NOT_CREATED}",
        "Job web-finisher released",
        "Job web-chief released: recreated since the last apply",
    ]
    assert spec(cluster, namespace, "StatefulSet", "web-worker")["replicas"] == 2
    assert spec(cluster, namespace, "Job", "web-chief")["suspend"] is True


def test_a_hand_made_service_account_is_changed_only_with_force_and_never_deleted(
    cluster: ControlPlane, namespace: str, job: Path, run: Run
) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web-finisher"}}
    uid = cluster.client.create(account, namespace)["metadata"]["uid"]
    code, out = run("apply", job)
    assert code == cli.FAILED
    assert f"ServiceAccount web-finisher: {NOT_CREATED}; rename the job, or delete the object with kubectl" in out
    code, out = run("apply", job, "--force")
    assert code == cli.OK, out
    inventory = cluster.client.get("ConfigMap", "web.tfgen", namespace)["data"]["objects"]
    assert "web-chief" in inventory
    assert '"ServiceAccount"' not in inventory
    code, out = run("delete", job, "--force")
    assert code == cli.PROBLEMS
    assert f"left       ServiceAccount web-finisher: {NOT_CREATED}" in out
    assert cluster.client.get("ServiceAccount", "web-finisher", namespace)["metadata"]["uid"] == uid


# -- the end of a deleted run ----------------------------------------------------------------------------------------


class Following:
    """A command that continues to run until the test ends."""

    def __init__(self, *args: str | Path) -> None:
        argv = [sys.executable, "-u", "-m", "tfgen", *map(str, args)]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def __enter__(self) -> Following:
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self) -> tuple[int, str]:
        out, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out


@pytest.mark.parametrize("deleted", ["run", "namespace"])
def test_each_command_that_follows_a_run_ends_when_the_run_is_deleted(
    cluster: ControlPlane, namespace: str, job: Path, run: Run, deleted: str
) -> None:
    """A fake node has no logs, so `logs` follows a task that has no pod."""
    place = cluster.namespace(f"{namespace[:58]}-gone")
    assert run("apply", job, "--namespace", place)[0] == cli.OK
    eventually(lambda: tasks(cluster, place) == 3, "three running tasks")
    where: tuple[str | Path, ...] = ("--kubeconfig", cluster.admin, "--namespace", place)
    with ExitStack() as stack:
        logs = stack.enter_context(Following("logs", job, *where, "--follow", "--index", "7"))
        watch = stack.enter_context(Following("status", job, *where, "--watch"))
        wait = stack.enter_context(Following("wait", job, *where))
        for command in (watch, wait):
            stream = command.process.stdout
            assert stream
            assert re.match("web( in .*)?: Running", stream.readline())
        time.sleep(5)  # tfgen logs prints no line when it has seen the run
        if deleted == "run":
            assert run("delete", job, "--namespace", place)[0] == cli.OK
        else:
            cluster.client.delete("Namespace", place)
        for command in (watch, wait, logs):
            code, out = command.end()
            assert code == cli.PROBLEMS, out
            assert "the run was deleted" in out
    if deleted == "run":
        cluster.client.delete("Namespace", place)


# -- roles without tasks ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("applied")
def test_status_names_why_a_role_has_no_tasks(cluster: ControlPlane, namespace: str, job: Path, run: Run) -> None:
    cluster.kubectl("scale", "-n", namespace, "statefulset/web-worker", "--replicas=0")
    eventually(lambda: tasks(cluster, namespace) == 1, "the chief alone")
    scaled = "worker: ScaledToZero: StatefulSet web-worker has replicas 0; to start the tasks, set replicas to 2"
    eventually(lambda: f"why:      {scaled}\n" in run("status", job)[1], scaled)
    assert re.search(r"^web in .*: Partial for ", run("status", job)[1], re.MULTILINE)
    cluster.kubectl("scale", "-n", namespace, "statefulset/web-worker", "--replicas=2")
    eventually(lambda: tasks(cluster, namespace) == 3, "three running tasks")
    cluster.kubectl("delete", "-n", namespace, "job/web-chief")
    eventually(lambda: tasks(cluster, namespace) == 2, "the workers alone")
    out = run("status", job)[1]
    assert re.search(r"^web in .*: Pending$", out, re.MULTILINE), out
    assert "why:      chief: Missing: the cluster has no Job web-chief; apply or sync the job again" in out


# -- apply and delete ------------------------------------------------------------------------------------------------


def test_a_missing_namespace_is_one_line(job: Path, run: Run) -> None:
    code, out = run("apply", job, "--namespace", "not-here")
    assert code == cli.FAILED
    first, line = out.splitlines()
    assert first == "tfgen: error: nothing was applied:"
    assert line.endswith(
        '404: namespaces "not-here" not found; create the namespace: kubectl create namespace not-here'
    )


def test_a_smaller_claim_has_its_fix(job: Path, run: Run) -> None:
    text = job.read_text(encoding="utf-8") + CLAIM
    job.write_text(text, encoding="utf-8")
    assert run("apply", job)[0] == cli.OK
    job.write_text(text.replace("20Gi", "10Gi"), encoding="utf-8")
    code, out = run("apply", job)
    assert code == cli.FAILED
    assert "a claim cannot shrink: the claim in the cluster has 20Gi; set its size to at least 20Gi" in out


def test_a_delete_of_nothing_says_so(namespace: str, job: Path, run: Run) -> None:
    assert run("delete", job) == (cli.OK, f"nothing to delete: the namespace {namespace} has no object of web\n")


@pytest.mark.usefixtures("applied")
def test_a_removed_job_is_found_by_its_name(
    cluster: ControlPlane, namespace: str, job: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(job.parent)
    git("init", "--quiet", ".")
    tfgen("render", "job.yaml")
    git("add", "job.yaml", "charts", "overlays", ".tfgen")
    git("commit", "--quiet", "--message=add")
    tfgen("rm", "job.yaml")
    git("commit", "--quiet", "--all", "--message=remove")
    assert f"web in {namespace}: Running" in run("status", "web")[1]
    code, out = run("delete", "web")
    assert (code, "deleted    StatefulSet web-worker" in out) == (cli.OK, True), out
    eventually(lambda: tasks(cluster, namespace) == 0, "no task")
