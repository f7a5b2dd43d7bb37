"""Folders whose path resembles the mount path of a volume, although the folder is not in the volume."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath
from typing import Final

from tfgen.data_path import Path
from tfgen.job.training_job import RoleName
from tfgen.rules.command_text import Word, list_words
from tfgen.rules.finding import Finding
from tfgen.rules.hidden_program import program_of
from tfgen.rules.mount_paths import FOLDERS_OF_EVERY_POD, mounts_of
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import NEAR, nearest, shown

_ROOT_FOLDERS: Final = "bin boot dev etc home lib lib64 media mnt opt proc root run sbin srv sys tmp usr var"
_USR_FOLDERS: Final = "bin lib lib64 libexec local sbin share src"
_VAR_FOLDERS: Final = "cache lib log run tmp"
_IMAGE_FOLDERS: Final = frozenset(
    f"{parent}/{name}"
    for parent, names in (("", _ROOT_FOLDERS), ("/usr", _USR_FOLDERS), ("/var", _VAR_FOLDERS))
    for name in names.split(" ")
)
"""Folders that an image may have, by the Filesystem Hierarchy Standard."""
_URL_NAMES: Final = re.compile("url|route|endpoint|metrics|health|path[-_]?prefix|base[-_]?path", re.IGNORECASE)
"""Pattern of the names of flags and variables whose value is the path of a URL, not a folder."""


def _check(view: View) -> Iterator[Finding]:
    """Report folders if the root file system is read-only. A program can create folders on a writable file system."""
    if not view.values["security"]["readOnlyRootFilesystem"]:
        return
    volumes = {str(PurePosixPath(volume["mountPath"])): name for name, volume in view.values["storage"].items()}
    for role in view.roles:
        existing = {PurePosixPath(folder) for folder in _existing_folders(view, role.name)}
        for path, text in _folders(view, role.name):
            folder = PurePosixPath(text)
            if any(folder.is_relative_to(parent) for parent in existing):
                continue
            mount = _similar_mount(folder, volumes)
            if mount is not None:
                message = (
                    f"no volume contains the folder {shown(text)}, and the root file system is read-only; write a "
                    f"folder under {mount}, where storage.{volumes[mount]} is mounted"
                )
                yield Finding(path, message)


def _existing_folders(view: View, role: RoleName) -> Iterator[str]:
    """Yield the folders that exist in a role's container: the mount paths, and folders of the image."""
    yield from FOLDERS_OF_EVERY_POD
    yield from (mount for _, mount in mounts_of(view, role))
    program, folder = program_of(view, role), view.effective_field(role, "workingDir")[1]
    yield from ([str(program.parent)] if program and program.parent != PurePosixPath("/") else [])
    yield from ([folder] if folder else [])


def _folders(view: View, role: RoleName) -> Iterator[tuple[Path, str]]:
    """Yield the path and the value of each variable or flag of a role whose value is an absolute path.

    Omit lists of paths, such as PATH, which have colons. Omit also the paths of URLs, which are not folders.
    """
    values = [(name, value, view.env_path(role, name)) for name, value in view.env(role).items()]
    for previous, word in _with_previous_word(list_words(view, role)):
        flag, equals, value = word.text.partition("=")
        if flag.startswith("-") and equals:
            values.append((flag, value, word.path))
        elif previous.startswith("-"):
            values.append((previous, word.text, word.path))
    for name, text, path in values:
        if isinstance(text, str) and text.startswith("/") and ":" not in text and not _URL_NAMES.search(name):
            yield path, text


def _with_previous_word(words: Iterator[Word]) -> Iterator[tuple[str, Word]]:
    previous = ""
    for word in words:
        yield previous, word
        previous = word.text


def _similar_mount(folder: PurePosixPath, mounts: Collection[str]) -> str | None:
    """Return the mount path that resembles the beginning of `folder`, or None.

    For example, `/models/export` begins with `/models`, which resembles the mount path `/model`. The last names of the
    two paths may differ by a few letters.
    """
    if any(folder.is_relative_to(mount) or PurePosixPath(mount).is_relative_to(folder) for mount in mounts):
        return None
    for mount in mounts:
        *parents, last = PurePosixPath(mount).parts
        parts = folder.parts[: len(parents) + 1]
        is_in_image = str(PurePosixPath(*parts)) in _IMAGE_FOLDERS
        if [*parts[:-1]] == parents and not is_in_image and nearest(parts[-1], [last], NEAR):
            return mount
    return None


RULES: Final = (
    Rule(
        "unmounted-folder",
        "warning",
        "The path of a folder resembles the mount path of a volume, but no volume is mounted at the folder.",
        _check,
    ),
)
