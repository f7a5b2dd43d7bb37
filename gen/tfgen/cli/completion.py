"""``tfgen completion``: print a completion script for a shell, or the completions that this script asks for.

    tfgen completion bash                       # the script
    tfgen completion bash -- "tfgen render jo"  # the completions for bash: "job.yaml ", "jobs/"
    tfgen completion fish -- tfgen render jo    # the completions for a shell that splits the line into words

The scripts do not contain the names of commands and options. So the scripts never change, and all shells offer the same
completions.
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

_SUMMARY: Final = "print the script that completes tfgen command lines in bash, zsh or fish"
_EXAMPLE: Final = "source <(tfgen completion bash)"

SHELLS: Final = ("bash", "zsh", "fish")

_SCRIPTS: Final = Path(__file__).parent / "shells"

_WORD: Final = re.compile(r"""(?:\\.|'[^']*(?:'|$)|"(?:\\.|[^"\\])*(?:"|$)|[^\s\\'"]|\\$)+""", re.DOTALL)
"""Pattern of a word in a POSIX shell. In the last word, the closing quote may be missing."""
_PART: Final = re.compile(r"""\\(.?)|'([^']*)'?|"((?:\\.|[^"\\])*)"?""", re.DOTALL)
_BREAKS: Final = re.compile(r".*[=:]", re.DOTALL)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    parser.add_argument(
        "words",
        nargs=REMAINDER,
        metavar="-- WORD",
        help="the words of the command line to complete; in bash, the command line as one word",
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


def _words(shell: str, arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Split the command line to complete. Return (last word with its quotes, all words without quotes)."""
    match shell:
        case "bash":
            words = split_line(arguments[0])
            return words[-1], [_unquoted(word) for word in words]
        case "fish":
            return arguments[-1], [*arguments[:-1], _unquoted(arguments[-1])]
        case _:
            return arguments[-1], arguments


def split_line(line: str) -> list[str]:
    r"""Split a command line into words, with their quotes. The last word is incomplete, and may be empty.

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
    """Yield the text that bash must insert for each completion.

    bash begins a new word after `=` or `:`. For the completion `--env=dev`, for example, the text is `dev`.

    If the last word of the command line, `written`, begins with a quote, the text is quoted in the same way, and bash
    adds the closing quote.
    """
    quote = written[:1] if written[:1] in _QUOTED else ""
    breaks = _BREAKS.match(_unquoted(written))
    start = breaks.end() if breaks else 0
    special, escaped = _QUOTED[quote]
    for word, _ in items:
        text = special.sub(escaped, word[start:])
        yield text if quote or word.endswith(INCOMPLETE) else f"{text} "


_QUOTED: Final = {
    "": (re.compile(r"[^A-Za-z0-9_@%+=:,./~-]"), r"\\\g<0>"),
    "'": (re.compile("'"), r"'\\''"),
    '"': (re.compile(r'[$`"\\]'), r"\\\g<0>"),
}
"""Quote -> pattern of the characters that a shell interprets inside this quote, and their escaped form."""

INCOMPLETE: Final = ("/", ".", "=")
"""Final characters of a completion after which the user continues to type, so that no space is added."""


def _with_text(shell: str, items: Sequence[Candidate]) -> Iterator[str]:
    """Yield a line for each completion in zsh or fish: the word, a tab and the description. For zsh, escape colons."""
    for word, text in items:
        escaped = word.replace(":", r"\:") if shell == "zsh" else word
        yield f"{escaped}\t{' '.join(text.split())}".rstrip("\t")


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)
