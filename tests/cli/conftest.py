"""What the commands are tried on."""

from __future__ import annotations

from tests.support.checked_repository import job

__all__ = ["job"]
