"""Parameter servers and workers as Kubernetes' own objects: one a task, or one a role.

A Job, Pod, Deployment, ReplicaSet, ReplicationController or StatefulSet is a task where its command or its variables
tell it its place in a cluster of TensorFlow's. All tasks of some files are one job, and the tasks of a role one role:
they must be alike, but for their index.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.data_path import shared
from tfgen.importers import pod_template
from tfgen.importers.failure_policy import POLICY, read_failure_policies
from tfgen.importers.fields import Fields, carried, changed, dropped
from tfgen.importers.foreign_job import ROLES, ForeignJob, ForeignRole, TrainingPlan, training_plan
from tfgen.importers.import_report import ImportReport
from tfgen.importers.job_reader import ROLE_WORDS, JobReader, read_pod
from tfgen.importers.objects import api_group, drop_server_fields, kind, name
from tfgen.importers.options import Options
from tfgen.importers.part import Part, mapping
from tfgen.importers.pod_template import PodData
from tfgen.importers.shapes import ANY_KEY, METADATA, SCALAR, refuse_misshapen
from tfgen.importers.task_command import TASK_TYPES, TOLD, TaskCommand, read_command
from tfgen.job.training_job import ROLE_NAMES, RoleName
from tfgen.kubernetes import keys
from tfgen.plural import count
from tfgen.record import Record
from tfgen.words import path_name

FORMAT: Final = "hand-written job"

_KINDS: Final = ("Job", "Pod", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
_GROUPS: Final = ("", "apps", "batch", "extensions")
_DIGITS: Final = re.compile(r"(\d+)")
_METADATA: Final[Fields] = {
    "name": changed("metadata", "name", why="what the names begin with is the job's"),
    "namespace": carried("metadata", "namespace"),
    **dict.fromkeys(("labels", "annotations"), dropped("they are of one object of many")),
}
_ONE_LIMIT: Final = changed("spec", "retries", why="the limit counts the failures of each task of the job", sets=False)
_LIMITS: Final = dropped("the Jobs have several limits, and a job has one for all tasks; see spec.retries")

_SHAPE: Final = {
    "metadata": METADATA,
    "spec": {"backoffLimit": SCALAR, "completions": SCALAR, "parallelism": SCALAR, "replicas": SCALAR},
}


class _Task(Record):
    """An object that is a task, or some of one role.

    Attributes:
        item: the object.
        template: its pod template.
        command: what its command says.
        role: its role.
        index: its index, where it is one task; else none.
        replicas: how many tasks it is.
    """

    item: Part
    template: Part
    command: TaskCommand
    role: RoleName
    index: int | None
    replicas: int


class _DifferentError(Exception):
    """Tasks of a role differ at a path, not by their index alone."""

    def __init__(self, path: tuple[str | int, ...]) -> None:
        self.path = path
        super().__init__(path_name(path))


def is_task(item: Part) -> bool:
    """Whether an object runs a task that is told its place in a cluster."""
    if kind(item) not in _KINDS or api_group(item) not in _GROUPS:
        return False
    main = pod_template.main_container(_template(item) or item)
    return main is not None and read_command(main).tells


class _HandWritten(JobReader):
    """The reading of all tasks of a job."""

    format = FORMAT


def read(
    items: Sequence[Part], companions: Sequence[Part], options: Options, report: ImportReport
) -> ForeignJob | None:
    """The job of some tasks; None where it cannot be imported, which the account then says.

    Args:
        items: the objects that are tasks; at least one.
        companions: the objects beside them: Services, and ConfigMaps with hosts.
        options: how they are read.
        report: what becomes of each line.
    """
    tasks = [task for item in items if (task := _task(item, report))]
    if report.problems:
        return None
    job = options.name or _name([name(item) for item in items])
    if not job:
        report.refuse(items[0], "the objects' names have no job's name in common; give one, by --name")
        return None
    _refuse_missing(tasks, report)
    _drop_services(tasks, companions, report)
    _drop_hosts(tasks, companions, report)
    roles = {role: folded for role in ROLE_NAMES if (folded := _fold(role, tasks, report))}
    if report.problems:
        return None
    plan = training_plan(roles, "AllWorkers", report, options.single_task_strategy)
    namespace = next((part for item in items if (part := item.get("metadata", "namespace"))), None)
    metadata = mapping(items[0], {"name": items[0].scalar(job), "namespace": namespace})
    reader = _HandWritten(_root(tasks, job, plan), mapping(items[0], {"metadata": metadata}), options, report)
    reader.commands = {str(number): task.command for number, task in enumerate(tasks)}
    if plan.ends == "AllWorkers" and plan.strategy == "ParameterServer":
        reader.set_value("AllWorkers", "spec", "completion", "by")
    limits = _limits(tasks)
    if len({limit.value for limit in limits}) == 1:
        reader.set_value(limits[0].value, "spec", "retries")
    jobs = [part for task in tasks if kind(task.item) == "Job" and (part := task.item.get("spec"))]
    read_failure_policies(jobs, reader)
    if options.kind != "StatefulSet":
        reader.set_value(options.kind, "spec", "workload", "kind")
    return reader.foreign_job(plan)


def _limits(tasks: Sequence[_Task]) -> list[Part]:
    """Return the limits of the tasks that are Jobs to how often a pod may fail."""
    limits = (task.item.get("spec", "backoffLimit") for task in tasks if kind(task.item) == "Job")
    return [limit for limit in limits if limit]


def _root(tasks: Sequence[_Task], job: str, plan: TrainingPlan) -> Part:
    """The tasks as one object: how many there are of each role of the job, and the template of each object."""
    first = tasks[0].item
    by_name: dict[str, Part] = {}
    replicas: dict[str, Part] = {}
    for task in tasks:
        # A chief may be worker 0, and a worker alone the chief.
        role = task.role if task.role in plan.roles else next(iter(plan.roles))
        before = replicas[role].value if role in replicas else 0
        replicas[role] = task.item.scalar(before + task.replicas)
        # What tells one object of a role from another is the number of those before it.
        number = sum(name.startswith(f"{role}-") for name in by_name)
        by_name[f"{role}-{number}"] = mapping(task.item, {"template": task.template})
    fields = {"replicas": mapping(first, replicas), "tasks": mapping(first, by_name)}
    metadata = mapping(first, {"name": first.scalar(job)})
    return mapping(first, {"metadata": metadata, "spec": mapping(first.get("spec") or first, fields)})


def rendered(objects: Sequence[Mapping[str, Any]], root: Part) -> dict[str, Any]:
    """The objects of a rendered job as one, in the same shape: each task has its role's template."""
    specs: dict[str, Mapping[str, Any]] = {
        item["spec"]["template"]["metadata"]["labels"].get(keys.ROLE): item["spec"]
        for item in objects
        if item["kind"] in ("StatefulSet", "Job")
    }
    names = [name for name, _ in root.entries("spec", "tasks")]
    roles = {name: name.rpartition("-")[0] for name in names}
    tasks = {name: {"template": specs[role]["template"]} for name, role in roles.items() if role in specs}
    replicas = {
        role: specs[role].get("replicas", specs[role].get("completions", 1)) for role in specs if role in ROLE_NAMES
    }
    return {"metadata": {"name": root.text_at("metadata", "name")}, "spec": {"replicas": replicas, "tasks": tasks}}


