"""Reader of JobSets that run TensorFlow, and of TrainJobs of Kubeflow Trainer v2 with their runtimes.

Each replicated Job is a role. TF_CONFIG or flags define the cluster. A runtime contains the template of a JobSet, and a
TrainJob changes this template. In the same way as Kubeflow Trainer, this module merges the template and the TrainJob
into one JobSet. Each part of the JobSet keeps its position in the TrainJob or in the runtime.

Fields of a JobSet: https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/api/jobset/v1alpha2/jobset_types.go.
Fields of a TrainJob and their precedence: https://github.com/kubeflow/trainer/tree/v2.2.0,
pkg/apis/trainer/v1alpha1 and pkg/runtime/framework/plugins/jobset/builder.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tfgen.importers.foreign_job import (
    AS_PODS,
    AS_WORKLOAD,
    DEADLINE,
    RESTARTS,
    ROLE_LIST,
    ROLE_WORDS,
    ROLES,
    WHY_DEADLINE,
    ForeignJob,
    ForeignRole,
    JobReader,
    OriginPod,
)
from tfgen.importers.part import Part, api_group, build_part, kind, mapping, name, sequence
from tfgen.importers.pod import main_container
from tfgen.importers.table import ANY_KEY, Fields, Notes, Options, carried, changed, dropped, refuse_misshapen
from tfgen.importers.tf_config import TaskCommand, config_texts, no_cluster_message, read_command
from tfgen.job.training_job import RoleName, Scheduler
from tfgen.kubernetes import keys
from tfgen.kubernetes.merge import MERGE_KEYS
from tfgen.schema.kinds import CompletionBy, default_end
from tfgen.words import either

GROUP: Final = "jobset.x-k8s.io"

_ROLE_WORDS: Final[Mapping[str, RoleName]] = {**ROLE_WORDS, "node": "worker"}
_PODS: Final = ("template", "spec", "template")
"""The path of the pod template in a replicated Job."""
_JOB_SET: Final = ("spec", "workload", "jobSet")
_SPEC: Final[Fields] = {
    **AS_PODS,
    "coordinator": dropped("the tasks do not need the address of a coordinator; TF_CONFIG names the chief"),
    "failurePolicy": None,
    "managedBy": dropped("the field selects another controller for the JobSet"),
    "network": dropped("tfgen gives each task a host name, even before the task is ready"),
    "replicatedJobs": None,
    "startupPolicy": dropped("tfgen starts all tasks together, and TensorFlow waits until each ps is ready"),
    "successPolicy": None,
    "suspend": dropped("the job starts as soon as it is applied; import with --workload JobSet to keep suspend"),
    "volumeClaimPolicies": dropped("the list is empty, and has no effect"),
    ANY_KEY: dropped("job.yaml has no field for {key} of a JobSet"),
}
_FAILURES: Final[Fields] = {
    "maxRestarts": changed(why="a JobSet restarts all tasks after a failure; tfgen restarts only the failed task"),
    ANY_KEY: dropped("tfgen sets the failure policy; see spec.retries and spec.restart"),
}
_REPLICATED_JOB: Final[Fields] = {
    **dict.fromkeys(("name", "replicas", "template")),
    "dependsOn": dropped("tfgen starts all tasks together, and TensorFlow waits until each ps is ready"),
    ANY_KEY: dropped("job.yaml has no field for {key} of a JobSet"),
}
_JOB: Final[Fields] = {
    **dict.fromkeys(("template", "parallelism", "completions", DEADLINE, "podFailurePolicy")),
    ANY_KEY: dropped("tfgen sets this field of the Jobs that it creates; see spec.retries"),
}


def _replicas(job: Part) -> int:
    """Return the number of pods of a replicated Job."""
    return _number(job.get("replicas")) * _number(job.get("template", "spec", "parallelism"))


def _number(part: Part | None) -> int:
    return part.value if part and isinstance(part.value, int) and not isinstance(part.value, bool) else 1


def read(item: Part, companions: Sequence[Part], options: Options, notes: Notes) -> ForeignJob | None:
    """Read a JobSet. Return None after a problem."""
    return _JobSet(item, item, companions, options, notes).read()


class _JobSet(JobReader):
    """Reader of a JobSet."""

    format = "JobSet"
    kind = "JobSet"
    kinds_for_kueue = "JobSet"

    def read(self, policy: Part | None = None, policy_scheduler: Scheduler = "volcano") -> ForeignJob | None:
        """Read the JobSet. `policy` contains the gang settings of Kubeflow Trainer."""
        item, notes = self.item, self.notes
        jobs = list(item.items("spec", "replicatedJobs"))
        commands = [self.command_of(job, *_PODS) for job in jobs]
        if not any(command.has_cluster for command in commands):
            notes.refuse(item, no_cluster_message("JobSet", commands, "TF_CONFIG, or --ps_hosts and --worker_hosts"))
            return None
        if (policies := item.get("spec", "volumeClaimPolicies")) and policies.value != []:
            message = "tfgen does not create claims from templates; create the claims, and add them to the pod template"
            notes.refuse(policies, message)
            return None
        roles: dict[RoleName, ForeignRole] = {}
        for job, command in zip(jobs, commands, strict=True):
            role = self._role(job)
            if role is None or role in roles:
                name = job.text_at("name")
                problem = "no role" if role is None else f"the role {role}, which an earlier Job has as well"
                fix = f"name the Job {ROLE_LIST}, or set the role in TF_CONFIG or --job_name"
                notes.refuse(job, f"the Job {name} has {problem}; {fix}")
            elif read_role := self._read_role(role, job, command):
                roles[role] = read_role
        if notes.problems or not roles:
            return None
        self.metadata()
        plan = self.plan(roles, self._completion_by(roles))
        if plan.completion_by != default_end(plan.strategy):
            self.set_value(plan.completion_by, "spec", "completion", "by")
        self._read_spec()
        self.read_gang(plan, policy, policy_scheduler)
        specs = [part for job in jobs if (part := job.get("template", "spec"))]
        self.read_failure_policies(specs)
        self.read_deadlines(specs, plan)
        self.drop_hosts((job.get(*_PODS) or job, command) for job, command in zip(jobs, commands, strict=True))
        self.commands = {str(number): command for number, command in enumerate(commands)}
        return self.foreign_job(plan)

    def _role(self, job: Part) -> RoleName | None:
        """Return the role in the command of a replicated Job. If the command has no role, use the name of the Job."""
        words = re.split(r"[-_]", job.text_at("name").lower())
        return _ROLE_WORDS.get((self.command_of(job, *_PODS).role or "").lower()) or _ROLE_WORDS.get(words[-1])

    def _read_role(self, role: RoleName, job: Part, command: TaskCommand) -> ForeignRole | None:
        notes, template = self.notes, job.get("template", "spec", "template")
        replicas = _replicas(job)
        if template is None:
            notes.refuse(job, "the Job has no pod template; add template.spec.template")
            return None
        if replicas < 1 or (replicas > 1 and role in ("chief", "evaluator")):
            allowed = "exactly 1" if role in ("chief", "evaluator") else "1 or more"
            notes.refuse(job, f"found {replicas} tasks of {role}, expected {allowed}")
            return None
        if command.refusal:
            notes.refuse(job, command.refusal)
        for path in (("replicas",), ("template", "spec", "parallelism"), ("template", "spec", "completions")):
            if part := job.get(*path):
                notes.target(part, *ROLES, role, "replicas", becomes=... if part.value == 1 else replicas)
        if part := job.get("name"):
            notes.target(part, *ROLES, role)
        if part := template.get("spec", "restartPolicy"):
            notes.reason(part, RESTARTS, "changed")
        self.fields(job, _REPLICATED_JOB)
        self.fields(job.get("template", "spec"), _JOB)
        if part := job.get("template", "metadata"):
            notes.reason(part, "tfgen sets the labels and annotations of the Jobs that it creates")
        pod = self.read_pod(template, role, command)
        return None if pod is None else ForeignRole(job, replicas, pod, [OriginPod(template)])

    def _completion_by(self, roles: Mapping[RoleName, ForeignRole]) -> CompletionBy:
        """Return the value of ``completion.by``, and note the reason for the success policy.

        Without a success policy, a JobSet waits for all Jobs.
        """
        item, notes = self.item, self.notes
        completion_by: CompletionBy = "Chief" if "chief" in roles else "AllWorkers"
        end = f"the imported job ends when {'the chief ends' if 'chief' in roles else 'all workers end'}"
        policy = item.get("spec", "successPolicy")
        if policy is None:
            if "ps" in roles:
                notes.remark(item.value["spec"], f"the JobSet ends when all Jobs end, but a ps never ends; {end}")
            return completion_by
        by_name = {job.text_at("name"): job for job in item.items("spec", "replicatedJobs")}
        names = policy.texts_at("targetReplicatedJobs") or [*by_name]
        targets = {self._role(by_name[target]) or target if target in by_name else target for target in names}
        role = "chief" if "chief" in roles else "worker"
        if role not in targets:
            problem = f"the JobSet ends when its {either(sorted(targets))} ends"
            fix = f"set targetReplicatedJobs to the Job of the {role}"
            notes.refuse(policy, f"{problem}, but the imported job ends when its {role} ends; {fix}")
            return completion_by
        jobs = sum(_number(job.get("replicas")) for key, job in by_name.items() if key in names)
        if policy.text_at("operator") == "Any" and jobs > 1:
            notes.reason(policy, f"the JobSet ended when the first of {jobs} Jobs ended; {end}", "changed")
        elif targets != {role}:
            ends = either(sorted(targets), "and")
            notes.reason(policy, f"the JobSet ended when all of its {ends} Jobs ended; {end}", "changed")
        else:
            self.ends.append(policy)
        return completion_by

    def _labels_or_annotations(self, key: str, part: Part) -> None:
        topology = part.get(keys.EXCLUSIVE_TOPOLOGY) if self.keeps_kind else None
        if topology:
            self.apply_row(topology, carried(*_JOB_SET, "exclusiveTopology"))
        super()._labels_or_annotations(key, part.without(keys.EXCLUSIVE_TOPOLOGY) if topology else part)

    def _read_spec(self) -> None:
        if self.options.kind != "StatefulSet":
            self.set_value(self.options.kind, "spec", "workload", "kind")
        self.fields(self.item.get("spec"), {**_SPEC, **(AS_WORKLOAD if self.keeps_kind else {})})
        restarts = {"maxRestarts": carried(*_JOB_SET, "maxRestarts")} if self.keeps_kind else {}
        self.fields(self.item.get("spec", "failurePolicy"), {**_FAILURES, **restarts})


# -- TrainJobs ---------------------------------------------------------------------------------------------------

TRAIN_JOB: Final = "TrainJob"
TRAINER_GROUP: Final = "trainer.kubeflow.org"

_RUNTIMES: Final = ("ClusterTrainingRuntime", "TrainingRuntime")
"""The kinds of runtimes. The first kind is the default of a TrainJob."""
_STEP: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
"""The key of the label that marks a replicated Job as the target of the field ``trainer`` of a TrainJob."""
_NODE: Final = "node"
"""The name of the trainer's container, and the usual name of the replicated Job with this container."""
_QUEUE: Final = "scheduling.volcano.sh/queue-name"

