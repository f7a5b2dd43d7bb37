"""Foreign job, a job in the format of another tool, after a reader has converted its roles to the fields of job.yaml.

Each role has a complete set of fields. Later, `job_yaml` moves the fields that all roles share to the job. `JobReader`
is the base class of the readers of all formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from tfgen.data_path import Path
from tfgen.importers.part import POD_DEFAULTS, Part, api_group, api_version, kind, mapping, name, sequence
from tfgen.importers.pod import (
    PORT,
    RESTART_POLICY,
    PodData,
    Volumes,
    join_pull_secrets,
    main_container,
    translate,
    user_keys,
    valid_template,
    without_end_slash,
)
from tfgen.importers.table import PRESENT, TFGEN_DEFAULT, FieldReader, Fields, Notes, Options, carried, changed, dropped
from tfgen.importers.task_index import with_task_index
from tfgen.importers.tf_config import WHY_CLUSTER, TaskCommand, change_reason, config_texts, legacy_keys, read_command
from tfgen.job.training_job import ROLE_NAMES, RoleName, Scheduler, Strategy
from tfgen.kubernetes import keys
from tfgen.record import EMPTY, Record
from tfgen.schema import kinds
from tfgen.schema.kinds import CompletionBy, WorkloadKind
from tfgen.schema.messages import found_words
from tfgen.words import either

ROLES: Final[Path] = ("spec", "roles")


class OriginPod(Record):
    """A pod template of the source, with which the comparison compares the pods of the imported role.

    Attributes:
        template: the pod template.
        index: the index of the task; None if the template is for several tasks.
    """

    template: Part
    index: int | None = None


class ForeignRole(Record):
    """Role of a foreign job.

    Attributes:
        part: the part of the source that describes the role.
        replicas: the number of tasks.
        pod: the converted pod template of the tasks.
        pods: the pod templates of the source.
        fields: the fields of the role that do not come from the pod template.
    """

    part: Part
    replicas: int
    pod: PodData
    pods: Sequence[OriginPod] = ()
    fields: Mapping[str, Any] = EMPTY


class ForeignJob(Record):
    """Job in the format of another tool.

    Attributes:
        format: the usual name of the format, such as TFJob.
        roots: the objects that the reader has read; several for a hand-written job.
        notes: the notes of the reader.
        name: the name of the job.
        namespace: the namespace of the job; None if the source does not set a namespace.
        roles: the roles of the job by their names in job.yaml, such as "worker".
        strategy: the strategy of the job.
        spec: the fields of ``spec`` that belong to the whole job, without the strategy.
        comments: comments for job.yaml about decisions of the import, by the path of the field below the comment.
            Example: {("spec", "strategy"): "..."}.
        tensorboard_storage: the volumes that TensorBoard mounts, by name.
    """

    format: str
    roots: Sequence[Part]
    notes: Notes
    name: str
    namespace: str | None
    roles: Mapping[RoleName, ForeignRole]
    strategy: Strategy
    spec: Mapping[str, Any]
    comments: Mapping[Path, str]
    tensorboard_storage: Mapping[str, Any] = EMPTY

    @property
    def root(self) -> Part:
        """The first object that the reader has read."""
        return self.roots[0]


class TrainingPlan(Record):
    """Strategy of an imported job, the roles that the strategy uses, and the tasks whose exit completes the job.

    Attributes:
        strategy: the strategy.
        roles: the roles by their names in job.yaml, such as "worker".
        completion_by: the value of ``completion.by``, which names the tasks whose exit completes the job.
        comment: the comment above ``spec.strategy`` in job.yaml.
        why_end: the reason for which other tasks complete the imported job than the foreign job; usually empty.
    """

    strategy: Strategy
    roles: Mapping[RoleName, ForeignRole]
    completion_by: CompletionBy
    comment: str = ""
    why_end: str = ""


def training_plan(
    roles: Mapping[RoleName, ForeignRole],
    completion_by: CompletionBy,
    notes: Notes,
    single_task_strategy: Strategy = "Single",
) -> TrainingPlan:
    """Choose the strategy of an imported job from its roles, because foreign jobs do not name a strategy.

    Args:
        roles: the roles that have tasks, by their names in job.yaml; at least one role.
        completion_by: the value of ``completion.by`` for a job without a chief.
        notes: the notes of the import.
        single_task_strategy: the strategy of a job with a single task.
    """
    if "ps" in roles:
        return TrainingPlan("ParameterServer", roles, "Chief" if "chief" in roles else completion_by)
    tasks = sum(role.replicas for role in roles.values())
    if tasks == 1 and single_task_strategy == "Single":
        (name, role), *_ = roles.items()
        if name != "chief":
            notes.remark(role.part, "the only task of the job becomes the chief, and gets no TF_CONFIG")
        notes.rename_role(name, "chief")
        return TrainingPlan("Single", {"chief": role}, "Chief", "The job has a single task, which gets no TF_CONFIG.")
    if "chief" not in roles:
        return TrainingPlan(
            "MultiWorkerMirrored",
            roles,
            completion_by,
            "The job has no ps, so each worker has a copy of all variables.",
        )
    return _mirrored_with_chief(roles, notes)


def _mirrored_with_chief(roles: Mapping[RoleName, ForeignRole], notes: Notes) -> TrainingPlan:
    """Return the `TrainingPlan` of a job that has a chief and no ps. The chief becomes worker 0.

    In a cluster without a chief, MultiWorkerMirroredStrategy uses worker 0 as the chief:
    https://www.tensorflow.org/tutorials/distribute/multi_worker_with_keras#set_up_the_cluster.
    """
    chief, worker = roles["chief"], roles.get("worker")
    if worker and (different := _differences(chief, worker)):
        notes.refuse(
            chief.part,
            f"the chief and the workers differ in {either(different, 'and')}; without ps, the chief becomes "
            "worker 0, and all workers must be equal; make the chief equal to the workers, or add ps",
        )
    notes.remark(chief.part, "the job has no ps, so the chief becomes worker 0")
    tasks = worker or chief
    number = chief.replicas + (worker.replicas if worker else 0)
    port = tasks.pod.port.value if tasks.pod.port else PORT
    if chief.pod.port and chief.pod.port.value != port:
        notes.reason(chief.pod.port, "all workers listen on one port", "changed", port)
    pod = tasks.pod.replaced(pull_secrets=join_pull_secrets([chief.pod, tasks.pod]))
    workers = tasks.replaced(pod=pod, replicas=number, pods=(*chief.pods, *(worker.pods if worker else ())))
    mirrored_roles: dict[RoleName, ForeignRole] = {"worker": workers}
    if "evaluator" in roles:
        mirrored_roles["evaluator"] = roles["evaluator"]
    comment = "The job has no ps, so each worker has a copy of all variables. Worker 0 was the chief."
    notes.rename_role("chief", "worker")
    return TrainingPlan("MultiWorkerMirrored", mirrored_roles, "Worker0", comment)


def _differences(chief: ForeignRole, worker: ForeignRole) -> list[str]:
    """Return the names of the fields in which the pod of the chief differs from the pods of the workers."""
    pairs = ((chief.pod.role, worker.pod.role), ({"storage": chief.pod.storage}, {"storage": worker.pod.storage}))
    return [key for a, b in pairs for key in dict.fromkeys((*a, *b)) if a.get(key) != b.get(key)]


# -- the gang ----------------------------------------------------------------------------------------------------

_BY_GROUP: Final[Mapping[str, Scheduler]] = {
    "scheduling.volcano.sh": "volcano",
    "scheduling.incubator.k8s.io": "kube-batch",
    "scheduling.k8s.io": "kubernetes",
    "scheduling.x-k8s.io": "coscheduling",
    "scheduling.sigs.k8s.io": "koordinator",
    "scheduling.run.ai": "kai",
}
"""API group of a PodGroup -> scheduler that reads the PodGroup."""
COSCHEDULING: Final = "scheduler-plugins-scheduler"
BY_SCHEDULER_NAME: Final[Mapping[str, Scheduler]] = {
    "volcano": "volcano",
    "kube-batch": "kube-batch",
    COSCHEDULING: "coscheduling",
    "kai-scheduler": "kai",
    "koord-scheduler": "koordinator",
}
"""schedulerName of the default installation of a gang scheduler -> name of the scheduler in job.yaml."""
_GANG_FIELDS: Final[Mapping[str, str]] = {
    "disruption": "disruption",
    "minAvailable": "minAvailable",
    "minMember": "minAvailable",
    "minResources": "minResources",
    "networkTopology": "networkTopology",
    "priorityClass": "priorityClassName",
    "priorityClassName": "priorityClassName",
    "queue": "queue",
    "requiredTopology": "requiredTopology",
    "scheduleTimeoutSeconds": "scheduleTimeoutSeconds",
}
"""Field of a PodGroup, or of an operator's scheduling policy -> equivalent key of ``gang``."""
_WHY_DEFAULTS: Final[Mapping[str, str]] = {
    "minAvailable": "by default, a gang consists of all tasks",
    "queue": "the queue named default is the default of the scheduler",
}


