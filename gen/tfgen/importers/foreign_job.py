"""Foreign job, a job in the format of another tool, after a reader has converted its roles to the fields of job.yaml.

Each role has a complete set of fields. Later, `job_yaml` moves the fields that all roles share to the job. `JobReader`
is the base class of the readers of all formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from tfgen.data_path import Path
from tfgen.importers.part import POD_DEFAULTS, Part, api_group, api_version, kind, mapping, name, sequence
from tfgen.importers.pod import (
    PORT,
    RESTART_POLICY,
    ForeignVolumes,
    PodData,
    join_pull_secrets,
    main_container,
    translate,
    user_keys,
    valid_template,
    with_main,
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
    if "chief" in roles:
        return _mirrored_with_chief(roles, notes)
    return TrainingPlan("MultiWorkerMirrored", roles, completion_by, _WHY_MIRRORED)


_WHY_MIRRORED: Final = "The job has no ps, so each worker has a copy of all variables."


def _mirrored_with_chief(roles: Mapping[RoleName, ForeignRole], notes: Notes) -> TrainingPlan:
    """Return the `TrainingPlan` of a job that has a chief and no ps. The chief becomes worker 0.

    In a cluster without a chief, MultiWorkerMirroredStrategy uses worker 0 as the chief:
    https://www.tensorflow.org/tutorials/distribute/multi_worker_with_keras#set_up_the_cluster.
    """
    chief = roles["chief"]
    tasks = roles.get("worker", chief)
    of_chief, of_worker = ({**role.pod.role, "storage": role.pod.storage} for role in (chief, tasks))
    keys_of_pods = dict.fromkeys((*chief.pod.role, *tasks.pod.role, "storage"))
    if different := [key for key in keys_of_pods if of_chief.get(key) != of_worker.get(key)]:
        problem = f"the chief and the workers differ in {either(different, 'and')}; without ps, the chief becomes"
        fix = "make the chief equal to the workers, or add ps"
        notes.refuse(chief.part, f"{problem} worker 0, and all workers must be equal; {fix}")
    notes.remark(chief.part, "the job has no ps, so the chief becomes worker 0")
    port = tasks.pod.port.value if tasks.pod.port else PORT
    if chief.pod.port and chief.pod.port.value != port:
        notes.reason(chief.pod.port, "all workers listen on one port", "changed", port)
    workers = tasks.replaced(pod=tasks.pod.replaced(pull_secrets=join_pull_secrets([chief.pod, tasks.pod])))
    if tasks is not chief:
        workers = workers.replaced(replicas=chief.replicas + tasks.replicas, pods=(*chief.pods, *tasks.pods))
    evaluator: dict[RoleName, ForeignRole] = {"evaluator": roles["evaluator"]} if "evaluator" in roles else {}
    notes.rename_role("chief", "worker")
    comment = f"{_WHY_MIRRORED} Worker 0 was the chief."
    return TrainingPlan("MultiWorkerMirrored", {"worker": workers, **evaluator}, "Worker0", comment)


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
DEADLINE: Final = "activeDeadlineSeconds"
AS_PODS: Final[Fields] = {
    DEADLINE: changed("spec", "deadline", why=WHY_DEADLINE),
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
        self.has_group = False
        """Whether the imported files contain the PodGroup."""
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
        for key in ("name", "generateName"):
            if (part := self.item.get("metadata", key)) and self.options.name:
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
        if type(number) is not int or number < 0:
            words = found_words(number, replicas.text or "")
            self.notes.refuse(replicas, f"found {words}, expected a number of tasks")
        elif number == 0:
            self.notes.reason(part, "replicas is 0, so the job does not get this role")
        elif number > 1 and role in ("chief", "evaluator"):
            self.notes.refuse(replicas, f"found {number} tasks of {role}, expected at most 1; set replicas to 1")
        else:
            self.notes.target(replicas, *ROLES, role, "replicas")
            return number
        return None

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
        main, program = main_container(template), command.program
        for key, words in (("command", program.command), ("args", program.args)):
            if program.command is not None and main and (part := main.get(key)):
                self.notes.target(part, *ROLES, role, "command")
                if part.texts_at() != list(words or ()):
                    self.notes.reason(part, change_reason(command), "changed", list(words or ()))
        for source in command.sources:
            self.notes.reason(source, WHY_CLUSTER, is_quiet=True)
        if command.sources and main:
            env_from = main.value["envFrom"]
            rest = [item for item in env_from.items() if item not in command.sources]
            new_main = main.with_part(("envFrom",), sequence(env_from, rest)) if rest else main.without("envFrom")
            template = with_main(template, main, new_main)
        ports: list[str | int] = [*port_names, command.own_port or PORT]
        pod = translate(template.without_path(RESTART_POLICY), role, self.notes, ports, program)
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
                reference = item.get("valueFrom", "configMapKeyRef")
                if reference and item.text_at("name") in command.program.omitted:
                    used.setdefault(reference.text_at("name"), set()).add(reference.text_at("key"))
            for source in command.sources:
                config = source.text_at("configMapRef", "name")
                used.setdefault(config, set()).update(key for name, key in self.configs if name == config)
        for item in self.companions:
            data_keys = {key for key, _ in item.entries("data")}
            if kind(item) == "ConfigMap" and data_keys and data_keys <= used.get(name(item), set()):
                self.notes.reason(item, WHY_CLUSTER, is_quiet=True)

    def read_gang(
        self, plan: TrainingPlan, policy: Part | None = None, policy_scheduler: Scheduler = "volcano"
    ) -> dict[str, Any]:
        """Read the gang of the job from its PodGroup, its pods or its policy, and set the key ``gang``.

        A PodGroup that an operator creates has the name of the job. A job with a single task gets no key ``gang``.

        Args:
            plan: the strategy and the roles.
            policy: the scheduling policy in an operator's custom object, for example in a TFJob.
            policy_scheduler: the scheduler of the policy if the pods name no scheduler.

        Returns:
            The keys of ``gang``; empty for a job without a gang.
        """
        pods = [role.pod for role in plan.roles.values()]
        group_keys = [part for pod in pods for part in pod.group_keys]
        schedulers = {pod.scheduler.as_text if pod.scheduler else "" for pod in pods}
        scheduling_groups = [part for pod in pods for part in pod.scheduling_groups]
        names = {self.name, *(part.as_text for part in group_keys)} - {""}
        names.update(part.text_at("podGroupName") for part in scheduling_groups)
        groups = (item for item in self.companions if kind(item) == "PodGroup" and api_group(item) in _BY_GROUP)
        group = next((item for item in groups if name(item) in names), None)
        self.has_group = group is not None
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
                    if api_version(group) == "v1beta1":
                        data["apiVersion"] = "v1beta1"
                _read_gang_fields(spec, data, tasks, self.notes)
            _read_gang_fields(policy, data, tasks, self.notes)
            if data["scheduler"] == "kai" and "queue" not in data:
                data["queue"] = self._queue_of_kai(group_keys)
        if data and plan.strategy != "Single":
            self.spec["gang"] = dict(data)
        return data

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
        for key, objects, section, name_of_key in (
            ("queue", [self.job], "labels", keys.QUEUE),
            ("priorityClassName", [self.job], "labels", keys.QUEUE_PRIORITY),
            ("requiredTopology", templates, "annotations", keys.REQUIRED_TOPOLOGY),
            ("preferredTopology", templates, "annotations", keys.PREFERRED_TOPOLOGY),
        ):
            parts = [item.get("metadata", section, name_of_key) for item in objects]
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

    def foreign_job(self, plan: TrainingPlan) -> ForeignJob:
        """Return the `ForeignJob`, with the strategy and the roles of `plan`, and with the data of this reader."""
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
        roles: dict[RoleName, ForeignRole] = {}
        for role_name, role in plan.roles.items():
            templates = [(origin.template, origin.index) for origin in role.pods]
            is_single = plan.strategy == "Single"
            pod = with_task_index(role.pod, templates, self.options.kind, self.notes, is_single=is_single)
            if self.has_kubernetes_gang:  # the imported job names the PodGroup in the pods
                pod = pod.replaced(scheduling_groups=())
            roles[role_name] = role.replaced(pod=pod)
        return ForeignJob(
            format=self.format,
            roots=[self.item],
            name=self.options.name or self.name,
            namespace=self.job.text_at("metadata", "namespace") or None,
            roles=roles,
            strategy=plan.strategy,
            spec=self.spec,
            comments=self.comments,
            notes=self.notes,
            tensorboard_storage=self.board_storage,
        )

    def _read_boards(self, plan: TrainingPlan) -> None:
        """Set ``tensorboard`` from the first sidecar with TensorBoard. The job has one TensorBoard for all tasks."""
        boards = [board for role in plan.roles.values() for board in role.pod.boards]
        for board in boards:
            (container,) = board.items("spec", "containers")
            self.notes.target(container, *_TENSORBOARD)
            why = "the container becomes the TensorBoard of the job, which runs in its own pod"
            self.notes.reason(container, why, "changed", PRESENT)
            if "tensorboard" not in self.spec:
                self.set_value(_board(container), *_TENSORBOARD)
                self.board_storage = board_storage(board, container, self.notes)

    # -- failure policies and deadlines of Jobs -----------------------------------------------------------------------
    #
    # The podFailurePolicy of a Job lists the exit codes that do not count as a retry.
    # https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy
    #
    #     rules: [{action: Ignore, onExitCodes: {operator: In, values: [42]}}]   -> restart: {ignoreExitCodes: [42]}

    def read_failure_policies(self, jobs: Sequence[Part]) -> None:
        """Read the podFailurePolicy of each Job, and set `restart.ignoreExitCodes` of the imported job."""
        codes_by_job = [self._ignored_codes(job) for job in jobs]
        codes = frozenset[int]().union(*codes_by_job)
        is_changed = any(job_codes != codes for job_codes in codes_by_job)
        why = "in the imported job, these exit codes do not count as a retry in any task" if is_changed else ""
        for rule, owner in ((rule, job) for job in jobs for rule in job.items("podFailurePolicy", "rules")):
            if rule.place in self.notes.targets and (rule_codes := _codes(rule, owner)):
                self.notes.reason(rule, why, "changed" if is_changed else "carried", sorted(rule_codes))
        if codes:
            self.set_value(sorted(codes), *_IGNORED)

    def _ignored_codes(self, job: Part) -> frozenset[int]:
        """Note the reasons for the rules of a Job, and return the exit codes that the rules ignore."""
        policy, kind_of_job = job.get("podFailurePolicy"), self.options.kind
        rules = list(policy.items("rules")) if policy else []
        if policy and not rules:
            self.notes.reason(policy, "the policy has no rules")
        ignored = frozenset[int]()
        for rule in rules:
            codes = _codes(rule, job)
            if rule.data in ({"action": "Ignore", "onPodConditions": [condition]} for condition in _DISRUPTIONS):
                if kind_of_job in ("Job", "JobSet"):
                    self.apply_row(rule, TFGEN_DEFAULT)
                else:
                    self.notes.reason(rule, "a pod that its node loses does not count as a retry", is_quiet=True)
            elif not codes:
                self.notes.reason(rule, "job.yaml supports only rules that ignore exit codes (restart.ignoreExitCodes)")
            elif why := kinds.lacking({"workload": {"kind": kind_of_job}}, _IGNORED[1:]):
                self.notes.reason(rule, why)
            else:
                self.notes.target(rule, *_IGNORED)
                ignored |= codes
        return ignored

    def read_deadlines(self, jobs: Sequence[Part], plan: TrainingPlan) -> None:
        """Read the time limit of each Job, and set `deadline` from the limit of the tasks that end the imported job."""
        ending = plan.roles.get("chief" if plan.completion_by == "Chief" else "worker")
        ends = {pod.template.place for pod in ending.pods} if ending else set()  # tasks of ps alone end no job
        limits = [(part, job.value["template"].place in ends) for job in jobs if (part := job.get(DEADLINE))]
        values = {limit.value for limit, is_end in limits if is_end}
        for limit, is_end in limits:
            if not is_end:
                self.notes.reason(limit, "spec.deadline limits only the tasks that end the job")
            elif len(values) > 1:
                why = "the Jobs have different limits, but spec.deadline is one limit for all tasks; set spec.deadline"
                self.notes.reason(limit, why)
            else:
                why = "the field limited all attempts of a Job together, and spec.deadline limits each attempt of"
                self.put(limit, limit.value, "spec", "deadline")
                self.notes.reason(limit, f"{why} a task that ends the job", "changed")


_IGNORED: Final[Path] = ("spec", "restart", "ignoreExitCodes")
_DISRUPTIONS: Final = ({"type": "DisruptionTarget"}, {"type": "DisruptionTarget", "status": "True"})
"""The two spellings of the pod condition that tfgen's Jobs ignore. A node drain or an eviction sets this condition."""


