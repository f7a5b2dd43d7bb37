"""Commands and arguments in the syntax of a shell, although a container runs its command without a shell.

https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/: the first word of the
command is the program, each other word is one argument, and Kubernetes expands only `$(NAME)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from tfgen.data_path import Path
from tfgen.job.training_job import RoleName
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import shown

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


def _check_program(view: View) -> Iterator[Finding]:
    for role in view.roles:
        path, command = view.effective_field(role.name, "command")
        if command and re.search(r"\S\s+\S", command[0]):
            words = ", ".join(command[0].split())
            message = (
                f"the first word of a command is the name of a program, and {shown(command[0])} contains blanks; write "
                f"[{words}]"
            )
            yield Finding((*path, 0), message)


def _check_variables(view: View) -> Iterator[Finding]:
    for role in view.roles:
        words = [*list_words(view, role.name)]
        if words and has_shell(view, role.name):
            continue
        for word in words:
            if match := _VARIABLE.search(word.text):
                name = match[1] or match[2]
                message = f"no shell runs, so {match[0]} in {shown(word.text)} is not expanded; write $({name})"
                yield Finding(word.path, message)


def _check_quotes(view: View) -> Iterator[Finding]:
    for role in view.roles:
        for word in list_words(view, role.name):
            if match := _CURLY.search(word.text):
                plain = _PLAIN.get(match[0], '"')
                message = f"the quotation mark {match[0]} in {shown(word.text)} does not quote text; write {plain}"
                yield Finding(word.path, message)


def _check_operators(view: View) -> Iterator[Finding]:
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


RULES: Final = (
    Rule("command-word", "warning", "The first word of a command contains blanks.", _check_program),
    Rule("curly-quote", "warning", "A command contains the quotation marks of a word processor.", _check_quotes),
    Rule(
        "shell-operator", "warning", "A command contains an operator of a shell as a separate word.", _check_operators
    ),
    Rule("shell-variable", "warning", "A variable has the syntax of a shell, but no shell runs.", _check_variables),
)
