"""What a foreign job says of its gang: its pods' scheduler, the group that they name, and the PodGroup beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tfgen.importers.import_report import ImportReport
from tfgen.importers.objects import api_group, kind, name
from tfgen.importers.part import Part
from tfgen.job.training_job import Scheduler
from tfgen.kubernetes import keys
from tfgen.record import Record

_BY_GROUP: Final[Mapping[str, Scheduler]] = {
    "scheduling.volcano.sh": "volcano",
    "scheduling.incubator.k8s.io": "kube-batch",
    "scheduling.x-k8s.io": "coscheduling",
    "scheduling.sigs.k8s.io": "coscheduling",
}
"""The scheduler of a PodGroup, by its API group."""
_USUAL: Final[Mapping[str, Scheduler]] = {
    "volcano": "volcano",
    "kube-batch": "kube-batch",
    "scheduler-plugins-scheduler": "coscheduling",
}
"""The names that gang schedulers are usually installed under."""
_BINDINGS: Final = (
    keys.GROUP_NAME,
    keys.POD_GROUP,
    "scheduling.volcano.sh/group-name",
    "pod-group.scheduling.sigs.k8s.io/name",
    "pod-group.scheduling.sigs.k8s.io/min-available",
    keys.TASK_SPEC,
)
"""Labels and annotations by which a pod names its group."""
_FIELDS: Final[Mapping[str, str]] = {
    "minAvailable": "minAvailable",
    "minMember": "minAvailable",
    "minResources": "minResources",
    "priorityClass": "priorityClassName",
    "priorityClassName": "priorityClassName",
    "queue": "queue",
    "scheduleTimeoutSeconds": "scheduleTimeoutSeconds",
}
"""Fields of a PodGroup, and of an operator's scheduling policy, by the key of ``gang`` that says the same."""


_KNOWS: Final[Mapping[Scheduler, tuple[str, ...]]] = {
    "volcano": ("minAvailable", "minResources", "priorityClassName", "queue"),
    "kube-batch": ("minAvailable", "priorityClassName", "queue"),
    "coscheduling": ("minAvailable", "minResources", "scheduleTimeoutSeconds"),
}
"""The keys of ``gang`` that a scheduler has a use for."""


class Binding(Record):
    """What binds a pod to its group: the template without it, and where it stands."""

    template: Part
    parts: tuple[Part, ...]


class Gang(Record):
    """A gang as job.yaml has it.

    Attributes:
        data: the keys of ``gang``; none where there is no gang.
        scheduler_name: a scheduler that is no gang's, for podTemplate.
        has_group: whether its PodGroup stands beside the job.
    """

    data: Mapping[str, Any] | None
    scheduler_name: str | None = None
    has_group: bool = False


def unbind(template: Part) -> Binding:
    """Take off a pod template what binds it to a group."""
    parts: list[Part] = []
    for where in ("annotations", "labels"):
        mapping = template.get("metadata", where)
        if mapping is None:
            continue
        bound = [key for key, _ in mapping.entries() if key in _BINDINGS]
        parts += [mapping.value[key] for key in bound]
        if bound:
            template = template.with_part(("metadata", where), mapping.without(*bound))
    return Binding(template, tuple(parts))


class Sources(Record):
    """The parts of a foreign job that describe its gang.

    Attributes:
        job: the name of the foreign job, which operators give to its group.
        bindings: the labels and annotations that bind pods to a group.
        schedulers: the names of schedulers in the pod templates.
        policy: the scheduling policy of an operator.
        others: the objects beside the job.
        tasks: numbers of pods that mean all pods.
    """

    job: str
    bindings: Sequence[Part]
    schedulers: Sequence[Part]
    policy: Part | None
    companions: Iterable[Part]
    tasks: Sequence[int]


def read(sources: Sources, report: ImportReport) -> Gang:
    """Return the gang of a job."""
    bindings, schedulers, policy, tasks = sources.bindings, sources.schedulers, sources.policy, sources.tasks
    names = {sources.job, *(part.as_text for part in bindings)} - {""}
    groups = (item for item in sources.companions if kind(item) == "PodGroup" and api_group(item) in _BY_GROUP)
    group = next((item for item in groups if name(item) in names), None)
    named = schedulers[0] if schedulers else None
    usual = _USUAL.get(named.as_text) if named else None
    if group is None and policy is None and usual is None:
        for part in bindings:
            report.drop(part, "the pods' scheduler is no gang scheduler, and no PodGroup stands here; see spec.gang")
        for part in schedulers:
            report.carry(part, "spec", "podTemplate", "spec", "schedulerName")
        return Gang(None, named.as_text if named else None)
    scheduler: Scheduler = _BY_GROUP[api_group(group)] if group else usual or "volcano"
    data: dict[str, Any] = {"scheduler": scheduler}
    for part in bindings:
        report.carry(part, "spec", "gang", why="tfgen binds the pods to their group")
    for part in schedulers:
        report.carry(part, "spec", "gang", "scheduler")
    if named and usual is None:
        data["schedulerName"] = named.as_text
    if group:
        report.carry(group.value["metadata"], "spec", "gang", why="the PodGroup has the run's name")
        for key in ("apiVersion", "kind"):
            report.mark_read(group.value[key])
        _fields(group.get("spec"), data, tasks, report)
    _fields(policy, data, tasks, report)
    return Gang(data, has_group=group is not None)


def _fields(part: Part | None, data: dict[str, Any], tasks: Sequence[int], report: ImportReport) -> None:
    for key, field in part.entries() if part else ():
        if _FIELDS.get(key) not in _KNOWS[data["scheduler"]]:
            report.drop(field, f"a gang of {data['scheduler']} has no {key}; see spec.gang")
        elif key in ("minAvailable", "minMember") and field.value in tasks:
            report.carry(field, "spec", "gang", why="all tasks, as is the default")
        elif _FIELDS[key] == "queue" and field.value == "default":
            report.carry(field, "spec", "gang", why="the scheduler's default")
        else:
            data.setdefault(_FIELDS[key], field.data)
            report.carry(field, "spec", "gang", _FIELDS[key])
