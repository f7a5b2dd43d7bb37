"""Tests of the sdist, of the wheel that is built from the sdist, and of tfgen in a clean installation of the wheel."""

from __future__ import annotations

import site
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.tools import ROOT
from tfgen.schema.editor_schema import editor_schema

pytestmark = pytest.mark.long

ALONE = {"PYTHONPATH": ""}
"""Variables that hide another tfgen on the Python path of the user."""


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build and unpack the source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    Command((sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", folder), cwd=ROOT).run()
    (archive,) = folder.iterdir()
    Command(("tar", "-xzf", archive), cwd=folder).run()
    return folder / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the source distribution, as installers do."""
    folder = tmp_path_factory.mktemp("wheel")
    Command((sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder), cwd=sdist).run()
    (archive,) = folder.iterdir()
    return archive


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a virtual environment with the wheel, and return its `bin` folder.

    A .pth file adds the dependencies from the environment of this test, so pip downloads nothing. The tfgen of the test
    environment is not importable: it is an editable installation, which is also a .pth file, and Python reads no .pth
    file of a folder that another .pth file names.
    """
    folder = tmp_path_factory.mktemp("installed") / "venv"
    Command((sys.executable, "-m", "venv", "--without-pip", folder)).run()
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    Command((*pip, "install", "--quiet", "--no-deps", "--no-index", wheel)).run()
    purelib = Command((python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")).run().strip()
    (Path(purelib) / "dependencies.pth").write_text("\n".join(site.getsitepackages()), encoding="utf-8")
    return python.parent


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_wheel_has_the_package_the_schemas_the_rules_and_the_licence_and_no_more(wheel):
    package = {f"tfgen/{name}" for name in files_below(ROOT / "gen" / "tfgen") if "__pycache__" not in name}
    schemas = {f"tfgen/schemas/{name}" for name in files_below(ROOT / "schemas")}
    info = wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"
    metadata = {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    with zipfile.ZipFile(wheel) as files:
        assert set(files.namelist()) == package | schemas | metadata | {"tfgen/docs/rules.md"}


def test_the_sdist_has_what_tests_and_builds_need(sdist):
    for name in ("pyproject.toml", "LICENSE", "README.md", "Makefile", "tests/conftest.py", "schemas", "examples"):
        assert (sdist / name).exists(), name
    assert not (sdist / ".venv").exists()


def test_the_wheel_is_what_runs(installed, tmp_path):
    where = Command((installed / "python", "-c", "import tfgen; print(tfgen.__file__)"), cwd=tmp_path, env=ALONE).run()
    assert Path(where).is_relative_to(installed.parent)


def test_tfgen_schema_prints_the_schema_outside_the_checkout(installed, tmp_path):
    printed = Command((installed / "tfgen", "schema"), cwd=tmp_path, env=ALONE).run(silent=True)
    assert printed == editor_schema()


def test_tfgen_explain_prints_a_rule_outside_the_checkout(installed, tmp_path):
    printed = Command((installed / "tfgen", "explain", "latest-tag"), cwd=tmp_path, env=ALONE).run(silent=True)
    assert printed.startswith("latest-tag\n\n  An image has no fixed version.")


@pytest.mark.parametrize("start", [("tfgen",), ("python", "-m", "tfgen")])
def test_both_ways_to_start_are_one_program(installed, tmp_path, start):
    program, *args = start
    printed = Command((installed / program, *args, "--help"), cwd=tmp_path, env=ALONE).run(silent=True)
    assert printed.startswith("usage: tfgen ")


def test_a_first_job_outside_the_checkout(installed, tmp_path):
    Command((installed / "tfgen", "init", "first"), cwd=tmp_path, env=ALONE).run()
    (job,) = tmp_path.rglob("job.yaml")
    Command((installed / "tfgen", "render", job, "--out", tmp_path / "out"), cwd=tmp_path, env=ALONE).run()
    assert (tmp_path / "out/charts/first/Chart.yaml").is_file()
