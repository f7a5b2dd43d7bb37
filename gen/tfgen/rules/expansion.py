"""References `$(X)` in environment variables, commands and arguments that Kubernetes would leave as they stand.

It expands only what is set before, by envFrom or earlier in the list, and says nothing of the rest
(https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/); `$$(X)` is
the text `$(X)`. What comes out of envFrom is not known here, so with it every name may be one that is set.
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
"""Characters of a text whose references are kept."""


class _Reference(NamedTuple):
    """A reference in a user's variable.

    Attributes:
        path: of the variable.
        name: of the variable.
        to: the name that it refers to.
        order: the place of each variable in the list.
        from_elsewhere: whether envFrom brings names that are not known here.
    """

    path: Path
    name: str
    to: str
    order: Mapping[str, int]
    from_elsewhere: bool


def find_references(text: str) -> tuple[str, ...]:
    """The names that a text refers to, each once. Of a long text nothing is kept: a program may be one.

    Example:
        >>> find_references("$(A)/$$(B)/$(A)")
        ('A',)
    """
    return _names_in_short(text) if len(text) <= _SHORT else _names_in(text)


@functools.lru_cache(maxsize=256)  # a text is asked about for each role, rule and environment of a job
def _names_in_short(text: str) -> tuple[str, ...]:
    return _names_in(text)


def _names_in(text: str) -> tuple[str, ...]:
    # After the last bracket nothing is closed; to look for one from each $( there takes time by the square of them.
    closed = text[: text.rfind(")") + 1]
    return tuple(name for name in dict.fromkeys(_REFERENCE.findall(closed)) if name)


def measure_expanded(text: str, sizes: Mapping[str, int]) -> int:
    """The bytes that Kubernetes makes of a text, by those of each variable that is set before.

    Example:
        >>> measure_expanded("$(A)/$$(B)/$(C)", {"A": 1000})
        1010
    """
    size = len(text.encode())
    if "$" in text:
        closed, rest = text[: text.rfind(")") + 1], text[text.rfind(")") + 1 :]
        for match in _REFERENCE.finditer(closed):
            if match[1] in sizes:
                size += sizes[match[1]] - len(match[0].encode())
            elif match[0] == "$$":
                size -= 1
        size -= rest.count("$$")
    return size


def _check_order(view: View) -> Iterator[Finding]:
    for reference in _references(view):
        if reference.to == reference.name and not reference.from_elsewhere:
            yield Finding(reference.path, f"the variable {reference.name} refers to itself, which is not set before it")
        elif reference.order.get(reference.to, -1) > reference.order[reference.name]:
            message = (
                f"the variable {reference.name} refers to $({reference.to}), which is set after it (those with a "
                f"reference come last, by name); write out what {reference.to} says"
            )
            yield Finding(reference.path, message)


def _check_names(view: View) -> Iterator[Finding]:
    yield from _check_words(view)
    for reference in _references(view):
        if reference.to not in reference.order and not reference.from_elsewhere:
            message = (
                f"the variable {reference.name} refers to $({reference.to}), which is not set and would stay as it is "
                f"(write $$({reference.to}) if that is meant){did_you_mean(reference.to, reference.order)}"
            )
            yield Finding(reference.path, message)


def _check_words(view: View) -> Iterator[Finding]:
    for role in view.roles:
        words = [word for word in list_words(view, role.name) if "$(" in word.text]
        if not words or view.effective(role.name, "envFrom")[1]:
            continue
        order = _order(view, role.name)
        is_shell = has_shell(view, role.name)
        for word in words:
            for to in find_references(word.text):
                # In a shell, $(date) runs a command. No command has a name in upper case.
                if to in order or (is_shell and not _VARIABLE.fullmatch(to)):
                    continue
                message = (
                    f"the word {shown(word.text)} refers to $({to}), which is not set and would stay as it is (write "
                    f"$$({to}) if that is meant){did_you_mean(to, order)}"
                )
                yield Finding(word.path, message)


def _order(view: View, role: RoleName) -> Mapping[str, int]:
    """The index of each variable of a role's main container, in the order in which Kubernetes sets the variables."""
    added = (pod_parts.name(item) for part in pod_parts.main_container(view, role) for item in _env(part))
    names = [*(variable["name"] for variable in view.variables(role)), *added]
    return {name: index for index, name in reversed(list(enumerate(names)))}


def _references(view: View) -> Iterator[_Reference]:
    for role in view.roles:
        referring = {name: value for name, value in view.env(role.name).items() if "$(" in value}
        if not referring:
            continue
        order = _order(view, role.name)
        from_elsewhere = bool(view.effective(role.name, "envFrom")[1])
        for name, value in referring.items():
            for to in find_references(value):
                yield _Reference(view.env_path(role.name, name), name, to, order, from_elsewhere)


def _env(container: Part) -> Iterator[Part]:
    return pod_parts.items(container, "env")


RULES: Final = (
    Rule("expansion-order", "error", "A variable refers to one that is set after it.", _check_order),
    Rule(
        "unknown-variable",
        "warning",
        "A variable, command or argument refers to a variable that is not set.",
        _check_names,
    ),
)
