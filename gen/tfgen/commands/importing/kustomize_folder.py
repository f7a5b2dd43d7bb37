"""Folders of kustomize: which of them are overlays, and what kustomize makes of one.

The program is `kustomize`, or `kubectl`, which has it inside.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tfgen.errors import TfgenError, UsageError
from tfgen.text.parse import MAX_BYTES, decode, parse

_FILES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""Names of the file of a folder that kustomize builds."""
_BASE: Final = "base"
"""The folder that overlays change, by custom; it is no environment."""


def is_overlay(folder: Path) -> bool:
    """Whether kustomize can build a folder."""
    return any((folder / name).is_file() for name in _FILES)


def overlays(folder: Path) -> Mapping[str, Path]:
    """The overlays in a folder, by their names; a base and components are none.

    Raises:
        UsageError: there are none.
    """
    inner = {path.name: path for path in sorted(folder.iterdir()) if path.is_dir() and path.name != _BASE}
    environments = {name: path for name, path in inner.items() if is_overlay(path) and not _is_component(path)}
    if not environments:
        raise UsageError(f"{folder}: no overlay of kustomize: neither it nor a folder in it has a {_FILES[0]}")
    return environments


def build(folder: Path) -> bytes:
    """What kustomize makes of an overlay.

    Raises:
        TfgenError: there is no kustomize, or it cannot build the folder.
    """
    programs = [name for name in ("kustomize", "kubectl") if shutil.which(name)]
    if not programs:
        raise TfgenError(f"{folder}: an overlay is built by kustomize, or by kubectl; neither is on the PATH")
    command = ("kustomize", "build") if programs[0] == "kustomize" else ("kubectl", "kustomize")
    argv = (*command, "--", str(folder))
    done = subprocess.run(argv, capture_output=True, check=False)  # noqa: S603 - no shell
    if done.returncode:
        reason = done.stderr.decode("utf-8", errors="replace").strip()
        raise TfgenError(f"{shlex.join(argv)} ended with code {done.returncode}: {reason}")
    return done.stdout


def _is_component(folder: Path) -> bool:
    file = next(folder / name for name in _FILES if (folder / name).is_file())
    with file.open("rb") as stream:
        text = decode(stream.read(MAX_BYTES + 1), str(file))
    documents = parse(text, str(file)).documents if isinstance(text, str) else ()
    return any(isinstance(document.data, dict) and document.data.get("kind") == "Component" for document in documents)
