"""Tests that editors and hooks leave the committed rendered files unchanged."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RENDERED = ("charts", "overlays", ".tfgen", "tests/golden", "schemas", "docs")


def committed() -> list[str]:
    """Return the files that tfgen wrote, and the files that are generated from them, as git lists them."""
    done = subprocess.run(["git", "ls-files", "-z", *RENDERED], cwd=ROOT, capture_output=True, check=False)
    return [name for name in done.stdout.decode().split("\0") if name]


def test_no_line_ends_with_a_blank() -> None:
    """A hook that strips trailing blanks would change a rendered file, which would then count as edited by hand."""
    names = committed()
    if not names:
        pytest.skip("this is no git checkout")
    ends = [
        f"{name}:{number}"
        for name in names
        for number, line in enumerate((ROOT / name).read_bytes().split(b"\n"), start=1)
        if line.rstrip(b" \t\r") != line
    ]
    assert ends == []
