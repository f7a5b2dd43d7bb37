"""Reader of Kubeflow's TFJobs in all versions of their API.

    tensorflow.org/v1alpha1                 kind TfJob, later TFJob; the same fields as kubeflow.org/v1alpha1
    kubeflow.org/v1alpha1                   spec.replicaSpecs[].tfReplicaType
    kubeflow.org/v1alpha2, v1beta1          spec.cleanPodPolicy, spec.tfReplicaSpecs
    kubeflow.org/v1beta2, v1 up to 1.0.0    also spec.activeDeadlineSeconds, spec.backoffLimit
    kubeflow.org/v1                         spec.runPolicy, spec.tfReplicaSpecs

`canonical` converts all versions to the last version of this list, which the reader reads. Source of the fields:
https://github.com/kubeflow/trainer/tree/release-1.9/pkg/apis/kubeflow.org/v1, and pkg/apis/tensorflow/VERSION/types.go
of its earlier branches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from tfgen.importers import gang, pod_template, volumes
from tfgen.importers.fields import Fields, carried, changed, dropped
from tfgen.importers.foreign_job import ROLES, ForeignJob, ForeignRole, TrainingPlan, number_of_tasks, training_plan
from tfgen.importers.import_report import ImportReport
from tfgen.importers.job_reader import AS_PODS, AS_WORKLOAD, RESTARTS, ROLE_WORDS, JobReader, command_of, read_pod
from tfgen.importers.objects import api_version
from tfgen.importers.options import Options
from tfgen.importers.part import Part, mapping, sequence
from tfgen.importers.pod_template import Program
from tfgen.importers.shapes import ANY_KEY, METADATA, SCALAR, refuse_misshapen
from tfgen.importers.task_command import TF_CONFIG, TaskCommand, legacy_keys, variables_of_tf_config
from tfgen.job.training_job import RoleName
from tfgen.schema import file as schema_file
from tfgen.schema.kinds import CompletionBy, default_end
from tfgen.text.document import MAX_PROBLEMS
from tfgen.words import either, meant, nearest

KINDS: Final = ("TFJob", "TfJob")
GROUPS: Final = ("kubeflow.org", "tensorflow.org")
VERSIONS: Final = ("v1", "v1beta2", "v1beta1", "v1alpha2", "v1alpha1")
PORT_NAME: Final = "tfjob-port"

_TYPES: Final[Mapping[str, str]] = {
    "chief": "Chief",
    "master": "Master",
    "ps": "PS",
    "worker": "Worker",
    "evaluator": "Evaluator",
    "eval": "Evaluator",
}
"""Replica type in lower case -> replica type of the operator, because the operator ignores the case."""

_POLICY_KEYS: Final = ("activeDeadlineSeconds", "backoffLimit", "cleanPodPolicy", "ttlSecondsAfterFinished")
_MOVED: Final[Mapping[str, str]] = {**{key: key for key in _POLICY_KEYS}, "cleanupPodPolicy": "cleanPodPolicy"}
"""Field of spec in an earlier API version -> field of spec.runPolicy in the current API version."""

_OLD_FIELDS: Final[Fields] = {
    "RuntimeId": dropped("the operator sets this field"),
    "tfImage": dropped("the operator used this image for a ps without a template; the imported ps has an image"),
}
"""Fields of the version v1alpha1 that the imported job does not need."""

_DEFAULT_RESTART_POLICY: Final = "Never"
"""The restart policy of a replica without restartPolicy (pkg/apis/kubeflow.org/v1/tensorflow_defaults.go)."""

_KEEPS_PODS_SINCE: Final = (1, 6)
"""First version of the operator that deletes no pods if a TFJob does not set cleanPodPolicy."""
_EVALUATOR_IN_CLUSTER_SINCE: Final = (1, 1)
"""First version of the operator that lists the evaluator in the TF_CONFIG of all tasks."""

_WHY_SINGLE_TASK: Final = "a job with a single task gets no TF_CONFIG; before the import, the program read this value"
"""The reason to drop the variable TF_CONFIG of a single task. The operator did not overwrite this variable."""
_TENSORBOARD: Final = "tensorboard"
"""The name of the v1alpha1 field tensorBoard in lower case, because the operator ignores the case of this name."""

_TF_JOB: Final = ("spec", "workload", "tfJob")
_POLICY: Final[Fields] = {
    **AS_PODS,
    "backoffLimit": changed(
        "spec",
        "retries",
        why="spec.retries limits the failures of each task; backoffLimit limited the failures of all tasks together",
    ),
    "cleanPodPolicy": None,
    "managedBy": dropped("the field selects another controller for the TFJob"),
    "schedulingPolicy": None,
    "suspend": dropped(
        "the job starts as soon as it is applied; import with --workload TFJob to keep suspend", default=False
    ),
}
_TF_JOB_POLICY: Final[Fields] = {
    **AS_WORKLOAD,
    "activeDeadlineSeconds": carried(*_TF_JOB, "activeDeadlineSeconds"),
    "backoffLimit": carried("spec", "retries"),
}
"""Fields of runPolicy that an import to a TFJob converts differently than an import to another kind."""
_DYNAMIC: Final = dropped(
    "the number of workers cannot change in a run, because TF_CONFIG lists all tasks", default=False
)
_DYNAMIC_TF_JOB: Final = carried(*_TF_JOB, "enableDynamicWorker", default=False)

_RUN_POLICY: Final = {
    **dict.fromkeys(_MOVED, SCALAR),
    "managedBy": SCALAR,
    "suspend": SCALAR,
    "schedulingPolicy": {"minAvailable": SCALAR, "priorityClass": SCALAR, "queue": SCALAR},
}
_REPLICA: Final = {"replicas": SCALAR, "restartPolicy": SCALAR, "tfPort": SCALAR, "tfReplicaType": SCALAR}
_SHAPE: Final = {
    "metadata": METADATA,
    "spec": {
        **_RUN_POLICY,
        "enableDynamicWorker": SCALAR,
        "replicaSpecs": [_REPLICA],
        "runPolicy": _RUN_POLICY,
        "successPolicy": SCALAR,
        "terminationPolicy": {"chief": {"replicaIndex": SCALAR, "replicaName": SCALAR}},
        "tfReplicaSpecs": {ANY_KEY: _REPLICA},
    },
}
_COMPLETION: Final = ("spec", "completion")
_TENSORBOARD_SHAPE: Final = {"logDir": SCALAR}


def canonical(item: Part) -> Part:
    """Convert a TFJob of any version to the shape of kubeflow.org/v1. Each part keeps its position in the file."""
    spec = item.get("spec")
    if spec is None or not isinstance(spec.value, Mapping):
        return item
    fields = {_TENSORBOARD if key.lower() == _TENSORBOARD else key: part for key, part in spec.value.items()}
    fields["tfReplicaSpecs"] = _replica_specs(spec)
    policy = spec.get("runPolicy")
    moved = {new: fields.pop(old) for old, new in _MOVED.items() if old in fields}
    if policy is None or isinstance(policy.value, Mapping):
        fields["runPolicy"] = mapping(policy or spec, {**moved, **(policy.value if policy else {})})
    fields.pop("replicaSpecs", None)
    return item.with_part(("spec",), spec.replaced(value=fields))


def _replica_specs(spec: Part) -> Part:
    old = spec.get("replicaSpecs")
    if old is None:
        specs = spec.get("tfReplicaSpecs") or spec.replaced(value={})
        if not isinstance(specs.value, Mapping):
            return specs
        return specs.replaced(value={_type(key): part for key, part in specs.value.items()})
    replicas: dict[str, Part] = {}
    for replica in old.items():
        policy = replica.get("template", "spec", "restartPolicy")
        if isinstance(replica.value, Mapping):
            fields = {key: part for key, part in replica.value.items() if key != "tfReplicaType"}
            if policy:
                fields |= {
                    "restartPolicy": policy,
                    "template": fields["template"].without_path(pod_template.RESTART_POLICY),
                }
            replicas[_type(_replica_type(replica))] = replica.replaced(value=fields)
    return old.replaced(value=replicas)


def _replica_type(replica: Part) -> str:
    """Return the type of a replica in a TFJob of version v1alpha1, such as PS. The operator's default is MASTER."""
    return replica.text_at("tfReplicaType") or "MASTER"


