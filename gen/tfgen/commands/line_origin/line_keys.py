"""The keys of job.yaml that set each line of a rendered file, and the keys that decide that the line exists.

For the base and the overlays, the module finds the keys by experiment: change one key, and see which lines move. A line
that has another value after the change of a value, such as ``replicas: 4``, has the key of this value. If no value
changes the line, the line has the keys of the structure, such as `spec.sidecars`, without which the line is different
or absent. A line that is absent after the change of a value exists because of the key of this value.

For a chart, the module reads the keys from the text of the templates:

    replicas: {{ .Values.roles.worker.replicas | int64 }}    spec.roles.worker.replicas

A line may read a value through a variable, through the dot of a ``with`` or ``range``, or through the argument of a
named template. So the module follows the actions of all templates, from each file into the named templates that the
file includes. The results contain both branches of each ``if``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from difflib import SequenceMatcher
from functools import cache, cached_property, partial
from itertools import takewhile
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.field_keys import JOB_NAME, changed_jobs, jobs_without_a_key
from tfgen.graph.graph import BuiltJob, build, filled
from tfgen.job.facts import Origin, origins
from tfgen.job.training_job import TrainingJob
from tfgen.places import OVERLAYS
from tfgen.record import EMPTY, Record
from tfgen.targets.chart.chart import template_files
from tfgen.targets.kustomize.overlays import kustomize
from tfgen.text.document import Document

ANY: Final = "*"
"""A step of a key that stands for each entry of a map, such as each volume in ``spec.storage``."""

_HEAD: Final = re.compile(r"\s*(?:- )?(?:[^\s:]+:(?= |$))?")
"""The start of a line of YAML before its value: the indentation, the dash of an item, and the key."""

_Changes: TypeAlias = Sequence[tuple[Path, Mapping[str, str]]]
"""The text of each file of a job by path, after the change of one key, for each key of the job."""


class LineKeys(Record):
    """The keys of a line.

    Attributes:
        values: the keys that set the values on the line. A key may contain the step `ANY`.
        tests: the keys that decide whether the file contains the line.
    """

    values: frozenset[Path] = frozenset()
    tests: frozenset[Path] = frozenset()


class JobChanges:
    """A job, and the keys of the lines of its files, which the changes of the keys of the job show.

    Attributes:
        document: the job.
        job: the structure and the values of the job.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.job = TrainingJob.from_document(document.data)
        self.origins = cache(self._origins)
        self.template_keys = cache(self._template_keys)
        self.overlay_keys = cache(self._overlay_keys)
        self._overlays = cache(partial(_overlays_after_changes, document.data))

    def _origins(self, environment: str | None) -> Mapping[Path, Origin]:
        """Return the origin of each value that the job has in an environment, by the path of the value in the job."""
        return {row.path: row for row in origins(self.document, environment)}

    def _template_keys(self, file: str) -> Sequence[LineKeys]:
        """Return the keys of each line of a template. `file` is the path of the template in the chart."""
        files, keys, without_a_key = self._templates
        values, tests = [line.values for line in keys[file]], [line.tests for line in keys[file]]
        return _keys_of_lines(files[file].split("\n"), file, values, tests, without_a_key)

    def _overlay_keys(self, file: str, text: str) -> Sequence[LineKeys]:
        """Return the keys of each line of the base or of an overlay. `file` is the path below ``overlays/NAME``."""
        lines = text.split("\n")
        after_values, without_a_key = self._overlays(file.partition("/")[0])
        values: list[set[Path]] = [set() for _ in lines]
        tests: list[set[Path]] = [set() for _ in lines]
        for key, files in after_values:
            for index, is_absent in _differences(lines, files.get(file, "").split("\n")):
                (tests if is_absent else values)[index].add(key)
        return _keys_of_lines(lines, file, values, tests, without_a_key)

    @cached_property
    def _templates(self) -> tuple[Mapping[str, str], Mapping[str, Sequence[LineKeys]], _Changes]:
        """The templates of the chart, the keys that their lines read, and the templates without each structure key."""
        files = {file: text for file, text in template_files(self.job).items() if file.startswith("templates/")}
        jobs = ((key, TrainingJob.from_document(data)) for key, data in jobs_without_a_key(self.document.data))
        return files, _keys_of_templates(files), [(key, template_files(job)) for key, job in jobs]


def _overlays_after_changes(data: Mapping[str, Any], folder: str) -> tuple[_Changes, _Changes]:
    """Return the files of the base or of one overlay after each change of a value, and without each structure key.

    The job is rendered without its other environments, because they do not change the files.
    """
    environments = data_path.at(data, ("spec", "environments")) or {}
    kept = {name: settings for name, settings in environments.items() if name == folder}
    data = data_path.with_value(data, ("spec", "environments"), kept)
    built = build(data)
    after_values = []
    for key, job in changed_jobs(built.job, folder if kept else None, of_base=True):
        after = _refilled(built, job)
        if (after.base, after.environments) != (built.base, built.environments):
            after_values.append((key, _overlays(after)))
    return after_values, [(key, _overlays(build(changed))) for key, changed in jobs_without_a_key(data)]


