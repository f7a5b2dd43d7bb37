"""A Kubernetes object without holes: what tells it from another, and whose it is.

identity(item)      ->  ("apps/v1", "StatefulSet", "mnist-ps")
group(item)         ->  "apps"
literal_name(item)  ->  "quota", of what stands in job.yaml under objects.quota
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from tfgen.kubernetes import keys

Object: TypeAlias = Mapping[str, Any]


def identity(item: Object) -> tuple[str, str, str]:
    """What tells one object from another within a namespace: API version, kind and name."""
    return item["apiVersion"], item["kind"], item["metadata"]["name"]


def group(item: Object) -> str:
    """The API group of an object's kind; empty for the core group."""
    api_version: str = item["apiVersion"]
    return api_version.rpartition("/")[0]


def literal_name(item: Object) -> str | None:
    """The name in job.yaml of an object that stands there as it is; None of one that tfgen makes.

    Of such an object nothing but its API version, kind and metadata has the shape that Kubernetes gives it for certain.
    """
    labels = (item.get("metadata") or {}).get("labels") or {}
    name: str | None = labels.get(keys.OBJECT)
    return name
