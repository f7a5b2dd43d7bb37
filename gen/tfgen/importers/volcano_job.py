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
from tfgen.importers.fields import TFGEN_DEFAULT, Fields, carried, dropped
from tfgen.importers.foreign_job import ROLES, ForeignJob, ForeignRole, TrainingPlan, number_of_tasks, training_plan
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
from tfgen.importers.shapes import ANY_KEY, METADATA, SCALAR, TEXTS, refuse_misshapen
from tfgen.importers.task_command import no_cluster_message
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
    ANY_KEY: dropped("tfgen knows no plugin {key}"),
}
_VOLCANO_JOB: Final = ("spec", "workload", "volcanoJob")
_SPEC: Final[Fields] = {
    **AS_PODS,
    **dict.fromkeys(("tasks", "policies", "plugins")),
    "minSuccess": dropped("the end of one role ends the job"),
    "networkTopology": dropped("a PodGroup of tfgen has none; import with --workload VolcanoJob"),
    "runningEstimate": dropped("only Volcano's simulator reads it"),
    ANY_KEY: dropped("tfgen knows no field {key} of a Volcano Job"),
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
        "plugins": {ANY_KEY: [SCALAR]},
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


def read(item: Part, _others: Sequence[Part], options: Options, report: ImportReport) -> ForeignJob | None:
    """A Volcano Job; None where it cannot be imported, which the account then says."""
    if refuse_misshapen(item, _SHAPE, report):
        return None
    return _VolcanoJob(item, canonical(item), options, report).read()


class _VolcanoJob(JobReader):
    """The reading of one Volcano Job."""

    format = "Volcano Job"
    kind = "VolcanoJob"

    def read(self) -> ForeignJob | None:
        tasks = dict(self.job.entries("spec", "tasks"))
        if not tasks:
            self.report.refuse(self.item, "the Volcano Job has no tasks")
            return None
        self.commands = {key: command_of(task, "template") for key, task in tasks.items()}
        if not self._is_tensorflow(tasks):
            neither = "the plugin tensorflow, nor TF_CONFIG, nor --ps_hosts and --worker_hosts"
            why = no_cluster_message(self.commands.values(), neither)
            self.report.refuse(self.job.value["spec"], f"this Volcano Job {why}")
            return None
        roles = self._roles(tasks)
        if not roles:
            if not self.report.problems:
                self.report.refuse(self.job.value["spec"], "no task has any replicas")
            return None
        self.metadata()
        plan = training_plan(roles, self._ends(tasks, roles), self.report, self.options.single_task_strategy)
        if plan.ends not in (None, "Chief") or "chief" not in plan.roles:
            self.set_value(plan.ends, "spec", "completion", "by")
        self._workload()
        self._whole(plan)
        return self.foreign_job(plan)

    def _is_tensorflow(self, tasks: Mapping[str, Part]) -> bool:
        plugins = dict(self.job.entries("spec", "plugins"))
        if any(plugin in plugins for plugin in _OTHER_PLUGINS):
            return False
        if "tensorflow" in plugins or any(command.tells for command in self.commands.values()):
            return True
        (task, *companions) = tasks.values()
        replicas = task.get("replicas")
        is_alone = not companions and (replicas is None or replicas.value == 1)
        return is_alone and any("tensorflow" in scalar_part.as_text.lower() for scalar_part in task.leaves())

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
        return {} if self.report.problems else roles

    def _refuse_role(self, task: Part) -> None:
        role = _role(task, _plugin_roles(self.item))
        if role:
            why = f"it is {role}, and so is another task; a job has each role once. See its TF_CONFIG or --job_name"
        else:
            why = f"nothing says which role the task {task.text_at('name')} has: {NO_ROLE}"
        self.report.refuse(task, why)

    def _task(self, role: RoleName, key: str, task: Part) -> ForeignRole | None:
        template, command = task.get("template"), self.commands[key]
        if template is None or not isinstance(template.value, Mapping):
            self.report.refuse(task, "the task has no template")
            return None
        task_name = task.get("name")
        if task_name and task_name.as_text != role:
            self.report.change(task_name, *ROLES, role, why="a role has TensorFlow's name")
        elif task_name:
            self.report.carry(task_name, *ROLES, role)
        replicas = number_of_tasks(task, role, self.report)
        if not replicas:
            return None
        if policy := template.get("spec", "restartPolicy"):
            default = "OnFailure" if self.keeps_kind else None
            why = "a program that fails is started again in its pod" if self.keeps_kind else RESTARTS
            if policy.value == default:
                self.apply_row(policy, TFGEN_DEFAULT)
            else:
                self.report.change(policy, "spec", "retries", why=why)
        if main := pod_template.main_container(template):
            if command.refused:
                self.report.refuse(main.get("command") or main, command.refused)
            for note in command.notes:
                self.report.note(main.get("command") or main, note)
        pod = read_pod(template, role, command, self.report, _PORT_NAMES)
        self.fields(task, _TASK)
        if pod is None:
            return None
        if scheduler := pod.scheduler:
            self.report.carry(scheduler, "spec", "gang", "scheduler")
        return ForeignRole(task, replicas, pod)

    # -- the whole ------------------------------------------------------------------------------------------------

    def _ends(self, tasks: Mapping[str, Part], roles: Mapping[RoleName, ForeignRole]) -> CompletionBy:
        """Whose end ends the job; and what becomes of all policies."""
        by: set[str] = set()
        for key, task in tasks.items():
            for policy in task.items("policies"):
                if self._event(policy) == ("TaskCompleted", "CompleteJob"):
                    by.add(ROLE_WORDS.get(key, "worker"))
                    self.report.carry(policy, "spec", "completion", "by")
                else:
                    self._other_policy(policy)
        for policy in self.job.items("spec", "policies"):
            if self._event(policy) == ("TaskCompleted", "CompleteJob"):
                self.report.change(policy, "spec", "completion", "by", why="one role's end ends the job")
                by.add("chief" if "chief" in roles else "worker")
            else:
                self._other_policy(policy)
        ends: CompletionBy = "Chief" if "chief" in roles else "AllWorkers"
        role = "chief" if "chief" in roles else "worker"
        if by and role not in by:
            self.report.refuse(
                self.job.value["spec"], f"the end of {either(sorted(by))} ends this job; in tfgen's that of its {role}"
            )
        if not by:
            why = f"no policy completes it, and a ps never ends; here the end of its {role} does"
            if "ps" in roles:
                self.report.note(self.job.value["spec"], why)
        return ends

    def _event(self, policy: Part) -> tuple[str, str]:
        events = [part.as_text for part in (policy.get("event"), *policy.items("events")) if part]
        action = policy.get("action")
        return (events[0] if len(events) == 1 else "", action.as_text if action else "")

    def _other_policy(self, policy: Part) -> None:
        event, action = self._event(policy)
        if (event, action) in _LOST and self.keeps_kind:
            self.apply_row(policy, TFGEN_DEFAULT)
        elif (event, action) in _LOST:
            self.report.change(policy, "spec", "retries", why="each task that is lost is started again by itself")
        else:
            code = policy.get("exitCode")
            what = f"{f'exit code {code.as_text}' if code else event or 'a list of events'} to {action or 'nothing'}"
            self.report.drop(policy, f"tfgen has no word for {what}; lost tasks are started again")

    def _workload(self) -> None:
        if self.keeps_kind:
            self.set_value("VolcanoJob", "spec", "workload", "kind")
        self.fields(self.job.get("spec", "plugins"), {**_PLUGINS, "tensorflow": self._plugin})

    def _plugin(self, _key: str, part: Part) -> None:
        self.report.carry(part, why="" if self.keeps_kind else "tfgen writes TF_CONFIG itself")
        for argument in part.texts_at():
            if match := re.fullmatch(r"--?port=(\d{1,5})", argument):
                self.set_value(int(match[1]), "spec", "port")
        if self.keeps_kind:
            self.set_value("Plugin", *_VOLCANO_JOB, "tfConfig")

    def _whole(self, plan: TrainingPlan) -> None:
        members = sum(role.replicas for key, role in plan.roles.items() if key != "evaluator")
        every = sum(role.replicas for role in plan.roles.values())
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
                self.report.carry(part, "spec", "gang", why="as is the default")
            elif part:
                self.apply_row(part, carried("spec", "gang", key))
        by_kind = _SPEC_OF_VOLCANO_JOB if self.keeps_kind else {}
        special: Fields = {**dict.fromkeys(defaults), "maxRetry": self._retries, "volumes": self._volumes}
        self.fields(spec, {**_SPEC, **by_kind, **special})
        gang = self.spec.pop("gang", {})
        if plan.strategy != "Single" or self.keeps_kind:
            self.spec["gang"] = {"scheduler": "volcano", **gang}
        elif gang:
            self.report.note(spec, "one task needs no gang")

    def _retries(self, _key: str, part: Part) -> None:
        if not isinstance(part.value, int) or part.value < 1:
            self.report.drop(part, f"Volcano takes it for its own default, {_MAX_RETRY}")
            return
        self.set_value(part.value - 1, "spec", "retries")
        if self.keeps_kind:
            self.report.carry(part, "spec", "retries", why="Volcano counts the first start")
        else:
            self.report.change(part, "spec", "retries", why="each task's own failures are counted, not the job's")

    def _volumes(self, _key: str, volumes: Part) -> None:
        """The volumes of all tasks: claims by name, and claims that are made for the job."""
        storage = self.spec.setdefault("storage", {})
        for volume in volumes.items():
            path, claim = volume.get("mountPath"), volume.get("volumeClaimName")
            if path is None:
                self.report.refuse(volume, "it has no mountPath")
                continue
            key = volume_name(path.as_text)
            target: Path = ("spec", "storage", key)
            own_claim = volume.get("volumeClaim")
            source: dict[str, Any] | None = {"name": claim.as_text} if claim else _claim(own_claim)
            if source is None:
                self.report.drop(volume, "it has neither a claim nor a size; Volcano gives the tasks an empty folder")
                storage[key] = {"mountPath": path.as_text, "emptyDir": {}}
                continue
            storage[key] = {"mountPath": path.as_text, "claim": source}
            self.report.carry(volume, *target)


def volume_name(path: str) -> str:
    """What a volume is called in the job that has only a path in the Volcano Job."""
    return re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-") or "data"


def _claim(part: Part | None) -> dict[str, Any] | None:
    size = part.get("resources", "requests", "storage") if part else None
    if part is None or size is None:
        return None
    modes, storage_class = list(part.items("accessModes")), part.get("storageClassName")
    return {
        "size": size.as_text,
        **({"storageClass": storage_class.as_text} if storage_class else {}),
        **({"accessMode": modes[0].as_text} if modes else {}),
    }
