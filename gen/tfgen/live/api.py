"""An API server's objects as plain data. Whatever may succeed when it is asked again is asked again."""

from __future__ import annotations

import json
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from tfgen.errors import TfgenError
from tfgen.kubernetes.object import Object
from tfgen.live.answer import Shape, UnexpectedAnswerError, is_discovery, is_list, is_object, read_answer
from tfgen.live.channels import Channels
from tfgen.live.connection import Connection
from tfgen.live.kubernetes_client import urllib3, websocket
from tfgen.live.pauses import AGAIN, ONCE, Patience, pause
from tfgen.live.refusal import brief_reason
from tfgen.record import EMPTY, Record

_CHUNK: Final = 500
"""Objects of one answer, as kubectl asks for them."""
_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
CONFLICT: Final = 409
_GONE: Final = 410
_REDIRECT: Final = 300
_ERROR: Final = 400
_BUILT_IN: Final = ("/api/v1", "/apis/apps/v1", "/apis/batch/v1")
"""Paths that every Kubernetes API has."""
_SILENCE: Final = 60.0
"""Seconds without a line after which a log is asked for again: its connection may have died unseen."""
_SHORT: Final = 1.0
"""A failure that is over at the next try is told to nobody."""

Query = Mapping[str, str]


class ApiError(TfgenError):
    """An answer of the API server that is an error.

    Attributes:
        status: of HTTP.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    @property
    def is_forbidden(self) -> bool:
        """Whether the account may not do it."""
        return self.status == _FORBIDDEN


class Resource(Record):
    """Where the objects of a kind are.

    Attributes:
        path: of its group and version, such as /apis/apps/v1.
        name: its name there, such as statefulsets.
    """

    path: str
    name: str
    is_namespaced: bool

    @property
    def full_name(self) -> str:
        """Its name with its group, as kubectl takes it: ``jobs.batch``, ``pods``."""
        group = self.path.split("/")[2] if self.path.startswith("/apis/") else ""
        return f"{self.name}.{group}" if group else self.name

    def at(self, namespace: str, *more: str) -> str:
        """The path of its objects in a namespace, or of one of them."""
        place = f"/namespaces/{namespace}" if self.is_namespaced else ""
        return "/".join((f"{self.path}{place}/{self.name}", *more))


class Api:
    """One account's view of an API server.

    Every method raises an ApiError for an answer that is an error, and a TfgenError where there is none in time.

    Attributes:
        failures: how many tries have failed so far.
    """

    def __init__(self, connection: Connection, patience: Patience, tell: Callable[[str], None]) -> None:
        """Args: `tell` is told, in a line, of each time that the server does not answer."""
        self.connection, self._patience, self._tell = connection, patience, tell
        self._resources: dict[str, Mapping[str, Resource]] = {}
        self._allowed: set[str] = set()
        self.failures = 0
        self._is_reached = False

    def resource(self, api_version: str, kind: str) -> Resource | None:
        """Where a kind is; None where the cluster has none."""
        if api_version not in self._resources:
            self._resources[api_version] = self._discover(api_version)
        return self._resources[api_version].get(kind)

    def objects(self, resource: Resource, namespace: str, query: Query = EMPTY) -> list[Object]:
        """All objects of a kind in a namespace that a query selects."""
        while True:
            items: list[Object] = []
            more: dict[str, str] = {}
            try:
                while True:
                    page = self._ask("GET", resource.at(namespace), {**query, "limit": str(_CHUNK), **more}, is_list)
                    items += page["items"]
                    token = page["metadata"].get("continue")
                    if not token:
                        return items
                    more = {"continue": token}
            except ApiError as error:
                if error.status != _GONE:  # the list has changed too much to be gone on with: it begins anew
                    raise

    def data(self, method: str, path: str, query: Query = EMPTY, body: Any = None, content_type: str = "") -> Any:
        """The JSON of an answer: an object, or the status of a request."""
        return self._ask(method, path, query, is_object, body, content_type)

    def text(self, path: str, query: Query = EMPTY) -> str:
        """The text of an answer, such as a log's. It is asked for once: it is a node's, which may be gone for good."""
        try:
            response = self._send("GET", path, query, None, "")
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise TfgenError(f"{self.connection.host}: {_cause(error)}") from error
        if response.status >= _REDIRECT:
            raise _error_of(response)
        return str(response.data.decode("utf-8", "replace"))

    def stream(self, path: str, query: Query = EMPTY) -> Any:
        """urllib3's response of an answer that goes on, such as a log that is followed. It is asked for once, too.

        Raises:
            ApiError: the answer is an error.
            OSError: there is none.
            urllib3.exceptions.HTTPError: likewise.
        """
        response = self._send("GET", path, query, None, "", is_stream=True)
        if response.status >= _REDIRECT:
            error = _error_of(response)
            response.close()
            raise error
        return response

    def channels(self, path: str, query: Sequence[tuple[str, str]], protocol: str) -> Channels:
        """The streams of a websocket. It is asked for once: what it does may not be done twice."""
        try:
            socket = self.connection.web_socket(path, query, protocol, self._patience.answer)
        except websocket.WebSocketBadStatusException as error:
            refusal = _error(error.status_code, error.resp_body or b"", error.status_message or "")
            if refusal.is_forbidden:  # of the verb create the server gives no reason
                needed = f"it takes the verbs get and create of pods/{path.rpartition('/')[2]}"
                refusal = ApiError(refusal.status, f"{str(refusal).rstrip(': ')}; {needed}")
            raise refusal from error
        except (websocket.WebSocketTimeoutException, TimeoutError) as error:
            raise TfgenError(f"{self.connection.host}: no answer in {self._patience.answer:g} s") from error
        except (websocket.WebSocketException, OSError) as error:
            raise TfgenError(f"{self.connection.host}: {_cause(error)}") from error
        return Channels(socket, self.connection.host)

    def _discover(self, api_version: str) -> Mapping[str, Resource]:
        """https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api."""
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            listed: Sequence[Mapping[str, Any]] = self._ask("GET", path, EMPTY, is_discovery)["resources"]
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            return {}
        return {
            item["kind"]: Resource(path, item["name"], item["namespaced"]) for item in listed if "/" not in item["name"]
        }

    def _ask(self, method: str, path: str, query: Query, shape: Shape, body: Any = None, content_type: str = "") -> Any:
        """The JSON of a good answer, as soon as there is one."""
        start, tries, is_renewed, is_told = time.monotonic(), 0, False, False
        while True:
            headers: Mapping[str, str] = {}
            try:
                response = self._send(method, path, query, body, content_type)
                self._is_reached = True
                if response.status < _ERROR:
                    data = read_answer(response, shape)
                    self._allowed.add(path)
                    return data
                error: Exception = _error_of(response)
                if response.status == NOT_FOUND and path in _BUILT_IN:
                    raise UnexpectedAnswerError(f"no {path}, which every Kubernetes API has ({error})")
                if response.status == _UNAUTHORIZED and not is_renewed:
                    is_renewed = True
                    self.connection.renew()
                    continue
                if not self._may_succeed(response.status, path):
                    raise error
                headers = response.headers
            except (urllib3.exceptions.HTTPError, OSError, UnexpectedAnswerError) as trouble:
                error = trouble
            seconds, past = pause(tries, headers), time.monotonic() - start
            tries += 1
            self.failures += 1
            is_unreachable = not self._is_reached and isinstance(error, urllib3.exceptions.NewConnectionError)
            is_over = self._patience.ends(start, start + past + seconds, is_unreachable=is_unreachable)
            if isinstance(error, UnexpectedAnswerError) and (is_over or self._is_wrong_server(past + seconds)):
                message = f"this is no Kubernetes API: check the server's address ({error})"
                raise TfgenError(f"{self.connection.host}: {message}") from error
            if is_over and is_unreachable:
                message = f"the API server at {self.connection.host} cannot be reached: {_cause(error)}"
                raise TfgenError(message) from error
            if is_over:
                raise TfgenError(f"{self.connection.host}: no answer in {past:.0f} s: {_cause(error)}") from error
            if not is_told and past >= _SHORT:
                is_told = True
                self._tell(f"{self.connection.host}: {_cause(error)}; trying again")
            time.sleep(seconds)

    def _is_wrong_server(self, seconds: float) -> bool:
        """Test whether a server gave no good answer for so long that even a patient command stops."""
        return not self._allowed and ONCE.in_all is not None and seconds > ONCE.in_all

    def _may_succeed(self, status: int, path: str) -> bool:
        """Whether the same request may yet succeed: an API server that has just started does not know its Roles yet."""
        return status in AGAIN or (status == _FORBIDDEN and path in self._allowed and self._patience.in_all is None)

    def _send(
        self, method: str, path: str, query: Query, body: Any, content_type: str, *, is_stream: bool = False
    ) -> Any:
        return self.connection.pool.request(
            method,
            f"{self.connection.host}{path}{'?' if query else ''}{urllib.parse.urlencode(query)}",
            body=None if body is None else json.dumps(body),
            headers={
                **self.connection.headers(),
                "Accept": "application/json, */*",
                **({"Content-Type": content_type} if content_type else {}),
            },
            timeout=urllib3.Timeout(
                connect=self._patience.answer, read=_SILENCE if is_stream else self._patience.answer
            ),
            preload_content=not is_stream,
            retries=False,
        )


def _error_of(response: Any) -> ApiError:
    """The error that an answer of urllib3 is."""
    return _error(response.status, response.data, response.reason)


def _error(status: int, data: bytes, reason: str) -> ApiError:
    """The error that an answer is."""
    text = data.decode("utf-8", "replace")
    try:
        message = brief_reason(json.loads(text))
    except (ValueError, TypeError, AttributeError, RecursionError):  # a proxy's page, or JSON of another shape
        message = text.strip()[:200] or reason
    if status == _UNAUTHORIZED:
        message = f"the account of the kubeconfig is not accepted ({message}); log in again, or take another --context"
    return ApiError(status, f"{status}: {message}")


def _cause(error: Exception) -> str:
    """An error in one line, without the objects that urllib3 names in it."""
    reason = getattr(error, "reason", None)
    inner = reason if isinstance(reason, Exception) else error
    text = str(inner)
    if isinstance(inner, urllib3.exceptions.NewConnectionError):  # urllib3 2.6 names the connection and not the object
        text = text.partition("): ")[2] or text
    return text.partition(": ")[2] if text.startswith("<") else text.rpartition(">: ")[2] or type(inner).__name__
