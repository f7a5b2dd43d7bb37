"""Tests of kubectl as a process. A shell script, which prints recorded messages of kubectl 1.36, takes its place.

tests/e2e/node/test_live.py runs the real kubectl.
"""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.signals import heed_terminal
from tfgen.errors import TfgenError
from tfgen.live import transport
from tfgen.live.connection import Access
from tfgen.live.transport import LOOPBACK, Executed, Execution, collect, execute, forward, free_port

POD = {"metadata": {"name": "mnist-worker-1"}, "spec": {"containers": [{"name": "tensorflow"}, {"name": "proxy"}]}}
ACCESS = Access(kubeconfig="config", context="prod", namespace="ml")
COMMAND = Execution(POD, ("nvidia-smi", "-L"))
PATIENCE = 60

EXIT_7 = "echo 'command terminated with exit code 7' >&2; exit 7"
NO_PROGRAM = (
    "error: Internal error occurred: error executing command in container: failed to exec in container: "
    "OCI runtime exec failed: exec failed: unable to start container process: "
    'exec: "/no/such": stat /no/such: no such file or directory: unknown'
)
FORBIDDEN = (
    'error: unable to upgrade connection: pods "mnist-worker-1" is forbidden: User "ann" cannot create resource '
    '"pods/exec" in API group "" in the namespace "ml"'
)

