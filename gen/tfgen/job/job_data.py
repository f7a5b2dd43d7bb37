"""The data of a job as the schema accepts it, typed down to where it is Kubernetes' own or a chart's value.

A test holds the keys and the kinds of values here against the schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from tfgen.job.choices import Output, Profile, RoleName, Scheduler, Strategy
    from tfgen.schema.workload_kinds.facts import CompletionBy

Foreign: TypeAlias = Mapping[str, Any]
"""A mapping in Kubernetes' own words, or one of which only values come."""


class Named(TypedDict):
    """What has a name."""

    name: str


class Metadata(Named, total=False):
    """What a job is called, and where it runs."""

    namespace: str


class PodData(TypedDict, total=False):
    """What the job says of all its pods, a role of its own, and an environment of either."""

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
    """A role; a chief and an evaluator have neither `replicas` nor `runs`."""

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
    """Which objects a patch changes."""

    name: str


class EmptyPatch(TypedDict):
    """A patch that changes nothing."""

    target: PatchTarget


class PatchData(EmptyPatch, total=False):
    """A change of objects that tfgen makes."""

    merge: Foreign
    json: Sequence[Foreign]


class CompletionData(TypedDict, total=False):
    """What ends the job, and what becomes of its tasks then."""

    by: CompletionBy | Literal[""]
    release: Literal["ScaleToZero", "Keep"]
    onFailure: Literal["Release", "Keep"]
    evaluatorGrace: int
    image: str
    notify: Foreign


class GangData(TypedDict, total=False):
    """The tasks that start together. The job itself always names the scheduler, an environment never."""

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
    """The Pod Security Standard, and whom the programs run as."""

    profile: Profile
    runAsUser: int
    runAsGroup: int
    fsGroup: int
    readOnlyRootFilesystem: bool


class Repository(TypedDict):
    """A git repository by its address."""

    repository: str


class GitCodeData(Repository, total=False):
    """Code that comes from a git repository."""

    revision: str
    folder: str
    secretName: str
    image: str
    resources: Foreign


class FileCodeData(TypedDict):
    """Code that stands in the job."""

    files: Mapping[str, str]


class CodeData(TypedDict, total=False):
    """What is put into the image: from git, or from the job."""

    mountPath: str
    git: GitCodeData
    configMap: FileCodeData


class CloudData(TypedDict, total=False):
    """What a cloud has to be told."""

    eci: Foreign


class FormData(PodData, total=False):
    """What the job and each of its environments may say alike."""

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
    """An environment: what is different there."""

    namespace: str
    cluster: str
    enabled: bool
    patches: Mapping[str, PatchData | None]


class MaintainerData(Named, total=False):
    """Whom to ask about a chart."""

    email: str
    url: str


class ChartData(TypedDict, total=False):
    """What Chart.yaml says for the people who find the chart."""

    home: str
    sources: Sequence[str]
    keywords: Sequence[str]
    maintainers: Sequence[MaintainerData]
    icon: str


class Spec(FormData, total=False):
    """The job itself. It always has `roles`."""

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
    """A document that the schema accepts."""

    apiVersion: str
    kind: Literal["TrainingJob"]
    metadata: Metadata
    spec: Spec
