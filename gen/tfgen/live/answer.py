"""Reads the JSON of an API server's answer, and checks the top-level fields.

A proxy, a login page or a restarting server may answer in place of the API server. Without the check, tfgen could treat
such an answer as an empty list of objects.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

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
    if _is_failure(data):
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
    resources = data.get("resources") if isinstance(data, Mapping) else None
    return isinstance(resources, list) and all(map(_is_resource, resources))


def _is_failure(data: Any) -> bool:
    return isinstance(data, Mapping) and (data.get("kind"), data.get("status")) == ("Status", "Failure")


def _is_item(item: Any) -> bool:
    if not isinstance(item, Mapping) or not _is_metadata(item.get("metadata")):
        return False
    has_parts = all(isinstance(item.get(key) or {}, Mapping) for key in ("spec", "status"))
    return has_parts and isinstance(item["metadata"].get("name"), str)


def _is_metadata(data: Any) -> bool:
    if not isinstance(data, Mapping):
        return False
    return all(isinstance(data.get(key, {}), Mapping) for key in ("labels", "annotations"))


def _is_resource(item: Any) -> bool:
    return isinstance(item, Mapping) and {"name", "kind", "namespaced"} <= item.keys()
