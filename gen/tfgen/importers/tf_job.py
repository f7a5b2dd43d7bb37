"""TFJobs of Kubeflow, in all the shapes that they had.

    tensorflow.org/v1alpha1                 kind TfJob, and later TFJob, else as the next
    kubeflow.org/v1alpha1                   spec.replicaSpecs[].tfReplicaType
    kubeflow.org/v1alpha2, v1beta1          spec.cleanPodPolicy, spec.tfReplicaSpecs
    kubeflow.org/v1beta2, v1 up to 1.0.0    and spec.activeDeadlineSeconds, spec.backoffLimit
    kubeflow.org/v1                         spec.runPolicy, spec.tfReplicaSpecs

`canonical` puts each into the last shape, and the reader knows that one alone. Fields and defaults by the operator's
own types: https://github.com/kubeflow/trainer/tree/release-1.9/pkg/apis/kubeflow.org/v1, and
pkg/apis/tensorflow/VERSION/types.go of its earlier branches.
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
from tfgen.importers.objects import api_group, api_version, kind
from tfgen.importers.options import Options
from tfgen.importers.part import Part, mapping, sequence
from tfgen.importers.pod_template import Program
from tfgen.importers.shapes import ANY_KEY, METADATA, SCALAR, refuse_misshapen
from tfgen.importers.task_command import TF_CONFIG, TaskCommand, legacy_keys, variables_of_tf_config
from tfgen.job.training_job import RoleName
from tfgen.schema import file as schema_file
from tfgen.schema.workload_kinds.facts import CompletionBy
from tfgen.text.document import MAX_PROBLEMS
from tfgen.words import either, meant, nearest

_KINDS: Final = ("TFJob", "TfJob")
_GROUPS: Final = ("kubeflow.org", "tensorflow.org")
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
"""The replica types of today's operator, by the type in lower case."""

_POLICY_KEYS: Final = ("activeDeadlineSeconds", "backoffLimit", "cleanPodPolicy", "ttlSecondsAfterFinished")
_MOVED: Final[Mapping[str, str]] = {**{key: key for key in _POLICY_KEYS}, "cleanupPodPolicy": "cleanPodPolicy"}
"""The fields of spec that moved to spec.runPolicy, with their names there."""

_OLD: Final[Fields] = {
    "RuntimeId": dropped("the operator wrote it"),
    "tfImage": dropped("the image of the server that the operator ran for a ps without a template"),
}
"""Fields of v1alpha1 without a meaning for a job."""

_NEVER: Final = "Never"
"""The restart policy of a replica that says none (pkg/apis/kubeflow.org/v1/tensorflow_defaults.go)."""

_CLEANS_NONE: Final = (1, 6)
"""From this version of the operator on it leaves all pods where cleanPodPolicy is not said."""
_TELLS_EVALUATOR: Final = (1, 1)
"""From this version on the evaluator stands in every task's cluster."""

_OF_ONE_TASK: Final = "one task alone is told of no cluster, and the program had this value before"
"""Why a variable TF_CONFIG is dropped that no operator replaced."""
_TENSORBOARD: Final = "tensorboard"
"""v1alpha1's field, in lower case. Go's reader of JSON, and so the operator, takes it in any case."""

_TF_JOB: Final = ("spec", "workload", "tfJob")
_POLICY: Final[Fields] = {
    **AS_PODS,
    "backoffLimit": changed("spec", "retries", why="each task's own failures are counted, not all together"),
    "cleanPodPolicy": None,
    "managedBy": dropped("it hands the TFJob to another controller"),
    "schedulingPolicy": None,
    "suspend": dropped("the job starts when it is applied; import it with --workload TFJob to keep it", default=False),
}
_POLICY_OF_TF_JOB: Final[Fields] = {
    **AS_WORKLOAD,
    "activeDeadlineSeconds": carried(*_TF_JOB, "activeDeadlineSeconds"),
    "backoffLimit": carried("spec", "retries"),
}
"""Fields of runPolicy that differ for a job that stays a TFJob."""
_DYNAMIC: Final = dropped("every task knows all others; a new number of workers is a new run", default=False)
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


