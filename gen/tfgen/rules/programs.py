"""Rules about commands, arguments and environment variables of the programs, and about TensorBoard."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.fix import Fix, Hint, Replacement, assignment, hint, removal
from tfgen.graph import naming, podspec
from tfgen.graph.helper_pods import TENSORBOARD
from tfgen.graph.holes import clean_path
from tfgen.graph.storage import makes_claim
from tfgen.job.training_job import FileCode, RoleName
from tfgen.kubernetes.pods import REFERENCE, find_program_file
from tfgen.rules import pod_parts
from tfgen.rules.contents import FOLDERS_OF_EVERY_POD, mounts_of
from tfgen.rules.rule import Finding, advise, did_you_mean, rule
from tfgen.rules.view import View
from tfgen.schema import kinds
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


class RoleWord(NamedTuple):
    """A word of a role's command or arguments, and the path of the word."""

    path: Path
    text: str


@rule("command-word", "warning", "The first word of a command contains blanks.")
def command_word(view: View) -> Iterator[Finding]:
    for role in view.roles:
        path, command = view.effective_field(role.name, "command")
        if command and re.search(r"\S\s+\S", command[0]):
            words = ", ".join(command[0].split())
            message = f"the first word of a command is the name of a program, and {shown(command[0])} contains blanks"
            split = assignment(path, [*command[0].split(), *command[1:]], f"write [{words}]")
            yield advise((*path, 0), message, hint(split))


@rule("shell-variable", "warning", "A variable has the syntax of a shell, but no shell runs.")
def shell_variable(view: View) -> Iterator[Finding]:
    for role in view.roles:
        words = [*list_words(view, role.name)]
        if words and has_shell(view, role.name):
            continue
        for word in words:
            if match := _VARIABLE.search(word.text):
                name = match[1] or match[2]
                message = f"no shell runs, so {match[0]} in {shown(word.text)} is not expanded"
                edit = Replacement(rf"{re.escape(match[0])}(?!\w)", f"$({name})")
                yield advise(word.path, message, hint(Fix(f"write $({name})", (edit,))))


@rule("curly-quote", "warning", "A command contains the quotation marks of a word processor.")
def curly_quote(view: View) -> Iterator[Finding]:
    for role in view.roles:
        for word in list_words(view, role.name):
            if match := _CURLY.search(word.text):
                plain = _PLAIN.get(match[0], '"')
                message = f"the quotation mark {match[0]} in {shown(word.text)} does not quote text"
                yield advise(word.path, message, hint(Fix(f"write {plain}", (Replacement(_CURLY.pattern, plain),))))


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


def list_words(view: View, role: RoleName) -> Iterator[RoleWord]:
    """Yield the words of a role's command, then the words of the role's args."""
    for field in ("command", "args"):
        path, words = view.effective_field(role, field)
        yield from (RoleWord((*path, index), text) for index, text in enumerate(words))


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
    mounts = (mount for container in containers for mount in pod_parts.items(container, "volumeMounts"))
    return name not in map(pod_parts.name, mounts) and ("emptyDir" in volume or makes_claim(volume))


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
            if folder in existing or not existing.isdisjoint(folder.parents):
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
    previous = ""
    for path, word in list_words(view, role):
        flag, equals, value = word.partition("=")
        if flag.startswith("-") and equals:
            values.append((flag, value, path))
        elif previous.startswith("-"):
            values.append((previous, word, path))
        previous = word
    for name, text, path in values:
        if isinstance(text, str) and text.startswith("/") and ":" not in text and not _URL_NAMES.search(name):
            yield path, text


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
    volumes = {clean_path(volume["mountPath"]): volume for volume in view.volumes(TENSORBOARD).values()}
    mount = max((mount for mount in volumes if posixpath.commonpath((mount, log_dir)) == mount), key=len, default="")
    # An emptyDir belongs to a single pod, so TensorBoard cannot read the files of a task.
    if not mount or "emptyDir" in volumes[mount]:
        message = (
            f"tensorboard.logDir {shown(log_dir)} is not on a volume that TensorBoard shares with the job; mount a "
            f"volume storage.NAME at logDir, and add {TENSORBOARD} to storage.NAME.for"
        )
        yield Finding(("tensorboard", "logDir"), message)
    elif volumes[mount].get("runs") == "Separate" and log_dir != mount:
        run = view.evaluate(podspec.run_folder())
        if posixpath.relpath(log_dir, mount).partition("/")[0] != run:
            message = (
                f"tensorboard.logDir {shown(log_dir)} does not exist, because each run has a separate folder under "
                f"{mount}, for example {mount}/{run}"
            )
            path = ("tensorboard", "logDir")
            yield advise(path, message, hint(assignment(path, mount, f"write {mount}"), end=", which shows all runs"))


