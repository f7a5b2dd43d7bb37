"""Find the keys of job.yaml that set a line of a rendered file by experiment: change one key, and see which lines move.

A line that has another value after the change of a value, such as ``replicas: 4``, has the key of this value. If no
value changes the line, the line has the keys of the structure, such as `spec.sidecars`, without which the line is
different or absent. A line that is absent after the change of a value exists because of the key of this value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from difflib import SequenceMatcher
from functools import cached_property
from itertools import takewhile
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.commands.line_origin.template_values import LineKeys, keys_of_templates
from tfgen.data_path import Path
from tfgen.graph.field_keys import changed_jobs, jobs_without_a_key
from tfgen.graph.graph import BuiltJob, build, filled
from tfgen.job.facts import Origin, origins
from tfgen.job.training_job import Structure, TrainingJob
from tfgen.places import OVERLAYS
from tfgen.record import Record
from tfgen.targets.chart.chart import template_files
from tfgen.targets.kustomize.overlays import kustomize
from tfgen.text.document import Document

_HEAD: Final = re.compile(r"\s*(?:- )?(?:[^\s:]+:(?= |$))?")
"""The start of a line of YAML before its value: the indentation, the dash of an item, and the key."""

_Files: TypeAlias = Mapping[str, str]
"""The text of each file, by path."""


class JobChanges(Record):
    """A job, and the files of the job after the change of each of its keys."""

    document: Document

    @cached_property
    def structure(self) -> Structure:
        """The structure of the job."""
        return TrainingJob.from_document(self.document.data).structure

    def origins(self, environment: str | None) -> Mapping[Path, Origin]:
        """Return the origin of each value that the job has in an environment, by the path of the value in the job."""
        if environment not in self._origins:
            self._origins[environment] = {row.path: row for row in origins(self.document, environment)}
        return self._origins[environment]

    def template_keys(self, file: str, number: int) -> LineKeys:
        """Return the keys of a line of a template.

        Args:
            file: the path of the template in the chart.
            number: the number of the line, from 1.
        """
        if file not in self._keys:
            lines = self._templates.get(file, "").split("\n")
            shaping = _shaping(lines, file, self._templates_without_a_key)
            read = self._template_keys.get(file, ())
            self._keys[file] = _of_lines(lines, [keys.values for keys in read], [keys.tests for keys in read], shaping)
        # The last lines of the notes, which list the environments, are not in the template.
        return self._keys[file][number - 1] if number <= len(self._keys[file]) else LineKeys()

    def overlay_keys(self, file: str, number: int, text: str) -> LineKeys:
        """Return the keys of a line of the base or of an overlay.

        Args:
            file: the path of the file below ``overlays/NAME``.
            number: the number of the line, from 1.
            text: the text of the file.
        """
        if file not in self._keys:
            folder = file.partition("/")[0]
            if folder not in self._changes:
                self._changes[folder] = _overlays_after_changes(self.document.data, folder)
            lines = text.split("\n")
            after_values, after_structure = self._changes[folder]
            replaced, removed = _moved(lines, file, after_values)
            self._keys[file] = _of_lines(lines, replaced, removed, _shaping(lines, file, after_structure))
        return self._keys[file][number - 1]

    @cached_property
    def _templates(self) -> _Files:
        files = template_files(TrainingJob.from_document(self.document.data))
        return {file: text for file, text in files.items() if file.startswith("templates/")}

    @cached_property
    def _template_keys(self) -> Mapping[str, Sequence[LineKeys]]:
        return keys_of_templates(self._templates)

    @cached_property
    def _templates_without_a_key(self) -> Sequence[tuple[Path, _Files]]:
        jobs = ((key, TrainingJob.from_document(data)) for key, data in jobs_without_a_key(self.document.data))
        return [(key, template_files(job)) for key, job in jobs]

    @cached_property
    def _origins(self) -> dict[str | None, Mapping[Path, Origin]]:
        return {}

    @cached_property
    def _keys(self) -> dict[str, Sequence[LineKeys]]:
        return {}

    @cached_property
    def _changes(self) -> dict[str, tuple[_Changes, _Changes]]:
        return {}


class _Shaping(Record):
    """The keys of the structure without which a line is different or absent.

    Attributes:
        of_few_lines: the keys that shape at most half of the lines of the file, such as `sidecars`.
        of_file: the keys without which the job does not have the file, such as `gang`.
        of_most_lines: all other keys, such as `workload`, which decides the kind of the objects.
    """

    of_few_lines: frozenset[Path]
    of_file: frozenset[Path]
    of_most_lines: frozenset[Path]


_Changes: TypeAlias = "Sequence[tuple[Path, _Files]]"
"""The files of a job after the change of one key, for each key of the job."""


def _overlays_after_changes(data: Mapping[str, Any], folder: str) -> tuple[_Changes, _Changes]:
    """Return the files of the base or of one overlay after each change of a value, and without each structure key.

    The job is rendered without its other environments, because they do not change the files.
    """
    environments = data_path.at(data, ("spec", "environments")) or {}
    kept = {name: settings for name, settings in environments.items() if name == folder}
    data = data_path.with_value(data, ("spec", "environments"), kept)
    built = build(data)
    changed = changed_jobs(built.job, folder if kept else None, of_base=True)
    refilled = ((key, _refilled(built, job)) for key, job in changed)
    without = jobs_without_a_key(data)
    return (
        [
            (key, _overlays(after))
            for key, after in refilled
            if (after.base, after.environments) != (built.base, built.environments)
        ],
        [(key, _overlays(build(changed_data))) for key, changed_data in without],
    )


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


def _overlays(built: BuiltJob) -> _Files:
    """Return the files of the base and of each overlay, by the path below ``overlays/NAME``."""
    prefix = f"{OVERLAYS}/{built.job.name}/"
    return {path.removeprefix(prefix): text for path, text in kustomize(built).items()}


def _moved(lines: Sequence[str], file: str, changes: _Changes) -> tuple[list[set[Path]], list[set[Path]]]:
    """Return the keys whose change gives each line another value, and the keys whose change removes each line."""
    replaced: list[set[Path]] = [set() for _ in lines]
    removed: list[set[Path]] = [set() for _ in lines]
    for key, files in changes:
        for index, is_absent in _differences(lines, files.get(file, "").split("\n")):
            (removed if is_absent else replaced)[index].add(key)
    return replaced, removed


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


def _shaping(lines: Sequence[str], file: str, changes: _Changes) -> Sequence[_Shaping]:
    by_key = {
        key: {index for index, _ in _differences(lines, files.get(file, "").split("\n"))} for key, files in changes
    }
    of_file = frozenset(key for key, files in changes if file not in files)
    few = {key for key, moved in by_key.items() if 2 * len(moved) <= len(lines)} - of_file
    keys_of = [frozenset(key for key, moved in by_key.items() if index in moved) for index in range(len(lines))]
    return [_Shaping(keys & few, of_file, keys - few - of_file) for keys in keys_of]


def _of_lines(
    lines: Sequence[str],
    values: Sequence[Set[Path]],
    tests: Sequence[Set[Path]],
    shaping: Sequence[_Shaping],
) -> Sequence[LineKeys]:
    """Return the keys of each line.

    Args:
        lines: the lines of the file.
        values: the keys of the values that set each line.
        tests: the keys of the values that decide whether the file contains each line.
        shaping: the keys of the structure that shape each line.
    """
    keys = [
        LineKeys(
            frozenset(of_value or (() if test else shape.of_few_lines or shape.of_file or shape.of_most_lines)),
            frozenset(test | shape.of_few_lines | shape.of_file),
        )
        for of_value, test, shape in zip(values, tests, shaping, strict=True)
    ]
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