def scheduler_of(gang: Mapping[str, Any]) -> str:
    """Return the schedulerName that the pods of a gang get; empty without a gang, or for a queue of Kueue."""
    names = {scheduler: scheduler_name for scheduler_name, scheduler in BY_SCHEDULER_NAME.items()}
    return str(gang.get("schedulerName") or names.get(gang.get("scheduler", ""), ""))


class Gang(Record):
    """Gang settings of a foreign job, converted to the fields of job.yaml.

    Attributes:
        data: the keys of ``gang``; empty for a job without a gang.
        has_group: whether the imported files contain the PodGroup.
    """

    data: Mapping[str, Any] = EMPTY
    has_group: bool = False


# -- the base class of the readers -----------------------------------------------------------------------------------

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
    "generateName": carried("metadata", "name"),
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

    def __init__(self, item: Part, job: Part, companions: Sequence[Part], options: Options, notes: Notes) -> None:
        super().__init__(notes)
        self.queue: Part | None = None
        self.item, self.job, self.companions, self.options = item, job, companions, options
        self.configs = config_texts(companions)
        self.comments: dict[Path, str] = {}
        self.commands: dict[str, TaskCommand] = {}
        self.board_storage: Mapping[str, Any] = EMPTY
        self.has_kubernetes_gang = False
        self.ends: list[Part] = []
        """The parts that name the tasks whose exit completes the job, as `completion.by` does."""

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
        readers = dict.fromkeys(("labels", "annotations"), self._labels_or_annotations)
        self.fields(self.job.get("metadata"), {**_METADATA, **readers})
        self.note_name(self.item)

    def note_name(self, item: Part) -> None:
        """Note the reason for which the job has another name than an object."""
        for key in ("name", "generateName"):
            if (part := item.get("metadata", key)) and self.options.name:
                self.notes.reason(part, "--name sets the name of the job", "changed", self.options.name)
            elif part and key == "generateName":
                why = "tfgen generates no names; the job has a fixed name, and each run of the job has a name"
                self.notes.reason(part, why, "changed", self.name)

    def _labels_or_annotations(self, key: str, part: Part) -> None:
        if key == "labels" and self.kinds_for_kueue:
            self.queue = part.get(keys.QUEUE)
            part = part.without(keys.QUEUE)
        if entries := user_keys(part, ("spec", key), self.notes):
            self.set_value(entries, "spec", key)

    def number_of_tasks(self, part: Part, role: RoleName) -> int | None:
        """Return the number of tasks from the field `replicas` of `part`. Without the field, the number is 1.

        For the value 0 or an invalid value, return None.
        """
        replicas = part.get("replicas")
        if replicas is None:
            return 1
        number = replicas.value
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            words = found_words(number, replicas.text or "")
            self.notes.refuse(replicas, f"found {words}, expected a number of tasks")
            return None
        if number == 0:
            self.notes.reason(part, "replicas is 0, so the job does not get this role")
            return None
        if number > 1 and role in ("chief", "evaluator"):
            self.notes.refuse(replicas, f"found {number} tasks of {role}, expected at most 1; set replicas to 1")
            return None
        self.notes.target(replicas, *ROLES, role, "replicas")
        return number

    def command_of(self, owner: Part, *path: str) -> TaskCommand:
        """Return the command of the main container of an object. `path` is the path of the pod template."""
        main = main_container(owner.get(*path) or owner)
        return read_command(main, self.configs) if main else TaskCommand()

    def read_pod(
        self, template: Part, role: RoleName, command: TaskCommand, port_names: Sequence[str] = ()
    ) -> PodData | None:
        """Convert a pod template to the fields of a role. Return None if the import report has problems.

        The result omits the restart policy and the TensorFlow cluster configuration.

        Args:
            template: the pod template.
            role: the role of the pods.
            command: the command of the main container.
            port_names: the names that the port of TensorFlow may have.
        """
        template, board = split_board(template)
        main = main_container(template)
        for key in ("command", "args"):
            new = getattr(command.program, key)
            if command.program.command is not None and main and (part := main.get(key)):
                self.notes.target(part, *ROLES, role, "command")
                if part.texts_at() != list(new or ()):
                    self.notes.reason(part, change_reason(command), "changed", list(new or ()))
        if command.sources and main:
            for source in command.sources:
                self.notes.reason(source, WHY_CLUSTER, is_quiet=True)
            env_from, containers = main.value["envFrom"], template.value["spec"].value["containers"]
            rest = [item for item in env_from.items() if item not in command.sources]
            new_main = main.with_part(("envFrom",), sequence(env_from, rest)) if rest else main.without("envFrom")
            items = [new_main if item is main else item for item in containers.items()]
            template = template.with_part(("spec", "containers"), sequence(containers, items))
        pod = translate(
            template.without_path(RESTART_POLICY),
            role,
            self.notes,
            ports=(*port_names, command.own_port or PORT),
            program=command.program,
        )
        return pod and pod.replaced(boards=[board] if board else [])

    def drop_hosts(self, tasks: Iterable[tuple[Part, TaskCommand]]) -> None:
        """Note the reason for each ConfigMap that contains only the cluster configuration of tasks.

        Args:
            tasks: the pod template and the command of each task.
        """
        used: dict[str, set[str]] = {}
        for template, command in tasks:
            main = main_container(template)
            for item in main.items("env") if main else ():
                if (key := item.get("valueFrom", "configMapKeyRef")) and item.text_at(
                    "name"
                ) in command.program.omitted:
                    used.setdefault(key.text_at("name"), set()).add(key.text_at("key"))
            for source in command.sources:
                config = source.text_at("configMapRef", "name")
                used.setdefault(config, set()).update(key for name, key in self.configs if name == config)
        for item in self.companions:
            data_keys = {key for key, _ in item.entries("data")}
            if kind(item) == "ConfigMap" and data_keys and data_keys <= used.get(name(item), set()):
                self.notes.reason(item, WHY_CLUSTER, is_quiet=True)

    def read_gang(
        self, plan: TrainingPlan, policy: Part | None = None, policy_scheduler: Scheduler = "volcano"
    ) -> Gang:
        """Read the gang of the job from its PodGroup, its pods or its policy, and set the key ``gang``.

        A PodGroup that an operator creates has the name of the job. A job with a single task gets no key ``gang``.

        Args:
            plan: the strategy and the roles.
            policy: the scheduling policy in an operator's custom object, for example in a TFJob.
            policy_scheduler: the scheduler of the policy if the pods name no scheduler.
        """
        pods = [role.pod for role in plan.roles.values()]
        group_keys = [part for pod in pods for part in pod.group_keys]
        schedulers = {pod.scheduler.as_text if pod.scheduler else "" for pod in pods}
        scheduling_groups = [part for pod in pods for part in pod.scheduling_groups]
        names = {self.name, *(part.as_text for part in group_keys)} - {""}
        names.update(part.text_at("podGroupName") for part in scheduling_groups)
        groups = (item for item in self.companions if kind(item) == "PodGroup" and api_group(item) in _BY_GROUP)
        group = next((item for item in groups if name(item) in names), None)
        # A scheduler of some roles is no scheduler of the gang: it stays in the podTemplate of these roles.
        scheduler_name = next(iter(schedulers)) if len(schedulers) == 1 else ""
        pod_scheduler = BY_SCHEDULER_NAME.get(scheduler_name)
        if group is None and policy is None and pod_scheduler is None:
            for part in group_keys:
                why = (
                    "the files do not contain the PodGroup of the pods, and the pods select no gang scheduler; import "
                    "the file of the PodGroup as well, or set spec.gang in the imported job"
                )
                self.notes.reason(part, why)
            data = self._queue_of_kueue(plan)
        else:
            data = {"scheduler": _BY_GROUP[api_group(group)] if group else pod_scheduler or policy_scheduler}
            self.has_kubernetes_gang = data["scheduler"] == "kubernetes"
            for part in (*group_keys, *(scheduling_groups if self.has_kubernetes_gang else ())):
                self.notes.target(part, "spec", "gang")
                why = "tfgen binds the pods to the PodGroup of the run"
                self.notes.reason(part, why, is_quiet=True)
            if scheduler_name and pod_scheduler is None:
                data["schedulerName"] = scheduler_name
            elif data["scheduler"] == "koordinator" and schedulers == {""}:
                data["schedulerName"] = POD_DEFAULTS["schedulerName"]  # ACK has the plugin in this scheduler
            numbers = {role_name: role.replicas for role_name, role in plan.roles.items()}
            # A minAvailable with or without the evaluator means all pods.
            tasks = sum(numbers.values()) - numbers.get("evaluator", 0), sum(numbers.values())
            if group:
                self.notes.target(group.value["metadata"], "spec", "gang")
                why = "the PodGroup that tfgen creates has the name of the run"
                self.notes.reason(group.value["metadata"], why, "changed", data)
                spec = group.get("spec")
                if spec and self.has_kubernetes_gang:
                    spec = _spec_of_kubernetes(spec)
                    data |= {"apiVersion": "v1beta1"} if api_version(group) == "v1beta1" else {}
                _read_gang_fields(spec, data, tasks, self.notes)
            _read_gang_fields(policy, data, tasks, self.notes)
            if data["scheduler"] == "kai" and "queue" not in data:
                data["queue"] = self._queue_of_kai(group_keys)
        if data and plan.strategy != "Single":
            self.spec["gang"] = dict(data)
        return Gang(data, has_group=group is not None)

    def _queue_of_kai(self, group_keys: Sequence[Part]) -> str:
        """Return the queue in the label of the pods or of the object, or the queue that KAI uses without a label."""
        of_pods = (part for part in group_keys if part.path[-1] == keys.KAI_QUEUE)
        queue = next(of_pods, self.item.get("metadata", "labels", keys.KAI_QUEUE))
        if queue is None:
            return "default-queue"
        self.notes.target(queue, "spec", "gang", "queue")
        return queue.as_text

    def _queue_of_kueue(self, plan: TrainingPlan) -> dict[str, Any]:
        if self.queue is None:
            return {}
        if self.options.kind not in ("TFJob", "JobSet"):
            why = "Kueue can queue the job only if the job is a single object; import with --workload"
            self.notes.reason(self.queue, f"{why} {self.kinds_for_kueue}")
            return {}
        data: dict[str, Any] = {"scheduler": "kueue"}
        templates = [pod.template for role in plan.roles.values() for pod in role.pods]
        found: dict[str, list[Part | None]] = {
            "queue": [self.queue],
            "priorityClassName": [self.job.get("metadata", "labels", keys.QUEUE_PRIORITY)],
            "requiredTopology": [pod.get("metadata", "annotations", keys.REQUIRED_TOPOLOGY) for pod in templates],
            "preferredTopology": [pod.get("metadata", "annotations", keys.PREFERRED_TOPOLOGY) for pod in templates],
        }
        for key, parts in found.items():
            is_shared = len({part.as_text if part else "" for part in parts}) == 1
            for part in filter(None, parts):
                if is_shared:
                    data[key] = part.as_text
                    self.notes.target(part, "spec", "gang", key)
                    self.notes.reason(part, "", "carried")
                else:
                    self.notes.reason(part, f"spec.gang.{key} is the same for all roles; set spec.gang.{key}")
        return data

    def plan(self, roles: Mapping[RoleName, ForeignRole], completion_by: CompletionBy) -> TrainingPlan:
        """Choose the strategy of the imported job, with an end that the workload kind supports."""
        plan = training_plan(roles, completion_by, self.notes, self.options.single_task_strategy)
        if plan.completion_by != "Worker0" or self.options.kind != "VolcanoJob":
            return plan
        why = "Volcano does not detect the end of worker 0, so the imported job ends when all workers end"
        return plan.replaced(completion_by="AllWorkers", why_end=why)

    def foreign_job(self, plan: TrainingPlan, **fields: Any) -> ForeignJob:
        """Return the `ForeignJob`, with the strategy and the roles of `plan`, and with the data of this reader.

        `fields` sets the other attributes of the `ForeignJob`, such as `tensorboard_storage`.
        """
        self.spec.update(legacy_keys(self.commands.values()))
        if port := next((command.port for command in self.commands.values() if command.port), None):
            self.spec.setdefault("port", port)
        for part in self.ends:
            self.notes.target(part, "spec", "completion", "by")
            self.notes.reason(part, plan.why_end, "changed" if plan.why_end else "carried", plan.completion_by)
        if plan.why_end and not self.ends:
            self.notes.remark(self.item.value["spec"], plan.why_end)
        self._read_boards(plan)
        if plan.comment:
            self.comments["spec", "strategy"] = plan.comment
        return ForeignJob(
            format=self.format,
            roots=[self.item],
            name=self.options.name or self.name,
            namespace=self.job.text_at("metadata", "namespace") or None,
            roles={name: self._of_imported_job(role, plan) for name, role in plan.roles.items()},
            strategy=plan.strategy,
            spec=self.spec,
            comments=self.comments,
            notes=self.notes,
            tensorboard_storage=self.board_storage,
            **fields,
        )

    def _of_imported_job(self, role: ForeignRole, plan: TrainingPlan) -> ForeignRole:
        """Return a role without the fields of a pod that the imported job sets in another way."""
        templates = [(origin.template, origin.index) for origin in role.pods]
        is_single = plan.strategy == "Single"
        pod = with_task_index(role.pod, templates, self.options.kind, self.notes, is_single=is_single)
        return role.replaced(pod=pod.replaced(scheduling_groups=()) if self.has_kubernetes_gang else pod)

    def _read_boards(self, plan: TrainingPlan) -> None:
        """Set ``tensorboard`` from the first sidecar with TensorBoard. The job has one TensorBoard for all tasks."""
        boards = [board for role in plan.roles.values() for board in role.pod.boards]
        for board in boards:
            (container,) = board.items("spec", "containers")
            self.notes.target(container, *_TENSORBOARD)
            why = "the container becomes the TensorBoard of the job, which runs in its own pod"
            self.notes.reason(container, why, "changed", PRESENT)
        if boards and "tensorboard" not in self.spec:
            container = next(boards[0].items("spec", "containers"))
            self.set_value({"logDir": _log_dir(container)}, *_TENSORBOARD)
            if image := container.get("image"):
                self.set_value(image.as_text, *_TENSORBOARD, "image")
            self.board_storage = board_storage(boards[0], container, self.notes)


