"""Tests of the free disk space that a test node needs (tests/e2e/free_space.py)."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.e2e.free_space import check_free_space
from tests.e2e.servers.program import MissingRequirementError


def set_free_space(monkeypatch: pytest.MonkeyPatch, gib: float) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=int(gib * 2**30)))


def test_8_gib_of_free_disk_space_are_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_free_space(monkeypatch, 8)
    check_free_space(tmp_path / "node")


def test_less_than_8_gib_of_free_disk_space_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_free_space(monkeypatch, 7.5)
    message = f"needs 8 GiB of free disk space in {tmp_path}, which has 7.5 GiB"
    with pytest.raises(MissingRequirementError, match=f"^{re.escape(message)}$"):
        check_free_space(tmp_path)
