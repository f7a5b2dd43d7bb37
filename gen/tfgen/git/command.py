"""Run a git command and return the output."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tfgen.errors import TfgenError
from tfgen.record import Record

if TYPE_CHECKING:
    import subprocess

_INDEX: Final = "GIT_INDEX_FILE"
"""The variable with the path of the index. During `git commit --only`, the index of a hook is a temporary file."""

# git sets these variables for hooks. A tfgen that a hook starts must not use the paths of the hook's repository.
_OF_A_HOOK: Final = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        _INDEX,
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    }
)

# LC_ALL: tfgen parses English messages. GIT_OPTIONAL_LOCKS: `git status` must not lock the index.
# GIT_NO_REPLACE_OBJECTS: a replaced object (refs/replace) is another object than the object that a GitOps tool reads.
_ENVIRONMENT: Final = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1"}

_CHUNK: Final = 500
"""Maximum number of paths on one command line."""


class Done(Record):
    """The result of a git command."""

    code: int
    stdout: bytes
    stderr: str


class Git(Record):
    """A git command that runs in a folder. `str(command)` returns the command line for a shell.

    Attributes:
        stdin: the standard input of the command.
        runs_hooks: whether the command may run git hooks. Such a command uses the user's locale. All other commands
            print English messages, and take a `*` in a path literally.
        uses_index_of_hook: whether the command uses the index of the git hook that started tfgen, if any.
    """

    folder: Path
    arguments: tuple[str, ...]
    stdin: bytes = b""
    runs_hooks: bool = False
    uses_index_of_hook: bool = False

    @property
    def argv(self) -> tuple[str, ...]:
        """Return the program name and the arguments."""
        options = () if self.runs_hooks else ("--literal-pathspecs",)
        return ("git", "-C", str(self.folder), *options, *self.arguments)

    def start(self, *, has_errors: bool = True) -> subprocess.Popen[bytes]:
        """Start the command with pipes to its standard input, standard output and standard error.

        Args:
            has_errors: False to discard the standard error, for a caller that does not read the pipe of the standard
                error. git blocks if the pipe is full.

        Raises:
            TfgenError: git cannot start.
        """
        import subprocess  # the import takes 3 ms, and `tfgen render` runs no git command

        left_out = _OF_A_HOOK - {_INDEX} if self.uses_index_of_hook else _OF_A_HOOK
        environment = {name: value for name, value in os.environ.items() if name not in left_out}
        environment |= {} if self.runs_hooks else _ENVIRONMENT
        stderr = subprocess.PIPE if has_errors else subprocess.DEVNULL
        try:
            return subprocess.Popen(  # noqa: S603 - no shell, and no argument that could be an option
                self.argv, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
            )
        except OSError as error:
            raise TfgenError(f"git cannot start: {error.strerror}") from error

    def done(self) -> Done:
        """Run the command and return its result. A nonzero exit code raises no error."""
        with self.start() as process:
            try:
                stdout, stderr = process.communicate(self.stdin)
            except BaseException:
                end(process)
                raise
        return Done(process.returncode, stdout, stderr.decode("utf-8", errors="replace"))

    def output(self) -> bytes:
        """Run the command and return its output.

        Raises:
            TfgenError: the exit code is not 0.
        """
        done = self.done()
        if done.code:
            raise self.failure(done)
        return done.stdout

    def output_of(self, paths: Sequence[str]) -> bytes:
        """Run the command with paths as the last arguments, and return the output.

        The command runs once for every 500 paths, because the length of a command line is limited.

        Raises:
            TfgenError: the exit code of a run is not 0.
        """
        parts = (paths[start : start + _CHUNK] for start in range(0, len(paths), _CHUNK))
        return b"".join(self.replaced(arguments=(*self.arguments, *part)).output() for part in parts)

    def failure(self, done: Done) -> TfgenError:
        """Return an error with the command line, the exit code and the message of the failed command."""
        return TfgenError(f"{self} ended with code {done.code}: {done.stderr.strip()}")

    def __str__(self) -> str:
        return shlex.join(self.argv)


_PATIENCE_S: Final = 10.0


def end(process: subprocess.Popen[bytes]) -> None:
    """Stop a running git process."""
    import subprocess

    process.terminate()  # on SIGTERM, git removes its lock files, which would block the next git command
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()


def is_installed() -> bool:
    """Return whether git is on the PATH."""
    # Not `shutil.which`: the module `shutil` imports two compression libraries.
    paths = (os.path.join(folder, "git") for folder in os.get_exec_path())  # noqa: PTH118 - a folder may be ""
    return any(os.path.isfile(path) and os.access(path, os.X_OK) for path in paths)  # noqa: PTH113
