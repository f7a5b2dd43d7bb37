"""The kubernetes client, and urllib3 below it. The extra `live` brings both; whoever lacks it is told so here."""

from __future__ import annotations

from tfgen.errors import TfgenError

try:
    import urllib3
    from kubernetes import client, config
except ImportError as _error:
    raise TfgenError('a cluster is read by the kubernetes client: pip install "tfgen[live]"') from _error

__all__ = ["client", "config", "urllib3"]
