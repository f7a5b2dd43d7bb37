"""Reader of JobSets that run TensorFlow. Each replicated Job is a role. TF_CONFIG or flags define the cluster.

Fields: https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/api/jobset/v1alpha2/jobset_types.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tfgen.importers import pod_template
from tfgen.importers.failure_policy import POLICY, read_failure_policies
from tfgen.importers.fields import Fields, carried, changed, dropped
from tfgen.importers.foreign_job import ROLES, ForeignJob, ForeignRole, training_plan
from tfgen.importers.import_report import ImportReport
from tfgen.importers.job_reader import (
    AS_PODS,
    AS_WORKLOAD,
    RESTARTS,
    ROLE_LIST,
    ROLE_WORDS,
    JobReader,
    by_role,
    command_of,
    read_pod,
)
from tfgen.importers.options import Options
from tfgen.importers.part import Part, mapping
from tfgen.importers.shapes import ANY_KEY, METADATA, SCALAR, refuse_misshapen
from tfgen.importers.task_command import TaskCommand, no_cluster_message
from tfgen.job.training_job import RoleName
from tfgen.schema.kinds import CompletionBy, default_end
from tfgen.words import either

GROUP: Final = "jobset.x-k8s.io"

_ROLE_WORDS: Final[Mapping[str, RoleName]] = {**ROLE_WORDS, "node": "worker"}
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
    "maxRestarts": changed(
        "spec",
        "retries",
        why="a JobSet restarts all tasks after a failure; tfgen restarts only the failed task",
        sets=False,
    ),
    ANY_KEY: dropped("tfgen sets the failure policy; see spec.retries and spec.restart"),
}
_JOB: Final[Fields] = {
    **dict.fromkeys(("template", "parallelism", "completions", POLICY)),
    ANY_KEY: dropped("tfgen sets this field of the Jobs that it creates; see spec.retries"),
}


JOB_SHAPE: Final = {
    "name": SCALAR,
    "replicas": SCALAR,
    "template": {"metadata": METADATA, "spec": {"completions": SCALAR, "parallelism": SCALAR}},
}
"""The expected types of the fields in an item of replicatedJobs."""
_SHAPE: Final = {
    "metadata": METADATA,
    "spec": {
        "failurePolicy": {"maxRestarts": SCALAR},
        "replicatedJobs": [JOB_SHAPE],
        "successPolicy": {"operator": SCALAR, "targetReplicatedJobs": [SCALAR]},
        "suspend": SCALAR,
        "ttlSecondsAfterFinished": SCALAR,
    },
}


def canonical(item: Part) -> Part:
    """Return the JobSet with only the parts that tfgen compares: the number of tasks and the pod template of each role.

    For example, the spec is `{tasks: {worker: {replicas: 2, template: ...}}}`.
    """
    jobs = list(item.items("spec", "replicatedJobs"))
    tasks = {key: _task(job) for key, job in by_role(jobs, _role).items()}
    spec = item.get("spec") or item
    return mapping(item, {**item.value, "spec": mapping(spec, {"tasks": mapping(spec, tasks)})})


def _task(job: Part) -> Part:
    template = job.get("template", "spec", "template")
    pod_template_part = template.without_path(pod_template.RESTART_POLICY) if template else None
    return mapping(job, {"replicas": job.scalar(_replicas(job)), "template": pod_template_part})


def _command(job: Part) -> TaskCommand:
    return command_of(job, "template", "spec", "template")


def _role(job: Part) -> RoleName | None:
    """Return the role in the command of a replicated Job. If the command has no role, use the name of the Job."""
    words = re.split(r"[-_]", job.text_at("name").lower())
    return _ROLE_WORDS.get((_command(job).role or "").lower()) or _ROLE_WORDS.get(words[-1])


def _replicas(job: Part) -> int:
    """Return the number of pods of a replicated Job."""
    return _number(job.get("replicas")) * _number(job.get("template", "spec", "parallelism"))


def _number(part: Part | None) -> int:
    return part.value if part and isinstance(part.value, int) and not isinstance(part.value, bool) else 1


def read(item: Part, _companions: Sequence[Part], options: Options, report: ImportReport) -> ForeignJob | None:
    """Read a JobSet. Return None if the import report has problems."""
    if refuse_misshapen(item, _SHAPE, report):
        return None
    return _JobSet(item, item, options, report).read()


class _JobSet(JobReader):
    """Reader of a JobSet."""

    format = "JobSet"
    kind = "JobSet"
    kinds_for_kueue = "JobSet"

    def read(self) -> ForeignJob | None:
        item, report = self.item, self.report
        jobs = list(item.items("spec", "replicatedJobs"))
        commands = [_command(job) for job in jobs]
        if not any(command.has_cluster for command in commands):
            report.refuse(item, no_cluster_message("JobSet", commands, "TF_CONFIG, or --ps_hosts and --worker_hosts"))
            return None
        if (policies := item.get("spec", "volumeClaimPolicies")) and policies.value != []:
            message = "tfgen does not create claims from templates; create the claims, and add them to the pod template"
            report.refuse(policies, message)
            return None
        roles: dict[RoleName, ForeignRole] = {}
        for job, command in zip(jobs, commands, strict=True):
            role = _role(job)
            if role is None or role in roles:
                name = job.text_at("name")
                problem = "no role" if role is None else f"the role {role}, which an earlier Job has as well"
                fix = f"name the Job {ROLE_LIST}, or set the role in TF_CONFIG or --job_name"
                report.refuse(job, f"the Job {name} has {problem}; {fix}")
            elif read_role := self._read_role(role, job, command):
                roles[role] = read_role
        if report.problems or not roles:
            return None
        self.metadata()
        plan = training_plan(roles, _completion_by(item, roles, report), report, self.options.single_task_strategy)
        if plan.completion_by != default_end(plan.strategy):
            self.set_value(plan.completion_by, "spec", "completion", "by")
        self._read_spec()
        read_failure_policies([part for job in jobs if (part := job.get("template", "spec"))], self)
        self.commands = {str(number): command for number, command in enumerate(commands)}
        return self.foreign_job(plan)

    def _read_role(self, role: RoleName, job: Part, command: TaskCommand) -> ForeignRole | None:
        report, template = self.report, job.get("template", "spec", "template")
        replicas = _replicas(job)
        if template is None:
            report.refuse(job, "the Job has no pod template; add template.spec.template")
            return None
        if replicas < 1 or (replicas > 1 and role in ("chief", "evaluator")):
            allowed = "exactly 1" if role in ("chief", "evaluator") else "1 or more"
            report.refuse(job, f"found {replicas} tasks of {role}, expected {allowed}")
            return None
        if command.refusal:
            report.refuse(job, command.refusal)
        for path in (("replicas",), ("template", "spec", "parallelism"), ("template", "spec", "completions")):
            if part := job.get(*path):
                report.carry(part, *ROLES, role, *(["replicas"] if role in ("ps", "worker") else []))
        if part := job.get("name"):
            report.carry(part, *ROLES, role)
        if part := template.get("spec", "restartPolicy"):
            report.change(part, "spec", "retries", why=RESTARTS)
        self.fields(job.get("template", "spec"), _JOB)
        if part := job.get("template", "metadata"):
            report.drop(part, "tfgen sets the labels and annotations of the Jobs that it creates")
        pod = read_pod(template, role, command, report)
        if pod is None:
            return None
        if pod.scheduler:
            report.drop(pod.scheduler, "to use a gang scheduler, set spec.gang")
        return ForeignRole(job, replicas, pod)

    def _read_spec(self) -> None:
        if self.options.kind != "StatefulSet":
            self.set_value(self.options.kind, "spec", "workload", "kind")
        self.fields(self.item.get("spec"), {**_SPEC, **(AS_WORKLOAD if self.keeps_kind else {})})
        restarts = {"maxRestarts": carried(*_JOB_SET, "maxRestarts")} if self.keeps_kind else {}
        self.fields(self.item.get("spec", "failurePolicy"), {**_FAILURES, **restarts})


def _completion_by(item: Part, roles: Mapping[RoleName, ForeignRole], report: ImportReport) -> CompletionBy:
    """Return the value of ``completion.by``, and report the success policy.

    Without a success policy, a JobSet waits for all Jobs.
    """
    completion_by: CompletionBy = "Chief" if "chief" in roles else "AllWorkers"
    end = f"the imported job ends when {'the chief ends' if 'chief' in roles else 'all workers end'}"
    policy = item.get("spec", "successPolicy")
    if policy is None:
        if "ps" in roles:
            report.note(item.value["spec"], f"the JobSet ends when all Jobs end, but a ps never ends; {end}")
        return completion_by
    by_name = {job.text_at("name"): job for job in item.items("spec", "replicatedJobs")}
    names = policy.texts_at("targetReplicatedJobs") or [*by_name]
    targets = {_role(by_name[target]) or target if target in by_name else target for target in names}
    role = "chief" if "chief" in roles else "worker"
    if role not in targets:
        ends = either(sorted(targets))
        fix = f"set targetReplicatedJobs to the Job of the {role}"
        report.refuse(
            policy, f"the JobSet ends when its {ends} ends, but the imported job ends when its {role} ends; {fix}"
        )
        return completion_by
    jobs = sum(_number(job.get("replicas")) for key, job in by_name.items() if key in names)
    operator = policy.get("operator")
    if operator and operator.value == "Any" and jobs > 1:
        why = f"the JobSet ended when the first of {jobs} Jobs ended; {end}"
        report.change(policy, "spec", "completion", "by", why=why)
    elif targets != {role}:
        why = f"the JobSet ended when all of its {either(sorted(targets), 'and')} Jobs ended; {end}"
        report.change(policy, "spec", "completion", "by", why=why)
    else:
        report.carry(policy, "spec", "completion", "by")
    return completion_by
