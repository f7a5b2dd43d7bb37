"""Tests of the progress messages, which appear only on a terminal and are erased at the end."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.repository import JOB, commit_all, tfgen
from tfgen import cli
from tfgen.cli import output
from tfgen.cli.output import columns, with_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "items", "shown"),
    [
        (Terminal(), 20, "\rrendering 1/20\rrendering 2/20\r\033[K"),
        (Terminal(), 19, ""),
        (io.StringIO(), 20, ""),
    ],
)
def test_long_work_is_counted_on_a_terminal_until_it_ends(
    stream: io.StringIO, items: int, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    work = with_progress(range(items), items, "rendering")
    assert (next(iter(work)), next(iter(work))) == (0, 1)
    work.close()  # an error closes the generator too
    assert stream.getvalue() == shown


@pytest.mark.parametrize(
    ("arguments", "doing"),
    [
        (["render"], "rendering"),
        (["check", "--no-files"], "checking"),
        (["diff"], "comparing"),
        (["commit"], "checking"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else value,
)
def test_each_command_of_many_jobs_counts_them(
    arguments: list[str], doing: str, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (job.parent / f"job{number or ''}.yaml").write_text(
            JOB.replace("mnist}", f"mnist-{number}}}"), encoding="utf-8"
        )
    commit_all()
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(output, "_PROGRESS_ITEMS", 3)
    assert cli.run([arguments[0], str(job.parent), *arguments[1:]]) == 0
    assert f"\r{doing} 1/3" in stream.getvalue()
    assert f"\r{doing} 3/3\r\033[K" in stream.getvalue()


@pytest.mark.parametrize(("value", "width"), [("72", 72), ("", None), ("wide", None), ("0", None)])
def test_the_width_is_that_of_the_variable_where_no_terminal_says_one(
    value: str, width: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", value)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert columns() == width


HOSTILE = "a\x1b[31mred\x07\x9b2J\u202eb\r\nc\td\u2028\U000e0041é🚀"
ESCAPED = "a\\x1b[31mred\\x07\\x9b2J\\u202eb\\r\nc\td\\u2028\\U000e0041é🚀\n"


def test_no_message_or_result_reaches_the_terminal_as_an_escape_sequence(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_message(HOSTILE)
    output.print_result(HOSTILE)
    assert capsys.readouterr() == (ESCAPED, ESCAPED)


def test_json_has_its_own_escapes_for_what_a_terminal_would_obey(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({HOSTILE: [HOSTILE]})
    text = capsys.readouterr().out
    assert json.loads(text) == {HOSTILE: [HOSTILE]}
    assert all(line.isprintable() for line in text.split("\n"))
    assert "é🚀" in text


def test_a_key_of_a_ledger_reaches_the_terminal_as_an_escape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tfgen.yaml").write_text("{apiVersion: tfgen/v1alpha1, kind: Defaults, root: true}\n", encoding="utf-8")
    Path("job.yaml").write_text(JOB, encoding="utf-8")
    tfgen("render", "job.yaml")
    (ledger,) = Path(".tfgen").glob("*.json")
    data = json.loads(ledger.read_text(encoding="utf-8"))
    ledger.write_text(json.dumps({**data, "\x1b]0;owned\x07\x9b": 1}), encoding="utf-8")
    printed = tfgen("check", "job.yaml", code=cli.FAILED)
    assert "owned" in printed.err
    assert (printed.out + printed.err).replace("\n", "").isprintable()


NAMING = [
    ["check"],
    ["check", "--format", "github"],
    ["diff"],
    ["diff", "--format", "markdown"],
    ["explain", "--origin"],
    ["draw"],
    ["fmt", "--check"],
    ["set", "retries=3"],
    ["rerun"],
]


@pytest.mark.parametrize("is_colour", [False, True], ids=["plain", "colour"])
@pytest.mark.parametrize("arguments", NAMING, ids=" ".join)
def test_the_name_of_a_job_file_reaches_the_terminal_as_an_escape(
    arguments: list[str],
    is_colour: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tfgen.commands.diff.is_in_colour", lambda _stream: is_colour)
    Command(("git", "init", "--quiet", "--initial-branch=main")).run()
    name = "job\x1b]0;owned\x07\x9b\u202e.yaml"
    Path(name).write_text(JOB, encoding="utf-8")
    tfgen("render", name)
    commit_all()
    Path(name).write_text(f"{JOB}  labels: {{a: b}}\n", encoding="utf-8")
    capsys.readouterr()
    assert cli.run([arguments[0], name, *arguments[1:]]) in (cli.OK, cli.PROBLEMS)
    printed = capsys.readouterr()
    text = re.sub(r"\x1b\[[0-9;]*m", "", printed.out + printed.err) if is_colour else printed.out + printed.err
    assert text.replace("\n", "").isprintable()
