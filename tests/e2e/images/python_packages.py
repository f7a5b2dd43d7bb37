"""Python packages for a root file system, compiled: Python cannot write compiled modules to a read-only root later.

install(Path("requirements.txt"), Path("root"))
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.command import Command

DOWNLOAD = 1800.0  # seconds
COMPILE = 1800.0
SCRIPTS = "usr/local/bin"
_SHEBANG = b"#!/usr/bin/python3\n"


def python_of(root: Path) -> str:
    """Return the version of the Python in a root file system, such as "3.11"."""
    return (root / "usr/bin/python3").readlink().name.removeprefix("python")


def install(requirements: Path, root: Path) -> None:
    """Install the packages of a requirements file for the Python of a root file system.

    Only wheels are accepted, so that this machine neither builds nor runs code of the packages.
    """
    version = python_of(root)
    site = root / "usr/local/lib" / f"python{version}" / "dist-packages"
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "install",
        "--root-user-action=ignore",
    )
    target = (f"--python-version={version}", "--only-binary=:all:", f"--target={site}")
    Command((*pip, *target, f"--requirement={requirements}")).run(timeout=DOWNLOAD)
    for script in (site / "bin").iterdir():
        _, _, program = script.read_bytes().partition(b"\n")
        script.write_bytes(_SHEBANG + program)
        script.rename(root / SCRIPTS / script.name)
    (site / "bin").rmdir()
    compile_all(site.relative_to(root), root)


def compile_all(folder: Path, root: Path) -> None:
    """Compile the modules below a folder of a root file system, with its own Python.

    Python never compares the result with the source, because an image's files have no times
    (https://docs.python.org/3/library/py_compile.html#py_compile.PycInvalidationMode.UNCHECKED_HASH). A few packages
    contain modules for other Pythons, or templates. A module that does not compile stays unchanged.
    """
    mode = "compileall.py_compile.PycInvalidationMode.UNCHECKED_HASH"
    program = f"import compileall; compileall.compile_dir('/{folder}', quiet=2, invalidation_mode={mode})"
    Command(("chroot", root, "/usr/bin/python3", "-c", program)).run(timeout=COMPILE)