def is_tf_job(item: Part) -> bool:
    """Whether an object is a TFJob, of a version that there was or not; the first were of TensorFlow's own group."""
    return kind(item) in _KINDS and api_group(item) in _GROUPS


def canonical(item: Part) -> Part:
    """The object in the shape of today's kubeflow.org/v1, each part where it stands in the file."""
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
            replicas[_type(_written_type(replica))] = replica.replaced(value=fields)
    return old.replaced(value=replicas)


def _written_type(replica: Part) -> str:
    """The type of a replica in v1alpha1's list; its operator's default, where it says none."""
    return replica.text_at("tfReplicaType") or "MASTER"


def _role(text: str) -> RoleName | None:
    return ROLE_WORDS[text.lower()] if text.lower() in _TYPES else None


def _type(text: str) -> str:
    return _TYPES.get(text.lower(), text)


def _refuse_second_replicas(item: Part, report: ImportReport) -> None:
    """Refuse replicas of a role that earlier replicas have."""
    replicas = [(_written_type(replica), replica) for replica in item.items("spec", "replicaSpecs")]
    replicas += [*item.entries("spec", "tfReplicaSpecs")]
    roles: set[RoleName | None] = {None}
    for text, part in replicas:
        role = _role(text)
        if role == "chief" and role in roles:
            report.refuse(part, "a job has one chief: Chief, or Master")
        elif role and role in roles:
            report.refuse(part, f"{_type(text)} stands here twice; a TFJob has it once")
        roles.add(role)


def read(item: Part, companions: Sequence[Part], options: Options, report: ImportReport) -> ForeignJob | None:
    """A TFJob and what belongs to it beside it; None where it cannot be imported, which the account then says."""
    if api_version(item) not in VERSIONS:
        report.refuse(item.value["apiVersion"], f"no TFJob has this version; known are {either(VERSIONS, 'and')}")
        return None
    boards = [part for key, part in item.entries("spec") if key.lower() == _TENSORBOARD]
    if any(
        [refuse_misshapen(item, _SHAPE, report), *(refuse_misshapen(b, _TENSORBOARD_SHAPE, report) for b in boards)]
    ):
        return None
    if len(boards) > 1:
        report.refuse(boards[1], f"it stands here twice, first as {boards[0].path[-1]}; a TFJob has it once")
    _refuse_second_replicas(item, report)
    return _TFJob(item, companions, options, report).read()


