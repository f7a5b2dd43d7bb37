"""Jobs and folders for the tests of commands."""

from __future__ import annotations

from tests.support.checked_repository import job

__all__ = ["job"]