def _codes(rule: Part, job: Part) -> frozenset[int]:
    """Return the exit codes that a rule of a podFailurePolicy ignores for the main container.

    If the rule does not ignore exit codes, the result is empty.
    """
    main = main_container(job.get("template") or job)
    container = main.get("name") if main else None
    match rule.data:
        case {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [*codes], **others}, **fields} if (
            not fields and others.get("containerName") in (None, container and container.value)
        ):
            return frozenset(code for code in codes if type(code) is int and 0 < code < 256)
    return frozenset()


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
        job = job.replaced(spec={**job.spec, _TENSORBOARD[-1]: _board(main)}, tensorboard_storage=storage)
    return job


def _board(container: Part) -> dict[str, str]:
    """Return the data of ``tensorboard`` for a container that runs TensorBoard."""
    image = container.get("image")
    return {"logDir": _log_dir(container), **({"image": image.as_text} if image else {})}


def _log_dir(container: Part) -> str:
    words = [*container.texts_at("command"), *container.texts_at("args")]
    if not any(_BOARD_PROGRAM.fullmatch(word) for text in words for word in text.split()):
        return ""
    match = _LOG_DIR.search(" ".join(words))
    return match[1] if match else ""


def _has_logs_outside(container: Part, template: Part) -> bool:
    log_dir = _log_dir(container)
    names = {
        mount.text_at("name")
        for mount in container.items("volumeMounts")
        if log_dir.startswith("/") and f"{log_dir}/".startswith(f"{mount.text_at('mountPath').rstrip('/')}/")
    }
    volumes = [volume for volume in template.items("spec", "volumes") if volume.text_at("name") in names]
    return bool(volumes) and not any(volume.get("emptyDir") for volume in volumes)


