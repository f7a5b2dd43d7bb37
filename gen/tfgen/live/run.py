"""A run: its objects according to the job file, a snapshot of the objects in the cluster, and its end.

The module imports no client, so that commands without a cluster can use it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from tfgen import data_path
from tfgen.errors import TfgenError
from tfgen.graph.graph import BuiltJob, TaskObjects, build, pods, task_objects, variant_objects
from tfgen.graph.helper_pods import FINISHER, TENSORBOARD
from tfgen.job.facts import check_environment
from tfgen.job.training_job import Environment, Structure, TrainingJob
from tfgen.kubernetes import keys
from tfgen.kubernetes.keys import STARTED
from tfgen.kubernetes.object import Object, creation_time, group, identity
from tfgen.kubernetes.pods import amount, pod_requests
from tfgen.record import EMPTY, Record
from tfgen.schema.kinds import RESOURCES
from tfgen.targets.gitops import ARGOCD_VERSION, KUSTOMIZATION, RELEASE, DeployedVariant
from tfgen.text.document import Document
from tfgen.words import command_line, either

Identity = tuple[str, str, str]
"""API version, kind and name of an object."""

APPLICATION: Final = (ARGOCD_VERSION, "Application")
"""The API version and the kind of an Application of Argo CD."""
_JOB: Final = ("batch/v1", "Job")


class DeclaredRun(Record):
    """The run that job.yaml declares for one variant of a job, such as the job in the environment `dev`.

    Attributes:
        job: name of the job.
        full_name: prefix of the objects' names, and value of the objects' label tfgen/job. Equal to the name of the
            job, unless the Helm release has a different name.
        environment: name of the environment; None for the job without an environment.
        run: name of the run; empty for a run without a name.
        namespace: namespace in job.yaml. None selects the namespace of the kubeconfig's context.
        cluster: cluster in job.yaml. None selects the cluster of the context.
        is_enabled: whether the environment is enabled. In an environment that is not enabled, the job is retired.
        live_runs: for a job that is retired in `environment`, the run names of the enabled environments with the same
            namespace and cluster, by name of the environment. The objects in the namespace may belong to these runs.
            Empty for all other jobs.
        roles: number of tasks of each role. Example: {"chief": 1, "worker": 4}.
        controllers: StatefulSet or Job that creates the pods of each role. Objects of an operator, such as a TFJob, are
            not in the mapping.
        deciding_object: object that decides when the run ends, such as the chief's Job.
        finisher: Job that releases the tasks; None for a run without a finisher.
        gang: PodGroup of the gang, and the number of pods that start together; None for a run without a gang.
        claims: claims that the job creates.
        deliveries: namespace and identity of each object of a GitOps tool that delivers the job: an Application, a
            Kustomization or a HelmRelease. The namespace is empty for an object in another cluster.
        tensorboard_port: port of TensorBoard's pod; None for a job without TensorBoard.
        rendered: rendered objects that create the pods of the tasks.
    """

    job: str
    full_name: str
    environment: str | None
    run: str
    namespace: str | None
    cluster: str | None
    is_enabled: bool
    roles: Mapping[str, int]
    controllers: Mapping[str, Identity] = EMPTY
    deciding_object: Identity | None = None
    finisher: Identity | None = None
    gang: tuple[Identity, int] | None = None
    claims: tuple[Identity, ...] = ()
    live_runs: Mapping[str, str] = EMPTY
    deliveries: tuple[tuple[str, Identity], ...] = ()
    tensorboard_port: int | None = None
    rendered: tuple[Object, ...] = ()

    @property
    def title(self) -> str:
        """Return the title of the run, which consists of the full name, the environment and the run name."""
        return "/".join(filter(None, (self.full_name, self.environment, self.run)))

    @property
    def identities(self) -> tuple[Identity, ...]:
        """Return the API version, kind and name of each object whose state tfgen reads to find the state of the run."""
        gang = self.gang[0] if self.gang else None
        identities = (*self.controllers.values(), self.deciding_object, self.finisher, gang, *self.claims)
        return tuple(dict.fromkeys(filter(None, identities)))

    def with_full_name(self, full_name: str) -> DeclaredRun:
        """Return a copy of the run whose object names begin with `full_name`, the name of a Helm release."""
        prefix = re.compile(rf"(elasticdl-)?{re.escape(self.full_name)}(?=-|$)")

        def renamed(item: Identity) -> Identity:
            return (*item[:2], prefix.sub(lambda match: f"{match[1] or ''}{full_name}", item[2], count=1))

        return self.replaced(
            full_name=full_name,
            controllers={role: renamed(item) for role, item in self.controllers.items()},
            deciding_object=self.deciding_object and renamed(self.deciding_object),
            finisher=self.finisher and renamed(self.finisher),
            gang=self.gang and (renamed(self.gang[0]), self.gang[1]),
            claims=tuple(map(renamed, self.claims)),
        )


def declared_run(built: BuiltJob, tasks: TaskObjects, environment: str | None) -> DeclaredRun:
    """Derive the run of a job from the Kubernetes objects of the job.

    Args:
        built: the job, with the plain Kubernetes objects that tfgen renders.
        tasks: StatefulSets and Jobs that would run the same tasks without an operator. tfgen counts the tasks in these
            objects, because for a TFJob, for example, only the operator creates the pods.
        environment: environment of the job; None for the job without an environment.
    """
    job, structure = built.job, built.job.structure
    place = next((item for item in job.environments if item.name == environment), None)
    objects = variant_objects(built, environment)
    values = job.values if place is None else place.values
    controllers = {
        item["metadata"]["labels"][keys.COMPONENT]: identity(item)
        for item in objects
        if identity(item)[:2] in (("apps/v1", "StatefulSet"), _JOB) and keys.COMPONENT in _labels(item)
    }
    deciding_object = _deciding_object(objects, structure)
    components = {_labels(item).get(keys.COMPONENT) for item in objects if item["kind"] == "Deployment"}
    return DeclaredRun(
        job=job.name,
        full_name=job.name,
        environment=environment,
        run=values.get("run", ""),
        namespace=job.namespace if place is None else place.namespace,
        cluster=None if place is None else place.cluster,
        is_enabled=place is None or place.enabled,
        roles=Counter(pod.role for pod in pods(tasks.objects, namespace="")),
        controllers=controllers,
        deciding_object=deciding_object,
        finisher=next(map(identity, filter(is_finisher, objects)), None),
        gang=next(((identity(item), gang_size(item)) for item in objects if item["kind"] == "PodGroup"), None),
        claims=tuple(identity(item) for item in objects if item["kind"] == "PersistentVolumeClaim"),
        deliveries=tuple(_deliveries(job, place)) if place and place.enabled else (),
        tensorboard_port=structure.tensorboard_port if TENSORBOARD in components else None,
        rendered=tuple(item for item in objects if identity(item) in (*controllers.values(), deciding_object)),
    )


def _deliveries(job: TrainingJob, place: Environment) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Yield the namespace and the identity of each object of a GitOps tool that delivers a job in an environment.

    For a job in a named cluster, the namespace of the Application is empty, because Argo CD runs in another cluster.
    """
    if job.gitops is None:
        return
    variant = DeployedVariant(job, job.gitops, place, ())
    if job.gitops.argocd is not None:
        yield "" if place.cluster else job.gitops.argocd["namespace"], (*APPLICATION, variant.name)
    if job.gitops.flux is not None:
        yield job.gitops.flux["namespace"], (*(RELEASE if variant.is_chart else KUSTOMIZATION), variant.name)