def _role(text: str) -> RoleName | None:
    return ROLE_WORDS[text.lower()] if text.lower() in _TYPES else None


def _type(text: str) -> str:
    return _TYPES.get(text.lower(), text)


def _refuse_second_replicas(item: Part, report: ImportReport) -> None:
    """Report a problem for each role that the TFJob contains twice, for example as the types Chief and Master."""
    replicas = [(_replica_type(replica), replica) for replica in item.items("spec", "replicaSpecs")]
    replicas += [*item.entries("spec", "tfReplicaSpecs")]
    roles: set[RoleName | None] = {None}
    for text, part in replicas:
        role = _role(text)
        if role == "chief" and role in roles:
            report.refuse(part, "the TFJob has both Chief and Master, which are the same role; keep only one of them")
        elif role and role in roles:
            report.refuse(part, f"the TFJob has {_type(text)} twice; keep only one of them")
        roles.add(role)


def read(item: Part, companions: Sequence[Part], options: Options, report: ImportReport) -> ForeignJob | None:
    """Read a TFJob and its PodGroup. Return None if the import report has problems."""
    if api_version(item) not in VERSIONS:
        version = item.value["apiVersion"]
        report.refuse(version, f"found the version {api_version(item)} of a TFJob, expected {either(VERSIONS)}")
        return None
    boards = [part for key, part in item.entries("spec") if key.lower() == _TENSORBOARD]
    if any(
        [refuse_misshapen(item, _SHAPE, report), *(refuse_misshapen(b, _TENSORBOARD_SHAPE, report) for b in boards)]
    ):
        return None
    if len(boards) > 1:
        report.refuse(boards[1], f"the TFJob has the field twice, first as {boards[0].path[-1]}; keep only one of them")
    _refuse_second_replicas(item, report)
    return _TFJob(item, companions, options, report).read()


