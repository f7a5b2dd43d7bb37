"""Fixtures with an API server for the tests of the finisher."""

from __future__ import annotations

from tests.support.finisher import log, server

__all__ = ["log", "server"]
