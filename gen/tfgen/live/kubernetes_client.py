"""Imports the packages kubernetes, urllib3 and websocket-client, or raises an error that names the missing packages."""

from __future__ import annotations

from tfgen.errors import MissingPackageError

try:
    import urllib3
    import websocket
    from kubernetes import client, config
    from kubernetes.stream import ws_client
except ImportError as _error:
    raise MissingPackageError(
        "the Kubernetes client is not installed",
        "kubernetes",
        "urllib3",
        "websocket-client",
    ) from _error

__all__ = ["client", "config", "urllib3", "websocket", "ws_client"]
