"""A small Kubernetes API server for a program that reads and patches Jobs and StatefulSets.

    with ApiServer() as server:
        server.put("jobs/mnist-chief", {"status": {"active": 1}})
        ...                                # a program with server.account and server.environment
        server.put("jobs/mnist-chief", {"status": ended("Complete")})
    server.requests                        -> ["get jobs/mnist-chief", "watch jobs/mnist-chief", ...]

The server stores objects and streams their changes to watches, as the real server does: https://kubernetes.io/docs/
reference/using-api/api-concepts/. A test can also set faults for a request. The server returns each fault once, in
order, before the server looks at the objects.
"""

from __future__ import annotations

import json
import ssl
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

Object = Mapping[str, Any]

NAMESPACE = "ml"
GROUPS = {"jobs": "batch", "statefulsets": "apps", "deployments": "apps"}
KINDS = {"jobs": "Job", "statefulsets": "StatefulSet", "deployments": "Deployment"}
PATIENCE = 120  # seconds that a test waits for an event


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
        faster: Speed of the clock of the program. The server divides the timeout of a watch by this number.
        faults: Faults by request, without the patch.
        allows: Test whether a verb on a resource and a name is allowed. By default, the server allows all requests.
    """

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.token = "first"
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        self.allows: Callable[[str, str, str], bool] = lambda *_: True
        self._objects: dict[str, dict[str, Any]] = {}
        self.faster = 1.0
        self._changes: list[tuple[str, str, str]] = []  # type of the change, path of the object, event as JSON
        self._oldest = 0  # lowest version that a watch can begin at
        self._changed = threading.Condition()
        self._open = True
        self._folder = tempfile.TemporaryDirectory()
        self.account = Path(self._folder.name)
        (self.account / "token").write_text(self.token)
        (self.account / "namespace").write_text(NAMESPACE)
        (self.account / "ca.crt").write_text(_AUTHORITY)
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
            before = self._objects.get(path)
            metadata = {"name": path.split("/")[1], "creationTimestamp": timestamp(), **content.get("metadata", {})}
            self._store(
                "MODIFIED" if before else "ADDED",
                path,
                {"kind": KINDS[path.split("/")[0]], **content, "metadata": metadata},
            )

    def delete(self, path: str) -> None:
        """Delete an object."""
        with self._changed:
            self._store("DELETED", path, self._objects[path])
            del self._objects[path]

    def get(self, path: str) -> Object:
        """Return the current object."""
        return self._objects[path]

    def restart(self) -> None:
        """Drop all changes, as a server does after a restart. The objects retain their versions."""
        with self._changed:
            self._oldest = len(self._changes) + 1

    def wait_for(self, request: str, times: int = 1) -> None:
        """Wait until the server has received a request `times` times."""
        with self._changed:
            came = self._changed.wait_for(lambda: self.requests.count(request) >= times, PATIENCE)
        assert came, f"{request!r} did not come {times} times in {PATIENCE} s: {self.requests}"

    # -- for the handler -------------------------------------------------------------------------------------------

    def _store(self, change: str, path: str, content: dict[str, Any]) -> None:
        content["metadata"] = {**content["metadata"], "resourceVersion": str(len(self._changes) + 1)}
        self._objects[path] = content
        self._changes.append((change, path, json.dumps({"type": change, "object": content})))
        self._changed.notify_all()

    def note(self, request: str, patch: str) -> tuple[Fault | None, str]:
        """Record a request. Return its next fault, or None, and the version of the objects at the request."""
        with self._changed:
            self.requests.append(f"{request} {patch}".strip())
            self._changed.notify_all()
            fault = self.faults[request].pop(0) if self.faults[request] else None
            return fault, str(len(self._changes))

    def read(self, path: str) -> Object | None:
        """Return an object, or None if the object does not exist."""
        with self._changed:
            return self._objects.get(path)

    def patch(self, path: str, patch: Object) -> Object | None:
        """Return an object after a JSON merge patch, or None if the object does not exist."""
        with self._changed:
            if path not in self._objects:
                return None
            self._store("MODIFIED", path, _merged(self._objects[path], patch))
            return self._objects[path]

    def is_forgotten(self, version: str) -> bool:
        """Test whether the server has dropped a version, so that no watch can begin at the version."""
        with self._changed:
            return version != "" and int(version) < self._oldest

    def changes(self, path: str, version: str, came: str, seconds: float) -> Iterable[str]:
        """Yield the changes of an object as they happen, until `seconds` have passed or the server closes.

        The changes begin after `version`. Without `version`, the first change is the object at the time of the request,
        as an added object. So a test that has waited for the request misses no change that the test makes afterwards.
        """
        until = time.monotonic() + seconds / self.faster
        after = int(version or came)
        with self._changed:
            past = [(change, text) for change, changed, text in self._changes[:after] if changed == path]
        if not version and past and past[-1][0] != "DELETED":
            yield json.dumps({**json.loads(past[-1][1]), "type": "ADDED"})
        while True:
            with self._changed:
                new = self._changes[after:]
                left = until - time.monotonic()
                if not self._open or left <= 0:
                    return
                if not new:
                    self._changed.wait(left)
            after += len(new)
            yield from (text for _, changed, text in new if changed == path)

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
        pem = api.account / "server.pem"
        pem.write_text(_KEY + _CERTIFICATE)
        self._context.load_cert_chain(pem)
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
        query = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
        if "watch" in query:
            field_, _, name = query["fieldSelector"].partition("=")
            assert field_ == "metadata.name"
            assert 0 < int(query["timeoutSeconds"]) <= 300
            self._serve("watch", f"/{name}", lambda path, came: self._stream(path, came, query))
        else:
            self._serve("get", "", lambda path, _: self._answer(path, self.server.api.read(path)))

    def do_PATCH(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.headers["Content-Type"] != "application/merge-patch+json":
            return self._json(415, status(415, "UnsupportedMediaType"))
        patch = json.loads(text)
        is_scale = urlsplit(self.path).path.endswith("/scale")
        return self._serve(
            "patch", "", lambda path, _: self._answer(path, self._patched(path, patch, is_scale=is_scale)), text
        )

    def _serve(self, verb: str, name: str, then: Callable[[str, str], None], patch: str = "") -> None:
        """Check a request in the order of the real server before `then` answers: fault, token, permission, path."""
        path = urlsplit(self.path).path + name
        api, (*base, kind, name), sub = self.server.api, path.removesuffix("/scale").split("/"), "/scale" in path
        fault, came = api.note(f"{verb} {kind}/{name}{'/scale' if sub else ''}", patch)
        if fault:
            return self._fault(fault)
        if self.headers["Authorization"] != f"Bearer {api.token}":
            return self._json(401, status(401, "Unauthorized", "Unauthorized"))
        if not api.allows(verb, kind + ("/scale" if sub else ""), name):
            return self._json(403, status(403, "Forbidden", "forbidden by the Role"))
        if base != ["", "apis", GROUPS[kind], "v1", "namespaces", NAMESPACE]:
            return self._json(404, status(404, "NotFound", "no such resource"))
        return then(f"{kind}/{name}", came)

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

    def _stream(self, path: str, came: str, query: Mapping[str, str]) -> None:
        api, version = self.server.api, query.get("resourceVersion", "")
        if api.is_forgotten(version):
            return self._json(410, status(410, "Expired", f"too old resource version: {version}"))
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for text in api.changes(path, version, came, float(query["timeoutSeconds"])):
            line = text.encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True
        return None


def _pem(label: str, body: str) -> str:
    return f"-----BEGIN {label}-----\n{body}-----END {label}-----\n"


# A certificate authority and its certificate for 127.0.0.1, valid from 2020 to 2119, for these tests only. As in many
# clusters, the certificate does not name the authority's key: https://github.com/canonical/microk8s/issues/4864.
_AUTHORITY = _pem(
    "CERTIFICATE",
    """\
