"""Tests of completion: the candidates for a line, and the real shells with their scripts."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import shlex
import signal
import sys
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.repository import tfgen
from tests.support.small_job import JOB
from tests.support.tools import shell_program
from tfgen import cli
from tfgen.cli.parser import COMMANDS, options, parsers, positionals
from tfgen.commands.completion import VALUES, candidates, split_line

FREE = {
    "BASE",
    "NEW",
    "OURS",
    "THEIRS",
    None,  # a choice, or a name outside tfgen, such as a context or a namespace
    "COMMAND",
    "COUNT",
    "N",
    "NAME",
    "REV",
    "ROLE=INDEX@SECONDSs",
    "TEAM",
    "TEXT",
    "TIME",
    "VERSION",
    "X.Y",
    "-- WORD",
}
"""The placeholders in the help for values that only the user knows."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with jobs and with other files."""
    for path, text in {
        "job.yaml": JOB.replace("spec:", "spec:\n  storage: {data: {mountPath: /data, claim: {name: data}}}"),
        "my jobs/it's.yaml": JOB,
        "broken.yaml": JOB.replace("replicas: 2", "replica: 2"),
        "values.yaml": "image: mnist:1\n",
        "notes.txt": "",
        ".hidden/job.yaml": JOB,
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("che", "check"),
        ("l", "local | logs | lsp"),
        ("--v", "--version"),
        ("nothing ", ""),
        ("check --no", "--no-files"),
        ("check --format ", "text | json | github | sarif"),
        ("check --format=s", "--format=sarif"),
        ("render ", "broken.yaml | job.yaml | my jobs/"),
        ("render 'my jobs/'", "my jobs/it's.yaml"),
        ("render .h", ".hidden/"),
        ("render job.yaml --out ", "my jobs/"),
        ("render job.yaml --env ", "prod"),
        ("render broken.yaml --env ", "prod"),
        ("render none.yaml --env ", ""),
        ("render values.yaml --env ", ""),
        ("status --env ", "prod"),
        ("init mnist --out m", "my jobs/"),
        ("import n", "notes.txt"),
        ("import --env prod=v", "prod=values.yaml"),
        ("local job.yaml --mount ", "data="),
        ("local job.yaml --mount data=m", "data=my jobs/"),
        ("logs job.yaml --role w", "worker"),
        ("exec job.yaml --ro", "--role"),
        ("exec job.yaml --role worker -- ls --fo", ""),
        ("set job.yaml roles.worker.repl", "roles.worker.replicas="),
        ("set job.yaml image=a:1 storage.", "storage.data."),
        ("set job.yaml --env prod spec.stor", "spec.storage."),
        ("set job.yaml objects.queue.spec.", "objects.queue.spec.NAME="),
        ("set job.yaml completion.release=", "completion.release=ScaleToZero | completion.release=Keep"),
        ("local job.yaml --set gang.en", "gang.enabled="),
        ("local job.yaml --set=gang.enabled=t", "--set=gang.enabled=true"),
        ("explain spec.roles.w", "spec.roles.worker."),
        ("explain storage.", "storage.NAME."),
        ("explain spec.tolerations.k", "spec.tolerations.key"),
        ("explain spec.nothing.", ""),
        ("explain --origin j", "job.yaml"),
        ("explain --origin job.yaml --env ", "prod"),
        ("explain latest", "latest-tag"),
        ("rm ", "broken.yaml | job.yaml | my jobs/"),
        ("schema ", ""),
        ("completion ", "bash | zsh | fish"),
    ],
)
def test_what_is_offered(folder: Path, line: str, expected: str) -> None:
    words = [*shlex.split(line), *([""] if line.endswith(" ") else [])]
    assert " | ".join(candidate.word for candidate in candidates(words)) == expected


def test_each_command_is_offered_with_what_it_does(folder: Path) -> None:
    names = [name for name in COMMANDS if name != "merge-driver"]
    assert [candidate.word for candidate in candidates([""])] == [*names, "help", "version"]
    (check,) = candidates(["check"])
    assert check.text == "report the problems of jobs and of their rendered files"
    assert [candidate.word for candidate in candidates(["help", "ch"])] == ["check"]


def test_rm_offers_the_names_of_rendered_jobs(folder: Path) -> None:
    tfgen("render", "job.yaml")
    names = [*candidates(["rm", ""])]
    assert [candidate.word for candidate in names[-1:]] == ["mnist"]
    Path("job.yaml").unlink()
    for command in ("rm", "rename"):
        assert [candidate.word for candidate in candidates([command, "mn"])] == ["mnist"]


