"""Reader of hand-written TensorFlow clusters, which have a Job, Pod or StatefulSet for each task or for each role.

A Job, Pod, Deployment, ReplicaSet, ReplicationController or StatefulSet is a task if its command or its variables
configure a TensorFlow cluster. All tasks in the files belong to one job. The tasks of a role may differ only in
their index.
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
from tfgen.importers.job_reader import RESTARTS, ROLE_WORDS, JobReader, read_pod
from tfgen.importers.objects import api_group, kind, mark_server_fields_read, name
from tfgen.importers.options import Options
from tfgen.importers.part import Part, mapping
from tfgen.importers.pod_template import PodData
from tfgen.importers.restart_rules import shared_exit_codes
from tfgen.importers.shapes import ANY_KEY, METADATA, SCALAR, refuse_misshapen
from tfgen.importers.task_command import TASK_TYPES, WHY_CLUSTER, TaskCommand, read_command
from tfgen.job.training_job import ROLE_NAMES, RoleName
from tfgen.kubernetes import keys
from tfgen.record import Record
from tfgen.words import count, either, path_name

FORMAT: Final = "hand-written job"

_KINDS: Final = ("Job", "Pod", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
_GROUPS: Final = ("", "apps", "batch", "extensions")
_DIGITS: Final = re.compile(r"(\d+)")
_METADATA: Final[Fields] = {
    "name": changed("metadata", "name", why="the name of the job is the common prefix of the names of its objects"),
    "namespace": carried("metadata", "namespace"),
    **dict.fromkeys(
        ("labels", "annotations"),
        dropped("the {key} belong to one of several objects, which the import merges into one job"),
    ),
}
_SHARED_LIMIT: Final = changed(
    "spec", "retries", why="in the imported job, spec.retries is the limit of each task", sets=False
)
_LIMITS: Final = dropped("the Jobs have different values of backoffLimit, but spec.retries is one limit for all tasks")

_SHAPE: Final = {
    "metadata": METADATA,
    "spec": {"backoffLimit": SCALAR, "completions": SCALAR, "parallelism": SCALAR, "replicas": SCALAR},
}


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


class _DifferentError(Exception):
    """Error about tasks of one role that differ in more than the index.

    The attribute `path` is the path of the field that differs.
    """

    def __init__(self, path: tuple[str | int, ...]) -> None:
        self.path = path
        super().__init__(path_name(path))


def is_task(item: Part) -> bool:
    """Return whether an object runs a task of a TensorFlow cluster."""
    if kind(item) not in _KINDS or api_group(item) not in _GROUPS:
        return False
    main = pod_template.main_container(_template(item) or item)
    return main is not None and read_command(main).has_cluster


class _HandWritten(JobReader):
    """Reader of the objects that run the tasks of one job."""

    format = FORMAT


def read(
    items: Sequence[Part], companions: Sequence[Part], options: Options, report: ImportReport
) -> ForeignJob | None:
    """Read a job from the objects that run its tasks. Return None if the import report has problems.

    Args:
        items: the objects that are tasks; at least one.
        companions: all other objects of the files, such as Services, and ConfigMaps with hosts.
        options: the options of the import.
        report: the import report, which gets the outcome of each line.
    """
    tasks = [task for item in items if (task := _task(item, report))]
    if report.problems:
        return None
    job = options.name or _name([name(item) for item in items])
    if not job:
        report.refuse(
            items[0], "the names of the objects have no common prefix to name the job; set the name with --name"
        )
        return None
    _refuse_missing_tasks(tasks, report)
    _drop_services(tasks, companions, report)
    _drop_hosts(tasks, companions, report)
    limit = _shared_limit(tasks)
    roles = {role: merged for role in ROLE_NAMES if (merged := _merge_tasks(role, tasks, limit is not None, report))}
    if report.problems:
        return None
    plan = training_plan(roles, "AllWorkers", report, options.single_task_strategy)
    namespace = next((part for item in items if (part := item.get("metadata", "namespace"))), None)
    metadata = mapping(items[0], {"name": items[0].scalar(job), "namespace": namespace})
    reader = _HandWritten(_combined_tasks(tasks, job, plan), mapping(items[0], {"metadata": metadata}), options, report)
    reader.commands = {str(number): task.command for number, task in enumerate(tasks)}
    if plan.completion_by == "AllWorkers" and plan.strategy == "ParameterServer":
        reader.set_value("AllWorkers", "spec", "completion", "by")
    if limit:
        reader.set_value(limit.value, "spec", "retries")
    jobs = [part for task in tasks if kind(task.item) == "Job" and (part := task.item.get("spec"))]
    read_failure_policies(jobs, reader)
    if options.kind != "StatefulSet":
        reader.set_value(options.kind, "spec", "workload", "kind")
    return reader.foreign_job(plan)


def _shared_limit(tasks: Sequence[_Task]) -> Part | None:
    """Return the backoffLimit of the Jobs. If two Jobs have different limits, or no Job has a limit, return None."""
    limits = [limit for task in tasks if kind(task.item) == "Job" and (limit := task.item.get("spec", "backoffLimit"))]
    return limits[0] if len({limit.value for limit in limits}) == 1 else None


def _combined_tasks(tasks: Sequence[_Task], job: str, plan: TrainingPlan) -> Part:
    """Combine all tasks of the source into one object, which tfgen later compares with the result of `rendered`.

    For example, `spec` is `{replicas: {worker: 2}, tasks: {worker-0: {template: ...}, worker-1: {template: ...}}}`.
    `job` is the name of the object.
    """
    first = tasks[0].item
    by_name: dict[str, Part] = {}
    replicas: dict[str, Part] = {}
    for task in tasks:
        # The plan may turn a chief into worker 0, and a single worker into the chief.
        role = task.role if task.role in plan.roles else next(iter(plan.roles))
        total = replicas[role].value if role in replicas else 0
        replicas[role] = task.item.scalar(total + task.replicas)
        number = sum(name.startswith(f"{role}-") for name in by_name)
        by_name[f"{role}-{number}"] = mapping(task.item, {"template": task.template})
    fields = {"replicas": mapping(first, replicas), "tasks": mapping(first, by_name)}
    metadata = mapping(first, {"name": first.scalar(job)})
    return mapping(first, {"metadata": metadata, "spec": mapping(first.get("spec") or first, fields)})


def rendered(objects: Sequence[Mapping[str, Any]], root: Part) -> dict[str, Any]:
    """Combine the StatefulSets and Jobs of a rendered job into one object, in the shape of `_combined_tasks`.

    `root` is the result of `_combined_tasks` for the source. The returned object has the name of `root`, and contains
    the rendered pod template for each task of `root`.
    """
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
        report.refuse(item.value["spec"], f"the {kind(item)} has no pod template with containers; add spec.template")
        return None
    command = read_command(main)
    words = [word for word in re.split(r"[-_\d]+", name(item).lower()) if word in ROLE_WORDS]
    role = ROLE_WORDS.get((command.role or (words or [""])[-1]).lower())
    if role is None:
        task_type = f"the task type {command.role}" if command.role else "no task type"
        report.refuse(item, f"found {task_type}, expected {either(TASK_TYPES)}")
        return None
    if command.refusal:
        report.refuse(main, command.refusal)
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
    """Return the common prefix of the object names without the role.

    Example: `mnist` for `mnist-ps-0` and `mnist-ps-1`.
    """
    prefix = "".join(str(letter) for letter in shared(tuple(name) for name in names))
    return re.sub(r"[^a-z0-9]+$", "", re.sub(r"-?(ps|worker|chief|master)-?\d*$", "", prefix.rstrip("-")))


def _refuse_missing_tasks(tasks: Sequence[_Task], report: ImportReport) -> None:
    """Report a problem if a list of hosts names more tasks than the files contain.

    In this case, some files are missing.
    """
    numbers = {role: sum(task.replicas for task in tasks if task.role == role) for role in ROLE_NAMES}
    for task in tasks:
        for role_type, host_list in task.command.hosts.items():
            hosts = [host for host in host_list.split(",") if host.strip()]
            role = ROLE_WORDS.get(role_type)
            if role and "$" not in host_list and len(hosts) > numbers[role]:
                problem = (
                    f"the task lists {count(len(hosts), 'host')} of {role}, "
                    f"but the files contain {count(numbers[role], 'task')} of {role}"
                )
                report.refuse(task.item, f"{problem}; add the files of the missing tasks")
                return


# -- objects of the tasks ----------------------------------------------------------------------------------------


def _drop_services(tasks: Sequence[_Task], companions: Sequence[Part], report: ImportReport) -> None:
    pod_labels = [{key: part.as_text for key, part in task.template.entries("metadata", "labels")} for task in tasks]
    for item in companions:
        selector = {key: part.as_text for key, part in item.entries("spec", "selector")}
        if kind(item) == "Service" and selector and any(selector.items() <= labels.items() for labels in pod_labels):
            report.drop(item, "tfgen creates one Service, which gives each task a host name")


def _drop_hosts(tasks: Sequence[_Task], companions: Sequence[Part], report: ImportReport) -> None:
    """Report as dropped the ConfigMaps that contain only the cluster configuration."""
    sources: dict[str, set[str]] = {}
    for task in tasks:
        main = pod_template.main_container(task.template)
        for item in main.items("env") if main else ():
            variable, source = item.get("name"), item.get("valueFrom", "configMapKeyRef")
            if variable and source and variable.as_text in task.command.program.omitted:
                sources.setdefault(source.text_at("name"), set()).add(source.text_at("key"))
    for item in companions:
        data_keys = {key for key, _ in item.entries("data")}
        if kind(item) == "ConfigMap" and data_keys and data_keys <= sources.get(name(item), set()):
            report.drop(item, WHY_CLUSTER)


# -- the tasks of a role -----------------------------------------------------------------------------------------


def _merge_tasks(
    role: RoleName, tasks: Sequence[_Task], has_shared_limit: bool, report: ImportReport
) -> ForeignRole | None:
    """Merge all tasks of a role into one `ForeignRole`. Return None for a role without tasks, or after a problem.

    If `has_shared_limit` is True, the backoffLimit of the Jobs becomes `retries` of the imported job.
    """
    tasks = [task for task in tasks if task.role == role]
    if not tasks:
        return None
    indexes = [number if task.index is None else task.index for number, task in enumerate(tasks)]
    if sorted(indexes) != list(range(len(tasks))) and len(tasks) > 1:
        problem = f"the tasks of {role} have the indexes {indexes}"
        report.refuse(
            tasks[0].item,
            f"{problem}, expected each number from 0 to {len(tasks) - 1} exactly once; change the index of a task, or "
            "add the files of the missing tasks",
        )
        return None
    number = sum(task.replicas for task in tasks)
    if role in ("chief", "evaluator") and number > 1:
        report.refuse(
            tasks[1 if len(tasks) > 1 else 0].item,
            f"found {number} tasks of {role}, expected at most 1; keep only one of these tasks",
        )
        return None
    pods = [pod for task in tasks if (pod := _pod(task, tasks, has_shared_limit, report))]
    if len(pods) < len(tasks):
        return None
    storage = _shared_storage(tasks, pods, report)
    data = [{"role": pod.role, "storage": {**storage, **pod.storage}} for pod in pods]
    try:
        merged = _merged_value(data, indexes, ())
    except _DifferentError as error:
        pairs = ((n, (data[0], data[n]), (indexes[0], indexes[n])) for n in range(1, len(tasks)))
        different = next((n for n, pair, index_pair in pairs if not _can_merge(pair, index_pair)), 1)
        problem = f"the tasks of {role} differ in {path_name(error.path[1:])}, not only in their index"
        report.refuse(tasks[different].item, f"{problem}; make the tasks equal")
        return None
    for task in tasks[1:]:
        report.note(task.item, f"the object becomes a task of the role {role}")
    secrets = pod_template.join_pull_secrets(pods, report)
    codes = shared_exit_codes([pod.restart_codes for pod in pods], report)
    pod = pods[0].replaced(role=merged["role"], storage=merged["storage"], pull_secrets=secrets, restart_codes=codes)
    return ForeignRole(tasks[0].item, number, pod)


def _shared_storage(tasks: Sequence[_Task], pods: Sequence[PodData], report: ImportReport) -> dict[str, Any]:
    """Return the volumes of all tasks of a role. In the imported job, each task mounts all of these volumes."""
    storage: dict[str, Any] = {}
    for pod in pods:
        storage |= {key: volume for key, volume in pod.storage.items() if key not in storage}
    for key in storage:
        mounting = [task for task, pod in zip(tasks, pods, strict=True) if key in pod.storage]
        if len(mounting) < len(tasks):
            report.note(mounting[0].item, f"in the imported job, all tasks of the role mount the volume {key}")
    return storage


def _pod(task: _Task, tasks: Sequence[_Task], has_shared_limit: bool, report: ImportReport) -> PodData | None:
    template = _without_labels(task, report)
    if policy := template.get("spec", "restartPolicy"):
        report.change(policy, "spec", "retries", why=RESTARTS)
    node = template.get("spec", "nodeName")
    if node and len({task.template.text_at("spec", "nodeName") for task in tasks}) > 1:
        report.drop(node, "the tasks of a role cannot name different nodes; see spec.placement")
        template = template.without_path(("spec", "nodeName"))
    problems = len(report.problems)
    _report_object(task, has_shared_limit, report)
    return read_pod(template, task.role, task.command, report) if len(report.problems) == problems else None


def _without_labels(task: _Task, report: ImportReport) -> Part:
    """Return the pod template of a task without its labels, because tfgen selects the pods by different labels."""
    template = task.template
    if kind(task.item) == "Pod":
        for key in ("name", "namespace"):
            if part := template.get("metadata", key):
                report.carry(part, "metadata", key)
                template = template.without_path(("metadata", key))
    for key, part in template.entries("metadata", "labels"):
        report.drop(part, f"tfgen selects the pods by its own labels, such as tfgen/role, and not by the label {key}")
    return template.without_path(("metadata", "labels"))


def _report_object(task: _Task, has_shared_limit: bool, report: ImportReport) -> None:
    """Add the fields of an object that runs tasks to the import report. Another function reports the pod template.

    If `has_shared_limit` is True, the backoffLimit of the Jobs becomes `retries` of the imported job.
    """
    item, is_job = task.item, kind(task.item) == "Job"
    mark_server_fields_read(item, report)
    reader = _HandWritten(item, item, Options(), report)
    reader.fields(item.get("metadata"), _METADATA)
    if kind(item) == "Pod":
        return
    if claims := item.get("spec", "volumeClaimTemplates"):
        report.refuse(claims, "a job cannot have a claim for each task; use one claim with subPathExpr: $(TASK_INDEX)")
    controller_field = dropped(f"the field belongs to the {kind(item)}, and tfgen may render the tasks as another kind")
    job_fields: Fields = (
        {"backoffLimit": _SHARED_LIMIT if has_shared_limit else _LIMITS, POLICY: None} if is_job else {}
    )
    read = dict.fromkeys(("template", "replicas", "volumeClaimTemplates"))
    reader.fields(item.get("spec"), {ANY_KEY: controller_field, **read, **job_fields})


def _merged_value(values: Sequence[Any], indexes: Sequence[int], path: tuple[str | int, ...]) -> Any:
    """Merge the values of a field in all tasks of a role into one value. TASK_INDEX replaces the index of each task.

    For example, the values `--log=/logs/0` and `--log=/logs/1` become `--log=/logs/$(TASK_INDEX)`.

    Args:
        values: the value of the field in each task.
        indexes: the index of each task.
        path: the path of the field, for the error.

    Raises:
        _DifferentError: the values differ in more than the index.
    """
    first = values[0]
    if all(value == first for value in values):
        return first
    if all(isinstance(value, Mapping) for value in values):
        names = [*first]
        if any([*value] != names for value in values):
            missing = sorted({key for value in values for key in value.keys() ^ first.keys()})
            raise _DifferentError((*path, *missing[:1]))
        return {key: _merged_value([value[key] for value in values], indexes, (*path, key)) for key in names}
    if all(isinstance(value, list) and len(value) == len(first) for value in values):
        return [_merged_value(items, indexes, (*path, n)) for n, items in enumerate(zip(*values, strict=True))]
    if all(isinstance(value, str) for value in values):
        return _merged_text(values, indexes, path)
    raise _DifferentError(path)


def _can_merge(values: Sequence[Any], indexes: Sequence[int]) -> bool:
    """Return True if the values of a field in several tasks are equal, or differ only in the index of the task."""
    try:
        _merged_value(values, indexes, ())
    except _DifferentError:
        return False
    return True


def _merged_text(values: Sequence[str], indexes: Sequence[int], path: tuple[str | int, ...]) -> str:
    # The shell expands ${TASK_INDEX} in a script. Kubernetes expands $(TASK_INDEX) in all other texts.
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