def _read_gang_fields(part: Part | None, data: dict[str, Any], tasks: Sequence[int], notes: Notes) -> None:
    for key, field in part.entries() if part else ():
        target = _GANG_FIELDS.get(key, "")
        is_default_queue = target == "queue" and field.value == "default" and data["scheduler"] != "kai"
        if target not in (path.partition(".")[0] for path in kinds.GANG_FIELDS[data["scheduler"]]):
            notes.reason(field, f"spec.gang has no equivalent of {key} for the scheduler {data['scheduler']}")
        elif (target == "minAvailable" and field.value in tasks) or is_default_queue:
            notes.reason(field, _WHY_DEFAULTS[target], "carried", field.data)
        else:
            data.setdefault(target, field.data)
            notes.target(field, "spec", "gang", target)
            if target == "disruption":
                notes.reason(field, "", "carried", field.data)  # The source has another word for this value.


_DISRUPTION_MODES: Final[Mapping[str, str]] = {"PodGroup": "All", "all": "All", "Pod": "Single", "single": "Single"}
"""Text, or key of the mapping, in ``disruptionMode`` of a PodGroup of Kubernetes -> value of ``gang.disruption``."""


def _spec_of_kubernetes(spec: Part) -> Part:
    """Return the spec of a PodGroup of Kubernetes, with fields that are keys of `_GANG_FIELDS` where possible."""
    levels = [*spec.items("schedulingConstraints", "topology")]
    mode = spec.get("disruptionMode")
    words = [mode.as_text, *(key for key, _ in mode.entries())] if mode else []
    disruption = next((_DISRUPTION_MODES[word] for word in words if word in _DISRUPTION_MODES), "")
    read = {
        "schedulingPolicy": ("minMember", spec.get("schedulingPolicy", "gang", "minCount")),
        "schedulingConstraints": ("requiredTopology", levels[0].get("key") if len(levels) == 1 else None),
        "disruptionMode": ("disruption", mode.scalar(disruption) if mode and disruption else None),
    }
    fields: dict[str, Part] = {}
    for key, part in spec.entries():
        name_read, converted = read.get(key, (key, None))
        fields[name_read if converted else key] = converted or part
    return mapping(spec, fields)


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