def _deciding_object(objects: Sequence[Object], structure: Structure) -> Identity | None:
    """Return the object that decides when the run ends: an operator's object, a Pod, or the Job of a role."""
    resources = [item for item in objects if (group(item), item["kind"]) in RESOURCES]
    task_pods = [item for item in objects if item["kind"] == "Pod" and keys.ROLE in _labels(item)]
    jobs = [
        item for item in objects if identity(item)[:2] == _JOB and _labels(item).get(keys.COMPONENT) == structure.ends
    ]
    return next(map(identity, (*resources, *task_pods, *jobs)), None)


def is_finisher(item: Object) -> bool:
    """Test whether an object is the Job of a finisher."""
    role = data_path.at(item, ("spec", "template", "metadata", "labels", keys.ROLE))
    return identity(item)[:2] == _JOB and bool(role == FINISHER)


def _labels(item: Object) -> Mapping[str, str]:
    labels: Mapping[str, str] = item["metadata"].get("labels", {})
    return labels


def gang_size(pod_group: Object | None) -> int:
    """Return the number of pods that start together, from a PodGroup of Volcano or of Kubernetes; 0 for None."""
    spec = data_path.at(pod_group, ("spec",))
    size = data_path.at(spec, ("minMember",)) or data_path.at(spec, ("schedulingPolicy", "gang", "minCount"))
    return int(size or 0)