class _TFJob(JobReader):
    """The reading of one TFJob."""

    format = "TFJob"
    kind = "TFJob"
    queue_kinds = "TFJob, or JobSet"

    def __init__(self, item: Part, companions: Sequence[Part], options: Options, report: ImportReport) -> None:
        super().__init__(item, canonical(item), options, report)
        self.companions, self.version = companions, api_version(item)
        self.bindings: list[Part] = []
        self.policies: dict[RoleName, Part | None] = {}

    @property
    def _is_alone(self) -> bool:
        """Whether the job is one task, which is told of no cluster."""
        numbers = {role: part.get("replicas") for role, part in self.job.entries("spec", "tfReplicaSpecs")}
        tasks = {role: number.value if number else 1 for role, number in numbers.items() if not number or number.value}
        return self.options.single_task_strategy == "Single" and list(tasks.values()) == [1] and "PS" not in tasks

    def read(self) -> ForeignJob | None:
        replicas = self.job.get("spec", "tfReplicaSpecs")
        if replicas is None or not isinstance(replicas.value, Mapping) or not replicas.value:
            self.report.refuse(self.item, "the TFJob has no tfReplicaSpecs")
            return None
        roles = self._roles(replicas)
        if not roles:
            if not self.report.problems:
                self.report.refuse(replicas, "no replica has any tasks")
            return None
        for replica in self.item.items("spec", "replicaSpecs"):
            if task_type := replica.get("tfReplicaType"):
                self.report.carry(task_type, *ROLES, ROLE_WORDS[task_type.as_text.lower()])
        self.metadata()
        roles = self._with_policies(roles)
        plan = training_plan(roles, self._ends(roles), self.report, self.options.single_task_strategy)
        self._completion(plan)
        policy = {**self._unknown("runPolicy"), **_POLICY, **(_POLICY_OF_TF_JOB if self.keeps_kind else {})}
        self.fields(self.job.get("spec", "runPolicy"), policy)
        self._workload(plan, replicas)
        self._gang(plan)
        board = self._tensorboard()
        for _, replica in replicas.entries():
            self.fields(replica, self._unknown("a TFJob", "replicas", "restartPolicy", "template", "tfPort"))
        self.fields(self.job, self._unknown("a TFJob", "apiVersion", "kind", "metadata", "status", "spec"))
        return self.foreign_job(plan, tensorboard_storage=board)

    # -- roles ----------------------------------------------------------------------------------------------------

    def _roles(self, replicas: Part) -> dict[RoleName, ForeignRole]:
        parts: dict[RoleName, Part] = {}
        for key, part in islice(replicas.entries(), MAX_PROBLEMS):
            if role := _role(key):
                parts.setdefault(role, part)
            else:
                near = meant(nearest(key, list(_TYPES.values())))
                self.report.refuse(part, f"a TFJob has no replica type {key}{near}")
        roles = {role: read for role, part in parts.items() if (read := self._read_role(role, part, parts))}
        return {} if self.report.problems else roles

    def _read_role(self, role: RoleName, part: Part, parts: Mapping[RoleName, Part]) -> ForeignRole | None:
        replicas = number_of_tasks(part, role, self.report)
        if replicas is None:
            return None
        template = part.get("template") or self._borrowed_template(part, parts)
        if template is None or not isinstance(template.value, Mapping):
            self.report.refuse(part, "the replica has no template")
            return None
        if pod_policy := template.get("spec", "restartPolicy"):
            self.report.drop(pod_policy, "the replica's restartPolicy wins")
        binding = gang.unbind(template)
        self.bindings += binding.parts
        self.commands[role] = command = self._command(binding.template)
        pod = read_pod(binding.template, role, command, self.report, (PORT_NAME,))
        if pod is None:
            return None
        if old_port := part.get("tfPort"):
            pod = pod.replaced(port=pod.port or old_port)
            self.report.carry(old_port, "spec", "port")
        self.policies[role] = part.get("restartPolicy")
        return ForeignRole(part, replicas, pod)

    def _command(self, template: Part) -> TaskCommand:
        """What tells a program of TensorFlow 1 its place; the operator's own TF_CONFIG is no line of the manifest.

        The hosts of a TFJob that stays one keep their names.
        """
        command = TaskCommand() if self.keeps_kind else command_of(template)
        if not legacy_keys([command]):
            # The operator puts its own TF_CONFIG behind that of a program, but gives none to one task alone.
            main = pod_template.main_container(template)
            omitted = variables_of_tf_config(main) if main else {}
            if self._is_alone and TF_CONFIG in omitted:
                omitted = {**omitted, TF_CONFIG: _OF_ONE_TASK}
            return TaskCommand(Program(omitted=omitted))
        if command.refused:
            self.report.refuse(pod_template.main_container(template) or template, command.refused)
        return command

    def _borrowed_template(self, part: Part, parts: Mapping[RoleName, Part]) -> Part | None:
        """The template of another replica: v1alpha1's operator ran a server of its own for a ps without one."""
        lender = parts.get("worker") or parts.get("chief")
        template = lender.get("template") if lender and self.version == "v1alpha1" else None
        if template is None or lender is part:
            return None
        self.report.note(
            part,
            "the operator ran a server of its own for it; here it runs the program, which must serve as a ps",
            covers=True,
        )
        self.comments[(*ROLES, "ps")] = "The operator ran a server of its own here; now the program must serve as a ps."
        containers = [c for c in template.items("spec", "containers") if isinstance(c.value, Mapping)]
        main = pod_template.main_container(template)
        if main is None:
            return template
        part_of = [c.without("resources") if c is main else c for c in containers]
        template = template.without_path(pod_template.RESTART_POLICY)
        return template.with_part(("spec", "containers"), sequence(template.value["spec"].value["containers"], part_of))

    # -- what the job says as a whole ------------------------------------------------------------------------------

    def _ends(self, roles: Mapping[RoleName, ForeignRole]) -> CompletionBy:
        """Whose end ends the job, by the operator's own rule (updateJobStatus of its TFJob controller)."""
        ends: CompletionBy = "Worker0"
        policy = self.job.get("spec", "successPolicy")
        if policy and policy.value == "AllWorkers":
            if "chief" in roles:
                self.report.drop(policy, "the chief's end ends the job")
            elif sum(role.replicas for role in roles.values()) == 1:
                self.report.drop(policy, "the end of the one task ends the job")
            else:
                ends = "AllWorkers"
                self.report.carry(policy, "spec", "completion", "by")
        elif policy:
            if policy.value == "":
                self.report.carry(policy, why="the operator's default")
            else:
                self.report.refuse(policy, f"found {policy.as_text}, expected AllWorkers, or nothing")
        if chief := self.job.get("spec", "terminationPolicy", "chief"):
            self._old_chief(chief, roles)
        return ends

    def _old_chief(self, chief: Part, roles: Mapping[RoleName, ForeignRole]) -> None:
        """v1alpha1 names the task that ends the job."""
        named, index = chief.get("replicaName"), chief.get("replicaIndex")
        role = _role(named.as_text if named else "master") or "chief"
        ends = "chief" if "chief" in roles else "worker"
        if role != ends or (index and index.value != 0):
            self.report.refuse(chief, f"the task that ends a job with these replicas is {ends} 0; see spec.completion")
        else:
            self.report.carry(chief, "spec", "completion", "by")

    def _with_policies(self, roles: Mapping[RoleName, ForeignRole]) -> dict[RoleName, ForeignRole]:
        """The roles with their restart policies, as a TFJob has them; what Kubernetes' kinds do otherwise is said."""
        by_role: dict[RoleName, str] = {
            role: policy.as_text if (policy := self.policies[role]) else _NEVER for role in roles
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
                    self.report.note(roles[role].part, f"it says no restartPolicy; here {self._restarts(role, '')}")
            elif self.keeps_kind:
                path = ("spec", "workload", "tfJob") if by_role[role] == common else (*ROLES, role)
                self.report.carry(part, *path, "restartPolicy")
            else:
                self.report.change(part, "spec", "retries", why=self._restarts(role, part.as_text))
        if not self.keeps_kind:
            return dict(roles)
        return {
            name: role if by_role[name] == common else role.replaced(own={"restartPolicy": by_role[name]})
            for name, role in roles.items()
        }

    def _restarts(self, role: RoleName, policy: str) -> str:
        serves = role == "ps"
        here = "a ps is always started again" if serves else RESTARTS
        if policy != "ExitCode":
            return here
        codes = "codes below 128 failed the job at once"
        if self.options.operator is None or self.options.operator < (1, 5):
            codes += " (up to operator 1.4 all codes but 130, 137, 138 and 143 did)"
        return f"{here}, whatever its exit code; {codes}"

    def _completion(self, plan: TrainingPlan) -> None:
        ends_alone = "Chief" if plan.strategy != "MultiWorkerMirrored" else "Worker0"
        if plan.ends != ends_alone:
            self.set_value(plan.ends, *_COMPLETION, "by")
            if plan.ends == "Worker0":
                self.comments[(*_COMPLETION, "by")] = "Without a chief, worker 0 ends the job."
        spec, policy = self.item.value["spec"], self.job.get("spec", "runPolicy", "cleanPodPolicy")
        if policy:
            self._clean(policy)
        elif self._cleans_none():
            self.set_value("Keep", *_COMPLETION, "release")
            version = ".".join(map(str, self.options.operator or _CLEANS_NONE))
            self.report.note(spec, f"operator {version} leaves the pods of a TFJob without cleanPodPolicy")
        elif self.version == "v1" and self.options.operator is None:
            why = (
                "it says no cleanPodPolicy, for which operators up to 1.5 delete what still runs, and those from 1.6 "
                "nothing; tfgen frees what still runs. See --operator-version"
            )
            self.report.note(spec, why)

    def _cleans_none(self) -> bool:
        return self.version == "v1" and self.options.operator is not None and self.options.operator >= _CLEANS_NONE

    def _clean(self, part: Part) -> None:
        release = (*_COMPLETION, "release")
        match part.value:
            case "None":
                self.set_value("Keep", *release)
                self.report.carry(part, *release)
                self.comments[release] = (
                    "As cleanPodPolicy None: what still runs stays, with its GPUs. Without this it is freed."
                )
            case "Running" | "":
                self.report.carry(part, *release)
            case "All" if self.keeps_kind:
                self.apply_row(part, carried(*_TF_JOB, "cleanPodPolicy"))
            case "All":
                why = "what still runs is freed; pods that have ended stay, with their logs"
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
            self.report.note(replicas.value["Master"], "one task alone is told of no cluster")
        elif is_master:
            self.report.note(replicas.value["Master"], "TF_CONFIG calls it chief, which TensorFlow takes for the same")
        dynamic = _DYNAMIC_TF_JOB if self.keeps_kind else _DYNAMIC
        read = ("runPolicy", "successPolicy", _TENSORBOARD, "tfReplicaSpecs", "terminationPolicy")
        self.fields(self.job.get("spec"), {**self._unknown("a TFJob", *read), "enableDynamicWorker": dynamic})
        tells_evaluator = self.options.operator is None or self.options.operator >= _TELLS_EVALUATOR
        if "evaluator" in plan.roles and not self.keeps_kind and tells_evaluator:
            why = "the evaluator stands in its own TF_CONFIG alone; operators from 1.1 put it into all"
            self.report.note(plan.roles["evaluator"].part, why)

    def _gang(self, plan: TrainingPlan) -> None:
        roles = plan.roles
        schedulers = [role.pod.scheduler for role in roles.values() if role.pod.scheduler]
        tasks = sum(role.replicas for name, role in roles.items() if name != "evaluator")
        every = sum(role.replicas for role in roles.values())
        policy = self.job.get("spec", "runPolicy", "schedulingPolicy")
        sources = gang.Sources(self.name, self.bindings, schedulers, policy, self.companions, (tasks, every))
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
                    self.report.note(policy or self.item, f"the operator that makes the PodGroup has its own {key}")

    def _tensorboard(self) -> Mapping[str, Any]:
        """The TensorBoard of v1alpha1, and its volumes."""
        board = self.job.get("spec", _TENSORBOARD)
        if board is None:
            return {}
        for key, part in board.entries():
            if key == "logDir":
                self.spec["tensorboard"] = {"logDir": part.as_text}
                self.report.carry(part, "spec", "tensorboard", "logDir")
            elif key not in ("volumes", "volumeMounts"):
                self.report.drop(part, "its Service is for the cluster alone; see spec.tensorboard")
        container = {"name": board.scalar("tensorboard")}
        container |= {key: part for key, part in board.entries() if key == "volumeMounts"}
        spec = {key: part for key, part in board.entries() if key == "volumes"}
        spec["containers"] = sequence(board, [mapping(board, container)])
        template = pod_template.shaped(mapping(board, {"spec": mapping(board, spec)}), self.report)
        main = pod_template.main_container(template) if template else None
        if template is None or main is None:
            return {}
        translated = volumes.translate(template, main, (*ROLES, "tensorboard"), self.report)
        if translated.volumes or translated.mounts:
            self.report.refuse(board, "its volumes are none that spec.storage has a word for")
        return translated.storage

    # -- what is left ----------------------------------------------------------------------------------------------

    def _unknown(self, owner: str, *read: str) -> Fields:
        """The outcomes of the fields that the operator ignores as well: all but those that another step reads."""
        return {**_OLD, **dict.fromkeys(read), ANY_KEY: lambda key, part: self._ignored(key, part, owner)}

    def _ignored(self, key: str, part: Part, owner: str) -> None:
        near = meant(nearest(key, _field_names(schema_file.load("tfjob.kubeflow.org.v1.json"))))
        self.report.drop(part, f"{owner} has no field {key}, and the operator ignores it{near}")


def _field_names(schema: Mapping[str, Any]) -> set[str]:
    names: set[str] = set()
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            names |= set(node.get("properties", ()))
            waiting += node.values()
    return names