# -- expansion ---------------------------------------------------------------------------------------------------------
#
# References such as `$(X)`, in variables, commands and arguments, that Kubernetes does not expand.
#
# Kubernetes expands a reference to a variable of envFrom, or to a variable that is set earlier in the list. Kubernetes
# leaves every other reference unchanged, without an error
# (https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/). Kubernetes
# converts `$$(X)` to the text `$(X)`. tfgen cannot read the names that envFrom sets, so the rules assume that envFrom
# may set any variable.


_NAME: Final = re.compile(r"[A-Z_][A-Z0-9_]*")


class _Reference(NamedTuple):
    """A reference from one variable to another variable.

    Attributes:
        path: the path of the variable that contains the reference.
        name: the name of the variable that contains the reference.
        target: the name of the other variable.
        order: the position of each variable in the list of the container's variables, as in ``{"A": 0, "B": 1}``.
        has_env_from: True if envFrom may set more variables.
    """

    path: Path
    name: str
    target: str
    order: Mapping[str, int]
    has_env_from: bool


def find_references(text: str) -> tuple[str, ...]:
    """Return the names of the variables to which a text refers, without duplicates.

    Example:
        >>> find_references("$(A)/$$(B)/$(A)")
        ('A',)
    """
    # Cut the text after the last bracket. The search for many unclosed "$(" would take quadratic time.
    closed = text[: text.rfind(")") + 1]
    return tuple(name for name in dict.fromkeys(REFERENCE.findall(closed)) if name)


def measure_expanded(text: str, sizes: Mapping[str, int]) -> int:
    """Return the number of bytes of a text after Kubernetes expands the references.

    Args:
        text: an argument, or the value of a variable.
        sizes: the number of bytes in the value of each variable that is set earlier, by the name of the variable.

    Example:
        >>> measure_expanded("$(A)/$$(B)/$(C)", {"A": 1000})
        1010
    """
    size = len(text.encode())
    if "$" in text:
        closed, tail = text[: text.rfind(")") + 1], text[text.rfind(")") + 1 :]
        for match in REFERENCE.finditer(closed):
            if match[1] in sizes:
                size += sizes[match[1]] - len(match[0].encode())
            elif match[0] == "$$":
                size -= 1
        size -= tail.count("$$")
    return size


@rule("expansion-order", "error", "A variable refers to a variable that the container sets later.")
def expansion_order(view: View) -> Iterator[Finding]:
    for reference in _references(view):
        if reference.target == reference.name and not reference.has_env_from:
            message = (
                f"the variable {reference.name} refers to itself; write the value of the variable in place of "
                f"$({reference.name})"
            )
            yield Finding(reference.path, message)
        elif reference.order.get(reference.target, -1) > reference.order[reference.name]:
            message = (
                f"the variable {reference.name} refers to $({reference.target}), which is set later (variables with "
                f"references come last, sorted by name); write the value of {reference.target} in its place"
            )
            yield Finding(reference.path, message)