Kubectl = Callable[[str], Path]


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kubectl:
    """Return a function that puts a script on the PATH as kubectl. The script writes its arguments to a file."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def write(script: str) -> Path:
        program, words = folder / "kubectl", tmp_path / "words"
        program.write_text(f'#!/bin/bash\nprintf "%s\\n" "$KUBECONFIG" "$@" > {words}\n{script}\n', encoding="utf-8")
        program.chmod(0o755)
        return words

    return write


def run(execution: Execution = COMMAND) -> tuple[int, str]:
    """Return the exit code of a command, and the standard error that the user sees."""
    errors = io.BytesIO()
    return execute(ACCESS, execution, errors), errors.getvalue().decode()


def test_kubectl_gets_the_cluster_the_container_and_the_words(kubectl: Kubectl) -> None:
    words = kubectl("")
    run(COMMAND.replaced(has_stdin=True, has_terminal=True))
    assert words.read_text(encoding="utf-8").splitlines() == [
        *("config", "--context=prod", "--namespace=ml", "exec", "mnist-worker-1", "--container=tensorflow"),
        *("--stdin", "--tty", "--", "nvidia-smi", "-L"),
    ]


def test_the_streams_and_the_exit_code_are_those_of_the_command(
    kubectl: Kubectl, capfd: pytest.CaptureFixture[str]
) -> None:
    kubectl(f"cat; echo out; echo 'error: loss is nan' >&2; {EXIT_7}")
    assert run() == (7, "error: loss is nan\n")
    assert capfd.readouterr().out == "out\n"
    kubectl("echo 'error: loss is nan' >&2; sleep 2; printf last >&2; exit 0")
    assert run() == (0, "error: loss is nan\nlast")
    kubectl("echo 'error: loss is nan' >&2; exit 0")
    assert run() == (0, "error: loss is nan\n")
    kubectl(f"printf 'no line end' >&2; {EXIT_7}")
    assert run() == (7, "no line end")


def test_a_line_that_looks_like_a_message_of_kubectl_appears_before_the_end(kubectl: Kubectl, tmp_path: Path) -> None:
    copied = tmp_path / "errors"
    kubectl(f"echo 'error: slow' >&2; for _ in $(seq 100); do [ -s {copied} ] && exit 0; sleep 0.1; done; exit 1")
    with copied.open("wb") as errors:
        assert execute(ACCESS, COMMAND, errors) == 0, "kubectl saw the line within ten seconds"
    assert copied.read_text(encoding="utf-8") == "error: slow\n"


@pytest.mark.parametrize(
    ("message", "explanation"),
    [
        (NO_PROGRAM, r'Internal error occurred: .*exec: "/no/such": stat /no/such: no such file or directory: unknown'),
        (FORBIDDEN, r".*; the account needs the verb get for pods, and the verb create for pods/exec"),
        (
            'error: unable to upgrade connection: container not found ("tensorflow")',
            r".*; the container does not run; tfgen status shows the reason",
        ),
        (
            "error: cannot exec into a container in a completed pod; current phase is Succeeded",
            r".*; the pod has ended; tfgen status shows the reason",
        ),
        (
            'Error from server (NotFound): pods "mnist-worker-1" not found',
            r".*; the pod was replaced or deleted; try again",
        ),
        ("error: You must be logged in to the server (Unauthorized)", r".*; the login has expired; log in to .*"),
        ("Unable to connect to the server: EOF", "Unable to connect to the server: EOF"),
        ("", "kubectl ended with code 1"),
    ],
)
def test_a_failure_of_kubectl_is_explained(kubectl: Kubectl, message: str, explanation: str) -> None:
    kubectl(f"echo of the command >&2; cat >&2 <<'END'\n{message}\nEND\nexit 1")
    errors = io.BytesIO()
    with pytest.raises(TfgenError, match=rf"^mnist-worker-1: {explanation}$"):
        execute(ACCESS, COMMAND, errors)
    assert errors.getvalue().rstrip() == b"of the command"
    (result,) = collect(ACCESS, [COMMAND])
    assert isinstance(result, TfgenError)
    assert result.exit_code == 3


def test_the_reader_of_the_output_may_exit_early(kubectl: Kubectl) -> None:
    kubectl("kill -PIPE $$")
    with pytest.raises(BrokenPipeError):
        run()
    kubectl("kill -KILL $$")
    with pytest.raises(TfgenError, match=r"^mnist-worker-1: kubectl was ended by signal 9$"):
        run()


def test_commands_run_at_the_same_time(kubectl: Kubectl) -> None:
    kubectl(f"echo out; echo err >&2; sleep 2; {EXIT_7}")
    began = time.monotonic()
    results = collect(ACCESS, [COMMAND] * 4)
    assert time.monotonic() - began < 6
    assert results == [Executed(7, b"out\n", b"err\n")] * 4


def test_a_missing_kubectl_is_told_with_its_cure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    message = r"^the PATH has no kubectl; install kubectl: https://kubernetes\.io/docs/tasks/tools/$"
    with pytest.raises(TfgenError, match=message):
        run()


# -- signals ---------------------------------------------------------------------------------------------------------

PROGRAM = """
import sys
from tfgen import cli
from tfgen.live.connection import Access
from tfgen.live.transport import Execution, execute
pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}
cli._run_command = lambda args: execute(Access(namespace="ml"), Execution(pod, ["x"]), sys.stderr.buffer)
cli.main(["schema"])
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_kubectl_and_tfgen(number: signal.Signals, code: int, kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl(f"echo $$ > {tmp_path / 'pid'}; exec sleep 600")
    with subprocess.Popen((sys.executable, "-c", PROGRAM), preexec_fn=heed_terminal, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + PATIENCE
        while not (tmp_path / "pid").exists() or not (pid := (tmp_path / "pid").read_text(encoding="utf-8")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (code, b"")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


# -- forwarded ports -------------------------------------------------------------------------------------------------


class EndOfTestError(Exception):
    """Error that ends the loop of a forwarded port."""


def test_a_lost_pod_is_replaced_at_the_same_port(kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch) -> None:
    words = kubectl(
        "echo 'Forwarding from 127.0.0.1:7000 -> 6006'; echo 'Handling connection for 7000'\n"
        "echo 'error: lost connection to pod' >&2; exit 1"
    )
    monkeypatch.setattr(transport, "_RETRY", 0)
    pods = iter(["a", "b"])
    announced, told = [], []

    def find_pod() -> dict[str, object]:
        for name in pods:
            return {"metadata": {"name": name}}
        raise EndOfTestError

    with pytest.raises(EndOfTestError):
        forward(ACCESS, find_pod, (7000, 6006), lambda: announced.append(1), told.append)
    assert announced == [1]
    reason = "lost connection to pod; the pod has ended, or does not accept connections at the port; trying again"
    assert told == [f"a: {reason}", f"b: {reason}"]
    assert words.read_text(encoding="utf-8").splitlines()[3:] == [
        *("port-forward", "pod/b", "7000:6006", "--address=127.0.0.1")
    ]


def test_a_port_that_cannot_be_forwarded_is_an_error(kubectl: Kubectl) -> None:
    kubectl(f"echo '{FORBIDDEN}' >&2; exit 1")
    with pytest.raises(TfgenError, match=r"; the account needs the verb get .* create for pods/portforward$"):
        forward(ACCESS, lambda: POD, (7000, 6006), pytest.fail, pytest.fail)


def test_the_local_port_is_free() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        taken = server.getsockname()[1]
        assert free_port(None, taken) != taken
        assert free_port(0, taken) not in (0, taken)
        with pytest.raises(TfgenError, match=rf"127\.0\.0\.1:{taken}: Address already in use; set --port to a free"):
            free_port(taken, taken)
    assert free_port(None, taken) == taken
    assert free_port(taken, 6006) == taken
