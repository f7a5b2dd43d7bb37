"""The container image: tfgen can be installed from the files that its Dockerfile copies, and the image runs tfgen."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.tools import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def copied() -> list[tuple[str, str]]:
    """Return the sources and destinations of the COPY instructions."""
    instructions = re.findall(r"^COPY (?!--from)(.*) (\S+)$", DOCKERFILE, re.MULTILINE)
    return [(name, to) for names, to in instructions for name in names.split()]


def test_what_is_copied_is_all_that_the_installation_needs(tmp_path: Path) -> None:
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for name, to in copied():
        assert f"!{name}" in allowed
        source, target = ROOT / name, tmp_path / to.strip("/")
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    build = (sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path)
    Command(build, cwd=tmp_path / "src").run()
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        names = set(files.namelist())
        extras = re.findall(
            r"^Provides-Extra: (.*)$", files.read(next(n for n in names if n.endswith("METADATA"))).decode(), re.M
        )
    assert {"tfgen/cli/__init__.py", "tfgen/schemas/trainingjob.v1alpha1.schema.json"} <= names
    (wanted,) = re.findall(r'pip install .*"\$\(echo /tmp/\*\.whl\)\[(.*)\]"', DOCKERFILE)
    assert {*wanted.split(",")} <= {*extras}


def engine_runs() -> bool:
    return (
        shutil.which("docker") is not None and subprocess.run(["docker", "info"], capture_output=True).returncode == 0
    )


@pytest.mark.may_skip("a container engine is no part of the tools that CI builds")
def test_the_image_checks_a_repository(tmp_path: Path) -> None:
    if not engine_runs():
        pytest.skip("docker has no engine here")
    Command(("docker", "build", "--quiet", "--tag", "tfgen-test", "."), cwd=ROOT).run(timeout=1800)
    Command((sys.executable, "-m", "tfgen", "init", "mnist"), cwd=tmp_path).run()
    Command(("git", "init", "--quiet"), cwd=tmp_path).run()
    Command((sys.executable, "-m", "tfgen", "render", "mnist"), cwd=tmp_path).run()
    run = ("docker", "run", "--rm", "--volume", f"{tmp_path}:/work", "tfgen-test")
    assert Command((*run, "check", "mnist")).run() == ""
