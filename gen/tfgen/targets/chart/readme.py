"""``README.md`` of a chart: how it is installed, upgraded and run again, and each of its values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from tfgen.job.training_job import Scheduler, Structure, TrainingJob
from tfgen.places import CHARTS
from tfgen.schema import file as schema_file
from tfgen.schema import tunables
from tfgen.schema.chart_values import chart_values
from tfgen.schema.tunables import ValuesPath
from tfgen.schema.values_form import ValuesForm, ValuesText, once_a_form
from tfgen.schema.workload_kinds.facts import WorkloadKind
from tfgen.targets.chart.chart_yaml import KUBE_LEAST
from tfgen.targets.chart.notes import upgrade

_LONGEST_DEFAULT: Final = 50
_LONGEST_SENTENCE: Final = 90
_OF_KIND: Final[Mapping[WorkloadKind, str]] = {
    "TFJob": "an operator of TFJobs",
    "VolcanoJob": "Volcano",
    "JobSet": "JobSet's controller",
}
_OF_GANG: Final[Mapping[Scheduler, str]] = {
    "volcano": "Volcano",
    "kube-batch": "kube-batch",
    "coscheduling": "a scheduler with the plugin Coscheduling",
    "kueue": "Kueue",
}
_ELSEWHERE: Final = "see values.yaml"


_json: Final = json.JSONEncoder(ensure_ascii=False).encode


def readme(job: TrainingJob, form: ValuesForm) -> str:
    """The file's text."""
    chart = f"{CHARTS}/{job.name}"
    first = next((form for form in job.environments if form.enabled), None)
    namespace = first.namespace if first else job.namespace
    to_namespace = f" --namespace {namespace}" if namespace else ""
    here = f" -f {chart}/values-{first.name}.yaml{to_namespace}" if first else to_namespace
    of_chart = chart_values(form.environments)
    own = (f'| `{name}` | string | `` "" `` | {node["description"]} |' for name, node in of_chart.items())
    values = (row.text(job.values) for row in _rows(form))
    rows = "\n".join([*own, *values])
    return f"""\
# {job.name}

The distributed TensorFlow job {job.name} as a Helm chart. tfgen wrote it from a `job.yaml`: change that, not this.

    helm install {job.name} {chart}{here}

It needs Kubernetes {KUBE_LEAST} or newer{_operators(job.structure)}, and Helm 3.14 or newer.

With a different release name the objects have the name RELEASE-{job.name}, so several releases fit into a namespace.
`nameOverride` and `fullnameOverride` change the names.

{upgrade(job.structure)}
A new run has a new name:

    helm upgrade {job.name} {chart} --reset-then-reuse-values --set run=2{to_namespace}

Claims that the chart makes are kept when the release is uninstalled.

## Values

`values.yaml` says more of each. What a role has not said for itself, it has from the job.

`run`, `env`, `args`, `command`, labels, annotations and node selectors accept integers and booleans as well as text:
`--set run=2,env.STEPS=1000000`. In a values file, put a text such as "007" or "1.0" in quotes, because YAML drops the
zeros of a number. The chart refuses null for a value that it needs: to set an empty list, write
`--set-json 'tolerations=[]'`.

| Value | Type | Default | What it is |
|---|---|---|---|
{rows}
"""


def _operators(structure: Structure) -> str:
    """What must be in the cluster for the job's objects to be more than data."""
    names = [_OF_KIND.get(structure.kind, ""), _OF_GANG.get(structure.gang or "kubernetes", "")]
    return "".join(f", {name}" for name in dict.fromkeys(names) if name)


@once_a_form
def _rows(form: ValuesForm) -> tuple[ValuesText, ...]:
    """A row for each value; one for all roles that have it."""
    paths: dict[str, list[ValuesPath]] = {}
    for path in form.paths:
        name = ".".join(("roles", "ROLE", *path[2:]) if path[0] == "roles" else path)
        paths.setdefault(name, []).append(path)
    roles = {path[1] for path in form.paths if path[0] == "roles"}
    return tuple(_row(name, alike, is_of_all=len(alike) == len(roles)) for name, alike in paths.items())


def _row(name: str, paths: Sequence[ValuesPath], *, is_of_all: bool) -> ValuesText:
    tunable = tunables.at(paths[0])
    what_it_is = _brief(schema_file.first_sentence(tunable.schema))
    start, end = f"| {_cell(f'`{name}`')} | {_cell(tunable.type)} | ", f" | {_cell(what_it_is)} |"
    return ValuesText.of(paths, start, partial(_default, paths, is_of_all=is_of_all), end)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _default(paths: Sequence[ValuesPath], values: Sequence[Any], *, is_of_all: bool) -> str:
    """The cell of a default: what each role has, or all of them alike."""
    defaults = [_shown(value) for value in values]
    if paths[0][0] != "roles" or (is_of_all and len({*defaults}) == 1):
        return _cell(defaults[0])
    text = ", ".join(f"{path[1]} {default}" for path, default in zip(paths, defaults, strict=True))
    return _cell(text) if len(text) <= _LONGEST_DEFAULT else _ELSEWHERE


def _shown(value: Any) -> str:
    text = _json(value)
    return f"`` {text} ``" if len(text) <= _LONGEST_DEFAULT else _ELSEWHERE


def _brief(sentence: str) -> str:
    """The sentence, without what explains it where it is long."""
    if len(sentence) <= _LONGEST_SENTENCE:
        return sentence
    cuts = [at for mark in (": ", "; ") if (at := sentence.find(mark)) > 0]
    return f"{sentence[: min(cuts)]}." if cuts else sentence
