"""``tfgen completion``: print a completion script for a shell, or the completions that this script asks for.

    tfgen completion bash                       # the script
    tfgen completion bash -- "tfgen render jo"  # the completions for bash: "job.yaml ", "jobs/"
    tfgen completion fish -- tfgen render jo    # the completions for a shell that splits the line into words

The scripts do not contain the names of commands and options. So the scripts never change, and all shells offer the same
completions.

    candidates(["ch"])                               # [Candidate("check", "report the problems of jobs ...")]
    candidates(["render", "job.yaml", "--env", ""])  # [Candidate("dev"), Candidate("prod")]

The metavar of an argument selects the completions: for `JOB`, the completions are job files, and for `ENV`, the
completions are the environments of the job.
"""

from __future__ import annotations

import re
from argparse import REMAINDER, Action, ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from tfgen import data_path
from tfgen.cli.output import OK, print_json
from tfgen.cli.parser import COMMANDS, HIDDEN, WORDS, options, parsers, positionals
from tfgen.errors import TfgenError
from tfgen.job.sources import contains_job, has_name_of_job, output_root, read_sources
from tfgen.schema.keys import complete_assignment, complete_key
from tfgen.text.document import Document

EXAMPLE: Final = "source <(tfgen completion bash)"

SHELLS: Final = ("bash", "zsh", "fish")

_WORD: Final = re.compile(r"""(?:\\.|'[^']*(?:'|$)|"(?:\\.|[^"\\])*(?:"|$)|[^\s\\'"]|\\$)+""", re.DOTALL)
"""Pattern of a word in a POSIX shell. In the last word, the closing quote may be missing."""
_PART: Final = re.compile(r"""\\(.?)|'([^']*)'?|"((?:\\.|[^"\\])*)"?""", re.DOTALL)
_BREAKS: Final = re.compile(r".*[=:]", re.DOTALL)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    parser.add_argument(
        "words",
        nargs=REMAINDER,
        metavar="-- WORD",
        help="the words of the command line to complete; in bash, the command line as one word",
    )


def run(args: Namespace) -> int:
    if not args.words:
        script = (Path(__file__).parent / "shells" / f"tfgen.{args.shell}").read_text(encoding="utf-8")
        if args.format == "json":
            print_json({"shell": args.shell, "script": script})
        else:
            print(script, end="")
        return OK

    match args.shell:
        case "bash":
            raw = split_line(args.words[0])
            words = [_unquoted(word) for word in raw]
        case "fish":
            raw, words = args.words, [*args.words[:-1], _unquoted(args.words[-1])]
        case _:
            raw = words = args.words
    items = candidates(words[1:])
    if args.format == "json":
        print_json({"candidates": [{"word": item.word, "text": item.text} for item in items]})
    else:
        lines = _for_bash(items, raw[-1]) if args.shell == "bash" else _with_text(args.shell, items)
        print("".join(f"{line}\n" for line in lines), end="")
    return OK


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


class Candidate(NamedTuple):
    """A possible completion of the last word of a command line, and a description of the completion."""

    word: str
    text: str = ""


class CommandLine(NamedTuple):
    """The command line before the word to complete.

    Attributes:
        options: the options on the command line.
        jobs: the job files and folders on the command line.
        expected: the option or argument that the word to complete belongs to; None if the command expects no value.
    """

    options: frozenset[str]
    jobs: tuple[str, ...]
    expected: Action | None


def candidates(words: Sequence[str]) -> list[Candidate]:
    """Return the completions of the last word. The words do not include `tfgen`; the first word is the command."""
    *before, word = words or [""]
    names = [Candidate(name, text) for name, text in {**COMMANDS, **WORDS}.items() if name != HIDDEN]
    if before == ["help"]:
        return _beginning(word, names)
    if not before:
        return _beginning(word, [*names, *_options(parsers(()).root)] if word[:1] == "-" else names)
    if before[0] not in COMMANDS:
        return []
    parser = parsers([before[0]]).commands[before[0]]
    line = _read(parser, before[1:])
    name, equals, value = word.partition("=")
    if equals and name.startswith("--") and name in options(parser):
        action = options(parser)[name]
        return [Candidate(f"{name}={word}", text) for word, text in _values(action, value, line)]
    if line.expected and (line.expected.option_strings or not word.startswith("-")):
        return list(_values(line.expected, word, line))
    return _beginning(word, _options(parser)) if word.startswith("-") and "--" not in before else []


def _beginning(word: str, items: Iterable[Candidate]) -> list[Candidate]:
    return [item for item in items if item.word.startswith(word)]


def _options(parser: ArgumentParser) -> Iterator[Candidate]:
    for text, action in options(parser).items():
        if text.startswith("--"):
            yield Candidate(text, action.help or "")


def _read(parser: ArgumentParser, words: Sequence[str]) -> CommandLine:
    """Parse the words after a command. Find the option or argument of `parser` that takes the next word."""
    options_by_name = options(parser)
    remaining = list(positionals(parser))
    names: set[str] = set()
    jobs: list[str] = []
    option: Action | None = None
    for number, word in enumerate(words):
        if word.startswith("-") and word != "-" and "--" not in words[:number]:
            name, equals, _ = word.partition("=")
            names.add(name)
            action = options_by_name.get(name)
            option = None if equals or action is None or action.nargs == 0 else action
        elif option:
            option = option if _takes_list(option) else None
        elif remaining:
            if remaining[0].metavar in ("JOB", "JOB|NAME", "PATH"):  # with --origin, PATH is a job file
                jobs.append(word)
            if not _takes_list(remaining[0]):
                remaining.pop(0)
    return CommandLine(frozenset(names), tuple(jobs), option or next(iter(remaining), None))


