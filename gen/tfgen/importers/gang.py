"""Reader of the gang settings of a foreign job: the scheduler name, the labels of the pods, and the PodGroup."""

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
"""API group of a PodGroup -> scheduler that reads the PodGroup."""
_BY_SCHEDULER_NAME: Final[Mapping[str, Scheduler]] = {
    "volcano": "volcano",
    "kube-batch": "kube-batch",
    "scheduler-plugins-scheduler": "coscheduling",
}
"""schedulerName of the default installation of a gang scheduler -> name of the scheduler in job.yaml."""
_GROUP_KEYS: Final = (
    keys.GROUP_NAME,
    keys.POD_GROUP,
    "scheduling.volcano.sh/group-name",
    "pod-group.scheduling.sigs.k8s.io/name",
    "pod-group.scheduling.sigs.k8s.io/min-available",
    keys.TASK_SPEC,
)
"""Labels and annotations in which a pod names its PodGroup."""
_FIELDS: Final[Mapping[str, str]] = {
    "minAvailable": "minAvailable",
    "minMember": "minAvailable",
    "minResources": "minResources",
    "priorityClass": "priorityClassName",
    "priorityClassName": "priorityClassName",
    "queue": "queue",
    "scheduleTimeoutSeconds": "scheduleTimeoutSeconds",
}
"""Field of a PodGroup, or of an operator's scheduling policy -> equivalent key of ``gang``."""


_SUPPORTED_KEYS: Final[Mapping[Scheduler, tuple[str, ...]]] = {
    "volcano": ("minAvailable", "minResources", "priorityClassName", "queue"),
    "kube-batch": ("minAvailable", "priorityClassName", "queue"),
    "coscheduling": ("minAvailable", "minResources", "scheduleTimeoutSeconds"),
}
"""Scheduler -> keys of ``gang`` that the scheduler supports."""


class TemplateWithoutGroup(Record):
    """A pod template, and the labels and annotations that `remove_group_keys` removed from the template.

    Attributes:
        template: the pod template without the removed labels and annotations.
        group_keys: the removed labels and annotations, which named the PodGroup of the pods.
    """

    template: Part
    group_keys: tuple[Part, ...]


class Gang(Record):
    """Gang settings of a foreign job, converted to the fields of job.yaml.

    Attributes:
        data: the keys of ``gang``; None for a job without a gang.
        scheduler_name: the schedulerName for podTemplate, if the scheduler does not support gangs.
        has_group: whether the imported files contain the PodGroup.
    """

    data: Mapping[str, Any] | None
    scheduler_name: str | None = None
    has_group: bool = False


def remove_group_keys(template: Part) -> TemplateWithoutGroup:
    """Remove from a pod template the labels and annotations that bind a pod to its PodGroup."""
    group_keys: list[Part] = []
    for section in ("annotations", "labels"):
        mapping = template.get("metadata", section)
        if mapping is None:
            continue
        names = [key for key, _ in mapping.entries() if key in _GROUP_KEYS]
        group_keys += [mapping.value[key] for key in names]
        if names:
            template = template.with_part(("metadata", section), mapping.without(*names))
    return TemplateWithoutGroup(template, tuple(group_keys))


class Sources(Record):
    """The parts of a foreign job that describe its gang.

    Attributes:
        job: the name of the foreign job. A PodGroup that an operator creates has the same name.
        group_keys: the labels and annotations that bind pods to a PodGroup.
        schedulers: the values of schedulerName in the pod templates.
        policy: the scheduling policy in an operator's custom object, for example in a TFJob.
        companions: all other objects in the imported files.
        tasks: the number of pods without the evaluator, and the number of pods with the evaluator. A minAvailable that
            is equal to either number means all pods.
    """

    job: str
    group_keys: Sequence[Part]
    schedulers: Sequence[Part]
    policy: Part | None
    companions: Iterable[Part]
    tasks: Sequence[int]


def read(sources: Sources, report: ImportReport) -> Gang:
    """Convert the gang settings in the parts of a foreign job to the fields of job.yaml."""
    group_keys, schedulers, policy, tasks = sources.group_keys, sources.schedulers, sources.policy, sources.tasks
    names = {sources.job, *(part.as_text for part in group_keys)} - {""}
    groups = (item for item in sources.companions if kind(item) == "PodGroup" and api_group(item) in _BY_GROUP)
    group = next((item for item in groups if name(item) in names), None)
    scheduler_name = schedulers[0].as_text if schedulers else None
    pod_scheduler = _BY_SCHEDULER_NAME.get(scheduler_name or "")
    if group is None and policy is None and pod_scheduler is None:
        for part in group_keys:
            why = (
                "the files do not contain the PodGroup of the pods, and the pods select no gang scheduler; import the "
                "file of the PodGroup as well, or set spec.gang in the imported job"
            )
            report.drop(part, why)
        for part in schedulers:
            report.carry(part, "spec", "podTemplate", "spec", "schedulerName")
        return Gang(None, scheduler_name)
    # By default, an operator applies its scheduling policy with Volcano.
    scheduler: Scheduler = _BY_GROUP[api_group(group)] if group else pod_scheduler or "volcano"
    data: dict[str, Any] = {"scheduler": scheduler}
    for part in group_keys:
        report.carry(part, "spec", "gang", why="tfgen sets the label that binds the pods to the PodGroup of the run")
    for part in schedulers:
        report.carry(part, "spec", "gang", "scheduler")
    if scheduler_name is not None and pod_scheduler is None:
        data["schedulerName"] = scheduler_name
    if group:
        report.carry(
            group.value["metadata"], "spec", "gang", why="the PodGroup that tfgen creates has the name of the run"
        )
        for key in ("apiVersion", "kind"):
            report.mark_read(group.value[key])
        _fields(group.get("spec"), data, tasks, report)
    _fields(policy, data, tasks, report)
    return Gang(data, has_group=group is not None)


def _fields(part: Part | None, data: dict[str, Any], tasks: Sequence[int], report: ImportReport) -> None:
    for key, field in part.entries() if part else ():
        if _FIELDS.get(key) not in _SUPPORTED_KEYS[data["scheduler"]]:
            report.drop(field, f"spec.gang has no equivalent of {key} for the scheduler {data['scheduler']}")
        elif key in ("minAvailable", "minMember") and field.value in tasks:
            report.carry(field, "spec", "gang", why="by default, a gang consists of all tasks")
        elif _FIELDS[key] == "queue" and field.value == "default":
            report.carry(field, "spec", "gang", why="the queue named default is the default of the scheduler")
        else:
            data.setdefault(_FIELDS[key], field.data)
            report.carry(field, "spec", "gang", _FIELDS[key])
