"""The pages for contributors: their blocks change a copy of the repository, and their commands run in the copy.

The page on tunables promises how few files a person edits, and which files one command writes. A test counts both.

The first line of a block names its file after the language. A ``diff`` block contains lines of the file without and
with the change, and the lines without the change occur exactly once in the file. Each other block is a whole file.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support.command import Command
from tests.support.tools import ROOT

RULE = ROOT / "docs" / "adding-a-rule.md"
TUNABLE = ROOT / "docs" / "adding-a-tunable.md"
STEP = re.compile(
    r"^(?P<indent> *)(?P<fence>````?)(?P<language>\w+) (?P<path>\S+)\n(?P<body>.*?)^(?P=indent)(?P=fence)$"
    r"|^ {7}(?P<command>(?:make|pytest) [^\n]+)$",
    re.MULTILINE | re.DOTALL,
)
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
COPIED = ("gen", "schemas", "docs", "pyproject.toml", "CHANGELOG.md")
TESTS = ("conftest.py", "equal", "golden", "house", "invalid", "job", "schema", "support", "timings")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy the files that the steps change, and the tests that the steps run."""
    for name in (*COPIED, *(f"tests/{name}" for name in TESTS)):
        source, target = ROOT / name, tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    return tmp_path


def change(step: re.Match[str]) -> tuple[str, str]:
    """Return the lines of a block without the change, and with the change."""
    lines = [line[len(step["indent"]) :] for line in step["body"].splitlines()]
    before = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    return before, "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))


def apply_step(step: re.Match[str], checkout: Path) -> None:
    """Apply the block of a page to a copy of the repository."""
    file = checkout / step["path"]
    text = file.read_text(encoding="utf-8") if step["language"] == "diff" else ""
    before, after = change(step) if step["language"] == "diff" else ("", dedent(step["body"]))
    file.write_text(text.replace(before, after) if before else after, encoding="utf-8")


def modules(command: str) -> list[str]:
    """Return the arguments after ``python -m`` of a command of a page: of pytest, or of each line of a recipe."""
    words = shlex.split(command)
    if words[0] != "make":
        return [command]
    recipe = re.search(rf"^{words[1]}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert recipe, command
    return re.findall(r"^\t@\$\(PYTHON\) -m (.*)$", recipe[1], re.MULTILINE)


def run_step(command: str, checkout: Path, *, only: str = "") -> str:
    """Run a command of a page, and return its output.

    Args:
        command: The command.
        checkout: The copy of the repository.
        only: The option -k of pytest, for a command that would take long.
    """
    env = {**os.environ, "PYTHONPATH": str(checkout / "gen")}
    output = ""
    for module in modules(command):
        words = shlex.split(module)
        if words[0] == "pytest":
            words += ["-n", "0", *(["-k", only] if only else [])]
        if not words[0].startswith("tests."):  # such as the digests of all jobs, which take minutes
            output += Command((sys.executable, "-m", *words), cwd=checkout, env=env).run()
    return output


def contents(folder: Path) -> dict[str, bytes]:
    """Return the content of each file of a copy of the repository, by its path."""
    caches = {"__pycache__", ".hypothesis", ".pytest_cache"}
    files = (path for path in folder.rglob("*") if path.is_file() and not caches & {*path.parts})
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def steps(page: Path) -> list[re.Match[str]]:
    return [*STEP.finditer(page.read_text(encoding="utf-8"))]


@pytest.mark.long
def test_the_page_on_rules_adds_a_rule(checkout: Path) -> None:
    printed = ""
    for step in steps(RULE):
        if step["command"]:
            printed += run_step(step["command"], checkout)
        else:
            apply_step(step, checkout)
    assert re.findall(r"== (\d+) passed", printed) == ["3", "5"], printed


@pytest.mark.long
def test_the_page_on_tunables_adds_a_tunable(checkout: Path) -> None:
    """A few cases represent all cases of a command."""
    before = contents(checkout)
    only = {"derived": "everything", "tests/equal/test_lint.py": "changes_the_objects and elastic-dl"}
    for step in steps(TUNABLE):
        if step["command"]:
            run_step(step["command"], checkout, only=only.get(step["command"].split()[1], ""))
        else:
            apply_step(step, checkout)
    edited = {step["path"] for step in steps(TUNABLE) if step["path"]}
    after = contents(checkout)
    written = {path for path in after if after[path] != before.get(path)} - edited
    assert sorted(edited) == [
        "CHANGELOG.md",
        "gen/tfgen/schema/kinds.py",
        "schemas/trainingjob.v1alpha1.schema.json",
        "tests/golden/everything/job.yaml",
    ]
    assert sorted(path for path in written if "/expected/" not in path) == [
        "docs/job-reference.md",
        "schemas/defaults.v1alpha1.schema.json",
    ]
    assert {path.partition("/expected/")[0] for path in written if "/expected/" in path} == {"tests/golden/everything"}
    chart = checkout / "tests/golden/everything/expected/charts/all"
    assert "shareProcessNamespace: {{" in (chart / "templates/_pod.tpl").read_text(encoding="utf-8")
    assert "\nshareProcessNamespace: true\n" in (chart / "values.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [RULE, TUNABLE], ids=lambda page: page.stem)
def test_each_block_fits_the_repository(page: Path) -> None:
    for step in steps(page):
        if step["language"] == "diff":
            text = (ROOT / step["path"]).read_text(encoding="utf-8")
            assert text.count(change(step)[0]) == 1, f"{step['path']} has other lines than {page.name}:\n{step['body']}"
        elif step["path"]:
            assert not (ROOT / step["path"]).exists()


@pytest.mark.parametrize("page", [RULE, TUNABLE], ids=lambda page: page.stem)
def test_a_page_has_steps_and_names_files_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(steps(page)) > 3
    made = {step["path"] for step in steps(page) if step["path"]}
    named = set(re.findall(r"`((?:gen|tests|schemas|docs)/[\w./-]+)`", text))
    assert {name for name in named - made if not (ROOT / name).exists()} == {
        name for name in named if name.endswith(("/ID.yaml", "/ID.out"))
    }