_MERGED: Final[Mapping[str, str]] = {**MERGE_KEYS, "replicatedJobs": "name"}
_ATOMIC_KEYS: Final = ("env", "resources")
"""Fields that a TrainJob replaces as a whole: ``resources``, and each variable of ``env``."""
_WHY_REPLACED: Final = "the TrainJob overrides this value of its runtime"
_MAX_CHANGES: Final = 100
"""Maximum number of overrides and patches of a TrainJob, because each merge takes time. Usual TrainJobs have few."""
_FOREIGN_FRAMEWORKS: Final = ("flux", "jax", "mpi", "torch", "xgboost")


def read_train_job(item: Part, companions: Sequence[Part], options: Options, notes: Notes) -> ForeignJob | None:
    """Read a TrainJob and its runtime. Return None if the import report has problems."""
    runtime = _runtime(item, companions)
    if runtime and refuse_misshapen(runtime, notes):
        return None
    if initializer := item.get("spec", "initializer"):
        message = "tfgen does not support an initializer; fetch the data in an initContainer of the role"
        notes.refuse(initializer, message)
        return None
    changes = [*item.items("spec", "podTemplateOverrides"), *item.items("spec", "runtimePatches")]
    if len(changes) > _MAX_CHANGES:
        message = f"found {len(changes)} overrides and patches of the runtime, expected at most {_MAX_CHANGES}"
        notes.refuse(changes[_MAX_CHANGES], message)
        return None
    joined = _job_set(item, runtime, companions, notes)
    if joined is None:
        return None
    policy, scheduler = _gang(runtime, notes) if runtime else (None, "coscheduling")
    reader = _JobSet(joined, joined, companions, options, notes)
    job = None if refuse_misshapen(joined, notes) else reader.read(policy, scheduler)
    if job is None:
        return None
    spec = dict(job.spec)
    if deadline := item.get("spec", "activeDeadlineSeconds"):
        spec["deadline"] = deadline.value
        notes.target(deadline, "spec", "deadline")
        notes.reason(deadline, WHY_DEADLINE, "changed")
    return job.replaced(format=TRAIN_JOB, spec=spec, roots=[item, *([runtime] if runtime else [])])


