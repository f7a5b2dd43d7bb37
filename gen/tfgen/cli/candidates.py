"""Find shell completions for the last word of a command line, with the argparse parsers of the commands.

    candidates(["ch"])                               # [Candidate("check", "report the problems of jobs ...")]
    candidates(["render", "job.yaml", "--env", ""])  # [Candidate("dev"), Candidate("prod")]

The metavar of an argument selects the completions: for `JOB`, the completions are job files, and for `ENV`, the
completions are the environments of the job.
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
    """A possible completion of the last word of a command line, and a description of the completion."""

    word: str
    text: str = ""


class Line(NamedTuple):
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
    """Parse the words after a command to a `Line`. Find the option or argument of `parser` that takes the next word."""
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
    return Line(frozenset(names), tuple(jobs), option or next(iter(remaining), None))


def _takes_list(action: Action) -> bool:
    return action.nargs in ("*", "+")


def _values(action: Action, word: str, line: Line) -> Iterator[Candidate]:
    """Yield each allowed value of the option or argument `action` that begins with `word`."""
    if action.choices is not None:
        yield from _beginning(word, map(Candidate, action.choices))
    elif isinstance(action.metavar, str) and action.metavar in VALUES:
        yield from VALUES[action.metavar](word, line)


def _jobs(word: str, _: Line) -> Iterator[Candidate]:
    from tfgen.commands.authoring.complete import complete_file, is_job

    return map(Candidate, complete_file(word, is_job))


def _jobs_and_names(word: str, line: Line) -> Iterator[Candidate]:
    """Yield the job files, and then the names of the rendered jobs in the repository, that begin with `word`."""
    from tfgen.errors import TfgenError
    from tfgen.job.sources import output_root
    from tfgen.tree.write import read_ledgers

    yield from _jobs(word, line)
    with suppress(TfgenError, OSError):
        names = [Candidate(name, "a rendered job") for name in sorted(read_ledgers(output_root(Path())))]
        yield from _beginning(word, names)


def _folders(word: str, _: Line) -> Iterator[Candidate]:
    from tfgen.commands.authoring.complete import complete_file, is_folder

    return map(Candidate, complete_file(word, is_folder))


def _files(word: str, _: Line) -> Iterator[Candidate]:
    from tfgen.commands.authoring.complete import complete_file, is_any

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
    """Yield the keys of job.yaml, and then the ids of rules, that begin with `word`. With --origin, yield job files."""
    from tfgen.commands.authoring.complete import complete_key
    from tfgen.commands.explain import rule_ids

    if "--origin" in line.options:
        yield from _jobs(word, line)
        return
    yield from (Candidate(key.path, key.text) for key in complete_key(word))
    if word:
        yield from _beginning(word, (Candidate(rule, "a rule") for rule in rule_ids()))


def _assignments(word: str, line: Line) -> Iterator[Candidate]:
    from tfgen.commands.authoring.complete import complete_assignment

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
"""Metavar of an argument -> function that returns the completions."""


def _documents(line: Line) -> Sequence[Document]:
    """Return the jobs of the job files on the command line; without a job file, all jobs of the repository.

    If a file cannot be read, the result is empty, because a completion prints no errors.
    """
    from tfgen.check.jobs import check_all
    from tfgen.errors import TfgenError
    from tfgen.job.sources import output_root, read_sources

    try:
        paths = [Path(job).expanduser() for job in line.jobs] or [output_root(Path())]
        return check_all(read_sources(paths)).documents
    except (TfgenError, OSError, RuntimeError):
        return ()


def _names(document: Document, key: str) -> Iterable[str]:
    """Return the keys of the mapping at `key` in the spec of a job, such as the environment names at `environments`."""
    value = data_path.at(document.data, ("spec", key))
    return [name for name in value if isinstance(name, str)] if isinstance(value, dict) else ()
