"""Tests of the streams that a shell passes to the program: closed, full, without a reader, or in a small locale."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.repository import tfgen
from tfgen import cli

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  strategy: Single
  image: mnist:1
  env: {GREETING: "你好"}
  roles: {chief: {}}
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    (tmp_path / "job.yaml").write_text(JOB, encoding="utf-8")
    return tmp_path / "job.yaml"


def shell(line: str, job: Path, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run a shell command in the folder of the job. In the command, `$tfgen` is the program."""
    surroundings = {**os.environ, "tfgen": f"{sys.executable} -m tfgen", **env}
    return subprocess.run(["bash", "-c", line], cwd=job.parent, env=surroundings, capture_output=True, check=False)


PROBLEM = (
    'job.yaml:8:11: unknown key "chef" in spec.roles; did you mean "chief"? (allowed: chief, evaluator, ps, worker) '
    "[unknown-key]\n"
)


def terminal(line: str, job: Path) -> str:
    """Return the text on a terminal that shows standard output and standard error."""
    ours, its = os.openpty()
    surroundings = {**os.environ, "tfgen": f"{sys.executable} -m tfgen", "COLUMNS": "120"}
    with subprocess.Popen(["bash", "-c", line], cwd=job.parent, env=surroundings, stdout=its, stderr=its):
        os.close(its)
        shown = b""
        with contextlib.suppress(OSError):  # on Linux, the error after the end of the last writer
            while part := os.read(ours, 4096):
                shown += part
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_shows_a_problem_with_its_line(job: Path) -> None:
    job.write_text(JOB.replace("chief: {}", "chef: {}"), encoding="utf-8")
    excerpt = "  |\n8 |   roles: {chef: {}}\n  |           ^~~~\n"
    assert terminal("$tfgen render job.yaml --out .", job) == PROBLEM + excerpt
    assert terminal("$tfgen check job.yaml --out . 2>/dev/null", job) == PROBLEM + excerpt


def test_a_pipe_has_one_line_a_problem(job: Path) -> None:
    """Editors and CI read the output from a pipe."""
    job.write_text(JOB.replace("chief: {}", "chef: {}"), encoding="utf-8")
    problem = PROBLEM.encode()
    assert shell("$tfgen check job.yaml --out . 2>/dev/null", job).stdout == problem
    assert shell("$tfgen render job.yaml --out .", job).stderr == problem


def test_a_terminal_shows_what_to_do_with_what_was_rendered(job: Path) -> None:
    shown = terminal("$tfgen render job.yaml --out .", job)
    assert shown.endswith(
        """\

Next:

  tfgen diff job.yaml                   print the changes in each environment
  tfgen check job.yaml --out .          report problems, and changes that need a new run
  tfgen commit job.yaml --out . --push  commit to git; Argo CD or Flux then applies the files
"""
    )
    assert "Next:" not in terminal("$tfgen render job.yaml --out .", job)
    assert shell("$tfgen render job.yaml --out other", job).stderr == b""


def test_a_closed_output_is_an_error(job: Path) -> None:
    done = shell("$tfgen render job.yaml --stdout >&-", job)
    assert (done.returncode, done.stderr) == (3, b"tfgen: error: standard output is closed\n")


def test_messages_do_not_go_to_the_output_where_there_is_no_place_for_them(job: Path) -> None:
    job.write_text("kind: [", encoding="utf-8")
    done = shell("$tfgen render job.yaml --stdout 2>&-", job)
    assert (done.returncode, done.stdout) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_an_error(job: Path) -> None:
    done = shell("$tfgen render job.yaml --stdout >/dev/full", job)
    assert (done.returncode, done.stderr) == (3, b"tfgen: error: standard output: No space left on device\n")


def test_a_reader_that_has_enough_is_none(job: Path) -> None:
    done = shell("set -o pipefail; for i in 1 2 3; do $tfgen schema; done | head -1", job)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{\n", b"")


@pytest.mark.parametrize(
    "locale",
    [{"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "latin-1"}],
    ids=["C", "latin-1"],
)
def test_any_locale_will_do(job: Path, locale: dict[str, str]) -> None:
    done = shell("$tfgen render job.yaml --stdout", job, **locale)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "value: 你好\n".encode() in done.stdout
    job.write_text(JOB.replace("mnist}", "你好}"), encoding="utf-8")
    assert shell("$tfgen render job.yaml", job, **locale).returncode == 1


@pytest.mark.parametrize("command", ["check ../job.yaml", "check job.yaml", "render .", "rm mnist", "init a"])
def test_a_working_directory_that_is_gone_is_said_to_be(
    job: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = job.parent / "gone"
    gone.mkdir()
    with contextlib.chdir(gone):
        gone.rmdir()
        assert cli.run(command.split()) == 3
    expected = "tfgen: error: the working directory no longer exists: No such file or directory\n"
    assert capsys.readouterr() == ("", expected)


def test_an_environment_to_write_alone_is_refused(job: Path) -> None:
    done = shell("$tfgen render job.yaml --env prod", job)
    assert done.stderr == b"tfgen: error: --env needs --stdout; without --stdout, tfgen renders all environments\n"
    assert (done.returncode, list(job.parent.iterdir())) == (2, [job])


def test_a_job_from_standard_input(job: Path) -> None:
    job.with_name("tfgen.yaml").write_text("apiVersion: tfgen/v1alpha1\nkind: Defaults\nregistry: hub.example.com\n")
    done = shell("$tfgen render - --stdout <job.yaml && $tfgen render job.yaml --stdout", job)
    assert (done.returncode, done.stderr) == (0, b"")
    once = done.stdout[: len(done.stdout) // 2]
    assert done.stdout == once * 2
    assert b"image: hub.example.com/mnist:1\n" in once
    done = shell("$tfgen render job.yaml >/dev/null; sed s/mnist:1/mnist:2/ job.yaml | $tfgen check -", job)
    assert (done.returncode, done.stdout) == (0, b"")
    done = shell("sed s/image:/imgae:/ job.yaml | $tfgen check -", job)
    assert done.returncode == 1
    assert done.stdout.startswith(b'<stdin>:6:3: unknown key "imgae" in spec; did you mean "image"?')
    done = shell("$tfgen check - <&-", job)
    assert (done.returncode, done.stderr) == (2, b"tfgen: error: -: standard input is closed\n")


@pytest.mark.parametrize("command", ["render", "diff", "commit", "rerun", "explain --origin"])
def test_what_belongs_to_a_file_takes_no_standard_input(
    job: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(job.parent)
    Command(("git", "init", "--quiet", "--template=")).run()
    out, err = tfgen(*command.split(), "-", code=2)
    assert out == ""
    assert err.startswith("tfgen: error: -: only `tfgen check` and `tfgen render --stdout` read standard input")