MIIBTDCB86ADAgECAgEDMAoGCCqGSM49BAMCMBUxEzARBgNVBAMMCmt1YmVybmV0
ZXMwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBUxEzARBgNVBAMM
Cmt1YmVybmV0ZXMwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATLF94stFbpum/1
y0oJ4BXRsvm5SsOmkI0TwjhgM5SzWrWaNVWDE7AwTDuKxba73My9iln+ucB4KBHS
AUXBbQnUozIwMDAPBgNVHRMBAf8EBTADAQH/MB0GA1UdDgQWBBQoWu7uBhAwHe8t
Mip7LMqVnlPaeTAKBggqhkjOPQQDAgNIADBFAiBqAeo5mIRjYWXdBVpO7A6bct6N
dGRsb6jYHpohY8zP+QIhAK5v8HhI4gIN9bHst+/Wh1KwFwt5dVbanWjiEbNwZDKl
""",
)
_CERTIFICATE = _pem(
    "CERTIFICATE",
    """\
MIIBcTCCARigAwIBAgIBBDAKBggqhkjOPQQDAjAVMRMwEQYDVQQDDAprdWJlcm5l
dGVzMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAZMRcwFQYDVQQD
DA5rdWJlLWFwaXNlcnZlcjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKyETb9K
gvnRpi8ASmdhyzvZHnJ6sJt1vduo1Ooy3pMCVl5D7x7QNX9DCF6oHwSBMM96Rjsb
IxN0sMIicmFUM/+jUzBRMA8GA1UdEQQIMAaHBH8AAAEwHQYDVR0OBBYEFNOROfgU
70c/ot/b7hOx3hbTtXWLMB8GA1UdIwQYMBaAFCha7u4GEDAd7y0yKnssypWeU9p5
MAoGCCqGSM49BAMCA0cAMEQCIB5sFVGVpts+N0WG44MW5NgZxrTqUcYUv27nlNed
3qTKAiBB+Bem90e+GZUPvCU8+ekbrs+bQYQyzGIPd0iv1YY72A==
""",
)
_KEY = _pem(
    "PRIVATE KEY",
    """\
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg3FJvrmYNbMT8tQbq
UM7dmBaJ6yAi1oa164I6fJxcgayhRANCAASshE2/SoL50aYvAEpnYcs72R5yerCb
db3bqNTqMt6TAlZeQ+8e0DV/QwheqB8EgTDPekY7GyMTdLDCInJhVDP/
""",
)