def _refilled(built: BuiltJob, job: TrainingJob) -> BuiltJob:
    """Return the objects of a job with the object graph of `built`, and with other values in the job or an environment.

    The objects of unchanged values are the objects of `built`.
    """
    is_renamed = job.name != built.job.name
    values_before = {variant.name: variant.values for variant in built.job.environments}
    environments = {
        variant.name: filled(job, built.templates, variant.name)
        if is_renamed or variant.values is not values_before[variant.name]
        else built.environments[variant.name]
        for variant in job.environments
    }
    base = filled(job, built.templates, None) if is_renamed or job.values is not built.job.values else built.base
    return built.replaced(job=job, base=base, environments=environments)


def _overlays(built: BuiltJob) -> Mapping[str, str]:
    """Return the files of the base and of each overlay, by the path below ``overlays/NAME``."""
    prefix = f"{OVERLAYS}/{built.job.name}/"
    return {path.removeprefix(prefix): text for path, text in kustomize(built).items()}


def _differences(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, bool]]:
    """Yield the index of each line that is not in `after`, and whether `after` has no other value for the line."""
    if before == after:
        return
    blocks: Iterable[tuple[str, int, int, int, int]] = [("", 0, len(before), 0, len(after))]
    if len(before) != len(after):
        blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for kind, start, end, other_start, other_end in blocks:
        heads = {_head(line) for line in after[other_start:other_end]}
        for index in range(start, end) if kind != "equal" else ():
            if end - start != other_end - other_start:
                yield index, _head(before[index]) not in heads
            elif before[index] != (other := after[other_start + index - start]):
                yield index, depth_of(before[index]) != depth_of(other)


def _keys_of_lines(
    lines: Sequence[str],
    file: str,
    values: Sequence[Set[Path]],
    tests: Sequence[Set[Path]],
    without_a_key: _Changes,
) -> Sequence[LineKeys]:
    """Return the keys of each line.

    Args:
        lines: the lines of the file.
        file: the path of the file.
        values: the keys of the values that set each line.
        tests: the keys of the values that decide whether the file contains each line.
        without_a_key: the files of the job without each key of the structure.
    """
    moved = {
        key: {index for index, _ in _differences(lines, files.get(file, "").split("\n"))}
        for key, files in without_a_key
    }
    of_file = frozenset(key for key, files in without_a_key if file not in files)  # such as `gang`
    # Keys such as `sidecars`. The other keys shape most lines, such as `workload`, which decides the kind.
    of_few_lines = {key for key, indexes in moved.items() if 2 * len(indexes) <= len(lines)} - of_file
    keys: list[LineKeys] = []
    for index, (of_value, test) in enumerate(zip(values, tests, strict=True)):
        shaping = frozenset(key for key, indexes in moved.items() if index in indexes)
        few = shaping & of_few_lines
        own = of_value or (() if test else few or of_file or shaping - of_few_lines)
        keys.append(LineKeys(frozenset(own), frozenset(test | few | of_file)))
    for index, line in reversed([*enumerate(lines)]):
        if line.endswith(":") and not keys[index].values:
            # A key above a mapping or list exists because of the lines below, if none of them is a fixed line.
            depths = takewhile(depth_of(line).__lt__, map(depth_of, lines[index + 1 :]))
            of_content = [keys[at].values | keys[at].tests for at, _ in enumerate(depths, index + 1)]
            if of_content and all(of_content):
                keys[index] = keys[index].replaced(tests=keys[index].tests.union(*of_content))
    return keys


def _head(line: str) -> str:
    match = _HEAD.match(line)
    return match[0] if match else ""


def depth_of(line: str) -> int:
    """Return twice the indentation of a line, and one more for an item of a list.

    An item of a list is deeper than the key above the list, which has the same indentation.
    """
    text = line.lstrip(" ")
    return 2 * (len(line) - len(text)) + text.startswith("- ")


# -- the text of templates -----------------------------------------------------------------------------------------

_ACTION: Final = re.compile(r'\{\{-? ?(?P<code>(?:/\*.*?\*/|"(?:[^"\\]|\\.)*"|`[^`]*`|[^"`])*?) ?-?\}\}', re.DOTALL)
_WORD: Final = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`|\)(?:\.[\w.]+)?|[(|]|[^\s()|"`]+')
_ASSIGNMENT: Final = re.compile(r"(?P<names>\$\w+(?:, \$\w+)?) (?P<sign>:?=) (?P<value>.*)", re.DOTALL)
_BLOCKS: Final = ("if", "with", "range", "define")
_SET: Final = re.compile(r"set (?P<name>\$\w+) ")


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