def _template(item: Part) -> Part | None:
    if kind(item) == "Pod":
        return mapping(item, {key: item.value.get(key) for key in ("metadata", "spec")})
    return item.get("spec", "template")


def _task(item: Part, report: ImportReport) -> _Task | None:
    if refuse_misshapen(item, _SHAPE, report):
        return None
    template = _template(item)
    main = pod_template.main_container(template) if template else None
    if template is None or main is None:
        report.refuse(item.value["spec"], f"the {kind(item)} has no pod template, in which its containers must stand")
        return None
    command = read_command(main)
    words = [word for word in re.split(r"[-_\d]+", name(item).lower()) if word in ROLE_WORDS]
    role = ROLE_WORDS.get((command.role or (words or [""])[-1]).lower())
    if role is None:
        report.refuse(item, f"its task is {command.role or 'nowhere named'}; known are {', '.join(TASK_TYPES)}")
        return None
    if command.refused:
        report.refuse(main, command.refused)
    replicas_field = item.get("spec", "replicas")
    replicas = replicas_field.value if replicas_field and isinstance(replicas_field.value, int) else 1
    for field in ("completions", "parallelism"):
        number = item.get("spec", field)
        if number and kind(item) == "Job" and isinstance(number.value, int) and number.value > replicas:
            replicas = number.value
    if replicas_field:
        report.carry(replicas_field, *ROLES, role, "replicas")
    index = int(command.index) if command.index and command.index.isdecimal() and len(command.index) < 6 else None
    return _Task(item, template, command, role, index if replicas == 1 else None, replicas)


