"""Rules about the commands and the arguments of the programs, and about TensorBoard."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.holes import clean_path
from tfgen.graph.objects import podspec
from tfgen.graph.objects.tensorboard import ROLE
from tfgen.job.training_job import FileCode, RoleName
from tfgen.kubernetes.pods import find_program_file
from tfgen.rules import pod_parts
from tfgen.rules.rule import Finding, rule
from tfgen.rules.storage import FOLDERS_OF_EVERY_POD, mounts_of
from tfgen.rules.view import View
from tfgen.words import NEAR, either, nearest, shown

# -- command text ------------------------------------------------------------------------------------------------------
#
# Commands and arguments in the syntax of a shell, although a container runs its command without a shell.
#
# https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/: the first word of the
# command is the program, each other word is one argument, and Kubernetes expands only `$(NAME)`.


_SHELLS: Final = frozenset(("ash", "bash", "dash", "ksh", "sh", "zsh"))
_VARIABLE: Final = re.compile(r"(?<!\$)\$(?:([A-Z_][A-Z0-9_]*)|\{([A-Z_][A-Z0-9_]*)\})")
_OPERATORS: Final = frozenset(("&&", "||", "|", "&", ";", ">", ">>", "<", "2>", "2>&1", "&>"))
_CURLY: Final = re.compile(
    "[\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}"
    "\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}]"
)
_PLAIN: Final = {"\N{LEFT SINGLE QUOTATION MARK}": "'", "\N{RIGHT SINGLE QUOTATION MARK}": "'"}


class Word(NamedTuple):
    """A word of a role's command or arguments, and the path of the word."""

    path: Path
    text: str


@rule("command-word", "warning", "The first word of a command contains blanks.")
def command_word(view: View) -> Iterator[Finding]:
    for role in view.roles:
        path, command = view.effective_field(role.name, "command")
        if command and re.search(r"\S\s+\S", command[0]):
            words = ", ".join(command[0].split())
            message = (
                f"the first word of a command is the name of a program, and {shown(command[0])} contains blanks; write "
                f"[{words}]"
            )
            yield Finding((*path, 0), message)


@rule("shell-variable", "warning", "A variable has the syntax of a shell, but no shell runs.")
def shell_variable(view: View) -> Iterator[Finding]:
    for role in view.roles:
        words = [*list_words(view, role.name)]
        if words and has_shell(view, role.name):
            continue
        for word in words:
            if match := _VARIABLE.search(word.text):
                name = match[1] or match[2]
                message = f"no shell runs, so {match[0]} in {shown(word.text)} is not expanded; write $({name})"
                yield Finding(word.path, message)


@rule("curly-quote", "warning", "A command contains the quotation marks of a word processor.")
def curly_quote(view: View) -> Iterator[Finding]:
    for role in view.roles:
        for word in list_words(view, role.name):
            if match := _CURLY.search(word.text):
                plain = _PLAIN.get(match[0], '"')
                message = f"the quotation mark {match[0]} in {shown(word.text)} does not quote text; write {plain}"
                yield Finding(word.path, message)


@rule("shell-operator", "warning", "A command contains an operator of a shell as a separate word.")
def shell_operator(view: View) -> Iterator[Finding]:
    for role in view.roles:
        words = [*list_words(view, role.name)]
        is_shell = has_shell(view, role.name)
        for previous, word in pairwise(words):
            # The value of a flag, as in `--delimiter |`, and the end of `find -exec ... {} ;` are arguments.
            if word.text not in _OPERATORS or previous.text.startswith("-") or previous.text == "{}":
                continue
            fix = "write the whole line as one word after -c" if is_shell else "write [sh, -c, LINE]"
            message = f"{shown(word.text)} is an operator of a shell, but no shell reads this word; {fix}"
            yield Finding(word.path, message)


def list_words(view: View, role: RoleName) -> Iterator[Word]:
    """Yield the words of a role's command, then the words of the role's args."""
    for field in ("command", "args"):
        path, words = view.effective_field(role, field)
        yield from (Word((*path, index), text) for index, text in enumerate(words))


def has_shell(view: View, role: RoleName) -> bool:
    """Return True if a role runs a shell, directly or through a program such as `env` or `tini`."""
    return any(PurePosixPath(word.text).name in _SHELLS for word in list_words(view, role))


# -- hidden program ----------------------------------------------------------------------------------------------------
#
# Empty volumes that hide the program of the image.
#
# A mount hides the files of the image in the same folder:
# https://kubernetes.io/docs/concepts/storage/volumes/#how-volumes-work


@rule("hidden-program", "warning", "A volume hides the folder of the image that contains the program.")
def hidden_program(view: View) -> Iterator[Finding]:
    yield from _check_code(view)
    roles: dict[tuple[str, PurePosixPath], list[RoleName]] = {}
    for role in view.roles:
        program = program_of(view, role.name)
        volume = None if program is None else _volume_that_hides(view, role.name, program)
        if program is not None and volume is not None and _is_empty(view, role.name, volume):
            roles.setdefault((volume, program), []).append(role.name)
    for (volume, program), running in roles.items():
        mount = view.values["storage"][volume]["mountPath"]
        message = (
            f"{_run_by(running)} {program} of the image, but storage.{volume} at {mount} hides the file; mount the "
            "volume in a different folder"
        )
        yield Finding(("storage", volume, "mountPath"), message)