class StatusReason(Record):
    """A reason in the status of an object: a word such as `ImagePullBackOff`, and a message."""

    word: str
    message: str


class Snapshot(Record):
    """The objects of runs in a namespace at one moment.

    Attributes:
        pods: pods of the jobs to which the runs belong.
        objects: other objects of the runs, by API version, kind and name. An object that the cluster does not have is
            missing.
        warnings: events of type Warning, the oldest first.
        unreadable: messages about the kinds and the logs that tfgen could not read. Each message contains the reason.
        workloads: Kueue's Workloads of the runs.
        pending: the names of all pending Workloads of a queue, in the order of the queue, by the name of the queue. A
            queue that the account may not read is missing.
        logs: last lines of the logs that tfgen read, by name of the pod.
        nodes: nodes that have pods of the runs and may be lost, by name.
    """

    pods: tuple[Object, ...] = ()
    objects: Mapping[Identity, Object] = EMPTY
    warnings: tuple[Object, ...] = ()
    unreadable: tuple[str, ...] = ()
    logs: Mapping[str, str] = EMPTY
    workloads: tuple[Object, ...] = ()
    pending: Mapping[str, tuple[str, ...]] = EMPTY
    nodes: Mapping[str, Object] = EMPTY

    def find(self, item: Identity | None) -> Object | None:
        """Return the object with an identity, such as the finisher of a run; None for a missing object."""
        return self.objects.get(item) if item else None

    def pods_with(self, labels: Mapping[str, str]) -> tuple[Object, ...]:
        """Return the pods that have the given labels."""
        return tuple(pod for pod in self.pods if labels.items() <= pod["metadata"].get("labels", {}).items())

    def pods_of(self, run: DeclaredRun) -> tuple[Object, ...]:
        """Return the pods of a run, including the pods of the finisher."""
        return self.pods_with({keys.JOB: run.full_name, keys.RUN: run.run})

    def finisher_pod(self, run: DeclaredRun) -> Object | None:
        """Return the newest pod of a run's finisher; None without such a pod."""
        pods = [pod for pod in self.pods_of(run) if pod["metadata"]["labels"].get(keys.ROLE) == FINISHER]
        return max(pods, key=creation_time, default=None)

    def log_of_finisher(self, run: DeclaredRun) -> str:
        """Return the last lines of the log of a run's finisher; empty if tfgen did not read the log."""
        pod = self.finisher_pod(run)
        return self.logs.get(pod["metadata"]["name"], "") if pod else ""

    def warning_of(self, item: Object | None) -> StatusReason | None:
        """Return the last event of type Warning about an object; None without such an event, or for a missing object.

        An event about an earlier step of the start of a pod is left out: for example, FailedScheduling does not apply
        to a pod that has a node.
        """
        if item is None:
            return None
        # https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-conditions
        steps = [condition(item, kind) for kind in ("PodScheduled", "PodReadyToStartContainers", "Initialized")]
        times = [step.get("lastTransitionTime") or "" for step in steps if step.get("status") == "True"]
        uid, since = item["metadata"]["uid"], max(times, default="")
        events = [event for event in self.warnings if event["involvedObject"].get("uid") == uid]
        return next((event_reason(event) for event in reversed(events) if event_time(event) >= since), None)