def _runtime(item: Part, companions: Sequence[Part]) -> Part | None:
    """Return the runtime of a TrainJob, or None if the runtime is not among the imported files."""
    runtime_name = item.text_at("spec", "runtimeRef", "name")
    runtime_kind = item.text_at("spec", "runtimeRef", "kind") or _RUNTIMES[0]
    runtimes = (item for item in companions if kind(item) == runtime_kind and api_group(item) == TRAINER_GROUP)
    return next((runtime for runtime in runtimes if runtime_name and name(runtime) == runtime_name), None)


def _job_set(item: Part, runtime: Part | None, companions: Sequence[Part], notes: Notes) -> Part | None:
    """Return the JobSet that Kubeflow Trainer creates for a TrainJob, or None if the report has problems."""
    spec = item.get("spec") or item
    template = runtime.get("spec", "template") if runtime else None
    template = template or _bare_template(spec)
    for patch in _patches(item, template):
        template = _merged(template, patch, notes)
    jobs = list(template.items("spec", "replicatedJobs"))
    node = _trainer_job(jobs)
    if node is not None:
        jobs = [_with_trainer(job, spec, runtime, notes) if job is node else job for job in jobs]
    mains = [main for job in jobs if (main := main_container(job.get(*_PODS) or job))]
    if not any(read_command(main, config_texts(companions)).has_cluster for main in mains):
        notes.refuse(item, f"the TrainJob does not configure a TensorFlow cluster; {_cluster_hint(item, runtime)}")
        return None
    _note_train_job(item, runtime, notes)
    fields = {**dict((template.get("spec") or spec).entries()), "replicatedJobs": sequence(spec, jobs)}
    fields |= {key: part for key in ("suspend", "managedBy") if (part := spec.get(key))}
    head = {key: item.value[key].scalar(text) for key, text in _HEAD.items()}
    return item.replaced(value={**head, "metadata": _metadata(item, template, notes), "spec": mapping(spec, fields)})


