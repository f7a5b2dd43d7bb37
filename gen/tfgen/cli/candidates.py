"""What the last word of a command line may become, read off the parsers of the commands.

    candidates(["ch"])                           ->  [Candidate("check", "say what is wrong with jobs ...")]
    candidates(["render", "job.yaml", "--env", ""])  ->  [Candidate("dev"), Candidate("prod")]

What stands for a value is told by the word that help has for it: `JOB` is a job's file everywhere, `ENV` one of its
environments.
"""

from __future__ import annotations

from argparse import Action, ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tfgen import data_path
from tfgen.cli.parser import COMMANDS, command_of, options, parsers, positionals

if TYPE_CHECKING:
    from tfgen.text.document import Document


class Candidate(NamedTuple):
    """A whole word in place of the last one, and what it means."""

    word: str
    text: str = ""


class Line(NamedTuple):
    """A command line up to a word.

    Attributes:
        options: those that stand before it.
        jobs: the files and folders that stand before it.
        expected: the option or argument whose value the word is, if any.
    """

    options: frozenset[str]
    jobs: tuple[str, ...]
    expected: Action | None


def candidates(words: Sequence[str]) -> list[Candidate]:
    """What the last of some words may become; the first one is the command."""
    *before, word = words or [""]
    if not before:
        names = [Candidate(name, command_of(name).summary) for name in COMMANDS]
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


def _read(parser: ArgumentParser, words: Sequence[str]) -> Line:
    """What the words of a command say, and what is expected after them."""
    known = options(parser)
    waiting = list(positionals(parser))
    names: set[str] = set()
    jobs: list[str] = []
    option: Action | None = None
    for number, word in enumerate(words):
        if word.startswith("-") and word != "-" and "--" not in words[:number]:
            name, equals, _ = word.partition("=")
            names.add(name)
            option = None if equals or name not in known or known[name].nargs == 0 else known[name]
        elif option:
            option = option if _takes_more(option) else None
        elif waiting:
            if waiting[0].metavar in ("JOB", "JOB|NAME", "PATH"):  # with --origin, PATH is a job's file
                jobs.append(word)
            if not _takes_more(waiting[0]):
                waiting.pop(0)
    return Line(frozenset(names), tuple(jobs), option or next(iter(waiting), None))


def _takes_more(action: Action) -> bool:
    return action.nargs in ("*", "+")


def _values(action: Action, word: str, line: Line) -> Iterator[Candidate]:
    """The values of an option or an argument that begin as a word does."""
    if action.choices is not None:
        yield from _beginning(word, map(Candidate, action.choices))
    elif isinstance(action.metavar, str) and action.metavar in VALUES:
        yield from VALUES[action.metavar](word, line)


def _jobs(word: str, _: Line) -> Iterator[Candidate]:
    from tfgen.commands.authoring.complete_file import complete_file, is_job

    return map(Candidate, complete_file(word, is_job))


def _jobs_and_names(word: str, line: Line) -> Iterator[Candidate]:
    """Job files, then the names of the jobs whose rendered files are below the root."""
    from tfgen.errors import TfgenError
    from tfgen.job.output_root import output_root
    from tfgen.tree.write import read_ledgers

    yield from _jobs(word, line)
    with suppress(TfgenError, OSError):
        names = [Candidate(name, "a rendered job") for name in sorted(read_ledgers(output_root(Path())))]
        yield from _beginning(word, names)


def _folders(word: str, _: Line) -> Iterator[Candidate]:
    from tfgen.commands.authoring.complete_file import complete_file, is_folder

    return map(Candidate, complete_file(word, is_folder))


def _files(word: str, _: Line) -> Iterator[Candidate]:
    from tfgen.commands.authoring.complete_file import complete_file, is_any

    return map(Candidate, complete_file(word, is_any))


def _files_after_name(word: str, line: Line) -> Iterator[Candidate]:
    name, equals, file = word.partition("=")
    if equals:
        yield from (Candidate(f"{name}={item.word}") for item in _files(file, line))


def _environments(word: str, line: Line) -> Iterable[Candidate]:
    names = (name for document in _documents(line) for name in _names(document, "environments"))
    return _beginning(word, map(Candidate, dict.fromkeys(names)))


def _job_names(word: str, line: Line) -> Iterable[Candidate]:
    names = (str(data_path.at(document.data, ("metadata", "name"))) for document in _documents(line))
    return _beginning(word, map(Candidate, dict.fromkeys(names)))


def _mounts(word: str, line: Line) -> Iterator[Candidate]:
    name, equals, folder = word.partition("=")
    if equals:
        yield from (Candidate(f"{name}={item.word}") for item in _folders(folder, line))
        return
    volumes = (volume for document in _documents(line) for volume in _names(document, "storage"))
    yield from _beginning(word, (Candidate(f"{volume}=") for volume in dict.fromkeys(volumes)))


def _roles(word: str, line: Line) -> Iterable[Candidate]:
    names = (name for document in _documents(line) for name in _names(document, "roles"))
    return _beginning(word, map(Candidate, dict.fromkeys(names)))


def _keys(word: str, line: Line) -> Iterator[Candidate]:
    """Keys of a job, then ids of rules."""
    from tfgen.commands.authoring.complete_key import complete_key
    from tfgen.commands.authoring.explain_rule import rule_ids

    if "--origin" in line.options:
        yield from _jobs(word, line)
        return
    yield from (Candidate(key.path, key.text) for key in complete_key(word))
    if word:
        yield from _beginning(word, (Candidate(rule, "a rule") for rule in rule_ids()))


def _assignments(word: str, line: Line) -> Iterator[Candidate]:
    from tfgen.commands.authoring.complete_key import complete_assignment

    return (Candidate(key.path, key.text) for key in complete_assignment(word, _documents(line)))


VALUES: Final[Mapping[str, Callable[[str, Line], Iterable[Candidate]]]] = {
    "JOB": _jobs,
    "JOB|NAME": _jobs_and_names,
    "ENV": _environments,
    "JOB-NAME": _job_names,
    "PATH": _keys,
    "PATH=VALUE": _assignments,
    "DIR": _folders,
    "FILE": _files,
    "PROGRAM": _files,
    "NAME=FILE": _files_after_name,
    "VOLUME=DIR": _mounts,
    "ROLE": _roles,
}
"""What a value may be, by the word that help has for it."""


def _documents(line: Line) -> Sequence[Document]:
    """The jobs that stand before a word, and without any those of the repository; none where they cannot be read."""
    from tfgen.check.jobs import check_all
    from tfgen.errors import TfgenError
    from tfgen.job.output_root import output_root
    from tfgen.job.sources import read_sources

    try:
        paths = [Path(job).expanduser() for job in line.jobs] or [output_root(Path())]
        return check_all(read_sources(paths)).documents
    except (TfgenError, OSError, RuntimeError):
        return ()


def _names(document: Document, key: str) -> Iterable[str]:
    """The keys of a mapping in the spec of a job that may have errors."""
    value = data_path.at(document.data, ("spec", key))
    return [name for name in value if isinstance(name, str)] if isinstance(value, dict) else ()
