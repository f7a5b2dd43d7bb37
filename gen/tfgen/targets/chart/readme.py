"""``README.md`` of a chart: how it is installed, upgraded and run again, and each of its values."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.job.training_job import ROLE_NAMES, RoleName, Scheduler, Structure, TrainingJob
from tfgen.places import CHARTS
from tfgen.schema import file as schema_file
from tfgen.schema.chart_values import chart_values, told_environments
from tfgen.schema.tunables import Tunable, all_leaves, tunables
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


def readme(job: TrainingJob, spec: Mapping[str, Any]) -> str:
    """The file's text."""
    chart = f"{CHARTS}/{job.name}"
    here = next((f" -f {chart}/values-{form.name}.yaml" for form in job.environments if form.enabled), "")
    of_chart = chart_values(told_environments(spec))
    own = (f'| `{name}` | string | `` "" `` | {node["description"]} |' for name, node in of_chart.items())
    rows = "\n".join([*own, *_rows(tunables(spec), job.values)])
    return f"""\
# {job.name}

The distributed TensorFlow job {job.name} as a Helm chart. tfgen wrote it from a `job.yaml`: change that, not this.

    helm install {job.name} {chart}{here}

It needs Kubernetes {KUBE_LEAST} or newer{_operators(job.structure)}, and Helm 3.14 or newer.

Under another release name the objects are called RELEASE-{job.name}, so that several fit into one namespace.
`nameOverride` and `fullnameOverride` call them otherwise.

{upgrade(job.structure)}
A new run has a new name:

    helm upgrade {job.name} {chart} --reset-then-reuse-values --set-string run=2

Claims that the chart makes are kept when the release is uninstalled.

## Values

`values.yaml` says more of each. What a role has not said for itself, it has from the job.

| Value | Type | Default | What it is |
|---|---|---|---|
{rows}
"""


def _operators(structure: Structure) -> str:
    """What must be in the cluster for the job's objects to be more than data."""
    names = [_OF_KIND.get(structure.kind, ""), _OF_GANG.get(structure.gang or "kubernetes", "")]
    return "".join(f", {name}" for name in dict.fromkeys(names) if name)


def _rows(values: tuple[Tunable, ...], defaults: Mapping[str, Any]) -> Iterator[str]:
    """A row for each value; one for all roles that have it."""
    roles = [role for role in ROLE_NAMES if role in defaults["roles"]]
    shown: set[tuple[str, ...]] = set()
    for tunable in values:
        if tunable.path[0] != "roles":
            yield _row(".".join(tunable.path), tunable, _default(data_path.at(defaults, tunable.path)))
            continue
        key = tunable.path[2:]
        if key in shown:
            continue
        shown.add(key)
        own = {role: data_path.at(defaults["roles"][role], key) for role in roles}
        by_role = {role: _default(value) for role, value in own.items() if value is not None}
        yield _row(f"roles.ROLE.{'.'.join(key)}", tunable, _of_roles(by_role, len(roles)))


def _of_roles(by_role: Mapping[RoleName, str], roles: int) -> str:
    """What each role has, or all of them alike."""
    if len(by_role) == roles and len({*by_role.values()}) == 1:
        return next(iter(by_role.values()))
    text = ", ".join(f"{role} {default}" for role, default in by_role.items())
    return text if len(text) <= _LONGEST_DEFAULT else _ELSEWHERE


def _default(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return f"`` {text} ``" if len(text) <= _LONGEST_DEFAULT else _ELSEWHERE


def _row(name: str, tunable: Tunable, default: str) -> str:
    cells = (f"`{name}`", tunable.type, default, _what_it_is(tunable.path))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


@functools.cache
def _what_it_is(path: tuple[str, ...]) -> str:
    return _brief(schema_file.first_sentence(all_leaves()[path].tunable.schema))


def _brief(sentence: str) -> str:
    """The sentence, without what explains it where it is long."""
    if len(sentence) <= _LONGEST_SENTENCE:
        return sentence
    cuts = [at for mark in (": ", "; ") if (at := sentence.find(mark)) > 0]
    return f"{sentence[: min(cuts)]}." if cuts else sentence
