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
from tfgen.importers.fields import TFGEN_DEFAULT, Fields, carried, dropped
from tfgen.importers.foreign_job import ROLES, ForeignJob, ForeignRole, Settled, number_of_tasks, settle
from tfgen.importers.form_reader import (
    AS_PODS,
    AS_WORKLOAD,
    NO_ROLE,
    RESTARTS,
    ROLE_WORDS,
    FormReader,
    by_role,
    command_of,
    read_pod,
)
from tfgen.importers.objects import api_group, kind
from tfgen.importers.options import Options
from tfgen.importers.part import Part, mapping
from tfgen.importers.shapes import EACH, METADATA, SCALAR, TEXTS, refuse_misshapen
from tfgen.importers.task_command import why_told_nothing
from tfgen.job.training_job import RoleName
from tfgen.schema.workload_kinds.facts import CompletionBy
from tfgen.words import either

GROUP: Final = "batch.volcano.sh"

_OTHER_PLUGINS: Final = ("mpi", "pytorch", "ray", "hcclrank")
_PORT_NAMES: Final = ("tfjob-port", "tensorflow")
_TASK: Final[Fields] = {
    "dependsOn": dropped("all tasks start together, and TensorFlow waits for its ps itself"),
    "maxRetry": dropped("a job's retries hold for every task"),
    "minAvailable": dropped("gang.minAvailable holds for the whole job"),
    "partitionPolicy": dropped("tfgen has no partitions of a role"),
    "topologyPolicy": dropped("tfgen knows no NUMA policy; the kubelet's own holds"),
}
_PLUGINS: Final[Fields] = {
    "env": carried(why="tfgen tells each task its index"),
    "svc": carried(why="tfgen gives each task a name"),
    "ssh": dropped("TensorFlow's tasks need no ssh"),
    EACH: dropped("tfgen knows no plugin {key}"),
}
_VOLCANO_JOB: Final = ("spec", "workload", "volcanoJob")
_SPEC: Final[Fields] = {
    **AS_PODS,
    **dict.fromkeys(("tasks", "policies", "plugins")),
    "minSuccess": dropped("the end of one role ends the job"),
    "networkTopology": dropped("a PodGroup of tfgen has none; import with --workload VolcanoJob"),
    "runningEstimate": dropped("only Volcano's simulator reads it"),
    EACH: dropped("tfgen knows no field {key} of a Volcano Job"),
}
_SPEC_OF_VOLCANO_JOB: Final[Fields] = {
    "networkTopology": carried(*_VOLCANO_JOB, "networkTopology"),
    "ttlSecondsAfterFinished": AS_WORKLOAD["ttlSecondsAfterFinished"],
}
"""Fields of spec that differ for a job that stays a Volcano Job."""
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
    by_name = by_role(tasks.items(), lambda task: _role(task, plugin))
    return item.with_part(("spec", "tasks"), mapping(tasks, by_name))


def _plugin_roles(item: Part) -> dict[str, RoleName]:
    """The roles that the plugin tensorflow is told, by the names of the tasks."""
    if item.get("spec", "plugins", "tensorflow") is None:
        return {}
    tasks: dict[RoleName, str] = {"ps": "ps", "worker": "worker", "chief": "chief", "evaluator": "evaluator"}
    for argument in item.texts_at("spec", "plugins", "tensorflow"):
        if match := re.fullmatch(r"--?(ps|worker|chief|evaluator)=(.+)", argument):
            tasks[ROLE_WORDS[match[1]]] = match[2]
    return {task: role for role, task in tasks.items()}


def _role(task: Part, plugin: Mapping[str, RoleName]) -> RoleName | None:
    """A task's role: as the plugin is told, as its own command says, or by its name."""
    words = task.text_at("name").lower()
    texts = ((command_of(task, "template").role or "").lower(), words, re.split(r"[-_]", words)[-1])
    named = (ROLE_WORDS[text] for text in texts if text in ROLE_WORDS)
    return plugin.get(task.text_at("name")) or next(named, None)


def read(item: Part, _others: Sequence[Part], options: Options, account: Account) -> ForeignJob | None:
    """A Volcano Job; None where it cannot be imported, which the account then says."""
    if refuse_misshapen(item, _SHAPE, account):
        return None
    return _VolcanoJob(item, canonical(item), options, account).read()


