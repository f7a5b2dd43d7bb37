"""`tfgen import --verify`: compare the objects of an imported job with the original objects.

tfgen renders the job with its original workload kind, and compares each field. Each difference needs a reason. The
reason is an entry of the import report, or a normalization, which is a harmless difference that every import may have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen.change.field_diff import NOTHING, FieldChange, Item, field_changes, in_words
from tfgen.commands.importing.import_jobs import Imported, ImportedJob, Source, import_jobs
from tfgen.graph.built import plain_objects
from tfgen.importers import FORMATS, hand_written
from tfgen.importers.environments import EnvironmentName
from tfgen.importers.import_report import Entry
from tfgen.importers.objects import LAST_APPLIED
from tfgen.importers.options import Options
from tfgen.importers.part import Part, part_of
from tfgen.importers.pod_template import CONTAINER, PULL_SECRETS, with_container
from tfgen.importers.resources import ALPHA_GPU, NVIDIA_GPU
from tfgen.importers.volumes import clean_path, volume_name
from tfgen.kubernetes import keys, quantity
from tfgen.record import EMPTY, Record

_Matches: TypeAlias = Callable[[Any, Any], bool]

_POD: Final = r"spec\.(tfReplicaSpecs|tasks)\.[-\w]+\.template\."
_PULL_SECRETS_OF_POD: Final = re.compile(rf"{_POD}spec\.imagePullSecrets(\[[^]]+\])?")
_MAIN: Final = rf"{_POD}spec\.containers\[{CONTAINER}\]\."


_DEFAULT_MODE: Final = 0o644
"""The default file mode of Kubernetes for the files of a ConfigMap, a Secret or a projected volume."""

_RESTART_POLICIES: Final = (
    {"event": "PodEvicted", "action": "RestartJob"},
    {"event": "PodFailed", "action": "RestartJob"},
)
"""The policies that tfgen sets in each Volcano Job, for failed pods and for evicted pods."""


_NAMES: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "tfReplicaSpecs": (("Chief", "Master"), "Worker"),
    "tasks": (("chief",), "worker"),
}
"""Field of `spec` that contains the roles -> the possible names of the chief role, and the name of the worker role."""


def _is_new(before: Any, _after: Any) -> bool:
    return before is NOTHING


def _is_any(_before: Any, _after: Any) -> bool:
    return True


def _is_removed_empty(before: Any, after: Any) -> bool:
    return after is NOTHING and before in ("", False, [], {})


def _is_plugin(_before: Any, after: Any) -> bool:
    return after is not NOTHING


def _are_flags(before: Any, after: Any) -> bool:
    args = [] if before is NOTHING else before
    return isinstance(after, list) and after[: len(args)] == args and after[len(args)].startswith("--job_name=")


def _has_more_amounts(before: Any, after: Any) -> bool:
    amounts = [] if before in (NOTHING, "") else str(before).split(",")
    return after is not NOTHING and {*amounts} <= {*str(after).split(",")}


def _has_index(before: Any, after: Any) -> bool:
    if not isinstance(before, str) or not isinstance(after, str):
        return False
    pieces = re.split(r"\$[({]TASK_INDEX[)}]", after)
    return len(pieces) > 1 and bool(re.fullmatch(r"\d+".join(map(re.escape, pieces)), before))


def _becomes_true(before: Any, after: Any) -> bool:
    return before in (NOTHING, False) and after is True


def _is_default(value: Any) -> _Matches:
    return lambda before, after: before is NOTHING and after == value


def _is_equal_amount(before: Any, after: Any) -> bool:
    try:
        return quantity.parse(before) == quantity.parse(after)
    except ValueError:
        return False


def _is_generated(before: Any, after: Any) -> bool:
    return before is NOTHING and isinstance(after, str)


def _is_equal_text(before: Any, after: Any) -> bool:
    return not isinstance(before, (dict, list)) and str(before) == str(after)


_NORMALIZATIONS: Final[Sequence[tuple[str, _Matches, str]]] = (
    (
        r"metadata\.name",
        lambda before, after: after == f"elasticdl-{before}-master",
        "tfgen renders the pod of the ElasticDL master",
    ),
    (r"metadata\.(name|generateName)", _is_generated, "tfgen forms the name from the job and the run"),
    (
        r"spec\.tasks\.[-\w]+\.policies",
        lambda before, after: (before, after) == ([], [{"event": "TaskCompleted", "action": "CompleteJob"}]),
        "tfgen sets the role whose end completes the job",
    ),
    (
        r"kind",
        lambda before, after: (before, after) == ("TfJob", "TFJob"),
        "TFJob is the current name of the kind TfJob",
    ),
    (r"apiVersion", _is_any, "tfgen uses a current API version"),
    (r"metadata\.namespace", _is_any, "the environment, or the command that applies the job, sets the namespace"),
    (r"metadata\.(labels|annotations).+", _is_new, "tfgen adds labels and annotations to objects"),
    (rf"{_POD}metadata\.\w+\[\"{re.escape(keys.GROUP_NAME)}\"\]", _is_any, "the PodGroup has the name of the run"),
    (rf"{_POD}metadata\.(labels|annotations).+", _is_new, "tfgen adds labels and annotations to pods"),
    (
        rf"{_POD}spec\.(\w+\[[^]]+\]\.)?securityContext"
        r"\.(allowPrivilegeEscalation|capabilities|fsGroupChangePolicy|runAsNonRoot|seccompProfile)\b.*",
        _is_new,
        "tfgen sets the fields that the Pod Security Standard requires",
    ),
    (
        rf"{_POD}spec\.\w+\[[^]]+\]\.securityContext\.readOnlyRootFilesystem",
        _is_default(False),
        "tfgen writes the defaults",
    ),
    (
        rf"{_POD}spec\.(automountServiceAccountToken|enableServiceLinks)",
        _is_new,
        "tfgen gives pods no service account token and no Service variables",
    ),
    (rf"{_POD}spec\.terminationGracePeriodSeconds", _is_new, "tfgen sets the time that a task has to stop"),
    (
        rf"{_POD}spec\.(initContainers\[fetch-code\]|(containers\[{CONTAINER}\]\.)?volume(s|Mounts)\[.*/code/[^/\]]+\])",
        _is_new,
        "tfgen fetches the code from git",
    ),
    (
        r"spec\.tasks\.\w+-\d+\.template\.spec\.(volumes|containers\[tensorflow\]\.volumeMounts)\[[^]]+\]",
        _is_new,
        "all tasks of a role mount the same volumes",
    ),
    (rf"{_POD}spec\.volumes\[(at /)?tmp\]", _is_new, "tfgen adds a writable /tmp"),
    (rf"{_POD}spec\.volumes\[[^]]+\]\.\w+\.readOnly", _is_any, "tfgen sets readOnly in the volume mount"),
    (rf"{_MAIN}volumeMounts\[/tmp\]", _is_new, "tfgen adds a writable /tmp"),
    (
        rf"{_MAIN}env\[(HOME|NVIDIA_VISIBLE_DEVICES|OMP_NUM_THREADS|TF_NUM_\w+|TFGEN_RUN\w*)\]",
        _is_new,
        "tfgen sets variables of TensorFlow and of the run",
    ),
    (rf"{_POD}spec\.(\w+\[[^]]+\]\.)?\w+ \(order\)", _is_any, "the order of this list has no effect"),
    (rf"{_MAIN}ports\[\d+\](\.name)?", _is_new, "tfgen lists the port of TensorFlow"),
    (rf"{_MAIN}ports\[\d+\]\.name", _is_any, "tfgen names the port of TensorFlow"),
    (rf"{_POD}spec\.\w+\[[^]]+\]\.resources\b.*", _is_equal_amount, "the quantities are equal"),
    (rf"{_POD}spec\.dnsPolicy", _is_new, "with this policy, a pod in the host's network can resolve Services"),
    (rf"{_MAIN}volumeMounts\[[^]]+\]\.readOnly", _becomes_true, "tfgen sets readOnly in the volume mount"),
    (rf"{_POD}spec\.activeDeadlineSeconds", _is_new, "tfgen sets the deadline on the pod that ends the job"),
    (rf"{_POD}spec\.subdomain", _is_new, "tfgen gives the tasks DNS names in one Service"),
    (rf"{_POD}metadata\.(name|namespace)", _is_any, "the job sets the name and the namespace of a pod"),
    (r".*\.env\[[^]]+\]\.value", _is_default(""), "tfgen writes the empty value of a variable"),
    (r".*", _has_index, "tfgen writes the index of the task as the variable TASK_INDEX"),
    (r".*", _is_removed_empty, "tfgen omits empty fields"),
    (r".*", _is_equal_text, "the number and the text have the same value"),
    (
        r"spec\.(tensorboard|terminationPolicy|tfReplicaSpecs\.\w+\.tfPort)",
        _is_any,
        "tfgen uses the current fields in place of those of v1alpha1",
    ),
    (
        r"spec\.args\.(cluster_spec_json|job_name|namespace|need_tf_config|restart_policy|\w+_resource_limit)",
        _is_new,
        "tfgen passes the name of the run to the master of ElasticDL, and sets limits equal to requests",
    ),
    (r"spec\.args\.master_resource_(request|limit)", _has_more_amounts, "tfgen writes the defaults"),
    (r"spec\.args\.ps_pod_priority", _is_new, "a ps has the priority of the master by default"),
    (r"spec\.args\.worker_pod_priority", _is_any, "tfgen writes only the fraction of workers with high priority"),
    (r"spec\.tfReplicaSpecs\.\w+\.replicas", _is_default(1), "tfgen writes the defaults"),
    (r"spec\.tfReplicaSpecs\.\w+\.restartPolicy", _is_default("Never"), "tfgen writes the defaults"),
    (r"spec\.(tasks\.[-\w]+\.)?(maxRetry|minAvailable|queue|schedulerName)", _is_new, "tfgen writes the defaults"),
    (r"spec\.tasks\.[-\w]+\.replicas", _is_default(1), "tfgen writes the defaults"),
    (r"spec\.plugins(\.(env|svc|tensorflow))?", _is_plugin, "tfgen sets the plugins of Volcano and their arguments"),
    (
        r"spec\.tasks\..*\.env\[(TF_CONFIG|TF_CLUSTER|JOB_NAME|TASK_INDEX|PS_HOSTS|WORKER_HOSTS)\]",
        _is_new,
        "tfgen sets the cluster configuration of the tasks",
    ),
    (r"spec\.tasks\..*\.args", _are_flags, "tfgen sets the cluster configuration of the tasks"),
    (rf"{_POD}spec\.restartPolicy", _is_new, "tfgen sets a restart policy, so that a failed program restarts"),
    (r"spec\.tasks\..*\.readinessProbe", _is_new, "a task is ready when its port answers"),
    (
        r"spec\.runPolicy\.(cleanPodPolicy|backoffLimit|schedulingPolicy\.minAvailable)",
        _is_new,
        "tfgen writes the defaults",
    ),
    (rf"{_POD}spec\.schedulerName", _is_any, "tfgen sets the scheduler of the gang"),
)
"""Differences that do not change the behavior of a job, and that every import may have.

