"""The commands that read a cluster, on a real kubelet: it alone has logs, and reports why a container does not run."""

from __future__ import annotations

import base64
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import eventually
from tests.e2e.node.node_job import ENDS_AT_SIGTERM, PATIENCE, SLEEPS
from tests.e2e.node.test_dist_mnist import MakeJob
from tests.e2e.real_node import Node
from tests.e2e.servers.faulty_proxy import FaultyProxy
from tests.e2e.servers.kubeconfig import write_kubeconfig
from tests.support.command import Command
from tests.support.signals import heed_terminal

RETURN = 10.0
"""The number of seconds within which a command works again after its server does."""

PROGRAM = f"""{ENDS_AT_SIGTERM}
import itertools, json, pathlib, sys
task = json.loads(os.environ["TF_CONFIG"])["task"]["type"]
first, last = pathlib.Path("/tmp/first"), pathlib.Path("/tmp/last")
if task == "chief":
    for step in itertools.count():
        print("step", step, flush=True)
        time.sleep(0.03)
        if last.exists():
            sys.stdout.write("the end after step " + str(step))
            sys.exit(0)
if task == "worker" and not first.exists():
    first.touch()
    while not last.exists():
        time.sleep(0.1)
    for number in range(1000):
        print("first", number)
    sys.exit(1)
print("serves", flush=True)
time.sleep(3600)
"""


@pytest.fixture
def proxy(node: Node) -> Iterator[FaultyProxy]:
    cluster = node.cluster
    with FaultyProxy(cluster.url, cluster.authority.certificate, cluster.address) as server:
        yield server


def kubeconfig(node: Node, proxy: FaultyProxy, namespace: str, folder: Path) -> Path:
    """Write the kubeconfig file of an account with all permissions in a namespace, through the proxy."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "viewer"}}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "viewer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": namespace}],
    }
    node.client.apply_all([account, binding], namespace)
    token = node.client.token("viewer", namespace)
    return write_kubeconfig(folder / "proxy.kubeconfig", proxy.url, node.cluster.authority.certificate, token)


def test_logs_lose_no_line_over_a_lost_server_and_a_restart(
    node: Node, job: MakeJob, namespace: str, proxy: FaultyProxy, tmp_path: Path
) -> None:
    config = kubeconfig(node, proxy, namespace, tmp_path)
    training = job(
        "dist-mnist", {"command": ["python", "-c", PROGRAM], "args": [], "roles": {"worker": {"replicas": 1}}}
    )
    training.apply()
    where = (tmp_path / "dist-mnist" / "job.yaml", "--env", "laptop", "--namespace", namespace, "--kubeconfig", config)
    output = tmp_path / "logs"
    tfgen = (sys.executable, "-u", "-m", "tfgen")
    with output.open("w") as file, (tmp_path / "wait").open("w") as waited:
        logs = subprocess.Popen((*tfgen, "logs", *where, "-f", "--format", "json"), stdout=file)
        wait = subprocess.Popen((*tfgen, "wait", *where), stdout=waited)
    try:

        def steps() -> int:
            return output.read_text(encoding="utf-8").count('"step ')

        def wait_for_more(patience: float) -> None:
            before = steps()
            eventually(lambda: steps() > before, "further lines", patience)

        eventually(lambda: steps() > 100, "a hundred lines")
        shown = Command((*tfgen, "status", *where)).run()
        assert re.search(r"^step: +[1-9]\d+$", shown, re.MULTILINE), shown
        for fault in (proxy.hang, proxy.refuse):
            fault()
            asked = len(proxy.requests)
            eventually(lambda asked=asked: len(proxy.requests) > asked + 1, "requests")  # type: ignore[misc]
            proxy.work()
            wait_for_more(RETURN)
        training.run_in("worker", 0, "touch", "/tmp/last")
        eventually(lambda: '"serves"' in output.read_text(encoding="utf-8").partition('"first 999"')[2], "the restart")
        training.run_in("chief", 0, "touch", "/tmp/last")
        assert logs.wait(600) == 0
        assert wait.wait(60) == 0
    finally:
        logs.kill()
        wait.kill()
    rows: list[dict[str, Any]] = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    texts = {task: [row["text"] for row in rows if row["task"] == task] for task in ("chief-0", "worker-0", "ps-0")}
    *steps_of_chief, end = texts["chief-0"]
    assert steps_of_chief == [f"step {step}" for step in range(len(steps_of_chief))]
    assert end == f"the end after {steps_of_chief[-1]}"
    assert texts["worker-0"] == [*(f"first {number}" for number in range(1000)), "serves"]
    assert set(texts["ps-0"]) == {"serves"}
    assert "Succeeded" in (tmp_path / "wait").read_text(encoding="utf-8").splitlines()[-1]


def test_status_says_what_the_kubelet_does(node: Node, job: MakeJob, namespace: str, tmp_path: Path) -> None:
    greedy = ["python", "-c", "print('step 7', flush=True); x = bytearray(10**9); x[::4096] = b'x' * len(x[::4096])"]
    environment = {
        "command": ["python", "-c", f"print('step 12', flush=True)\n{SLEEPS}"],
        "args": [],
        "roles": {
            "ps": {"image": "registry.example.com/ml/dist-minst:1.4.0"},
            "worker": {"replicas": 1, "command": greedy, "resources": {"limits": {"memory": "400Mi"}}},
        },
    }
    job("dist-mnist", environment).apply()
    where = (tmp_path / "dist-mnist" / "job.yaml", "--env", "laptop", "--namespace", namespace)

    def status() -> str:
        tfgen = (sys.executable, "-m", "tfgen", "status")
        return Command((*tfgen, *where, "--kubeconfig", node.cluster.admin)).run()

    for pattern in (
        r"^dist-mnist/laptop in .*: Partial for ",
        r"why: +worker-0: OOMKilled: tensorflow used more memory than the limit of 400Mi$",
        r"why: +ps-0 and ps-1: (ErrImagePull|ImagePullBackOff): .*dist-minst:1.4.0",
        r"^step: +12$",
    ):
        eventually(lambda pattern=pattern: re.search(pattern, status(), re.MULTILINE), pattern, 120)  # type: ignore[misc]


# -- exec and tensorboard --------------------------------------------------------------------------------------------

TFGEN = (sys.executable, "-u", "-m", "tfgen")
EVENTS = base64.b64decode(
    "PgAAAAAAAADZ0kDnCQAAwNzAwtpBGg1icmFpbi5FdmVudDoyUiQKInRlbnNvcmZsb3cuY29yZS51dGlsLmV2ZW50c193cml0ZXL6UkO7LgAAAAAAAADF"
    "y1f6CSAqEt3AwtpBEGQqIQofCgRsb3NzQgoIARIAIgQAAAA/SgsKCQoHc2NhbGFyc97saOk="
)
"""A file of events from TensorFlow 2.21: the scalar `loss` of step 100."""
COLUMNS, LINES = 91, 17
SHOW_TERMINAL = f"""
import os, sys, time
while os.get_terminal_size(0) != ({COLUMNS}, {LINES}):
    time.sleep(0.1)