def _run_by(roles: Sequence[RoleName]) -> str:
    names = either(roles, "and")
    return f"role {names} runs" if len(roles) == 1 else f"the roles {names} run"


def _check_code(view: View) -> Iterator[Finding]:
    code = view.job.structure.code
    if not isinstance(code, FileCode):
        return
    mount = PurePosixPath(view.values["code"]["mountPath"])
    roles: dict[str, list[RoleName]] = {}
    for role in view.roles:
        program = program_of(view, role.name)
        if program is not None and program.parent == mount and program.name not in code.files:
            roles.setdefault(program.name, []).append(role.name)
    for name, running in roles.items():
        message = (
            f"{_run_by(running)} {mount / name}, but code.configMap hides the folder {mount} of the image and has no "
            f"file {shown(name)}; add the file to code.configMap.files, or change code.mountPath"
        )
        yield Finding(("code", "mountPath"), message)


def program_of(view: View, role: RoleName) -> PurePosixPath | None:
    """Return the path of the program that a role runs, or None if the command does not name a path."""
    words = [*list_words(view, role)]
    if not words or words[0].path[-2] != "command":
        return None  # Without a command, the entry point of the image runs, which tfgen cannot read.
    name = find_program_file([word.text for word in words])
    folder = view.effective_field(role, "workingDir")[1]
    path = PurePosixPath(folder or ".", name) if name else None
    return path if path is not None and path.is_absolute() else None


def _volume_that_hides(view: View, role: RoleName, program: PurePosixPath) -> str | None:
    """Return the name of the volume of `role` that hides the file `program`, or None.

    A volume hides the files below its mount path. If several volumes hide the file, return the volume with the deepest
    mount path.
    """
    mounts = {
        name: PurePosixPath(volume["mountPath"])
        for name, volume in view.volumes(role).items()
        if program.is_relative_to(volume["mountPath"])
    }
    return max(mounts, key=lambda name: len(mounts[name].parts), default=None)


def _is_empty(view: View, role: RoleName, name: str) -> bool:
    """Return True if the volume `name` starts empty and only the main container of the role mounts the volume."""
    volume: Mapping[str, Any] = view.values["storage"][name]
    containers = (*pod_parts.extra_containers(view, role), *pod_parts.template_items(view, role, "initContainers"))
    filled = any(
        pod_parts.name(mount) == name
        for container in containers
        for mount in pod_parts.items(container, "volumeMounts")
    )
    return not filled and ("emptyDir" in volume or "size" in volume.get("claim", {}))


# -- unmounted folder --------------------------------------------------------------------------------------------------
#
# Folders whose path resembles the mount path of a volume, although the folder is not in the volume.


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


@rule(
    "unmounted-folder",
    "warning",
    "The path of a folder resembles the mount path of a volume, but no volume is mounted at the folder.",
)
def unmounted_folder(view: View) -> Iterator[Finding]:
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


# -- tensorboard -------------------------------------------------------------------------------------------------------
#
# Images without TensorBoard, and log folders that TensorBoard cannot read.


_IMAGE: Final = re.compile(r"(?:.*/)?tensorflow/tensorflow:(?:(\d+)\.(\d+)|nightly)")
"""Pattern of the official TensorFlow image, in any registry. The image contains no additional Python packages."""
_FIRST_WITHOUT: Final = (2, 21)
"""The first version of TensorFlow that does not install TensorBoard."""


@rule("tensorboard-image", "warning", "The image that would run TensorBoard does not contain TensorBoard.")
def tensorboard_image(view: View) -> Iterator[Finding]:
    if not view.has_tensorboard:
        return
    path = ("tensorboard", "image") if view.values["tensorboard"]["image"] else ("image",)
    image = str(data_path.at(view.values, path))
    match = _IMAGE.match(image)
    if match and (match[1] is None or (int(match[1]), int(match[2])) >= _FIRST_WITHOUT):
        message = (
            f"the image {shown(image)} of TensorBoard lacks the package tensorboard, because TensorFlow 2.21 and later "
            "do not install the package; set tensorboard.image to an image with tensorboard"
        )
        yield Finding(path, message)


@rule("tensorboard-log-dir", "warning", "TensorBoard cannot read the folder that `tensorboard.logDir` names.")
def tensorboard_log_dir(view: View) -> Iterator[Finding]:
    if not view.has_tensorboard:
        return
    log_dir = clean_path(view.values["tensorboard"]["logDir"])
    volumes = {clean_path(volume["mountPath"]): volume for volume in view.volumes(ROLE).values()}
    mount = max((mount for mount in volumes if posixpath.commonpath((mount, log_dir)) == mount), key=len, default="")
    # An emptyDir belongs to a single pod, so TensorBoard cannot read the files of a task.
    if not mount or "emptyDir" in volumes[mount]:
        message = (
            f"tensorboard.logDir {shown(log_dir)} is not on a volume that TensorBoard shares with the job; mount a "
            f"volume storage.NAME at logDir, and add {ROLE} to storage.NAME.for"
        )
        yield Finding(("tensorboard", "logDir"), message)
    elif volumes[mount].get("runs") == "Separate" and log_dir != mount:
        run = view.evaluate(podspec.run_folder())
        if posixpath.relpath(log_dir, mount).partition("/")[0] != run:
            message = (
                f"tensorboard.logDir {shown(log_dir)} does not exist, because each run has a separate folder under "
                f"{mount}, for example {mount}/{run}; write {mount}, which shows all runs"
            )
            yield Finding(("tensorboard", "logDir"), message)