def test_each_argument_is_completed_or_is_anybodys() -> None:
    words = {
        action.metavar
        for parser in parsers(COMMANDS).commands.values()
        for action in (*options(parser).values(), *positionals(parser))
        if action.choices is None and action.nargs != 0
    }
    assert words == {*VALUES, *FREE}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tfgen", ["tfgen"]),
        ("tfgen ", ["tfgen", ""]),
        ("tfgen render  a", ["tfgen", "render", "a"]),
        ("tfgen render a\\ b", ["tfgen", "render", "a\\ b"]),
        ("tfgen render 'a b", ["tfgen", "render", "'a b"]),
        ("tfgen render 'a b' ", ["tfgen", "render", "'a b'", ""]),
        ("tfgen set j --env=x a='b c", ["tfgen", "set", "j", "--env=x", "a='b c"]),
        ("tfgen render a\\", ["tfgen", "render", "a\\"]),
    ],
)
def test_a_line_is_taken_apart_as_a_shell_does(line: str, words: list[str]) -> None:
    assert split_line(line) == words


TYPED = {
    "che": ["check"],
    "check --form": ["check", "--format"],
    "check --format=sa": ["check", "--format=sarif"],
    "check job": ["check", "job.yaml"],
    "check my": ["check", "my jobs/"],
    "check my\\ jobs/i": ["check", "my jobs/it's.yaml"],
    "check 'my jobs/i": ["check", "my jobs/it's.yaml"],
    'check "my jobs/i': ["check", "my jobs/it's.yaml"],
    "render job.yaml --env ": ["render", "job.yaml", "--env", "prod"],
    "set job.yaml roles.worker.repl": ["set", "job.yaml", "roles.worker.replicas="],
    "set job.yaml gang.enabled=t": ["set", "job.yaml", "gang.enabled=true"],
    "explain spec.roles.w": ["explain", "spec.roles.worker."],
}
"""The text before the tab, and the words of the line after the completion."""

BASH = "PS1=; bind 'set bell-style none'; source <(tfgen completion bash)"
ZSH = "PS1=; bindkey -e; autoload -Uz compinit; compinit -D -u; source <(tfgen completion zsh)"


@pytest.mark.parametrize(("shell", "options", "setup"), [("bash", "--norc", BASH), ("zsh", "-f", ZSH)])
def test_a_shell_completes_what_is_typed(folder: Path, shell: str, options: str, setup: str) -> None:
    # The keys after the tab turn the line into a printf, so that the shell writes each word to `out`.
    lines = (f"tfgen {typed}\t\x01printf '<%s>' \x05 >>out; echo >>out\r" for typed in TYPED)
    run_in_terminal([shell_program(shell), options, "-i"], f"{setup}\r{''.join(lines)}exit\r")
    words = (folder / "out").read_text(encoding="utf-8").splitlines()
    assert words == [f"<tfgen>{''.join(f'<{word}>' for word in expected)}" for expected in TYPED.values()]


def test_fish_completes_what_is_typed(folder: Path) -> None:
    script = "tfgen completion fish | source; for line in $argv; complete --do-complete $line; end"
    fish = (shell_program("fish"), "--no-config", "--private", "--command", script)
    out = Command((*fish, *(f"tfgen {typed}" for typed in TYPED)), env=ENVIRONMENT).run()
    assert [re.sub(r"\t.*", "", line) for line in out.splitlines()] == [words[-1] for words in TYPED.values()]


ENVIRONMENT = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "HISTFILE": "/dev/null"}


def run_in_terminal(command: list[str | Path], keys: str) -> None:
    """Type keys into a program in a new terminal. Wait for the program to end, or kill it if it waits for more keys."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(command[0], command, {**os.environ, **ENVIRONMENT, "TERM": "dumb"})
    os.write(terminal, keys.encode())
    shown = b""
    with contextlib.suppress(OSError):  # on Linux, the error after the end of the last writer
        while select.select([terminal], [], [], SILENCE)[0]:
            shown += os.read(terminal, 4096)
        os.kill(child, signal.SIGKILL)
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert status == 0, shown.decode()


SILENCE = 20
"""Seconds without output, after which the program is killed."""


def test_the_script_is_data_too() -> None:
    assert '"script": "# Completion of tfgen for bash' in tfgen("completion", "--format", "json", "bash").out


def test_an_unknown_shell_is_refused() -> None:
    assert "choose from" in tfgen("completion", "tcsh", code=cli.USAGE).err