print("ready", flush=True)
print(os.ttyname(1), input()[::-1])
sys.exit(3)
"""


def wait_until_shown(terminal: int, pattern: bytes) -> None:
    """Read the output of a terminal until a pattern appears."""
    text = b""
    while not re.search(pattern, text):
        assert select.select([terminal], [], [], 120)[0], text
        text += os.read(terminal, 1 << 16)


def fetch(address: str) -> str:
    """Return the page at an address, or an empty text if no server answers."""
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            return str(answer.read().decode())
    except OSError:
        time.sleep(1)
        return ""


@contextmanager
def shown(*args: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `tfgen tensorboard` during the block, and return the process and the address that it prints."""
    command = (*TFGEN, "tensorboard", *args)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=heed_terminal) as process:
        try:
            assert process.stdout
            yield process, process.stdout.readline().strip()
        finally:
            process.terminate()


def test_exec_is_as_if_the_command_ran_here_and_tensorboard_too(
    node: Node, job: MakeJob, namespace: str, tmp_path: Path
) -> None:
    sleep = {"command": ["python", "-c", SLEEPS], "args": []}
    training = job("ps-evaluator", {**sleep, "roles": {"ps": {"replicas": 1}, "worker": {"replicas": 1}}})
    training.apply()
    path = tmp_path / "ps-evaluator" / "job.yaml"
    where = (path, "--env", "laptop", "--namespace", namespace, "--kubeconfig", node.cluster.admin)
    worker = (*TFGEN, "exec", *where, "--role", "worker")
    training.pod("worker")
    training.pod("chief")

    # The streams and the exit code are the command's own, and so are the words after a second --.
    script = 'echo "$@"; echo "$HOSTNAME" >&2; exit 7'
    done = subprocess.run((*worker, "--", "sh", "-c", script, "sh", "--", "-x"), capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"-- -x\n", b"ps-evaluator-worker-0\n")
    done = subprocess.run((*TFGEN, "exec", *where, "--format=json", "--", "pwd"), capture_output=True, check=True)
    row = json.loads(done.stdout)
    assert row["pod"].startswith("ps-evaluator-chief-0")
    assert (row["code"], row["stderr"]) == (0, "")
    data = os.urandom(8 << 20)
    done = subprocess.run((*worker, "-i", "--", "cat"), input=data, capture_output=True, check=True)
    assert done.stdout == data
    done = subprocess.run((*worker, "--", "/no/such"), capture_output=True, check=False)
    assert done.returncode == 3
    assert re.fullmatch(rb"tfgen: error: ps-evaluator-worker-0: .*/no/such.*\n", done.stderr, re.DOTALL)

    # The remote terminal has this size, and the local terminal is unchanged afterwards.
    ours, its = pty.openpty()
    termios.tcsetwinsize(ours, (LINES, COLUMNS))
    before = termios.tcgetattr(its)
    python = ("python", "-c", SHOW_TERMINAL)
    with subprocess.Popen((*worker, "-it", "--", *python), stdin=its, stdout=its, stderr=its) as process:
        wait_until_shown(ours, rb"ready\r\n")
        os.write(ours, b"abc\r")
        wait_until_shown(ours, rb"/dev/pts/\d+ cba\r\n")
        assert process.wait(120) == 3
    assert termios.tcgetattr(its) == before
    done = subprocess.run((*worker, "-it", "--", "cat"), input=b"abc", capture_output=True, check=True)
    assert done.stdout == b"abc"
    assert b"the command has no terminal" in done.stderr

    logs = training.folders["model"] / "1" / "logs" / "train"
    logs.mkdir(parents=True)
    (logs / "events.out.tfevents.1.node").write_bytes(EVENTS)

    # Two commands serve the page at separate ports, and also from the pod that replaces a deleted one.
    deployment = "deployment/ps-evaluator-tensorboard"
    training.kubectl("wait", "--for=condition=Available", deployment, f"--timeout={PATIENCE:.0f}s")
    with shown(*where) as (first, address), shown(*where) as (_, other):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        assert address != other
        for page in (address, other):
            assert "<title>TensorBoard</title>" in fetch(page)
        eventually(lambda: '"1/logs/train"' in fetch(f"{address}data/runs"), "the run", PATIENCE)
        taken = (*TFGEN, "tensorboard", *where, "--port", address.strip("/").rpartition(":")[2])
        done = subprocess.run(taken, capture_output=True, check=False)
        assert done.returncode == 3
        assert b"Address already in use; set --port to a free port" in done.stderr
        training.kubectl("delete", "pod", "--selector=tfgen/role=tensorboard")
        eventually(lambda: "<title>TensorBoard</title>" in fetch(address), "the page of the new pod", PATIENCE)
        first.send_signal(signal.SIGINT)
        assert first.wait(10) == 130


