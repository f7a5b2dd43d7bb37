"""The messages that the finisher posts to a real server on the loopback interface, and its reactions to each answer.

For each answer of the webhook, the finisher first releases the job, and exits with 0.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.api_server import ApiServer, ended, timestamp
from tests.support.finisher import CHIEF, PS, Finisher, wait_for_replicas

SECRET = "T0-secret"
RELEASED = "finisher: all tasks are released"
TOLD = "webhook: notified"


class Webhook:
    """A server that answers each POST with the next answer of its script, and at the end of the script with 204.

    An answer is a status code, "hang" (no answer), "drip" (one byte at a time), or "cut" (a closed connection).
    """

    def __init__(self, *script: int | str, headers: dict[str, str] | None = None) -> None:
        self.messages: list[tuple[str, str, Any]] = []
        script_left, ended_, headers = [*script], threading.Event(), headers or {}
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                webhook.messages.append((self.path, self.headers["Content-Type"], json.loads(body)))
                match script_left.pop(0) if script_left else 204:
                    case int(status):
                        self.send_response(status)
                        for name, value in headers.items():
                            self.send_header(name, value)
                        self.end_headers()
                    case "hang":
                        ended_.wait(60)
                    case "drip":
                        while not ended_.wait(0.1):
                            self.wfile.write(b"H")
                    case "cut":
                        self.connection.shutdown(socket.SHUT_RDWR)

            def do_GET(self) -> None:
                webhook.messages.append((self.path, "GET", None))

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                pass  # ignore a client that has disconnected

        self._ended, self._server = ended_, Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}/hooks/{SECRET}?token={SECRET}"

    def __enter__(self) -> Webhook:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()


def run(server: ApiServer, log: Path, address: str, *args: str, **constants: int) -> Sequence[str]:
    """Return the log of the notification, which follows the release, and check that the log has no address."""
    arguments = ("--ends=mnist-chief", f"--scale={PS}", "--job=mnist", "--run=r2", *args)
    with Finisher(server, log, *arguments, address=address, **constants) as finisher:
        assert finisher.end() == 0, log.read_text()
        lines = finisher.log
    assert SECRET not in log.read_text()
    assert server.get(PS)["spec"]["replicas"] == 0
    return lines[lines.index(RELEASED) + 1 :]


@pytest.fixture
def complete(server: ApiServer) -> ApiServer:
    """Start a server whose chief began two minutes ago and has been complete for one minute."""
    server.put(CHIEF, {"status": {"startTime": timestamp(120), **ended("Complete", seconds_ago=60)}})
    return server


def test_the_webhook_gets_one_message_once_all_is_released(complete: ApiServer, log: Path) -> None:
    with Webhook() as webhook:
        assert run(complete, log, webhook.address) == [TOLD]
    ((path, content_type, message),) = webhook.messages
    assert path == f"/hooks/{SECRET}?token={SECRET}"
    assert content_type == "application/json"
    assert message.pop("duration") in (59, 60, 61)
    assert message == {"job": "mnist", "run": "r2", "result": "Complete"}


@pytest.mark.parametrize("options", [(), ("--on-failure=Keep",)])
def test_a_failed_job_is_told_of_also_where_it_keeps_what_it_has(
    server: ApiServer, log: Path, options: tuple[str, ...]
) -> None:
    server.put(CHIEF, {"status": ended("Failed")})
    with (
        Webhook() as webhook,
        Finisher(
            server, log, "--ends=mnist-chief", "--job=mnist", "--run=", *options, address=webhook.address
        ) as finisher,
    ):
        assert finisher.end() == 0
        assert finisher.log[-1] == TOLD
    assert [message for *_, message in webhook.messages] == [
        {"job": "mnist", "run": "", "result": "Failed", "duration": None}
    ]


def test_a_job_that_is_gone_is_told_of(server: ApiServer, log: Path) -> None:
    server.delete(CHIEF)
    with Webhook() as webhook:
        assert run(server, log, webhook.address, faster=500) == [TOLD]
    assert webhook.messages[0][2]["result"] == "Gone"


@pytest.mark.parametrize(
    ("script", "trouble"),
    [
        ((500, 503), "the answer is 50{}; ApiError, trying again"),
        ((429,), "the answer is 429; ApiError, trying again"),
        (("cut",), "RemoteDisconnected; ApiError, trying again"),
    ],
)
def test_what_may_pass_is_tried_again(
    complete: ApiServer, log: Path, script: tuple[int | str, ...], trouble: str
) -> None:
    with Webhook(*script) as webhook:
        lines = run(complete, log, webhook.address)
    expected = [f"webhook: {trouble}".format(str(answer)[2:]) for answer in script]
    assert lines == [*expected, TOLD]
    assert len(webhook.messages) == len(script) + 1


@pytest.mark.parametrize("answer", ["hang", "drip"])
def test_an_answer_that_never_ends_is_cut_off(complete: ApiServer, log: Path, answer: str) -> None:
    with Webhook(answer) as webhook:
        began = time.monotonic()
        lines = run(complete, log, webhook.address, ANSWER=1)
        assert time.monotonic() - began < 30
    assert lines == ["webhook: no answer in 1 s; ApiError, trying again", TOLD]


def test_the_second_release_does_not_wait_for_the_webhook(complete: ApiServer, log: Path) -> None:
    arguments = ("--ends=mnist-chief", f"--scale={PS}", "--job=mnist", "--run=r2")
    with (
        Webhook("hang") as webhook,
        Finisher(complete, log, *arguments, address=webhook.address, ANSWER=60, AGAIN=600, faster=10) as finisher,
    ):
        finisher.wait_for_log(RELEASED)
        complete.put(PS, {"spec": {"replicas": 2}})
        wait_for_replicas(complete, PS, 0)
        assert TOLD not in finisher.log


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (302, "the answer is 302: the finisher follows no redirect, so the Secret must contain the final address"),
        (307, "the answer is 307: the finisher follows no redirect, so the Secret must contain the final address"),
        (401, "the answer is 401"),
        (404, "the answer is 404"),
    ],
)
def test_what_does_not_pass_is_not_tried_again(complete: ApiServer, log: Path, status: int, message: str) -> None:
    with Webhook() as other, Webhook(status, headers={"Location": other.address}) as webhook:
        assert run(complete, log, webhook.address) == [f"webhook: not notified: {message}"]
    assert len(webhook.messages) == 1
    assert other.messages == []


def test_a_webhook_that_is_down_is_given_up_in_the_end(complete: ApiServer, log: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/{SECRET}"
        *tries, last = run(complete, log, address, TELL=20)
    assert set(tries) == {"webhook: Connection refused; ApiError, trying again"}
    assert last == "webhook: not notified: no successful answer in 20 s"


@pytest.mark.parametrize(
    "address",
    [
        f"ftp://hooks.internal/{SECRET}",
        f"hooks.internal/{SECRET}",
        f"http:///{SECRET}",
        f"http://hooks.internal/{SECRET} and more",
        f"http://hooks.internal/{SECRET}\r\nHost: other",
        f"https://hooks.ïnternal/{SECRET}",
    ],
)
def test_an_address_that_is_none(complete: ApiServer, log: Path, address: str) -> None:
    (line,) = run(complete, log, address)
    assert line == "webhook: not notified: the address in the Secret must begin with http:// or https://"


@pytest.mark.parametrize("address", [f"http://hooks.internal:{SECRET}/", f"http://[{SECRET}/", "http://h:99999999/"])
def test_an_address_that_cannot_be_read_is_given_up(complete: ApiServer, log: Path, address: str) -> None:
    assert run(complete, log, address, TELL=5)[-1].startswith("webhook: not notified: ")


@pytest.mark.parametrize("address", ["", "\n"])
def test_a_secret_that_is_not_there(complete: ApiServer, log: Path, address: str) -> None:
    assert run(complete, log, address) == [
        "webhook: not notified: no address: the Secret of completion.notify, or its key, does not exist"
    ]
