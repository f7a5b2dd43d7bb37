"""Types of the data in a valid job.yaml. Fields that Kubernetes defines have the type `Foreign`.

A test compares the keys and the types of this module with the JSON schema of job.yaml.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from tfgen.job.choices import Output, Profile, RoleName, Scheduler, Strategy
    from tfgen.schema.workload_kinds.facts import CompletionBy

Foreign: TypeAlias = Mapping[str, Any]
"""A mapping with fields that Kubernetes defines, or a mapping whose fields are all chart values."""


class Named(TypedDict):
    """A mapping with the key `name`, as a base class."""

    name: str


class Metadata(Named, total=False):
    """The `metadata` of a job: the name, and optionally the namespace."""

    namespace: str


class PodData(TypedDict, total=False):
    """Pod settings, which a job, a role or an environment may have."""

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
    """A role, for example `worker`. Only ps and worker have `replicas`, and only worker has `runs`."""

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
    """The target of a patch that changes all objects of a kind."""

    kind: str


class PatchTarget(KindTarget, total=False):
    """The target of a patch that changes all objects of a kind, or only the object with the given name."""

    name: str


class PatchBase(TypedDict):
    """The key that each patch must have: `target`. `PatchData` adds the optional keys with the changes."""

    target: PatchTarget


class PatchData(PatchBase, total=False):
    """A patch of generated objects, as a merge patch or as JSON patch operations."""

    merge: Foreign
    json: Sequence[Foreign]


class CompletionData(TypedDict, total=False):
    """The settings for the end of a job, such as the role that completes the job and the release of other tasks."""

    by: CompletionBy | Literal[""]
    release: Literal["ScaleToZero", "Keep"]
    onFailure: Literal["Release", "Keep"]
    evaluatorGrace: int
    image: str
    notify: Foreign


class GangData(TypedDict, total=False):
    """The gang scheduling settings. A job always sets `scheduler`; an environment never sets `scheduler`."""

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
    """The TensorBoard settings of a job."""

    enabled: bool
    logDir: str
    image: str
    port: int
    resources: Foreign
    keep: bool
    readers: Sequence[Foreign]


class SecurityData(TypedDict, total=False):
    """The Pod Security Standard of a job, and the user and the groups of the containers."""

    profile: Profile
    runAsUser: int
    runAsGroup: int
    fsGroup: int
    readOnlyRootFilesystem: bool


class Repository(TypedDict):
    """A mapping with the address of a git repository."""

    repository: str


class GitCodeData(Repository, total=False):
    """Training code that the pods fetch from a git repository."""

    revision: str
    folder: str
    secretName: str
    image: str
    resources: Foreign


class FileCodeData(TypedDict):
    """Training code that the job file itself contains."""

    files: Mapping[str, str]


class CodeData(TypedDict, total=False):
    """Training code that is mounted into the containers. The code is in a git repository or in the job file."""

    mountPath: str
    git: GitCodeData
    configMap: FileCodeData


class CloudData(TypedDict, total=False):
    """Settings of cloud providers."""

    eci: Foreign


class VariantData(PodData, total=False):
    """Settings that a job may have, and that an environment may override."""

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


class EnvironmentData(VariantData, total=False):
    """An environment of a job: the settings that differ from the job."""

    namespace: str
    cluster: str
    enabled: bool
    patches: Mapping[str, PatchData | None]


class MaintainerData(Named, total=False):
    """A maintainer in Chart.yaml."""

    email: str
    url: str


class ChartData(TypedDict, total=False):
    """Metadata of the chart for Chart.yaml."""

    home: str
    sources: Sequence[str]
    keywords: Sequence[str]
    maintainers: Sequence[MaintainerData]
    icon: str


class Spec(VariantData, total=False):
    """The `spec` of a job. The field `roles` is always set."""

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
    """A valid document of kind TrainingJob."""

    apiVersion: str
    kind: Literal["TrainingJob"]
    metadata: Metadata
    spec: Spec