# -- profile ---------------------------------------------------------------------------------------------------------

STEPS_OF_WORKERS = f"""{ENDS_AT_SIGTERM}
import itertools, json
task = json.loads(os.environ["TF_CONFIG"])["task"]
if task["type"] != "worker":
    time.sleep(3600)
import tensorflow as tf
cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec()
server = tf.distribute.Server(cluster, job_name="worker", task_index=task["index"], protocol="grpc")
weights = tf.Variable(tf.eye(200))
@tf.function
def step():
    weights.assign(tf.matmul(weights, weights))
for number in itertools.count():
    step()
    time.sleep(0.02)
    if number % 50 == 0:
        print("step", number, flush=True)
"""


def test_profile_writes_a_trace_of_each_worker(node: Node, job: MakeJob, namespace: str, tmp_path: Path) -> None:
    command = {"command": ["python", "-c", STEPS_OF_WORKERS], "args": []}
    training = job("dist-mnist", {**command, "roles": {"ps": {"replicas": 1}, "worker": {"replicas": 2}}})
    training.apply()
    path, out = tmp_path / "dist-mnist" / "job.yaml", tmp_path / "trace"
    where = (path, "--env", "laptop", "--namespace", namespace, "--kubeconfig", node.cluster.admin)
    profile = (*TFGEN, "profile", *where, "--out", out)
    for index in range(2):
        training.wait_for_line(r"^step 50$", "worker", index)

    done = subprocess.run((*profile, "--all", "--seconds", "3", "--format", "json"), capture_output=True, check=False)
    result = json.loads(done.stdout)
    assert done.returncode == 0, (result, done.stderr)
    assert result["files"] == ["worker-0.xplane.pb", "worker-1.xplane.pb"]
    assert result["failures"] == []
    for file in result["files"]:
        assert b"__inference_step" in (Path(result["folder"]) / file).read_bytes(), "the calls of the tf.function"

    done = subprocess.run((*profile, "--role", "worker", "--index", "1"), capture_output=True, check=True)
    folder, command = re.findall(r"^(?:trace|open): +(.*)$", done.stdout.decode(), re.MULTILINE)
    assert [file.name for file in Path(folder).iterdir()] == ["worker-1.xplane.pb"]
    assert command.startswith(f"tensorboard --logdir {out} ")

    before = sorted(out.rglob("*"))
    done = subprocess.run((*profile, "--role", "ps"), capture_output=True, check=False)
    assert done.returncode == 3
    assert b"no TensorFlow server of ps-0 answers a trace" in done.stderr
    assert sorted(out.rglob("*")) == before
