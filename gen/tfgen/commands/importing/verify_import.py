"""Whether an import lost anything: the imported job, rendered with the workload of its origin, beside the original.

Every field that differs is explained: by a normalisation, which holds for all jobs, or by an entry of the account.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

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
from tfgen.importers.volcano_job import volume_name
from tfgen.importers.volumes import clean_path
from tfgen.kubernetes import keys, quantity
from tfgen.record import EMPTY, Record

_Matches: TypeAlias = Callable[[Any, Any], bool]

_POD: Final = r"spec\.(tfReplicaSpecs|tasks)\.[-\w]+\.template\."
_PULL_SECRETS_OF_POD: Final = re.compile(rf"{_POD}spec\.imagePullSecrets(\[[^]]+\])?")
_MAIN: Final = rf"{_POD}spec\.containers\[{CONTAINER}\]\."


_DEFAULT_MODE: Final = 0o644
"""Of the files of a ConfigMap, a Secret or a projected volume, as Kubernetes has it."""

_LOST: Final = ({"event": "PodEvicted", "action": "RestartJob"}, {"event": "PodFailed", "action": "RestartJob"})
"""What Volcano is told of lost pods: always both."""


_NAMES: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "tfReplicaSpecs": (("Chief", "Master"), "Worker"),
    "tasks": (("chief",), "worker"),
}
"""The names of a chief and of workers, by the field of spec that has the roles."""


class Normalisation(NamedTuple):
    """A difference that every import may have: where, of what, and what it is called."""

    path: str
    matches: _Matches
    why: str


def _is_new(before: Any, _after: Any) -> bool:
    return before is NOTHING


def _is_any(_before: Any, _after: Any) -> bool:
    return True


def _says_nothing(before: Any, after: Any) -> bool:
    return after is NOTHING and before in ("", False, [], {})


def _is_plugin(_before: Any, after: Any) -> bool:
    return after is not NOTHING


def _are_flags(before: Any, after: Any) -> bool:
    was = [] if before is NOTHING else before
    return isinstance(after, list) and after[: len(was)] == was and after[len(was)].startswith("--job_name=")


def _has_more_amounts(before: Any, after: Any) -> bool:
    was = [] if before in (NOTHING, "") else str(before).split(",")
    return after is not NOTHING and {*was} <= {*str(after).split(",")}


def _has_index(before: Any, after: Any) -> bool:
    if not isinstance(before, str) or not isinstance(after, str):
        return False
    pieces = re.split(r"\$[({]TASK_INDEX[)}]", after)
    return len(pieces) > 1 and bool(re.fullmatch(r"\d+".join(map(re.escape, pieces)), before))


def _is_now_true(before: Any, after: Any) -> bool:
    return before in (NOTHING, False) and after is True


def _is_default(value: Any) -> _Matches:
    return lambda before, after: before is NOTHING and after == value


def _same_amount(before: Any, after: Any) -> bool:
    try:
        return quantity.parse(before) == quantity.parse(after)
    except ValueError:
        return False


def _is_generated(before: Any, after: Any) -> bool:
    return before is NOTHING and isinstance(after, str)


def _same_text(before: Any, after: Any) -> bool:
    return not isinstance(before, (dict, list)) and str(before) == str(after)


NORMALISATIONS: Final = (
    Normalisation(
        r"metadata\.name", lambda before, after: after == f"elasticdl-{before}-master", "the job is its master's pod"
    ),
    Normalisation(r"metadata\.(name|generateName)", _is_generated, "a job has one name, and each run of it another"),
    Normalisation(
        r"spec\.tasks\.[-\w]+\.policies",
        lambda before, after: (before, after) == ([], [{"event": "TaskCompleted", "action": "CompleteJob"}]),
        "it is said whose end ends the job",
    ),
    Normalisation(r"kind", lambda before, after: (before, after) == ("TfJob", "TFJob"), "TfJob is TFJob today"),
    Normalisation(r"apiVersion", _is_any, "the API version is one that tfgen writes"),
    Normalisation(r"metadata\.namespace", _is_any, "the namespace is that of the environment, or of who applies it"),
    Normalisation(r"metadata\.(labels|annotations).+", _is_new, "objects have tfgen's labels and annotations"),
    Normalisation(
        rf"{_POD}metadata\.\w+\[\"{re.escape(keys.GROUP_NAME)}\"\]", _is_any, "the PodGroup has the name of the run"
    ),
    Normalisation(rf"{_POD}metadata\.(labels|annotations).+", _is_new, "pods have tfgen's labels and annotations"),
    Normalisation(
        rf"{_POD}spec\.(\w+\[[^]]+\]\.)?securityContext"
        r"\.(allowPrivilegeEscalation|capabilities|fsGroupChangePolicy|runAsNonRoot|seccompProfile)\b.*",
        _is_new,
        "pods meet a Pod Security Standard",
    ),
    Normalisation(
        rf"{_POD}spec\.\w+\[[^]]+\]\.securityContext\.readOnlyRootFilesystem", _is_default(False), "defaults are said"
    ),
    Normalisation(
        rf"{_POD}spec\.(automountServiceAccountToken|enableServiceLinks)", _is_new, "pods know the cluster no further"
    ),
    Normalisation(rf"{_POD}spec\.terminationGracePeriodSeconds", _is_new, "it is said how long a task may stop"),
    Normalisation(
        rf"{_POD}spec\.(initContainers\[fetch-code\]|(containers\[{CONTAINER}\]\.)?volume(s|Mounts)\[.*/code/[^/\]]+\])",
        _is_new,
        "tfgen fetches code from git by itself",
    ),
    Normalisation(
        r"spec\.tasks\.\w+-\d+\.template\.spec\.(volumes|containers\[tensorflow\]\.volumeMounts)\[[^]]+\]",
        _is_new,
        "all tasks of a role mount the volumes of each",
    ),
    Normalisation(rf"{_POD}spec\.volumes\[(at /)?tmp\]", _is_new, "pods have a /tmp that can be written"),
    Normalisation(rf"{_POD}spec\.volumes\[[^]]+\]\.\w+\.readOnly", _is_any, "a claim is read-only where it is mounted"),
    Normalisation(rf"{_MAIN}volumeMounts\[/tmp\]", _is_new, "pods have a /tmp that can be written"),
    Normalisation(
        rf"{_MAIN}env\[(HOME|NVIDIA_VISIBLE_DEVICES|OMP_NUM_THREADS|TF_NUM_\w+|TFGEN_RUN\w*)\]",
        _is_new,
        "tasks have variables that TensorFlow reads, and those of the run",
    ),
    Normalisation(
        rf"{_POD}spec\.(\w+\[[^]]+\]\.)?\w+ \(order\)", _is_any, "lists that merge by names stand in another order"
    ),
    Normalisation(rf"{_MAIN}ports\[\d+\](\.name)?", _is_new, "TensorFlow's port is said"),
    Normalisation(rf"{_MAIN}ports\[\d+\]\.name", _is_any, "TensorFlow's port has a name of its own"),
    Normalisation(rf"{_POD}spec\.\w+\[[^]]+\]\.resources\b.*", _same_amount, "amounts are written alike"),
    Normalisation(rf"{_POD}spec\.dnsPolicy", _is_new, "a pod of the host's network finds Services, too"),
    Normalisation(rf"{_MAIN}volumeMounts\[[^]]+\]\.readOnly", _is_now_true, "a claim is read-only where it is mounted"),
    Normalisation(
        rf"{_POD}spec\.activeDeadlineSeconds", _is_new, "the limit of a job is that of the pod which ends it"
    ),
    Normalisation(rf"{_POD}spec\.subdomain", _is_new, "tasks have names of one Service"),
    Normalisation(rf"{_POD}metadata\.(name|namespace)", _is_any, "a pod has the name and the namespace of its job"),
    Normalisation(r".*\.env\[[^]]+\]\.value", _is_default(""), "an empty variable is said"),
    Normalisation(r".*", _has_index, "a task is told its own index"),
    Normalisation(r".*", _says_nothing, "what says nothing is left out"),
    Normalisation(r".*", _same_text, "numbers and text are written alike"),
    Normalisation(
        r"spec\.(tensorboard|terminationPolicy|tfReplicaSpecs\.\w+\.tfPort)", _is_any, "v1alpha1's words are today's"
    ),
    Normalisation(
        r"spec\.args\.(cluster_spec_json|job_name|namespace|need_tf_config|restart_policy|\w+_resource_limit)",
        _is_new,
        "tfgen tells the master of its run, and amounts are limits, too",
    ),
    Normalisation(r"spec\.args\.master_resource_(request|limit)", _has_more_amounts, "defaults are said"),
    Normalisation(r"spec\.args\.ps_pod_priority", _is_new, "a ps has its master's priority, or one of its own"),
    Normalisation(r"spec\.args\.worker_pod_priority", _is_any, "a fraction of the workers is said alone"),
    Normalisation(r"spec\.tfReplicaSpecs\.\w+\.replicas", _is_default(1), "defaults are said"),
    Normalisation(r"spec\.tfReplicaSpecs\.\w+\.restartPolicy", _is_default("Never"), "defaults are said"),
    Normalisation(r"spec\.(tasks\.[-\w]+\.)?(maxRetry|minAvailable|queue|schedulerName)", _is_new, "defaults are said"),
    Normalisation(r"spec\.tasks\.[-\w]+\.replicas", _is_default(1), "defaults are said"),
    Normalisation(
        r"spec\.plugins(\.(env|svc|tensorflow))?", _is_plugin, "Volcano's plugins are said, with their arguments"
    ),
    Normalisation(
        r"spec\.tasks\..*\.env\[(TF_CONFIG|TF_CLUSTER|JOB_NAME|TASK_INDEX|PS_HOSTS|WORKER_HOSTS)\]",
        _is_new,
        "tfgen tells the tasks",
    ),
    Normalisation(r"spec\.tasks\..*\.args", _are_flags, "tfgen tells the tasks"),
    Normalisation(rf"{_POD}spec\.restartPolicy", _is_new, "a program that fails is started again"),
    Normalisation(r"spec\.tasks\..*\.readinessProbe", _is_new, "a task is ready when its port answers"),
    Normalisation(
        r"spec\.runPolicy\.(cleanPodPolicy|backoffLimit|schedulingPolicy\.minAvailable)", _is_new, "defaults are said"
    ),
    Normalisation(rf"{_POD}spec\.schedulerName", _is_any, "the gang's scheduler is named"),
)
"""What tfgen writes otherwise than others, without another meaning."""


_DNS_POLICY: Final = "ClusterFirst"
"""The policy of a pod that sets none."""


class Difference(Record):
    """A field of the original that the rendered object has otherwise.

    Attributes:
        why: what explains it; empty where nothing does.
    """

    field: str
    change: str
    why: str


class Verified(Record):
    """An imported job, in one of its environments or by itself, and how it differs from what it was."""

    job: ImportedJob
    environment: EnvironmentName
    differences: tuple[Difference, ...]

    @property
    def is_explained(self) -> bool:
        """Whether each difference has a reason."""
        return all(difference.why for difference in self.differences)


def verify(
    imported: Imported,
    sources: Sequence[Source],
    options: Options,
    environments: Mapping[str, Sequence[Source]] = EMPTY,
) -> Iterator[Verified]:
    """The differences of each imported job from what it was, where it is imported for the kind that it had.

    Args:
        imported: the jobs as they are written.
        sources: the files that they come from.
        options: how they were read.
        environments: the files of each environment.
    """
    for position, job in enumerate(imported.jobs):
        job_format = next((job_format for job_format in FORMATS if job_format.name == job.format), None)
        kind = job_format.kind if job_format else "StatefulSet"
        again = import_jobs(sources, options.replaced(kind=kind), environments)
        if again.jobs:
            for environment in again.jobs[position].origins:
                yield Verified(job, environment, differences(again.jobs[position], environment))
        else:
            failed = tuple(Difference("job.yaml", str(problem), "") for problem in again.problems)
            yield Verified(job, None, failed)


def differences(job: ImportedJob, environment: EnvironmentName = None) -> tuple[Difference, ...]:
    """What the object that an imported job renders to has otherwise than the one that it was imported from."""
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
        entry.source: entry.why for entry in entries if entry.outcome in ("changed", "dropped") and entry.covers
    }
    known = explained | {entry.source: "" for entry in entries if entry.outcome == "carried"}
    differing = list(_settled(original, rendered))
    for change in field_changes(original, rendered):
        if change.before is NOTHING and _PULL_SECRETS_OF_POD.fullmatch(str(change.path)):
            why = _reported_pull_secrets(change.after, root, entries)
        else:
            why = _normalisation(change) or _entry(change, root, explained, known)
        differing.append(Difference(str(change.path), in_words(change.before, change.after, 60), why))
    return tuple(differing)


def _settled(original: dict[str, Any], rendered: Mapping[str, Any]) -> Iterator[Difference]:
    """Put the original's roles where the strategy has them: one task is a chief, and a chief without ps is worker 0."""
    for field, (chiefs, worker) in _NAMES.items():
        was, now = original["spec"].get(field, {}), rendered["spec"].get(field, {})
        if len(was) == 1 and not {*chiefs} & {*was} and [*now] == [chiefs[0]]:
            (name,) = was
            was[chiefs[0]] = was.pop(name)
            yield Difference(f"spec.{field}.{name}", f"is {chiefs[0]}", "one task is a chief")
        chief = next((name for name in chiefs if name in was), None)
        if chief and worker in now and chief not in now:
            taken = was.pop(chief)
            workers = was.setdefault(worker, taken)
            if workers is not taken:
                workers["replicas"] = workers.get("replicas", 1) + taken.get("replicas", 1)
            yield Difference(f"spec.{field}.{chief}", f"is one more {worker}", "without ps, the chief is worker 0")


