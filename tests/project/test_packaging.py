"""Tests of the sdist, of the wheel that is built from the sdist, and of tfgen in an empty environment."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.support.command import Command, CommandError
from tests.support.tools import ROOT
from tfgen.schema.editor_schema import editor_schema

pytestmark = pytest.mark.long

PATIENT_PIP = {"PIP_RETRIES": "10", "PIP_DEFAULT_TIMEOUT": "60", "PIP_COMPILE": "0"}
"""Variables of pip for a distant or busy index, and for an environment in which few modules are imported."""
INSTALL_S = 1800.0

NO_SERVER = """\
apiVersion: v1
kind: Config
current-context: none
contexts: [{name: none, context: {cluster: none}}]
clusters: [{name: none, cluster: {server: "http://127.0.0.1:1"}}]
"""


def hatchling(target: str, source: Path, folder: Path) -> Path:
    """Build an sdist or a wheel, and return its file."""
    Command((sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", folder), cwd=source).run()
    (archive,) = folder.iterdir()
    return archive


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.may_skip("pip installs the dependencies of tfgen, and needs its index")
def test_the_sdist_the_wheel_and_an_empty_environment_with_tfgen(tmp_path: Path) -> None:
    """Build the wheel from the sdist, as installers do, and install the wheel with the command of action.yml."""
    archive = hatchling("sdist", ROOT, tmp_path / "dist")
    Command(("tar", "-xzf", archive), cwd=tmp_path).run()
    sdist = tmp_path / archive.name.removesuffix(".tar.gz")
    assert_has_what_tests_and_builds_need(sdist)
    wheel = hatchling("wheel", sdist, tmp_path / "wheel")
    assert_has_the_package_the_schemas_the_rules_the_licence_and_no_more(wheel)

    step = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"][0]
    # pip could also build the wheel, in one more environment.
    script = step["run"].replace("$GITHUB_ACTION_PATH", str(wheel))
    assert script != step["run"]
    runner = {"RUNNER_TEMP": str(tmp_path), "GITHUB_PATH": str(tmp_path / "path"), "KUBERNETES_VERSION": ""}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
    try:
        Command(shell, cwd=tmp_path, env={**PATIENT_PIP, **runner, "PATH": path}).run(timeout=INSTALL_S)
    except CommandError as error:
        if "No matching distribution found" in error.stderr:
            pytest.skip("pip reaches no index")
        raise
    assert (tmp_path / "path").read_text(encoding="utf-8") == f"{tmp_path}/tfgen/bin\n"
    (tmp_path / "team").mkdir()
    assert_ten_commands_run(tmp_path / "tfgen" / "bin", tmp_path / "team")


def assert_has_what_tests_and_builds_need(sdist: Path) -> None:
    for name in ("pyproject.toml", "LICENSE", "README.md", "Makefile", "tests/conftest.py", "schemas", "examples"):
        assert (sdist / name).exists(), name
    assert not (sdist / ".venv").exists()


def assert_has_the_package_the_schemas_the_rules_the_licence_and_no_more(wheel: Path) -> None:
    package = {f"tfgen/{name}" for name in files_below(ROOT / "gen" / "tfgen") if "__pycache__" not in name}
    schemas = {f"tfgen/schemas/{name}" for name in files_below(ROOT / "schemas")}
    info = wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"
    metadata = {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    with zipfile.ZipFile(wheel) as files:
        assert set(files.namelist()) == package | schemas | metadata | {"tfgen/docs/rules.md"}


def assert_ten_commands_run(programs: Path, folder: Path) -> None:
    """Run commands that import each dependency of tfgen, outside of the checkout."""

    def run(*words: str, program: str = "tfgen") -> str:
        # Another tfgen on the Python path of the user must not run.
        return Command((programs / program, *words), cwd=folder, env={"PYTHONPATH": ""}).run()

    assert run("--help").startswith("usage: tfgen ")
    assert run("-m", "tfgen", "--help", program="python").startswith("usage: tfgen ")
    assert run("schema") == editor_schema()
    assert run("explain", "latest-tag").startswith("latest-tag\n\n  An image has no fixed version.")
    run("init", "mnist", "--repo")
    run("render", "jobs")
    assert (folder / "charts/mnist/Chart.yaml").is_file()
    run("site", "jobs", "--out", "site")
    assert (folder / "site/index.html").is_file()
    assert "name: drawn" in run("import", "--command", "arena submit tfjob --name=drawn --image=x:1 python train.py")
    run("lsp")
    (folder / "kubeconfig").write_text(NO_SERVER, encoding="utf-8")
    with pytest.raises(CommandError, match=r"127\.0\.0\.1:1.*onnection refused"):
        run("status", "jobs/mnist/job.yaml", "--env", "prod", "--kubeconfig", "kubeconfig")