def _name(names: Sequence[str]) -> str:
    """What all names begin with, without the role."""
    common = "".join(str(letter) for letter in shared(tuple(name) for name in names))
    return re.sub(r"[^a-z0-9]+$", "", re.sub(r"-?(ps|worker|chief|master)-?\d*$", "", common.rstrip("-")))


def _refuse_missing(tasks: Sequence[_Task], report: ImportReport) -> None:
    """Refuse a job whose tasks are told of more hosts than there are tasks: some stand in other files."""
    numbers = {role: sum(task.replicas for task in tasks if task.role == role) for role in ROLE_NAMES}
    for task in tasks:
        for role_type, listed in task.command.hosts.items():
            hosts = [host for host in listed.split(",") if host.strip()]
            role = ROLE_WORDS.get(role_type)
            if role and "$" not in listed and len(hosts) > numbers[role]:
                why = f"it is told of {count(len(hosts), 'host')} of {role}, but the files have {numbers[role]}"
                report.refuse(task.item, f"{why}; name the files of all tasks")
                return


# -- what stands beside the tasks --------------------------------------------------------------------------------


def _drop_services(tasks: Sequence[_Task], companions: Sequence[Part], report: ImportReport) -> None:
    pod_labels = [{key: part.as_text for key, part in task.template.entries("metadata", "labels")} for task in tasks]
    for other in companions:
        selector = {key: part.as_text for key, part in other.entries("spec", "selector")}
        if kind(other) == "Service" and selector and any(selector.items() <= label.items() for label in pod_labels):
            report.drop(other, "tfgen gives each task a name of its own, in one Service")


def _drop_hosts(tasks: Sequence[_Task], companions: Sequence[Part], report: ImportReport) -> None:
    """The ConfigMaps that hold nothing but what tells the tasks their place are dropped."""
    sources: dict[str, set[str]] = {}
    for task in tasks:
        main = pod_template.main_container(task.template)
        for item in main.items("env") if main else ():
            variable, source = item.get("name"), item.get("valueFrom", "configMapKeyRef")
            if variable and source and variable.as_text in task.command.program.omitted:
                sources.setdefault(source.text_at("name"), set()).add(source.text_at("key"))
    for other in companions:
        keys = {key for key, _ in other.entries("data")}
        if kind(other) == "ConfigMap" and keys and keys <= sources.get(name(other), set()):
            report.drop(other, TOLD)


# -- the tasks of a role -----------------------------------------------------------------------------------------


def _fold(role: RoleName, tasks: Sequence[_Task], report: ImportReport) -> ForeignRole | None:
    """One role of its tasks; None where it has none, or where they differ."""
    mine = [task for task in tasks if task.role == role]
    if not mine:
        return None
    numbers = [number if task.index is None else task.index for number, task in enumerate(mine)]
    if sorted(numbers) != list(range(len(mine))) and len(mine) > 1:
        report.refuse(mine[0].item, f"the tasks of {role} have the indexes {numbers}, and not each from 0 once")
        return None
    if role in ("chief", "evaluator") and sum(task.replicas for task in mine) > 1:
        report.refuse(mine[1 if len(mine) > 1 else 0].item, f"a job has one {role}")
        return None
    is_one_limit = len({limit.value for limit in _limits(tasks)}) == 1
    pods = [pod for task in mine if (pod := _pod(task, mine, is_one_limit, report))]
    if len(pods) < len(mine):
        return None
    storage = _shared_storage(mine, pods, report)
    data = [{"role": pod.role, "storage": {**storage, **pod.storage}} for pod in pods]
    try:
        folded = _folded(data, numbers, ())
    except _DifferentError as error:
        other = next((n for n in range(1, len(mine)) if not _folds((data[0], data[n]), (numbers[0], numbers[n]))), 1)
        report.refuse(
            mine[other].item, f"the tasks of {role} differ in {path_name(error.path[1:])}, and not by their index alone"
        )
        return None
    for task in mine[1:]:
        report.note(task.item, f"it is one task of the role {role}")
    secrets = pod_template.join_pull_secrets(pods, report)
    pod = pods[0].replaced(role=folded["role"], storage=folded["storage"], pull_secrets=secrets)
    return ForeignRole(mine[0].item, sum(task.replicas for task in mine), pod)


