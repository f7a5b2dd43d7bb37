"""Reader of Kubeflow's TFJobs in all versions of their API.

    tensorflow.org/v1alpha1                 kind TfJob, later TFJob; the same fields as kubeflow.org/v1alpha1
    kubeflow.org/v1alpha1                   spec.replicaSpecs[].tfReplicaType
    kubeflow.org/v1alpha2, v1beta1          spec.cleanPodPolicy, spec.tfReplicaSpecs
    kubeflow.org/v1beta2, v1 up to 1.0.0    also spec.activeDeadlineSeconds, spec.backoffLimit
    kubeflow.org/v1                         spec.runPolicy, spec.tfReplicaSpecs
    training.kubedl.io/v1alpha1             the fields of v1beta2, and annotations for code, TensorBoard and network

`canonical` converts all versions to the last version of this list, which the reader reads. Source of the fields:
https://github.com/kubeflow/trainer/tree/release-1.9/pkg/apis/kubeflow.org/v1, and pkg/apis/tensorflow/VERSION/types.go
of its earlier branches. The fields of KubeDL: apis/training/v1alpha1 and pkg/code_sync of
https://github.com/kubedl-io/kubedl.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from tfgen.importers.foreign_job import (
    AS_PODS,
    AS_WORKLOAD,
    RESTARTS,
    ROLE_WORDS,
    ROLES,
    ForeignJob,
    ForeignRole,
    JobReader,
    OriginPod,
    TrainingPlan,
    board_storage,
)
from tfgen.importers.part import Part, api_group, api_version, build_part, mapping, sequence
from tfgen.importers.pod import RESTART_POLICY, Program, main_container
from tfgen.importers.table import ANY_KEY, PRESENT, Fields, Notes, Options, carried, changed, dropped
from tfgen.importers.tf_config import TF_CONFIG, TaskCommand, legacy_keys, variables_of_tf_config
from tfgen.job.training_job import RoleName
from tfgen.schema import file as schema_file
from tfgen.schema.kinds import CompletionBy, default_end
from tfgen.text.document import MAX_PROBLEMS
from tfgen.words import either, meant, nearest

KINDS: Final = ("TFJob", "TfJob")
KUBEDL: Final = "training.kubedl.io"
GROUPS: Final = ("kubeflow.org", "tensorflow.org", KUBEDL)
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

_KUBEDL_NETWORK: Final = "kubedl.io/network-mode"
_KUBEDL_BOARD: Final = "kubedl.io/tensorboard-config"
_KUBEDL_CODE: Final = "kubedl.io/git-sync-config"
_KUBEDL_FIELDS: Final[Fields] = {
    "cacheBackend": dropped("tfgen creates no cache; mount the data with spec.storage"),
    "cronPolicy": dropped("tfgen starts no runs by a schedule"),
    "dependOn": dropped("tfgen starts all tasks together, and TensorFlow waits until each ps is ready"),
    "gitSyncConfig": None,
    "modelVersion": dropped("tfgen builds no image with the model; write the model to a volume of spec.storage"),
    "spotReplicaSpec": dropped("all tasks of a role are equal; see spec.placement"),
}
"""Fields of KubeDL that the training operator does not have."""

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

_COMPLETION: Final = ("spec", "completion")


def canonical(item: Part) -> Part:
    """Convert a TFJob of any version to the shape of kubeflow.org/v1. Each part keeps its position in the file."""
    spec = item.get("spec")
    if spec is None or not isinstance(spec.value, Mapping):
        return item
    fields = {_TENSORBOARD if key.lower() == _TENSORBOARD else key: part for key, part in spec.value.items()}
    fields["tfReplicaSpecs"] = _replica_specs(spec)
    policy = spec.get("runPolicy")
    is_kubedl = api_group(item) == KUBEDL
    keys = {**_MOVED, "cronPolicy": "cronPolicy", "schedulingPolicy": "schedulingPolicy"} if is_kubedl else _MOVED
    moved = {new: fields.pop(old) for old, new in keys.items() if old in fields}
    if policy is None or isinstance(policy.value, Mapping):
        fields["runPolicy"] = mapping(policy or spec, {**moved, **(policy.value if policy else {})})
    fields.pop("replicaSpecs", None)
    if is_kubedl and isinstance(fields["tfReplicaSpecs"].value, Mapping):
        fields |= _kubedl_fields(item, fields["tfReplicaSpecs"])
    return item.with_part(("spec",), spec.replaced(value=fields))


def _kubedl_fields(item: Part, replicas: Part) -> dict[str, Part]:
    """Return the fields of a TFJob that the annotations of KubeDL for the network and for TensorBoard set."""
    annotations = dict(item.entries("metadata", "annotations"))
    network, board = annotations.get(_KUBEDL_NETWORK), annotations.get(_KUBEDL_BOARD)
    templates = [template for _, replica in replicas.entries() if (template := replica.get("template", "spec"))]
    fields: dict[str, Part] = {}
    if network and network.value == "host":
        on, path = network.scalar(True), ("template", "spec", "hostNetwork")
        fields["tfReplicaSpecs"] = mapping(replicas, {key: r.with_part(path, on) for key, r in replicas.entries()})
    if board and templates:
        main = main_container(templates[-1].with_part(("spec",), templates[-1]))
        config = _json(board)
        texts = {key: config[key] for key in ("logDir", "image") if isinstance(config.get(key), str)}
        mounts = {"volumes": templates[-1].get("volumes"), "volumeMounts": main.get("volumeMounts") if main else None}
        fields[_TENSORBOARD] = build_part(board, {**texts, **mounts})
    return fields


def _json(part: Part) -> Mapping[str, Any]:
    try:
        data = json.loads(part.as_text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, Mapping) else {}


def _replica_specs(spec: Part) -> Part:
    old = spec.get("replicaSpecs")
    if old is None:
        specs = spec.get("tfReplicaSpecs") or spec.replaced(value={})
        if not isinstance(specs.value, Mapping):
            return specs
        return specs.replaced(value={_type(key): part for key, part in specs.value.items()})
    replicas: dict[str, Part] = {}
    for replica in (item for item in old.items() if isinstance(item.value, Mapping)):
        fields = replica.without("tfReplicaType").value
        if policy := replica.get("template", "spec", "restartPolicy"):
            fields |= {"restartPolicy": policy, "template": fields["template"].without_path(RESTART_POLICY)}
        replicas[_type(_replica_type(replica))] = replica.replaced(value=fields)
    return old.replaced(value=replicas)


def _replica_type(replica: Part) -> str:
    """Return the type of a replica in a TFJob of version v1alpha1, such as PS. The operator's default is MASTER."""
    return replica.text_at("tfReplicaType") or "MASTER"


