"""A small Kubernetes API server for a program that reads and patches Jobs and StatefulSets.

    with ApiServer() as server:
        server.put("jobs/mnist-chief", {"status": {"active": 1}})
        ...                                # a program with server.account and server.environment
        server.put("jobs/mnist-chief", {"status": ended("Complete")})
    server.requests                        -> ["get jobs/mnist-chief", "get jobs/mnist-chief", ...]

A test can set faults for a request. The server returns each fault once, in order, before the server looks at the
objects.
"""

from __future__ import annotations

import json
import ssl
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Object = Mapping[str, Any]

NAMESPACE = "ml"
GROUPS = {"jobs": "batch", "statefulsets": "apps", "deployments": "apps"}
KINDS = {"jobs": "Job", "statefulsets": "StatefulSet", "deployments": "Deployment"}
PATIENCE = 120  # seconds that a test waits for an event
CERTIFICATES = Path(__file__).parents[1] / "data" / "api-server"
"""A certificate authority and its certificate for 127.0.0.1, valid from 2020 to 2119, for these tests only.

As in many clusters, the certificate does not name the authority's key: https://github.com/canonical/microk8s/issues/4864.
"""


@dataclass(frozen=True)
class Fault:
    """An answer that does not come from the objects.

    Attributes:
        body: An object, or text that the server sends unchanged.
        cut: Break the connection before the announced length.
        hangs: Send no answer.
    """

    status: int = 200
    body: Object | str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    hangs: bool = False


def status(code: int, reason: str, message: str = "", **details: str) -> Object:
    """Return a Status, which the API server sends in place of an object."""
    return {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}


def timestamp(seconds_ago: float = 0) -> str:
    """Return a time in the past in the format of Kubernetes."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds_ago))


def ended(*conditions: str, seconds_ago: float = 0) -> Object:
    """Return the status of a Job with these conditions."""
    at = timestamp(seconds_ago)
    return {"conditions": [{"type": type_, "status": "True", "lastTransitionTime": at} for type_ in conditions]}


class ApiServer:
    """A context manager that runs the server on its own port.

    Attributes:
        account: Folder of a service account: the token, the namespace and the certificate authority of the server.
        token: The token that the server accepts.
        requests: Requests as "VERB RESOURCE/NAME", followed by the patch of a PATCH request.
        faults: Faults by request, without the patch.
        allows: Test whether a verb on a resource and a name is allowed. By default, the server allows all requests.
    """

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.token = "first"
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        self.allows: Callable[[str, str, str], bool] = lambda *_: True
        self._objects: dict[str, dict[str, Any]] = {}
        self._changed = threading.Condition()
        self._open = True
        self._folder = tempfile.TemporaryDirectory()
        self.account = Path(self._folder.name)
        (self.account / "token").write_text(self.token)
        (self.account / "namespace").write_text(NAMESPACE)
        (self.account / "ca.crt").write_text((CERTIFICATES / "authority.pem").read_text())
        self._server = _Server(self)

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the variables with which Kubernetes passes the address of the API server to a pod."""
        host, port = self._server.server_address[:2]
        return {"KUBERNETES_SERVICE_HOST": str(host), "KUBERNETES_SERVICE_PORT": str(port)}

    def __enter__(self) -> ApiServer:
        self.listen()
        return self

    def listen(self) -> None:
        """Start to serve requests. Before this call, the server has a port and refuses connections."""
        self._server.server_activate()
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}).start()

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._open = False
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._folder.cleanup()

    # -- for the test ----------------------------------------------------------------------------------------------

    def put(self, path: str, content: Object) -> None:
        """Create or replace an object, for example "jobs/mnist-chief"."""
        with self._changed:
            kind, name = path.split("/")
            metadata = {"name": name, "creationTimestamp": timestamp(), **content.get("metadata", {})}
            self._objects[path] = {"kind": KINDS[kind], **content, "metadata": metadata}

    def delete(self, path: str) -> None:
        """Delete an object."""
        with self._changed:
            del self._objects[path]

    def get(self, path: str) -> Object:
        """Return the current object."""
        return self._objects[path]

    def wait_for(self, request: str, times: int = 1) -> None:
        """Wait until the server has received a request `times` times."""
        with self._changed:
            came = self._changed.wait_for(lambda: self.requests.count(request) >= times, PATIENCE)
        assert came, f"{request!r} did not come {times} times in {PATIENCE} s: {self.requests}"

    # -- for the handler -------------------------------------------------------------------------------------------

    def note(self, request: str, patch: str) -> Fault | None:
        """Record a request, and return its next fault, or None."""
        with self._changed:
            self.requests.append(f"{request} {patch}".strip())
            self._changed.notify_all()
            return self.faults[request].pop(0) if self.faults[request] else None

    def read(self, path: str) -> Object | None:
        """Return an object, or None if the object does not exist."""
        with self._changed:
            return self._objects.get(path)

    def patch(self, path: str, patch: Object) -> Object | None:
        """Return an object after a JSON merge patch, or None if the object does not exist."""
        with self._changed:
            if path not in self._objects:
                return None
            self._objects[path] = _merged(self._objects[path], patch)
            return self._objects[path]

    def hang(self) -> None:
        """Wait until the server closes."""
        with self._changed:
            self._changed.wait_for(lambda: not self._open)


