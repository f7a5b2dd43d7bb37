"""tests/conftest.py in runs of pytest on a folder with a copy of the file."""

from __future__ import annotations

import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.command import Command, CommandError
from tests.support.tools import ROOT
from tests.timings.record import VARIABLE, Duration, read

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


@pytest.fixture(autouse=True)
def _not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)  # these tests are not part of the measured run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "tests/conftest.py", tmp_path)
    markers = "".join(f"  {name}: see pyproject.toml\n" for name in ("train", "e2e", "long", "may_skip"))
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = --strict-markers -rA\nmarkers =\n{markers}")
    for name, text in TESTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def pytest_in(folder: Path, *args: str) -> str:
    # Without colors, and without options of the user.
    environment = {"PY_COLORS": "0", "PYTEST_ADDOPTS": "", "PYTHONPATH": str(ROOT)}
    argv = (sys.executable, "-m", "pytest", *args)
    return Command(argv, cwd=folder, env=environment).run()


def test_skips_are_allowed(folder, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(folder / "timings.tsv"))
    report = pytest_in(folder)
    assert "2 passed, 4 skipped, 1 xfailed" in report
    assert "    1  no luck\n    1  no tool\n    1  allowed\n" in report
    assert {item.name for item in read(folder / "timings.tsv") if item.kind == "test"} >= {
        "unit/test_it.py::test_passes",
        "train/test_program.py::test_trains",
    }


@pytest.mark.long
def test_the_times_of_tests_and_servers_reach_the_record(folder, monkeypatch):
    (folder / "unit/test_it.py").write_text("""
import time
import pytest
from tests.timings.plugin import record_start

pytestmark = pytest.mark.xdist_group("etcd")

@pytest.fixture(scope="module")
def server():
    record_start("etcd", 1.5)

def test_waits(server): time.sleep(0.2)
def test_works(server):
    began = time.process_time()
    while time.process_time() - began < 0.2: pass
""")
    monkeypatch.setenv(VARIABLE, str(folder / "timings.tsv"))
    pytest_in(folder, "-n", "1", "--dist", "loadgroup", "unit/test_it.py")
    waits, works, server = read(folder / "timings.tsv")
    assert (waits.name, works.name) == ("unit/test_it.py::test_waits", "unit/test_it.py::test_works")
    assert waits.wall_s >= 0.2 > 0.1 > waits.cpu_s
    assert works.cpu_s >= 0.15
    assert server == Duration("server", "etcd", 1.5)


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


@pytest.mark.long
@pytest.mark.parametrize(
    "processes",
    [pytest.param((), marks=pytest.mark.nightly, id="one process"), pytest.param(("-n", "2"), id="two processes")],
)
def test_a_failure_is_printed_when_it_occurs(folder, processes):
    (folder / "unit/test_it.py").write_text("""
import pytest

@pytest.fixture
def broken(): raise OSError("disk full\\nsecond line")

def test_fails(): assert 1 == 2
def test_has_a_broken_fixture(broken): pass
""")
    with pytest.raises(CommandError) as failure:
        pytest_in(folder, *processes, "unit/test_it.py")
    before_the_end, _, _ = failure.value.stdout.partition("= ERRORS =")
    lines = {line for line in before_the_end.splitlines() if line.startswith("FAILED")}
    assert lines == {
        "FAILED unit/test_it.py::test_fails (call): assert 1 == 2",
        "FAILED unit/test_it.py::test_has_a_broken_fixture (setup): OSError: disk full",
    }


def test_a_test_in_the_folder_of_a_tier_has_its_marker(folder):
    assert "1 passed, 5 deselected" in pytest_in(folder, "-m", "train", "--ignore=unit/test_skipped_module.py")


LATE_END = """
import time

def pytest_configure_node(node):
    process = node.process_from_remote

    def process_late(event):
        if not isinstance(event, tuple): time.sleep(1)
        process(event)

    node.process_from_remote = process_late
"""
"""A conftest.py that delays the event of a worker's death, so that pytest-xdist sends commands to a dead worker."""


@pytest.mark.long
@pytest.mark.parametrize(
    "settings", [pytest.param("", marks=pytest.mark.nightly, id="at once"), pytest.param(LATE_END, id="late")]
)
def test_a_worker_that_dies_fails_the_run_by_the_name_of_its_test(tmp_path, settings):
    """The files of the tests change before the worker dies, so that a new worker would collect different tests."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    restart = [option for option in shlex.split(options["addopts"]) if "worker" in option]
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(settings)
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copy(ROOT / "tests/conftest.py", tests)
    for letter in "abcd":
        (tests / f"test_{letter}.py").write_text(
            "import pytest\n@pytest.mark.parametrize('number', range(8))\ndef test_passes(number): pass\n"
        )
    (tests / "test_c.py").write_text("""
import os, pathlib, signal

def test_dies():
    for name in ("test_a.py", "test_b.py"):
        pathlib.Path(__file__).with_name(name).write_text("raise RuntimeError")
    os.kill(os.getpid(), signal.SIGKILL)
""")
    with pytest.raises(CommandError) as failure:
        pytest_in(tmp_path, "-n", "2", "--dist", "worksteal", *restart, "tests")
    report = failure.value.stdout
    assert "crashed while running 'tests/test_c.py::test_dies'" in report
    assert "1 failed" in report
    assert "INTERNALERROR" not in report
    assert "ERROR collecting" not in report


@pytest.mark.long
def test_again_runs_the_tests_that_were_skipped(folder):
    (folder / "unit/test_fixture.py").write_text("""
import pytest

@pytest.fixture(scope="module")
def tool(): pytest.skip("no tool")

def test_with_the_fixture(tool): pass
def test_shares_the_fixture(tool): pass
def test_beside_it(): pass
""")
    (folder / "unit/test_alone.py").write_text("def test_passes_alone(): pass")
    processes = ("-n", "1")
    assert "4 passed, 6 skipped, 1 xfailed" in pytest_in(folder, *processes)
    (folder / "unit/test_alone.py").write_text("""
import pytest

def test_passes_alone(): pass
@pytest.mark.long
def test_runs_for_the_first_time(): pass
""")
    report = pytest_in(folder, *processes, "--again")
    assert "1 passed, 6 skipped, 1 xfailed" in report
    assert "test_runs_for_the_first_time" in report
    with pytest.raises(CommandError) as failure:
        pytest_in(folder, "-p", "no:cacheprovider", "--again")
    assert "--again needs pytest's cache" in failure.value.stderr
