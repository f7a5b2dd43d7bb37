"""Writes the texts of a chart for people: ``values.yaml``, ``NOTES.txt`` and ``README.md``.

Helm prints ``NOTES.txt`` after an installation.
"""

from __future__ import annotations

import functools
import json
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from tfgen.data_path import ValueType
from tfgen.graph import naming
from tfgen.graph.holes import ChartOnly, Node, Text, When
from tfgen.graph.naming import value
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.training_job import Scheduler, Structure, TrainingJob
from tfgen.kubernetes import keys
from tfgen.places import CHARTS
from tfgen.schema import file as schema_file
from tfgen.schema import tunables
from tfgen.schema.file import Schema
from tfgen.schema.hints import choices
from tfgen.schema.kinds import WorkloadKind
from tfgen.schema.tunables import ValuesPath, chart_values
from tfgen.schema.values_schema import ValuesForm, ValuesPart, once_a_form
from tfgen.text import yaml_text
from tfgen.words import either

# -- values.yaml -------------------------------------------------------------------------------------------------------
#
# Writes ``values.yaml``: all values of the chart with their defaults. The comment of a value comes from its schema.
#
# # Number of tasks. From 1 to 10000.
# replicas: 4
#
# All roles have the same keys, so only the first role has comments. A key without a value, such as the image of a role
# without an image, is a comment line: ``# image: ""``. The comment of a map of records, such as the volumes, lists the
# keys of a record.


_WIDTH: Final = 100
_EMPTY: Final[Mapping[ValueType, Any]] = {
    "string": "",
    "quantity": "",
    "integer": 0,
    "boolean": False,
    "map": {},
    "list": [],
}
"""The empty value of each type, which the comment line of an optional key shows."""


def values_yaml(values: Mapping[str, Any], form: ValuesForm) -> str:
    """Return the text of ``values.yaml``, with an empty line before each top-level key.

    Args:
        values: the values of the chart.
        form: the paths of the values, and the keys that the job does not support.
    """
    chart_keys = chart_values(form.environments).items()
    chart_entries = (f"# {node['description']}\n{yaml_text.dump({name: node['default']})}" for name, node in chart_keys)
    return "\n".join(chart_entries) + "".join(entry.text(values) for entry in _entries(form))


@once_a_form
def _entries(form: ValuesForm) -> tuple[ValuesPart, ...]:
    """Return the part of values.yaml for each value. A part contains a value and its comment.

    The part of the first value below a parent key, such as `roles`, also contains the parent key with its comment.
    """
    entries = []
    printed: set[ValuesPath] = set()
    commented: set[ValuesPath] = set()
    for path in form.paths:
        head = ""
        for key in (path[:depth] for depth in range(1, len(path) + 1)):
            if key in printed:
                continue
            printed.add(key)
            # All roles share the comment of the first role with this key.
            comment_key = ("roles", "*", *key[2:]) if key[0] == "roles" and len(key) > 2 else key
            unsupported = tuple(path for path in form.unsupported_paths if path.startswith(f"{'.'.join(key)}."))
            comment = "" if comment_key in commented else _comment(key, unsupported)
            commented.add(comment_key)
            parent_line = "" if key == path else f"{_indent(key)}{yaml_text.scalar(key[-1])}:\n"
            head += ("\n" if len(key) == 1 else "") + comment + parent_line
        entries.append(ValuesPart((path,), head, partial(_line, path)))
    return tuple(entries)


def _line(path: ValuesPath, values: Sequence[Any]) -> str:
    (value,) = values
    if value is None:
        return f"{_indent(path)}# {yaml_text.dump({path[-1]: _EMPTY[tunables.at(path).type]})}"
    return yaml_text.dump({path[-1]: value}, _indent(path))


def _indent(path: ValuesPath) -> str:
    return "  " * (len(path) - 1)


@functools.lru_cache(maxsize=1 << 10)  # cached, because the values of two jobs share most comments
def _comment(path: ValuesPath, unsupported: tuple[str, ...]) -> str:
    """Return the comment of a value.

    Args:
        path: the path of the value.
        unsupported: the paths of keys that the job does not support, so that the comment omits these keys. For example,
            a job with the profile "restricted" does not support ``storage.*.nfs``.
    """
    indent = _indent(path)
    node, width = schema_file.node(schema_file.load(), ("spec", *path)) or {}, _WIDTH - len(indent)
    lines = _wrapped(" ".join([node.get("description", ""), *_allowed(node)]), width)
    entry = schema_file.entry(schema_file.load(), node, "*")
    if not schema_file.is_record(node) and entry and schema_file.is_record(entry):
        lines += _keys((*path, "*"), entry, unsupported, "  ", width)
    return "".join(f"{indent}# {line}\n" for line in lines)


