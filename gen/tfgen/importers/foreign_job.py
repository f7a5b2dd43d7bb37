"""Foreign job, a job in the format of another tool, after a reader has converted its roles to the fields of job.yaml.

Each role has a complete set of fields. Later, `job_data` moves the fields that all roles share to the job.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.importers.import_report import ImportReport
from tfgen.importers.part import Part
from tfgen.importers.pod_template import PodData, join_pull_secrets
from tfgen.job.training_job import RoleName, Strategy
from tfgen.record import EMPTY, Record
from tfgen.schema.kinds import CompletionBy
from tfgen.schema.messages import found_words
from tfgen.words import either

ROLES: Final[Path] = ("spec", "roles")


class ForeignRole(Record):
    """Role of a foreign job.

    Attributes:
        part: the part of the source that describes the role.
        replicas: the number of tasks.
        pod: the converted pod template of the tasks.
        fields: the fields of the role that do not come from the pod template.
    """

    part: Part
    replicas: int
    pod: PodData
    fields: Mapping[str, Any] = EMPTY


class ForeignJob(Record):
    """Job in the format of another tool.

    Attributes:
        format: the usual name of the format, such as TFJob.
        root: the object that the reader has read. For hand-written tasks, one object that combines all of the tasks.
        name: the name of the job.
        namespace: the namespace of the job; None if the source does not set a namespace.
        roles: the roles of the job by their names in job.yaml, such as "worker".
        strategy: the strategy of the job.
        spec: the fields of ``spec`` that belong to the whole job, without the strategy.
        comments: comments for job.yaml about decisions of the import, by the path of the field below the comment.
            Example: {("spec", "strategy"): "..."}.
        tensorboard_storage: the volumes that TensorBoard mounts, by name.
        has_pod_templates: whether the source has pod templates. If False, as for a command of ElasticDL, the imported
            job gets the default user and rights.
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
    """Return the number of tasks from the field `replicas` of `part`. Without the field, the number is 1.

    For the value 0 or an invalid value, return None.
    """
    replicas = part.get("replicas")
    if replicas is None:
        return 1
    number = replicas.value
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        words = found_words(number, replicas.text or "")
        report.refuse(replicas, f"found {words}, expected a number of tasks")
        return None
    if number == 0:
        report.drop(part, "replicas is 0, so the job does not get this role")
        return None
    if number > 1 and role in ("chief", "evaluator"):
        report.refuse(replicas, f"found {number} tasks of {role}, expected at most 1; set replicas to 1")
        return None
    report.carry(replicas, *ROLES, role, *(["replicas"] if role in ("ps", "worker") else []))
    return number


class TrainingPlan(Record):
    """Strategy of an imported job, the roles that the strategy uses, and the tasks whose exit completes the job.

    Attributes:
        strategy: the strategy.
        roles: the roles by their names in job.yaml, such as "worker".
        completion_by: the value of ``completion.by``, which names the tasks whose exit completes the job.
        comment: the comment above ``spec.strategy`` in job.yaml.
    """

    strategy: Strategy
    roles: Mapping[RoleName, ForeignRole]
    completion_by: CompletionBy
    comment: str = ""


def training_plan(
    roles: Mapping[RoleName, ForeignRole],
    completion_by: CompletionBy,
    report: ImportReport,
    single_task_strategy: Strategy = "Single",
) -> TrainingPlan:
    """Choose the strategy of an imported job from its roles, because foreign jobs do not name a strategy.

    Args:
        roles: the roles that have tasks, by their names in job.yaml; at least one role.
        completion_by: the value of ``completion.by`` for a job without a chief.
        report: the import report, to which this function adds the changes.
        single_task_strategy: the strategy of a job with a single task.
    """
    if "ps" in roles:
        return TrainingPlan("ParameterServer", roles, "Chief" if "chief" in roles else completion_by)
    tasks = sum(role.replicas for role in roles.values())
    if tasks == 1 and single_task_strategy == "Single":
        (name, role), *_ = roles.items()
        if name != "chief":
            report.move_targets({(*ROLES, name): (*ROLES, "chief")})
            report.note(role.part, "the only task of the job becomes the chief, and gets no TF_CONFIG")
        return TrainingPlan("Single", {"chief": role}, "Chief", "The job has a single task, which gets no TF_CONFIG.")
    if "chief" not in roles:
        return TrainingPlan(
            "MultiWorkerMirrored",
            roles,
            completion_by,
            "The job has no ps, so each worker has a copy of all variables.",
        )
    return _mirrored_with_chief(roles, report)


def _mirrored_with_chief(roles: Mapping[RoleName, ForeignRole], report: ImportReport) -> TrainingPlan:
    """Return the `TrainingPlan` of a job that has a chief and no ps. The chief becomes worker 0.

    In a cluster without a chief, MultiWorkerMirroredStrategy uses worker 0 as the chief:
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
                f"the chief and the workers differ in {either(different, 'and')}; without ps, the chief becomes "
                "worker 0, and all workers must be equal; make the chief equal to the workers, or add ps",
            )
        report.move_targets({(*ROLES, "chief"): (*ROLES, "worker")})
    report.note(chief.part, "the job has no ps, so the chief becomes worker 0")
    tasks = worker or chief
    pod = tasks.pod.replaced(pull_secrets=join_pull_secrets([chief.pod, tasks.pod], report))
    workers = tasks.replaced(pod=pod, replicas=chief.replicas + (worker.replicas if worker else 0))
    mirrored_roles: dict[RoleName, ForeignRole] = {"worker": workers}
    if "evaluator" in roles:
        mirrored_roles["evaluator"] = roles["evaluator"]
    comment = "The job has no ps, so each worker has a copy of all variables. Worker 0 was the chief."
    return TrainingPlan("MultiWorkerMirrored", mirrored_roles, "Worker0", comment)


def _differences(chief: ForeignRole, worker: ForeignRole) -> list[str]:
    """Return the names of the fields in which the pod of the chief differs from the pods of the workers."""
    pairs = (
        (chief.pod.role, worker.pod.role),
        ({"storage": chief.pod.storage}, {"storage": worker.pod.storage}),
    )
    return [key for a, b in pairs for key in dict.fromkeys((*a, *b)) if a.get(key) != b.get(key)]