def board_storage(template: Part, owner: Part, notes: Notes) -> Mapping[str, Any]:
    """Return the volumes of TensorBoard. `template` has the container of TensorBoard, and `owner` contains both."""
    valid = valid_template(template, notes)
    main = main_container(valid) if valid else None
    if valid is None or main is None:
        return {}
    translated = ForeignVolumes(valid, main, (*ROLES, "tensorboard"), notes)
    if translated.volumes or translated.mounts:
        why = "spec.storage has no equivalent for a volume of this TensorBoard; mount a claim, or remove the volume"
        notes.refuse(owner, why)
    for part in (*valid.items("spec", "volumes"), *main.items("volumeMounts")):
        entry = translated.storage.get(translated.names.get(part.text_at("name"), part.text_at("name")))
        if entry and not {owner.place, part.place} & notes.reasons.keys():
            notes.reason(part, "", "carried", entry["mountPath"] if part.get("mountPath") else entry)
    return translated.storage


# -- the ServiceAccount --------------------------------------------------------------------------------------------
#
# The annotations of the account give the pods an identity in a cloud.
#
#     metadata: {name: trainer, annotations: {iam.gke.io/gcp-service-account: trainer@ml.iam.gserviceaccount.com}}
#         -> serviceAccount: {annotations: {iam.gke.io/gcp-service-account: trainer@ml.iam.gserviceaccount.com}}

