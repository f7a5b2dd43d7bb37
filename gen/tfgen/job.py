"""The job: what a checked ``job.yaml`` says, as frozen dataclasses.

    job = TrainingJob.from_spec("dist-mnist", None, spec)
    job.structure.roles      -> (Role("chief", ...), Role("ps", ...), Role("worker", ...))
    job.values["roles"]["worker"]["replicas"]  -> 4

The two halves never meet. The `Structure` decides which objects there are and what shape they have; the graph is
built from it alone. The values are what a chart's user or an environment may set; they only ever fill holes. So
two jobs that differ in their values alone have one graph, and a chart is right for values that its job never had.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

from tfgen import schema_file, tunables

RoleName: TypeAlias = Literal["chief", "ps", "worker", "evaluator"]
ROLE_NAMES: tuple[RoleName, ...] = get_args(RoleName)
Strategy: TypeAlias = Literal["ParameterServer", "MultiWorkerMirrored", "Single"]
CompletionBy: TypeAlias = Literal["Chief", "Worker0", "AllWorkers"]
ServingKind: TypeAlias = Literal["StatefulSet", "Job"]
Scheduler: TypeAlias = Literal["volcano", "kube-batch"]
Profile: TypeAlias = Literal["restricted", "baseline", "privileged"]
Containers: TypeAlias = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Role:
    """The part of a role that no environment changes.

    Attributes:
        serves: whether its tasks go on until the job is done; the others end by themselves.
        ports: more ports of the main container, as Kubernetes' ContainerPort.
        init_containers: as Kubernetes' Container; the job's come first.
        sidecars: containers beside the main one; the job's come first.
        pod_template: Kubernetes' PodTemplateSpec, merged over the job's.
    """

    name: RoleName
    serves: bool
    ports: tuple[Mapping[str, Any], ...]
    init_containers: Containers
    sidecars: Containers
    pod_template: Mapping[str, Any]


@dataclass(frozen=True)
class GitCode:
    """Code that every pod fetches from a git repository.

    Attributes:
        folder: the folder of the repository that is mounted; all of it where empty.
        secret: the name of the Secret to read the repository with, or empty.
    """

    repository: str
    folder: str
    secret: str

    @property
    def is_ssh(self) -> bool:
        """Whether git asks for it by ssh (`git@host:path` or `ssh://`)."""
        return not self.repository.startswith(("http://", "https://"))


@dataclass(frozen=True)
class FileCode:
    """Code that stands in the job itself: the text of each file by its name."""

    files: Mapping[str, str]


Code: TypeAlias = GitCode | FileCode


@dataclass(frozen=True)
class Structure:
    """What decides which objects a job has: the same in every environment and for every user of its chart.

    Attributes:
        port: the TCP port of each TensorFlow server.
        roles: in the order chief, ps, worker, evaluator; those that the job has.
        completion: whose end ends the job.
        releases: whether the tasks that are left are freed then.
        serving_kind: the kind that runs the roles that serve.
        legacy_flags: whether each task is told its place by TensorFlow 1's flags too.
        gang: the gang scheduler, or none.
        tensorboard_port: the TCP port of TensorBoard, or none where the job has none.
        disruption_budget: whether the tasks may be kept from being evicted.
        code: what is put into the image, or nothing.
        pod_template: Kubernetes' PodTemplateSpec for the pods of every role.
    """

    name: str
    strategy: Strategy
    port: int
    roles: tuple[Role, ...]
    completion: CompletionBy
    releases: bool
    serving_kind: ServingKind
    legacy_flags: bool
    gang: Scheduler | None
    tensorboard_port: int | None
    disruption_budget: bool
    profile: Profile
    code: Code | None
    pod_template: Mapping[str, Any]

    def role(self, name: RoleName) -> Role | None:
        """The role of that name, if the job has it."""
        return next((role for role in self.roles if role.name == name), None)

    def is_stateful(self, role: Role) -> bool:
        """Whether the role is a StatefulSet; else it is a Job."""
        return role.serves and self.serving_kind == "StatefulSet"

    @property
    def ends(self) -> RoleName:
        """The role whose end ends the job."""
        return "chief" if self.completion == "Chief" else "worker"

    @property
    def is_distributed(self) -> bool:
        """Whether the tasks form a cluster, of which TF_CONFIG tells them."""
        return self.strategy != "Single"


@dataclass(frozen=True)
class Environment:
    """One environment.

    Attributes:
        overrides: what job.yaml says, as it stands: the content of ``values-NAME.yaml``.
        values: the complete values, as Helm would merge them.
    """

    name: str
    overrides: Mapping[str, Any]
    values: Mapping[str, Any]


@dataclass(frozen=True)
class TrainingJob:
    """A job: its structure, its complete values, and its environments."""

    structure: Structure
    namespace: str | None
    values: Mapping[str, Any]
    environments: tuple[Environment, ...]

    @property
    def name(self) -> str:
        """The job's name, which its chart and, by default, its release have too."""
        return self.structure.name

    @classmethod
    def from_document(cls, data: Mapping[str, Any]) -> TrainingJob:
        """The job of a document that the schema accepts."""
        metadata = data["metadata"]
        # In the schema's order, whatever the file's: equal jobs are to be printed alike.
        spec = tunables.in_order(data["spec"], schema_file.load()["properties"]["spec"])
        environments = spec.get("environments") or {}
        return cls(
            structure=_structure(metadata["name"], spec),
            namespace=metadata.get("namespace"),
            values=tunables.values(spec),
            environments=tuple(
                Environment(name, overrides or {}, tunables.environment_values(spec, name))
                for name, overrides in environments.items()
            ),
        )


