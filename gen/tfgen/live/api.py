"""Client of an API server. The client returns plain data, and retries requests that may succeed later.

A proxy, a login page or a restarting server may answer in place of the API server. Therefore, the client checks the
top-level fields of each answer: it must not treat another answer as an empty list of objects.
"""

from __future__ import annotations

import json
import math
import random
import re
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, ClassVar, Final, TypeAlias

import urllib3

from tfgen import data_path
from tfgen.errors import TfgenError
from tfgen.kubernetes.object import Object
from tfgen.live.connection import Connection
from tfgen.record import EMPTY, Record

Shape: TypeAlias = Callable[[Any], bool]


class UnexpectedAnswerError(Exception):
    """Error for an HTTP answer that does not come from a Kubernetes API."""


def read_answer(response: Any, shape: Shape) -> Any:
    """Return the JSON of an HTTP response of urllib3. `shape` is a function that tests the JSON, such as `is_list`.

    Raises:
        UnexpectedAnswerError: the answer is a redirect, is not JSON, or is JSON that fails the test `shape`.
    """
    if response.status >= 300:
        location = response.headers.get("Location", "an unnamed location")
        raise UnexpectedAnswerError(f"the answer {response.status} is a redirect to {location}")
    try:
        data = json.loads(response.data)
    except (ValueError, RecursionError) as error:
        content_type = f"content type {response.headers.get('Content-Type') or 'missing'}"
        raise UnexpectedAnswerError(f"the answer {response.status} is not valid JSON ({content_type})") from error
    if isinstance(data, Mapping) and (data.get("kind"), data.get("status")) == ("Status", "Failure"):
        message = f"{data.get('message') or data.get('reason') or 'no message'}"
        raise UnexpectedAnswerError(f"the answer {response.status} is a failure: {message:.300}")
    if not shape(data):
        raise UnexpectedAnswerError(f"the answer {response.status} is JSON without a Kubernetes {shape.__name__[3:]}")
    return data


def is_object(data: Any) -> bool:
    """Test whether JSON data is a Kubernetes object. A `Status`, which has the result of a request, also counts."""
    return isinstance(data, Mapping) and isinstance(data.get("kind"), str) and _is_metadata(data.get("metadata"))


def is_list(data: Any) -> bool:
    """Test whether JSON data is a list of Kubernetes objects, such as a PodList. Items without `kind` are allowed."""
    items = data.get("items") if is_object(data) else None
    return isinstance(items, list) and all(map(_is_item, items))


def is_discovery(data: Any) -> bool:
    """Test whether JSON data is an APIResourceList: the list of the resources of an API version, such as apps/v1."""
    resources = data_path.at(data, ("resources",))
    needed = {"name", "kind", "namespaced"}
    return isinstance(resources, list) and all(
        isinstance(item, Mapping) and needed <= item.keys() for item in resources
    )


def _is_item(item: Any) -> bool:
    has_parts = all(isinstance(data_path.at(item, (key,)) or {}, Mapping) for key in ("spec", "status"))
    metadata = data_path.at(item, ("metadata",))
    return has_parts and _is_metadata(metadata) and isinstance(metadata.get("name"), str)


def _is_metadata(data: Any) -> bool:
    parts = ("labels", "annotations")
    return isinstance(data, Mapping) and all(isinstance(data.get(key, {}), Mapping) for key in parts)


_LONGEST: Final = 300
"""Maximum length of a message that tfgen prints unchanged, in characters."""
_VALUE: Final = re.compile(r"Invalid value: .*[}\])\"]: ", re.DOTALL)


def brief_reason(status: Mapping[str, Any]) -> str:
    """Return the message of a `Status` object. Reduce a long message to the invalid fields and the fault of each field.

    Raises:
        TypeError: the `Status` has no message, or a field of the `Status` has an unexpected type.
        AttributeError: a field of the `Status` has an unexpected type.
    """
    message = status.get("message")
    if not isinstance(message, str) or not message:
        raise TypeError(message)
    if len(message) <= _LONGEST:
        return message
    causes = data_path.at(status, ("details", "causes")) or ()
    if status.get("reason") == "Invalid" and causes:
        faults = [f"{cause.get('field', '')}: {_without_value(cause.get('message', ''))}" for cause in causes]
        message = f"{message.partition(' is invalid: ')[0]} is invalid: {'; '.join(dict.fromkeys(faults))}"
    message = _without_value(message)
    return message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."


def is_immutable(message: str) -> bool:
    """Test whether an error message of the server reports a change of an immutable field."""
    return any(words in message for words in ("immutable", "may not change", "updates to statefulset spec"))


def _without_value(message: str) -> str:
    return _VALUE.sub("", message) if len(message) > _LONGEST else message


LONGEST: Final = 3.0
"""Maximum number of seconds between two tries. tfgen notices within 10 seconds that a server works again."""
AGAIN: Final = frozenset({429, 500, 502, 503, 504})
"""Status codes after which a repeated request may succeed."""


class Patience(Record):
    """Time limits in seconds for a request, including the repeated tries.

    Attributes:
        answer: timeout for the connection, and for each read of the answer.
        total: maximum time from the first try to the last try; None for no limit.
        deadline: value of `time.monotonic` at the time of the last try; None for no deadline.
        unreachable: shorter limit that replaces `total` until the first answer of the server; None for no shorter
            limit.
    """

    answer: float
    total: float | None
    deadline: float | None = None
    unreachable: float | None = None

    def left(self, first: float, now: float, *, is_unreachable: bool = False) -> float:
        """Return the number of seconds until the last try. The first try was at the time `first`."""
        total = self.unreachable if is_unreachable and self.unreachable is not None else self.total
        limits = [*([first + total] if total is not None else []), *([self.deadline] if self.deadline else [])]
        return min(limits, default=math.inf) - now


