"""Reader of hand-written TensorFlow clusters, which have a Job, Pod or StatefulSet for each task or for each role.

A Job, Pod, Deployment, ReplicaSet, ReplicationController or StatefulSet is a task if its command or its variables
configure a TensorFlow cluster. All tasks in the files belong to one job. The tasks of a role may differ only in
their index.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from tfgen.data_path import Path, shared
from tfgen.importers.foreign_job import (
    DEADLINE,
    RESTARTS,
    ROLE_WORDS,
    ROLES,
    ForeignJob,
    ForeignRole,
    JobReader,
    OriginPod,
    training_plan,
)
from tfgen.importers.part import Part, api_group, kind, mapping, name
from tfgen.importers.pod import PodData, join_pull_secrets, main_container
from tfgen.importers.table import ANY_KEY, Fields, Notes, Options, carried, changed, dropped, refuse_misshapen
from tfgen.importers.tf_config import TASK_TYPES, ConfigTexts, TaskCommand, read_command
from tfgen.job.training_job import ROLE_NAMES, RoleName
from tfgen.record import Record
from tfgen.words import count, either, path_name

FORMAT: Final = "hand-written job"

_KINDS: Final = ("Job", "Pod", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
_GROUPS: Final = ("", "apps", "batch", "extensions")
_METADATA: Final[Fields] = {
    "name": None,
    "namespace": carried("metadata", "namespace"),
    **dict.fromkeys(
        ("labels", "annotations"),
        dropped("the {key} belong to one of several objects, which the import merges into one job"),
    ),
}
_CONTROLLER_FIELDS: Final = (
    *("completionMode", "manualSelector", "podManagementPolicy", "revisionHistoryLimit"),
    *("selector", "serviceName", "strategy", "updateStrategy"),
)
"""Fields of a controller that control only how it creates the pods."""
_SHARED_LIMIT: Final = changed(
    "spec", "retries", why="in the imported job, spec.retries is the limit of each task", sets=False
)
_LIMITS: Final = dropped("the Jobs have different values of backoffLimit, but spec.retries is one limit for all tasks")


class _Task(Record):
    """Kubernetes object that runs one or more tasks of a role.

    Attributes:
        item: the object.
        template: the pod template.
        command: the command of the main container.
        role: the role of the tasks.
        index: the index of the task; None if the object has several tasks, or no literal index.
        replicas: the number of tasks.
    """

    item: Part
    template: Part
    command: TaskCommand
    role: RoleName
    index: int | None
    replicas: int


def is_task(item: Part, configs: ConfigTexts) -> bool:
    """Return whether an object runs a task of a TensorFlow cluster. `configs` has the texts of the ConfigMaps."""
    if kind(item) not in _KINDS or api_group(item) not in _GROUPS:
        return False
    main = main_container(_template(item) or item)
    return main is not None and read_command(main, configs).has_cluster


def read(items: Sequence[Part], companions: Sequence[Part], options: Options, notes: Notes) -> ForeignJob | None:
    """Read a job from the objects that run its tasks. Return None after a problem.

    Args:
        items: the objects that are tasks; at least one.
        companions: all other objects of the files, such as Services, and ConfigMaps with hosts.
        options: the options of the import.
        notes: the notes of the import.
    """
    return _HandWritten(items[0], items[0], companions, options, notes).read(items)


class _HandWritten(JobReader):
    """Reader of the objects that run the tasks of one job."""

    format = FORMAT
    limit: Part | None = None
    """The backoffLimit of all Jobs, which becomes `retries` of the imported job."""
    identity: AbstractSet[str] = frozenset()
    """The keys of labels that only the selectors of the tasks' controllers and Services use."""

    def read(self, items: Sequence[Part]) -> ForeignJob | None:
        tasks = [task for item in items if (task := self._task(item))]
        if self.notes.problems:
            return None
        job_name = self.options.name or _name([name(item) for item in items])
        if not job_name:
            message = "the names of the objects have no common prefix to name the job; set the name with --name"
            self.notes.refuse(items[0], message)
            return None
        self._refuse_missing_tasks(tasks)
        selectors = [self._drop_services(tasks), *(_selected(task.item.get("spec", "selector")) for task in tasks)]
        self.identity = frozenset[str]().union(*selectors) - _used_labels(tasks, self.companions)
        self.drop_hosts((task.template, task.command) for task in tasks)
        jobs = [part for task in tasks if kind(task.item) == "Job" and (part := task.item.get("spec"))]
        limits = [limit for job in jobs if (limit := job.get("backoffLimit"))]
        self.limit = limits[0] if len({limit.value for limit in limits}) == 1 else None
        roles = {role: merged for role in ROLE_NAMES if (merged := self._merge_tasks(role, tasks))}
        if self.notes.problems:
            return None
        plan = training_plan(roles, "AllWorkers", self.notes, self.options.single_task_strategy)
        namespace = next((part for item in items if (part := item.get("metadata", "namespace"))), None)
        metadata = mapping(items[0], {"name": items[0].scalar(job_name), "namespace": namespace})
        self.job = mapping(items[0], {"metadata": metadata})
        self.commands = {str(number): task.command for number, task in enumerate(tasks)}
        if plan.completion_by == "AllWorkers" and plan.strategy == "ParameterServer":
            self.set_value("AllWorkers", "spec", "completion", "by")
        if self.limit:
            self.set_value(self.limit.value, "spec", "retries")
        self.read_failure_policies(jobs)
        self.read_deadlines(jobs, plan)
        if self.options.kind != "StatefulSet":
            self.set_value(self.options.kind, "spec", "workload", "kind")
        self.read_gang(plan)
        for part in (field for item in items if (field := item.get("metadata", "name"))):
            self.notes.target(part, "metadata", "name")
            if part.value != job_name:
                why = "the name of the job is the common prefix of the names of its objects"
                why = "--name sets the name of the job" if self.options.name else why
                self.notes.reason(part, why, "changed", job_name)
        return self.foreign_job(plan).replaced(roots=items)

    def _task(self, item: Part) -> _Task | None:
        if refuse_misshapen(item, self.notes):
            return None
        template = _template(item)
        main = main_container(template) if template else None
        if template is None or main is None:
            message = f"the {kind(item)} has no pod template with containers; add spec.template"
            self.notes.refuse(item.value["spec"], message)
            return None
        command = read_command(main, self.configs)
        words = [word for word in re.split(r"[-_\d]+", name(item).lower()) if word in ROLE_WORDS]
        role = ROLE_WORDS.get((command.role or (words or [""])[-1]).lower())
        if role is None:
            task_type = f"the task type {command.role}" if command.role else "no task type"
            self.notes.refuse(item, f"found {task_type}, expected {either(TASK_TYPES)}")
            return None
        if command.refusal:
            self.notes.refuse(main, command.refusal)
        numbers = {key: part for key in ("replicas", "completions", "parallelism") if (part := item.get("spec", key))}
        for number in numbers.values():
            self.notes.target(number, *ROLES, role, "replicas")
        counts = {key: number.value for key, number in numbers.items() if isinstance(number.value, int)}
        replicas = counts.pop("replicas", 1)
        if kind(item) == "Job":
            replicas = max([replicas, *counts.values()])
        index = int(command.index) if command.index and command.index.isdecimal() and len(command.index) < 6 else None
        return _Task(item, template, command, role, index if replicas == 1 else None, replicas)

    def _refuse_missing_tasks(self, tasks: Sequence[_Task]) -> None:
        """Report a problem if a list of hosts names more tasks than the files contain.

        In this case, some files are missing. Note each ConfigMap with hosts that is not among the files.
        """
        absent = {config: task for task in reversed(tasks) for config in task.command.absent}
        for config, task in absent.items():
            why = f"the ConfigMap {config} is not among the files"
            fix = "make sure that the files contain all tasks"
            self.notes.remark(task.item, f"{why}, so the import cannot compare the hosts with the tasks; {fix}")
        numbers = {role: sum(task.replicas for task in tasks if task.role == role) for role in ROLE_NAMES}
        for task in tasks:
            for role_type, host_list in task.command.hosts.items():
                hosts = [host for host in host_list.split(",") if host.strip()]
                role = ROLE_WORDS.get(role_type)
                if role and "$" not in host_list and len(hosts) > numbers[role]:
                    problem = f"the task lists {count(len(hosts), 'host')} of {role}"
                    contents = f"the files contain {count(numbers[role], 'task')} of {role}"
                    self.notes.refuse(task.item, f"{problem}, but {contents}; add the files of the missing tasks")
                    return

    def _drop_services(self, tasks: Sequence[_Task]) -> frozenset[str]:
        """Note the reason for each Service of the tasks. Return the keys of the labels in their selectors."""
        selected: set[str] = set()
        texts = [task.template.entries("metadata", "labels") for task in tasks]
        pod_labels = [{(key, part.as_text) for key, part in labels} for labels in texts]
        for item in self.companions:
            selector = {key: part.as_text for key, part in item.entries("spec", "selector")}
            is_used = any(selector.items() <= labels for labels in pod_labels)
            if kind(item) == "Service" and selector and is_used:
                self.notes.reason(item, "tfgen creates one Service, which gives each task a host name", is_quiet=True)
                selected |= selector.keys()
        return frozenset(selected)

    def _merge_tasks(self, role: RoleName, tasks: Sequence[_Task]) -> ForeignRole | None:
        """Merge all tasks of a role. Return None for a role without tasks, or after a problem."""
        tasks = [task for task in tasks if task.role == role]
        if not tasks:
            return None
        indexes = [number if task.index is None else task.index for number, task in enumerate(tasks)]
        if sorted(indexes) != list(range(len(tasks))) and len(tasks) > 1:
            problem = f"the tasks of {role} have the indexes {indexes}"
            expected = f"expected each number from 0 to {len(tasks) - 1} exactly once"
            fix = "change the index of a task, or add the files of the missing tasks"
            self.notes.refuse(tasks[0].item, f"{problem}, {expected}; {fix}")
            return None
        number = sum(task.replicas for task in tasks)
        if role in ("chief", "evaluator") and number > 1:
            message = f"found {number} tasks of {role}, expected at most 1; keep only one of these tasks"
            self.notes.refuse(tasks[1 if len(tasks) > 1 else 0].item, message)
            return None
        pods = [pod for task in tasks if (pod := self._pod(task, tasks))]
        if len(pods) < len(tasks):
            return None
        pods = [self._with_shared_labels(task, pod, pods) for task, pod in zip(tasks, pods, strict=True)]
        storage: dict[str, Any] = {}  # in the imported job, each task mounts all of these volumes
        for pod in pods:
            storage |= {key: volume for key, volume in pod.storage.items() if key not in storage}
        data = [{"role": pod.role, "storage": {**storage, **pod.storage}} for pod in pods]
        different: list[Path] = []
        merged = _merged_value(data, indexes, (), different)
        if different:
            differences: list[list[Path]] = [[] for _ in tasks]  # between the first task and each task
            for number, of_task in enumerate(differences):
                _merged_value((data[0], data[number]), (indexes[0], indexes[number]), (), of_task)
            other = next((task for task, of_task in zip(tasks, differences, strict=True) if of_task), tasks[1])
            problem = f"the tasks of {role} differ in {path_name(different[0][1:])}, not only in their index"
            self.notes.refuse(other.item, f"{problem}; make the tasks equal")
            return None
        for task in tasks[1:]:
            self.notes.remark(task.item, f"the object becomes a task of the role {role}")
        pod = pods[0].replaced(
            **merged,
            pull_secrets=join_pull_secrets(pods),
            restart_codes=frozenset[int]().union(*(pod.restart_codes for pod in pods)),
            group_keys=[part for pod in pods for part in pod.group_keys],
            scheduling_groups=[part for pod in pods for part in pod.scheduling_groups],
            boards=[board for pod in pods for board in pod.boards],
        )
        origins = [OriginPod(task.template, index) for task, index in zip(tasks, indexes, strict=True)]
        return ForeignRole(tasks[0].item, number, pod, origins)

    def _pod(self, task: _Task, tasks: Sequence[_Task]) -> PodData | None:
        template = self._without_labels(task)
        if policy := template.get("spec", "restartPolicy"):
            self.notes.reason(policy, RESTARTS, "changed")
        node = template.get("spec", "nodeName")
        if node and len({task.template.text_at("spec", "nodeName") for task in tasks}) > 1:
            self.notes.reason(node, "the tasks of a role cannot name different nodes; see spec.placement")
            template = template.without_path(("spec", "nodeName"))
        problems = len(self.notes.problems)
        self._read_object(task)
        return self.read_pod(template, task.role, task.command) if len(self.notes.problems) == problems else None

    def _without_labels(self, task: _Task) -> Part:
        """Return the pod template of a task without the labels that only identify the pods of a replaced object."""
        template = task.template
        if kind(task.item) == "Pod":
            for key in ("name", "namespace"):
                if part := template.get("metadata", key):
                    self.notes.target(part, "metadata", key)
                    template = template.without_path(("metadata", key))
        others = [key for key, _ in template.entries("metadata", "labels") if key in self.identity]
        for key in others:
            part = template.value["metadata"].value["labels"].value[key]
            why = f"only the objects that the import replaces select the label {key}; tfgen selects the pods by its own"
            self.notes.reason(part, f"{why} labels, such as tfgen/role", is_quiet=True)
        labels = template.get("metadata", "labels")
        return template.with_part(("metadata", "labels"), labels.without(*others)) if labels else template

    def _with_shared_labels(self, task: _Task, pod: PodData, pods: Sequence[PodData]) -> PodData:
        """Return a pod with the labels and annotations that have the same value in all tasks of the role."""
        fields = dict(pod.role)
        for section in ("labels", "annotations"):
            own = fields.pop(section, {})
            shared = {key: own[key] for key in own if all(own[key] == p.role.get(section, {}).get(key) for p in pods)}
            if shared:
                fields[section] = shared
            for key, part in task.template.entries("metadata", section):
                if key in own.keys() - shared.keys():
                    why = f"in job.yaml, the tasks of a role have the same {section}, but these tasks differ in {key}"
                    self.notes.reason(part, why)
        return pod.replaced(role=fields)

    def _read_object(self, task: _Task) -> None:
        """Read the fields of an object that runs tasks. Another function reads the pod template."""
        item, is_job = task.item, kind(task.item) == "Job"
        self.fields(item.get("metadata"), _METADATA)
        if kind(item) == "Pod":
            return
        if claims := item.get("spec", "volumeClaimTemplates"):
            message = "a job cannot have a claim for each task; use one claim with subPathExpr: $(TASK_INDEX)"
            self.notes.refuse(claims, message)
        why = f"the field belongs to the {kind(item)}, and tfgen may render the tasks as another kind"
        harmless = dict.fromkeys(_CONTROLLER_FIELDS, dropped(why, is_quiet=True))
        limit = _SHARED_LIMIT if self.limit else _LIMITS
        job_fields: Fields = {"backoffLimit": limit, DEADLINE: None, "podFailurePolicy": None} if is_job else {}
        read = dict.fromkeys(("template", "replicas", "completions", "parallelism", "volumeClaimTemplates"))
        self.fields(item.get("spec"), {ANY_KEY: dropped(why), **harmless, **read, **job_fields})


