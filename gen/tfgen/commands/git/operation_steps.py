"""List the commands that finish or abort a git operation, such as a merge."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from tfgen.git.under_way import Operation
from tfgen.places import CHARTS, OVERLAYS
from tfgen.tree.ledger import LEDGER_FOLDER


def operation_steps(operation: Operation, jobs: Sequence[Path], out: Path) -> str:
    """Return the commands that finish or abort a git operation, one on each line.

    The commands that finish the operation also render the jobs again.
    """
    folders = [path for name in (LEDGER_FOLDER, CHARTS, OVERLAYS) if (path := out / name).is_dir()]
    render = [f"tfgen render {shlex.join(map(str, jobs))}"] if folders else []
    steps = (
        "# resolve the conflicts in the files that git status lists, except rendered files",
        *render,
        "git add --update :/",
        f"git add {shlex.join(os.path.relpath(path) for path in (*jobs, *folders))}",
        operation.finish,
    )
    lines = "".join(f"  {step}\n" for step in steps)
    return f"To finish:\n{lines}To abort: {operation.abort}"
