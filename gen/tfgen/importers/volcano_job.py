"""Reader of Volcano Jobs that run TensorFlow. Volcano's plugin, a script or flags configure the TensorFlow cluster.

Fields: https://github.com/volcano-sh/volcano/blob/v1.15.1/config/crd/volcano/bases/batch.volcano.sh_jobs.yaml.
Plugins: https://github.com/volcano-sh/volcano/tree/v1.15.1/pkg/controllers/job/plugins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.importers.foreign_job import (
    AS_PODS,
    AS_WORKLOAD,
    RESTARTS,
    ROLE_LIST,
    ROLE_WORDS,
    ROLES,
    ForeignJob,
    ForeignRole,
    JobReader,
    OriginPod,
    TrainingPlan,
)
from tfgen.importers.part import Part, build_part, mapping, sequence
from tfgen.importers.pod import main_container, volume_name, with_main
from tfgen.importers.table import ANY_KEY, TFGEN_DEFAULT, Conversion, Fields, Notes, Options, carried, dropped
from tfgen.importers.tf_config import no_cluster_message
from tfgen.job.training_job import RoleName
from tfgen.schema import kinds
from tfgen.schema.kinds import CompletionBy
from tfgen.words import either

GROUP: Final = "batch.volcano.sh"

_TASK: Final[Fields] = {
    "dependsOn": dropped("tfgen starts all tasks together, and TensorFlow waits until each ps is ready"),
    "maxRetry": dropped("in tfgen, all tasks of a job have the same limit; set spec.retries"),
    "minAvailable": dropped("in tfgen, the minimum applies to the whole job; set spec.gang.minAvailable"),
    "partitionPolicy": dropped("tfgen does not support partitions of a role"),
    "topologyPolicy": dropped("tfgen does not support NUMA policies; the topology policy of the kubelet applies"),
}
_PLUGINS: Final[Fields] = {
    "svc": dropped("tfgen gives each task a host name, as this plugin does", is_quiet=True),
    "ssh": dropped("the tasks of TensorFlow do not connect by ssh"),
    ANY_KEY: dropped("tfgen does not support the plugin {key}"),
}
_WHY_NO_GANG: Final = "a job with a single task needs no gang"
_VOLCANO_JOB: Final = ("spec", "workload", "volcanoJob")
_SPEC: Final[Fields] = {
    **AS_PODS,
    **dict.fromkeys(("tasks", "policies", "plugins")),
    "minSuccess": dropped("in tfgen, a job ends when one of its roles ends; see spec.completion"),
    "networkTopology": dropped(_WHY_NO_GANG),
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


def _plugin_roles(item: Part) -> dict[str, RoleName]:
    """Return the role of each task to which Volcano's plugin `tensorflow` assigns a role, by the name of the task."""
    if item.get("spec", "plugins", "tensorflow") is None:
        return {}
    tasks: dict[RoleName, str] = {role: role for role in ("ps", "worker", "chief", "evaluator")}
    for argument in item.texts_at("spec", "plugins", "tensorflow"):
        if match := re.fullmatch(r"--?(ps|worker|chief|evaluator)=(.+)", argument):
            tasks[ROLE_WORDS[match[1]]] = match[2]
    return {task: role for role, task in tasks.items()}


def read(item: Part, companions: Sequence[Part], options: Options, notes: Notes) -> ForeignJob | None:
    """Read a Volcano Job. Return None if the import report has problems."""
    return _VolcanoJob(item, item, companions, options, notes).read()


