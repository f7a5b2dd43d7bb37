"""Imports the packages kubernetes and urllib3, or raises an error that names the missing packages."""

from __future__ import annotations

from tfgen.errors import MissingPackageError

try:
    import urllib3
    from kubernetes import client, config
except ImportError as _error:
    raise MissingPackageError("the Kubernetes client is not installed", "kubernetes", "urllib3") from _error

__all__ = ["client", "config", "urllib3"]
