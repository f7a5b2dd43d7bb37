"""The kubernetes client, and below it urllib3 and websocket-client.

The extra `live` brings them; whoever lacks it is told so here.
"""

from __future__ import annotations

from tfgen.errors import MissingExtraError

try:
    import urllib3
    import websocket
    from kubernetes import client, config
    from kubernetes.stream import ws_client
except ImportError as _error:
    raise MissingExtraError("a cluster is read by the kubernetes client", "live") from _error

__all__ = ["client", "config", "urllib3", "websocket", "ws_client"]