class _VolcanoJob(JobReader):
    """Reader of a Volcano Job."""

    format = "Volcano Job"
    kind = "VolcanoJob"

    def read(self) -> ForeignJob | None:
        # A task without a role has its name as key, or its index. Two tasks may have the same role or name.
        tasks: dict[str, Part] = {}
        for position, task in enumerate(self.job.items("spec", "tasks")):
            key = self._role(task) or task.text_at("name") or str(position)
            tasks[key if key not in tasks else f"{key}-{position}"] = task
        if not tasks:
            self.notes.refuse(self.item, "the Volcano Job has no tasks; add spec.tasks")
            return None
        arguments = self.item.texts_at("spec", "plugins", "tensorflow")
        ports = [int(match[1]) for argument in arguments if (match := re.fullmatch(r"--?port=(\d{1,5})", argument))]
        port = ports[-1] if ports else None
        for key, task in tasks.items():
            command = self.command_of(task, "template")
            self.commands[key] = command.replaced(port=command.port or port)
        if not self._is_tensorflow(tasks):
            expected = "the plugin tensorflow, TF_CONFIG, or --ps_hosts and --worker_hosts"
            message = no_cluster_message("Volcano Job", self.commands.values(), expected)
            self.notes.refuse(self.job.value["spec"], message)
            return None
        roles = self._roles(tasks)
        if not roles:
            if not self.notes.problems:
                self.notes.refuse(self.job.value["spec"], "the Volcano Job has no tasks; set replicas to 1 or more")
            return None
        self.metadata()
        plan = self.plan(roles, self._completion_by(tasks, roles))
        if plan.completion_by != "Chief" or "chief" not in plan.roles:
            self.set_value(plan.completion_by, "spec", "completion", "by")
        if self.keeps_kind:
            self.set_value("VolcanoJob", "spec", "workload", "kind")
        self.fields(self.job.get("spec", "plugins"), {**_PLUGINS, "env": self._index(plan), "tensorflow": self._plugin})
        self._read_spec(plan)
        self.drop_hosts((task.get("template") or task, self.commands[key]) for key, task in tasks.items())
        return self.foreign_job(plan)

    def _is_tensorflow(self, tasks: Mapping[str, Part]) -> bool:
        plugins = dict(self.job.entries("spec", "plugins"))
        if plugins.keys() & {"mpi", "pytorch", "ray", "hcclrank"}:
            return False
        if "tensorflow" in plugins or any(command.has_cluster for command in self.commands.values()):
            return True
        task, *remaining_tasks = tasks.values()
        replicas = task.get("replicas")
        is_single_task = not remaining_tasks and (replicas is None or replicas.value == 1)
        return is_single_task and any("tensorflow" in scalar.as_text.lower() for scalar in task.leaves())

    # -- tasks ----------------------------------------------------------------------------------------------------

    def _role(self, task: Part) -> RoleName | None:
        """Return the role of a task, or None for a task without a role.

        The role comes from Volcano's plugin, from the command, or from the name of the task, in this order.
        """
        name = task.text_at("name").lower()
        texts = ((self.command_of(task, "template").role or "").lower(), name, re.split(r"[-_]", name)[-1])
        roles = (ROLE_WORDS[text] for text in texts if text in ROLE_WORDS)
        return _plugin_roles(self.item).get(task.text_at("name")) or next(roles, None)

    def _roles(self, tasks: Mapping[str, Part]) -> dict[RoleName, ForeignRole]:
        roles: dict[RoleName, ForeignRole] = {}
        default: RoleName | None = "worker" if len(tasks) == 1 else None
        for key, task in tasks.items():
            if role := ROLE_WORDS.get(key, default):
                if read_role := self._read_task(role, key, task):
                    roles[role] = read_role
            elif same := self._role(task):
                fix = "change the role of this task in TF_CONFIG or --job_name"
                self.notes.refuse(task, f"two tasks have the role {same}; {fix}")
            else:
                fix = f"name the task {ROLE_LIST}, or set the role in TF_CONFIG or --job_name"
                self.notes.refuse(task, f"the task {task.text_at('name')} has no role; {fix}")
        return {} if self.notes.problems else roles

    def _read_task(self, role: RoleName, key: str, task: Part) -> ForeignRole | None:
        template, command = task.get("template"), self.commands[key]
        if template is None or not isinstance(template.value, Mapping):
            self.notes.refuse(task, "the task has no pod template; add template")
            return None
        if task_name := task.get("name"):
            self.notes.target(task_name, *ROLES, role)
            if task_name.as_text != role:
                why = "in job.yaml, a role has the name of its task type in TensorFlow"
                self.notes.reason(task_name, why, "changed")
        replicas = self.number_of_tasks(task, role)
        if not replicas:
            return None
        if policy := template.get("spec", "restartPolicy"):
            why = "in the imported job, a failed program restarts in its pod" if self.keeps_kind else RESTARTS
            if self.keeps_kind and policy.value == "OnFailure":
                self.apply_row(policy, TFGEN_DEFAULT)
            else:
                self.notes.reason(policy, why, "changed")
        if main := main_container(template):
            if command.refusal:
                self.notes.refuse(main.get("command") or main, command.refusal)
            for note in command.notes:
                self.notes.remark(main.get("command") or main, note)
        pod = self.read_pod(template, role, command, ("tfjob-port", "tensorflow"))
        self.fields(task, _TASK)
        if pod is None:
            return None
        return ForeignRole(task, replicas, pod, [OriginPod(self._with_volumes(template))])

    # -- the job --------------------------------------------------------------------------------------------------

    def _completion_by(self, tasks: Mapping[str, Part], roles: Mapping[RoleName, ForeignRole]) -> CompletionBy:
        """Return the value of ``completion.by``, and report all policies of the Volcano Job."""
        last_role: RoleName = "chief" if "chief" in roles else "worker"
        policy_roles: set[str] = set()
        policies = [(key, policy) for key, task in tasks.items() for policy in task.items("policies")]
        policies += [("", policy) for policy in self.job.items("spec", "policies")]
        end, spec = f"the imported job ends when its {last_role} ends", self.job.value["spec"]
        for key, policy in policies:
            if self._event(policy) != ("TaskCompleted", "CompleteJob"):
                self._read_policy(policy)
            elif key:
                policy_roles.add(ROLE_WORDS.get(key, "worker"))
                self.ends.append(policy)
            else:
                policy_roles.add(last_role)
                self.notes.reason(policy, end, "changed")
        if policy_roles and last_role not in policy_roles:
            fix = f"set the policy TaskCompleted: CompleteJob for the {last_role}"
            ends = either(sorted(policy_roles))
            self.notes.refuse(spec, f"the Volcano Job ends when its {ends} ends, but {end}; {fix}")
        if not policy_roles and "ps" in roles:
            self.notes.remark(spec, f"no policy completes the job, and a ps never ends; {end}")
        return "Chief" if "chief" in roles else "AllWorkers"

    def _event(self, policy: Part) -> tuple[str, str]:
        """Return the event and the action of a policy, such as ("PodEvicted", "RestartJob").

        For a policy with several events or without an event, the event is empty.
        """
        events = [part.as_text for part in (policy.get("event"), *policy.items("events")) if part]
        action = policy.get("action")
        return (events[0] if len(events) == 1 else "", action.as_text if action else "")

    def _read_policy(self, policy: Part) -> None:
        """Note the reason for a policy. Another function reads the policy that completes the job."""
        event, action = self._event(policy)
        if (event, action) in _RESTART_POLICIES and self.keeps_kind:
            self.apply_row(policy, TFGEN_DEFAULT)
        elif (event, action) in _RESTART_POLICIES:
            why = "Volcano restarts all tasks after the loss of a pod; tfgen restarts only the lost task"
            self.notes.reason(policy, why, "changed")
        else:
            code = policy.get("exitCode")
            trigger = f"exit code {code.as_text}" if code else event or "a list of events"
            unsupported = f"the action {action}" if action else "a policy without an action"
            why = f"tfgen does not support {unsupported} for {trigger}; tfgen restarts lost tasks"
            self.notes.reason(policy, why)

    def _index(self, plan: TrainingPlan) -> Conversion:
        """Return the row for the plugin that passes the index to the tasks in variables."""
        if self.keeps_kind:
            return dropped("tfgen sets the same plugin", is_quiet=True)
        if plan.strategy == "Single":
            return dropped("a job with a single task needs no index", is_quiet=True)
        names = kinds.FACTS[self.kind].index_variables
        is_in_manifest = any(name in text.as_text for text in self.job.leaves() for name in names)
        why = f"tfgen passes the index of the task in TASK_INDEX, and not in {either(names)}"
        fix = "" if is_in_manifest else "; make sure that the program reads TASK_INDEX"
        return dropped(why + fix, is_quiet=is_in_manifest)

    def _plugin(self, _key: str, part: Part) -> None:
        if self.keeps_kind:
            self.set_value("Plugin", *_VOLCANO_JOB, "tfConfig")
            self.notes.target(part, *_VOLCANO_JOB, "tfConfig")
            self.notes.reason(part, "tfgen sets the same plugin", "carried", "Plugin")
        else:
            self.notes.reason(part, "tfgen sets TF_CONFIG, as this plugin does", is_quiet=True)

    def _read_spec(self, plan: TrainingPlan) -> None:
        spec = self.job.value["spec"]
        has_topology = plan.strategy != "Single" and not self.keeps_kind
        in_gang = ("minAvailable", "priorityClassName", "queue", *(("networkTopology",) if has_topology else ()))
        policy = mapping(spec, {key: spec.get(key) for key in in_gang})
        gang = self.read_gang(plan, policy)
        if plan.strategy == "Single" and self.keeps_kind:
            self.spec["gang"] = dict(gang)
        elif plan.strategy == "Single" and len(gang) > 1:
            self.notes.remark(spec, _WHY_NO_GANG)
        if scheduler := spec.get("schedulerName"):
            row = carried("spec", "gang", "schedulerName", default="volcano")
            self.apply_row(scheduler, row if "gang" in self.spec else dropped(_WHY_NO_GANG))
        by_kind = _VOLCANO_JOB_SPEC if self.keeps_kind else {}
        read = dict.fromkeys((*policy.value, "schedulerName"))
        self.fields(spec, {**_SPEC, **by_kind, **read, "maxRetry": self._retries, "volumes": self._volumes})

    def _retries(self, _key: str, part: Part) -> None:
        if not isinstance(part.value, int) or part.value < 1:
            self.notes.reason(part, f"Volcano ignores this value, and uses its default {_MAX_RETRY}")
            return
        retries = part.value - 1  # maxRetry also counts the first start
        self.put(part, retries, "spec", "retries")
        if self.keeps_kind:
            self.notes.reason(part, "maxRetry includes the first start", "carried", retries)
        else:
            why = "spec.retries limits the failures of each task, and maxRetry limited the restarts of the job"
            self.notes.reason(part, why, "changed", retries)

    def _volumes(self, _key: str, volumes: Part) -> None:
        """Convert the volumes that all tasks mount: existing claims, and claims that Volcano creates for the job."""
        storage = self.spec.setdefault("storage", {})
        for volume in volumes.items():
            if (path := volume.get("mountPath")) is None:
                self.notes.refuse(volume, "the volume has no mountPath; add mountPath")
                continue
            key, claim = volume_name(path.as_text), volume.get("volumeClaimName")
            source = {"name": claim.as_text} if claim else _claim(volume.get("volumeClaim"))
            storage[key] = {"mountPath": path.as_text, **({"claim": source} if source else {"emptyDir": {}})}
            if source:
                self.notes.target(volume, "spec", "storage", key, becomes=storage[key])
            else:
                why = "the volume has no claim and no size, so Volcano and tfgen mount an empty folder"
                self.notes.reason(volume, why)

    def _with_volumes(self, template: Part) -> Part:
        """Return a pod template with the volumes of the Volcano Job, which Volcano mounts in each pod."""
        main = main_container(template)
        volumes, mounts = list(template.items("spec", "volumes")), list(main.items("volumeMounts")) if main else []
        own = [volume for volume in self.job.items("spec", "volumes") if volume.get("mountPath")]
        for volume in own:
            key = volume_name(volume.text_at("mountPath"))
            new_claim = f"{self.name}-{key}" if _claim(volume.get("volumeClaim")) else None
            claim = volume.get("volumeClaimName") or new_claim
            source = {"persistentVolumeClaim": {"claimName": claim}} if claim else {"emptyDir": {}}
            mounts.append(build_part(volume, {"name": key, "mountPath": volume.get("mountPath")}))
            volumes.append(build_part(volume, {"name": key, **source}))
        if main is None or not own:
            return template
        template = with_main(template, main, main.with_part(("volumeMounts",), sequence(own[0], mounts)))
        return template.with_part(("spec", "volumes"), sequence(own[0], volumes))


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
