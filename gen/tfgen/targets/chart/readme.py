"""Writes the texts of a chart for people: ``NOTES.txt``, which Helm prints after an installation, and ``README.md``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from tfgen.graph import naming
from tfgen.graph.holes import ChartOnly, Node, Text, When
from tfgen.graph.naming import value
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.training_job import Scheduler, Structure, TrainingJob
from tfgen.kubernetes import keys
from tfgen.places import CHARTS
from tfgen.schema import file as schema_file
from tfgen.schema import tunables
from tfgen.schema.kinds import WorkloadKind
from tfgen.schema.tunables import ValuesPath, chart_values
from tfgen.schema.values_schema import ValuesForm, ValuesPart, once_a_form

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