@rule(
    "unknown-variable",
    "warning",
    "A variable, command or argument refers to a variable that the container does not set.",
)
def unknown_variable(view: View) -> Iterator[Finding]:
    yield from _check_words(view)
    for reference in _references(view):
        if reference.target in reference.order or reference.has_env_from:
            continue
        message = f"the variable {reference.name} refers to $({reference.target})"
        if reference.target in _index_variables(view):
            is_set = "TASK_INDEX" in reference.order
            hint = Hint("; write $(TASK_INDEX)" if is_set else f"; use {reference.target} in the command")
            yield advise(reference.path, f"{message}, which the controller sets after the variables of the job", hint)
        else:
            yield advise(reference.path, f"{message}, which is not set", _unset(reference.target, reference.order))


def _check_words(view: View) -> Iterator[Finding]:
    for role in view.roles:
        words = [word for word in list_words(view, role.name) if "$(" in word.text]
        if not words or view.effective_field(role.name, "envFrom")[1]:
            continue
        order = _order(view, role.name)
        known = {*order, *_index_variables(view)}
        is_shell = has_shell(view, role.name)
        for word in words:
            for target in find_references(word.text):
                # In a shell, $(date) runs a command. Names of commands are in lower case.
                if target in known or (is_shell and not _NAME.fullmatch(target)):
                    continue
                message = f"the word {shown(word.text)} refers to $({target}), which is not set"
                yield advise(word.path, message, _unset(target, order))


def _index_variables(view: View) -> Sequence[str]:
    """Return the variables with the index of a task that the controller of the pods sets after all other variables."""
    return kinds.FACTS[view.job.structure.kind].index_variables


def _replacement(target: str, new: str) -> Replacement:
    return Replacement(rf"(?<!\$)\$\({re.escape(target)}\)", new)


def _similar_variable(target: str, names: Collection[str]) -> Hint:
    return did_you_mean(target, names, lambda name: _replacement(target, f"$({name})"))


def _unset(target: str, order: Mapping[str, int]) -> Hint:
    escaped = Fix(f"write $$({target})", (_replacement(target, f"$$({target})"),), is_choice=True)
    near = _similar_variable(target, order)
    return Hint(f"; set the variable, or {escaped.words} for the plain text{near.text}", (*near.fixes, escaped))


def _order(view: View, role: RoleName) -> Mapping[str, int]:
    """Return the position of each variable of a role's main container, in the order in which Kubernetes sets them.

    Example: ``{"DATA_DIR": 0, "SEED": 1}``.
    """
    added = (pod_parts.name(item) for item in pod_parts.main_env(view, role))
    names = [*(variable["name"] for variable in view.variables(role)), *added]
    return {name: index for index, name in reversed(list(enumerate(names)))}


def _references(view: View) -> Iterator[_Reference]:
    for role in view.roles:
        referring = {name: value for name, value in view.env(role.name).items() if "$(" in value}
        if not referring:
            continue
        order = _order(view, role.name)
        has_env_from = bool(view.effective_field(role.name, "envFrom")[1])
        for name, value in referring.items():
            for target in find_references(value):
                yield _Reference(view.env_path(role.name, name), name, target, order, has_env_from)


# -- sub paths ---------------------------------------------------------------------------------------------------------
#
# Subfolders of a volume (`subPath`, `subPathExpr`) that a pod cannot mount.
#
# https://kubernetes.io/docs/concepts/storage/volumes/#using-subpath-expanded-environment


@rule("sub-path-twice", "error", "A volume has both subPath and subPathExpr.")
def sub_path_twice(view: View) -> Iterator[Finding]:
    for path, message, _ in view.find_broken_guards("sub-path-twice"):
        volume = path[:-1]
        yield Finding(view.reported_path((*volume, "subPathExpr"), (*volume, "subPath")), message)


