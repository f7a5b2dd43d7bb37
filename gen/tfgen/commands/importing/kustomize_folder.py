"""Find kustomize overlays in a folder, and build an overlay with `kustomize` or `kubectl kustomize`."""

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
"""The file names that kustomize accepts for a kustomization."""
_BASE: Final = "base"
"""The usual name of the kustomize base, which is not an environment."""


def is_overlay(folder: Path) -> bool:
    """Return True if a folder contains a kustomization, so that kustomize can build the folder."""
    return any((folder / name).is_file() for name in _FILES)


def overlays(folder: Path) -> Mapping[str, Path]:
    """Return the path of each overlay in a folder, by the name of the overlay. Omit the base and kustomize components.

    Raises:
        UsageError: the folder has no overlay.
    """
    folders = {path.name: path for path in sorted(folder.iterdir()) if path.is_dir() and path.name != _BASE}
    environments = {name: path for name, path in folders.items() if is_overlay(path) and not _is_component(path)}
    if not environments:
        raise UsageError(f"{folder}: no kustomize overlay; expected a {_FILES[0]} in the folder or in its subfolders")
    return environments


def build(folder: Path) -> bytes:
    """Return the output of kustomize for an overlay.

    Raises:
        TfgenError: kustomize is missing, or cannot build the folder.
    """
    programs = [name for name in ("kustomize", "kubectl") if shutil.which(name)]
    if not programs:
        raise TfgenError(f"{folder}: the PATH has no kustomize and no kubectl; install kustomize or kubectl")
    command = ("kustomize", "build") if programs[0] == "kustomize" else ("kubectl", "kustomize")
    argv = (*command, "--", str(folder))
    process = subprocess.run(argv, capture_output=True, check=False)  # noqa: S603 - no shell
    if process.returncode:
        reason = process.stderr.decode("utf-8", errors="replace").strip()
        raise TfgenError(f"{shlex.join(argv)} ended with code {process.returncode}: {reason}")
    return process.stdout


def _is_component(folder: Path) -> bool:
    file = next(folder / name for name in _FILES if (folder / name).is_file())
    with file.open("rb") as stream:
        text = decode(stream.read(MAX_BYTES + 1), str(file))
    documents = parse(text, str(file)).documents if isinstance(text, str) else ()
    return any(isinstance(document.data, dict) and document.data.get("kind") == "Component" for document in documents)
