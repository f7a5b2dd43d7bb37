"""Types of the data of a valid job, down to the fields of Kubernetes and the values of the chart.

A test compares the keys and the types here with the schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from tfgen.job.choices import Output, Profile, RoleName, Scheduler, Strategy
    from tfgen.schema.workload_kinds.facts import CompletionBy

Foreign: TypeAlias = Mapping[str, Any]
"""A mapping with fields of Kubernetes, or with values only."""


class Named(TypedDict):
    """Data with a name."""

    name: str


class Metadata(Named, total=False):
    """The name and the namespace of a job."""

    namespace: str


class PodData(TypedDict, total=False):
    """Settings of pods: of all pods of a job, of a role, or of an environment."""

    image: str
    imagePullPolicy: str
    command: Sequence[str]
    args: Sequence[str]
    workingDir: str
    env: Mapping[str, str | Foreign]
    envFrom: Sequence[Foreign]
    nodeSelector: Mapping[str, str]
    tolerations: Sequence[Foreign]
    affinity: Foreign
    placement: str
    topologySpreadConstraints: Sequence[Foreign]
    spot: bool
    priorityClassName: str
    serviceAccountName: str
    runtimeClassName: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    shm: str | float


class RoleData(PodData, total=False):
    """A role. A chief and an evaluator have neither `replicas` nor `runs`."""

    replicas: int
    runs: Literal["Serving", "ToCompletion"]
    resources: Foreign
    nodeName: str
    terminationGracePeriodSeconds: int
    restartPolicy: str
    ports: Sequence[Foreign]
    initContainers: Sequence[Foreign]
    sidecars: Sequence[Foreign]
    podTemplate: Foreign


class KindTarget(TypedDict):
    """All objects of a kind."""

    kind: str


class PatchTarget(KindTarget, total=False):
    """The objects that a patch changes."""

    name: str


class EmptyPatch(TypedDict):
    """A patch that changes nothing."""

    target: PatchTarget


class PatchData(EmptyPatch, total=False):
    """A change of objects that tfgen generates."""

    merge: Foreign
    json: Sequence[Foreign]


class CompletionData(TypedDict, total=False):
    """The role whose end completes the job, and the release of the remaining tasks."""

    by: CompletionBy | Literal[""]
    release: Literal["ScaleToZero", "Keep"]
    onFailure: Literal["Release", "Keep"]
    evaluatorGrace: int
    image: str
    notify: Foreign


class GangData(TypedDict, total=False):
    """The gang settings. A job always sets the scheduler, an environment never does."""

    scheduler: Scheduler
    enabled: bool
    apiVersion: str
    schedulerName: str
    queue: str
    priorityClassName: str
    minAvailable: int
    minResources: Foreign
    scheduleTimeoutSeconds: int
    requiredTopology: str
    preferredTopology: str


class TensorBoardData(TypedDict, total=False):
    """TensorBoard."""

    enabled: bool
    logDir: str
    image: str
    port: int
    resources: Foreign
    keep: bool
    readers: Sequence[Foreign]


class SecurityData(TypedDict, total=False):
    """The Pod Security Standard, and the user of the programs."""

    profile: Profile
    runAsUser: int
    runAsGroup: int
    fsGroup: int
    readOnlyRootFilesystem: bool


class Repository(TypedDict):
    """A git repository by its address."""

    repository: str


class GitCodeData(Repository, total=False):
    """Code from a git repository."""

    revision: str
    folder: str
    secretName: str
    image: str
    resources: Foreign


class FileCodeData(TypedDict):
    """Code in the job file."""

    files: Mapping[str, str]


class CodeData(TypedDict, total=False):
    """Code that is mounted into the containers: from git, or from the job file."""

    mountPath: str
    git: GitCodeData
    configMap: FileCodeData


class CloudData(TypedDict, total=False):
    """Settings of cloud providers."""

    eci: Foreign


class FormData(PodData, total=False):
    """Settings that the job and each of its environments may have."""

    run: str
    resumeFrom: str
    imagePullSecrets: Sequence[str]
    priorityClasses: Mapping[str, Foreign | None]
    objects: Mapping[str, Foreign | None]
    storage: Mapping[str, Foreign]
    code: CodeData
    serviceAccount: Foreign
    retries: int
    restart: Foreign
    completion: CompletionData
    helpers: Foreign
    deadline: int
    lockWait: int
    startDeadline: int
    workload: Foreign
    roles: Mapping[RoleName, RoleData]
    gang: GangData
    tensorboard: TensorBoardData
    podDisruptionBudget: Foreign
    cloud: CloudData
    network: Foreign
    security: SecurityData


class EnvironmentData(FormData, total=False):
    """An environment: the differences from the job."""

    namespace: str
    cluster: str
    enabled: bool
    patches: Mapping[str, PatchData | None]


class MaintainerData(Named, total=False):
    """The contact for a chart."""

    email: str
    url: str


class ChartData(TypedDict, total=False):
    """The metadata in Chart.yaml."""

    home: str
    sources: Sequence[str]
    keywords: Sequence[str]
    maintainers: Sequence[MaintainerData]
    icon: str


class Spec(FormData, total=False):
    """The spec of a job. It always has `roles`."""

    strategy: Strategy
    port: int
    legacyFlags: bool
    legacyVariables: bool
    initContainers: Sequence[Foreign]
    sidecars: Sequence[Foreign]
    podTemplate: Foreign
    patches: Mapping[str, PatchData]
    outputs: Sequence[Output]
    chart: ChartData
    environments: Mapping[str, EnvironmentData]
    gitops: Foreign


class JobData(TypedDict):
    """A valid document."""

    apiVersion: str
    kind: Literal["TrainingJob"]
    metadata: Metadata
    spec: Spec
