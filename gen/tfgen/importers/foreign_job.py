"""The form between a foreign job and job.yaml: its roles in tfgen's words, before what they share is said once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.importers.import_report import ImportReport
from tfgen.importers.part import Part
from tfgen.importers.pod_template import PodData, join_pull_secrets
from tfgen.job.training_job import RoleName, Strategy
from tfgen.record import EMPTY, Record
from tfgen.schema.messages import found_words
from tfgen.schema.workload_kinds.facts import CompletionBy
from tfgen.words import either

ROLES: Final[Path] = ("spec", "roles")


class ForeignRole(Record):
    """The tasks of one role.

    Attributes:
        part: where the role stands in the source.
        replicas: how many tasks it has.
        pod: their pod.
        own: what the form says of the role besides, as keys of a role.
    """

    part: Part
    replicas: int
    pod: PodData
    own: Mapping[str, Any] = EMPTY


class ForeignJob(Record):
    """A job of another form.

    Attributes:
        form: what it is, as people call it: TFJob.
        root: the object that it was read from.
        name: its name.
        namespace: its namespace, or none.
        roles: by tfgen's names.
        strategy: how TensorFlow shares the work.
        spec: what the form says of the job as a whole, as keys of ``spec``.
        comments: what was decided, by the path in the job that it is about.
        tensorboard_storage: the volumes that TensorBoard mounts, by name.
        has_own_pods: whether its pods are made of templates, which say whom they run as.
    """

    format: str
    root: Part
    name: str
    namespace: str | None
    roles: Mapping[RoleName, ForeignRole]
    strategy: Strategy
    spec: Mapping[str, Any]
    comments: Mapping[Path, str]
    tensorboard_storage: Mapping[str, Any] = EMPTY
    has_pod_templates: bool = True


def number_of_tasks(part: Part, role: RoleName, report: ImportReport) -> int | None:
    """How many tasks the ``replicas`` of a role's part say; none for no task, or for what is no number of them."""
    replicas = part.get("replicas")
    if replicas is None:
        return 1
    number = replicas.value
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        words = found_words(number, replicas.text or "")
        report.refuse(replicas, f"found {words}, expected a number of tasks")
        return None
    if number == 0:
        report.drop(part, "it has no tasks")
        return None
    if number > 1 and role in ("chief", "evaluator"):
        report.refuse(replicas, f"a job has one {role}, not {number}")
        return None
    report.carry(replicas, *ROLES, role, *(["replicas"] if role in ("ps", "worker") else []))
    return number


class TrainingPlan(Record):
    """The strategy of a job, its roles as that strategy has them, and whose end ends it."""

    strategy: Strategy
    roles: Mapping[RoleName, ForeignRole]
    ends: CompletionBy
    comment: str = ""


def training_plan(
    roles: Mapping[RoleName, ForeignRole], ends: CompletionBy, report: ImportReport, alone: Strategy = "Single"
) -> TrainingPlan:
    """What a job trains by, which no operator asks and which its roles tell.

    Args:
        roles: those that have tasks; at least one.
        ends: whose end ends a job without a chief.
        report: what is changed.
        alone: the strategy of one task.
    """
    if "ps" in roles:
        return TrainingPlan("ParameterServer", roles, "Chief" if "chief" in roles else ends)
    tasks = sum(role.replicas for role in roles.values())
    if tasks == 1 and alone == "Single":
        (name, role), *_ = roles.items()
        if name != "chief":
            report.move_targets({(*ROLES, name): (*ROLES, "chief")})
            report.note(role.part, "one task is a chief, which is told of no cluster")
        return TrainingPlan("Single", {"chief": role}, "Chief", "One task alone: it is told of no cluster.")
    if "chief" not in roles:
        return TrainingPlan("MultiWorkerMirrored", roles, ends, "No ps: all workers hold all variables.")
    return _mirrored_with_chief(roles, report)


def _mirrored_with_chief(roles: Mapping[RoleName, ForeignRole], report: ImportReport) -> TrainingPlan:
    """MultiWorkerMirroredStrategy takes worker 0 for the chief, where there is none.

    https://www.tensorflow.org/tutorials/distribute/multi_worker_with_keras#set_up_the_cluster.
    """
    chief, worker = roles["chief"], roles.get("worker")
    if worker is None:
        report.move_targets({(*ROLES, "chief"): (*ROLES, "worker")})
    else:
        different = _differences(chief, worker)
        if different:
            report.refuse(
                chief.part,
                "without ps, the chief is worker 0 of MultiWorkerMirrored, whose tasks are all alike; it and the "
                f"workers differ in {either(different, 'and')}: make them alike, or add ps",
            )
        report.move_targets({(*ROLES, "chief"): (*ROLES, "worker")})
    report.note(chief.part, "without ps, the chief is worker 0")
    tasks = worker or chief
    pod = tasks.pod.replaced(pull_secrets=join_pull_secrets([chief.pod, tasks.pod], report))
    both = tasks.replaced(pod=pod, replicas=chief.replicas + (worker.replicas if worker else 0))
    now: dict[RoleName, ForeignRole] = {"worker": both}
    if "evaluator" in roles:
        now["evaluator"] = roles["evaluator"]
    comment = "No ps: all workers hold all variables, and worker 0 is what was the chief."
    return TrainingPlan("MultiWorkerMirrored", now, "Worker0", comment)


def _differences(one: ForeignRole, other: ForeignRole) -> list[str]:
    """In what two roles differ besides what their form says of them: worker 0 is as the other workers there."""
    pairs = (
        (one.pod.role, other.pod.role),
        ({"storage": one.pod.storage}, {"storage": other.pod.storage}),
    )
    return [key for a, b in pairs for key in dict.fromkeys((*a, *b)) if a.get(key) != b.get(key)]
