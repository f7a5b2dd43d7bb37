"""Volcano Jobs that run TensorFlow: by its plugin tensorflow, by TF_CONFIG made in a script, or by flags.

Fields by Volcano's own types: https://github.com/volcano-sh/volcano/blob/v1.15.1/config/crd/volcano/bases/batch.volcano.sh_jobs.yaml,
and the plugins' by https://github.com/volcano-sh/volcano/tree/v1.15.1/pkg/controllers/job/plugins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.importers import pod_template
from tfgen.importers.account import Account
from tfgen.importers.foreign_job import ROLES, ForeignJob, ForeignRole, Settled, number_of_tasks, settle
from tfgen.importers.objects import LAST_APPLIED, api_group, drop_server_fields, kind, name
from tfgen.importers.options import Options
from tfgen.importers.part import Part
from tfgen.importers.shapes import EACH, METADATA, SCALAR, TEXTS, refuse_misshapen
from tfgen.importers.task_command import TaskCommand, legacy_keys, read_command, why_changed, why_told_nothing
from tfgen.job.training_job import RoleName
from tfgen.schema.workload_kinds.facts import CompletionBy
from tfgen.words import either

GROUP: Final = "batch.volcano.sh"

_ROLES: Final[Mapping[str, RoleName]] = {
    "chief": "chief",
    "master": "chief",
    "ps": "ps",
    "pserver": "ps",
    "parameter-server": "ps",
    "parameterserver": "ps",
    "worker": "worker",
    "workers": "worker",
    "evaluator": "evaluator",
    "eval": "evaluator",
}
"""Names of tasks, and types in TF_CONFIG, by tfgen's role."""
_OTHER_PLUGINS: Final = ("mpi", "pytorch", "ray", "hcclrank")
_PLUGINS: Final[Mapping[str, str]] = {
    "env": "tfgen tells each task its index",
    "svc": "tfgen gives each task a name",
}
_NO_SSH: Final = "TensorFlow's tasks need no ssh"
_PORT_NAMES: Final = ("tfjob-port", "tensorflow")
_OF_A_TASK: Final[Mapping[str, str]] = {
    "dependsOn": "all tasks start together, and TensorFlow waits for its ps itself",
    "maxRetry": "a job's retries hold for every task",
    "minAvailable": "gang.minAvailable holds for the whole job",
    "partitionPolicy": "tfgen has no partitions of a role",
    "topologyPolicy": "tfgen knows no NUMA policy; the kubelet's own holds",
}
"""What a task may say, and a role not."""
_OF_THE_JOB: Final[Mapping[str, str]] = {
    "minSuccess": "the end of one role ends the job",
    "runningEstimate": "only Volcano's simulator reads it",
}
_LOST: Final = (("PodEvicted", "RestartJob"), ("PodFailed", "RestartJob"))
_MAX_RETRY: Final = 3
"""Volcano's default."""


_POLICY: Final = {"action": SCALAR, "event": SCALAR, "events": [SCALAR], "exitCode": SCALAR}
_CLAIM: Final = {"accessModes": [SCALAR], "resources": {"requests": TEXTS}, "storageClassName": SCALAR}
_SHAPE: Final = {
    "metadata": METADATA,
    "spec": {
        "maxRetry": SCALAR,
        "minAvailable": SCALAR,
        "plugins": {EACH: [SCALAR]},
        "policies": [_POLICY],
        "priorityClassName": SCALAR,
        "queue": SCALAR,
        "schedulerName": SCALAR,
        "tasks": [{"name": SCALAR, "policies": [_POLICY], "replicas": SCALAR}],
        "ttlSecondsAfterFinished": SCALAR,
        "volumes": [{"mountPath": SCALAR, "volumeClaim": _CLAIM, "volumeClaimName": SCALAR}],
    },
}


def is_volcano_job(item: Part) -> bool:
    """Whether an object is a Volcano Job."""
    return kind(item) == "Job" and api_group(item) == GROUP


