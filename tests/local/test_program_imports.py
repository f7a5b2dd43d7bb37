"""Tests of the packages that a training program imports and an interpreter lacks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tfgen.local.plan import advice, find_missing_packages


@pytest.mark.parametrize(
    ("program", "missing"),
    [
        ("import json, os.path\nfrom xml import etree\n", []),
        ("import no_such_package\n", [("no_such_package", 1)]),
        ("import os\nimport no_such.part, no_other\n", [("no_such", 2), ("no_other", 2)]),
        ("from no_such.part import name\nimport no_such\n", [("no_such", 1)]),
        ("import neighbor\nfrom . import sibling\n", []),
        ("try:\n    import no_such\nexcept ImportError:\n    pass\n", []),
        ("def load():\n    import no_such\n", []),
        ("import no_such\nthis is no Python\n", []),
    ],
)
def test_missing_packages(tmp_path: Path, program: str, missing: list[tuple[str, int]]) -> None:
    (tmp_path / "neighbor.py").touch()
    path = tmp_path / "train.py"
    path.write_text(program, encoding="utf-8")
    packages = find_missing_packages(sys.executable, path, os.environ)
    assert [*packages.items()] == missing


def test_an_interpreter_that_fails_has_no_missing_packages(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("import no_such\n", encoding="utf-8")
    assert find_missing_packages("/bin/false", path, os.environ) == {}


@pytest.mark.parametrize(
    ("requirements", "expected"),
    [
        (None, "pip install pillow tensorflow"),
        ("tensorflow[and-cuda]==2.19.0  # requires numpy\n", "pip install -r FILE"),
        ("# images\n  Pillow\n", "pip install -r FILE"),
        ("tensorflow_cpu\n", "pip install -r FILE"),
        ("pandas\n# tensorflow\n", "pip install pillow tensorflow"),
    ],
)
def test_the_advice_follows_the_requirements(tmp_path: Path, requirements: str | None, expected: str) -> None:
    file = tmp_path / "requirements.txt"
    if requirements is not None:
        file.write_text(requirements, encoding="utf-8")
    missing = ["PIL", "tensorflow"]
    assert advice(missing, "python", file).replace(str(file), "FILE") == f"run python -m {expected}"