def with_companions(job: ForeignJob, companions: Sequence[Part]) -> ForeignJob:
    """Add the TensorBoard and the ServiceAccount among the other objects of the files to a job."""
    return _with_tensorboard(_with_service_account(job, companions), companions)


# -- TensorBoard ---------------------------------------------------------------------------------------------------
#
# A container that runs TensorBoard beside a program becomes the TensorBoard of the job, if its logs are on a volume.
#
#     {name: board, command: [tensorboard, --logdir=/logs]}   -> tensorboard: {logDir: /logs}

_TENSORBOARD: Final[Path] = ("spec", "tensorboard")
_BOARD_KINDS: Final = ("Deployment", "Job", "Pod", "ReplicaSet", "StatefulSet")
_BOARD_PROGRAM: Final = re.compile(r"(.*/)?tensorboard(\.main)?")
_LOG_DIR: Final = re.compile(r"--?logdir(?:[= ]\s*|$)([^\s;&|]*)")


def split_board(template: Part) -> tuple[Part, Part | None]:
    """Separate TensorBoard from a pod template. The second element is a template with the container of TensorBoard.

    The second element is None if no sidecar is a TensorBoard whose logs are on a volume outside of the pod.
    """
    containers, main = template.get("spec", "containers"), main_container(template)
    for container in containers.items() if containers else ():
        if container is main or not _has_logs_outside(container, template):
            continue
        others = [item for item in containers.items() if item is not container] if containers else []
        task = template.with_part(("spec", "containers"), sequence(container, others))
        board = template.with_part(("spec", "containers"), sequence(container, [container]))
        return task, board.without_path(("spec", "initContainers"))
    return template, None


