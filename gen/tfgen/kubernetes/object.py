"""Plain Kubernetes objects: their identity, their API group, and their name under `objects` in job.yaml.

>>> item = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "mnist-ps"}}
>>> identity(item), group(item)
(('apps/v1', 'StatefulSet', 'mnist-ps'), 'apps')
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from tfgen.kubernetes import keys

Object: TypeAlias = Mapping[str, Any]


def identity(item: Object) -> tuple[str, str, str]:
    """Return the identity of an object within a namespace: API version, kind and name."""
    return item["apiVersion"], item["kind"], item["metadata"]["name"]


def group(item: Object) -> str:
    """Return the API group of an object's kind; empty for the core group."""
    api_version: str = item["apiVersion"]
    return api_version.rpartition("/")[0]


def creation_time(item: Object) -> str:
    """Return the creation time of an object in a cluster as text. In text order, an earlier time comes first."""
    return str(item["metadata"]["creationTimestamp"])


def literal_name(item: Object) -> str | None:
    """Return the key under `objects` in job.yaml that defines an object; None for an object that tfgen generates.

    An object under `objects` may have invalid fields, because tfgen checks only the API version, the kind and the
    metadata.
    """
    labels = (item.get("metadata") or {}).get("labels") or {}
    name: str | None = labels.get(keys.OBJECT)
    return name
