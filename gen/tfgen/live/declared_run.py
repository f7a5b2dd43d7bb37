"""A run as declared in job.yaml: the names of the run's objects, and the number of tasks of each role."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tfgen import data_path
from tfgen.graph.built import BuiltJob, TaskObjects, variant_objects
from tfgen.graph.objects import finisher, tensorboard
from tfgen.graph.task_pods import pods
from tfgen.job.training_job import Environment, Structure, TrainingJob
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, group, identity
from tfgen.record import EMPTY, Record
from tfgen.schema.workload_kinds import RESOURCES
from tfgen.targets.gitops.argocd import API_VERSION
from tfgen.targets.gitops.delivery import DeployedVariant
from tfgen.targets.gitops.flux import KUSTOMIZATION, RELEASE

Identity = tuple[str, str, str]
"""API version, kind and name of an object."""

APPLICATION: Final = (API_VERSION, "Application")
"""The API version and the kind of an Application of Argo CD."""
_GANG: Final = "PodGroup"
_CLAIM: Final = "PersistentVolumeClaim"
_JOB: Final = ("batch/v1", "Job")
_CONTROLLERS: Final = (("apps/v1", "StatefulSet"), _JOB)
_POD_ROLE: Final = ("spec", "template", "metadata", "labels", keys.ROLE)
_UNUSED_NAMESPACE: Final = ""


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

    @property
    def title(self) -> str:
        """Return the title of the run, which consists of the full name, the environment and the run name."""
        parts = [self.full_name, *([self.environment] if self.environment else []), *([self.run] if self.run else [])]
        return "/".join(parts)

    @property
    def identities(self) -> tuple[Identity, ...]:
        """Return the API version, kind and name of each object whose state tfgen reads to find the state of the run."""
        optional = [self.deciding_object, self.finisher, self.gang[0] if self.gang else None]
        return tuple(dict.fromkeys([*self.controllers.values(), *filter(None, optional), *self.claims]))

    def with_full_name(self, full_name: str) -> DeclaredRun:
        """Return a copy of the run whose object names begin with `full_name`, the name of a Helm release."""
        prefix = re.compile(rf"(elasticdl-)?{re.escape(self.full_name)}(?=-|$)")

        def renamed(item: Identity) -> Identity:
            return (*item[:2], prefix.sub(lambda match: f"{match[1] or ''}{full_name}", item[2], count=1))

        return self.replaced(
            full_name=full_name,
            controllers={role: renamed(item) for role, item in self.controllers.items()},
            deciding_object=renamed(self.deciding_object) if self.deciding_object else None,
            finisher=renamed(self.finisher) if self.finisher else None,
            gang=(renamed(self.gang[0]), self.gang[1]) if self.gang else None,
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
        if identity(item)[:2] in _CONTROLLERS and keys.COMPONENT in _labels(item)
    }
    return DeclaredRun(
        job=job.name,
        full_name=job.name,
        environment=environment,
        run=values.get("run", ""),
        namespace=job.namespace if place is None else place.namespace,
        cluster=None if place is None else place.cluster,
        is_enabled=place is None or place.enabled,
        roles=Counter(pod.role for pod in pods(tasks.objects, _UNUSED_NAMESPACE)),
        controllers=controllers,
        deciding_object=_deciding_object(objects, structure),
        finisher=_first_identity(item for item in objects if is_finisher(item)),
        gang=next(((identity(item), _size(item)) for item in objects if item["kind"] == _GANG), None),
        claims=tuple(identity(item) for item in objects if item["kind"] == _CLAIM),
        deliveries=tuple(_deliveries(job, place)) if place and place.enabled else (),
        tensorboard_port=structure.tensorboard_port if any(map(_shows_logs, objects)) else None,
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
    return _first_identity((*resources, *task_pods, *jobs))


def is_finisher(item: Object) -> bool:
    """Test whether an object is the Job of a finisher."""
    return identity(item)[:2] == _JOB and bool(data_path.at(item, _POD_ROLE) == finisher.ROLE)


def _shows_logs(item: Object) -> bool:
    return bool(item["kind"] == "Deployment" and _labels(item).get(keys.COMPONENT) == tensorboard.ROLE)


def _first_identity(objects: Iterable[Object]) -> Identity | None:
    return next(map(identity, objects), None)


def _labels(item: Object) -> Mapping[str, str]:
    labels: Mapping[str, str] = item["metadata"].get("labels", {})
    return labels


def _size(group_object: Object) -> int:
    """Return the number of pods that start together. `group_object` is a PodGroup of Volcano or of Kubernetes."""
    spec = group_object["spec"]
    size: int = spec["minMember"] if "minMember" in spec else spec["schedulingPolicy"]["gang"]["minCount"]
    return size