def _role(text: str) -> RoleName | None:
    return ROLE_WORDS[text.lower()] if text.lower() in _TYPES else None


def _type(text: str) -> str:
    return _TYPES.get(text.lower(), text)


def _refuse_second_replicas(item: Part, notes: Notes) -> None:
    """Report a problem for each role that the TFJob contains twice, for example as the types Chief and Master."""
    replicas = [(_replica_type(replica), replica) for replica in item.items("spec", "replicaSpecs")]
    replicas += [*item.entries("spec", "tfReplicaSpecs")]
    roles: set[RoleName | None] = {None}
    for text, part in replicas:
        role = _role(text)
        if role == "chief" and role in roles:
            notes.refuse(part, "the TFJob has both Chief and Master, which are the same role; keep only one of them")
        elif role and role in roles:
            notes.refuse(part, f"the TFJob has {_type(text)} twice; keep only one of them")
        roles.add(role)


def read(item: Part, companions: Sequence[Part], options: Options, notes: Notes) -> ForeignJob | None:
    """Read a TFJob and its PodGroup. Return None if the import report has problems."""
    if api_version(item) not in VERSIONS:
        version = item.value["apiVersion"]
        notes.refuse(version, f"found the version {api_version(item)} of a TFJob, expected {either(VERSIONS)}")
        return None
    boards = [part for key, part in item.entries("spec") if key.lower() == _TENSORBOARD]
    if len(boards) > 1:
        notes.refuse(boards[1], f"the TFJob has the field twice, first as {boards[0].path[-1]}; keep only one of them")
    _refuse_second_replicas(item, notes)
    return _TFJob(item, companions, options, notes).read()