_HEAD: Final[Mapping[str, str]] = {"apiVersion": f"{GROUP}/v1alpha2", "kind": "JobSet"}


def _bare_template(spec: Part) -> Part:
    """Return a JobSet template with one replicated Job named node, for a TrainJob whose runtime is not in the files."""
    pods = {"spec": {"containers": [{"name": _NODE}]}}
    job = {"name": _NODE, "template": {"spec": {"template": pods}}}
    return build_part(spec.get("trainer") or spec, {"spec": {"replicatedJobs": [job]}})


def _patches(item: Part, template: Part) -> Iterator[Part]:
    """Yield the patches of a TrainJob for the template of its runtime, in the order of Kubeflow Trainer."""
    for override in item.items("spec", "podTemplateOverrides"):
        targets = [part.text_at("name") for part in override.items("targetJobs") if part.get("name")]
        pods = {"spec": {"template": override.without("targetJobs")}}
        names = [part for job in template.items("spec", "replicatedJobs") if (part := job.get("name"))]
        chosen = [part for part in names if not targets or part.as_text in targets]
        patches = [{"name": part, "template": pods} for part in chosen]
        yield build_part(override, {"spec": {"replicatedJobs": patches}})
    for patch in item.items("spec", "runtimePatches"):
        if part := patch.get("trainingRuntimeSpec", "template"):
            yield part


