"""``tfgen completion``: the script by which a shell completes tfgen's command lines, and what it asks tfgen for.

    tfgen completion bash                            the script
    tfgen completion bash -- "tfgen render jo"       what bash is to offer: "job.yaml ", "jobs/"
    tfgen completion fish -- tfgen render jo         the same for a shell that takes the line apart itself

The scripts know nothing of tfgen's commands. So they stay as they are when a command changes, and the three shells
offer the same.
"""

from __future__ import annotations

import re
from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tfgen.cli.command import OK, Command
from tfgen.cli.output import print_json

if TYPE_CHECKING:
    from tfgen.cli.candidates import Candidate

SHELLS: Final = ("bash", "zsh", "fish")

_SCRIPTS: Final = Path(__file__).parent / "shells"

_WORD: Final = re.compile(r"""(?:\\.|'[^']*(?:'|$)|"(?:\\.|[^"\\])*(?:"|$)|[^\s\\'"]|\\$)+""", re.DOTALL)
"""A word as a POSIX shell has it; the quotes of the last one may be open."""
_PART: Final = re.compile(r"""\\(.?)|'([^']*)'?|"((?:\\.|[^"\\])*)"?""", re.DOTALL)
_BREAKS: Final = re.compile(r".*[=:]", re.DOTALL)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    parser.add_argument(
        "words", nargs=REMAINDER, metavar="-- WORD", help="what the script gives: the line (bash), or its words"
    )


def _run(args: Namespace) -> int:
    if not args.words:
        script = (_SCRIPTS / f"tfgen.{args.shell}").read_text(encoding="utf-8")
        if args.format == "json":
            print_json({"shell": args.shell, "script": script})
        else:
            print(script, end="")
        return OK
    from tfgen.cli.candidates import candidates

    written, words = _words(args.shell, args.words)
    items = candidates(words[1:])
    if args.format == "json":
        print_json({"candidates": [{"word": item.word, "text": item.text} for item in items]})
    else:
        lines = _for_bash(items, written) if args.shell == "bash" else _with_text(args.shell, items)
        print("".join(f"{line}\n" for line in lines), end="")
    return OK


def _words(shell: str, given: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The last word as it is written, and all words as they are meant, of what the script of a shell gives."""
    match shell:
        case "bash":
            words = split_line(given[0])
            return words[-1], [_unquoted(word) for word in words]
        case "fish":
            return given[-1], [*given[:-1], _unquoted(given[-1])]
        case _:
            return given[-1], given


def split_line(line: str) -> list[str]:
    r"""The words of a line, as they are written; the last is the one that is being written, and may be empty.

    >>> split_line("tfgen render my\\ job/job.yaml --env=")
    ['tfgen', 'render', 'my\\ job/job.yaml', '--env=']
    >>> split_line("tfgen ")
    ['tfgen', '']
    """
    words = _WORD.findall(line)
    return words if words and line.endswith(words[-1]) else [*words, ""]


def _unquoted(word: str) -> str:
    return _PART.sub(lambda part: part[1] or part[2] or re.sub(r'\\([$`"\\])', r"\1", part[3] or ""), word)


def _for_bash(items: Sequence[Candidate], written: str) -> Iterator[str]:
    """What takes the place of the end of a word: after its last = or :, at which bash begins a word of its own.

    Where the word begins with a quote, what comes stands within it, and bash itself writes the other one.
    """
    quote = written[:1] if written[:1] in _QUOTED else ""
    before = _BREAKS.match(_unquoted(written))
    start = before.end() if before else 0
    special, escaped = _QUOTED[quote]
    for word, _ in items:
        text = special.sub(escaped, word[start:])
        yield text if quote or word.endswith(OPEN) else f"{text} "


_QUOTED: Final = {
    "": (re.compile(r"[^A-Za-z0-9_@%+=:,./~-]"), r"\\\g<0>"),
    "'": (re.compile("'"), r"'\\''"),
    '"': (re.compile(r'[$`"\\]'), r"\\\g<0>"),
}
"""What a shell would not take as it is, outside of quotes and within them, and what stands for it."""

OPEN: Final = ("/", ".", "=")
"""How a word ends that is not whole yet, after which no space comes."""


def _with_text(shell: str, items: Sequence[Candidate]) -> Iterator[str]:
    """Words with what they mean, a tab between; in zsh's list a colon ends the word."""
    for word, text in items:
        shown = word.replace(":", r"\:") if shell == "zsh" else word
        yield f"{shown}\t{' '.join(text.split())}".rstrip("\t")


COMMAND: Final = Command(
    "completion",
    "print the script by which bash, zsh or fish completes tfgen's command lines",
    _arguments,
    _run,
    example="source <(tfgen completion bash)",
)