Each row is (pattern for the path of the field, test of the original value and the rendered value, reason). The first
row that matches a difference explains the difference.
"""


_DNS_POLICY: Final = "ClusterFirst"
"""The default of `dnsPolicy` in Kubernetes."""


class Difference(Record):
    """A difference between the original object and the rendered object.

    Attributes:
        field: the path of the field.
        change: the change in words.
        why: the reason; empty for a difference without a reason.
    """

    field: str
    change: str
    why: str


class Verified(Record):
    """The differences between an imported job and the original job, in one environment."""

    job: ImportedJob
    environment: EnvironmentName
    differences: tuple[Difference, ...]

    @property
    def is_explained(self) -> bool:
        """Return whether each difference has a reason."""
        return all(difference.why for difference in self.differences)


def verify(
    imported: Imported,
    sources: Sequence[Source],
    options: Options,
    environments: Mapping[str, Sequence[Source]] = EMPTY,
) -> Iterator[Verified]:
    """Import each job again with the original workload kind. Yield the differences from the original for each variant.

    Args:
        imported: the imported jobs.
        sources: the files of the jobs without an environment.
        options: the options of the import.
        environments: for each environment, the files with the variants of the jobs in this environment.
    """
    for position, job in enumerate(imported.jobs):
        job_format = next((job_format for job_format in FORMATS if job_format.name == job.format), None)
        kind = job_format.kind if job_format else "StatefulSet"
        same_kind = import_jobs(sources, options.replaced(kind=kind), environments)
        if same_kind.jobs:
            for environment in same_kind.jobs[position].origins:
                yield Verified(job, environment, differences(same_kind.jobs[position], environment))
        else:
            failed = tuple(Difference("job.yaml", str(problem), "") for problem in same_kind.problems)
            yield Verified(job, None, failed)


def differences(job: ImportedJob, environment: EnvironmentName = None) -> tuple[Difference, ...]:
    """Return the differences between the rendered object and the original object of a job, in an environment."""
    job_format = next((job_format for job_format in FORMATS if job_format.name == job.format), None)
    origin = job.origins[environment]
    rendered: Mapping[str, Any]
    if job_format:
        root = job_format.canonical(origin.root)
        kind = origin.root.data["kind"].lower()
        item = next(item for item in plain_objects(job.data, environment) if item["kind"].lower() == kind)
        rendered = job_format.canonical(part_of(item)).data
    else:
        root = origin.root
        rendered = hand_written.rendered(plain_objects(job.data, environment), root)
    entries = origin.entries
    original, rendered = _comparable(root.data), _comparable(rendered)
    explained = {
        entry.source: entry.why for entry in entries if entry.outcome in ("changed", "dropped") and entry.explains_all
    }
    reported = explained | {entry.source: "" for entry in entries if entry.outcome == "carried"}
    result = list(_move_roles(original, rendered))
    for change in field_changes(original, rendered):
        if change.before is NOTHING and _PULL_SECRETS_OF_POD.fullmatch(str(change.path)):
            why = _reported_pull_secrets(change.after, root, entries)
        else:
            why = _normalization(change) or _reported_reason(change, root, explained, reported)
        result.append(Difference(str(change.path), in_words(change.before, change.after, 60), why))
    return tuple(result)


def _move_roles(original: dict[str, Any], rendered: Mapping[str, Any]) -> Iterator[Difference]:
    """Rename roles in the original object as the import renames roles. Yield a difference for each renamed role.

    For example, the only task of a job becomes the chief. In a job with workers and without ps, the chief becomes
    worker 0.
    """
    for field, (chiefs, worker) in _NAMES.items():
        old_roles, new_roles = original["spec"].get(field, {}), rendered["spec"].get(field, {})
        if len(old_roles) == 1 and not {*chiefs} & {*old_roles} and [*new_roles] == [chiefs[0]]:
            (name,) = old_roles
            old_roles[chiefs[0]] = old_roles.pop(name)
            yield Difference(f"spec.{field}.{name}", f"is {chiefs[0]}", "a single task is a chief")
        chief = next((name for name in chiefs if name in old_roles), None)
        if chief and worker in new_roles and chief not in new_roles:
            chief_tasks = old_roles.pop(chief)
            workers = old_roles.setdefault(worker, chief_tasks)
            if workers is not chief_tasks:
                workers["replicas"] = workers.get("replicas", 1) + chief_tasks.get("replicas", 1)
            yield Difference(f"spec.{field}.{chief}", f"is an additional {worker}", "without ps, the chief is worker 0")


def _normalization(change: FieldChange) -> str:
    path = str(change.path)
    matching = (
        why
        for pattern, matches, why in _NORMALIZATIONS
        if re.fullmatch(pattern, path) and matches(change.before, change.after)
    )
    return next(matching, "")


def _reported_pull_secrets(new: Any, root: Part, entries: Sequence[Entry]) -> str:
    """Return the reason for which the import added pull secrets to a pod, from the import report.

    If one of the pull secrets has no reason in the import report, the result is empty.

    Args:
        new: the list of added pull secrets, or a single added pull secret.
        root: the original object, whose fields the import report names.
        entries: the entries of the import report.
    """
    reasons = {
        entry.source: entry.why for entry in entries if (entry.target, entry.outcome) == (PULL_SECRETS, "changed")
    }
    reported = {
        scalar.value: reasons[name] for scalar in root.leaves() for name in _names_up_to_root(scalar) if name in reasons
    }
    secrets = new if isinstance(new, list) else [new]
    reasons_of_secrets = [reported.get(secret["name"], "") for secret in secrets]
    return reasons_of_secrets[0] if all(reasons_of_secrets) else ""


def _reported_reason(change: FieldChange, root: Part, explained: Mapping[str, str], reported: Mapping[str, str]) -> str:
    """Return the reason that the import report gives for a changed field. If the report gives no reason, return "".

    Args:
        change: the change of the field.
        root: the original object.
        explained: the reason for each field that the import report lists as changed or dropped, by the name of the
            field.
        reported: the content of `explained`, and an empty reason for each field that the import report lists as
            carried.
    """
    part: Part | None = root
    why = ""
    for step in change.path.steps:
        part = _step(part, step)
        if part is None:
            return why
        why = explained.get(part.name, why)
    if why or part is None:
        return why
    # In a changed list, the report may have a reason for some items, and carry over the rest of the items.
    names = [next((name for name in _names_up_to_root(scalar) if name in reported), None) for scalar in part.leaves()]
    return next((reported[name] for name in names if name and reported[name]), "") if None not in names else ""


def _names_up_to_root(part: Part) -> Iterator[str]:
    """Yield the name of the field `part`, and then the name of each parent field."""
    for length in range(len(part.path), 0, -1):
        yield part.replaced(path=part.path[:length]).name


def _step(part: Part | None, step: Any) -> Part | None:
    if part is None:
        return None
    if isinstance(step, Item):
        for item in part.items():
            values = [field.value for _, field in item.entries()]
            if all(key in values for key in step.keys):
                return item
        return next(part.items(), None) if step.keys == (CONTAINER,) else None
    if not isinstance(step, str):
        return None
    # A chief of the job may be a single task of another role in the original: see `_move_roles`.
    workers = [worker for chiefs, worker in _NAMES.values() if chiefs[0] == step]
    renamed = [role for name, role in part.entries() if name in workers or (workers and len(part.value) == 1)]
    return part.get(step) or next(iter(renamed), None)


def _comparable(item: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the fields that a cluster adds to an object, and add the defaults of Kubernetes, for the comparison."""
    user_keys = ("name", "namespace", "labels", "annotations")
    metadata = {"labels": {}, "annotations": {}, **{k: v for k, v in item["metadata"].items() if k in user_keys}}
    notes = {key: value for key, value in metadata["annotations"].items() if key != LAST_APPLIED}
    item = {key: value for key, value in item.items() if key not in ("metadata", "status")}
    if isinstance(item["spec"].get("volumes"), list):
        item["spec"] = _with_volumes(item["spec"], metadata["name"])
    return {**_with_defaults(item), "metadata": {**metadata, "annotations": notes}}