def _merged(base: Part, patch: Part, notes: Notes, key: str = "") -> Part:
    """Apply the strategic merge patch `patch` to `base`, and return the result. Note each replaced value.

    The rules are the same as in `kubernetes.merge`. In addition, each part keeps its position. `key` is the name of the
    field that contains `base`; empty for a whole object.
    """
    if isinstance(base.value, Mapping) and isinstance(patch.value, Mapping) and key not in _ATOMIC_KEYS:
        values = dict(base.value)
        for field_key, part in patch.entries():
            base_field = base.get(field_key)
            values[field_key] = part if base_field is None else _merged(base_field, part, notes, field_key)
        return base.replaced(value=values)
    if isinstance(base.value, list) and isinstance(patch.value, list) and key in _MERGED:
        items = {_identity(item, _MERGED[key], number): item for number, item in enumerate(base.value)}
        for number, item in enumerate(patch.value, len(items)):
            identity = _identity(item, _MERGED[key], number)
            items[identity] = _merged(items[identity], item, notes, key) if identity in items else item
        return base.replaced(value=list(items.values()))
    if base.data == patch.data:
        notes.reason(base, "the TrainJob has the same value", "carried", patch.data)
    else:
        notes.reason(base, _WHY_REPLACED)
    return patch


def _identity(item: Part, key: str, number: int) -> str | int:
    part = item.get(key)
    return part.as_text if part else number


def _trainer_job(jobs: Sequence[Part]) -> Part | None:
    """Return the replicated Job to which the field ``trainer`` of a TrainJob applies, or None.

    The Job has the label `trainer.kubeflow.org/trainjob-ancestor-step: trainer`. Without such a Job, the result is the
    Job with the name node.
    """
    labelled = (job for job in jobs if job.text_at("template", "metadata", "labels", _STEP) == "trainer")
    named = (job for job in jobs if job.text_at("name") == _NODE)
    return next(labelled, None) or next(named, None)


def _with_trainer(job: Part, spec: Part, runtime: Part | None, notes: Notes) -> Part:
    """Apply the field ``trainer`` of a TrainJob, with the program and the number of nodes, to a replicated Job."""
    trainer = spec.get("trainer")
    pods = job.get(*_PODS) or job
    containers = list(pods.items("spec", "containers"))
    names = [container.text_at("name") for container in containers]
    main = containers[names.index(_NODE)] if _NODE in names else main_container(pods)
    if main is not None and trainer is not None:
        fields = {key: trainer.get(key) for key in ("image", "command", "args", "env")}
        program = _merged(main, mapping(trainer, {**fields, "resources": trainer.get("resourcesPerNode")}), notes)
        # The program comes first, because `job_set` takes the first container as the main container.
        sidecars = [container for container in containers if container is not main]
        pods = pods.with_part(("spec", "containers"), sequence(pods, [program, *sidecars]))
    job = job.with_part(_PODS, pods)
    nodes = trainer.get("numNodes") if trainer else None
    default_nodes = runtime.get("spec", "mlPolicy", "numNodes") if runtime else None
    if default_nodes and nodes and default_nodes is not nodes:
        notes.reason(default_nodes, _WHY_REPLACED)
    if nodes := nodes or default_nodes:
        for key in ("parallelism", "completions"):
            if number := job.get("template", "spec", key):
                notes.reason(number, "numNodes of the TrainJob or of its runtime replaces this number")
            job = job.with_part(("template", "spec", key), nodes)
        if number := job.get("replicas"):
            notes.reason(number, "Kubeflow Trainer creates a single Job, and ignores this number")
            job = job.without("replicas")
    return job