def canonical(item: Part) -> Part:
    """The object with its tasks by role, each where it stands in the file; those of no role by their own names."""
    spec, tasks = item.get("spec"), item.get("spec", "tasks")
    if spec is None or tasks is None or not isinstance(tasks.value, list):
        return item
    plugin = _plugin_roles(item)
    by_role: dict[str, Part] = {}
    for position, task in enumerate(tasks.items()):
        role = _role(task, plugin) or name_of(task) or str(position)
        by_role[role if role not in by_role else f"{role}-{position}"] = task
    fields = {**spec.value, "tasks": tasks.replaced(value=by_role)}
    return item.replaced(value={**item.value, "spec": spec.replaced(value=fields)})


def name_of(task: Part) -> str:
    """The name of a task."""
    task_name = task.get("name")
    return task_name.written if task_name else ""


def _plugin_roles(item: Part) -> dict[str, RoleName]:
    """The roles that the plugin tensorflow is told, by the names of the tasks."""
    roles: dict[str, RoleName] = {}
    if item.get("spec", "plugins", "tensorflow") is None:
        return roles
    tasks = {role: role for role in ("ps", "worker", "chief", "evaluator")}
    for argument in item.items("spec", "plugins", "tensorflow"):
        match = re.fullmatch(r"--?(ps|worker|chief|evaluator)=(.+)", argument.written)
        if match:
            tasks[match[1]] = match[2]
    for role, task in tasks.items():
        roles[task] = _ROLES[role]
    return roles


def _role(task: Part, plugin: Mapping[str, RoleName]) -> RoleName | None:
    """A task's role: as the plugin is told, as its own command says, or by its name."""
    if name_of(task) in plugin:
        return plugin[name_of(task)]
    main = pod_template.main_container(task.get("template") or task)
    role = read_command(main).role if main else None
    if role and role.lower() in _ROLES:
        return _ROLES[role.lower()]
    words = name_of(task).lower()
    return _ROLES.get(words) or _ROLES.get(re.split(r"[-_]", words)[-1])


def read(item: Part, _others: Sequence[Part], options: Options, account: Account) -> ForeignJob | None:
    """A Volcano Job; None where it cannot be imported, which the account then says."""
    if refuse_misshapen(item, _SHAPE, account):
        return None
    return _VolcanoJob(item, options, account).foreign_job()


