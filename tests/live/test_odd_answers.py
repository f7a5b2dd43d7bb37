"""Tests with answers that no API server sends, but a proxy, a login page, or a server that restarts."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from tests.support.recorded_run import read_run
from tfgen.errors import TfgenError
from tfgen.live.api import FOLLOWING, Api, ApiError, Patience, pause
from tfgen.live.clusters import read_snapshot
from tfgen.live.connection import Access, Connection

GOLDEN = Path(__file__).parents[1] / "golden"
Answer = tuple[int, Mapping[str, str], bytes]

JSON = {"Content-Type": "application/json"}
PODS = [{"name": "pods", "kind": "Pod", "namespaced": True}]
JOBS = [{"name": "jobs", "kind": "Job", "namespaced": True}]
SETS = [{"name": "statefulsets", "kind": "StatefulSet", "namespaced": True}]
DISCOVERY: Answer = (200, JSON, json.dumps({"kind": "APIResourceList", "resources": PODS}).encode())
NO_PODS: Answer = (200, JSON, b'{"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []}')
NO_NAME = b'{"kind": "PodList", "metadata": {}, "items": [{"metadata": {}}]}'
ODD: Mapping[str, tuple[Answer, str]] = {
    "an empty body": ((200, JSON, b""), "the answer 200 is not valid JSON (content type application/json)"),
    "null": ((200, JSON, b"null"), "the answer 200 is JSON without a Kubernetes list"),
    "a list": ((200, JSON, b"[]"), "the answer 200 is JSON without a Kubernetes list"),
    "no items": ((200, JSON, b'{"kind": "PodList", "metadata": {}, "items": null}'), "is JSON without"),
    "an item without a name": ((200, JSON, NO_NAME), "the answer 200 is JSON without a Kubernetes list"),
    "an item with text for its labels": (
        (200, JSON, b'{"kind": "PodList", "metadata": {}, "items": [{"metadata": {"name": "a", "labels": "b"}}]}'),
        "the answer 200 is JSON without a Kubernetes list",
    ),
    "an item with a number for its status": (
        (200, JSON, b'{"kind": "PodList", "metadata": {}, "items": [{"metadata": {"name": "a"}, "status": 7}]}'),
        "the answer 200 is JSON without a Kubernetes list",
    ),
    "a failure with a success code": (
        (200, JSON, b'{"kind": "Status", "metadata": {}, "status": "Failure", "message": "no leader"}'),
        "the answer 200 is a failure: no leader",
    ),
    "invalid UTF-8": ((200, JSON, b'{"kind": "\xff"}'), "is not valid JSON (content type application/json)"),
    "deep nesting": ((200, JSON, b"[" * 100_000), "is not valid JSON (content type application/json)"),
    "a page": (
        (200, {"Content-Type": "text/html"}, b"<html>log in</html>"),
        "the answer 200 is not valid JSON (content type text/html)",
    ),
    "a redirect": (
        (302, {"Location": "https://login.example.com"}, b""),
        "the answer 302 is a redirect to https://login.example.com",
    ),
}


@contextmanager
def server(answers: Callable[[str], Answer]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = answers(self.path)
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_address[1]}"
        finally:  # a running thread would prevent the end of pytest after a failed test
            http.shutdown()
            thread.join()


def api(folder: Path, host: str, patience: Patience) -> Api:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": host}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
        "users": [{"name": "u", "user": {"token": "secret"}}],
    }
    kubeconfig = folder / "config"
    kubeconfig.write_text(yaml.safe_dump(config))
    return Api(Connection(Access(kubeconfig=str(kubeconfig))), patience, print)


def pods(api: Api) -> object:
    resource = api.resource("v1", "Pod")
    assert resource
    return api.objects(resource, "ml")


@pytest.mark.parametrize("case", ODD)
def test_an_odd_answer_is_asked_for_again(case: str, tmp_path: Path) -> None:
    lists = [NO_PODS, ODD[case][0]]
    with server(lambda path: lists.pop() if "/pods" in path else DISCOVERY) as host:
        assert pods(api(tmp_path, host, Patience(answer=5, total=10))) == []
    assert lists == []


@pytest.mark.parametrize("case", ODD)
def test_a_server_that_goes_on_with_odd_answers_is_no_kubernetes_api(case: str, tmp_path: Path) -> None:
    answer, cause = ODD[case]
    with (
        server(lambda path: answer if "/pods" in path else DISCOVERY) as host,
        pytest.raises(TfgenError, match="is not a Kubernetes API; check the address of the server") as raised,
    ):
        pods(api(tmp_path, host, Patience(answer=5, total=0)))
    assert cause in str(raised.value)


@pytest.mark.parametrize("body", [b"{}", b'{"resources": null}', b'{"resources": [{"name": "pods"}]}'])
def test_a_discovery_without_resources_is_no_kubernetes_api(body: bytes, tmp_path: Path) -> None:
    with server(lambda _: (200, JSON, body)) as host, pytest.raises(TfgenError, match="without a Kubernetes discovery"):
        pods(api(tmp_path, host, Patience(answer=5, total=0)))


@pytest.mark.parametrize("group", ["v1", "apps/v1", "batch/v1"])
def test_a_server_without_a_built_in_group_is_no_kubernetes_api(group: str, tmp_path: Path) -> None:
    with server(lambda _: (404, {}, b"404 page not found")) as host:
        client = api(tmp_path, host, Patience(answer=5, total=0))
        with pytest.raises(
            TfgenError,
            match=f"not a Kubernetes API; .*every Kubernetes API has the path /apis?/{group}, but the answer is 404",
        ):
            client.resource(group, "Pod")
        assert client.resource("jobset.x-k8s.io/v1alpha2", "JobSet") is None


def test_a_following_command_notices_within_ten_seconds_that_the_server_works_again() -> None:
    longest = max(pause(tries, {}, lambda _, longest: longest) for tries in range(100))
    assert longest + FOLLOWING.answer < 10


def test_a_server_that_asks_for_a_long_pause_is_asked_again_after_a_short_one() -> None:
    assert pause(0, {"Retry-After": "3"}) == 3
    assert pause(0, {"Retry-After": "86400"}) == 10


def test_a_command_with_a_time_limit_waits_until_the_limit_and_not_for_the_server(tmp_path: Path) -> None:
    """The server names a pause of a day. The client does not give up at once, and asks a last time at the limit."""
    requests: list[str] = []

    def answer(path: str) -> Answer:
        requests.append(path)
        return 429, {"Retry-After": "86400"}, b"slow down"

    start = time.monotonic()
    patience = FOLLOWING.replaced(deadline=start + 1.2)
    with server(answer) as host, pytest.raises(TfgenError, match=r"no successful answer in 1 s \(429: slow down\)"):
        api(tmp_path, host, patience).resource("v1", "Pod")
    assert time.monotonic() - start >= 1.2
    assert len(requests) == 2


@pytest.mark.parametrize(("code", "text"), [(404, "404 page not found"), (403, "podgroups is forbidden")])
def test_a_kind_that_the_server_does_not_list_ends_no_command(code: int, text: str, tmp_path: Path) -> None:
    """The custom resource definition was deleted after the discovery, or the account lacks a permission."""
    run = read_run(GOLDEN / "kube-batch" / "job.yaml", None)
    kinds = {"/api/v1": PODS, "/apis/batch/v1": JOBS, "/apis/apps/v1": SETS}

    def answer(path: str) -> Answer:
        if path in kinds or path == "/apis/scheduling.incubator.k8s.io/v1alpha1":
            resources = kinds.get(path, [{"name": "podgroups", "kind": "PodGroup", "namespaced": True}])
            return 200, JSON, json.dumps({"kind": "APIResourceList", "resources": resources}).encode()
        is_listed = "/pods" in path or "/jobs" in path
        return NO_PODS if is_listed else (code, {}, text.encode())

    with server(answer) as host:
        snapshot = read_snapshot(api(tmp_path, host, Patience(answer=5, total=0)), "ml", [run])
    assert [line.partition(":")[0] for line in snapshot.unreadable if f"{code}: {text}" in line] == [
        "StatefulSet",
        "PodGroup",
    ]


def test_pods_of_a_run_whose_kind_the_server_lacks_are_an_error(tmp_path: Path) -> None:
    run = read_run(GOLDEN / "job-set" / "job.yaml", None)
    pod = {"metadata": {"name": "job-set-worker-0-0", "labels": {"tfgen/job": "job-set", "tfgen/run": run.run}}}
    some = json.dumps({"kind": "PodList", "metadata": {}, "items": [pod]}).encode()

    def answer(path: str) -> Answer:
        if "jobset" in path:
            return 404, {}, b"404 page not found"
        return (200, JSON, some) if "/pods" in path else DISCOVERY

    message = "the server has pods of the run, but no kind JobSet of jobset.x-k8s.io/v1alpha2"
    with server(answer) as host, pytest.raises(TfgenError, match=message):
        read_snapshot(api(tmp_path, host, Patience(answer=5, total=0)), "ml", [run])


LONG = f'"message": "{"x" * 400}", "reason": "Invalid"'


@pytest.mark.parametrize(
    "body",
    ["null", "[]", '{"message": null}', f'{{{LONG}, "details": {{"causes": [null]}}}}', "<html>", "[" * 100_000],
    ids=["null", "a list", "a null message", "a null cause", "a page", "deep nesting"],
)
def test_an_error_of_another_shape_is_an_error_of_the_server(body: str, tmp_path: Path) -> None:
    with (
        server(lambda _: (400, JSON, body.encode())) as host,
        pytest.raises(ApiError, match=f"^400: {re.escape(body[:200])}$"),
    ):
        api(tmp_path, host, Patience(answer=5, total=0)).resource("jobset.x-k8s.io/v1alpha2", "JobSet")


def test_a_refusal_with_details_of_another_shape_is_short(tmp_path: Path) -> None:
    body = f'{{{LONG}, "details": "none"}}'.encode()
    with server(lambda _: (400, JSON, body)) as host, pytest.raises(ApiError, match=r"^400: x{300}\.\.\.$"):
        api(tmp_path, host, Patience(answer=5, total=0)).resource("jobset.x-k8s.io/v1alpha2", "JobSet")
