"""What the job's workload kind has no place for: the facts are in `tfgen.schema.workload_kinds`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.schema import file as schema_file
from tfgen.schema import workload_kinds as kinds
from tfgen.words import either, shown


def _check(view: View) -> Iterator[Finding]:
    kind = view.job.structure.kind
    for lack in kinds.without(view.spec):
        for path, data in _find_values(view.own, lack.path.split(".")):
            what = "" if isinstance(data, (Mapping, list)) else f" (found {shown(data)})"
            yield Finding(path, f"the workload kind {kind} has no {'.'.join(map(str, path))}{what}: {lack.way_out}")
    if view.environment is not None:
        yield from _idle(view, view.own)
    else:  # what decides the structure, no environment says
        for key in kinds.only(view.spec):
            value = kinds.value_of(view.spec, key.path)
            if value is not None and value not in key.values:
                allowed = either([value or '""' for value in key.values], "and")
                message = f"the workload kind {kind} has no {key.path} {shown(value)}, only {allowed}: {key.why}"
                yield Finding(tuple(key.path.split(".")), message)


def _idle(view: View, settings: Any, above: Path = ()) -> Iterator[Finding]:
    """Records of an environment that are empty, and of which the chart of this kind knows nothing."""
    for key, value in settings.items():
        path = (*above, key)
        node = schema_file.node(schema_file.load(), ("spec", *path))
        if isinstance(value, Mapping) and node and schema_file.is_record(node) and not kinds.lacking(view.spec, path):
            yield from _idle(view, value, path)
            if not value and data_path.at(view.job.values, path) is None:
                kind, name = view.job.structure.kind, ".".join(map(str, path))
                yield Finding(path, f"the workload kind {kind} lets an environment set nothing in {name}; remove it")


def _find_values(data: Any, steps: Sequence[str], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """What stands at a path with ``*`` for any key."""
    if not steps:
        yield above, data
    elif isinstance(data, Mapping):
        for key in data if steps[0] == "*" else [steps[0]]:
            if key in data:
                yield from _find_values(data[key], steps[1:], (*above, key))


RULES: Final = (Rule("workload-kind", "error", "The job sets a value that its workload kind cannot hold.", _check),)
