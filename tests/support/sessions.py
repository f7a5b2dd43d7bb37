"""A terminal session in a document: the test runs its commands in order and compares the lines below each command.

A command continues in the lines that begin with `>`. A line `...` matches any lines, and three dots within a line match
any text in the line.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from pathlib import Path

from tests.support.command import Command
from tests.support.tools import ROOT

_LINES = r"(?:.*\n)*"
_BLOCK = re.compile(r"^```console ?(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"^```(?:python|dockerfile) (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

TUTORIAL = "tutorial.md"
"""The page whose blocks form one session."""


def whole_session(page: str, *needs: str) -> str:
    """Return the blocks of a page as one session. A block with the path of a file writes this file.

    Args:
        page: The text of the page.
        needs: The marks of the blocks to run with the blocks that have no mark: `training`, `cluster`.
    """
    page = _FILE.sub(_written, page)
    return "".join(block for mark, block in _BLOCK.findall(page) if mark in ("", *needs))


def _written(block: re.Match[str]) -> str:
    """Return a block that writes the file of another block."""
    text = re.sub(r"^", "> ", block[2], flags=re.MULTILINE).removesuffix("> ")
    return f"```console\n$ cat > {block[1]} <<'END'\n{text}> END\n```"


def training_sessions(name: str) -> list[str]:
    """Return the sessions of a page that need TensorFlow, by the page's name in the repository."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return [session for mark, session in _BLOCK.findall(text) if mark == "training"]


def run_session(session: str, folder: Path, temporary: Path) -> None:
    """Run the commands of a session in a folder.

    Raises:
        AssertionError: The output of a command differs from the session. The message has the output of all commands so
            far, because the cause is often in the output of an earlier command.
    """
    transcript = ""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "TMPDIR": str(temporary)}
    for step in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, shown = _split(step)
        printed = Command(("bash", "-c", f"{{ {command}\n}} 2>&1 || true"), cwd=folder, env=environment).run()
        pattern = "".join(
            _LINES if line == "...\n" else ".*".join(map(re.escape, line.split("...")))
            for line in shown.splitlines(keepends=True)
        )
        transcript += f"$ {command}{printed}"
        assert re.fullmatch(pattern, printed), transcript


def _split(step: str) -> tuple[str, str]:
    """Split a step into a command and its output."""
    first, *lines = step.splitlines(keepends=True)
    more = [*itertools.takewhile(lambda line: re.match(r">( |$)", line), lines)]
    return "".join((first, *(re.sub(r"^> ?", "", line) for line in more))), "".join(lines[len(more) :])