def _takes_list(action: Action) -> bool:
    return action.nargs in ("*", "+")


def _values(action: Action, word: str, line: CommandLine) -> Iterator[Candidate]:
    """Yield each allowed value of the option or argument `action` that begins with `word`."""
    if action.choices is not None:
        yield from _beginning(word, map(Candidate, action.choices))
    elif isinstance(action.metavar, str) and action.metavar in VALUES:
        yield from VALUES[action.metavar](word, line)


_Complete: TypeAlias = Callable[[str, CommandLine], Iterable[Candidate]]
"""Function that returns the values of an argument that begin with a word."""


def _paths(is_match: Callable[[Path], bool]) -> _Complete:
    return lambda word, _: map(Candidate, complete_file(word, is_match))


def _is_job(path: Path) -> bool:
    return has_name_of_job(path) and path.is_file() and contains_job(path.read_bytes())


_jobs: Final = _paths(_is_job)
_files: Final = _paths(lambda _: True)
_folders: Final = _paths(Path.is_dir)


def _jobs_and_names(word: str, line: CommandLine) -> Iterator[Candidate]:
    """Yield the job files, and then the names of the rendered jobs in the repository, that begin with `word`."""
    from tfgen.tree.write import read_ledgers  # takes 20 ms, which few completions need

    yield from _jobs(word, line)
    with suppress(TfgenError, OSError):
        names = [Candidate(name, "a rendered job") for name in sorted(read_ledgers(output_root(Path())))]
        yield from _beginning(word, names)


def _after_name(paths: _Complete) -> _Complete:
    """Return a function that completes the path in NAME=PATH. Before the equals sign, it returns nothing."""

    def complete(word: str, line: CommandLine) -> Iterator[Candidate]:
        name, equals, path = word.partition("=")
        if equals:
            yield from (Candidate(f"{name}={item.word}") for item in paths(path, line))

    return complete


def _names(key: str, suffix: str = "") -> _Complete:
    """Return a function that completes a key of the mapping at `key` in the spec, such as the name of a role."""

    def complete(word: str, line: CommandLine) -> Iterable[Candidate]:
        mappings = (data_path.at(document.data, ("spec", key)) for document in _documents(line))
        keys = (name for mapping in mappings if isinstance(mapping, dict) for name in mapping)
        names = dict.fromkeys(name for name in keys if isinstance(name, str))
        return _beginning(word, (Candidate(f"{name}{suffix}") for name in names))

    return complete


def _mounts(word: str, line: CommandLine) -> Iterable[Candidate]:
    return (_after_name(_folders) if "=" in word else _names("storage", "="))(word, line)


def _job_names(word: str, line: CommandLine) -> Iterable[Candidate]:
    names = (str(data_path.at(document.data, ("metadata", "name"))) for document in _documents(line))
    return _beginning(word, map(Candidate, dict.fromkeys(names)))


def _keys(word: str, line: CommandLine) -> Iterator[Candidate]:
    """Yield the keys of job.yaml, and then the ids of rules, that begin with `word`. With --origin, yield job files."""
    from tfgen.commands.explain import rule_ids  # takes 50 ms, which few completions need

    if "--origin" in line.options:
        yield from _jobs(word, line)
        return
    yield from (Candidate(key.path, key.text) for key in complete_key(word))
    if word:
        yield from _beginning(word, (Candidate(rule, "a rule") for rule in rule_ids()))


def _assignments(word: str, line: CommandLine) -> Iterator[Candidate]:
    return (Candidate(key.path, key.text) for key in complete_assignment(word, _documents(line)))


VALUES: Final[Mapping[str, _Complete]] = {
    "JOB": _jobs,
    "JOB|NAME": _jobs_and_names,
    "ENV": _names("environments"),
    "JOB-NAME": _job_names,
    "PATH": _keys,
    "PATH=VALUE": _assignments,
    "DIR": _folders,
    "FILE": _files,
    "PROGRAM": _files,
    "NAME=FILE": _after_name(_files),
    "VOLUME=DIR": _mounts,
    "ROLE": _names("roles"),
}
"""Metavar of an argument -> function that returns the completions."""


def _documents(line: CommandLine) -> Sequence[Document]:
    """Return the jobs of the job files on the command line; without a job file, all jobs of the repository.

    If a file cannot be read, the result is empty, because a completion prints no errors.
    """
    from tfgen.check.jobs import check_all  # takes 30 ms, which few completions need

    try:
        paths = [Path(job).expanduser() for job in line.jobs] or [output_root(Path())]
        return check_all(read_sources(paths)).documents
    except (TfgenError, OSError, RuntimeError):
        return ()


def complete_file(word: str, is_match: Callable[[Path], bool]) -> Iterator[str]:
    """Yield the paths that begin with a word, in sorted order. For example, the word `jobs/m` yields `jobs/mnist/`.

    The path of a folder ends with a slash. Hidden files are included only if the file name in the word begins with a
    dot.

    Args:
        word: the incomplete path.
        is_match: function that selects files. Folders are always included.
    """
    parent, slash, beginning = word.rpartition("/")
    try:
        paths = sorted(Path(f"{parent}{slash}" or ".").expanduser().iterdir())
    except (OSError, RuntimeError):  # the folder, or the user of a path ~user, does not exist
        return
    for path in paths:
        if path.name.startswith(beginning) and (beginning or not path.name.startswith(".")):
            try:
                if path.is_dir() or is_match(path):
                    yield f"{parent}{slash}{path.name}{'/' if path.is_dir() else ''}"
            except OSError:
                continue