def _structure(name: str, spec: Mapping[str, Any]) -> Structure:
    init_containers, sidecars = spec.get("initContainers", ()), spec.get("sidecars", ())
    roles, completion, strategy = spec["roles"], spec.get("completion", {}), spec.get("strategy", "ParameterServer")
    by: CompletionBy = completion.get("by") or ("Worker0" if strategy == "MultiWorkerMirrored" else "Chief")
    return Structure(
        name=name,
        strategy=strategy,
        port=spec.get("port", 2222),
        roles=tuple(
            Role(
                name=role,
                serves=role == "ps" or (role == "worker" and _workers_serve(by, roles[role])),
                ports=tuple(roles[role].get("ports", ())),
                init_containers=(*init_containers, *roles[role].get("initContainers", ())),
                sidecars=(*sidecars, *roles[role].get("sidecars", ())),
                pod_template=roles[role].get("podTemplate", {}),
            )
            for role in ROLE_NAMES
            if role in roles
        ),
        completion=by,
        releases=completion.get("release", "ScaleToZero") == "ScaleToZero",
        serving_kind=spec.get("workload", {}).get("kind", "StatefulSet"),
        legacy_flags=spec.get("legacyFlags", False),
        gang=cast("Scheduler | None", spec["gang"]["scheduler"]) if "gang" in spec else None,
        tensorboard_port=spec["tensorboard"].get("port", 6006) if "tensorboard" in spec else None,
        disruption_budget="podDisruptionBudget" in spec,
        profile=spec.get("security", {}).get("profile", "restricted"),
        code=_code(spec["code"]) if "code" in spec else None,
        pod_template=spec.get("podTemplate", {}),
    )


def _code(code: Mapping[str, Any]) -> Code:
    git = code.get("git")
    if git is None:
        return FileCode(code["configMap"]["files"])
    return GitCode(git["repository"], git.get("folder", ""), git.get("secretName", ""))


def _workers_serve(by: CompletionBy, worker: Mapping[str, Any]) -> bool:
    """A worker whose end is waited for must end; else it serves unless it says otherwise."""
    return by == "Chief" and worker.get("runs", "Serving") == "Serving"