def _shared_storage(tasks: Sequence[_Task], pods: Sequence[PodData], report: ImportReport) -> dict[str, Any]:
    """The volumes of any of a role's tasks, in one order; all of them have them in the job."""
    storage: dict[str, Any] = {}
    for pod in pods:
        storage |= {key: volume for key, volume in pod.storage.items() if key not in storage}
    for key in storage:
        having = [task for task, pod in zip(tasks, pods, strict=True) if key in pod.storage]
        if len(having) < len(tasks):
            report.note(having[0].item, f"all tasks of the role mount the volume {key}, and not this one alone")
    return storage


def _pod(task: _Task, tasks: Sequence[_Task], is_one_limit: bool, report: ImportReport) -> PodData | None:
    template = _without_own_labels(task, report)
    if policy := template.get("spec", "restartPolicy"):
        report.change(policy, "spec", "retries", why="tfgen's tasks are started again, up to retries times")
    node = template.get("spec", "nodeName")
    if node and len({task.template.text_at("spec", "nodeName") for task in tasks}) > 1:
        report.drop(node, "the tasks of a role are not told one node each; see spec.placement")
        template = template.without_path(("spec", "nodeName"))
    problems = len(report.problems)
    _account_for(task, is_one_limit, report)
    return read_pod(template, task.role, task.command, report) if len(report.problems) == problems else None


def _without_own_labels(task: _Task, report: ImportReport) -> Part:
    """The template without the labels by which Services and controllers find this one task."""
    template = task.template
    if kind(task.item) == "Pod":
        for key in ("name", "namespace"):
            if part := template.get("metadata", key):
                report.carry(part, "metadata", key)
                template = template.without_path(("metadata", key))
    for key, part in template.entries("metadata", "labels"):
        report.drop(part, f"the label {key} tells one task from another; tfgen has tfgen/role, and the pod's index")
    return template.without_path(("metadata", "labels"))


def _account_for(task: _Task, is_one_limit: bool, report: ImportReport) -> None:
    """The fields of an object around its pod template."""
    item, is_job = task.item, kind(task.item) == "Job"
    drop_server_fields(item, report)
    reader = _HandWritten(item, item, Options(), report)
    reader.fields(item.get("metadata"), _METADATA)
    if kind(item) == "Pod":
        return
    if claims := item.get("spec", "volumeClaimTemplates"):
        report.refuse(claims, "tfgen has no claim for each task; name one claim, with subPathExpr: $(TASK_INDEX)")
    controllers = dropped(f"it is a field of the {kind(item)}, and tfgen's own objects have theirs")
    of_jobs: Fields = {"backoffLimit": _ONE_LIMIT if is_one_limit else _LIMITS, POLICY: None} if is_job else {}
    fields = dict.fromkeys(("template", "replicas", "volumeClaimTemplates"))
    reader.fields(item.get("spec"), {ANY_KEY: controllers, **fields, **of_jobs})


def _folded(values: Sequence[Any], indexes: Sequence[int], path: tuple[str | int, ...]) -> Any:
    """One value for all tasks, with $(TASK_INDEX) where each has its own index."""
    first = values[0]
    if all(value == first for value in values):
        return first
    if all(isinstance(value, Mapping) for value in values):
        names = [*first]
        if any([*value] != names for value in values):
            lacking = sorted({key for value in values for key in value.keys() ^ first.keys()})
            raise _DifferentError((*path, *lacking[:1]))
        return {key: _folded([value[key] for value in values], indexes, (*path, key)) for key in names}
    if all(isinstance(value, list) and len(value) == len(first) for value in values):
        return [_folded(items, indexes, (*path, n)) for n, items in enumerate(zip(*values, strict=True))]
    if all(isinstance(value, str) for value in values):
        return _folded_text(values, indexes, path)
    raise _DifferentError(path)


def _folds(values: Sequence[Any], indexes: Sequence[int]) -> bool:
    """Whether tasks are alike but for their index."""
    try:
        _folded(values, indexes, ())
    except _DifferentError:
        return False
    return True


def _folded_text(values: Sequence[str], indexes: Sequence[int], path: tuple[str | int, ...]) -> str:
    is_script = "command" in path and any(character in values[0] for character in " \n")
    reference = "${TASK_INDEX}" if is_script else "$(TASK_INDEX)"
    text = ""
    pieces = [_DIGITS.split(value) for value in values]
    if len({len(piece) for piece in pieces}) > 1:
        raise _DifferentError(path)
    for column in zip(*pieces, strict=True):
        if len(set(column)) == 1:
            text += column[0]
        elif column == tuple(str(index) for index in indexes):
            text += reference
        else:
            raise _DifferentError(path)
    return text