class _TFJob(JobReader):
    """Reader of a TFJob."""

    format = "TFJob"
    kind = "TFJob"
    kinds_for_kueue = "TFJob, or JobSet"

    def __init__(self, item: Part, companions: Sequence[Part], options: Options, report: ImportReport) -> None:
        super().__init__(item, canonical(item), options, report)
        self.companions, self.version = companions, api_version(item)
        self.group_keys: list[Part] = []
        self.policies: dict[RoleName, Part | None] = {}

    @property
    def _is_single_task(self) -> bool:
        """Return whether the TFJob has a single task, which gets no TF_CONFIG."""
        numbers = {role: part.get("replicas") for role, part in self.job.entries("spec", "tfReplicaSpecs")}
        tasks = {role: number.value if number else 1 for role, number in numbers.items() if not number or number.value}
        return self.options.single_task_strategy == "Single" and list(tasks.values()) == [1] and "PS" not in tasks

    def read(self) -> ForeignJob | None:
        replicas = self.job.get("spec", "tfReplicaSpecs")
        if replicas is None or not isinstance(replicas.value, Mapping) or not replicas.value:
            self.report.refuse(self.item, "the TFJob has no replicas; add spec.tfReplicaSpecs")
            return None
        roles = self._roles(replicas)
        if not roles:
            if not self.report.problems:
                self.report.refuse(replicas, "the TFJob has no tasks; set replicas to 1 or more")
            return None
        for replica in self.item.items("spec", "replicaSpecs"):
            if task_type := replica.get("tfReplicaType"):
                self.report.carry(task_type, *ROLES, ROLE_WORDS[_replica_type(replica).lower()])
        self.metadata()
        roles = self._with_policies(roles)
        plan = training_plan(roles, self._completion_by(roles), self.report, self.options.single_task_strategy)
        self._read_completion(plan)
        policy = {**self._ignored_fields("runPolicy"), **_POLICY, **(_TF_JOB_POLICY if self.keeps_kind else {})}
        self.fields(self.job.get("spec", "runPolicy"), policy)
        self._workload(plan, replicas)
        self._gang(plan)
        board = self._tensorboard()
        for _, replica in replicas.entries():
            self.fields(replica, self._ignored_fields("a TFJob", "replicas", "restartPolicy", "template", "tfPort"))
        self.fields(self.job, self._ignored_fields("a TFJob", "apiVersion", "kind", "metadata", "status", "spec"))
        return self.foreign_job(plan, tensorboard_storage=board)

    # -- roles ----------------------------------------------------------------------------------------------------

    def _roles(self, replicas: Part) -> dict[RoleName, ForeignRole]:
        parts: dict[RoleName, Part] = {}
        for key, part in islice(replicas.entries(), MAX_PROBLEMS):
            if role := _role(key):
                parts.setdefault(role, part)
            else:
                hint = meant(nearest(key, list(_TYPES.values())))
                self.report.refuse(
                    part, f"found the replica type {key}, expected {either(dict.fromkeys(_TYPES.values()))}{hint}"
                )
        roles = {role: read for role, part in parts.items() if (read := self._read_role(role, part, parts))}
        return {} if self.report.problems else roles

    def _read_role(self, role: RoleName, part: Part, parts: Mapping[RoleName, Part]) -> ForeignRole | None:
        replicas = number_of_tasks(part, role, self.report)
        if replicas is None:
            return None
        template = part.get("template") or (self._template_for_ps(part, parts) if role == "ps" else None)
        if template is None or not isinstance(template.value, Mapping):
            self.report.refuse(part, "the replica has no pod template; add template")
            return None
        if pod_policy := template.get("spec", "restartPolicy"):
            self.report.drop(pod_policy, "the operator ignores this policy, and uses the restartPolicy of the replica")
        without_group = gang.remove_group_keys(template)
        self.group_keys += without_group.group_keys
        self.commands[role] = command = self._command(without_group.template)
        pod = read_pod(without_group.template, role, command, self.report, (PORT_NAME,))
        if pod is None:
            return None
        if old_port := part.get("tfPort"):
            pod = pod.replaced(port=pod.port or old_port)
            self.report.carry(old_port, "spec", "port")
        self.policies[role] = part.get("restartPolicy")
        return ForeignRole(part, replicas, pod)

    def _command(self, template: Part) -> TaskCommand:
        """Return the command of a pod template, and the cluster configuration in flags or variables.

        If the imported job is a TFJob, the command stays unchanged, because the host names stay the same.
        """
        command = TaskCommand() if self.keeps_kind else command_of(template)
        if not legacy_keys([command]):
            # The operator adds TF_CONFIG after the variables of the container, except for a single task.
            main = pod_template.main_container(template)
            omitted = variables_of_tf_config(main) if main else {}
            if self._is_single_task and TF_CONFIG in omitted:
                omitted = {**omitted, TF_CONFIG: _WHY_SINGLE_TASK}
            return TaskCommand(Program(omitted=omitted))
        if command.refusal:
            self.report.refuse(pod_template.main_container(template) or template, command.refusal)
        return command

    def _template_for_ps(self, part: Part, parts: Mapping[RoleName, Part]) -> Part | None:
        """Return the pod template of the worker or the chief, for a ps that has no pod template.

        Only a TFJob of version v1alpha1 may have such a ps, for which the operator ran a built-in server. The imported
        job has no such server, so the program must run the ps.
        """
        peer = parts.get("worker") or parts.get("chief")
        template = peer.get("template") if peer and self.version == "v1alpha1" else None
        if template is None:
            return None
        why = "the operator ran a built-in server as the ps; in the imported job, the program must run the ps itself"
        self.report.note(part, why, explains_all=True)
        self.comments[(*ROLES, "ps")] = (
            "The operator ran a built-in server as the ps; now the program must run the ps itself."
        )
        containers = [c for c in template.items("spec", "containers") if isinstance(c.value, Mapping)]
        main = pod_template.main_container(template)
        if main is None:
            return template
        containers = [c.without("resources") if c is main else c for c in containers]
        template = template.without_path(pod_template.RESTART_POLICY)
        anchor = template.value["spec"].value["containers"]
        return template.with_part(("spec", "containers"), sequence(anchor, containers))

    # -- fields of the job -----------------------------------------------------------------------------------------

    def _completion_by(self, roles: Mapping[RoleName, ForeignRole]) -> CompletionBy:
        """Return the value of ``completion.by``, for the tasks whose exit completes a TFJob of the operator.

        The function has the same rules as updateJobStatus in the TFJob controller of the operator.
        """
        completion_by: CompletionBy = "Worker0"
        policy = self.job.get("spec", "successPolicy")
        if policy and policy.value == "AllWorkers":
            if "chief" in roles:
                self.report.drop(policy, "the job ends when the chief ends, regardless of the workers")
            elif sum(role.replicas for role in roles.values()) == 1:
                self.report.drop(policy, "the job ends when its single task ends")
            else:
                completion_by = "AllWorkers"
                self.report.carry(policy, "spec", "completion", "by")
        elif policy:
            if policy.value == "":
                self.report.carry(policy, why="an empty text selects the default success policy of the operator")
            else:
                self.report.refuse(policy, f"found {policy.as_text}, expected AllWorkers or an empty text")
        if chief := self.job.get("spec", "terminationPolicy", "chief"):
            self._read_termination_chief(chief, roles)
        return completion_by

    def _read_termination_chief(self, chief: Part, roles: Mapping[RoleName, ForeignRole]) -> None:
        """Report a problem if the task in terminationPolicy.chief of v1alpha1 does not complete the imported job."""
        replica, index = chief.get("replicaName"), chief.get("replicaIndex")
        role = _role(replica.as_text if replica else "master") or "chief"
        last_role = "chief" if "chief" in roles else "worker"
        if role != last_role or (index and index.value != 0):
            task = f"{role} {index.as_text if index else 0}"
            self.report.refuse(
                chief,
                f"found {task}, expected {last_role} 0, the task that ends the imported job; set replicaName and "
                "replicaIndex to this task, and see spec.completion for other ends",
            )
        else:
            self.report.carry(chief, "spec", "completion", "by")

    def _with_policies(self, roles: Mapping[RoleName, ForeignRole]) -> dict[RoleName, ForeignRole]:
        """Set the restart policies of the job and of its roles, if the imported job has the workload kind TFJob.

        For any other workload kind, report how tfgen restarts the tasks, and return the roles unchanged.
        """
        by_role: dict[RoleName, str] = {
            role: policy.as_text if (policy := self.policies[role]) else _DEFAULT_RESTART_POLICY for role in roles
        }
        values = list(by_role.values())
        common = max(values, key=values.count)
        if self.keeps_kind:
            self.set_value(common, *_TF_JOB, "restartPolicy")
        for role, part in self.policies.items():
            if role not in roles:
                continue
            if part is None:
                if not self.keeps_kind:
                    self.report.note(roles[role].part, f"the replica has no restartPolicy; {self._restarts(role, '')}")
            elif self.keeps_kind:
                path = ("spec", "workload", "tfJob") if by_role[role] == common else (*ROLES, role)
                self.report.carry(part, *path, "restartPolicy")
            else:
                self.report.change(part, "spec", "retries", why=self._restarts(role, part.as_text))
        if not self.keeps_kind:
            return dict(roles)
        return {
            name: role if by_role[name] == common else role.replaced(fields={"restartPolicy": by_role[name]})
            for name, role in roles.items()
        }

    def _restarts(self, role: RoleName, policy: str) -> str:
        restarts = "a stopped ps always restarts" if role == "ps" else RESTARTS
        if policy != "ExitCode":
            return restarts
        codes = "under the operator, an exit code below 128 failed the job immediately"
        if self.options.operator is None or self.options.operator < (1, 5):
            codes += " (in versions up to 1.4, any exit code except 130, 137, 138 and 143)"
        return f"{restarts}, after any exit code; {codes}"

    def _read_completion(self, plan: TrainingPlan) -> None:
        if plan.completion_by != default_end(plan.strategy):
            self.set_value(plan.completion_by, *_COMPLETION, "by")
            if plan.completion_by == "Worker0":
                self.comments[(*_COMPLETION, "by")] = "Without a chief, the job ends when worker 0 ends."
        spec, policy = self.item.value["spec"], self.job.get("spec", "runPolicy", "cleanPodPolicy")
        operator = self.options.operator
        if policy:
            self._clean(policy)
        elif self.version == "v1" and operator is not None and operator >= _KEEPS_PODS_SINCE:
            self.set_value("Keep", *_COMPLETION, "release")
            version = ".".join(map(str, operator))
            self.report.note(
                spec, f"the TFJob has no cleanPodPolicy, so version {version} of the operator deletes no pods"
            )
        elif self.version == "v1" and operator is None:
            why = (
                "the TFJob has no cleanPodPolicy; when the job ends, tfgen releases the running tasks, as the operator "
                "up to version 1.5 did; to keep the tasks, as the operator from version 1.6 did, set --operator-version"
            )
            self.report.note(spec, why)

    def _clean(self, part: Part) -> None:
        release = (*_COMPLETION, "release")
        match part.value:
            case "None":
                self.set_value("Keep", *release)
                self.report.carry(part, *release)
                self.comments[release] = (
                    "cleanPodPolicy was None: running tasks keep their GPUs when the job ends. The default frees them."
                )
            case "Running" | "":
                self.report.carry(part, *release)
            case "All" if self.keeps_kind:
                self.apply_row(part, carried(*_TF_JOB, "cleanPodPolicy"))
            case "All":
                why = (
                    "when the job ends, tfgen releases the running tasks, but does not delete ended pods and their logs"
                )
                self.report.change(part, *release, why=why)
            case _:
                self.report.refuse(part, f"found {part.as_text}, expected None, Running or All")

    def _workload(self, plan: TrainingPlan, replicas: Part) -> None:
        is_master = "Master" in replicas.value and "chief" in plan.roles
        if self.keeps_kind:
            self.set_value("TFJob", "spec", "workload", "kind")
            if self.version == "v1beta1":
                self.set_value("v1beta1", *_TF_JOB, "apiVersion")
            if is_master:
                self.set_value("Master", *_TF_JOB, "leader")
        elif is_master and plan.strategy == "Single":
            self.report.note(replicas.value["Master"], "a job with a single task gets no TF_CONFIG")
        elif is_master:
            self.report.note(
                replicas.value["Master"], "in TF_CONFIG, the task type is chief, which TensorFlow treats as master"
            )
        dynamic = _DYNAMIC_TF_JOB if self.keeps_kind else _DYNAMIC
        read = ("runPolicy", "successPolicy", _TENSORBOARD, "tfReplicaSpecs", "terminationPolicy")
        self.fields(self.job.get("spec"), {**self._ignored_fields("a TFJob", *read), "enableDynamicWorker": dynamic})
        in_cluster = self.options.operator is None or self.options.operator >= _EVALUATOR_IN_CLUSTER_SINCE
        if "evaluator" in plan.roles and not self.keeps_kind and in_cluster:
            why = "the TF_CONFIG of the other tasks no longer lists the evaluator"
            self.report.note(plan.roles["evaluator"].part, f"{why}, which the operator listed from version 1.1")

    def _gang(self, plan: TrainingPlan) -> None:
        roles = plan.roles
        schedulers = [role.pod.scheduler for role in roles.values() if role.pod.scheduler]
        tasks = sum(role.replicas for name, role in roles.items() if name != "evaluator")
        tasks_with_evaluator = sum(role.replicas for role in roles.values())
        policy = self.job.get("spec", "runPolicy", "schedulingPolicy")
        numbers = (tasks, tasks_with_evaluator)
        sources = gang.Sources(self.name, self.group_keys, schedulers, policy, self.companions, numbers)
        foreign_gang = gang.read(sources, self.report)
        if foreign_gang.scheduler_name:
            self.spec["podTemplate"] = {"spec": {"schedulerName": foreign_gang.scheduler_name}}
        if foreign_gang.data is None or plan.strategy == "Single":
            return
        self.spec["gang"] = dict(foreign_gang.data)
        by_operator = self.keeps_kind and self.version == "v1" and not foreign_gang.has_group
        if by_operator and foreign_gang.data["scheduler"] == "volcano":
            self.set_value("Operator", *_TF_JOB, "gang")
            for key in ("schedulerName", "scheduleTimeoutSeconds"):
                if self.spec["gang"].pop(key, None) is not None:
                    self.report.note(policy or self.item, f"the operator creates the PodGroup, and sets {key} itself")

    def _tensorboard(self) -> Mapping[str, Any]:
        """Convert the field tensorBoard of v1alpha1, and return the volumes of TensorBoard."""
        board = self.job.get("spec", _TENSORBOARD)
        if board is None:
            return {}
        for key, part in board.entries():
            if key == "logDir":
                self.spec["tensorboard"] = {"logDir": part.as_text}
                self.report.carry(part, "spec", "tensorboard", "logDir")
            elif key not in ("volumes", "volumeMounts"):
                self.report.drop(part, "tfgen sets the Service of TensorBoard; see spec.tensorboard")
        container = {"name": board.scalar("tensorboard")}
        container |= {key: part for key, part in board.entries() if key == "volumeMounts"}
        spec = {key: part for key, part in board.entries() if key == "volumes"}
        spec["containers"] = sequence(board, [mapping(board, container)])
        template = pod_template.valid_template(mapping(board, {"spec": mapping(board, spec)}), self.report)
        main = pod_template.main_container(template) if template else None
        if template is None or main is None:
            return {}
        translated = volumes.translate(template, main, (*ROLES, "tensorboard"), self.report)
        if translated.volumes or translated.mounts:
            why = "spec.storage has no equivalent for a volume of this TensorBoard; mount a claim, or remove the volume"
            self.report.refuse(board, why)
        return translated.storage

    # -- fields that the operator ignores --------------------------------------------------------------------------

    def _ignored_fields(self, owner: str, *read: str) -> Fields:
        """Return a table that reports each unknown field as dropped, because the training operator ignores the field.

        Args:
            owner: the object or field that contains the fields, for the reason: "a TFJob has no field foo, ...".
            read: the names of fields that the table skips, because other functions read these fields.
        """
        return {**_OLD_FIELDS, **dict.fromkeys(read), ANY_KEY: lambda key, part: self._drop_ignored(key, part, owner)}

    def _drop_ignored(self, key: str, part: Part, owner: str) -> None:
        hint = meant(nearest(key, _field_names(schema_file.load("tfjob.kubeflow.org.v1.json"))))
        self.report.drop(part, f"{owner} has no field {key}, so the operator ignores the field{hint}")


def _field_names(schema: Mapping[str, Any]) -> set[str]:
    names: set[str] = set()
    pending: list[Any] = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, Mapping):
            names |= set(node.get("properties", ()))
            pending += node.values()
    return names