def _with_volumes(spec: Mapping[str, Any], job: str) -> dict[str, Any]:
    """Move the volumes of a Volcano Job to its pod templates, where tfgen writes volumes."""
    volumes, mounts = [], []
    for volume in spec["volumes"]:
        name = volume_name(volume["mountPath"])
        claim = volume.get("volumeClaimName") or f"{job}-{name}"
        volumes.append({"name": name, "persistentVolumeClaim": {"claimName": claim}})
        mounts.append({"name": name, "mountPath": volume["mountPath"]})
    tasks = json.loads(json.dumps(spec["tasks"]))
    for task in tasks.values():
        pod = task["template"]["spec"]
        pod["volumes"] = [*pod.get("volumes", ()), *volumes]
        for container in pod["containers"]:
            container["volumeMounts"] = [*container.get("volumeMounts", ()), *mounts]
    return {**{key: value for key, value in spec.items() if key != "volumes"}, "tasks": tasks}


def _with_defaults(data: Any) -> Any:
    """Add the defaults of Kubernetes to all pod templates in `data`, which is an object or a part of an object."""
    if isinstance(data, list):
        return [_with_defaults(child) for child in data]
    if not isinstance(data, dict):
        return data
    data = {key: _template(value) if key == "template" else _with_defaults(value) for key, value in data.items()}
    if "tfReplicaSpecs" in data:
        data.setdefault("runPolicy", {})
    if "tasks" in data or ("template" in data and "name" in data):
        policies = [_with_one_event(policy) for policy in data.get("policies", ())]
        data["policies"] = [policy for policy in policies if policy not in _RESTART_POLICIES]
    return data