def _normalisation(change: FieldChange) -> str:
    path = str(change.path)
    for normalisation in NORMALISATIONS:
        if re.fullmatch(normalisation.path, path) and normalisation.matches(change.before, change.after):
            return normalisation.why
    return ""


def _reported_pull_secrets(new: Any, root: Part, entries: Sequence[Entry]) -> str:
    """Return the reason for pull secrets that a pod lacked, if the account reports each of the secrets."""
    reasons = {
        entry.source: entry.why for entry in entries if (entry.target, entry.outcome) == (PULL_SECRETS, "changed")
    }
    reported = {
        scalar_part.value: reasons[name]
        for scalar_part in root.leaves()
        for name in _names_around(scalar_part)
        if name in reasons
    }
    secrets = new if isinstance(new, list) else [new]
    whys = [reported.get(secret["name"], "") for secret in secrets]
    return whys[0] if all(whys) else ""


def _entry(change: FieldChange, root: Part, explained: Mapping[str, str], known: Mapping[str, str]) -> str:
    """What the account says of the part at a path of the original, of one around it, or of all in it."""
    part: Part | None = root
    why = ""
    for step in change.path.steps:
        part = _step(part, step)
        if part is None:
            return why
        why = explained.get(part.name, why)
    if why or part is None:
        return why
    # A list is one value: some of its items may be carried, where all others are explained.
    names = [
        next((name for name in _names_around(scalar_part) if name in known), None) for scalar_part in part.leaves()
    ]
    return next((known[name] for name in names if name and known[name]), "") if None not in names else ""


