"""A command line as a value. Tests run every program with this class.

A failure shows the command to type for the same result, and the complete output of the program:

    Command(("git", "status", "--porcelain"), cwd=tmp_path).run()
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

WITHOUT_COLLECTION: Final = {"GOGC": "off", "GOMEMLIMIT": "1GiB"}
"""Variables for a short Go program: below the memory limit the program skips garbage collection, a quarter of its time.

https://go.dev/doc/gc-guide#Memory_limit
"""


class CommandError(AssertionError):
    """A command ended with a code other than 0, or wrote a warning in a silent run."""

    def __init__(self, command: Command, code: int, stdout: str, stderr: str) -> None:
        self.command, self.code, self.stdout, self.stderr = command, code, stdout, stderr
        super().__init__(f"$ {command}\nexit code {code}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")


@dataclass(frozen=True)
class Command:
    """A program with its arguments. Its `str` is a line for a shell."""

    argv: tuple[str | Path, ...]
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables added to the environment of this process."""
    stdin: str = ""

    def run(self, *, silent: bool = False, timeout: float = 600) -> str:
        """Run the program and return its standard output.

        Args:
            silent: Fail on any output on stderr, because Helm and kustomize write warnings on stderr and exit with 0.
            timeout: Seconds after which the program is killed.

        Raises:
            CommandError: The exit code is not 0, or a silent run wrote to stderr.
            subprocess.TimeoutExpired: The program took longer than `timeout`.
        """
        done = subprocess.run(
            self.argv,
            cwd=self.cwd,
            env={**os.environ, **self.env},
            input=self.stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )
        if done.returncode or (silent and done.stderr):
            raise CommandError(self, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def __str__(self) -> str:
        variables = "".join(f"{name}={shlex.quote(value)} " for name, value in self.env.items())
        line = variables + shlex.join(map(str, self.argv))
        return f"(cd {shlex.quote(str(self.cwd))} && {line})" if self.cwd else line