ONCE: Final = Patience(answer=15, total=30, unreachable=3)
"""Time limits of a command that reads the cluster once, such as `tfgen status`."""
FOLLOWING: Final = Patience(answer=5, total=None)
"""Time limits of a command that continues until the run ends, such as `tfgen wait`."""


def pause(tries: int, headers: Mapping[str, str], between: Callable[[float, float], float] = random.uniform) -> float:
    """Return the number of seconds between a failed try and the next try.

    Args:
        tries: number of failed tries.
        headers: headers of the answer. `Retry-After` requests a pause in seconds; tfgen pauses for at most ten seconds.
        between: function that returns a random number between its two arguments.
    """
    retry_after = headers.get("Retry-After", "")
    if retry_after.isdecimal():
        return min(float(retry_after), 10.0)
    longest = min(0.25 * 2.0**tries, LONGEST)
    return between(longest / 2, longest)


_CHUNK: Final = 500
"""Objects per page of a list, the same number as kubectl requests."""
NOT_FOUND: Final = 404
CONFLICT: Final = 409

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
        return self.status == HTTPStatus.FORBIDDEN

    @property
    def is_unreadable(self) -> bool:
        """Return True if the account may not read a kind, or the server does not have the kind, or no longer."""
        return self.status in (HTTPStatus.FORBIDDEN, NOT_FOUND)


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
        # https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
        if api_version not in self._resources:
            path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
            try:
                listed: Sequence[Mapping[str, Any]] = self._ask("GET", path, EMPTY, is_discovery)["resources"]
            except ApiError as error:
                if error.status != NOT_FOUND:
                    raise
                listed = ()
            kinds = [item for item in listed if "/" not in item["name"]]
            self._resources[api_version] = {
                item["kind"]: Resource(path, item["name"], item["namespaced"]) for item in kinds
            }
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
                if error.status != HTTPStatus.GONE:  # the continue token has expired: list from the first page again
                    raise

    def text(self, path: str, query: Query = EMPTY) -> str:
        """Request a text, such as the log of a pod, and return the text.

        The client does not retry, because the kubelet of the pod's node answers, and the node may no longer exist.
        """
        try:
            response = self._send("GET", path, query)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise TfgenError(f"{self.connection.host}: {_cause(error)}") from error
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
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
        response = self._send("GET", path, query, is_stream=True)
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            error = _error_of(response)
            response.close()
            raise error
        return response

    def data(self, method: str, path: str, query: Query = EMPTY, body: Any = None, content_type: str = "") -> Any:
        """Send a request, and return the JSON of the answer: an object, or a `Status` with the result."""
        return self._ask(method, path, query, is_object, body, content_type)

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
                if response.status < HTTPStatus.BAD_REQUEST:
                    data = read_answer(response, shape)
                    self._allowed.add(path)
                    self.time = _time_of(response.headers)
                    return data
                error: Exception = _error_of(response)
                if response.status == NOT_FOUND and path in ("/api/v1", "/apis/apps/v1", "/apis/batch/v1"):
                    raise UnexpectedAnswerError(f"every Kubernetes API has the path {path}, but the answer is {error}")
                if response.status == HTTPStatus.UNAUTHORIZED and not is_renewed:
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
            seconds = min(pause(tries, headers), left)
            tries += 1
            self.failures += 1
            # If no request has ever succeeded, this is no API server, so even a command without a time limit stops.
            is_wrong_server = isinstance(error, UnexpectedAnswerError) and not self._allowed and past + seconds > 30
            if left <= 0 or is_wrong_server:
                raise TfgenError(self._last_message(error, past, is_unreachable=is_unreachable)) from error
            if not is_told and past >= 1:  # shorter failures need no message
                is_told = True
                self._tell(f"{self.connection.host}: {_cause(error)}; trying again")
            time.sleep(seconds)

    def _last_message(self, error: Exception, seconds: float, *, is_unreachable: bool) -> str:
        """Return the message after the last try, which failed `seconds` seconds after the first try."""
        if isinstance(error, UnexpectedAnswerError):
            text = f"the server is not a Kubernetes API; check the address of the server ({error})"
            return f"{self.connection.host}: {text}"
        if is_unreachable:
            return f"the API server at {self.connection.host} cannot be reached: {_cause(error)}"
        answer = "successful answer" if isinstance(error, ApiError) else "answer"
        return f"{self.connection.host}: no {answer} in {seconds:.0f} s ({_cause(error)})"

    def _may_succeed(self, status: int, path: str) -> bool:
        """Test whether another request for `path` may succeed after an answer with the error status `status`.

        For example, a server that has just started answers 403 even to permitted requests, until the Roles are loaded.
        """
        return status in AGAIN or (
            status == HTTPStatus.FORBIDDEN and path in self._allowed and self._patience.total is None
        )

    def _send(
        self, method: str, path: str, query: Query, body: Any = None, content_type: str = "", *, is_stream: bool = False
    ) -> Any:
        # After 60 s without output, the client requests a log again, because the connection may be dead.
        read = 60.0 if is_stream else self._patience.answer
        return self.connection.pool.request(
            method,
            f"{self.connection.host}{path}{'?' if query else ''}{urllib.parse.urlencode(query)}",
            body=None if body is None else json.dumps(body),
            headers={
                **self.connection.headers(),
                "Accept": "application/json, */*",
                **({"Content-Type": content_type} if content_type else {}),
            },
            timeout=urllib3.Timeout(connect=self._patience.answer, read=read),
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
        item: Object | None = api.data("GET", path)
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        item = None
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
    if response.status == HTTPStatus.UNAUTHORIZED:
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