def _names_around(scalar_part: Part) -> Iterator[str]:
    for length in range(len(scalar_part.path), 0, -1):
        yield scalar_part.replaced(path=scalar_part.path[:length]).name


def _step(part: Part | None, step: Any) -> Part | None:
    if part is None:
        return None
    if isinstance(step, Item):
        for item in part.items():
            values = [inner.value for _, inner in item.entries()]
            if all(key in values for key in step.keys):
                return item
        return next(part.items(), None) if step.keys == (CONTAINER,) else None
    if not isinstance(step, str):
        return None
    # What is a chief in the job may have been the one worker, or the one task: see `_settled`.
    workers = [worker for chiefs, worker in _NAMES.values() if chiefs[0] == step]
    renamed = [below for name, below in part.entries() if name in workers or (workers and len(part.value) == 1)]
    return part.get(step) or next(iter(renamed), None)


def _comparable(item: Mapping[str, Any]) -> dict[str, Any]:
    """An object without what any cluster adds, and with what Kubernetes takes for what is not said."""
    kept = ("name", "namespace", "labels", "annotations")
    metadata = {"labels": {}, "annotations": {}, **{k: v for k, v in item["metadata"].items() if k in kept}}
    notes = {key: value for key, value in metadata["annotations"].items() if key != LAST_APPLIED}
    item = {key: value for key, value in item.items() if key not in ("metadata", "status")}
    if isinstance(item["spec"].get("volumes"), list):
        item["spec"] = _with_volumes(item["spec"], metadata["name"])
    return {**_completed(item), "metadata": {**metadata, "annotations": notes}}