@rule("sub-path-variable", "error", "subPathExpr refers to a variable that the container does not set.")
def sub_path_variable(view: View) -> Iterator[Finding]:
    roles_by_reference: dict[tuple[str, str], list[RoleName]] = {}
    variables_by_role: dict[RoleName, set[str]] = {}
    for role in view.roles:
        referring = {n: v["subPathExpr"] for n, v in view.volumes(role.name).items() if v.get("subPathExpr")}
        if not referring or view.effective_field(role.name, "envFrom")[1]:
            continue  # envFrom may set any variable.
        variables_by_role[role.name] = {*_order(view, role.name), *_index_variables(view)}
        for volume, text in referring.items():
            for target in find_references(text):
                if target not in variables_by_role[role.name]:
                    roles_by_reference.setdefault((volume, target), []).append(role.name)
    for (volume, target), roles in roles_by_reference.items():
        message = (
            f"storage.{volume}.subPathExpr refers to $({target}), but the pods of {either(roles, 'and')} do not "
            f"set {target}, so the pods would not start"
        )
        if target == "TASK_INDEX" and not view.job.structure.is_distributed:
            advice = Hint(f"; strategy {view.job.structure.strategy} has one task, which has no index")
        else:
            advice = _similar_variable(target, sorted(variables_by_role[roles[0]])) or Hint("; set the variable in env")
        yield advise(("storage", volume, "subPathExpr"), message, advice)


# -- env duplicate -----------------------------------------------------------------------------------------------------
#
# Variables, labels and annotations that both podTemplate and a key of job.yaml set.
#
# tfgen cannot merge the two settings when it renders a chart, because only Helm knows all keys that the values set.


@rule("env-duplicate", "error", "podTemplate sets a variable, label or annotation that the job also sets.")
def env_duplicate(view: View) -> Iterator[Finding]:
    for role in view.roles:
        added = [*pod_parts.main_env(view, role.name)]
        job_env = view.env(role.name) if added else {}
        for item in added:
            if (name := pod_parts.name(item)) in job_env:
                yield _duplicate((*item.path, "name"), "variable", name, "env")
        metadata = [part for item in pod_parts.templates(view, role.name) for part in pod_parts.child(item, "metadata")]
        for kind, node in (("label", naming.pod_labels()), ("annotation", naming.pod_annotations())):
            field = f"{kind}s"
            for part in (part for parent in metadata for part in pod_parts.child(parent, field)):
                job_keys = view.evaluate_in_role(role.name, node)
                yield from (_duplicate((*part.path, key), kind, key, field) for key in part.data if key in job_keys)


def _duplicate(path: Path, kind: str, name: str, field: str) -> Finding:
    removed = path[:-1] if kind == "variable" else path
    fix = removal(removed)._replace(words=f"set the {kind} only in {field}")
    return advise(path, f"both podTemplate and {field} of the job set the {kind} {name}", hint(fix))


# -- flag variable -----------------------------------------------------------------------------------------------------
#
# Variables that both a user and tfgen set, for the programs of TensorFlow 1 or for keras.distribution.
#
# The schema refuses the variables that tfgen sets in every job. This rule refuses the variables that tfgen sets only
# for `legacyFlags`, `legacyVariables` or the strategy KerasDistribution.


@rule(
    "flag-variable",
    "error",
    "The job sets a variable that legacyFlags, legacyVariables or the strategy KerasDistribution also sets.",
)
def flag_variable(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    causes = {
        "legacyVariables": structure.legacy_variables,
        "legacyFlags": structure.legacy_flags,
        "strategy KerasDistribution": structure.uses_keras_distribution,
    }
    cause = next((cause for cause, is_set in causes.items() if is_set), "")
    action = "remove" if structure.uses_keras_distribution else "rename"
    for role in view.roles if cause else ():
        printed = Counter(variable["name"] for variable in view.variables(role.name))
        for name in view.env(role.name):
            if printed[name] > 1:
                message = f"tfgen sets the variable {name} because of {cause}; {action} your variable"
                yield Finding(view.env_path(role.name, name), message)