def _with_tensorboard(job: ForeignJob, companions: Iterable[Part]) -> ForeignJob:
    """Add `tensorboard` to a job if another object of the files runs TensorBoard with claims of the job."""
    claims = {v["claim"]["name"] for role in job.roles.values() for v in role.pod.storage.values() if "claim" in v}
    for item in companions:
        template = item if kind(item) == "Pod" else item.get("spec", "template") or item
        main = main_container(template) if kind(item) in _BOARD_KINDS else None
        names = {part.text_at("persistentVolumeClaim", "claimName") for part in template.items("spec", "volumes")}
        is_near = item.text_at("metadata", "namespace") in ("", job.namespace) and names <= claims
        if main is None or not is_near or _TENSORBOARD[-1] in job.spec or not _has_logs_outside(main, template):
            continue
        storage = board_storage(template, item, job.notes)
        why = "the object becomes spec.tensorboard, which gets its own Service"
        job.notes.reason(item, f"{why}; delete the object after the first run of the imported job", "changed", PRESENT)
        job.notes.target(item, *_TENSORBOARD)
        board = {"logDir": _log_dir(main), **({"image": main.text_at("image")} if main.get("image") else {})}
        job = job.replaced(spec={**job.spec, _TENSORBOARD[-1]: board}, tensorboard_storage=storage)
    return job


