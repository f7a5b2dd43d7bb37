"""What git has of a file: the one place that runs git.

committed(Path("jobs/mnist/job.yaml"))            -> the bytes that the last commit has
committed(Path("jobs/mnist/job.yaml"), "v1.4")    -> those of a tag, a branch or a commit
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tfgen.errors import TfgenError, UsageError

HEAD: Final = "HEAD"

# What a hook inherits speaks of the repository that runs it, by paths from a folder that need not be the file's.
_OF_A_HOOK: Final = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})
# Messages as they are in the source; and no lock taken only to refresh the index.
_ENVIRONMENT: Final = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}


@dataclass(frozen=True)
class Done:
    """What a git command came to."""

    code: int
    stdout: bytes
    stderr: str


@dataclass(frozen=True)
class Git:
    """A git command in a folder; `str` of it is a line for a shell. No argument is a pattern."""

    folder: Path
    arguments: tuple[str, ...]

    @property
    def argv(self) -> tuple[str, ...]:
        """The whole command."""
        return ("git", "-C", str(self.folder), "--literal-pathspecs", *self.arguments)

    def done(self) -> Done:
        """The command's end, whatever its code."""
        environment = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
        ended = subprocess.run(  # noqa: S603 - no shell, and no argument that could be an option
            self.argv, env={**environment, **_ENVIRONMENT}, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        return Done(ended.returncode, ended.stdout, ended.stderr.decode("utf-8", errors="replace"))

    def output(self) -> bytes:
        """What the command prints.

        Raises:
            TfgenError: it ended with another code than 0.
        """
        done = self.done()
        if done.code:
            raise self.failure(done)
        return done.stdout

    def failure(self, done: Done) -> TfgenError:
        """The error of a command that went wrong: what to type to see it again, and what it said."""
        return TfgenError(f"{self} ended with code {done.code}: {done.stderr.strip()}")

    def __str__(self) -> str:
        return shlex.join(self.argv)


def is_installed() -> bool:
    """Whether there is a git to run."""
    return shutil.which("git") is not None


def committed(path: Path, revision: str = HEAD) -> bytes | None:
    """A file as it is in a commit: of the repository that the file is in, wherever this process is.

    None where there is nothing to compare with: the file is not in that commit; or, for the last commit, which
    nobody asked for by name, there is no commit yet, no repository or no git.

    Raises:
        UsageError: there is no such revision.
        TfgenError: git fails.
    """
    file = path.resolve()
    commit = _commit(file.parent, revision) if is_installed() else None
    if commit is None:
        if revision == HEAD:
            return None
        reason = f"git has no revision {revision!r} where it is" if is_installed() else "there is no git on the PATH"
        raise UsageError(f"{path}: {reason}")
    entry = Git(file.parent, ("ls-tree", "-z", "--", commit, file.name)).output().partition(b"\t")[0].split()
    # Mode, type and id; a link's content is a path, and a folder has none.
    if not entry or not entry[0].startswith(b"100"):
        return None
    return Git(file.parent, ("cat-file", "blob", entry[2].decode())).output()


def _commit(folder: Path, revision: str) -> str | None:
    """The id of a revision's commit; None where there is none, or no repository."""
    if revision.startswith(("-", "^")):
        return None  # an option or an exclusion, and never a name
    repository = Git(folder, ("rev-parse", "--git-dir"))
    found = repository.done()
    if found.code:
        if "not a git repository" in found.stderr:
            return None
        raise repository.failure(found)
    verified = Git(folder, ("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")).done()
    return None if verified.code else verified.stdout.decode().strip()
