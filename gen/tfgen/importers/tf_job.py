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

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.importers import gang, pod_template, volumes
from tfgen.importers.account import Account
from tfgen.importers.foreign_job import ROLES, ForeignJob, ForeignRole, Settled, number_of_tasks, settle
from tfgen.importers.objects import LAST_APPLIED, api_group, api_version, drop_server_fields, kind
from tfgen.importers.options import Options
from tfgen.importers.part import Part, mapping, sequence
from tfgen.importers.pod_template import Program
from tfgen.importers.shapes import EACH, METADATA, SCALAR, refuse_misshapen
from tfgen.importers.task_command import (
    TF_CONFIG,
    WHY_TF_CONFIG,
    TaskCommand,
    legacy_keys,
    read_command,
    why_changed,
)
from tfgen.job.training_job import RoleName
from tfgen.kubernetes import keys
from tfgen.schema import file as schema_file
from tfgen.schema.workload_kinds.facts import CompletionBy
from tfgen.text.document import MAX_PROBLEMS
from tfgen.words import either, meant, nearest

_KINDS: Final = ("TFJob", "TfJob")
_GROUPS: Final = ("kubeflow.org", "tensorflow.org")
VERSIONS: Final = ("v1", "v1beta2", "v1beta1", "v1alpha2", "v1alpha1")
PORT_NAME: Final = "tfjob-port"

_TYPES: Final[Mapping[str, tuple[str, RoleName]]] = {
    "chief": ("Chief", "chief"),
    "master": ("Master", "chief"),
    "ps": ("PS", "ps"),
    "worker": ("Worker", "worker"),
    "evaluator": ("Evaluator", "evaluator"),
    "eval": ("Evaluator", "evaluator"),
}
"""A replica type in lower case, as the operator reads it: as today's operator writes it, and tfgen's role."""

_MOVED: Final[Mapping[str, str]] = {
    "activeDeadlineSeconds": "activeDeadlineSeconds",
    "backoffLimit": "backoffLimit",
    "cleanPodPolicy": "cleanPodPolicy",
    "cleanupPodPolicy": "cleanPodPolicy",
    "ttlSecondsAfterFinished": "ttlSecondsAfterFinished",
}
"""What stood in spec and stands in spec.runPolicy."""

_OLD: Final[Mapping[str, str]] = {
    "RuntimeId": "the operator wrote it",
    "tfImage": "the image of the server that the operator ran for a ps without a template",
}
"""Fields of v1alpha1 that mean nothing to a job."""

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
        "tfReplicaSpecs": {EACH: _REPLICA},
    },
}
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
        own = dict(policy.value) if policy else {}
        fields["runPolicy"] = (policy or spec).replaced(value={**moved, **own})
    fields.pop("replicaSpecs", None)
    return item.replaced(value={**item.value, "spec": spec.replaced(value=fields)})


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
    written_type = replica.get("tfReplicaType")
    return written_type.written if written_type else "MASTER"


def _refuse_second_replicas(item: Part, account: Account) -> None:
    """Refuse replicas of a role that others have, too."""
    replicas = [(_written_type(replica), replica) for replica in item.items("spec", "replicaSpecs")]
    replicas += [*item.entries("spec", "tfReplicaSpecs")]
    roles: set[RoleName] = set()
    for text, part in replicas:
        replica_type, role = _TYPES.get(text.lower(), (text, None))
        if role in roles:
            one = (
                "a job has one chief: Chief, or Master"
                if role == "chief"
                else f"{replica_type} stands here twice; a TFJob has it once"
            )
            account.refuse(part, one)
        elif role:
            roles.add(role)


def _type(text: str) -> str:
    return _TYPES[text.lower()][0] if text.lower() in _TYPES else text


def read(item: Part, others: Sequence[Part], options: Options, account: Account) -> ForeignJob | None:
    """A TFJob and what belongs to it beside it; None where it cannot be imported, which the account then says."""
    if api_version(item) not in VERSIONS:
        account.refuse(item.value["apiVersion"], f"no TFJob has this version; known are {either(VERSIONS, 'and')}")
        return None
    boards = [part for key, part in item.entries("spec") if key.lower() == _TENSORBOARD]
    if any(
        [refuse_misshapen(item, _SHAPE, account), *(refuse_misshapen(b, _TENSORBOARD_SHAPE, account) for b in boards)]
    ):
        return None
    if len(boards) > 1:
        account.refuse(boards[1], f"it stands here twice, first as {boards[0].path[-1]}; a TFJob has it once")
    _refuse_second_replicas(item, account)
    return _TFJob(item, others, options, account).foreign_job()


