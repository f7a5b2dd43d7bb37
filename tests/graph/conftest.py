"""What the finisher is tried against."""

from __future__ import annotations

from tests.support.finisher import log, server

__all__ = ["log", "server"]