def condition(item: Object, kind: str) -> Mapping[str, Any]:
    """Return the condition of the given type, such as `Ready`, in an object's status; empty without the condition."""
    conditions: Sequence[Mapping[str, Any]] = (item.get("status") or {}).get("conditions") or ()
    return next((entry for entry in conditions if entry["type"] == kind), EMPTY)


def event_reason(event: Object) -> StatusReason:
    """Return the reason and the message of an event."""
    return StatusReason(event.get("reason") or "Warning", event.get("message") or "")


def event_time(event: Object) -> str:
    """Return the time at which an event occurred last. Each version of the event API uses a different field."""
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return str(next(filter(None, times), "") or event["metadata"]["creationTimestamp"])


Result: TypeAlias = Literal["Succeeded", "Failed", "NotStarted"]

_BY_CONDITION: Final[Mapping[str, Result]] = {
    "Complete": "Succeeded",  # a Job
    "Completed": "Succeeded",  # a JobSet
    "Succeeded": "Succeeded",  # a TFJob
    "Failed": "Failed",
}
_BY_PHASE: Final[Mapping[str, Result]] = {
    "Succeeded": "Succeeded",  # a Pod
    "Completed": "Succeeded",  # a Volcano Job, as are the phases that follow
    "Failed": "Failed",
    "Aborted": "Failed",
    "Terminated": "Failed",
}


class End(Record):
    """The end of a run, read from the status of an object in the cluster.

    Attributes:
        result: Succeeded, Failed, or NotStarted for a run that missed its start deadline.
        at: time at which the run ended, in Kubernetes' format; empty if the object has no such time.
        message: message in the object's status.
    """

    result: Result
    at: str
    message: str


def end_of(item: Object | None) -> End | None:
    """Return the end of a run from the status of the object that decides when the run ends; None before the end.

    The object is a Job, a Pod, a TFJob or a similar object; None for a missing object.
    """
    status = (item or {}).get("status") or {}
    for entry in status.get("conditions") or ():
        if entry.get("status") == "True" and entry["type"] in _BY_CONDITION:
            text = entry.get("message") or entry.get("reason", "")
            return End(_BY_CONDITION[entry["type"]], entry.get("lastTransitionTime", ""), text)
    state = status.get("state", {})
    phase: str = status.get("phase") or (state.get("phase") if isinstance(state, Mapping) else "") or ""
    if phase not in _BY_PHASE:
        return None
    return End(_BY_PHASE[phase], status.get("lastTransitionTime", ""), status.get("message", ""))


def is_suspended(item: Object | None) -> bool:
    """Test whether an object exists and is suspended, by the author of the job, by a queue or by the finisher."""
    path = suspend_path(item["apiVersion"], item["kind"]) if item else ()
    return bool(path) and data_path.at(item, path) is True


def suspend_path(api_version: str, kind: str) -> tuple[str, ...]:
    """Return the path of the field that suspends objects of a kind; empty for a kind without such a field."""
    resource = RESOURCES.get((api_version.rpartition("/")[0], kind))
    if resource:
        return tuple(resource.suspend.split("/")[1:])
    return ("spec", "suspend") if (api_version, kind) == _JOB else ()


class Deletion:
    """The answers of the server about the objects of a run."""

    def __init__(self) -> None:
        self._was_present = self._had_deciding_object = False
        self._misses = 0

    def is_deleted(self, *, has_deciding_object: bool, has_tasks: bool) -> bool:
        """Store an answer, and return whether the run was deleted.

        A run that the command has never seen is not deleted, because the objects may not exist yet. The deciding object
        counts as deleted only after two answers without the object, because a tool may replace the object by a new one.

        Args:
            has_deciding_object: whether the cluster has the object that decides when the run ends.
            has_tasks: whether the cluster has a pod of a task.
        """
        is_present = has_deciding_object or has_tasks
        self._misses = 0 if has_deciding_object else self._misses + 1
        is_deleted = (self._was_present and not is_present) or (self._had_deciding_object and self._misses > 1)
        self._was_present |= is_present
        self._had_deciding_object |= has_deciding_object
        return is_deleted