class _TFJob:
    """The reading of one TFJob."""

    def __init__(self, item: Part, others: Sequence[Part], options: Options, account: Account) -> None:
        self.item, self.others, self.options, self.account = item, others, options, account
        self.job = canonical(item)
        self.version = api_version(item)
        self.spec: dict[str, Any] = {}
        self.comments: dict[Path, str] = {}
        self.bindings: list[Part] = []
        self.policies: dict[RoleName, Part | None] = {}

    @property
    def _is_tf_job(self) -> bool:
        """Whether a TFJob is written, too."""
        return self.options.kind == "TFJob"

    @property
    def _is_alone(self) -> bool:
        """Whether the job is one task, which is told of no cluster."""
        numbers = {role: part.get("replicas") for role, part in self.job.entries("spec", "tfReplicaSpecs")}
        tasks = {role: number.value if number else 1 for role, number in numbers.items() if not number or number.value}
        return self.options.alone == "Single" and list(tasks.values()) == [1] and "PS" not in tasks

    def foreign_job(self) -> ForeignJob | None:
        replicas = self.job.get("spec", "tfReplicaSpecs")
        if replicas is None or not isinstance(replicas.value, Mapping) or not replicas.value:
            self.account.refuse(self.item, "the TFJob has no tfReplicaSpecs")
            return None
        roles = self._roles(replicas)
        if not roles:
            if not self.account.problems:
                self.account.refuse(replicas, "no replica has any tasks")
            return None
        drop_server_fields(self.item, self.account)
        for replica in self.item.items("spec", "replicaSpecs"):
            if task_type := replica.get("tfReplicaType"):
                self.account.carry(task_type, *ROLES, _TYPES[task_type.written.lower()][1])
        labels = self._metadata()
        roles = self._with_policies(roles)
        settled = settle(roles, self._ends(roles), self.account, self.options.alone)
        self._run_policy(settled)
        self._workload(settled, replicas)
        self._gang(settled)
        board = self._tensorboard()
        if settled.comment:
            self.comments["spec", "strategy"] = settled.comment
        namespace = self.job.get("metadata", "namespace")
        for key, own in labels.items():
            self.spec.setdefault(key, {}).update(own)
        self._say_unknown()
        return ForeignJob(
            form="TFJob",
            root=self.item,
            name=self.options.name or self._name(),
            namespace=namespace.written if namespace else None,
            roles=settled.roles,
            strategy=settled.strategy,
            spec=self.spec,
            comments=self.comments,
            tensorboard_storage=board,
        )

    # -- metadata -------------------------------------------------------------------------------------------------

    def _metadata(self) -> dict[str, dict[str, str]]:
        own: dict[str, dict[str, str]] = {}
        for key, part in self.job.entries("metadata"):
            match key:
                case "name" | "namespace":
                    self.account.carry(part, "metadata", key)
                case "generateName":
                    self.account.change(part, "metadata", "name", why="a job has one name, and each run of it another")
                case "labels" | "annotations":
                    own[key] = self._own_keys(key, part)
        return own

    def _own_keys(self, key: str, part: Part) -> dict[str, str]:
        queue = part.get(keys.QUEUE)
        if queue and self._is_tf_job:
            self.spec["gang"] = {"scheduler": "kueue", "queue": queue.written}
            self.account.carry(queue, "spec", "gang", "queue")
        elif queue:
            self.account.drop(queue, "Kueue admits one object at a time; import with --workload TFJob, or JobSet")
        rest = part.without(keys.QUEUE, LAST_APPLIED)
        return pod_template.own_keys(rest, ("spec", key), self.account)

    # -- roles ----------------------------------------------------------------------------------------------------

    def _roles(self, replicas: Part) -> dict[RoleName, ForeignRole]:
        known: dict[RoleName, Part] = {}
        for key, part in islice(replicas.entries(), MAX_PROBLEMS):
            if key.lower() not in _TYPES:
                near = meant(nearest(key, [name for name, _ in _TYPES.values()]))
                self.account.refuse(part, f"a TFJob has no replica type {key}{near}")
            else:
                known.setdefault(_TYPES[key.lower()][1], part)
        roles = {role: read for role, part in known.items() if (read := self._role(role, part, known))}
        return {} if self.account.problems else roles

    def _role(self, role: RoleName, part: Part, known: Mapping[RoleName, Part]) -> ForeignRole | None:
        replicas = number_of_tasks(part, role, self.account)
        if replicas is None:
            return None
        template = part.get("template") or self._borrowed_template(part, known)
        if template is None or not isinstance(template.value, Mapping):
            self.account.refuse(part, "the replica has no template")
            return None
        policy = part.get("restartPolicy")
        if pod_policy := template.get("spec", "restartPolicy"):
            self.account.drop(pod_policy, "the replica's restartPolicy wins")
            template = template.without_path(pod_template.RESTART_POLICY)
        binding = gang.unbind(template)
        self.bindings += binding.parts
        command = self._command(role, binding.template)
        pod = pod_template.translate(
            binding.template,
            role,
            self.account,
            port_names=(PORT_NAME,),
            port=command.port or pod_template.PORT,
            program=command.program,
        )
        if pod is None:
            return None
        if pod.port is None and command.port:
            self.spec["port"] = command.port
        if old_port := part.get("tfPort"):
            pod = pod.replaced(port=pod.port or old_port)
            self.account.carry(old_port, "spec", "port")
        self.policies[role] = policy
        return ForeignRole(part, replicas, pod)

    def _command(self, role: RoleName, template: Part) -> TaskCommand:
        """What tells a program of TensorFlow 1 its place; the operator's own TF_CONFIG is no line of the manifest.

        The hosts of a TFJob that stays one keep their names.
        """
        main = pod_template.main_container(template)
        command = read_command(main) if main and not self._is_tf_job else TaskCommand()
        if main is None or not legacy_keys([command]):
            # The operator puts its own TF_CONFIG behind that of a program, but gives none to one task alone.
            return TaskCommand(Program(omitted={TF_CONFIG: _OF_ONE_TASK if self._is_alone else WHY_TF_CONFIG}))
        if command.refused:
            self.account.refuse(main, command.refused)
        for key in ("command", "args"):
            if command.program.command is not None and (part := main.get(key)):
                self.account.change(part, *ROLES, role, "command", why=why_changed(command))
        self.spec |= legacy_keys([command])
        return command

    def _borrowed_template(self, part: Part, known: Mapping[RoleName, Part]) -> Part | None:
        """The template of another replica: v1alpha1's operator ran a server of its own for a ps without one."""
        if self.version != "v1alpha1":
            return None
        other = known.get("worker") or known.get("chief")
        template = other.get("template") if other else None
        if template is None or other is part:
            return None
        self.account.note(
            part,
            "the operator ran a server of its own for it; here it runs the program, which must serve as a ps",
            covers=True,
        )
        self.comments[(*ROLES, "ps")] = "The operator ran a server of its own here; now the program must serve as a ps."
        containers = [c for c in template.items("spec", "containers") if isinstance(c.value, Mapping)]
        main = pod_template.main_container(template)
        if main is None:
            return template
        bare = [c.without("resources") if c is main else c for c in containers]
        spec = template.value["spec"].without("restartPolicy")
        spec = spec.replaced(value={**spec.value, "containers": spec.value["containers"].replaced(value=bare)})
        return template.replaced(value={**template.value, "spec": spec})

    # -- what the job says as a whole ------------------------------------------------------------------------------

    def _ends(self, roles: Mapping[RoleName, ForeignRole]) -> CompletionBy:
        """Whose end ends the job, by the operator's own rule (updateJobStatus of its TFJob controller)."""
        ends: CompletionBy = "Worker0"
        policy = self.job.get("spec", "successPolicy")
        if policy and policy.value == "AllWorkers":
            if "chief" in roles:
                self.account.drop(policy, "the chief's end ends the job")
            elif sum(role.replicas for role in roles.values()) == 1:
                self.account.drop(policy, "the end of the one task ends the job")
            else:
                ends = "AllWorkers"
                self.account.carry(policy, "spec", "completion", "by")
        elif policy:
            if policy.value == "":
                self.account.carry(policy, why="the operator's default")
            else:
                self.account.refuse(policy, f"found {policy.written}, expected AllWorkers, or nothing")
        if chief := self.job.get("spec", "terminationPolicy", "chief"):
            self._old_chief(chief, roles)
        return ends

    def _old_chief(self, chief: Part, roles: Mapping[RoleName, ForeignRole]) -> None:
        """v1alpha1 names the task that ends the job."""
        named, index = chief.get("replicaName"), chief.get("replicaIndex")
        role = _TYPES.get(named.written.lower() if named else "master", ("", "chief"))[1]
        ends = "chief" if "chief" in roles else "worker"
        if role != ends or (index and index.value != 0):
            self.account.refuse(chief, f"the task that ends a job with these replicas is {ends} 0; see spec.completion")
        else:
            self.account.carry(chief, "spec", "completion", "by")

    def _with_policies(self, roles: Mapping[RoleName, ForeignRole]) -> dict[RoleName, ForeignRole]:
        """The roles with their restart policies, as a TFJob has them; what Kubernetes' kinds do otherwise is said."""
        by_role: dict[RoleName, str] = {
            role: policy.written if (policy := self.policies[role]) else _NEVER for role in roles
        }
        values = list(by_role.values())
        common = max(values, key=values.count)
        if self._is_tf_job:
            self._tf_job("restartPolicy", common)
        for role, part in self.policies.items():
            if role not in roles:
                continue
            if part is None:
                if not self._is_tf_job:
                    self.account.note(roles[role].part, f"it says no restartPolicy; here {self._restarts(role, '')}")
            elif self._is_tf_job:
                path = ("spec", "workload", "tfJob") if by_role[role] == common else (*ROLES, role)
                self.account.carry(part, *path, "restartPolicy")
            else:
                self.account.change(part, "spec", "retries", why=self._restarts(role, part.written))
        if not self._is_tf_job:
            return dict(roles)
        return {
            name: role if by_role[name] == common else role.replaced(own={"restartPolicy": by_role[name]})
            for name, role in roles.items()
        }

    def _restarts(self, role: RoleName, policy: str) -> str:
        serves = role == "ps"
        here = "a ps is always started again" if serves else "a task that fails is started again, up to retries times"
        if policy != "ExitCode":
            return here
        codes = "codes below 128 failed the job at once"
        if self.options.operator is None or self.options.operator < (1, 5):
            codes += " (up to operator 1.4 all codes but 130, 137, 138 and 143 did)"
        return f"{here}, whatever its exit code; {codes}"

    def _run_policy(self, settled: Settled) -> None:
        policy = self.job.get("spec", "runPolicy")
        parts = dict(policy.entries()) if policy else {}
        self._completion(settled, parts)
        for key, part in parts.items():
            match key:
                case "cleanPodPolicy" | "schedulingPolicy":
                    continue
                case "backoffLimit":
                    self.spec["retries"] = part.value
                    why = "" if self._is_tf_job else "each task's own failures are counted, not all together"
                    self._carry_or_change(part, ("spec", "retries"), why)
                case "activeDeadlineSeconds":
                    self._deadline(part)
                case "ttlSecondsAfterFinished" if self._is_tf_job:
                    self.spec.setdefault("workload", {})[key] = part.value
                    self.account.carry(part, "spec", "workload", key)
                case "ttlSecondsAfterFinished":
                    self.account.drop(part, "what git has would be made anew; retire the job with enabled: false")
                case "suspend":
                    self._suspend(part)
                case "managedBy":
                    self.account.drop(part, "it hands the TFJob to another controller")
                case _:
                    self._unknown(part, "runPolicy")

    def _carry_or_change(self, part: Part, target: Path, why: str) -> None:
        if why:
            self.account.change(part, *target, why=why)
        else:
            self.account.carry(part, *target)

    def _deadline(self, part: Part) -> None:
        if self._is_tf_job:
            self._tf_job("activeDeadlineSeconds", part.value)
            self.account.carry(part, "spec", "workload", "tfJob", "activeDeadlineSeconds")
        else:
            self.spec["deadline"] = part.value
            why = "it counts the time that the ending task runs, and no longer the time in a queue"
            self.account.change(part, "spec", "deadline", why=why)

    def _suspend(self, part: Part) -> None:
        if self._is_tf_job:
            self.spec.setdefault("workload", {})["suspend"] = part.value
            self.account.carry(part, "spec", "workload", "suspend")
        elif part.value is False:
            self.account.carry(part, why="tfgen's default")
        else:
            self.account.drop(part, "the job starts when it is applied; import it with --workload TFJob to keep it")

    def _completion(self, settled: Settled, policy: Mapping[str, Part]) -> None:
        completion: dict[str, Any] = {}
        by_itself = "Chief" if settled.strategy != "MultiWorkerMirrored" else "Worker0"
        if settled.ends != by_itself:
            completion["by"] = settled.ends
            if settled.ends == "Worker0":
                self.comments["spec", "completion", "by"] = "Without a chief, worker 0 ends the job."
        part = policy.get("cleanPodPolicy")
        if part:
            self._clean(part, completion)
        elif self._cleans_none():
            completion["release"] = "Keep"
            version = ".".join(map(str, self.options.operator or _CLEANS_NONE))
            self.account.note(
                self.item.value["spec"], f"operator {version} leaves the pods of a TFJob without cleanPodPolicy"
            )
        elif self.version == "v1" and self.options.operator is None:
            why = (
                "it says no cleanPodPolicy, for which operators up to 1.5 delete what still runs, and those from 1.6 "
                "nothing; tfgen frees what still runs. See --operator-version"
            )
            self.account.note(self.item.value["spec"], why)
        if completion:
            self.spec["completion"] = completion

    def _cleans_none(self) -> bool:
        return self.version == "v1" and self.options.operator is not None and self.options.operator >= _CLEANS_NONE

    def _clean(self, part: Part, completion: dict[str, Any]) -> None:
        match part.value:
            case "None":
                completion["release"] = "Keep"
                self.account.carry(part, "spec", "completion", "release")
                self.comments["spec", "completion", "release"] = (
                    "As cleanPodPolicy None: what still runs stays, with its GPUs. Without this it is freed."
                )
            case "Running" | "":
                self.account.carry(part, "spec", "completion", "release")
            case "All" if self._is_tf_job:
                self._tf_job("cleanPodPolicy", "All")
                self.account.carry(part, "spec", "workload", "tfJob", "cleanPodPolicy")
            case "All":
                why = "what still runs is freed; pods that have ended stay, with their logs"
                self.account.change(part, "spec", "completion", "release", why=why)
            case _:
                self.account.refuse(part, f"found {part.written}, expected None, Running or All")

    def _workload(self, settled: Settled, replicas: Part) -> None:
        is_master = "Master" in replicas.value and "chief" in settled.roles
        if self._is_tf_job:
            self.spec.setdefault("workload", {})["kind"] = "TFJob"
            if self.version == "v1beta1":
                self._tf_job("apiVersion", "v1beta1")
            if is_master:
                self._tf_job("leader", "Master")
        elif is_master and settled.strategy == "Single":
            self.account.note(replicas.value["Master"], "one task alone is told of no cluster")
        elif is_master:
            self.account.note(replicas.value["Master"], "TF_CONFIG calls it chief, which TensorFlow takes for the same")
        dynamic = self.job.get("spec", "enableDynamicWorker")
        if dynamic and dynamic.value is True and self._is_tf_job:
            self._tf_job("enableDynamicWorker", True)
            self.account.carry(dynamic, "spec", "workload", "tfJob", "enableDynamicWorker")
        elif dynamic and dynamic.value is True:
            self.account.drop(dynamic, "every task knows all others; a new number of workers is a new run")
        elif dynamic:
            self.account.carry(dynamic, why="tfgen's default")
        if "evaluator" in settled.roles and not self._is_tf_job:
            before = self.options.operator
            if before is None or before >= _TELLS_EVALUATOR:
                why = "the evaluator stands in its own TF_CONFIG alone; operators from 1.1 put it into all"
                self.account.note(settled.roles["evaluator"].part, why)

    def _gang(self, settled: Settled) -> None:
        roles = settled.roles
        schedulers = [role.pod.scheduler for role in roles.values() if role.pod.scheduler]
        tasks = sum(role.replicas for name, role in roles.items() if name != "evaluator")
        every = sum(role.replicas for role in roles.values())
        policy = self.job.get("spec", "runPolicy", "schedulingPolicy")
        foreign_gang = gang.read(
            self._name(), self.bindings, schedulers, policy, self.others, (tasks, every), self.account
        )
        if foreign_gang.scheduler_name:
            self.spec["podTemplate"] = {"spec": {"schedulerName": foreign_gang.scheduler_name}}
        if foreign_gang.data is None or settled.strategy == "Single":
            return
        self.spec["gang"] = dict(foreign_gang.data)
        by_operator = self._is_tf_job and self.version == "v1" and not foreign_gang.has_group
        if by_operator and foreign_gang.data["scheduler"] == "volcano":
            self._tf_job("gang", "Operator")
            for key in ("schedulerName", "scheduleTimeoutSeconds"):
                if self.spec["gang"].pop(key, None) is not None:
                    self.account.note(policy or self.item, f"the operator that makes the PodGroup has its own {key}")

    def _name(self) -> str:
        name, stem = self.job.get("metadata", "name"), self.job.get("metadata", "generateName")
        return name.written if name else stem.written.rstrip("-") if stem else ""

    def _tf_job(self, key: str, value: Any) -> None:
        self.spec.setdefault("workload", {}).setdefault("tfJob", {})[key] = value

    def _tensorboard(self) -> Mapping[str, Any]:
        """The TensorBoard of v1alpha1, and its volumes."""
        board = self.job.get("spec", _TENSORBOARD)
        if board is None:
            return {}
        for key, part in board.entries():
            if key == "logDir":
                self.spec["tensorboard"] = {"logDir": part.written}
                self.account.carry(part, "spec", "tensorboard", "logDir")
            elif key not in ("volumes", "volumeMounts"):
                self.account.drop(part, "its Service is for the cluster alone; see spec.tensorboard")
        container = {"name": board.replaced(value="tensorboard", text=None)}
        container |= {key: part for key, part in board.entries() if key == "volumeMounts"}
        spec = {key: part for key, part in board.entries() if key == "volumes"}
        spec["containers"] = sequence(board, [mapping(board, container)])
        template = pod_template.shaped(mapping(board, {"spec": mapping(board, spec)}), self.account)
        main = pod_template.main_container(template) if template else None
        if template is None or main is None:
            return {}
        translated = volumes.translate(template, main, (*ROLES, "tensorboard"), self.account)
        if translated.volumes or translated.mounts:
            self.account.refuse(board, "its volumes are none that spec.storage has a word for")
        return translated.storage

    # -- what is left ----------------------------------------------------------------------------------------------

    def _say_unknown(self) -> None:
        """Name what the operator does not know either: it drops it, and says nothing."""
        for part in _unknown_fields(self.job):
            self._unknown(part, "a TFJob")

    def _unknown(self, part: Part, what: str) -> None:
        if str(part.path[-1]) in _OLD:
            self.account.drop(part, _OLD[str(part.path[-1])])
            return
        known = schema_file.load("tfjob.kubeflow.org.v1.json")
        names = _field_names(known)
        key = str(part.path[-1])
        self.account.drop(part, f"{what} has no field {key}, and the operator ignores it{meant(nearest(key, names))}")


def _unknown_fields(job: Part) -> Iterator[Part]:
    for key, part in job.entries():
        if key not in ("apiVersion", "kind", "metadata", "status", "spec"):
            yield part
    for key, part in job.entries("spec"):
        known = (
            "runPolicy",
            "successPolicy",
            "enableDynamicWorker",
            _TENSORBOARD,
            "tfReplicaSpecs",
            "terminationPolicy",
        )
        if key not in known:
            yield part
    for _, replica in job.entries("spec", "tfReplicaSpecs"):
        for key, part in replica.entries():
            if key not in ("replicas", "restartPolicy", "template", "tfPort"):
                yield part


def _field_names(schema: Mapping[str, Any]) -> set[str]:
    names: set[str] = set()
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            names |= set(node.get("properties", ()))
            waiting += node.values()
    return names