def _selected(selector: Part | None) -> frozenset[str]:
    """Return the keys of the labels in the selector of a controller. Only new controllers have `matchLabels`."""
    plain = selector.entries() if selector else ()
    keys = {key for key, part in plain if not isinstance(part.value, (Mapping, list))}
    return frozenset(keys.union(*map(_selector_keys, selector.walk() if selector else ())))


def _used_labels(tasks: Sequence[_Task], companions: Sequence[Part]) -> frozenset[str]:
    """Return the keys of the labels that the pods of the tasks, or objects other than controllers, select."""
    parts = [*(task.template for task in tasks), *(item for item in companions if kind(item) not in _KINDS)]
    return frozenset(key for part in parts for inner in part.walk() for key in _selector_keys(inner))


def _selector_keys(part: Part) -> Iterator[str]:
    """Yield the keys of labels in the fields of a label selector, or of a constraint, that a part contains."""
    yield from (key for key, _ in part.entries("matchLabels"))
    yield from (text for item in part.items("matchExpressions") if (text := item.text_at("key")))
    yield from (text for field in ("matchLabelKeys", "mismatchLabelKeys") for text in part.texts_at(field))


def _template(item: Part) -> Part | None:
    if kind(item) == "Pod":
        return mapping(item, {key: item.value.get(key) for key in ("metadata", "spec")})
    return item.get("spec", "template")


