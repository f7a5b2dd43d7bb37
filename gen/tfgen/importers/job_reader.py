"""Functions and field tables that the readers of all foreign job formats share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from tfgen.data_path import Path
from tfgen.importers import pod_template
from tfgen.importers.fields import FieldReader, Fields, carried, changed, dropped
from tfgen.importers.foreign_job import ROLES, ForeignJob, TrainingPlan
from tfgen.importers.import_report import ImportReport
from tfgen.importers.objects import LAST_APPLIED, mark_server_fields_read
from tfgen.importers.options import Options
from tfgen.importers.part import Part
from tfgen.importers.task_command import TaskCommand, change_reason, legacy_keys, read_command
from tfgen.job.training_job import ROLE_NAMES, RoleName
from tfgen.kubernetes import keys
from tfgen.schema.kinds import WorkloadKind
from tfgen.words import either

ROLE_WORDS: Final[Mapping[str, RoleName]] = {
    **dict.fromkeys(("chief", "master"), "chief"),
    **dict.fromkeys(("ps", "pserver", "parameter-server", "parameterserver"), "ps"),
    **dict.fromkeys(("worker", "workers"), "worker"),
    **dict.fromkeys(("evaluator", "eval"), "evaluator"),
}
"""Usual name of a task, such as `master`, or task type in TF_CONFIG -> role."""

ROLE_LIST: Final = either(ROLE_NAMES)
"""The names of all roles as text, for messages."""
RESTARTS: Final = "tfgen restarts a failed task up to spec.retries times"
_METADATA: Final[Fields] = {
    "name": carried("metadata", "name"),
    "namespace": carried("metadata", "namespace"),
    "generateName": changed(
        "metadata", "name", why="tfgen generates no names; the job has a fixed name, and each run of the job has a name"
    ),
}
WHY_DEADLINE: Final = (
    "spec.deadline limits the run time of the task that ends the job, and does not count time in a queue"
)
AS_PODS: Final[Fields] = {
    "activeDeadlineSeconds": changed("spec", "deadline", why=WHY_DEADLINE),
    "ttlSecondsAfterFinished": dropped(
        "a GitOps tool would create a deleted job again; to retire the job, set enabled: false"
    ),
}
"""Conversion of the fields that several formats share, for an import that changes the workload kind."""
AS_WORKLOAD: Final[Fields] = {key: carried("spec", "workload", key) for key in ("suspend", "ttlSecondsAfterFinished")}
"""Conversion of the fields that several formats share, for an import that keeps the workload kind."""


class JobReader(FieldReader):
    """Reader of a foreign job. Each format has a subclass."""

    format: ClassVar[str]
    kind: ClassVar[WorkloadKind]
    kinds_for_kueue: ClassVar[str] = ""
    """The workload kinds for --workload with which Kueue can queue the job, as text for messages.

    If the text is empty, this reader handles the queue label of Kueue as any other label.
    """

    def __init__(self, item: Part, job: Part, options: Options, report: ImportReport) -> None:
        super().__init__(report)
        self.item, self.job, self.options = item, job, options
        self.comments: dict[Path, str] = {}
        self.commands: dict[str, TaskCommand] = {}

    @property
    def keeps_kind(self) -> bool:
        """Return whether the imported job has the same workload kind as the foreign job."""
        return self.options.kind == self.kind

    @property
    def name(self) -> str:
        """The name of the foreign job."""
        return self.job.text_at("metadata", "name") or self.job.text_at("metadata", "generateName").rstrip("-")

    def metadata(self) -> None:
        """Read the metadata of the foreign job."""
        mark_server_fields_read(self.item, self.report)
        readers = dict.fromkeys(("labels", "annotations"), self._labels_or_annotations)
        self.fields(self.job.get("metadata"), {**_METADATA, **readers})

    def _labels_or_annotations(self, key: str, part: Part) -> None:
        queue = part.get(keys.QUEUE)
        if queue and self.options.kind in ("TFJob", "JobSet") and self.kinds_for_kueue:
            self.set_value({"scheduler": "kueue", "queue": queue.as_text}, "spec", "gang")
            self.report.carry(queue, "spec", "gang", "queue")
        elif queue and self.kinds_for_kueue:
            why = (
                "Kueue can queue the job only if the job is a single object; "
                f"import with --workload {self.kinds_for_kueue}"
            )
            self.report.drop(queue, why)
        part = part.without(LAST_APPLIED, *([keys.QUEUE] if self.kinds_for_kueue else []))
        if entries := pod_template.user_keys(part, ("spec", key), self.report):
            self.set_value(entries, "spec", key)

    def foreign_job(self, plan: TrainingPlan, **fields: Any) -> ForeignJob:
        """Return the `ForeignJob`, with the strategy and the roles of `plan`, and with the data of this reader.

        `fields` sets the other attributes of the `ForeignJob`, such as `tensorboard_storage`.
        """
        self.spec.update(legacy_keys(self.commands.values()))
        if port := next((command.port for command in self.commands.values() if command.port), None):
            self.spec.setdefault("port", port)
        if plan.comment:
            self.comments["spec", "strategy"] = plan.comment
        return ForeignJob(
            format=self.format,
            root=self.item,
            name=self.options.name or self.name,
            namespace=self.job.text_at("metadata", "namespace") or None,
            roles=plan.roles,
            strategy=plan.strategy,
            spec=self.spec,
            comments=self.comments,
            **fields,
        )


def command_of(owner: Part, *path: str) -> TaskCommand:
    """Return the command of the main container of an object. `path` is the path of the pod template in the object."""
    main = pod_template.main_container(owner.get(*path) or owner)
    return read_command(main) if main else TaskCommand()


def read_pod(
    template: Part, role: RoleName, command: TaskCommand, report: ImportReport, port_names: Sequence[str] = ()
) -> pod_template.PodData | None:
    """Convert a pod template to the fields of a role. Return None if the import report has problems.

    The result omits the restart policy and the TensorFlow cluster configuration.

    Args:
        template: the pod template.
        role: the role of the pods.
        command: the command of the main container.
        report: the import report, which gets the outcome of each line.
        port_names: the names that the port of TensorFlow may have.
    """
    main = pod_template.main_container(template)
    for key in ("command", "args"):
        if command.program.command is not None and main and (part := main.get(key)):
            report.change(part, *ROLES, role, "command", why=change_reason(command))
    return pod_template.translate(
        template.without_path(pod_template.RESTART_POLICY),
        role,
        report,
        ports=(*port_names, command.port or pod_template.PORT),
        program=command.program,
    )


def by_role(parts: Iterable[Part], role_of: Callable[[Part], RoleName | None]) -> dict[str, Part]:
    """Return the given tasks as a mapping by role. Example: {"ps": task, "worker": task}.

    A task without a role has its name as key, or its index in `parts` if the task has no name. If two tasks have the
    same key, the key of the second task ends with the index in `parts`, such as `worker-1`.

    Args:
        parts: the tasks.
        role_of: a function that takes a task, and returns the role or None.
    """
    tasks: dict[str, Part] = {}
    for position, part in enumerate(parts):
        key = role_of(part) or part.text_at("name") or str(position)
        tasks[key if key not in tasks else f"{key}-{position}"] = part
    return tasks