def _with_one_event(policy: dict[str, Any]) -> dict[str, Any]:
    """Replace the list `events` in a policy of a Volcano Job by the field `event`, if the list has a single event."""
    events = policy.get("events", ())
    if len(events) != 1:
        return policy
    return {"event": events[0], **{key: value for key, value in policy.items() if key != "events"}}


def _template(template: Any) -> dict[str, Any]:
    spec = {"volumes": [], "securityContext": {}, **template["spec"]}
    if account := spec.pop("serviceAccount", None):
        spec.setdefault("serviceAccountName", account)
    if spec.get("dnsPolicy") == _DNS_POLICY:
        del spec["dnsPolicy"]
    names = [container.get("name", "") for container in spec["containers"]]
    position = names.index(CONTAINER) if CONTAINER in names else 0
    spec = with_container(spec, names[position])
    containers = spec["containers"]
    main = containers[position]
    sidecars = [{**c, "restartPolicy": "Always"} for c in containers if c is not main]
    spec["containers"] = [_container({**main, "name": CONTAINER})]
    spec["initContainers"] = [_container(c) for c in (*spec.get("initContainers", ()), *sidecars)]
    if not spec["initContainers"]:
        _hoist_user(spec)
    completed = {"metadata": {"labels": {}, "annotations": {}, **template.get("metadata", {})}, "spec": spec}
    volumes: dict[str, str] = {}
    for mount in main.get("volumeMounts", ()):
        volumes.setdefault(mount.get("name", ""), f"at {mount.get('mountPath', '').rstrip('/')}")
    comparable: dict[str, Any] = _with_comparable_volumes(completed, volumes)
    return comparable


