"""Client of an API server. The client returns plain data, and retries requests that may succeed later."""

from __future__ import annotations

import json
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar, Final

import urllib3

from tfgen.errors import TfgenError
from tfgen.kubernetes.object import Object
from tfgen.live.answer import Shape, UnexpectedAnswerError, is_discovery, is_list, is_object, read_answer
from tfgen.live.connection import Connection
from tfgen.live.pauses import AGAIN, ONCE, Patience, pause
from tfgen.live.refusal import brief_reason
from tfgen.record import EMPTY, Record

_CHUNK: Final = 500
"""Objects per page of a list, the same number as kubectl requests."""
_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
CONFLICT: Final = 409
_GONE: Final = 410
_REDIRECT: Final = 300
_ERROR: Final = 400
_BUILT_IN: Final = ("/api/v1", "/apis/apps/v1", "/apis/batch/v1")
"""API paths that every Kubernetes API server serves."""
_SILENCE: Final = 60.0
"""Seconds without output after which the client requests a log again, because the connection may be dead."""
_SHORT: Final = 1.0
"""Seconds for which requests must fail before the user sees a message. tfgen does not report shorter failures."""

Query = Mapping[str, str]


class ApiError(TfgenError):
    """Error for an answer of the API server with an HTTP error status.

    Attributes:
        status: HTTP status code.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    @property
    def is_forbidden(self) -> bool:
        """Return True if the account lacks the permission for the request."""
        return self.status == _FORBIDDEN

    @property
    def is_unreadable(self) -> bool:
        """Return True if the account may not read a kind, or the server does not have the kind, or no longer."""
        return self.status in (_FORBIDDEN, NOT_FOUND)


class Resource(Record):
    """API path of the objects of a kind.

    Attributes:
        path: API path of the group and version, such as /apis/apps/v1.
        name: plural name of the kind, such as statefulsets.
        is_namespaced: whether objects of the kind belong to a namespace.
    """

    path: str
    name: str
    is_namespaced: bool

    @property
    def full_name(self) -> str:
        """Return the plural name with the API group, in the format of kubectl, such as ``jobs.batch`` or ``pods``."""
        group = self.path.split("/")[2] if self.path.startswith("/apis/") else ""
        return f"{self.name}.{group}" if group else self.name

    def at(self, namespace: str, *segments: str) -> str:
        """Return the API path of the objects in a namespace. The segments, such as an object's name, extend the path.

        Example: /apis/apps/v1/namespaces/ml/statefulsets/mnist-worker.
        """
        place = f"/namespaces/{namespace}" if self.is_namespaced else ""
        return "/".join((f"{self.path}{place}/{self.name}", *segments))


class Api:
    """Client that sends requests to an API server. All requests of the client use the same account.

    Every method except `stream` raises an ApiError for an error answer, and a TfgenError if no answer comes in time.

    Attributes:
        failures: number of failed tries so far.
        time: the server's time in the last answer; the time of this machine if that answer has no time.
    """

    def __init__(self, connection: Connection, patience: Patience, tell: Callable[[str], None]) -> None:
        """Create a client. `tell` receives a message for each request that the server does not answer."""
        self.connection, self._patience, self._tell = connection, patience, tell
        self._resources: dict[str, Mapping[str, Resource]] = {}
        self._allowed: set[str] = set()
        self.failures = 0
        self.time = datetime.now(UTC)
        self._is_reached = False

    def resource(self, api_version: str, kind: str) -> Resource | None:
        """Return the API path of a kind; None if the cluster does not serve the kind."""
        if api_version not in self._resources:
            self._resources[api_version] = self._discover(api_version)
        return self._resources[api_version].get(kind)

    def objects(self, resource: Resource, namespace: str, query: Query = EMPTY) -> list[Object]:
        """List the objects of a kind in a namespace. If the server splits the list into pages, read all pages.

        `query` is the query of the list request.
        """
        while True:
            items: list[Object] = []
            position: dict[str, str] = {}
            try:
                while True:
                    page_query = {**query, "limit": str(_CHUNK), **position}
                    page = self._ask("GET", resource.at(namespace), page_query, is_list)
                    items += page["items"]
                    token = page["metadata"].get("continue")
                    if not token:
                        return items
                    position = {"continue": token}
            except ApiError as error:
                if error.status != _GONE:  # the continue token has expired: list from the first page again
                    raise

    def data(self, method: str, path: str, query: Query = EMPTY, body: Any = None, content_type: str = "") -> Any:
        """Send a request, and return the JSON of the answer: an object, or a `Status` with the result."""
        return self._ask(method, path, query, is_object, body, content_type)

    def text(self, path: str, query: Query = EMPTY) -> str:
        """Request a text, such as the log of a pod, and return the text.

        The client does not retry, because the kubelet of the pod's node answers, and the node may no longer exist.
        """
        try:
            response = self._send("GET", path, query, None, "")
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise TfgenError(f"{self.connection.host}: {_cause(error)}") from error
        if response.status >= _REDIRECT:
            raise _error_of(response)
        return str(response.data.decode("utf-8", "replace"))

    def stream(self, path: str, query: Query = EMPTY) -> Any:
        """Request a stream, such as a log that the server continues to send, and return urllib3's response.

        The client does not retry.

        Raises:
            ApiError: the server answers with an error status.
            OSError: the server does not answer.
            urllib3.exceptions.HTTPError: the server does not answer.
        """
        response = self._send("GET", path, query, None, "", is_stream=True)
        if response.status >= _REDIRECT:
            error = _error_of(response)
            response.close()
            raise error
        return response

    def _discover(self, api_version: str) -> Mapping[str, Resource]:
        """Return the resource of each kind in an API version such as apps/v1. The keys are the names of the kinds.

        https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
        """
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
        """Send a request until an answer is successful, and return the JSON of the answer. `shape` tests the JSON.

        Raises:
            ApiError: the server answers with an error status that another try cannot change.
            TfgenError: no answer is successful before the time limit of the client.
        """
        start, tries, is_renewed, is_told = time.monotonic(), 0, False, False
        while True:
            headers: Mapping[str, str] = {}
            try:
                response = self._send(method, path, query, body, content_type)
                self._is_reached = True
                if response.status < _ERROR:
                    data = read_answer(response, shape)
                    self._allowed.add(path)
                    self.time = _time_of(response.headers)
                    return data
                error: Exception = _error_of(response)
                if response.status == NOT_FOUND and path in _BUILT_IN:
                    raise UnexpectedAnswerError(f"every Kubernetes API has the path {path}, but the answer is {error}")
                if response.status == _UNAUTHORIZED and not is_renewed:
                    is_renewed = True
                    self.connection.renew()
                    continue
                if not self._may_succeed(response.status, path):
                    raise error
                headers = response.headers
            except (urllib3.exceptions.HTTPError, OSError, UnexpectedAnswerError) as trouble:
                error = trouble
            past = time.monotonic() - start
            is_unreachable = not self._is_reached and isinstance(error, urllib3.exceptions.NewConnectionError)
            left = self._patience.left(start, start + past, is_unreachable=is_unreachable)
            # The server may ask for a longer pause than the time limit. The last try is then at the time limit.
            seconds, is_over = min(pause(tries, headers), left), left <= 0
            tries += 1
            self.failures += 1
            if isinstance(error, UnexpectedAnswerError) and (is_over or self._is_wrong_server(past + seconds)):
                message = f"the server is not a Kubernetes API; check the address of the server ({error})"
                raise TfgenError(f"{self.connection.host}: {message}") from error
            if is_over and is_unreachable:
                message = f"the API server at {self.connection.host} cannot be reached: {_cause(error)}"
                raise TfgenError(message) from error
            if is_over:
                answer = "successful answer" if isinstance(error, ApiError) else "answer"
                raise TfgenError(f"{self.connection.host}: no {answer} in {past:.0f} s ({_cause(error)})") from error
            if not is_told and past >= _SHORT:
                is_told = True
                self._tell(f"{self.connection.host}: {_cause(error)}; trying again")
            time.sleep(seconds)

    def _is_wrong_server(self, seconds: float) -> bool:
        """Test whether the server is probably not an API server. If so, even a command without a time limit stops.

        The result is True if no request has ever succeeded, and the first try of the current request was more than 30
        seconds ago. `seconds` is the time since that first try.
        """
        return not self._allowed and ONCE.total is not None and seconds > ONCE.total

    def _may_succeed(self, status: int, path: str) -> bool:
        """Test whether another request for `path` may succeed after an answer with the error status `status`.

        For example, a server that has just started answers 403 even to permitted requests, until the Roles are loaded.
        """
        return status in AGAIN or (status == _FORBIDDEN and path in self._allowed and self._patience.total is None)

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


def find(api: Api, path: str) -> Object | None:
    """Return the object at an API path; None if the object does not exist.

    Raises:
        ApiError: the account may not read the object.
        TfgenError: the server does not answer in time.
    """
    try:
        item: Object = api.data("GET", path)
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        return None
    return item


def _time_of(headers: Mapping[str, str]) -> datetime:
    try:
        return parsedate_to_datetime(headers["Date"])
    except (KeyError, ValueError):
        return datetime.now(UTC)


def _error_of(response: Any) -> ApiError:
    """Return the ApiError for an HTTP response of urllib3."""
    text = response.data.decode("utf-8", "replace")
    try:
        message = brief_reason(json.loads(text))
    except (ValueError, TypeError, AttributeError, RecursionError):  # a proxy's page, or JSON of another shape
        message = text.strip()[:200] or response.reason
    if response.status == _UNAUTHORIZED:
        message = (
            f"the server rejects the account of the kubeconfig ({message}); log in again, or select another account "
            "with --context"
        )
    return ApiError(response.status, f"{response.status}: {message}")


def _cause(error: Exception) -> str:
    """Return the message of an error in one line, without the Python objects that urllib3 prints in the message."""
    reason = getattr(error, "reason", None)
    cause = reason if isinstance(reason, Exception) else error
    text = str(cause)
    if isinstance(cause, urllib3.exceptions.NewConnectionError):  # urllib3 2.6 names the connection and not the object
        text = text.partition("): ")[2] or text
    return text.partition(": ")[2] if text.startswith("<") else text.rpartition(">: ")[2] or type(cause).__name__
