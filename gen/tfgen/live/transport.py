"""Run kubectl, which connects this machine to the containers and the ports of pods.

tfgen finds the pod, the container and the port. kubectl connects with the kubeconfig and the context of tfgen. tfgen
explains the failures of kubectl.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Final, NoReturn, TypeAlias, cast

from tfgen.errors import TfgenError
from tfgen.kubernetes.object import Object
from tfgen.live.connection import Access
from tfgen.live.tasks import main_container
from tfgen.record import Record

LOOPBACK: Final = "127.0.0.1"

_AT_ONCE: Final = 64
"""Maximum number of kubectl processes that run at the same time."""
_RETRY: Final = 1.0
"""Seconds between two tries to forward a port to a new pod."""

_EXIT_CODE: Final = re.compile(rb"(command terminated with exit code \d+)\s*\Z")
"""The last message of kubectl after a program with another exit code than 0. kubectl exits with the same code.

After any other message, the exit code is that of kubectl after a failure.
"""
_MESSAGE: Final = re.compile(
    rb"(?:\A|.*\n)((?:error: |Error from server|Unable to connect to the server|The connection to the server).*)\Z",
    re.DOTALL,
)
"""The last message of kubectl after a failure of kubectl itself."""

_FIXES: Final = (
    ("container not found", "the container does not run; tfgen status shows the reason"),
    ("completed pod", "the pod has ended; tfgen status shows the reason"),
    ("(NotFound)", "the pod was replaced or deleted; try again"),
    ("Unauthorized", "the login has expired; log in to the cluster again"),
    ("lost connection to pod", "the pod has ended, or does not accept connections at the port"),
)
"""The explanation of each message of kubectl that contains the text."""

Kubectl: TypeAlias = "subprocess.Popen[bytes]"


class Execution(Record):
    """A command for the training container of a pod.

    Attributes:
        has_stdin: whether the command gets the standard input of tfgen.
        has_terminal: whether the command gets the terminal of tfgen.
    """

    pod: Object
    command: Sequence[str]
    has_stdin: bool = False
    has_terminal: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """Return the arguments of kubectl."""
        options = (*(["--stdin"] if self.has_stdin else []), *(["--tty"] if self.has_terminal else []))
        name: str = self.pod["metadata"]["name"]
        return ("exec", name, f"--container={main_container(self.pod)}", *options, "--", *self.command)


class Executed(Record):
    """The exit code and the output of a command that has run in a container."""

    code: int
    stdout: bytes
    stderr: bytes


def execute(access: Access, execution: Execution, errors: IO[bytes]) -> int:
    """Run a command in a container with the standard streams of tfgen, and return the exit code of the command.

    Args:
        access: the kubeconfig, the context and the namespace of the pod.
        execution: the command.
        errors: the standard error of tfgen.

    Raises:
        TfgenError: kubectl is not installed, the command cannot start, or the connection is lost.
        BrokenPipeError: the reader of the standard output has exited.
    """
    with _kubectl(access, execution.words, None, subprocess.PIPE, has_stdin=execution.has_stdin) as process:
        message, is_copied = _copy_errors(cast("IO[bytes]", process.stderr), errors)
        code = process.wait()
    if code == -signal.SIGPIPE:
        raise BrokenPipeError
    if code and not _EXIT_CODE.match(message):
        raise TfgenError(_explanation(execution.pod, code, message, "exec"))
    if not code and not is_copied:
        errors.write(message)
        errors.flush()
    return code


def collect(access: Access, executions: Sequence[Execution]) -> list[Executed | TfgenError]:
    """Run commands in containers at the same time, and return the output or the error of each command, in order."""
    results: list[Executed | TfgenError] = []
    for start in range(0, len(executions), _AT_ONCE):
        part = executions[start : start + _AT_ONCE]
        with contextlib.ExitStack() as stack:
            started = []
            for execution in part:
                out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
                process = _kubectl(access, execution.words, out, err, has_stdin=execution.has_stdin)
                started.append((execution, stack.enter_context(process), out, err))
            results += [_result(*files) for files in started]
    return results


def _result(execution: Execution, process: Kubectl, stdout: IO[bytes], stderr: IO[bytes]) -> Executed | TfgenError:
    """Wait for the end of a command, and return its output or the error."""
    code = process.wait()
    stdout.seek(0)
    stderr.seek(0)
    errors = stderr.read()
    start = _message_start(errors) if code else len(errors)
    if code and not _EXIT_CODE.match(errors, start):
        return TfgenError(_explanation(execution.pod, code, errors[start:], "exec"))
    return Executed(code, stdout.read(), errors[:start])


def free_port(requested: int | None, preferred: int) -> int:
    """Return a port of the loopback interface that no program uses.

    Args:
        requested: the port to return; 0 for any free port; None for the port `preferred`, or for any free port if
            `preferred` is in use.
        preferred: the port of the pod.

    Raises:
        TfgenError: the requested port is in use.
    """
    if requested is None:
        with contextlib.suppress(OSError), socket.create_server((LOOPBACK, preferred)):
            return preferred
    try:
        with socket.create_server((LOOPBACK, requested or 0)) as listener:
            port: int = listener.getsockname()[1]
            return port
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)  # the message already contains the address
        raise TfgenError(f"{LOOPBACK}:{requested}: {reason}; set --port to a free port") from error


def forward(
    access: Access,
    find_pod: Callable[[], Object],
    ports: tuple[int, int],
    announce: Callable[[], None],
    tell: Callable[[str], None],
) -> NoReturn:
    """Forward a local port to a port of a pod until Ctrl-C. If the pod ends, forward to the pod that replaces it.

    Args:
        access: the kubeconfig, the context and the namespace of the pod.
        find_pod: function that returns the pod.
        ports: the local port, and the port of the pod.
        announce: function that is called once, when the port accepts connections.
        tell: function that receives one line for each reason why the port is not forwarded.

    Raises:
        TfgenError: kubectl is not installed, there is no pod, or kubectl cannot forward the port for the first time.
    """
    is_announced = False
    told = ""
    while True:
        try:
            for _ in _forwarding(access, find_pod(), ports):
                told = ""
                if not is_announced:
                    announce()
                    is_announced = True
        except TfgenError as error:
            if not is_announced:
                raise
            if told != str(error):
                told = str(error)
                tell(f"{told}; trying again")
        time.sleep(_RETRY)


def _forwarding(access: Access, pod: Object, ports: tuple[int, int]) -> Iterator[None]:
    """Forward a local port to a port of a pod until kubectl ends. Yield when the local port accepts connections.

    Raises:
        TfgenError: kubectl has ended.
    """
    name = pod["metadata"]["name"]
    words = ("port-forward", f"pod/{name}", f"{ports[0]}:{ports[1]}", f"--address={LOOPBACK}")
    message = b""
    with _kubectl(access, words, subprocess.PIPE, subprocess.STDOUT) as process:
        for line in cast("IO[bytes]", process.stdout):
            if line.startswith(b"Forwarding from "):
                yield
            elif not line.startswith(b"Handling connection"):
                message = line
        code = process.wait()
    raise TfgenError(_explanation(pod, code, message, "portforward"))


@contextlib.contextmanager
def _kubectl(
    access: Access,
    words: Sequence[str],
    stdout: int | IO[bytes] | None,
    stderr: int | IO[bytes],
    *,
    has_stdin: bool = False,
) -> Iterator[Kubectl]:
    """Start kubectl, and end kubectl at the end of the block.

    Raises:
        TfgenError: kubectl is not installed, or cannot start.
    """
    context = (f"--context={access.context}",) if access.context else ()
    argv = ("kubectl", *context, f"--namespace={access.namespace}", *words)
    stdin = None if has_stdin else subprocess.DEVNULL
    environment = {**os.environ, **({"KUBECONFIG": access.kubeconfig} if access.kubeconfig else {})}
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell, and the words of the user come after --
            argv, env=environment, stdin=stdin, stdout=stdout, stderr=stderr
        )
    except FileNotFoundError as error:
        message = "the PATH has no kubectl; install kubectl: https://kubernetes.io/docs/tasks/tools/"
        raise TfgenError(message) from error
    except OSError as error:
        raise TfgenError(f"kubectl cannot start: {error.strerror}") from error
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()


def _copy_errors(source: IO[bytes], target: IO[bytes]) -> tuple[bytes, bool]:
    """Copy the standard error of kubectl, except the last message of kubectl.

    kubectl prints its last message immediately before its end. All other text comes from the command. A line of the
    command that looks like a message of kubectl is copied one second later.

    Returns:
        The last text that looks like a message of kubectl, and whether that text was copied.
    """
    held, is_copied = b"", True
    while True:
        # The line in `held` looks like kubectl's last message. The end of kubectl, which shows that it is, takes half a
        # second or more on a machine without a free processor.
        if not is_copied and not select.select([source], [], [], 1.0)[0]:
            target.write(held)
            target.flush()
            is_copied = True
        data = os.read(source.fileno(), 1 << 16)
        if not data:
            return held, is_copied
        text = data if is_copied else held + data
        start = _message_start(text)
        target.write(text[:start])
        target.flush()
        held, is_copied = text[start:], start == len(text)


def _message_start(text: bytes) -> int:
    """Return the position of the last message of kubectl in a text; the length of the text if there is none."""
    match = _EXIT_CODE.search(text) or _MESSAGE.match(text)
    return match.start(1) if match else len(text)


def _explanation(pod: Object, code: int, message: bytes, subresource: str) -> str:
    """Return the message of kubectl after a failure, with the reason or the fix where kubectl does not give it."""
    text = " ".join(message.decode("utf-8", "replace").split()).removeprefix("error: ")
    if not text:
        text = f"kubectl was ended by signal {-code}" if code < 0 else f"kubectl ended with code {code}"
    fix = next((fix for part, fix in _FIXES if part in text), "")
    if "forbidden" in text.lower():
        fix = f"the account needs the verb get for pods, and the verb create for pods/{subresource}"
    return f"{pod['metadata']['name']}: {text}{f'; {fix}' if fix else ''}"