def _hoist_user(spec: dict[str, Any]) -> None:
    """Move runAsUser and runAsGroup from the pod's only container to the pod, where the fields have the same effect."""
    (container,) = spec["containers"]
    user = {key: value for key, value in container["securityContext"].items() if key in ("runAsUser", "runAsGroup")}
    context = {key: value for key, value in container["securityContext"].items() if key not in user}
    spec["containers"] = [{**container, "securityContext": context}]
    spec["securityContext"] = {**spec["securityContext"], **user}


def _with_comparable_volumes(data: Any, names: Mapping[str, str]) -> Any:
    """Return a part of a pod template with new volume names, normalized paths and no default file modes.

    Args:
        data: the part of the pod template.
        names: the new name of each volume, such as `at /model` for a volume that is mounted at /model.
    """
    if isinstance(data, list):
        return [_with_comparable_volumes(child, names) for child in data]
    if not isinstance(data, dict):
        return data
    data = {key: _with_comparable_volumes(value, names) for key, value in data.items()}
    for key in ("volumes", "volumeMounts"):
        if isinstance(data.get(key), list):
            data[key] = [{**item, "name": names.get(item.get("name"), item.get("name"))} for item in data[key]]
    for key in ("defaultMode", "mode"):
        if isinstance(data.get(key), str) and re.fullmatch("0[0-7]+", data[key]):
            data[key] = int(data[key], 8)
    if "mountPath" in data:
        data["mountPath"] = clean_path(data["mountPath"])
    if isinstance(data.get("hostPath"), dict):
        data["hostPath"] = {**data["hostPath"], "path": clean_path(data["hostPath"].get("path", ""))}
    if data.get("defaultMode") == _DEFAULT_MODE:
        del data["defaultMode"]
    if "fieldPath" in data:
        data.setdefault("apiVersion", "v1")
    return data