def _cluster_hint(item: Part, runtime: Part | None) -> str:
    """Return the end of the error message about a TrainJob without a TensorFlow cluster.

    The text names the object to which the user can add TF_CONFIG.
    """
    reference = item.get("spec", "runtimeRef", "name")
    if runtime is not None:
        framework = next((key for key in _FOREIGN_FRAMEWORKS if runtime.get("spec", "mlPolicy", key) is not None), None)
        kind_of_runtime = f", which is for {framework}" if framework else ""
        return f"expected TF_CONFIG in the TrainJob or in its runtime {name(runtime)[:63]}{kind_of_runtime}"
    if reference is None:
        return "expected TF_CONFIG in the TrainJob, because the TrainJob names no runtime"
    return f"the runtime {reference.as_text[:63]} is not among the files; import its file as well, or set TF_CONFIG"


def _metadata(item: Part, template: Part, notes: Notes) -> Part:
    """Return the metadata of a TrainJob, merged with the labels and annotations of its runtime."""
    metadata = item.get("metadata") or item.replaced(value={})
    merged = metadata
    for key in ("labels", "annotations"):
        for part in (template.get("metadata", key), item.get("spec", key)):
            if part is not None and isinstance(part.value, Mapping):
                base = mapping(metadata, {key: part.without(_QUEUE)})
                merged = _merged(base, merged, notes)
    return merged


def _gang(runtime: Part, notes: Notes) -> tuple[Part | None, Scheduler]:
    """Return the gang settings of a runtime with a podGroupPolicy, and the scheduler that Kubeflow Trainer uses."""
    policy = runtime.get("spec", "podGroupPolicy")
    if policy is None:
        return None, "coscheduling"
    scheduler: Scheduler = "volcano" if "volcano" in policy.value else "coscheduling"
    notes.reason(policy, f"the imported job gets a gang of all tasks, with the scheduler {scheduler}", "changed")
    queue = runtime.get("spec", "template", "metadata", "annotations", _QUEUE) if scheduler == "volcano" else None
    timeout = policy.get("coscheduling", "scheduleTimeoutSeconds")
    topology = policy.get("volcano", "networkTopology")
    fields = {"networkTopology": topology, "queue": queue, "scheduleTimeoutSeconds": timeout}
    return mapping(policy, fields), scheduler


def _note_train_job(item: Part, runtime: Part | None, notes: Notes) -> None:
    """Note the reasons for the fields of a TrainJob and of its runtime that have no place in a JobSet.

    The import converts the TrainJob to a JobSet, and reads the fields of the JobSet.
    """
    for change in (*item.items("spec", "podTemplateOverrides"), *item.items("spec", "runtimePatches")):
        for key in ("targetJobs", "manager", "time"):
            if part := change.get(key):
                notes.reason(part, "the imported job contains the changes of the runtime", is_quiet=True)
    reference = item.get("spec", "runtimeRef")
    trainer = item.get("spec", "trainer")
    if (processes := trainer.get("numProcPerNode") if trainer else None) is not None:
        notes.reason(processes, "the field applies to PyTorch and MPI; a task of TensorFlow has one process")
    if reference and runtime:
        notes.reason(reference, "the imported job contains the fields of this runtime", is_quiet=True)
        notes.reason(runtime.value["metadata"], "other TrainJobs may use this runtime", "kept")
        for key, part in runtime.entries("spec", "mlPolicy"):
            if key != "numNodes":
                notes.reason(part, f"the field applies to {key}, not to TensorFlow")
    elif reference:
        why = "the runtime is not among the files, so the job lacks its settings"
        notes.reason(reference, f"{why}; import the file of the runtime as well")
