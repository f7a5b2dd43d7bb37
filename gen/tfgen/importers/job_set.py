"""JobSets that run TensorFlow: each replicated Job is a role, told its place by TF_CONFIG or by flags.

Fields by JobSet's own types: https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/api/jobset/v1alpha2/jobset_types.go.
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
    NO_ROLE,
    RESTARTS,
    ROLE_WORDS,
    JobReader,
    by_role,
    command_of,
    read_pod,
)
from tfgen.importers.objects import api_group, kind
from tfgen.importers.options import Options
from tfgen.importers.part import Part, mapping
from tfgen.importers.shapes import ANY_KEY, METADATA, SCALAR, refuse_misshapen
from tfgen.importers.task_command import TaskCommand, no_cluster_message
from tfgen.job.training_job import RoleName
from tfgen.schema.workload_kinds.facts import CompletionBy
from tfgen.words import either

GROUP: Final = "jobset.x-k8s.io"

_ROLE_WORDS: Final[Mapping[str, RoleName]] = {**ROLE_WORDS, "node": "worker"}
_JOB_SET: Final = ("spec", "workload", "jobSet")
_SPEC: Final[Fields] = {
    **AS_PODS,
    "coordinator": dropped("TF_CONFIG names the chief"),
    "failurePolicy": None,
    "managedBy": dropped("it hands the JobSet to another controller"),
    "network": dropped("tfgen gives each task a name of its own, ready or not"),
    "replicatedJobs": None,
    "startupPolicy": dropped("all tasks start together, and TensorFlow waits for its ps itself"),
    "successPolicy": None,
    "suspend": dropped("the job starts when it is applied; import it with --workload JobSet to keep it"),
    "volumeClaimPolicies": dropped("it asks for no claims"),
    ANY_KEY: dropped("tfgen knows no field {key} of a JobSet"),
}
_FAILURES: Final[Fields] = {
    "maxRestarts": changed("spec", "retries", why="a task that is lost is started again by itself", sets=False),
    ANY_KEY: dropped("tfgen has its own rules of restarts"),
}
_JOB: Final[Fields] = {
    **dict.fromkeys(("template", "parallelism", "completions", POLICY)),
    ANY_KEY: dropped("tfgen has its own rules for the Jobs of a role; see spec.retries"),
}


JOB_SHAPE: Final = {
    "name": SCALAR,
    "replicas": SCALAR,
    "template": {"metadata": METADATA, "spec": {"completions": SCALAR, "parallelism": SCALAR}},
}
"""The shape of a replicated Job."""
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


def is_job_set(item: Part) -> bool:
    """Whether an object is a JobSet."""
    return kind(item) == "JobSet" and api_group(item) == GROUP


def canonical(item: Part) -> Part:
    """The JobSet as its tasks by role: how many there are, and their pod template."""
    jobs = list(item.items("spec", "replicatedJobs"))
    tasks = {key: _task(job) for key, job in by_role(jobs, _role).items()}
    spec = item.get("spec") or item
    return mapping(item, {**item.value, "spec": mapping(spec, {"tasks": mapping(spec, tasks)})})


def _task(job: Part) -> Part:
    template = job.get("template", "spec", "template")
    part_of = template.without_path(pod_template.RESTART_POLICY) if template else None
    return mapping(job, {"replicas": job.scalar(_replicas(job)), "template": part_of})


def _command(job: Part) -> TaskCommand:
    return command_of(job, "template", "spec", "template")


def _role(job: Part) -> RoleName | None:
    """A replicated Job's role: as its own command says, or by its name."""
    words = re.split(r"[-_]", job.text_at("name").lower())
    return _ROLE_WORDS.get((_command(job).role or "").lower()) or _ROLE_WORDS.get(words[-1])


def _replicas(job: Part) -> int:
    """How many pods a replicated Job has: those of each of its Jobs."""
    return _number(job.get("replicas")) * _number(job.get("template", "spec", "parallelism"))


def _number(part: Part | None) -> int:
    return part.value if part and isinstance(part.value, int) and not isinstance(part.value, bool) else 1


def read(item: Part, _others: Sequence[Part], options: Options, report: ImportReport) -> ForeignJob | None:
    """A JobSet; None where it cannot be imported, which the account then says."""
    if refuse_misshapen(item, _SHAPE, report):
        return None
    return _JobSet(item, item, options, report).read()