def _log_dir(container: Part) -> str:
    words = [*container.texts_at("command"), *container.texts_at("args")]
    if not any(_BOARD_PROGRAM.fullmatch(word) for text in words for word in text.split()):
        return ""
    match = _LOG_DIR.search(" ".join(words))
    return match[1] if match else ""


def _has_logs_outside(container: Part, template: Part) -> bool:
    log_dir = _log_dir(container)
    mounts = [
        m for m in container.items("volumeMounts") if is_below(log_dir, without_end_slash(m.text_at("mountPath")))
    ]
    names = {mount.text_at("name") for mount in mounts}
    volumes = [volume for volume in template.items("spec", "volumes") if volume.text_at("name") in names]
    return bool(volumes) and not any(volume.get("emptyDir") for volume in volumes)


def is_below(path: str, folder: str) -> bool:
    """Return whether a path is absolute, and is a folder or a path below the folder."""
    return path.startswith("/") and f"{path}/".startswith(f"{folder.rstrip('/')}/")


def board_storage(template: Part, owner: Part, notes: Notes) -> Mapping[str, Any]:
    """Return the volumes of TensorBoard. `template` has the container of TensorBoard, and `owner` contains both."""
    valid = valid_template(template, notes)
    main = main_container(valid) if valid else None
    if valid is None or main is None:
        return {}
    translated = Volumes(valid, main, (*ROLES, "tensorboard"), notes)
    if translated.volumes or translated.mounts:
        why = "spec.storage has no equivalent for a volume of this TensorBoard; mount a claim, or remove the volume"
        notes.refuse(owner, why)
    for part in (*valid.items("spec", "volumes"), *main.items("volumeMounts")):
        entry = translated.storage.get(translated.names.get(part.text_at("name"), part.text_at("name")))
        if entry and not {owner.place, part.place} & notes.reasons.keys():
            notes.reason(part, "", "carried", entry["mountPath"] if part.get("mountPath") else entry)
    return translated.storage


