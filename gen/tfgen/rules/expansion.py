"""References such as `$(X)`, in variables, commands and arguments, that Kubernetes does not expand.

Kubernetes expands a reference to a variable of envFrom, or to a variable that is set earlier in the list. Kubernetes
leaves every other reference unchanged, without an error
(https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/). Kubernetes
converts `$$(X)` to the text `$(X)`. tfgen cannot read the names that envFrom sets, so the rules assume that envFrom may
set any variable.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from tfgen.data_path import Path
from tfgen.job.training_job import RoleName
from tfgen.rules import pod_parts
from tfgen.rules.command_text import has_shell, list_words
from tfgen.rules.finding import Finding
from tfgen.rules.pod_parts import Part
from tfgen.rules.rule import Rule, did_you_mean
from tfgen.rules.view import View
from tfgen.words import shown

_REFERENCE: Final = re.compile(r"\$\$|\$\(([^)]*)\)")
_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
_SHORT: Final = 1_000
"""Maximum number of characters in a text for which tfgen caches the references."""


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
    return _names_in_short(text) if len(text) <= _SHORT else _names_in(text)


@functools.lru_cache(maxsize=256)  # Several rules search the same text, for each role and environment of a job.
def _names_in_short(text: str) -> tuple[str, ...]:
    return _names_in(text)


def _names_in(text: str) -> tuple[str, ...]:
    # Cut the text after the last bracket. The search for many unclosed "$(" would take quadratic time.
    closed = text[: text.rfind(")") + 1]
    return tuple(name for name in dict.fromkeys(_REFERENCE.findall(closed)) if name)


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
        for match in _REFERENCE.finditer(closed):
            if match[1] in sizes:
                size += sizes[match[1]] - len(match[0].encode())
            elif match[0] == "$$":
                size -= 1
        size -= tail.count("$$")
    return size


def _check_order(view: View) -> Iterator[Finding]:
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


def _check_names(view: View) -> Iterator[Finding]:
    yield from _check_words(view)
    for reference in _references(view):
        if reference.target not in reference.order and not reference.has_env_from:
            message = (
                f"the variable {reference.name} refers to $({reference.target}), which is not set; set the variable, "
                f"or write $$({reference.target}) for the plain text{did_you_mean(reference.target, reference.order)}"
            )
            yield Finding(reference.path, message)


def _check_words(view: View) -> Iterator[Finding]:
    for role in view.roles:
        words = [word for word in list_words(view, role.name) if "$(" in word.text]
        if not words or view.effective_field(role.name, "envFrom")[1]:
            continue
        order = _order(view, role.name)
        is_shell = has_shell(view, role.name)
        for word in words:
            for target in find_references(word.text):
                # In a shell, $(date) runs a command. Names of commands are in lower case.
                if target in order or (is_shell and not _VARIABLE.fullmatch(target)):
                    continue
                message = (
                    f"the word {shown(word.text)} refers to $({target}), which is not set; set the variable, or write "
                    f"$$({target}) for the plain text{did_you_mean(target, order)}"
                )
                yield Finding(word.path, message)


def _order(view: View, role: RoleName) -> Mapping[str, int]:
    """Return the position of each variable of a role's main container, in the order in which Kubernetes sets them.

    Example: ``{"DATA_DIR": 0, "SEED": 1}``.
    """
    added = (pod_parts.name(item) for part in pod_parts.main_container(view, role) for item in _env(part))
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


def _env(container: Part) -> Iterator[Part]:
    return pod_parts.items(container, "env")


RULES: Final = (
    Rule("expansion-order", "error", "A variable refers to a variable that the container sets later.", _check_order),
    Rule(
        "unknown-variable",
        "warning",
        "A variable, command or argument refers to a variable that the container does not set.",
        _check_names,
    ),
)
