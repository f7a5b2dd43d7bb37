"""A root file system of a few Debian packages, without debootstrap: the packages and their dependencies, unpacked.

    unpack(["python3", "coreutils"], Path("root"))

The packages are those of this machine's Debian, from the same sources. Their scripts do not run.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.support.command import Command

DOWNLOAD = 600.0  # seconds

# https://wiki.debian.org/UsrMerge; the packages of older releases still contain both folders.
_MERGED = ("bin", "lib", "lib64", "sbin")
_FOLDERS = ("dev", "etc", "home", "opt", "proc", "root", "run", "sys", "tmp", "usr/local/bin", "var/tmp")
_NOT_NEEDED = ("doc", "man", "locale", "lintian", "bug", "info")
_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}


def unpack(packages: Iterable[str], root: Path) -> None:
    """Unpack packages, and all of their dependencies, into an empty folder."""
    for name in _MERGED:
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    for name in _FOLDERS:
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, text in _FILES.items():
        (root / name).write_text(text, encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for archive in sorted(_download(packages, Path(folder))):
            # `dpkg-deb --extract` would replace a link to a folder by a folder.
            files = archive.with_suffix(".tar")
            Command(("sh", "-c", f"dpkg-deb --fsys-tarfile '{archive}' > '{files}'")).run()
            Command(("tar", "--extract", f"--file={files}", f"--directory={root}", "--keep-directory-symlink")).run()
    for name in _NOT_NEEDED:
        shutil.rmtree(root / "usr/share" / name, ignore_errors=True)
    for name in ("tmp", "var/tmp"):
        (root / name).chmod(0o1777)


def _download(packages: Iterable[str], folder: Path) -> Iterable[Path]:
    """Download packages and all of their dependencies, like apt on an empty system, and return the archives."""
    installed = folder / "status"
    installed.touch()
    (folder / "partial").mkdir()
    options = {
        "Dir::State::status": installed,
        "Dir::Cache::archives": folder,
        "Debug::NoLocking": "true",  # the state of this machine stays unchanged
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",  # apt's own user cannot write here
    }
    words = [f"--option={name}={value}" for name, value in options.items()]
    Command(("apt-get", "--quiet=2", "--yes", "--download-only", *words, "install", *packages)).run(timeout=DOWNLOAD)
    return folder.glob("*.deb")