def _keys(
    path: tuple[str, ...], record: Schema, unsupported: Collection[str], indent: str, width: int
) -> Iterator[str]:
    """Yield comment lines that describe the keys of a record, such as a volume, and the keys of nested records.

    Args:
        path: the path of the record in the values.
        record: the schema of the record.
        unsupported: the paths of the keys that the job does not support.
        indent: the indentation inside the comment.
        width: the maximum length of a line.
    """
    one_of = [key for key in choices(record) if ".".join((*path, key)) not in unsupported] if "oneOf" in record else []
    if one_of:
        yield from _wrapped(f"Exactly one of {either(one_of)}.", width, indent)
    for key, field in record["properties"].items():
        if ".".join((*path, key)) in unsupported:
            continue
        node = schema_file.resolve(schema_file.load(), field)
        required = ["Required."] if key in record.get("required", ()) else []
        text = " ".join([f"{key}:", *required, node["description"], *_allowed(node)])
        if node.get("default") and not isinstance(node["default"], (dict, list)):
            text += f" {yaml_text.scalar(node['default'])} by default."
        yield from _wrapped(text, width, indent)
        if schema_file.is_record(node):
            yield from _keys((*path, key), node, unsupported, indent + "  ", width)


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    continuation = f"{indent}  " if indent else ""
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=continuation, break_on_hyphens=False)


def _allowed(node: Schema) -> Iterator[str]:
    """Yield a sentence about the allowed values, if the schema has choices, examples or a range."""
    if "enum" in node:
        choices = (yaml_text.scalar(choice) for choice in node["enum"])
        yield f"One of: {', '.join(choices)}."
    elif node.get("x-kind") == "quantity":
        yield f"A quantity, such as {' or '.join(str(example) for example in node['examples'])}."
    elif node.get("type") == "integer" and {"minimum", "maximum"} <= node.keys():
        yield f"From {node['minimum']} to {node['maximum']}."


# -- NOTES.txt ---------------------------------------------------------------------------------------------------------


NOTES: Final = "templates/NOTES.txt"
"""The path of the notes in the chart."""


_VERSION_NOTE: Final = (
    "The chart has the version 1.REVISION.CONTENT: each change increases REVISION, and CONTENT is only a digest."
)


def notes(structure: Structure) -> Node:
    """Return the notes, which show how to list the pods of a run, follow the log of a run, and start the next run."""
    namespace = ChartOnly("{{ .Release.Namespace }}")
    log_role = WORKLOADS[structure.kind].log_role(structure)
    return Text(
        (
            "The run ",
            naming.RUN,
            " is starting.\n\nTo list its pods:\n\n  kubectl get pods --namespace ",
            namespace,
            f" \\\n    --selector {keys.JOB}=",
            naming.JOB,
            f",{keys.RUN}=",
            value("run"),
            f"\n\nTo follow the log of the {log_role}:\n\n  kubectl logs --follow --namespace ",
            namespace,
            f" \\\n    --selector {keys.JOB}=",
            naming.JOB,
            f",{keys.RUN}=",
            value("run"),
            f",{keys.ROLE}={log_role}\n\n",
            f"{upgrade_note(structure)}\nTo start a new run, set a new name for the run:\n\n  helm upgrade ",
            naming.RELEASE,
            " CHART --namespace ",
            namespace,
            " \\\n    --reset-then-reuse-values --set run=",
            When(value("run"), "NEXT", "2"),
            f"\n\n{_VERSION_NOTE}\n",
        )
    )


def environment_note(name: str) -> str:
    """Return the last lines of the notes, which name the values file of an environment, as an example."""
    return f"\nTo install with the values of an environment, such as {name}:  -f CHART/values-{name}.yaml\n"


def upgrade_note(structure: Structure) -> str:
    """Return the text that explains the effect of ``helm upgrade`` without a new run name.

    During an upgrade, the chart does not scale up a StatefulSet that the finisher released (`graph.graph`).
    A rollback applies the replicas of an earlier revision (tests/e2e/server/test_released.py).
    """
    workload = WORKLOADS[structure.kind]
    scalable = " and ".join(role.name for role in structure.roles if workload.is_scalable(role))
    if not scalable:
        return "An upgrade with the same run starts no task again."
    return (
        "Helm refuses an upgrade with the same run if the upgrade would change a pod.\n"
        f"After the end of the run, an upgrade keeps {scalable} at 0 replicas, but a rollback starts {scalable} again."
    )


# -- README.md ---------------------------------------------------------------------------------------------------------


_LONGEST_DEFAULT: Final = 50
_LONGEST_SENTENCE: Final = 90
_BY_KIND: Final[Mapping[WorkloadKind, str]] = {
    "TFJob": "an operator of TFJobs",
    "VolcanoJob": "Volcano",
    "JobSet": "JobSet's controller",
}
_BY_GANG: Final[Mapping[Scheduler, str]] = {
    "volcano": "Volcano",
    "kube-batch": "kube-batch",
    "coscheduling": "a scheduler with the plugin Coscheduling",
    "kai": "KAI Scheduler 0.15 or newer",
    "koordinator": "the scheduler of Koordinator or ACK",
    "kueue": "Kueue",
}
_SEE_VALUES: Final = "see values.yaml"


