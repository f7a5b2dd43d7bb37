"""Tests of the workflows, of the versions, and of the distributions that a release publishes (docs/releasing.md)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tfgen
from tests.project.test_packaging import hatchling
from tests.support.command import Command, CommandError
from tests.support.tools import ROOT, actionlint_program

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_first_heading_of_the_changelog_names_the_version_of_the_package() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    version = re.escape(tfgen.__version__)
    assert re.fullmatch(rf"Unreleased: {version}|{version} - \d{{4}}-\d{{2}}-\d{{2}}", headings[0])


def test_actionlint_accepts_each_workflow() -> None:
    assert [file.name for file in WORKFLOWS] == ["ci.yml", "release.yml"]
    Command((actionlint_program(), *WORKFLOWS), cwd=ROOT).run()


def test_actionlint_refuses_a_job_that_needs_an_unknown_job(tmp_path: Path) -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    wrong = tmp_path / "release.yml"
    wrong.write_text(text.replace("needs: build", "needs: built"), encoding="utf-8")
    with pytest.raises(CommandError, match='needs job "built" which does not exist'):
        Command((actionlint_program(), wrong), cwd=ROOT).run()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_workflow_uses_each_action_by_commit(workflow: Path) -> None:
    actions = re.findall(r"uses: (.*)", workflow.read_text(encoding="utf-8"))
    local = [action for action in actions if action.startswith("./")]
    assert local in ([], ["./.github/workflows/ci.yml"])
    for action in actions:
        assert action in local or re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


@pytest.mark.long
def test_two_builds_of_the_wheel_are_equal_byte_for_byte(tmp_path: Path) -> None:
    """The second build has copies of the files with other times and other rights of access."""
    copy = tmp_path / "copy"
    for name in (
        Command(("git", "ls-files", "-z", "gen", "schemas", "docs", "*.*", "LICENSE"), cwd=ROOT).run().split("\0")
    ):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
            (copy / name).chmod(0o600)
    first = hatchling("wheel", ROOT, tmp_path / "first")
    second = hatchling("wheel", copy, tmp_path / "second")
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()