# -- failure policies ----------------------------------------------------------------------------------------------
#
# The podFailurePolicy of a Job lists the exit codes that do not count as a retry.
# https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy
#
#     rules: [{action: Ignore, onExitCodes: {operator: In, values: [42]}}]   -> restart: {ignoreExitCodes: [42]}

POLICY: Final = "podFailurePolicy"

_IGNORED: Final[Path] = ("spec", "restart", "ignoreExitCodes")
_DISRUPTIONS: Final = ({"type": "DisruptionTarget"}, {"type": "DisruptionTarget", "status": "True"})
"""The two spellings of the pod condition that tfgen's Jobs ignore. A node drain or an eviction sets this condition."""


def read_failure_policies(jobs: Sequence[Part], reader: JobReader) -> None:
    """Read the podFailurePolicy of each Job, and set `restart.ignoreExitCodes` of the imported job."""
    codes_by_job = [_read_policy(job, reader) for job in jobs]
    codes = frozenset[int]().union(*codes_by_job)
    is_changed = any(job_codes != codes for job_codes in codes_by_job)
    why = "in the imported job, these exit codes do not count as a retry in any task" if is_changed else ""
    for rule, owner in ((rule, job) for job in jobs for rule in job.items(POLICY, "rules")):
        if rule.place in reader.notes.targets and (rule_codes := _codes(rule, owner)):
            reader.notes.reason(rule, why, "changed" if is_changed else "carried", sorted(rule_codes))
    if codes:
        reader.set_value(sorted(codes), *_IGNORED)


def _read_policy(job: Part, reader: JobReader) -> frozenset[int]:
    policy, notes = job.get(POLICY), reader.notes
    if policy is None:
        return frozenset()
    rules = list(policy.items("rules"))
    if not rules:
        notes.reason(policy, "the policy has no rules")
    ignored = frozenset[int]()
    for rule in rules:
        codes = _codes(rule, job)
        if rule.data in ({"action": "Ignore", "onPodConditions": [condition]} for condition in _DISRUPTIONS):
            if reader.options.kind in ("Job", "JobSet"):
                reader.apply_row(rule, TFGEN_DEFAULT)
            else:
                notes.reason(rule, "a pod that its node loses does not count as a retry", is_quiet=True)
        elif not codes:
            notes.reason(rule, "job.yaml supports only rules that ignore exit codes (restart.ignoreExitCodes)")
        elif why := kinds.lacking({"workload": {"kind": reader.options.kind}}, _IGNORED[1:]):
            notes.reason(rule, why)
        else:
            notes.target(rule, *_IGNORED)
            ignored |= codes
    return ignored


