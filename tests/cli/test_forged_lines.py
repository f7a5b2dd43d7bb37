"""A file name cannot begin a line of the output, for example a workflow command of GitHub Actions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repository import tfgen
from tests.support.small_job import JOB
from tfgen import cli
from tfgen.cli.output import print_message

NAME = "b\n::error::forged.yaml"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", [["check", "--no-files"], ["check", "--no-files", "--format=github"], ["fmt"]])
def test_the_name_of_a_job_file_begins_no_line(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path(NAME).write_text(JOB.replace("spec:", "spec:\n  retries: x\n  # a"), encoding="utf-8")
    cli.run([*command, "."])
    cli.run([*command, NAME])
    lines = "".join(capsys.readouterr()).splitlines()
    assert any("forged.yaml" in line for line in lines)
    assert not any(line.startswith("::error::") for line in lines)


def test_the_name_of_a_missing_file_begins_no_line() -> None:
    printed = tfgen("check", NAME, code=cli.USAGE).err
    assert printed == "tfgen: error: b\\n::error::forged.yaml: No such file or directory\n"


def test_no_line_of_a_message_is_a_workflow_command(capsys: pytest.CaptureFixture[str]) -> None:
    print_message("two files:\n ::error::a\n::b")
    assert capsys.readouterr().err == "two files:\n \\x3a:error::a\n\\x3a:b\n"
