"""A root file system of a few Debian packages, without debootstrap: what apt says they need, unpacked.

    unpack(["python3", "coreutils"], Path("root"))

The packages are those of the Debian that this machine runs, from the same sources; their scripts are not run.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.support.command import Command

DOWNLOAD = 600.0  # seconds

# https://wiki.debian.org/UsrMerge; older releases' packages still have both.
_MERGED = ("bin", "lib", "lib64", "sbin")
_FOLDERS = ("dev", "etc", "home", "opt", "proc", "root", "run", "sys", "tmp", "usr/local/bin", "var/tmp")
_NOT_NEEDED = ("doc", "man", "locale", "lintian", "bug", "info")
_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}


def unpack(packages: Iterable[str], root: Path) -> None:
    """Unpacks packages, and all that they depend on, into an empty folder."""
    for name in _MERGED:
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    for name in _FOLDERS:
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, text in _FILES.items():
        (root / name).write_text(text, encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for archive in sorted(_download(packages, Path(folder))):
            # `dpkg-deb --extract` would put a folder in place of a link to one.
            files = archive.with_suffix(".tar")
            Command(("sh", "-c", f"dpkg-deb --fsys-tarfile '{archive}' > '{files}'")).run()
            Command(("tar", "--extract", f"--file={files}", f"--directory={root}", "--keep-directory-symlink")).run()
    for name in _NOT_NEEDED:
        shutil.rmtree(root / "usr/share" / name, ignore_errors=True)
    for name in ("tmp", "var/tmp"):
        (root / name).chmod(0o1777)


def _download(packages: Iterable[str], folder: Path) -> Iterable[Path]:
    """The archives of packages and of all that they need, as apt would install them on a system that has nothing."""
    installed = folder / "status"
    installed.touch()
    (folder / "partial").mkdir()
    options = {
        "Dir::State::status": installed,
        "Dir::Cache::archives": folder,
        "Debug::NoLocking": "true",  # nothing of this machine's own state is written
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",  # apt's own user cannot write here
    }
    words = [f"--option={name}={value}" for name, value in options.items()]
    Command(("apt-get", "--quiet=2", "--yes", "--download-only", *words, "install", *packages)).run(timeout=DOWNLOAD)
    return folder.glob("*.deb")
