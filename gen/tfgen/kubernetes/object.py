"""Kubernetes objects without holes: identity, group, and origin in the job.

identity(item)      ->  ("apps/v1", "StatefulSet", "mnist-ps")
group(item)         ->  "apps"
literal_name(item)  ->  "quota" for the object that job.yaml has under objects.quota
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


def literal_name(item: Object) -> str | None:
    """Return the name in job.yaml of a literal object; None for an object that tfgen generates.

    Only the API version, the kind and the metadata of a literal object are certain to have the shape that Kubernetes
    requires.
    """
    labels = (item.get("metadata") or {}).get("labels") or {}
    name: str | None = labels.get(keys.OBJECT)
    return name
