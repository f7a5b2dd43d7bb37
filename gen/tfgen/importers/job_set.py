"""JobSets that run TensorFlow: each replicated Job is a role, told its place by TF_CONFIG or by flags.

Fields by JobSet's own types: https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/api/jobset/v1alpha2/jobset_types.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.importers import pod_template
from tfgen.importers.account import Account
from tfgen.importers.foreign_job import ROLES, ForeignJob, ForeignRole, settle
from tfgen.importers.objects import LAST_APPLIED, api_group, drop_server_fields, kind, name
from tfgen.importers.options import Options
from tfgen.importers.part import Part
from tfgen.importers.shapes import METADATA, SCALAR, refuse_misshapen
from tfgen.importers.task_command import TaskCommand, legacy_keys, read_command, why_changed, why_told_nothing
from tfgen.job.training_job import RoleName
from tfgen.kubernetes import keys
from tfgen.schema.workload_kinds.facts import CompletionBy
from tfgen.words import either

GROUP: Final = "jobset.x-k8s.io"

_ROLES: Final[Mapping[str, RoleName]] = {
    "chief": "chief",
    "master": "chief",
    "ps": "ps",
    "worker": "worker",
    "workers": "worker",
    "node": "worker",
    "evaluator": "evaluator",
}
"""Names of replicated Jobs, and types in TF_CONFIG, by tfgen's role."""
_DROPPED: Final[Mapping[str, str]] = {
    "coordinator": "TF_CONFIG names the chief",
    "managedBy": "it hands the JobSet to another controller",
    "network": "tfgen gives each task a name of its own, ready or not",
    "volumeClaimPolicies": "it asks for no claims",
    "startupPolicy": "all tasks start together, and TensorFlow waits for its ps itself",
}
"""What a JobSet says, and a job not."""
_OF_A_JOB: Final = "tfgen has its own rules for the Jobs of a role; see spec.retries"


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
    tasks: dict[str, Part] = {}
    for position, job in enumerate(item.items("spec", "replicatedJobs")):
        template = job.get("template", "spec", "template")
        replicas = _replicas(job)
        fields = {"replicas": job.replaced(value=replicas, text=str(replicas))}
        fields |= {"template": template.without_path(pod_template.RESTART_POLICY)} if template is not None else {}
        role = _role(job) or name_of(job) or str(position)
        tasks[role if role not in tasks else f"{role}-{position}"] = job.replaced(value=fields)
    spec = item.get("spec") or item
    return item.replaced(value={**item.value, "spec": spec.replaced(value={"tasks": spec.replaced(value=tasks)})})


def name_of(job: Part) -> str:
    """The name of a replicated Job."""
    part = job.get("name")
    return part.written if part else ""


def _command(job: Part) -> TaskCommand:
    main = pod_template.main_container(job.get("template", "spec", "template") or job)
    return read_command(main) if main else TaskCommand()


def _role(job: Part) -> RoleName | None:
    """A replicated Job's role: as its own command says, or by its name."""
    return _ROLES.get((_command(job).role or "").lower()) or _ROLES.get(re.split(r"[-_]", name_of(job).lower())[-1])


def _replicas(job: Part) -> int:
    """How many pods a replicated Job has: those of each of its Jobs."""
    return _number(job.get("replicas")) * _number(job.get("template", "spec", "parallelism"))


def _number(part: Part | None) -> int:
    return part.value if part and isinstance(part.value, int) and not isinstance(part.value, bool) else 1


def read(item: Part, _others: Sequence[Part], options: Options, account: Account) -> ForeignJob | None:
    """A JobSet; None where it cannot be imported, which the account then says."""
    if refuse_misshapen(item, _SHAPE, account):
        return None
    jobs = list(item.items("spec", "replicatedJobs"))
    commands = [_command(job) for job in jobs]
    if not any(command.tells for command in commands):
        why = why_told_nothing(commands, "TF_CONFIG, nor --ps_hosts and --worker_hosts")
        account.refuse(item, f"this JobSet {why}")
        return None
    if (policies := item.get("spec", "volumeClaimPolicies")) and policies.value != []:
        why = "tfgen makes no claims of templates; make them yourself, and name them in the pods' volumes"
        account.refuse(policies, why)
        return None
    roles: dict[RoleName, ForeignRole] = {}
    for job, command in zip(jobs, commands, strict=True):
        role = _role(job)
        if role is None or role in roles:
            names = either(("chief", "ps", "worker", "evaluator"))
            account.refuse(job, f"nothing says which role of its own the Job {name_of(job)} has: {names}")
        elif read_role := _read_role(role, job, command, account):
            roles[role] = read_role
    if account.problems or not roles:
        return None
    drop_server_fields(item, account)
    spec = _metadata(item, options, account)
    settled = settle(roles, _ends(item, roles, account), account, options.alone)
    if settled.ends != ("Worker0" if settled.strategy == "MultiWorkerMirrored" else "Chief"):
        spec["completion"] = {"by": settled.ends}
    _whole(item, spec, options, account)
    spec |= legacy_keys(commands)
    port = next((command.port for command in commands if command.port), None)
    if port:
        spec["port"] = port
    comments: dict[Path, str] = {("spec", "strategy"): settled.comment} if settled.comment else {}
    namespace = item.get("metadata", "namespace")
    return ForeignJob(
        form="JobSet",
        root=item,
        name=options.name or name(item),
        namespace=namespace.written if namespace else None,
        roles=settled.roles,
        strategy=settled.strategy,
        spec=spec,
        comments=comments,
    )


