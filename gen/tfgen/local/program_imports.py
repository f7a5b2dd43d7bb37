"""Finds the packages that a Python program imports but that are not installed.

A task that imports a missing package would end with a ModuleNotFoundError. `tfgen local` reports the missing packages
before a task starts.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

_FIND: Final = """
import importlib.util, sys
sys.path.insert(0, sys.argv[1])
print(*[name for name in sys.argv[2:] if importlib.util.find_spec(name) is None])
"""
"""Python code that prints the missing packages. The arguments are the folder of the program and the packages."""

_DISTRIBUTIONS: Final[Mapping[str, str]] = {
    "PIL": "pillow",
    "cv2": "opencv-python",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""The usual packages whose name for `pip install` differs from the name in the import statement."""


def find_missing_packages(python: str, program: Path, environ: Mapping[str, str]) -> dict[str, int]:
    """Return the packages that a program imports at its start but that the interpreter `python` cannot find.

    The result has the number of the first line that imports the package, by the name in the import statement. The name
    for `pip install` may differ.

    The result is empty if the program is not valid Python or if the interpreter fails, because the task itself then
    reports the error.
    """
    lines = _imported_packages(program)
    if not lines:
        return {}
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter of the tasks, with names that `ast` has read
            [python, "-c", _FIND, str(program.parent), *lines],
            env={**environ},
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    return {name: lines[name] for name in done.stdout.split()}


def advice(missing: Iterable[str], python: str, requirements: Path) -> str:
    """Return what to do about missing packages on this machine, as the last clause of a message.

    Args:
        missing: the names of the missing packages in the import statements.
        python: the interpreter of the tasks.
        requirements: the path of the requirements.txt beside the program, which may not exist.
    """
    names = [_DISTRIBUTIONS.get(name, name) for name in missing]
    if requirements.is_file():
        text = requirements.read_text(encoding="utf-8", errors="replace")
        listed = [_normalized(name) for name in re.findall(r"^\s*([A-Za-z0-9][\w.-]*)", text, re.MULTILINE)]
        # A listed distribution, such as tensorflow, can require an unlisted one, such as numpy.
        if any(other.startswith(_normalized(name)) for name in names for other in listed):
            return f"run {python} -m pip install -r {requirements}"
    return f"run {python} -m pip install {' '.join(names)}"


def _normalized(name: str) -> str:
    """Return the name of a distribution as the Python Package Index compares names.

    https://packaging.python.org/en/latest/specifications/name-normalization/
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def _imported_packages(program: Path) -> dict[str, int]:
    """Return the line of the first import of each package that a program imports, by name of the package.

    Example: {"tensorflow": 3}. An import in a function, a condition or a `try` does not count, because such an import
    may never run.
    """
    try:
        module = ast.parse(program.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return {}
    lines: dict[str, int] = {}
    for statement in module.body:
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            names = [statement.module]
        else:
            continue
        for name in names:
            lines.setdefault(name.partition(".")[0], statement.lineno)
    return lines
