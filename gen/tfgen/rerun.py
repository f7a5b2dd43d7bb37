"""``tfgen rerun``: the name of the next run, put into job.yaml where the last one stands.

    spec:                        spec:
      run: "2"  # after the fix    run: "3"  # after the fix

The text is edited at that one place, and every other byte stays: a round trip through a YAML library would keep the
comments, and still rewrite indentation and quotes that nobody asked it to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, Final

from tfgen.document import Document, Path, parse
from tfgen.errors import TfgenError, UsageError
from tfgen.yaml_text import scalar

FIRST: Final = "2"
"""The run after the one without a name."""

_LONGEST: Final = 20  # as the job schema has it
_NUMBERED: Final = re.compile(r"(.*?)([0-9]+)")
_SCALAR: Final = re.compile(r"\"[^\"]*\"|'[^']*'|[-a-z0-9]*")


@dataclass(frozen=True)
class Rerun:
    """The new text of the file, and the runs before and after."""

    text: str
    before: str
    after: str


def next_run(run: str) -> str:
    """The name after a run's: its last number raised by one, or one put behind it.

    >>> next_run(""), next_run("2"), next_run("lr-9"), next_run("warm")
    ('2', '3', 'lr-10', 'warm-2')

    Raises:
        TfgenError: the name would be too long.
    """
    numbered = _NUMBERED.fullmatch(run)
    if numbered:
        after = numbered[1] + str(int(numbered[2]) + 1).zfill(len(numbered[2]))
    else:
        after = f"{run}-{FIRST}" if run else FIRST
    if len(after) > _LONGEST:
        raise TfgenError(f"the run after {run!r} would be {after!r}, more than {_LONGEST} characters: name it yourself")
    return after


def rerun(text: str, document: Document, environment: str | None, *, resume: bool) -> Rerun:
    """The file with the next run in it.

    Args:
        text: the file's text.
        document: the job in it, which has no errors.
        environment: the environment that is to run again; None for the job, and so every environment that has no
            run of its own.
        resume: go on in the folder of the last run, instead of the new run's own.

    Raises:
        UsageError: the job has no such environment.
    """
    place = _place(document, environment)
    spec = document.data["spec"]
    said = spec if environment is None else {**spec, **(spec["environments"][environment] or {})}
    before, after = said.get("run", ""), next_run(said.get("run", ""))
    changes = {"run": after}
    if resume and _has_folders(said):
        changes["resumeFrom"] = said.get("resumeFrom") or before or "1"
    elif said.get("resumeFrom"):
        changes["resumeFrom"] = ""
    edited = text
    for key, value in reversed(changes.items()):
        edited = _set(edited, document, (*place, key), value)
        document = _again(edited, document)
    _verify(document.data, place, changes)
    return Rerun(edited, before, after)


def _has_folders(said: Mapping[str, Any]) -> bool:
    """Whether a volume has a folder for each run; else every run finds what the last one left, and needs no word."""
    volumes = (said.get("storage") or {}).values()
    return any(isinstance(volume, Mapping) and volume.get("runs") == "Separate" for volume in volumes)


def replace_text(path: FilePath, text: str) -> None:
    """Put a new text in a file's place, whole or not at all.

    Raises:
        TfgenError: the disk fails.
    """
    new = path.with_name(f".{path.name}.tfgen")
    try:
        new.write_text(text, encoding="utf-8", newline="\n")
        new.chmod(path.stat().st_mode)
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise TfgenError(f"{path}: {error.strerror}") from error


def _place(document: Document, environment: str | None) -> Path:
    if environment is None:
        return ("spec",)
    environments = document.data["spec"].get("environments", {})
    if environment not in environments:
        known = ", ".join(environments) or "none"
        raise UsageError(f"{document.file}: no environment {environment!r}; it has {known}")
    return ("spec", "environments", environment)


def _set(text: str, document: Document, path: Path, value: str) -> str:
    """The text with one key of a mapping set; a key that is not there comes before the first."""
    *above, key = path
    parent: Any = document.data
    for step in above:
        parent = parent[step]
    lines = text.split("\n")
    if isinstance(parent, Mapping) and key in parent:
        line, column = document.value(path)
        before, old = lines[line - 1][: column - 1], lines[line - 1][column - 1 :]
        lines[line - 1] = before + _SCALAR.sub(_quoted(value), old, count=1)
        return "\n".join(lines)
    line, column = document.value(tuple(above))
    if lines[line - 1].startswith("{", column - 1):
        head, rest = lines[line - 1][:column], lines[line - 1][column:]
        comma = ", " if parent else ""
        lines[line - 1] = f"{head}{key}: {_quoted(value)}{comma}{rest}"
    else:
        lines.insert(line - 1, f"{' ' * (column - 1)}{key}: {_quoted(value)}")
    return "\n".join(lines)


def _quoted(value: str) -> str:
    """A run's name as a reader sees that it is a name: quoted whenever it could be a number."""
    return f'"{value}"' if not value or value[0].isdigit() else scalar(value)


def _again(text: str, document: Document) -> Document:
    parsed = parse(text, document.file)
    name = document.data["metadata"]["name"]
    return next(d for d in parsed.documents if d.data["metadata"]["name"] == name)


def _verify(data: Any, place: Path, changes: Mapping[str, str]) -> None:
    for step in place:
        data = data[step]
    if any(data.get(key) != value for key, value in changes.items()):
        where = ".".join(str(step) for step in place)
        raise TfgenError(f"cannot put the new run into {where} as that is written: set {dict(changes)} there by hand")