def _read_role(role: RoleName, job: Part, command: TaskCommand, account: Account) -> ForeignRole | None:
    template = job.get("template", "spec", "template")
    replicas = _replicas(job)
    if template is None:
        account.refuse(job, "the Job has no pod template")
        return None
    if replicas < 1 or (replicas > 1 and role in ("chief", "evaluator")):
        account.refuse(job, f"a job has one {role}, not {replicas}" if replicas else "it has no tasks")
        return None
    if command.refused:
        account.refuse(job, command.refused)
    for path in (("replicas",), ("template", "spec", "parallelism"), ("template", "spec", "completions")):
        if part := job.get(*path):
            account.carry(part, *ROLES, role, *(["replicas"] if role in ("ps", "worker") else []))
    if part := job.get("name"):
        account.carry(part, *ROLES, role)
    if part := template.get("spec", "restartPolicy"):
        account.change(part, "spec", "retries", why="a task that fails is started again, up to retries times")
    for key, part in job.entries("template", "spec"):
        if key not in ("template", "parallelism", "completions"):
            account.drop(part, _OF_A_JOB)
    if part := job.get("template", "metadata"):
        account.drop(part, "the Jobs have tfgen's labels")
    main = pod_template.main_container(template)
    for key in ("command", "args"):
        part = main.get(key) if main else None
        if part and command.program.command is not None:
            account.change(part, *ROLES, role, "command", why=why_changed(command))
    ports = (command.port or pod_template.PORT,)
    pod = pod_template.translate(
        template.without_path(pod_template.RESTART_POLICY), role, account, ports=ports, program=command.program
    )
    if pod is None:
        return None
    if pod.scheduler:
        account.drop(pod.scheduler, "see spec.gang")
    return ForeignRole(job, replicas, pod)


def _metadata(item: Part, options: Options, account: Account) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    for key, part in item.entries("metadata"):
        if key in ("name", "namespace"):
            account.carry(part, "metadata", key)
        elif key in ("labels", "annotations"):
            queue = part.get(keys.QUEUE)
            if queue and options.kind in ("JobSet", "TFJob"):
                spec["gang"] = {"scheduler": "kueue", "queue": queue.written}
                account.carry(queue, "spec", "gang", "queue")
            elif queue:
                account.drop(queue, "Kueue admits one object at a time; import with --workload JobSet")
            own = pod_template.own_keys(part.without(keys.QUEUE, LAST_APPLIED), ("spec", key), account)
            spec |= {key: own} if own else {}
    return spec


def _ends(item: Part, roles: Mapping[RoleName, ForeignRole], account: Account) -> CompletionBy:
    """Whose end ends the job: a JobSet's success policy, or all of its Jobs."""
    ends: CompletionBy = "Chief" if "chief" in roles else "AllWorkers"
    policy = item.get("spec", "successPolicy")
    if policy is None:
        if "ps" in roles:
            why = "it ends with all of its Jobs, and a ps never ends; here the end of the "
            account.note(item.value["spec"], why + ("chief does" if "chief" in roles else "workers does"))
        return ends
    by_name = {name_of(job): job for job in item.items("spec", "replicatedJobs")}
    named = [part.written for part in policy.items("targetReplicatedJobs")] or [*by_name]
    targets = {_role(by_name[target]) or target if target in by_name else target for target in named}
    role = "chief" if "chief" in roles else "worker"
    if role not in targets:
        account.refuse(policy, f"the end of {either(sorted(targets))} ends it; in tfgen's that of its {role}")
        return ends
    jobs = sum(_number(job.get("replicas")) for key, job in by_name.items() if key in named)
    operator = policy.get("operator")
    here = f"here the end of {'all workers' if role == 'worker' else 'the chief'} does"
    if operator and operator.value == "Any" and jobs > 1:
        account.change(policy, "spec", "completion", "by", why=f"the first of {jobs} Jobs to end ended it; {here}")
    elif targets != {role}:
        why = f"the ends of its {either(sorted(targets), 'and')} together ended it; {here}"
        account.change(policy, "spec", "completion", "by", why=why)
    else:
        account.carry(policy, "spec", "completion", "by")
    return ends


def _whole(item: Part, spec: dict[str, Any], options: Options, account: Account) -> None:
    is_job_set = options.kind == "JobSet"
    workload: dict[str, Any] = {"kind": options.kind} if options.kind != "StatefulSet" else {}
    for key, part in item.entries("spec"):
        match key:
            case "replicatedJobs" | "successPolicy":
                continue
            case "suspend" | "ttlSecondsAfterFinished" if is_job_set:
                workload[key] = part.value
                account.carry(part, "spec", "workload", key)
            case "suspend":
                account.drop(part, "the job starts when it is applied; import it with --workload JobSet to keep it")
            case "ttlSecondsAfterFinished":
                account.drop(part, "what git has would be made anew; retire the job with enabled: false")
            case "failurePolicy":
                restarts = part.get("maxRestarts")
                if restarts is not None and is_job_set:
                    workload["jobSet"] = {"maxRestarts": restarts.value}
                    account.carry(restarts, "spec", "workload", "jobSet", "maxRestarts")
                elif restarts is not None:
                    account.change(restarts, "spec", "retries", why="a task that is lost is started again by itself")
                for name_, rule in part.entries():
                    if name_ != "maxRestarts":
                        account.drop(rule, "tfgen has its own rules of restarts")
            case _:
                account.drop(part, _DROPPED.get(key, f"tfgen knows no field {key} of a JobSet"))
    if workload:
        spec["workload"] = workload
