"""A git command: how it is run, and what it answered."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tfgen.errors import TfgenError
from tfgen.record import Record

# What a hook inherits speaks of the repository that runs it, by paths from a folder that need not be the file's.
_OF_A_HOOK: Final = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})

# Messages as they are in the source; and no lock taken only to refresh the index.
_ENVIRONMENT: Final = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}

_CHUNK: Final = 500
"""Paths on one command line."""


class Done(Record):
    """What a git command came to."""

    code: int
    stdout: bytes
    stderr: str


class Git(Record):
    """A git command in a folder; `str` of it is a line for a shell.

    Attributes:
        stdin: what it reads.
        runs_hooks: whether it runs the user's hooks, which are to find the user's own settings. Else no argument is a
            pattern, and messages are in English.
    """

    folder: Path
    arguments: tuple[str, ...]
    stdin: bytes = b""
    runs_hooks: bool = False

    @property
    def argv(self) -> tuple[str, ...]:
        """The whole command."""
        options = () if self.runs_hooks else ("--literal-pathspecs",)
        return ("git", "-C", str(self.folder), *options, *self.arguments)

    def done(self) -> Done:
        """The command's end, whatever its code."""
        environment = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
        environment |= {} if self.runs_hooks else _ENVIRONMENT
        with subprocess.Popen(  # noqa: S603 - no shell, and no argument that could be an option
            self.argv, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            try:
                stdout, stderr = process.communicate(self.stdin)
            except BaseException:
                _end(process)
                raise
        return Done(process.returncode, stdout, stderr.decode("utf-8", errors="replace"))

    def output(self) -> bytes:
        """What the command prints.

        Raises:
            TfgenError: it ended with another code than 0.
        """
        done = self.done()
        if done.code:
            raise self.failure(done)
        return done.stdout

    def output_of(self, paths: Sequence[str]) -> bytes:
        """What the command prints of paths, which stand behind its arguments: in as many runs as they take.

        Raises:
            TfgenError: one of them ended with another code than 0.
        """
        parts = (paths[start : start + _CHUNK] for start in range(0, len(paths), _CHUNK))
        return b"".join(self.replaced(arguments=(*self.arguments, *part)).output() for part in parts)

    def failure(self, done: Done) -> TfgenError:
        """The error of a command that went wrong: what to type to see it again, and what it said."""
        return TfgenError(f"{self} ended with code {done.code}: {done.stderr.strip()}")

    def __str__(self) -> str:
        return shlex.join(self.argv)


_PATIENCE_S: Final = 10.0


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a git that is at work: asked to, it removes its locks, which would refuse the next one."""
    process.terminate()
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()


def is_installed() -> bool:
    """Whether there is a git to run."""
    return shutil.which("git") is not None