def _with_volumes(spec: Mapping[str, Any], job: str) -> dict[str, Any]:
    """A Volcano Job whose pods have its volumes themselves."""
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


def _completed(data: Any) -> Any:
    """Pod templates completed, wherever they are in the data."""
    if isinstance(data, list):
        return [_completed(inner) for inner in data]
    if not isinstance(data, dict):
        return data
    data = {key: _template(value) if key == "template" else _completed(value) for key, value in data.items()}
    if "tfReplicaSpecs" in data:
        data.setdefault("runPolicy", {})
    if "tasks" in data or ("template" in data and "name" in data):
        policies = [_with_one_event(policy) for policy in data.get("policies", ())]
        data["policies"] = [policy for policy in policies if policy not in _LOST]
    return data


def _with_one_event(policy: dict[str, Any]) -> dict[str, Any]:
    """A policy of a list of one event as that of the event."""
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
    beside = [{**c, "restartPolicy": "Always"} for c in containers if c is not main]
    spec["containers"] = [_container({**main, "name": CONTAINER})]
    spec["initContainers"] = [_container(c) for c in (*spec.get("initContainers", ()), *beside)]
    if not spec["initContainers"]:
        _hoist_user(spec)
    document_part = {"metadata": {"labels": {}, "annotations": {}, **template.get("metadata", {})}, "spec": spec}
    volumes: dict[str, str] = {}
    for mount in main.get("volumeMounts", ()):
        volumes.setdefault(mount.get("name", ""), f"at {mount.get('mountPath', '').rstrip('/')}")
    renamed: dict[str, Any] = _renamed(document_part, volumes)
    return renamed