def _codes(rule: Part, job: Part) -> frozenset[int]:
    """Return the exit codes that a rule of a podFailurePolicy ignores for the main container.

    If the rule does not ignore exit codes, the result is empty.
    """
    values = rule.data if isinstance(rule.data, dict) else {}
    on_codes = values.get("onExitCodes")
    if values.keys() != {"action", "onExitCodes"} or values["action"] != "Ignore" or not isinstance(on_codes, dict):
        return frozenset()
    main = main_container(job.get("template") or job)
    container = main.get("name") if main else None
    codes = on_codes.get("values")
    if on_codes.get("operator") != "In" or not isinstance(codes, list):
        return frozenset()
    if (name := on_codes.get("containerName")) is not None and (container is None or name != container.value):
        return frozenset()
    return frozenset(code for code in codes if type(code) is int and 0 < code < 256)


# -- deadlines -----------------------------------------------------------------------------------------------------
#
#     activeDeadlineSeconds: 600   -> deadline: 600

DEADLINE: Final = "activeDeadlineSeconds"


def read_deadlines(jobs: Sequence[Part], plan: TrainingPlan, reader: JobReader) -> None:
    """Read the time limit of each Job, and set `deadline` from the limit of the tasks that end the imported job."""
    ending = plan.roles["chief" if plan.completion_by == "Chief" else "worker"]
    ends = {pod.template.place for pod in ending.pods}
    limits = [(limit, job.value["template"].place in ends) for job in jobs if (limit := job.get(DEADLINE))]
    values = {limit.value for limit, is_end in limits if is_end}
    for limit, is_end in limits:
        if not is_end:
            reader.notes.reason(limit, "spec.deadline limits only the tasks that end the job")
        elif len(values) > 1:
            why = "the Jobs have different limits, but spec.deadline is one limit for all tasks; set spec.deadline"
            reader.notes.reason(limit, why)
        else:
            why = "the field limited all attempts of a Job together, and spec.deadline limits each attempt of a task"
            reader.put(limit, limit.value, "spec", "deadline")
            reader.notes.reason(limit, f"{why} that ends the job", "changed")


# -- the ServiceAccount --------------------------------------------------------------------------------------------
#
# The annotations of the account give the pods an identity in a cloud.
#
#     metadata: {name: trainer, annotations: {iam.gke.io/gcp-service-account: trainer@ml.iam.gserviceaccount.com}}
#         -> serviceAccount: {annotations: {iam.gke.io/gcp-service-account: trainer@ml.iam.gserviceaccount.com}}

_ACCOUNT: Final[Path] = ("spec", "serviceAccount")
_FIELDS: Final = {"apiVersion", "kind", "metadata", "automountServiceAccountToken"}
"""The fields of a ServiceAccount that job.yaml supports. The lists of secrets have no equivalent."""


_DEFAULT_ACCOUNT: Final = "default"
"""The account of a pod without `serviceAccountName`, which all pods of a namespace share."""


def _with_service_account(job: ForeignJob, companions: Iterable[Part]) -> ForeignJob:
    """Add `serviceAccount` to a job if all pods use one account, and the files contain the account with annotations."""
    accounts = {role.pod.role.get("serviceAccountName", _DEFAULT_ACCOUNT) for role in job.roles.values()}
    is_own = accounts != {_DEFAULT_ACCOUNT}
    part = next((item for item in companions if is_own and _is_account(item, job) and {name(item)} == accounts), None)
    if part is None or kinds.lacking(job.spec, _ACCOUNT[1:]):
        return job
    if labels := part.get("metadata", "labels"):
        job.notes.reason(labels, "tfgen sets the labels of the account")
    if token := part.get("automountServiceAccountToken"):
        job.notes.reason(token, "the pods of tfgen set automountServiceAccountToken")
    annotations = user_keys(part.value["metadata"].value["annotations"], (*_ACCOUNT, "annotations"), job.notes)
    job.notes.target(part.value["metadata"].value["name"], "spec", "serviceAccountName")
    if namespace := part.get("metadata", "namespace"):
        job.notes.target(namespace, "metadata", "namespace")
    return job.replaced(spec={**job.spec, _ACCOUNT[-1]: {"annotations": annotations}})


def _is_account(item: Part, job: ForeignJob) -> bool:
    """Return whether an object is a ServiceAccount in the job's namespace, with annotations and without secrets."""
    is_account = kind(item) == "ServiceAccount" and not api_group(item)
    namespace = item.text_at("metadata", "namespace")
    has_fields = is_account and {key for key, _ in item.entries()} <= _FIELDS
    return has_fields and namespace in ("", job.namespace) and any(item.entries("metadata", "annotations"))
