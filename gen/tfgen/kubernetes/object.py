"""A Kubernetes object without holes: what tells it from another, and whose it is.

identity(item)  ->  ("apps/v1", "StatefulSet", "mnist-ps")
group(item)     ->  "apps"
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Object: TypeAlias = Mapping[str, Any]


def identity(item: Object) -> tuple[str, str, str]:
    """What tells one object from another within a namespace: API version, kind and name."""
    return item["apiVersion"], item["kind"], item["metadata"]["name"]


def group(item: Object) -> str:
    """The API group of an object's kind; empty for the core group."""
    api_version: str = item["apiVersion"]
    return api_version.rpartition("/")[0]