def _container(container: Mapping[str, Any]) -> dict[str, Any]:
    """Add defaults to a container: requests that equal the limits, and limits of devices that equal the requests."""
    resources = container.get("resources", {})
    limits, requests = (
        {NVIDIA_GPU if key == ALPHA_GPU else key: value for key, value in resources.get(kind, {}).items()}
        for kind in ("limits", "requests")
    )
    limits = {**{key: value for key, value in requests.items() if "/" in key}, **limits}
    completed = {**resources, "limits": limits, "requests": {**limits, **requests}}
    ports = [{"protocol": "TCP", **port} for port in container.get("ports", ())]
    variables = [_variable(variable, container.get("name")) for variable in container.get("env", ())]
    empty: dict[str, Any] = {"env": [], "volumeMounts": [], "securityContext": {}}
    return {**empty, **container, "env": variables, "ports": ports, "resources": completed}


def _variable(variable: Mapping[str, Any], container: Any) -> Mapping[str, Any]:
    """Remove the container name from a variable with a resourceFieldRef if the name is the default.

    The default is the container that has the variable.
    """
    source = variable.get("valueFrom")
    field = source.get("resourceFieldRef") if isinstance(source, dict) else None
    if not isinstance(field, dict) or field.get("containerName") != container:
        return variable
    reference = {key: value for key, value in field.items() if key != "containerName"}
    return {**variable, "valueFrom": {**variable["valueFrom"], "resourceFieldRef": reference}}