class _TFJob(JobReader):
    """Reader of a TFJob."""

    format = "TFJob"
    kind = "TFJob"
    kinds_for_kueue = "TFJob, or JobSet"

    def __init__(self, item: Part, companions: Sequence[Part], options: Options, notes: Notes) -> None:
        super().__init__(item, canonical(item), companions, options, notes)
        self.is_kubedl = api_group(item) == KUBEDL
        self.version = KUBEDL if self.is_kubedl else api_version(item)
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
            self.notes.refuse(self.item, "the TFJob has no replicas; add spec.tfReplicaSpecs")
            return None
        roles = self._roles(replicas)
        if not roles:
            if not self.notes.problems:
                self.notes.refuse(replicas, "the TFJob has no tasks; set replicas to 1 or more")
            return None
        for task_type in (part.get("tfReplicaType") for part in self.item.items("spec", "replicaSpecs")):
            if task_type:
                self.notes.target(task_type, *ROLES, ROLE_WORDS[task_type.as_text.lower() or "master"])
        self.metadata()
        roles = self._with_policies(roles)
        plan = self.plan(roles, self._completion_by(roles))
        self._read_completion(plan)
        policy = {**self._ignored_fields("runPolicy"), **_POLICY, **(_TF_JOB_POLICY if self.keeps_kind else {})}
        self.fields(self.job.get("spec", "runPolicy"), policy)
        self._workload(plan, replicas)
        self._gang(plan)
        self._tensorboard()
        self._kubedl_code()
        for _, replica in replicas.entries():
            self.fields(replica, self._ignored_fields("a TFJob", "replicas", "restartPolicy", "template", "tfPort"))
        self.fields(self.job, self._ignored_fields("a TFJob", "apiVersion", "kind", "metadata", "status", "spec"))
        return self.foreign_job(plan)

    # -- roles ----------------------------------------------------------------------------------------------------

    def _roles(self, replicas: Part) -> dict[RoleName, ForeignRole]:
        parts: dict[RoleName, Part] = {}
        for key, part in islice(replicas.entries(), MAX_PROBLEMS):
            if role := _role(key):
                parts.setdefault(role, part)
            else:
                types = dict.fromkeys(_TYPES.values())
                message = f"found the replica type {key}, expected {either(types)}{meant(nearest(key, types))}"
                self.notes.refuse(part, message)
        roles = {role: read for role, part in parts.items() if (read := self._read_role(role, part, parts))}
        return {} if self.notes.problems else roles

    def _read_role(self, role: RoleName, part: Part, parts: Mapping[RoleName, Part]) -> ForeignRole | None:
        replicas = self.number_of_tasks(part, role)
        if replicas is None:
            return None
        template = part.get("template") or (self._template_for_ps(part, parts) if role == "ps" else None)
        if template is None or not isinstance(template.value, Mapping):
            self.notes.refuse(part, "the replica has no pod template; add template")
            return None
        if pod_policy := template.get("spec", "restartPolicy"):
            why = "the operator ignores this policy, and uses the restartPolicy of the replica"
            self.notes.reason(pod_policy, why, is_quiet=True)
        self.commands[role] = command = self._command(template)
        pod = self.read_pod(template, role, command, (PORT_NAME,))
        if pod is None:
            return None
        if old_port := part.get("tfPort"):
            pod = pod.replaced(port=pod.port or old_port)
            self.notes.target(old_port, "spec", "port")
        self.policies[role] = part.get("restartPolicy")
        return ForeignRole(part, replicas, pod, [OriginPod(template)] if part.get("template") else ())

    def _command(self, template: Part) -> TaskCommand:
        """Return the command of a pod template, and the cluster configuration in flags or variables.

        If the imported job is a TFJob, the command stays unchanged, because the host names stay the same.
        """
        command = TaskCommand() if self.keeps_kind else self.command_of(template)
        if not legacy_keys([command]):
            # The operator adds TF_CONFIG after the variables of the container, except for a single task.
            main = main_container(template)
            omitted = variables_of_tf_config(main) if main else {}
            if self._is_single_task and TF_CONFIG in omitted:
                omitted = {**omitted, TF_CONFIG: _WHY_SINGLE_TASK}
            return TaskCommand(Program(omitted=omitted))
        if command.refusal:
            self.notes.refuse(main_container(template) or template, command.refusal)
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
        self.notes.remark(part, why)
        comment = "The operator ran a built-in server as the ps; now the program must run the ps itself."
        self.comments[(*ROLES, "ps")] = comment
        main = main_container(template)
        if main is None:
            return template
        containers = [c for c in template.items("spec", "containers") if isinstance(c.value, Mapping)]
        containers = [c.without("resources") if c is main else c for c in containers]
        anchor = template.value["spec"].value["containers"]
        return template.without_path(RESTART_POLICY).with_part(("spec", "containers"), sequence(anchor, containers))

    # -- fields of the job -----------------------------------------------------------------------------------------

    def _completion_by(self, roles: Mapping[RoleName, ForeignRole]) -> CompletionBy:
        """Return the value of ``completion.by``, for the tasks whose exit completes a TFJob of the operator.

        The function has the same rules as updateJobStatus in the TFJob controller of the operator.
        """
        completion_by: CompletionBy = "Worker0"
        policy = self.job.get("spec", "successPolicy")
        if policy and policy.value == "":
            why = "an empty text selects the default success policy of the operator"
            self.notes.reason(policy, why, "carried", "")
        elif policy and policy.value != "AllWorkers":
            self.notes.refuse(policy, f"found {policy.as_text}, expected AllWorkers or an empty text")
        elif policy and "chief" in roles:
            self.notes.reason(policy, "the job ends when the chief ends, regardless of the workers")
        elif policy and sum(role.replicas for role in roles.values()) == 1:
            self.notes.reason(policy, "the job ends when its single task ends")
        elif policy:
            completion_by = "AllWorkers"
            self.notes.target(policy, *_COMPLETION, "by")
        if chief := self.job.get("spec", "terminationPolicy", "chief"):
            self._read_termination_chief(chief, roles)
        return completion_by

    def _read_termination_chief(self, chief: Part, roles: Mapping[RoleName, ForeignRole]) -> None:
        """Report a problem if the task in terminationPolicy.chief of v1alpha1 does not complete the imported job."""
        index = chief.get("replicaIndex")
        role = _role(chief.text_at("replicaName")) or "chief"
        last_role = "chief" if "chief" in roles else "worker"
        if role != last_role or (index and index.value != 0):
            task = f"{role} {index.as_text if index else 0}"
            self.notes.refuse(
                chief,
                f"found {task}, expected {last_role} 0, the task that ends the imported job; set replicaName and "
                "replicaIndex to this task, and see spec.completion for other ends",
            )
        else:
            self.ends.append(chief)

    def _with_policies(self, roles: Mapping[RoleName, ForeignRole]) -> dict[RoleName, ForeignRole]:
        """Set the restart policies of the job and of its roles, if the imported job has the workload kind TFJob.

        For any other workload kind, report how tfgen restarts the tasks, and return the roles unchanged.
        """
        default = "ExitCode" if self.is_kubedl else _DEFAULT_RESTART_POLICY
        values = [part.as_text if (part := self.policies[role]) else default for role in roles]
        common = max(values, key=values.count)
        if self.keeps_kind:
            self.set_value(common, *_TF_JOB, "restartPolicy")
        read = dict(roles)
        for (name, role), value in zip(roles.items(), values, strict=True):
            part = self.policies[name]
            if self.keeps_kind:
                if part:
                    self.notes.target(part, *(_TF_JOB if value == common else (*ROLES, name)), "restartPolicy")
                if value != common:
                    read[name] = role.replaced(fields={"restartPolicy": value})
            elif part:
                self.notes.reason(part, self._restarts(name, value), "changed")
            else:
                self.notes.remark(role.part, f"the replica has no restartPolicy; {self._restarts(name, value)}")
        return read

    def _restarts(self, role: RoleName, policy: str) -> str:
        restarts = "a stopped ps always restarts" if role == "ps" else RESTARTS
        if policy != "ExitCode":
            return restarts
        codes = "under the operator, an exit code below 128 failed the job immediately"
        if not self.is_kubedl and (self.options.operator is None or self.options.operator < (1, 5)):
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
            why = f"the TFJob has no cleanPodPolicy, so version {version} of the operator deletes no pods"
            self.notes.remark(spec, why)
        elif self.version == "v1" and operator is None:
            why = (
                "the TFJob has no cleanPodPolicy; when the job ends, tfgen releases the running tasks, as the operator "
                "up to version 1.5 did; to keep the tasks, as the operator from version 1.6 did, set --operator-version"
            )
            self.notes.remark(spec, why)

    def _clean(self, part: Part) -> None:
        release = (*_COMPLETION, "release")
        match part.value:
            case "None":
                self.set_value("Keep", *release)
                self.notes.target(part, *release, becomes="Keep")
                self.comments[release] = (
                    "cleanPodPolicy was None: running tasks keep their GPUs when the job ends. The default frees them."
                )
            case "Running" | "":
                self.notes.target(part, *release, becomes="ScaleToZero")
            case "All" if self.keeps_kind:
                self.apply_row(part, carried(*_TF_JOB, "cleanPodPolicy"))
            case "All":
                why = "tfgen releases the running tasks, but does not delete ended pods and their logs"
                self.notes.reason(part, f"when the job ends, {why}", "changed")
            case _:
                self.notes.refuse(part, f"found {part.as_text}, expected None, Running or All")

    def _workload(self, plan: TrainingPlan, replicas: Part) -> None:
        is_master = "Master" in replicas.value and "chief" in plan.roles
        if self.keeps_kind:
            self.set_value("TFJob", "spec", "workload", "kind")
            if self.version == "v1beta1":
                self.set_value("v1beta1", *_TF_JOB, "apiVersion")
            if is_master:
                self.set_value("Master", *_TF_JOB, "leader")
        elif is_master:
            why = "in TF_CONFIG, the task type is chief, which TensorFlow treats as master"
            is_single = plan.strategy == "Single"
            why = "a job with a single task gets no TF_CONFIG" if is_single else why
            self.notes.remark(replicas.value["Master"], why)
        dynamic = _DYNAMIC_TF_JOB if self.keeps_kind else _DYNAMIC
        read = ("runPolicy", "successPolicy", _TENSORBOARD, "tfReplicaSpecs", "terminationPolicy")
        self.fields(self.job.get("spec"), {**self._ignored_fields("a TFJob", *read), "enableDynamicWorker": dynamic})
        in_cluster = self.options.operator is None or self.options.operator >= _EVALUATOR_IN_CLUSTER_SINCE
        if "evaluator" in plan.roles and not self.keeps_kind and in_cluster and not self.is_kubedl:
            why = "the TF_CONFIG of the other tasks no longer lists the evaluator"
            self.notes.remark(plan.roles["evaluator"].part, f"{why}, which the operator listed from version 1.1")

    def _gang(self, plan: TrainingPlan) -> None:
        policy = self.job.get("spec", "runPolicy", "schedulingPolicy")
        gang = self.read_gang(plan, policy)
        by_operator = self.keeps_kind and self.version == "v1" and not self.has_group
        if by_operator and gang.get("scheduler") == "volcano" and plan.strategy != "Single":
            self.set_value("Operator", *_TF_JOB, "gang")
            for part in (part for role in plan.roles.values() if (part := role.pod.scheduler)):
                self.notes.reason(part, "the operator sets the scheduler of the gang", is_quiet=True)
            for key in ("schedulerName", "scheduleTimeoutSeconds"):
                if self.spec["gang"].pop(key, None) is not None:
                    self.notes.remark(policy or self.item, f"the operator creates the PodGroup, and sets {key} itself")

    def _tensorboard(self) -> None:
        """Convert the field tensorBoard of v1alpha1."""
        board = self.job.get("spec", _TENSORBOARD)
        if board is None:
            return
        for key, part in board.entries():
            if key in ("logDir", "image"):
                self.put(part, part.as_text, "spec", "tensorboard", key)
            elif key not in ("volumes", "volumeMounts"):
                self.notes.reason(part, "tfgen sets the Service of TensorBoard; see spec.tensorboard")
        if self.is_kubedl:
            why = "TensorBoard gets a Service, and stays after the end of the job; see spec.tensorboard"
            self.notes.reason(board.scalar(""), why, "changed", PRESENT)
        container = {"name": "tensorboard", "volumeMounts": board.get("volumeMounts")}
        pod = build_part(board, {"spec": {"volumes": board.get("volumes"), "containers": [container]}})
        self.board_storage = board_storage(pod, board, self.notes)

    def _labels_or_annotations(self, key: str, part: Part) -> None:
        read = (_KUBEDL_NETWORK, _KUBEDL_BOARD, _KUBEDL_CODE) if self.is_kubedl else ()
        others = [k for k, _ in part.entries() if k.startswith("kubedl.io/") and k not in read]
        for other in others if self.is_kubedl else ():
            self.notes.reason(part.value[other], "only KubeDL reads this key", is_quiet=True)
        super()._labels_or_annotations(key, part.without(*read, *others) if self.is_kubedl else part)

    def _kubedl_code(self) -> None:
        """Convert the git repository that KubeDL mounts in the working directory."""
        part = self.item.get("metadata", "annotations", _KUBEDL_CODE) or self.item.get("spec", "gitSyncConfig")
        if part is None or not self.is_kubedl:
            return
        config = part.data if isinstance(part.value, Mapping) else _json(part)
        source = config.get("source")
        replicas = self.job.entries("spec", "tfReplicaSpecs")
        mains = [main_container(replica.get("template") or replica) for _, replica in replicas]
        folders = {main.text_at("workingDir") if main else "" for main in mains}
        if not isinstance(source, str) or len(folders) != 1 or "" in folders:
            message = "expected a source, and the same workingDir in each replica, in which KubeDL mounts the code"
            self.notes.refuse(part, f"{message}; set workingDir, or copy the code into the image")
            return
        project = source.rstrip("/").rpartition("/")[2].removesuffix(".git")
        path = config.get("relativeCodePath") or config.get("destPath") or project
        revision = config.get("revision") or config.get("branch")
        git = {"repository": source, **({"revision": str(revision)} if revision else {})}
        self.set_value({"mountPath": f"{folders.pop().rstrip('/')}/{path}", "git": git}, "spec", "code")
        self.notes.target(part, "spec", "code", "git")
        why = "the folder with the code is read-only; for a private repository, set code.git.secretName"
        self.notes.reason(part, why, "changed", PRESENT)

    # -- fields that the operator ignores --------------------------------------------------------------------------

    def _ignored_fields(self, owner: str, *read: str) -> Fields:
        """Return a table with the reason for each unknown field: the training operator ignores the field.

        Args:
            owner: the object or field that contains the fields, for the reason: "a TFJob has no field foo, ...".
            read: the names of fields that the table skips, because other functions read these fields.
        """
        own = _KUBEDL_FIELDS if self.is_kubedl else _OLD_FIELDS

        def drop(key: str, part: Part) -> None:
            hint = meant(nearest(key, _field_names(schema_file.load("tfjob.kubeflow.org.v1.json"))))
            self.notes.reason(part, f"{owner} has no field {key}, so the operator ignores the field{hint}")

        return {**own, **dict.fromkeys(read), ANY_KEY: drop}


def _field_names(schema: Mapping[str, Any]) -> set[str]:
    names: set[str] = set()
    pending: list[Any] = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, Mapping):
            names |= set(node.get("properties", ()))
            pending += node.values()
    return names
