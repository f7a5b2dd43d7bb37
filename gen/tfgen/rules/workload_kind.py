"""Keys that the workload kind of the job does not support, as `tfgen.schema.workload_kinds` lists them."""

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
    for lack in kinds.unsupported_keys(view.spec):
        for path, data in _find_values(view.variant_data, lack.path.split(".")):
            value_text = "" if isinstance(data, (Mapping, list)) else f" (found {shown(data)})"
            name = ".".join(map(str, path))
            yield Finding(path, f"the workload kind {kind} does not support {name}{value_text}: {lack.why}")
    if view.environment is not None:
        yield from _unsupported_empty_mappings(view, view.variant_data)
    else:  # An environment cannot change the workload kind, so check only the job.
        for key in kinds.limited_keys(view.spec):
            value = kinds.value_of(view.spec, key.path)
            if value is not None and value not in key.values:
                allowed = either([value or '""' for value in key.values], "and")
                message = (
                    f"the workload kind {kind} does not support {key.path} {shown(value)}, only {allowed}: {key.why}"
                )
                yield Finding(tuple(key.path.split(".")), message)


def _unsupported_empty_mappings(view: View, settings: Any, parent: Path = ()) -> Iterator[Finding]:
    """Report each empty mapping of an environment, as in `KEY: {}`, if the workload kind supports no key inside KEY.

    `_check` finds only the keys inside KEY, so `_check` does not find an empty mapping. `settings` is the mapping of
    the environment, or a part of the mapping at the path `parent`.
    """
    for key, value in settings.items():
        path = (*parent, key)
        node = schema_file.node(schema_file.load(), ("spec", *path))
        if isinstance(value, Mapping) and node and schema_file.is_record(node) and not kinds.lacking(view.spec, path):
            yield from _unsupported_empty_mappings(view, value, path)
            if not value and data_path.at(view.job.values, path) is None:
                kind, name = view.job.structure.kind, ".".join(map(str, path))
                yield Finding(path, f"an environment cannot set {name} with the workload kind {kind}; remove the key")


def _find_values(data: Any, steps: Sequence[str], parent: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the path and value of each field of `data` whose path matches `steps`. The step ``*`` matches any key."""
    if not steps:
        yield parent, data
    elif isinstance(data, Mapping):
        for key in data if steps[0] == "*" else [steps[0]]:
            if key in data:
                yield from _find_values(data[key], steps[1:], (*parent, key))


RULES: Final = (
    Rule("workload-kind", "error", "The job sets a value that its workload kind does not support.", _check),
)
