"""tests/conftest.py: a run of pytest on a folder that has a copy of it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.support.command import Command, CommandError
from tests.support.tools import ROOT

TESTS = {
    "unit/test_it.py": """
import pytest

@pytest.fixture
def tool():
    pytest.skip("no tool")

def test_skips(): pytest.skip("no luck")
def test_skips_in_its_fixture(tool): pass
@pytest.mark.may_skip("it is rare")
def test_may_skip(): pytest.skip("allowed")
@pytest.mark.xfail(strict=True)
def test_is_known_to_fail(): assert False
def test_passes(): pass
""",
    "unit/test_skipped_module.py": "import pytest; pytest.importorskip('no_such_module')",
    "train/test_program.py": "def test_trains(): pass",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "tests/conftest.py", tmp_path)
    markers = "".join(f"  {name}: see pyproject.toml\n" for name in ("train", "e2e", "may_skip"))
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = --strict-markers -rA\nmarkers =\n{markers}")
    for name, text in TESTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def pytest_in(folder: Path, *args: str) -> str:
    # No colours, and no options of whoever runs the tests.
    environment = {"PY_COLORS": "0", "PYTEST_ADDOPTS": "", "PYTHONPATH": str(ROOT)}
    argv = (sys.executable, "-m", "pytest", *args)
    return Command(argv, cwd=folder, env=environment).run()


def test_skips_are_allowed(folder):
    assert "2 passed, 4 skipped, 1 xfailed" in pytest_in(folder)


def test_skips_are_failures_where_there_is_no_excuse(folder):
    with pytest.raises(CommandError) as failure:
        pytest_in(folder, "--no-skips", "--continue-on-collection-errors")
    report = failure.value.stdout
    assert "2 passed, 1 skipped, 1 xfailed" in report
    assert "1 failed" in report
    assert "2 errors" in report
    assert "--no-skips: Skipped: no luck" in report
    assert "--no-skips: Skipped: no tool" in report
    assert "--no-skips: Skipped: could not import 'no_such_module'" in report


def test_a_test_in_the_folder_of_a_tier_has_its_marker(folder):
    assert "1 passed, 5 deselected" in pytest_in(folder, "-m", "train", "--ignore=unit/test_skipped_module.py")


def test_again_runs_the_files_that_wanted_a_tool(folder):
    (folder / "unit/test_helm.py").write_text("""
from tests.support.again import want

def test_uses_a_library_in_place_of_helm(): want()
def test_beside_it(): pass
""")
    (folder / "unit/test_alone.py").write_text("def test_wants_nothing(): pass")
    (folder / "unit/test_rare.py").write_text("""
import pytest

@pytest.mark.may_skip("it is rare")
def test_wants_what_nobody_makes(): pytest.skip("allowed")
""")
    (folder / "unit/test_rare_with_a_tool.py").write_text("""
import pytest
from tests.support.tools import skip_without

@pytest.mark.may_skip("it is rare")
def test_wants_both(): skip_without("a tool", "tools")
""")
    processes = ("-n", "2")
    assert "5 passed, 6 skipped, 1 xfailed" in pytest_in(folder, *processes)
    report = pytest_in(folder, *processes, "--again")
    assert "3 passed, 5 skipped, 1 xfailed" in report
    assert "test_trains" not in report
    assert "test_wants_nothing" not in report
    assert "test_beside_it" in report