def _merged(under: Any, over: Any) -> Any:
    """Return a merge patch of two values as in RFC 7396, without the rule that null deletes a key."""
    if not isinstance(under, dict) or not isinstance(over, dict):
        return over
    return {**under, **{key: _merged(under.get(key), value) for key, value in over.items()}}


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # closing the server waits for unfinished answers

    def __init__(self, api: ApiServer) -> None:
        self.api = api
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(CERTIFICATES / "server.pem")
        super().__init__(("127.0.0.1", 0), _Handler, bind_and_activate=False)
        self.server_bind()

    def get_request(self) -> tuple[Any, Any]:
        socket, address = super().get_request()
        return self._context.wrap_socket(socket, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, *_: object) -> None:
        """Ignore a client that refuses the certificate or is killed."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._serve("get", lambda path: self._answer(path, self.server.api.read(path)))

    def do_PATCH(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.headers["Content-Type"] != "application/merge-patch+json":
            return self._json(415, status(415, "UnsupportedMediaType"))
        patch = json.loads(text)
        is_scale = self.path.endswith("/scale")
        return self._serve(
            "patch", lambda path: self._answer(path, self._patched(path, patch, is_scale=is_scale)), text
        )

    def _serve(self, verb: str, then: Callable[[str], None], patch: str = "") -> None:
        """Check a request in the order of the real server before `then` answers: fault, token, permission, path."""
        api, (*base, kind, name) = self.server.api, self.path.removesuffix("/scale").split("/")
        sub = self.path.endswith("/scale")
        fault = api.note(f"{verb} {kind}/{name}{'/scale' if sub else ''}", patch)
        if fault:
            return self._fault(fault)
        if self.headers["Authorization"] != f"Bearer {api.token}":
            return self._json(401, status(401, "Unauthorized", "Unauthorized"))
        if not api.allows(verb, kind + ("/scale" if sub else ""), name):
            return self._json(403, status(403, "Forbidden", "forbidden by the Role"))
        if base != ["", "apis", GROUPS[kind], "v1", "namespaces", NAMESPACE]:
            return self._json(404, status(404, "NotFound", "no such resource"))
        return then(f"{kind}/{name}")

    def _patched(self, path: str, patch: Object, *, is_scale: bool) -> Object | None:
        """Return the object after a patch. After a patch of its scale, return a Scale, as the real server does."""
        item = self.server.api.patch(path, patch)
        return {**item, "kind": "Scale"} if item and is_scale else item

    def _answer(self, path: str, found: Object | None) -> None:
        if found is None:
            return self._json(404, status(404, "NotFound", f"{path} not found", name=path.split("/")[1]))
        return self._json(200, found)

    def _json(self, code: int, body: Object) -> None:
        self._fault(Fault(code, body, {"Content-Type": "application/json"}))

    def _fault(self, fault: Fault) -> None:
        if fault.hangs:
            self.server.api.hang()
            return
        body = (fault.body if isinstance(fault.body, str) else json.dumps(fault.body)).encode()
        self.send_response(fault.status)
        for key, value in {**fault.headers, "Content-Length": str(len(body) + fault.cut)}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True