class _VolcanoJob:
    """The reading of one Volcano Job."""

    def __init__(self, item: Part, options: Options, account: Account) -> None:
        self.item, self.options, self.account = item, options, account
        self.job = canonical(item)
        self.spec: dict[str, Any] = {}
        self.comments: dict[Path, str] = {}
        self.commands: dict[str, TaskCommand] = {}

    @property
    def _is_volcano_job(self) -> bool:
        """Whether a Volcano Job is written, too."""
        return self.options.kind == "VolcanoJob"

    def foreign_job(self) -> ForeignJob | None:
        tasks = dict(self.job.entries("spec", "tasks"))
        if not tasks:
            self.account.refuse(self.item, "the Volcano Job has no tasks")
            return None
        for key, task in tasks.items():
            main = pod_template.main_container(task.get("template") or task)
            self.commands[key] = read_command(main) if main else TaskCommand()
        if not self._is_tensorflow(tasks):
            neither = "the plugin tensorflow, nor TF_CONFIG, nor --ps_hosts and --worker_hosts"
            why = why_told_nothing(self.commands.values(), neither)
            self.account.refuse(self.job.value["spec"], f"this Volcano Job {why}")
            return None
        roles = self._roles(tasks)
        if not roles:
            if not self.account.problems:
                self.account.refuse(self.job.value["spec"], "no task has any replicas")
            return None
        drop_server_fields(self.item, self.account)
        self._metadata()
        ends = self._ends(tasks, roles)
        settled = settle(roles, ends, self.account, self.options.alone)
        if settled.ends not in (None, "Chief") or "chief" not in settled.roles:
            self.spec["completion"] = {"by": settled.ends}
        self._workload()
        self._whole(settled)
        if settled.comment:
            self.comments["spec", "strategy"] = settled.comment
        self.spec |= legacy_keys(self.commands.values())
        namespace = self.job.get("metadata", "namespace")
        return ForeignJob(
            form="Volcano Job",
            root=self.item,
            name=self.options.name or name(self.item),
            namespace=namespace.written if namespace else None,
            roles=settled.roles,
            strategy=settled.strategy,
            spec=self.spec,
            comments=self.comments,
        )

    def _is_tensorflow(self, tasks: Mapping[str, Part]) -> bool:
        plugins = dict(self.job.entries("spec", "plugins"))
        if any(plugin in plugins for plugin in _OTHER_PLUGINS):
            return False
        if "tensorflow" in plugins or any(command.tells for command in self.commands.values()):
            return True
        (task, *others) = tasks.values()
        replicas = task.get("replicas")
        is_alone = not others and (replicas is None or replicas.value == 1)
        return is_alone and any("tensorflow" in leaf.written.lower() for leaf in task.leaves())

    def _metadata(self) -> None:
        for key, part in self.job.entries("metadata"):
            if key in ("name", "namespace"):
                self.account.carry(part, "metadata", key)
            elif key in ("labels", "annotations"):
                rest = part.without(LAST_APPLIED)
                own = pod_template.own_keys(rest, ("spec", key), self.account)
                if own:
                    self.spec[key] = own

    # -- tasks ----------------------------------------------------------------------------------------------------

    def _roles(self, tasks: Mapping[str, Part]) -> dict[RoleName, ForeignRole]:
        roles: dict[RoleName, ForeignRole] = {}
        is_one = len(tasks) == 1
        for key, task in tasks.items():
            role = _ROLES.get(key) or ("worker" if is_one else None)
            if role is None:
                self._refuse_role(task)
                continue
            read = self._task(role, key, task)
            if read:
                roles[role] = read
        return {} if self.account.problems else roles

    def _refuse_role(self, task: Part) -> None:
        role = _role(task, _plugin_roles(self.item))
        if role:
            why = f"it is {role}, and so is another task; a job has each role once. See its TF_CONFIG or --job_name"
        else:
            names = either(("chief", "ps", "worker", "evaluator"))
            why = f"nothing says which role the task {name_of(task)} has: {names}"
        self.account.refuse(task, why)

    def _task(self, role: RoleName, key: str, task: Part) -> ForeignRole | None:
        template, command = task.get("template"), self.commands[key]
        if template is None or not isinstance(template.value, Mapping):
            self.account.refuse(task, "the task has no template")
            return None
        task_name = task.get("name")
        if task_name and task_name.written != role:
            self.account.change(task_name, *ROLES, role, why="a role has TensorFlow's name")
        elif task_name:
            self.account.carry(task_name, *ROLES, role)
        replicas = number_of_tasks(task, role, self.account)
        if not replicas:
            return None
        self._policy(template)
        main = pod_template.main_container(template)
        if main is not None:
            self._command(role, main, command)
        pod = pod_template.translate(
            template.without_path(pod_template.RESTART_POLICY),
            role,
            self.account,
            ports=(*_PORT_NAMES, command.port or pod_template.PORT),
            program=command.program,
        )
        for field, part in task.entries():
            if field in _OF_A_TASK:
                self.account.drop(part, _OF_A_TASK[field])
        if pod is None:
            return None
        if scheduler := pod.scheduler:
            self.account.carry(scheduler, "spec", "gang", "scheduler")
        if pod.port is None and command.port:
            self.spec["port"] = command.port
        return ForeignRole(task, replicas, pod)

    def _policy(self, template: Part) -> None:
        policy = template.get("spec", "restartPolicy")
        if policy is None:
            return
        if self._is_volcano_job and policy.value == "OnFailure":
            self.account.carry(policy, why="tfgen's default")
        elif self._is_volcano_job:
            self.account.change(policy, "spec", "retries", why="a program that fails is started again in its pod")
        else:
            self.account.change(
                policy, "spec", "retries", why="a task that fails is started again, up to retries times"
            )

    def _command(self, role: RoleName, main: Part, command: TaskCommand) -> None:
        if command.refused:
            self.account.refuse(main.get("command") or main, command.refused)
        for note in command.notes:
            self.account.note(main.get("command") or main, note)
        for key in ("command", "args"):
            part = main.get(key)
            if part and command.program.command is not None:
                self.account.change(part, *ROLES, role, "command", why=why_changed(command))

    # -- the whole ------------------------------------------------------------------------------------------------

    def _ends(self, tasks: Mapping[str, Part], roles: Mapping[RoleName, ForeignRole]) -> CompletionBy:
        """Whose end ends the job; and what becomes of all policies."""
        by: set[str] = set()
        for key, task in tasks.items():
            for policy in task.items("policies"):
                if self._event(policy) == ("TaskCompleted", "CompleteJob"):
                    by.add(_ROLES.get(key, "worker"))
                    self.account.carry(policy, "spec", "completion", "by")
                else:
                    self._other_policy(policy)
        for policy in self.job.items("spec", "policies"):
            if self._event(policy) == ("TaskCompleted", "CompleteJob"):
                self.account.change(policy, "spec", "completion", "by", why="one role's end ends the job")
                by.add("chief" if "chief" in roles else "worker")
            else:
                self._other_policy(policy)
        ends: CompletionBy = "Chief" if "chief" in roles else "AllWorkers"
        role = "chief" if "chief" in roles else "worker"
        if by and role not in by:
            self.account.refuse(
                self.job.value["spec"], f"the end of {either(sorted(by))} ends this job; in tfgen's that of its {role}"
            )
        if not by:
            why = f"no policy completes it, and a ps never ends; here the end of its {role} does"
            if "ps" in roles:
                self.account.note(self.job.value["spec"], why)
        return ends

    def _event(self, policy: Part) -> tuple[str, str]:
        events = [part.written for part in (policy.get("event"), *policy.items("events")) if part]
        action = policy.get("action")
        return (events[0] if len(events) == 1 else "", action.written if action else "")

    def _other_policy(self, policy: Part) -> None:
        if self._event(policy) in _LOST:
            why = "" if self._is_volcano_job else "each task that is lost is started again by itself"
            if why:
                self.account.change(policy, "spec", "retries", why=why)
            else:
                self.account.carry(policy, why="tfgen's default")
        else:
            event, action = self._event(policy)
            code = policy.get("exitCode")
            what = f"{f'exit code {code.written}' if code else event or 'a list of events'} to {action or 'nothing'}"
            self.account.drop(policy, f"tfgen has no word for {what}; lost tasks are started again")

    def _workload(self) -> None:
        plugins = self.job.get("spec", "plugins")
        for key, part in plugins.entries() if plugins else ():
            if key == "tensorflow":
                why = "" if self._is_volcano_job else "tfgen writes TF_CONFIG itself"
                self.account.carry(part, why=why)
                for argument in part.items():
                    match = re.fullmatch(r"--?port=(\d{1,5})", argument.written)
                    if match:
                        self.spec["port"] = int(match[1])
            elif key in _PLUGINS:
                self.account.carry(part, why=_PLUGINS[key])
            elif key == "ssh":
                self.account.drop(part, _NO_SSH)
            else:
                self.account.drop(part, f"tfgen knows no plugin {key}")
        if self._is_volcano_job:
            self.spec["workload"] = {"kind": "VolcanoJob"}
            if plugins and plugins.get("tensorflow"):
                self.spec["workload"]["volcanoJob"] = {"tfConfig": "Plugin"}

    def _whole(self, settled: Settled) -> None:
        gang: dict[str, Any] = {"scheduler": "volcano"}
        members = sum(role.replicas for key, role in settled.roles.items() if key != "evaluator")
        every = sum(role.replicas for role in settled.roles.values())
        for key, part in self.job.entries("spec"):
            match key:
                case "minAvailable" | "queue" | "priorityClassName" | "schedulerName":
                    self._gang_field(key, part, gang, (members, every))
                case "maxRetry":
                    self._retries(part)
                case "ttlSecondsAfterFinished" if self._is_volcano_job:
                    self.spec["workload"][key] = part.value
                    self.account.carry(part, "spec", "workload", key)
                case "ttlSecondsAfterFinished":
                    self.account.drop(part, "what git has would be made anew; retire the job with enabled: false")
                case "networkTopology" if self._is_volcano_job:
                    self.spec["workload"].setdefault("volcanoJob", {})[key] = part.data
                    self.account.carry(part, "spec", "workload", "volcanoJob", key)
                case "networkTopology":
                    self.account.drop(part, "a PodGroup of tfgen has none; import with --workload VolcanoJob")
                case "volumes":
                    self._volumes(part)
                case "tasks" | "policies" | "plugins":
                    continue
                case _:
                    self.account.drop(part, _OF_THE_JOB.get(key, f"tfgen knows no field {key} of a Volcano Job"))
        if settled.strategy != "Single" or self._is_volcano_job:
            self.spec["gang"] = gang
        elif len(gang) > 1:
            self.account.note(self.job.value["spec"], "one task needs no gang")

    def _gang_field(self, key: str, part: Part, gang: dict[str, Any], tasks: Sequence[int]) -> None:
        is_default = {
            "minAvailable": part.value in tasks,
            "queue": part.value == "default",
            "schedulerName": part.value == "volcano",
        }
        if is_default.get(key):
            self.account.carry(part, "spec", "gang", why="as is the default")
        else:
            gang[key] = part.data
            self.account.carry(part, "spec", "gang", key)

    def _retries(self, part: Part) -> None:
        if not isinstance(part.value, int) or part.value < 1:
            self.account.drop(part, f"Volcano takes it for its own default, {_MAX_RETRY}")
            return
        self.spec["retries"] = part.value - 1
        if self._is_volcano_job:
            self.account.carry(part, "spec", "retries", why="Volcano counts the first start")
        else:
            self.account.change(part, "spec", "retries", why="each task's own failures are counted, not the job's")

    def _volumes(self, volumes: Part) -> None:
        """The volumes of all tasks: claims by name, and claims that are made for the job."""
        storage = self.spec.setdefault("storage", {})
        for volume in volumes.items():
            path, claim = volume.get("mountPath"), volume.get("volumeClaimName")
            if path is None:
                self.account.refuse(volume, "it has no mountPath")
                continue
            key = volume_name(path.written)
            target: Path = ("spec", "storage", key)
            own_claim = volume.get("volumeClaim")
            source: dict[str, Any] | None = {"name": claim.written} if claim else _claim(own_claim)
            if source is None:
                self.account.drop(volume, "it has neither a claim nor a size; Volcano gives the tasks an empty folder")
                storage[key] = {"mountPath": path.written, "emptyDir": {}}
                continue
            storage[key] = {"mountPath": path.written, "claim": source}
            self.account.carry(volume, *target)


def volume_name(path: str) -> str:
    """What a volume is called in the job that has only a path in the Volcano Job."""
    return re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-") or "data"


def _claim(part: Part | None) -> dict[str, Any] | None:
    size = part.get("resources", "requests", "storage") if part else None
    if part is None or size is None:
        return None
    modes, storage_class = list(part.items("accessModes")), part.get("storageClassName")
    return {
        "size": size.written,
        **({"storageClass": storage_class.written} if storage_class else {}),
        **({"accessMode": modes[0].written} if modes else {}),
    }
