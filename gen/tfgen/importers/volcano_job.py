"""Reader of Volcano Jobs that run TensorFlow. Volcano's plugin, a script or flags configure the TensorFlow cluster.

Fields: https://github.com/volcano-sh/volcano/blob/v1.15.1/config/crd/volcano/bases/batch.volcano.sh_jobs.yaml.
Plugins: https://github.com/volcano-sh/volcano/tree/v1.15.1/pkg/controllers/job/plugins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.importers import pod_template
from tfgen.importers.fields import TFGEN_DEFAULT, Fields, carried, dropped
from tfgen.importers.foreign_job import ROLES, ForeignJob, ForeignRole, TrainingPlan, number_of_tasks, training_plan
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
from tfgen.importers.shapes import ANY_KEY, METADATA, SCALAR, TEXTS, refuse_misshapen
from tfgen.importers.task_command import no_cluster_message
from tfgen.importers.volumes import volume_name
from tfgen.job.training_job import RoleName
from tfgen.schema.kinds import CompletionBy
from tfgen.words import either

GROUP: Final = "batch.volcano.sh"

_FOREIGN_PLUGINS: Final = ("mpi", "pytorch", "ray", "hcclrank")
_PORT_NAMES: Final = ("tfjob-port", "tensorflow")
_TASK: Final[Fields] = {
    "dependsOn": dropped("tfgen starts all tasks together, and TensorFlow waits until each ps is ready"),
    "maxRetry": dropped("in tfgen, all tasks of a job have the same limit; set spec.retries"),
    "minAvailable": dropped("in tfgen, the minimum applies to the whole job; set spec.gang.minAvailable"),
    "partitionPolicy": dropped("tfgen does not support partitions of a role"),
    "topologyPolicy": dropped("tfgen does not support NUMA policies; the topology policy of the kubelet applies"),
}
_PLUGINS: Final[Fields] = {
    "env": carried(why="tfgen passes the index to each task, as this plugin does"),
    "svc": carried(why="tfgen gives each task a host name, as this plugin does"),
    "ssh": dropped("the tasks of TensorFlow do not connect by ssh"),
    ANY_KEY: dropped("tfgen does not support the plugin {key}"),
}
_VOLCANO_JOB: Final = ("spec", "workload", "volcanoJob")
_SPEC: Final[Fields] = {
    **AS_PODS,
    **dict.fromkeys(("tasks", "policies", "plugins")),
    "minSuccess": dropped("in tfgen, a job ends when one of its roles ends; see spec.completion"),
    "networkTopology": dropped("only a Volcano Job can set this field; import with --workload VolcanoJob"),
    "runningEstimate": dropped("only the simulator of Volcano reads this field"),
    ANY_KEY: dropped("job.yaml has no field for {key} of a Volcano Job"),
}
_VOLCANO_JOB_SPEC: Final[Fields] = {
    "networkTopology": carried(*_VOLCANO_JOB, "networkTopology"),
    "ttlSecondsAfterFinished": AS_WORKLOAD["ttlSecondsAfterFinished"],
}
"""Fields of spec that an import to a Volcano Job converts differently than an import to another kind."""
_RESTART_POLICIES: Final = (("PodEvicted", "RestartJob"), ("PodFailed", "RestartJob"))
"""(event, action) of each policy that restarts the whole job after the loss of a pod."""
_MAX_RETRY: Final = 3
"""The default of maxRetry in Volcano."""


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


def canonical(item: Part) -> Part:
    """Return the Volcano Job with a mapping in place of the list of tasks.

    The key of a task is its role, such as `worker`, or the name of a task without a role.
    """
    spec, tasks = item.get("spec"), item.get("spec", "tasks")
    if spec is None or tasks is None or not isinstance(tasks.value, list):
        return item
    plugin = _plugin_roles(item)
    by_name = by_role(tasks.items(), lambda task: _role(task, plugin))
    return item.with_part(("spec", "tasks"), mapping(tasks, by_name))


def _plugin_roles(item: Part) -> dict[str, RoleName]:
    """Return the role of each task to which Volcano's plugin `tensorflow` assigns a role, by the name of the task."""
    if item.get("spec", "plugins", "tensorflow") is None:
        return {}
    tasks: dict[RoleName, str] = {"ps": "ps", "worker": "worker", "chief": "chief", "evaluator": "evaluator"}
    for argument in item.texts_at("spec", "plugins", "tensorflow"):
        if match := re.fullmatch(r"--?(ps|worker|chief|evaluator)=(.+)", argument):
            tasks[ROLE_WORDS[match[1]]] = match[2]
    return {task: role for role, task in tasks.items()}


