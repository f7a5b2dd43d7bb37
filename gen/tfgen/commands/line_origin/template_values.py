"""Read from the text of a chart's templates which keys of job.yaml set a line, and which keys decide that it exists.

    replicas: {{ .Values.roles.worker.replicas | int64 }}    spec.roles.worker.replicas

A line may read a value through a variable, through the dot of a ``with`` or ``range``, or through the argument of a
named template. So the module follows the actions of all templates, from each file into the named templates that the
file includes. The results contain both branches of each ``if``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from tfgen.data_path import Path
from tfgen.graph.field_keys import JOB_NAME
from tfgen.record import EMPTY, Record

ANY: Final = "*"
"""A step of a key that stands for each entry of a map, such as each volume in ``spec.storage``."""

_ACTION: Final = re.compile(r'\{\{-? ?(?P<code>(?:/\*.*?\*/|"(?:[^"\\]|\\.)*"|`[^`]*`|[^"`])*?) ?-?\}\}', re.DOTALL)
_WORD: Final = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`|\)(?:\.[\w.]+)?|[(|]|[^\s()|"`]+')
_ASSIGNMENT: Final = re.compile(r"(?P<names>\$\w+(?:, \$\w+)?) (?P<sign>:?=) (?P<value>.*)", re.DOTALL)
_SET: Final = re.compile(r"set (?P<name>\$\w+) ")


class LineKeys(Record):
    """The keys of a line of a template.

    Attributes:
        values: the keys that the line reads. A key may contain the step `ANY`.
        tests: the keys that the conditions around the line read.
    """

    values: frozenset[Path] = frozenset()
    tests: frozenset[Path] = frozenset()


class _Value(Record):
    """What a name or an expression refers to.

    Attributes:
        paths: the paths below the root context of Helm, such as ("$", "Values", "image").
        fields: the values in a ``dict``, by key.
        is_result: whether a function computes the value from the values at `paths`.
    """

    paths: frozenset[Path] = frozenset()
    fields: Mapping[str, _Value] = EMPTY
    is_result: bool = False

    def at(self, steps: str | Iterable[str]) -> _Value:
        """Return the value of a field. The steps are a text such as ".storage.claim", or quoted keys."""
        value = self
        for step in steps.split(".") if isinstance(steps, str) else (step.strip('"') for step in steps):
            if step and not value.is_result:
                value = value.fields.get(step) or _Value(frozenset((*path, step) for path in value.all_paths))
        return value

    @property
    def all_paths(self) -> frozenset[Path]:
        return self.paths.union(*(field.all_paths for field in self.fields.values()))


class _Action(Record):
    """An action of a template, such as ``end``, with the numbers of its first and its last line, from 0."""

    code: str
    file: str
    first: int
    last: int

    @property
    def word(self) -> str:
        return self.code.partition(" ")[0]


class _Block(Record):
    """The branches of an ``if``, ``with``, ``range`` or ``define``, each an action and the content after the action."""

    branches: Sequence[tuple[_Action, _Body]]
    end: _Action


_Body: TypeAlias = "Sequence[_Action | _Block]"


def keys_of_templates(files: Mapping[str, str]) -> Mapping[str, Sequence[LineKeys]]:
    """Return the keys of each line of the templates of a chart, by the path of the template.

    Args:
        files: the text of each template, of each helper file and of the notes, by path.
    """
    bodies = [_parse(_actions(file, text))[0] for file, text in files.items()]
    defined = {
        part.branches[0][0].code.split('"')[1]: part
        for body in bodies
        for part in body
        if isinstance(part, _Block) and part.branches[0][0].word == "define"
    }
    reader = _Reader(defined)
    for body in bodies:
        reader.read(body, _Value(frozenset({("$",)})))
    return {
        file: [
            LineKeys(_keys(reader.values.get((file, line), ())), _keys(reader.tests.get((file, line), ())))
            for line in range(text.count("\n") + 1)
        ]
        for file, text in files.items()
    }


def _keys(paths: Iterable[Path]) -> frozenset[Path]:
    """Convert paths below the root context of Helm to keys of job.yaml."""
    values = frozenset(("spec", *path[2:]) for path in paths if path[1:2] == ("Values",) and len(path) > 2)
    return values | frozenset(JOB_NAME for path in paths if path[1:2] in (("Release",), ("Chart",)))


def _actions(file: str, text: str) -> Iterator[_Action]:
    for match in _ACTION.finditer(text):
        first = text.count("\n", 0, match.start())
        yield _Action(match["code"].strip(), file, first, first + match[0].count("\n"))


def _parse(actions: Iterator[_Action]) -> tuple[_Body, _Action | None]:
    """Return the content before the next ``else`` or ``end``, and this action; None at the end of a file."""
    body: list[_Action | _Block] = []
    for action in actions:
        if action.word in ("else", "end"):
            return body, action
        if action.word not in ("if", "with", "range", "define"):
            body.append(action)
            continue
        branches: list[tuple[_Action, _Body]] = []
        head: _Action | None = action
        while head is not None and head.word != "end":
            inner, following = _parse(actions)
            branches.append((head, inner))
            head = following
        body.append(_Block(branches, head or action))
    return body, None


class _Reader:
    """The paths that each line reads, and the paths that the conditions around the line read.

    The keys of both mappings are the file and the number of the line.
    """

    def __init__(self, defined: Mapping[str, _Block]) -> None:
        self.values: dict[tuple[str, int], set[Path]] = {}
        self.tests: dict[tuple[str, int], set[Path]] = {}
        self._defined = defined
        self._included: dict[str, list[tuple[_Value, frozenset[Path]]]] = {}

    def read(self, body: _Body, dot: _Value) -> frozenset[Path]:
        """Follow the actions of a file or of a named template, and return all paths that the actions read."""
        return self._read_body(body, dot, {"$": dot}, frozenset())

    def _read_body(self, body: _Body, dot: _Value, names: dict[str, _Value], tests: frozenset[Path]) -> frozenset[Path]:
        paths: frozenset[Path] = frozenset()
        for part in body:
            if isinstance(part, _Block):
                paths |= self._read_block(part, dot, names, tests)
            elif not part.code.startswith("/*"):
                read = self._statement(part.code, dot, names).all_paths
                _note(self.values, part, part, read)
                paths |= read
        return paths

    def _read_block(
        self, block: _Block, dot: _Value, names: dict[str, _Value], tests: frozenset[Path]
    ) -> frozenset[Path]:
        paths: frozenset[Path] = frozenset()
        heads: frozenset[Path] = frozenset()
        if block.branches[0][0].word == "define":
            return paths  # `_include` reads the content
        for number, (head, body) in enumerate(block.branches):
            word, _, code = head.code.removeprefix("else ").partition(" ")
            value = self._statement(code, dot, names, of_each=word == "range") if code else _Value()
            heads |= value.all_paths
            following = block.branches[number + 1][0] if number + 1 < len(block.branches) else block.end
            _note(self.values, head, head, heads)
            _note(self.tests, head, following, tests | heads)
            inner = {"with": value, "range": value.at([ANY])}.get(word, dot)
            paths |= heads | self._read_body(body, inner, names, tests | heads)
        _note(self.values, block.end, block.end, heads)
        return paths

    def _statement(self, code: str, dot: _Value, names: dict[str, _Value], *, of_each: bool = False) -> _Value:
        """Return the value of an expression or an assignment, and add the assigned names to `names`.

        `of_each` is whether the names have the value of each entry, in the head of a ``range``.
        """
        assignment = _ASSIGNMENT.fullmatch(code)
        value, _ = self._pipeline(_WORD.findall(assignment["value"] if assignment else code), dot, names)
        if assignment is None:
            return value
        changed = _SET.match(assignment["value"])  # `$_ := set $limits "cpu" 1` changes $limits
        for name in [changed["name"]] if changed else assignment["names"].split(", "):
            is_new = assignment["sign"] == ":=" and not changed
            entry = value.at([ANY]) if of_each else value
            names[name] = entry if is_new else _Value(names[name].all_paths | entry.all_paths, is_result=True)
        return value

    def _pipeline(self, words: Sequence[str], dot: _Value, names: Mapping[str, _Value]) -> tuple[_Value, Sequence[str]]:
        """Return the value of the words before a closing bracket or the end, and the words after the bracket."""
        arguments: list[tuple[str, _Value]] = []
        while words and not words[0].startswith(")"):
            word, words = words[0], words[1:]
            if word == "(":
                value, words = self._pipeline(words, dot, names)
                arguments.append(("", value))
            elif word == "|":
                arguments = [("", self._call(arguments))]  # the last argument of the next function
                function, words = words[0], words[1:]
                arguments.insert(0, (function, _Value()))
            elif word.startswith("$"):
                name, _, steps = word.partition(".")
                arguments.append((word, names[name].at(steps)))
            else:
                arguments.append((word, dot.at(word) if word.startswith(".") else _Value()))
        value = self._call(arguments)
        return value.at(words[0][1:]) if words else value, words[1:]  # the bracket may come with a field: `).metadata`

    def _call(self, words: Sequence[tuple[str, _Value]]) -> _Value:
        """Return the value of a function call, or of a single operand, from the text and the value of each word."""
        texts, values = [text for text, _ in words], [value for _, value in words]
        match texts:
            case [_]:
                return values[0]
            case ["include", name, _]:
                return _Value(self._include(name.strip('"'), values[2]), is_result=True)
            case ["dict", *_]:
                return _Value(
                    fields={key.strip('"'): value for key, value in zip(texts[1::2], values[2::2], strict=True)}
                )
            case ["dig", *steps, _, _]:
                return _Value(values[-1].at(steps).all_paths | values[-2].all_paths, is_result=True)
            case ["hasKey", _, key]:
                return values[1].at([key])
        return _Value(frozenset().union(*(value.all_paths for value in values)), is_result=True)

    def _include(self, name: str, dot: _Value) -> frozenset[Path]:
        """Return the paths that a named template reads with an argument."""
        calls = self._included.setdefault(name, [])
        for argument, paths in calls:
            if argument == dot:
                return paths
        block = self._defined[name]
        head, body = block.branches[0]
        paths = self.read(body, dot)
        for action in (head, block.end):
            _note(self.values, action, action, paths)
        calls.append((dot, paths))
        return paths


def _note(notes: dict[tuple[str, int], set[Path]], first: _Action, last: _Action, paths: frozenset[Path]) -> None:
    """Note the paths at each line from one action to another action."""
    for line in range(first.first, last.last + 1):
        notes.setdefault((first.file, line), set()).update(paths)