class RunObjects(Record):
    """A run of a job, and the objects of the run.

    For a retired environment, the objects are those that the job has while the environment is enabled.
    """

    run: DeclaredRun
    objects: tuple[Object, ...]


def declared_runs(documents: Iterable[Document], environment: str | None, *, in_all: bool = False) -> list[RunObjects]:
    """Return the run of each job in an environment, or in all environments.

    Args:
        documents: the valid jobs.
        environment: the environment of the runs; None for the job without an environment.
        in_all: whether to return the runs of all environments. The option has an effect only if `environment` is None.
            A job without environments has a single run.

    Raises:
        UsageError: a job does not have the environment.
    """
    runs = []
    selection = () if environment is None else (environment,)
    for document in documents:
        if environment is not None:
            check_environment(document, environment)
        built = build(document.data, None if in_all and environment is None else selection)
        places = {place.name: place for place in built.job.environments}
        names: Sequence[str | None] = list(built.environments) or [None]
        for name in names:
            if name is None or places[name].enabled:
                runs.append(_run_objects(document.data, built, name))
            else:
                data: Mapping[str, Any] = data_path.with_value(
                    document.data, ("spec", "environments", name, "enabled"), True
                )
                item = _run_objects(data, build(data, (name,)), name)
                live_runs = _live_runs(places[name], built.job.environments)
                runs.append(item.replaced(run=item.run.replaced(is_enabled=False, live_runs=live_runs)))
    return runs


def find_run(document: Document, environment: str | None, *, may_be_retired: bool = False) -> RunObjects:
    """Return the run of a job in an environment, with its objects.

    Raises:
        UsageError: the job does not have the environment.
        TfgenError: the job is retired in the environment, and `may_be_retired` is false.
    """
    (item,) = declared_runs([document], environment)
    if not (item.run.is_enabled or may_be_retired):
        raise TfgenError(f"{item.run.title}: the job is retired in the environment (enabled: false)")
    return item


def _run_objects(data: Mapping[str, Any], built: BuiltJob, environment: str | None) -> RunObjects:
    objects = built.base if environment is None else built.environments[environment]
    return RunObjects(declared_run(built, task_objects(data, environment), environment), tuple(objects.values()))


def _live_runs(retired: Environment, environments: Iterable[Environment]) -> Mapping[str, str]:
    """Return the run names of the enabled environments with the cluster and namespace of `retired`, by environment."""
    place = retired.cluster, retired.namespace
    return {
        item.name: item.values.get("run", "")
        for item in environments
        if item.enabled and (item.cluster, item.namespace) == place
    }


def check_place(run: DeclaredRun, command: str) -> None:
    """Raise TfgenError if the objects of a retired environment now belong to an enabled environment.

    Two environments with the same cluster, namespace and run name have objects of the same names. For example, a team
    retires `dev` and uses the namespace for `prod`. Then `tfgen delete --env dev` would delete the objects of `prod`.

    Args:
        run: the run that the command changes.
        command: the name of the command, for the message.
    """
    names = [name for name, run_name in run.live_runs.items() if run_name == run.run]
    if names:
        raise TfgenError(
            f"{run.title}: the job is retired in the environment, and the objects in the namespace belong to the "
            f"environment {either(names, 'and')}; for these objects: "
            f"{command_line(command, 'JOB', '--env', names[0])}; for a different cluster or "
            "namespace, add --context or --namespace"
        )


# -- the end of a run that missed its start deadline -------------------------------------------------------------------
#
# The finisher has released all tasks of such a run, and deletes the pods. tfgen reads the reason from the log of the
# finisher and from the events of the pods, which Kubernetes stores for an hour.


_DEADLINE: Final = re.compile(r"--start-deadline=(\d+)")
_MISSING: Final = re.compile(r"has not started within \d+ s, for want of (.*)")
_LACKING: Final = re.compile(r"Insufficient ([\w./-]*\w)")