_Notes: TypeAlias = dict[str, list[set[Path]]]
"""The paths at each line of a file, by the name of the file."""


def _keys_of_templates(files: Mapping[str, str]) -> Mapping[str, Sequence[LineKeys]]:
    """Return the keys of each line of the templates of a chart, by the path of the template.

    Args:
        files: the text of each template, of each helper file and of the notes, by path.
    """
    reader = _Reader(files)
    for body in reader.bodies:
        dot = _Value(frozenset({("$",)}))
        reader.read(iter(body), dot, {"$": dot}, frozenset())
    return {
        file: [
            LineKeys(_keys(values), _keys(tests))
            for values, tests in zip(reader.values[file], reader.tests[file], strict=True)
        ]
        for file in files
    }


def _keys(paths: Iterable[Path]) -> frozenset[Path]:
    """Convert paths below the root context of Helm to keys of job.yaml."""
    values = frozenset(("spec", *path[2:]) for path in paths if path[1:2] == ("Values",) and len(path) > 2)
    return values | frozenset(JOB_NAME for path in paths if path[1:2] in (("Release",), ("Chart",)))


def _actions(file: str, text: str) -> Iterator[_Action]:
    for match in _ACTION.finditer(text):
        first = text.count("\n", 0, match.start())
        yield _Action(match["code"].strip(), file, first, first + match[0].count("\n"))


class _Reader:
    """The paths that each line reads, and the paths that the conditions around the line read.

    Attributes:
        values: the paths that each line of a file reads.
        tests: the paths that the conditions around each line of a file read.
        bodies: the actions of each file outside of its named templates.
    """

    def __init__(self, files: Mapping[str, str]) -> None:
        self.values: _Notes = {file: [set() for _ in text.split("\n")] for file, text in files.items()}
        self.tests: _Notes = {file: [set() for _ in text.split("\n")] for file, text in files.items()}
        self.bodies: list[list[_Action]] = []
        self._defined: dict[str, list[_Action]] = {}  # from ``define`` to ``end``
        self._included: dict[str, list[tuple[_Value, frozenset[Path]]]] = {}
        for file, text in files.items():
            self.bodies.append([])
            depth = 0
            template: list[_Action] = []
            for action in _actions(file, text):
                if action.word == "define":
                    template = self._defined[action.code.split('"')[1]] = []
                if depth or action.word == "define":
                    template.append(action)
                    depth += (action.word in _BLOCKS) - (action.word == "end")
                else:
                    self.bodies[-1].append(action)

    def read(
        self, actions: Iterator[_Action], dot: _Value, names: dict[str, _Value], tests: frozenset[Path]
    ) -> tuple[frozenset[Path], _Action | None]:
        """Follow actions up to the next ``else`` or ``end``, and return the paths that they read, and this action.

        Args:
            actions: the actions of a file or of a part of a template. At the end of a file, the result has no action.
            dot: the value of the dot.
            names: the value of each variable.
            tests: the paths that the conditions around the actions read.
        """
        paths: frozenset[Path] = frozenset()
        for action in actions:
            if action.word in ("else", "end"):
                return paths, action
            if action.word not in _BLOCKS:
                if not action.code.startswith("/*"):
                    read = self._statement(action.code, dot, names).all_paths
                    _note(self.values, action, action, read)
                    paths |= read
                continue
            heads: frozenset[Path] = frozenset()
            head: _Action | None = action
            while head and head.word != "end":
                word, _, code = head.code.removeprefix("else ").partition(" ")
                value = self._statement(code, dot, names, of_each=word == "range") if code else _Value()
                heads |= value.all_paths
                inner = {"with": value, "range": value.at([ANY])}.get(word, dot)
                read, following = self.read(actions, inner, names, tests | heads)
                _note(self.values, head, head, heads)
                _note(self.tests, head, following or head, tests | heads)
                paths |= heads | read
                head = following
            _note(self.values, head or action, head or action, heads)
        return paths, None

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
            elif word == "|":  # the value so far is the last argument of the next function
                arguments = [(words[0], _Value()), ("", self._call(arguments))]
                words = words[1:]
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
                keys = (key.strip('"') for key in texts[1::2])
                return _Value(fields=dict(zip(keys, values[2::2], strict=True)))
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
        head, *body = self._defined[name]
        paths, _ = self.read(iter(body), dot, {"$": dot}, frozenset())
        for action in (head, body[-1]):
            _note(self.values, action, action, paths)
        calls.append((dot, paths))
        return paths


def _note(notes: _Notes, first: _Action, last: _Action, paths: frozenset[Path]) -> None:
    """Note the paths at each line from one action to another action."""
    for at_line in notes[first.file][first.first : last.last + 1]:
        at_line.update(paths)