class _JobSet(JobReader):
    """The reading of one JobSet."""

    format = "JobSet"
    kind = "JobSet"
    queue_kinds = "JobSet"

    def read(self) -> ForeignJob | None:
        item, report = self.item, self.report
        jobs = list(item.items("spec", "replicatedJobs"))
        commands = [_command(job) for job in jobs]
        if not any(command.tells for command in commands):
            why = no_cluster_message(commands, "TF_CONFIG, nor --ps_hosts and --worker_hosts")
            report.refuse(item, f"this JobSet {why}")
            return None
        if (policies := item.get("spec", "volumeClaimPolicies")) and policies.value != []:
            why = "tfgen makes no claims of templates; make them yourself, and name them in the pods' volumes"
            report.refuse(policies, why)
            return None
        roles: dict[RoleName, ForeignRole] = {}
        for job, command in zip(jobs, commands, strict=True):
            role = _role(job)
            if role is None or role in roles:
                name = job.text_at("name")
                report.refuse(job, f"nothing says which role of its own the Job {name} has: {NO_ROLE}")
            elif read_role := self._read_role(role, job, command):
                roles[role] = read_role
        if report.problems or not roles:
            return None
        self.metadata()
        plan = training_plan(roles, _ends(item, roles, report), report, self.options.single_task_strategy)
        if plan.ends != ("Worker0" if plan.strategy == "MultiWorkerMirrored" else "Chief"):
            self.set_value(plan.ends, "spec", "completion", "by")
        self._whole()
        read_failure_policies([part for job in jobs if (part := job.get("template", "spec"))], self)
        self.commands = {str(number): command for number, command in enumerate(commands)}
        return self.foreign_job(plan)

    def _read_role(self, role: RoleName, job: Part, command: TaskCommand) -> ForeignRole | None:
        report, template = self.report, job.get("template", "spec", "template")
        replicas = _replicas(job)
        if template is None:
            report.refuse(job, "the Job has no pod template")
            return None
        if replicas < 1 or (replicas > 1 and role in ("chief", "evaluator")):
            report.refuse(job, f"a job has one {role}, not {replicas}" if replicas else "it has no tasks")
            return None
        if command.refused:
            report.refuse(job, command.refused)
        for path in (("replicas",), ("template", "spec", "parallelism"), ("template", "spec", "completions")):
            if part := job.get(*path):
                report.carry(part, *ROLES, role, *(["replicas"] if role in ("ps", "worker") else []))
        if part := job.get("name"):
            report.carry(part, *ROLES, role)
        if part := template.get("spec", "restartPolicy"):
            report.change(part, "spec", "retries", why=RESTARTS)
        self.fields(job.get("template", "spec"), _JOB)
        if part := job.get("template", "metadata"):
            report.drop(part, "the Jobs have tfgen's labels")
        pod = read_pod(template, role, command, report)
        if pod is None:
            return None
        if pod.scheduler:
            report.drop(pod.scheduler, "see spec.gang")
        return ForeignRole(job, replicas, pod)

    def _whole(self) -> None:
        if self.options.kind != "StatefulSet":
            self.set_value(self.options.kind, "spec", "workload", "kind")
        self.fields(self.item.get("spec"), {**_SPEC, **(AS_WORKLOAD if self.keeps_kind else {})})
        restarts = {"maxRestarts": carried(*_JOB_SET, "maxRestarts")} if self.keeps_kind else {}
        self.fields(self.item.get("spec", "failurePolicy"), {**_FAILURES, **restarts})


def _ends(item: Part, roles: Mapping[RoleName, ForeignRole], report: ImportReport) -> CompletionBy:
    """Whose end ends the job: a JobSet's success policy, or all of its Jobs."""
    ends: CompletionBy = "Chief" if "chief" in roles else "AllWorkers"
    policy = item.get("spec", "successPolicy")
    if policy is None:
        if "ps" in roles:
            why = "it ends with all of its Jobs, and a ps never ends; here the end of the "
            report.note(item.value["spec"], why + ("chief does" if "chief" in roles else "workers does"))
        return ends
    by_name = {job.text_at("name"): job for job in item.items("spec", "replicatedJobs")}
    named = policy.texts_at("targetReplicatedJobs") or [*by_name]
    targets = {_role(by_name[target]) or target if target in by_name else target for target in named}
    role = "chief" if "chief" in roles else "worker"
    if role not in targets:
        report.refuse(policy, f"the end of {either(sorted(targets))} ends it; in tfgen's that of its {role}")
        return ends
    jobs = sum(_number(job.get("replicas")) for key, job in by_name.items() if key in named)
    operator = policy.get("operator")
    here = f"here the end of {'all workers' if role == 'worker' else 'the chief'} does"
    if operator and operator.value == "Any" and jobs > 1:
        report.change(policy, "spec", "completion", "by", why=f"the first of {jobs} Jobs to end ended it; {here}")
    elif targets != {role}:
        why = f"the ends of its {either(sorted(targets), 'and')} together ended it; {here}"
        report.change(policy, "spec", "completion", "by", why=why)
    else:
        report.carry(policy, "spec", "completion", "by")
    return ends