def _name(names: Sequence[str]) -> str:
    """Return the common prefix of the object names without the role.

    Example: `mnist` for `mnist-ps-0` and `mnist-ps-1`.
    """
    prefix = "".join(str(letter) for letter in shared(tuple(name) for name in names))
    return re.sub(r"[^a-z0-9]+$", "", re.sub(r"-?(ps|worker|chief|master)-?\d*$", "", prefix.rstrip("-")))


# -- the tasks of a role -----------------------------------------------------------------------------------------


def _merged_value(values: Sequence[Any], indexes: Sequence[int], path: Path, different: list[Path]) -> Any:
    """Merge the values of a field in all tasks of a role into one value. TASK_INDEX replaces the index of each task.

    For example, the values `--log=/logs/0` and `--log=/logs/1` become `--log=/logs/$(TASK_INDEX)`.

    Args:
        values: the value of the field in each task.
        indexes: the index of each task.
        path: the path of the field.
        different: the list that gets the path of each field whose values differ in more than the index.
    """
    first = values[0]
    if all(value == first for value in values):
        return first
    if all(isinstance(value, Mapping) for value in values):
        if all([*value] == [*first] for value in values):
            fields = {key: [value[key] for value in values] for key in first}
            return {key: _merged_value(field, indexes, (*path, key), different) for key, field in fields.items()}
        missing = {key for value in values for key in value.keys() ^ first.keys()}
        path = (*path, *sorted(missing)[:1])
    elif all(isinstance(value, list) and len(value) == len(first) for value in values):
        items = enumerate(zip(*values, strict=True))
        return [_merged_value(item, indexes, (*path, n), different) for n, item in items]
    elif all(isinstance(value, str) for value in values):
        return _merged_text(values, indexes, path, different)
    different.append(path)
    return first


def _merged_text(values: Sequence[str], indexes: Sequence[int], path: Path, different: list[Path]) -> str:
    # The shell expands ${TASK_INDEX} in a script. Kubernetes expands $(TASK_INDEX) in all other texts.
    is_script = "command" in path and any(character in values[0] for character in " \n")
    reference = "${TASK_INDEX}" if is_script else "$(TASK_INDEX)"
    text = ""
    pieces = [re.split(r"(\d+)", value) for value in values]
    if len({len(piece) for piece in pieces}) > 1:
        different.append(path)
    for column in zip(*pieces, strict=False):
        if len(set(column)) == 1:
            text += column[0]
        elif column == tuple(str(index) for index in indexes):
            text += reference
        else:
            different.append(path)
    return text