def end_of_run(run: DeclaredRun, snapshot: Snapshot) -> End | None:
    """Return the end of a run; None while the run continues. A run that missed its start deadline has ended as well."""
    return end_of(snapshot.find(run.deciding_object)) or missed_start(run, snapshot)


def missed_start(run: DeclaredRun, snapshot: Snapshot) -> End | None:
    """Return the end of a run that missed its start deadline; None for any other run."""
    lead, finisher = snapshot.find(run.deciding_object), snapshot.find(run.finisher)
    if lead is None or not is_suspended(lead) or end_of(lead):
        return None
    containers = data_path.at(finisher, ("spec", "template", "spec", "containers")) or ()
    arguments = [argument for container in containers for argument in container.get("args") or ()]
    seconds = next((match[1] for match in map(_DEADLINE.fullmatch, arguments) if match), "")
    has_started = STARTED in (lead["metadata"].get("annotations") or {})
    end = end_of(finisher)
    if not seconds or has_started or end is None or end.result != "Succeeded" or end.at < creation_time(lead):
        return None
    reasons = "; ".join(_reasons(run, snapshot))
    return End("NotStarted", end.at, f"not started within {seconds} s{': ' * bool(reasons)}{reasons}")


def _reasons(run: DeclaredRun, snapshot: Snapshot) -> Iterator[str]:
    texts: list[str] = _MISSING.findall(snapshot.log_of_finisher(run))
    things = {thing for text in texts for thing in text.strip().split(", ")}
    missing = {thing for thing in things if thing.startswith(("statefulsets/", "jobs/"))}
    for role, controller in run.controllers.items():
        if missing and f"{controller[1].lower()}s/{controller[2]}" not in missing:
            continue
        item = snapshot.find(controller)
        warnings = _pod_warnings(snapshot, controller[2], creation_time(item) if item else "")
        warning = warnings[-1] if warnings else snapshot.warning_of(item)
        lacking = _lacking_resources(item, warnings)
        if lacking:
            yield f"{role} lacks {either(lacking, 'and')}"
        elif warning:
            yield f"{role}: {warning.word}: {warning.message}"
        elif missing:
            yield f"some pods of {role} were not ready"


def _pod_warnings(snapshot: Snapshot, controller: str, since: str) -> list[StatusReason]:
    """Return the last warning of each pod of a controller.

    `controller` is the name of the controller. Events before the time `since` are left out. Warnings about the deletion
    of a pod are also left out, because they do not have the reason why the pod waited.
    """
    name = re.compile(rf"{re.escape(controller)}-\d+(-\w+)?")
    warnings: dict[str, StatusReason] = {}
    for event in snapshot.warnings:
        subject, warning = event["involvedObject"], event_reason(event)
        # The text of the scheduler's event for the deletion of a waiting pod (pkg/scheduler/schedule_one.go).
        is_deletion = warning.message.startswith("skip schedule deleting pod")
        is_new = creation_time(event) >= since and not is_deletion
        if is_new and subject.get("kind") == "Pod" and name.fullmatch(subject.get("name", "")):
            warnings[subject["name"]] = warning
    return [*warnings.values()]


def _lacking_resources(controller: Object | None, warnings: Sequence[StatusReason]) -> list[str]:
    """Return the resources that the nodes lack for the pods of a controller, as texts such as "8 nvidia.com/gpu".

    Args:
        controller: object that creates the pods; None if the cluster does not have the object.
        warnings: last warning of each pod.
    """
    messages = [warning.message for warning in warnings if warning.word == "FailedScheduling"]
    lacking = [resource for message in messages for resource in dict.fromkeys(_LACKING.findall(message))]
    requests = pod_requests(data_path.at(controller, ("spec", "template", "spec")) or {})
    amounts = {name: requests[name] * lacking.count(name) for name in lacking if name in requests}
    return [f"{amount(name, total)} {name}" for name, total in amounts.items()]