_ACCOUNT: Final[Path] = ("spec", "serviceAccount")
_ACCOUNT_FIELDS: Final = {"apiVersion", "kind", "metadata", "automountServiceAccountToken"}
"""The fields of a ServiceAccount that job.yaml supports. The lists of secrets have no equivalent."""

_DEFAULT_ACCOUNT: Final = "default"
"""The account of a pod without `serviceAccountName`, which all pods of a namespace share."""


def _with_service_account(job: ForeignJob, companions: Iterable[Part]) -> ForeignJob:
    """Add `serviceAccount` to a job if all pods use one account, and the files contain the account with annotations.

    The account is in the job's namespace, and has no secrets.
    """
    accounts = {role.pod.role.get("serviceAccountName", _DEFAULT_ACCOUNT) for role in job.roles.values()}
    found = (
        item
        for item in companions
        if (kind(item), api_group(item)) == ("ServiceAccount", "")
        and {name(item)} == accounts != {_DEFAULT_ACCOUNT}
        and item.text_at("metadata", "namespace") in ("", job.namespace)
        and {key for key, _ in item.entries()} <= _ACCOUNT_FIELDS
        and any(item.entries("metadata", "annotations"))
    )
    if (part := next(found, None)) is None or kinds.lacking(job.spec, _ACCOUNT[1:]):
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