class _VolcanoJob(FormReader):
    """The reading of one Volcano Job."""

    form = "Volcano Job"
    kind = "VolcanoJob"

    def read(self) -> ForeignJob | None:
        tasks = dict(self.job.entries("spec", "tasks"))
        if not tasks:
            self.account.refuse(self.item, "the Volcano Job has no tasks")
            return None
        self.commands = {key: command_of(task, "template") for key, task in tasks.items()}
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
        self.metadata()
        settled = settle(roles, self._ends(tasks, roles), self.account, self.options.alone)
        if settled.ends not in (None, "Chief") or "chief" not in settled.roles:
            self.put(settled.ends, "spec", "completion", "by")
        self._workload()
        self._whole(settled)
        return self.foreign_job(settled)

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

    # -- tasks ----------------------------------------------------------------------------------------------------

    def _roles(self, tasks: Mapping[str, Part]) -> dict[RoleName, ForeignRole]:
        roles: dict[RoleName, ForeignRole] = {}
        is_one = len(tasks) == 1
        for key, task in tasks.items():
            role = ROLE_WORDS.get(key) or ("worker" if is_one else None)
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
            why = f"nothing says which role the task {task.text_at('name')} has: {NO_ROLE}"
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
        if policy := template.get("spec", "restartPolicy"):
            default = "OnFailure" if self.keeps_kind else None
            why = "a program that fails is started again in its pod" if self.keeps_kind else RESTARTS
            if policy.value == default:
                self.settle(policy, TFGEN_DEFAULT)
            else:
                self.account.change(policy, "spec", "retries", why=why)
        if main := pod_template.main_container(template):
            if command.refused:
                self.account.refuse(main.get("command") or main, command.refused)
            for note in command.notes:
                self.account.note(main.get("command") or main, note)
        pod = read_pod(template, role, command, self.account, _PORT_NAMES)
        self.fields(task, _TASK)
        if pod is None:
            return None
        if scheduler := pod.scheduler:
            self.account.carry(scheduler, "spec", "gang", "scheduler")
        return ForeignRole(task, replicas, pod)

    # -- the whole ------------------------------------------------------------------------------------------------

    def _ends(self, tasks: Mapping[str, Part], roles: Mapping[RoleName, ForeignRole]) -> CompletionBy:
        """Whose end ends the job; and what becomes of all policies."""
        by: set[str] = set()
        for key, task in tasks.items():
            for policy in task.items("policies"):
                if self._event(policy) == ("TaskCompleted", "CompleteJob"):
                    by.add(ROLE_WORDS.get(key, "worker"))
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
        event, action = self._event(policy)
        if (event, action) in _LOST and self.keeps_kind:
            self.settle(policy, TFGEN_DEFAULT)
        elif (event, action) in _LOST:
            self.account.change(policy, "spec", "retries", why="each task that is lost is started again by itself")
        else:
            code = policy.get("exitCode")
            what = f"{f'exit code {code.written}' if code else event or 'a list of events'} to {action or 'nothing'}"
            self.account.drop(policy, f"tfgen has no word for {what}; lost tasks are started again")

    def _workload(self) -> None:
        if self.keeps_kind:
            self.put("VolcanoJob", "spec", "workload", "kind")
        self.fields(self.job.get("spec", "plugins"), {**_PLUGINS, "tensorflow": self._plugin})

    def _plugin(self, _key: str, part: Part) -> None:
        self.account.carry(part, why="" if self.keeps_kind else "tfgen writes TF_CONFIG itself")
        for argument in part.texts_at():
            if match := re.fullmatch(r"--?port=(\d{1,5})", argument):
                self.put(int(match[1]), "spec", "port")
        if self.keeps_kind:
            self.put("Plugin", *_VOLCANO_JOB, "tfConfig")

    def _whole(self, settled: Settled) -> None:
        members = sum(role.replicas for key, role in settled.roles.items() if key != "evaluator")
        every = sum(role.replicas for role in settled.roles.values())
        spec = self.job.value["spec"]
        tasks = spec.get("minAvailable")
        defaults = {
            "minAvailable": tasks.value if tasks and tasks.value in (members, every) else None,
            "priorityClassName": None,
            "queue": "default",
            "schedulerName": "volcano",
        }
        for key, default in defaults.items():
            part = spec.get(key)
            if part and default is not None and part.value == default:
                self.account.carry(part, "spec", "gang", why="as is the default")
            elif part:
                self.settle(part, carried("spec", "gang", key))
        by_kind = _SPEC_OF_VOLCANO_JOB if self.keeps_kind else {}
        special: Fields = {**dict.fromkeys(defaults), "maxRetry": self._retries, "volumes": self._volumes}
        self.fields(spec, {**_SPEC, **by_kind, **special})
        gang = self.spec.pop("gang", {})
        if settled.strategy != "Single" or self.keeps_kind:
            self.spec["gang"] = {"scheduler": "volcano", **gang}
        elif gang:
            self.account.note(spec, "one task needs no gang")

    def _retries(self, _key: str, part: Part) -> None:
        if not isinstance(part.value, int) or part.value < 1:
            self.account.drop(part, f"Volcano takes it for its own default, {_MAX_RETRY}")
            return
        self.put(part.value - 1, "spec", "retries")
        if self.keeps_kind:
            self.account.carry(part, "spec", "retries", why="Volcano counts the first start")
        else:
            self.account.change(part, "spec", "retries", why="each task's own failures are counted, not the job's")

    def _volumes(self, _key: str, volumes: Part) -> None:
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