def _role(task: Part, plugin: Mapping[str, RoleName]) -> RoleName | None:
    """Return the role of a task, or None for a task without a role.

    The role comes from Volcano's plugin, from the command or from the name of the task, in this order of precedence.
    `plugin` contains the role of each task to which the plugin assigns a role.
    """
    name = task.text_at("name").lower()
    texts = ((command_of(task, "template").role or "").lower(), name, re.split(r"[-_]", name)[-1])
    roles = (ROLE_WORDS[text] for text in texts if text in ROLE_WORDS)
    return plugin.get(task.text_at("name")) or next(roles, None)


def read(item: Part, _companions: Sequence[Part], options: Options, report: ImportReport) -> ForeignJob | None:
    """Read a Volcano Job. Return None if the import report has problems."""
    if refuse_misshapen(item, _SHAPE, report):
        return None
    return _VolcanoJob(item, canonical(item), options, report).read()


class _VolcanoJob(JobReader):
    """Reader of a Volcano Job."""

    format = "Volcano Job"
    kind = "VolcanoJob"

    def read(self) -> ForeignJob | None:
        tasks = dict(self.job.entries("spec", "tasks"))
        if not tasks:
            self.report.refuse(self.item, "the Volcano Job has no tasks; add spec.tasks")
            return None
        self.commands = {key: command_of(task, "template") for key, task in tasks.items()}
        if not self._is_tensorflow(tasks):
            expected = "the plugin tensorflow, TF_CONFIG, or --ps_hosts and --worker_hosts"
            message = no_cluster_message("Volcano Job", self.commands.values(), expected)
            self.report.refuse(self.job.value["spec"], message)
            return None
        roles = self._roles(tasks)
        if not roles:
            if not self.report.problems:
                self.report.refuse(self.job.value["spec"], "the Volcano Job has no tasks; set replicas to 1 or more")
            return None
        self.metadata()
        plan = training_plan(roles, self._completion_by(tasks, roles), self.report, self.options.single_task_strategy)
        if plan.completion_by not in (None, "Chief") or "chief" not in plan.roles:
            self.set_value(plan.completion_by, "spec", "completion", "by")
        self._workload()
        self._read_spec(plan)
        return self.foreign_job(plan)

    def _is_tensorflow(self, tasks: Mapping[str, Part]) -> bool:
        plugins = dict(self.job.entries("spec", "plugins"))
        if any(plugin in plugins for plugin in _FOREIGN_PLUGINS):
            return False
        if "tensorflow" in plugins or any(command.has_cluster for command in self.commands.values()):
            return True
        task, *remaining_tasks = tasks.values()
        replicas = task.get("replicas")
        is_single_task = not remaining_tasks and (replicas is None or replicas.value == 1)
        return is_single_task and any("tensorflow" in scalar.as_text.lower() for scalar in task.leaves())

    # -- tasks ----------------------------------------------------------------------------------------------------

    def _roles(self, tasks: Mapping[str, Part]) -> dict[RoleName, ForeignRole]:
        roles: dict[RoleName, ForeignRole] = {}
        default: RoleName | None = "worker" if len(tasks) == 1 else None
        for key, task in tasks.items():
            role = ROLE_WORDS.get(key, default)
            if role is None:
                self._refuse_role(task)
            elif read_role := self._read_task(role, key, task):
                roles[role] = read_role
        return {} if self.report.problems else roles

    def _refuse_role(self, task: Part) -> None:
        role = _role(task, _plugin_roles(self.item))
        if role:
            message = f"two tasks have the role {role}; change the role of this task in TF_CONFIG or --job_name"
        else:
            name = task.text_at("name")
            message = (
                f"the task {name} has no role; name the task {ROLE_LIST}, or set the role in TF_CONFIG or --job_name"
            )
        self.report.refuse(task, message)

    def _read_task(self, role: RoleName, key: str, task: Part) -> ForeignRole | None:
        template, command = task.get("template"), self.commands[key]
        if template is None or not isinstance(template.value, Mapping):
            self.report.refuse(task, "the task has no pod template; add template")
            return None
        task_name = task.get("name")
        if task_name and task_name.as_text != role:
            self.report.change(
                task_name, *ROLES, role, why="in job.yaml, a role has the name of its task type in TensorFlow"
            )
        elif task_name:
            self.report.carry(task_name, *ROLES, role)
        replicas = number_of_tasks(task, role, self.report)
        if not replicas:
            return None
        if policy := template.get("spec", "restartPolicy"):
            default = "OnFailure" if self.keeps_kind else None
            why = "in the imported job, a failed program restarts in its pod" if self.keeps_kind else RESTARTS
            if policy.value == default:
                self.apply_row(policy, TFGEN_DEFAULT)
            else:
                self.report.change(policy, "spec", "retries", why=why)
        if main := pod_template.main_container(template):
            if command.refusal:
                self.report.refuse(main.get("command") or main, command.refusal)
            for note in command.notes:
                self.report.note(main.get("command") or main, note)
        pod = read_pod(template, role, command, self.report, _PORT_NAMES)
        self.fields(task, _TASK)
        if pod is None:
            return None
        if scheduler := pod.scheduler:
            self.report.carry(scheduler, "spec", "gang", "scheduler")
        return ForeignRole(task, replicas, pod)

    # -- the job --------------------------------------------------------------------------------------------------

    def _completion_by(self, tasks: Mapping[str, Part], roles: Mapping[RoleName, ForeignRole]) -> CompletionBy:
        """Return the value of ``completion.by``, and report all policies of the Volcano Job."""
        last_role: RoleName = "chief" if "chief" in roles else "worker"
        policy_roles: set[str] = set()
        for key, task in tasks.items():
            for policy in task.items("policies"):
                if self._event(policy) == ("TaskCompleted", "CompleteJob"):
                    policy_roles.add(ROLE_WORDS.get(key, "worker"))
                    self.report.carry(policy, "spec", "completion", "by")
                else:
                    self._read_policy(policy)
        for policy in self.job.items("spec", "policies"):
            if self._event(policy) == ("TaskCompleted", "CompleteJob"):
                self.report.change(
                    policy, "spec", "completion", "by", why=f"the imported job ends when its {last_role} ends"
                )
                policy_roles.add(last_role)
            else:
                self._read_policy(policy)
        spec = self.job.value["spec"]
        if policy_roles and last_role not in policy_roles:
            ends = either(sorted(policy_roles))
            fix = f"set the policy TaskCompleted: CompleteJob for the {last_role}"
            problem = f"the Volcano Job ends when its {ends} ends, but the imported job ends when its {last_role} ends"
            self.report.refuse(spec, f"{problem}; {fix}")
        if not policy_roles and "ps" in roles:
            self.report.note(
                spec,
                f"no policy completes the job, and a ps never ends; the imported job ends when its {last_role} ends",
            )
        return "Chief" if "chief" in roles else "AllWorkers"

    def _event(self, policy: Part) -> tuple[str, str]:
        """Return the event and the action of a policy, such as ("PodEvicted", "RestartJob").

        For a policy with several events or without an event, the event is empty.
        """
        events = [part.as_text for part in (policy.get("event"), *policy.items("events")) if part]
        action = policy.get("action")
        return (events[0] if len(events) == 1 else "", action.as_text if action else "")

    def _read_policy(self, policy: Part) -> None:
        """Add a policy to the import report. Another function reads the policy that completes the job."""
        event, action = self._event(policy)
        if (event, action) in _RESTART_POLICIES and self.keeps_kind:
            self.apply_row(policy, TFGEN_DEFAULT)
        elif (event, action) in _RESTART_POLICIES:
            self.report.change(
                policy,
                "spec",
                "retries",
                why="Volcano restarts all tasks after the loss of a pod; tfgen restarts only the lost task",
            )
        else:
            code = policy.get("exitCode")
            trigger = f"exit code {code.as_text}" if code else event or "a list of events"
            unsupported = f"the action {action}" if action else "a policy without an action"
            why = f"tfgen does not support {unsupported} for {trigger}; tfgen restarts lost tasks"
            self.report.drop(policy, why)

    def _workload(self) -> None:
        if self.keeps_kind:
            self.set_value("VolcanoJob", "spec", "workload", "kind")
        self.fields(self.job.get("spec", "plugins"), {**_PLUGINS, "tensorflow": self._plugin})

    def _plugin(self, _key: str, part: Part) -> None:
        self.report.carry(part, why="" if self.keeps_kind else "tfgen sets TF_CONFIG")
        for argument in part.texts_at():
            if match := re.fullmatch(r"--?port=(\d{1,5})", argument):
                self.set_value(int(match[1]), "spec", "port")
        if self.keeps_kind:
            self.set_value("Plugin", *_VOLCANO_JOB, "tfConfig")

    def _read_spec(self, plan: TrainingPlan) -> None:
        members = sum(role.replicas for key, role in plan.roles.items() if key != "evaluator")
        members_with_evaluator = sum(role.replicas for role in plan.roles.values())
        spec = self.job.value["spec"]
        tasks = spec.get("minAvailable")
        defaults = {
            "minAvailable": tasks.value if tasks and tasks.value in (members, members_with_evaluator) else None,
            "priorityClassName": None,
            "queue": "default",
            "schedulerName": "volcano",
        }
        for key, default in defaults.items():
            part = spec.get(key)
            if part and default is not None and part.value == default:
                self.report.carry(part, "spec", "gang", why="tfgen's default")
            elif part:
                self.apply_row(part, carried("spec", "gang", key))
        by_kind = _VOLCANO_JOB_SPEC if self.keeps_kind else {}
        readers: Fields = {**dict.fromkeys(defaults), "maxRetry": self._retries, "volumes": self._volumes}
        self.fields(spec, {**_SPEC, **by_kind, **readers})
        gang = self.spec.pop("gang", {})
        if plan.strategy != "Single" or self.keeps_kind:
            self.spec["gang"] = {"scheduler": "volcano", **gang}
        elif gang:
            self.report.note(spec, "a job with a single task needs no gang")

    def _retries(self, _key: str, part: Part) -> None:
        if not isinstance(part.value, int) or part.value < 1:
            self.report.drop(part, f"Volcano ignores this value, and uses its default {_MAX_RETRY}")
            return
        # maxRetry also counts the first start.
        self.set_value(part.value - 1, "spec", "retries")
        if self.keeps_kind:
            self.report.carry(part, "spec", "retries", why="maxRetry includes the first start")
        else:
            self.report.change(
                part,
                "spec",
                "retries",
                why="spec.retries limits the failures of each task, and maxRetry limited the restarts of the job",
            )

    def _volumes(self, _key: str, volumes: Part) -> None:
        """Convert the volumes that all tasks mount: existing claims, and claims that Volcano creates for the job."""
        storage = self.spec.setdefault("storage", {})
        for volume in volumes.items():
            path, claim = volume.get("mountPath"), volume.get("volumeClaimName")
            if path is None:
                self.report.refuse(volume, "the volume has no mountPath; add mountPath")
                continue
            key = volume_name(path.as_text)
            source: dict[str, Any] | None = {"name": claim.as_text} if claim else _claim(volume.get("volumeClaim"))
            if source is None:
                self.report.drop(
                    volume, "the volume has no claim and no size, so Volcano and tfgen mount an empty folder"
                )
                storage[key] = {"mountPath": path.as_text, "emptyDir": {}}
                continue
            storage[key] = {"mountPath": path.as_text, "claim": source}
            self.report.carry(volume, "spec", "storage", key)


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