_json: Final = json.JSONEncoder(ensure_ascii=False).encode


def readme(job: TrainingJob, form: ValuesForm, kubernetes: str) -> str:
    """Return the text of the README.md. `kubernetes` is the oldest version of Kubernetes for the chart."""
    chart = f"{CHARTS}/{job.name}"
    environment = next((environment for environment in job.environments if environment.enabled), None)
    namespace = environment.namespace if environment else job.namespace
    namespace_flag = f" --namespace {namespace}" if namespace else ""
    flags = f" -f {chart}/values-{environment.name}.yaml{namespace_flag}" if environment else namespace_flag
    chart_rows = (
        f'| `{name}` | string | `` "" `` | {node["description"]} |'
        for name, node in chart_values(form.environments).items()
    )
    rows = "\n".join([*chart_rows, *(row.text(job.values) for row in _rows(form))])
    return f"""\
# {job.name}

The distributed TensorFlow job {job.name} as a Helm chart. tfgen generated the chart: edit the job file instead.

    helm install {job.name} {chart}{flags}

The chart needs Kubernetes {kubernetes} or newer{_operators(job.structure)}, and Helm 3.14 or newer.

With a different release name, the objects have names such as RELEASE-{job.name}, so a namespace can contain several
releases. `nameOverride` and `fullnameOverride` change the names.

{upgrade_note(job.structure)}
To start a new run, set a new name for the run:

    helm upgrade {job.name} {chart} --reset-then-reuse-values --set run=2{namespace_flag}

`helm uninstall` keeps the claims of the chart.
{_VERSION_NOTE}

## Values

`values.yaml` describes each value in full. A role without a value of its own uses the value of the job.

`run`, `env`, `args`, `command`, labels, annotations and node selectors accept integers and booleans as well as text:
`--set run=2,env.STEPS=1000000`. In a values file, put a text such as "007" or "1.0" in quotes, because YAML drops the
zeros of a number. The chart refuses null for a required value. To set an empty list, write
`--set-json 'tolerations=[]'`. In a volume with a claim, `--set storage.NAME.claim.name=CLAIM` uses an existing claim.

| Value | Type | Default | Description |
|---|---|---|---|
{rows}
"""


def _operators(structure: Structure) -> str:
    """Return the part of a sentence that names the operators of a job, such as ", Volcano".

    For a job that needs no operator, the result is empty.
    """
    names = [_BY_KIND.get(structure.kind, ""), _BY_GANG.get(structure.gang or "kubernetes", "")]
    return "".join(f", {name}" for name in dict.fromkeys(names) if name)


@once_a_form
def _rows(form: ValuesForm) -> tuple[ValuesPart, ...]:
    """Return the rows of the table of values. The values of several roles with the same key share one row."""
    paths: dict[str, list[ValuesPath]] = {}
    for path in form.paths:
        name = ".".join(("roles", "ROLE", *path[2:]) if path[0] == "roles" else path)
        paths.setdefault(name, []).append(path)
    roles = {path[1] for path in form.paths if path[0] == "roles"}
    return tuple(_row(name, row, in_all_roles=len(row) == len(roles)) for name, row in paths.items())


def _row(name: str, paths: Sequence[ValuesPath], *, in_all_roles: bool) -> ValuesPart:
    tunable = tunables.at(paths[0])
    description = _short_sentence(schema_file.first_sentence(tunable.schema))
    start, end = f"| {_cell(f'`{name}`')} | {_cell(tunable.type)} | ", f" | {_cell(description)} |"
    return ValuesPart(paths, start, partial(_default, paths, in_all_roles=in_all_roles), end)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _default(paths: Sequence[ValuesPath], values: Sequence[Any], *, in_all_roles: bool) -> str:
    """Return the table cell with the default of a value. If the roles differ, the cell has the default of each role.

    Args:
        paths: the path of the value. For a value of several roles, the paths in all these roles.
        values: the default at each of these paths.
        in_all_roles: whether all roles of the job have the value.
    """
    defaults = [_shown(value) for value in values]
    if paths[0][0] != "roles" or (in_all_roles and len({*defaults}) == 1):
        return _cell(defaults[0])
    text = ", ".join(f"{path[1]} {default}" for path, default in zip(paths, defaults, strict=True))
    return _cell(text) if len(text) <= _LONGEST_DEFAULT else _SEE_VALUES


def _shown(value: Any) -> str:
    if value is None:
        return "unset"
    text = _json(value)
    return f"`` {text} ``" if len(text) <= _LONGEST_DEFAULT else _SEE_VALUES


def _short_sentence(sentence: str) -> str:
    """Shorten a long sentence to the words before its first colon or semicolon."""
    if len(sentence) <= _LONGEST_SENTENCE:
        return sentence
    cuts = [index for mark in (": ", "; ") if (index := sentence.find(mark)) > 0]
    return f"{sentence[: min(cuts)]}." if cuts else sentence