def _hoist_user(spec: dict[str, Any]) -> None:
    """Have the pod say whom its one container runs as: to Kubernetes that is the same."""
    (container,) = spec["containers"]
    own = {key: value for key, value in container["securityContext"].items() if key in ("runAsUser", "runAsGroup")}
    rest = {key: value for key, value in container["securityContext"].items() if key not in own}
    spec["containers"] = [{**container, "securityContext": rest}]
    spec["securityContext"] = {**spec["securityContext"], **own}


def _renamed(data: Any, names: Mapping[str, str]) -> Any:
    """A template whose volumes are called by where the program mounts them; their names mean nothing to Kubernetes."""
    if isinstance(data, list):
        return [_renamed(inner, names) for inner in data]
    if not isinstance(data, dict):
        return data
    data = {key: _renamed(value, names) for key, value in data.items()}
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
    """A container with its requests, which are its limits where they are not said, and of devices the limits, too."""
    resources = container.get("resources", {})
    limits, requests = (
        {NVIDIA_GPU if key == ALPHA_GPU else key: value for key, value in resources.get(kind, {}).items()}
        for kind in ("limits", "requests")
    )
    limits = {**{key: value for key, value in requests.items() if "/" in key}, **limits}
    document_part = {**resources, "limits": limits, "requests": {**limits, **requests}}
    ports = [{"protocol": "TCP", **port} for port in container.get("ports", ())]
    variables = [_variable(variable, container.get("name")) for variable in container.get("env", ())]
    empty: dict[str, Any] = {"env": [], "volumeMounts": [], "securityContext": {}}
    return {**empty, **container, "env": variables, "ports": ports, "resources": document_part}


def _variable(variable: Mapping[str, Any], container: Any) -> Mapping[str, Any]:
    """Return a variable without the name of its container, which Kubernetes takes where a reference names none."""
    source = variable.get("valueFrom")
    field = source.get("resourceFieldRef") if isinstance(source, dict) else None
    if not isinstance(field, dict) or field.get("containerName") != container:
        return variable
    own = {key: value for key, value in field.items() if key != "containerName"}
    return {**variable, "valueFrom": {**variable["valueFrom"], "resourceFieldRef": own}}
