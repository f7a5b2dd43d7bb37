"""The content of a valid ``job.yaml`` as frozen records.

    job = TrainingJob.from_document(document.data)
    job.structure.roles                        # (Role("chief", ...), Role("ps", ...), Role("worker", ...))
    job.values["roles"]["worker"]["replicas"]  # 4

A job has two independent parts: the structure and the values. The `Structure` decides which objects exist, and which
fields the objects have. The values are the settings that a user of the chart, or an environment, may change, for
example the number of workers. So two jobs that differ only in their values have the same objects with the same fields,
and the chart is valid for all values.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, get_args

from tfgen import data_path
from tfgen.kubernetes.pods import Profile
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema import kinds, tunables
from tfgen.schema.kinds import EQUAL_WORKERS, CompletionBy, WorkloadKind, ended_by, releases, serves

RoleName: TypeAlias = Literal["chief", "ps", "worker", "evaluator"]
ROLE_NAMES: tuple[RoleName, ...] = get_args(RoleName)
Strategy: TypeAlias = Literal["ParameterServer", "MultiWorkerMirrored", "KerasDistribution", "Single"]
Scheduler: TypeAlias = Literal["volcano", "kube-batch", "coscheduling", "kai", "koordinator", "kubernetes", "kueue"]
Output: TypeAlias = Literal["charts", "overlays"]
OUTPUTS: tuple[Output, ...] = get_args(Output)
"""The outputs of a job. Each output is the name of a folder that tfgen writes."""

Containers: TypeAlias = tuple[Mapping[str, Any], ...]


class Role(Record):
    """The settings of a role that are the same in every environment.

    Attributes:
        serves: whether the tasks run until the job is complete, as parameter servers do. If false, the tasks exit by
            themselves.
        ports: additional ports of the main container, each a ContainerPort of Kubernetes.
        init_containers: the init containers of the job, then those of the role. Each is a Container of Kubernetes.
        sidecars: the sidecar containers of the job, then those of the role.
        pod_template: a PodTemplateSpec of Kubernetes, merged over the pod template of the job.
        claims_devices: whether the tasks may claim GPUs of a device class.
    """

    name: RoleName
    serves: bool
    ports: tuple[Mapping[str, Any], ...]
    init_containers: Containers
    sidecars: Containers
    pod_template: Mapping[str, Any]
    claims_devices: bool


class GitCode(Record):
    """Training code that every pod fetches from a git repository.

    Attributes:
        folder: the folder of the repository to mount; empty for the whole repository.
        secret: the name of the Secret with the credentials of the repository, or empty.
    """

    repository: str
    folder: str
    secret: str

    @property
    def is_ssh(self) -> bool:
        """True if git connects by ssh."""
        return _is_ssh(self.repository)


class FileCode(Record):
    """Training code that the job file itself contains.

    Attributes:
        files: the text of each file, by file name.
    """

    files: Mapping[str, str]


Code: TypeAlias = GitCode | FileCode


class TFJobShape(Record):
    """The settings for a job whose workload kind is TFJob.

    Attributes:
        api_version: the API version of kubeflow.org.
        leader: the replica type of the chief in the TFJob: Chief or Master.
        operator_gangs: whether the operator creates the PodGroup of the gang.
        dynamic_workers: whether the number of workers may change during the run.
    """

    api_version: Literal["v1", "v1beta1"]
    leader: Literal["Chief", "Master"]
    operator_gangs: bool
    dynamic_workers: bool


class Eci(Record):
    """The settings of pods on Alibaba Cloud's Elastic Container Instance.

    Attributes:
        makes_cache: whether the job creates a cache of its container images.
    """

    makes_cache: bool


class Patch(Record):
    """A patch in job.yaml that changes generated objects.

    Attributes:
        name: the name of the patch in the job.
        kind: the kind of the objects.
        target: `target.name` of the patch: the file name of one object, without the extension, such as `worker`; empty
            for all objects of the kind.
        merge: the data to merge over each object.
        operations: the JSON patch operations (RFC 6902) for each object, if `merge` is empty.
    """

    name: str
    kind: str
    target: str
    merge: Mapping[str, Any]
    operations: tuple[Mapping[str, Any], ...]


class Structure(Record):
    """The settings of a job that decide which objects exist. These settings are the same in every environment.

    Attributes:
        port: the TCP port of each TensorFlow server.
        roles: the roles of the job, in the order chief, ps, worker, evaluator.
        completion: the tasks whose end completes the job: the chief, worker 0, or all workers.
        releases: whether the remaining tasks release their GPUs after the tasks in `completion` have ended.
        kind: the workload kind.
        tf_job: the settings for the workload kind TFJob; the defaults of the schema for any other workload kind.
        volcano_plugin: whether the TensorFlow plugin of Volcano sets TF_CONFIG in the tasks of a Volcano Job.
        ps_first: whether a JobSet creates the other roles only after the ps tasks are ready.
        in_place: whether a container restarts inside the same pod after an exit code of `restart.ignoreExitCodes`.
        legacy_flags: whether each task also gets the flags of TensorFlow 1, such as `--job_name` and `--task_index`.
        legacy_variables: whether each task also gets environment variables with the names of these flags.
        gang: the gang scheduler, or None.
        tensorboard_port: the TCP port of TensorBoard, or None for a job without TensorBoard.
        disruption_budget: whether the job has a PodDisruptionBudget.
        profile: the Pod Security Standard for the pods of the job.
        code: the code that is mounted into the containers, or None.
        eci: the settings of pods on Elastic Container Instances of Alibaba Cloud, or None.
        pod_template: a PodTemplateSpec of Kubernetes for the pods of every role.
        patches: the patches of the objects, in the order of their names.
        environment_patches: the patches of each environment that sets patches, by name of the environment. The patches
            of an environment include the patches of the job.
    """

    strategy: Strategy
    port: int
    roles: tuple[Role, ...]
    completion: CompletionBy
    releases: bool
    kind: WorkloadKind
    tf_job: TFJobShape
    volcano_plugin: bool
    ps_first: bool
    in_place: bool
    legacy_flags: bool
    legacy_variables: bool
    gang: Scheduler | None
    tensorboard_port: int | None
    disruption_budget: bool
    service_account: bool
    profile: Profile
    code: Code | None
    eci: Eci | None
    pod_template: Mapping[str, Any]
    patches: tuple[Patch, ...]
    environment_patches: Mapping[str, tuple[Patch, ...]]

    @cached_property
    def text(self) -> str:
        """The structure as text. The text serves for comparisons and as a cache key.

        The text keeps the order of the keys, so two structures that differ only in this order have different texts.
        """
        return repr(self)

    def __eq__(self, value: object) -> bool:
        return isinstance(value, Structure) and self.text == value.text

    def __hash__(self) -> int:
        return hash(self.text)

    def patches_in(self, environment: str | None) -> tuple[Patch, ...]:
        """Return the patches that apply in an environment, or to the job without an environment."""
        return self.environment_patches.get(environment or "", self.patches)

    def role(self, name: RoleName) -> Role | None:
        """Return the role with a name, or None if the job has no such role."""
        return next((role for role in self.roles if role.name == name), None)

    @property
    def ends(self) -> RoleName:
        """The role whose end completes the job."""
        return "chief" if self.completion == "Chief" else "worker"

    @property
    def is_distributed(self) -> bool:
        """True if the tasks form a TensorFlow cluster."""
        return self.strategy != "Single"

    @property
    def uses_keras_distribution(self) -> bool:
        """True if the variables of keras.distribution describe the cluster. TF_CONFIG describes all other clusters."""
        return self.strategy == "KerasDistribution"

    @property
    def claims_devices(self) -> bool:
        """True if the tasks of a role may claim GPUs of a device class."""
        return any(role.claims_devices for role in self.roles)

    @property
    def has_equal_workers(self) -> bool:
        """True for the strategies MultiWorkerMirrored and KerasDistribution, whose training needs every worker."""
        return self.strategy in EQUAL_WORKERS


MAX_STRUCTURES: Final = 64
"""Number of structures whose results a function caches. Most jobs of a team have one of a few structures.

Callers must not change a cached result."""


class GitOps(Record):
    """The settings for a GitOps tool, which applies the job from git to clusters.

    Attributes:
        repository: the address of the repository.
        branch: the branch that the clusters follow.
        path: the folder that contains charts/ and overlays/, from the root of the repository; empty for the root.
        is_chart: whether the tool applies the chart. If false, the tool applies the overlay.
        create_namespace: whether the tool creates the namespaces.
        argocd: the settings of Argo CD in job.yaml with the defaults of the schema, or None.
        flux: the settings of Flux in job.yaml with the defaults of the schema, or None.
    """

    repository: str
    branch: str
    path: str
    is_chart: bool
    create_namespace: bool
    argocd: Mapping[str, Any] | None
    flux: Mapping[str, Any] | None

    @property
    def is_ssh(self) -> bool:
        """True if git connects to the repository by ssh."""
        return _is_ssh(self.repository)


class Environment(Record):
    """An environment of a job.

    Attributes:
        namespace: the namespace of the environment; the namespace of the job if the environment sets no namespace;
            None if the job sets no namespace either.
        cluster: the name of the cluster; None for the cluster in which the GitOps tool runs.
        enabled: whether the job runs in the environment.
        overrides: the chart values that job.yaml sets for the environment: the content of ``values-NAME.yaml``.
        values: the complete chart values of the environment: values.yaml merged with the overrides.
    """

    name: str
    namespace: str | None
    cluster: str | None
    enabled: bool
    overrides: Mapping[str, Any]
    values: Mapping[str, Any]


class ChartPage(Record):
    """The metadata in Chart.yaml, such as the home page and the maintainers.

    Attributes:
        home: the address of the home page of the project, or empty.
        sources: the addresses of the source code.
        maintainers: the maintainers in the format of Chart.yaml.
        icon: the address of an icon, or empty.
    """

    home: str
    sources: tuple[str, ...]
    keywords: tuple[str, ...]
    maintainers: tuple[Mapping[str, Any], ...]
    icon: str


class TrainingJob(Record):
    """A valid job: the structure, the complete values, the environments and the settings for the rendered files.

    Attributes:
        name: the name of the job and of its chart, and the default name of the Helm release.
        namespace: the namespace of the job; None if the job sets no namespace.
        values: the complete chart values of the job without an environment: the content of values.yaml.
        outputs: the folders that tfgen writes for the job: `charts`, `overlays` or both folders.
        chart_page: the metadata in Chart.yaml.
        gitops: the settings for the GitOps tool; None for a job without `gitops`.
    """

    name: str
    structure: Structure
    namespace: str | None
    values: Mapping[str, Any]
    outputs: frozenset[Output]
    chart_page: ChartPage
    environments: tuple[Environment, ...]
    gitops: GitOps | None

    def namespace_of(self, environment: str | None) -> str | None:
        """Return the namespace of an environment; None without a namespace.

        If `environment` is None, return the namespace of the job without an environment.
        """
        return next((form.namespace for form in self.environments if form.name == environment), self.namespace)

    @staticmethod
    def from_document(data: Mapping[str, Any]) -> TrainingJob:
        """Convert the data of a valid document to a job. The job refers to parts of the data.

        A further call with the same data object returns the same job, so callers must not change the data.
        """
        if id(data) in _LAST:
            return _LAST[id(data)][1]
        job = _job(data)
        _LAST.clear()
        _LAST[id(data)] = data, job
        return job


_LAST: Final[dict[int, tuple[Mapping[str, Any], TrainingJob]]] = {}
"""The data and the job of the last call of `from_document`, by id of the data. The checks of a job call it again."""


def _job(data: Mapping[str, Any]) -> TrainingJob:
    metadata: Mapping[str, Any] = data["metadata"]
    # In the order of the schema, not of the file, so that equal jobs have equal output.
    spec: Mapping[str, Any] = tunables.order_keys(data["spec"], schema_file.load()["properties"]["spec"])
    environments = spec.get("environments", {})
    job_values, by_environment = tunables.all_values(spec)
    overrides = tunables.chart_overrides(spec)
    return TrainingJob(
        name=metadata["name"],
        structure=_structure(spec),
        namespace=metadata.get("namespace"),
        values=job_values,
        outputs=frozenset(spec.get("outputs", OUTPUTS)),
        chart_page=_chart_page(spec),
        environments=tuple(
            Environment(
                name=name,
                namespace=environment.get("namespace", metadata.get("namespace")),
                cluster=environment.get("cluster"),
                enabled=environment.get("enabled", True),
                overrides=overrides[name],
                values=by_environment[name],
            )
            for name, environment in environments.items()
        ),
        gitops=_gitops(spec["gitops"]) if "gitops" in spec else None,
    )


def _structure(spec: Mapping[str, Any]) -> Structure:
    init_containers, sidecars = spec.get("initContainers", ()), spec.get("sidecars", ())
    roles, eci = spec["roles"], data_path.at(spec, ("cloud", "eci"))
    return Structure(
        strategy=spec.get("strategy", "ParameterServer"),
        port=spec.get("port", 2222),
        roles=tuple(
            Role(
                name=role,
                serves=serves(spec, role),
                ports=tuple(roles[role].get("ports", ())),
                init_containers=(*init_containers, *roles[role].get("initContainers", ())),
                sidecars=(*sidecars, *roles[role].get("sidecars", ())),
                pod_template=roles[role].get("podTemplate", {}),
                claims_devices=data_path.has(roles[role], ("resources", "gpu", "deviceClass")),
            )
            for role in ROLE_NAMES
            if role in roles
        ),
        completion=ended_by(spec),
        releases=releases(spec),
        kind=kinds.of_spec(spec),
        tf_job=TFJobShape(
            api_version=kinds.value_of(spec, "workload.tfJob.apiVersion"),
            leader=kinds.value_of(spec, "workload.tfJob.leader"),
            operator_gangs=kinds.value_of(spec, "workload.tfJob.gang") == "Operator",
            dynamic_workers=kinds.value_of(spec, "workload.tfJob.enableDynamicWorker"),
        ),
        volcano_plugin=kinds.value_of(spec, "workload.volcanoJob.tfConfig") == "Plugin",
        ps_first=kinds.value_of(spec, "workload.jobSet.startOrder") == "PsFirst",
        in_place=spec.get("restart", {}).get("inPlace", False),
        legacy_flags=spec.get("legacyFlags", False),
        legacy_variables=spec.get("legacyVariables", False),
        gang=spec["gang"]["scheduler"] if "gang" in spec else None,
        tensorboard_port=spec["tensorboard"].get("port", 6006) if "tensorboard" in spec else None,
        disruption_budget="podDisruptionBudget" in spec,
        service_account="serviceAccount" in spec,
        profile=spec.get("security", {}).get("profile", "restricted"),
        code=_code(spec["code"]) if "code" in spec else None,
        eci=None if eci is None else Eci(makes_cache="make" in eci.get("imageCache", {})),
        pod_template=spec.get("podTemplate", {}),
        patches=_patches(spec.get("patches", {})),
        environment_patches={
            environment: _patches({**spec.get("patches", {}), **settings["patches"]})
            for environment, settings in sorted(spec.get("environments", {}).items())
            if "patches" in settings
        },
    )


def _patches(patches: Mapping[str, Mapping[str, Any] | None]) -> tuple[Patch, ...]:
    return tuple(
        Patch(
            name=name,
            kind=patch["target"]["kind"],
            target=patch["target"].get("name", ""),
            merge=patch.get("merge", {}),
            operations=tuple(patch.get("json", ())),
        )
        for name, patch in sorted(patches.items())
        if patch is not None
    )


def _chart_page(spec: Mapping[str, Any]) -> ChartPage:
    """Return the metadata for Chart.yaml. By default, `sources` lists the https addresses of the job's repositories."""
    chart = spec.get("chart", {})
    schema = schema_file.load()
    complete = schema_file.complete(schema, schema["properties"]["spec"]["properties"]["chart"], chart)
    addresses = (
        spec.get("gitops", {}).get("repository", ""),
        spec.get("code", {}).get("git", {}).get("repository", ""),
    )
    repositories = [*dict.fromkeys(address for address in addresses if address.startswith("https://"))]
    sources = tuple(chart.get("sources", repositories))
    return ChartPage(
        home=chart.get("home", next(iter(sources), "")),
        sources=sources,
        keywords=tuple(complete["keywords"]),
        maintainers=tuple(chart.get("maintainers", ())),
        icon=chart.get("icon", ""),
    )


def _gitops(gitops: Mapping[str, Any]) -> GitOps:
    schema = schema_file.load()
    complete = schema_file.complete(schema, schema["properties"]["spec"]["properties"]["gitops"], gitops)
    return GitOps(
        repository=complete["repository"],
        branch=complete.get("rendered", complete)["branch"],
        path=complete["path"],
        is_chart=complete["source"] == "Chart",
        create_namespace=complete["createNamespace"],
        argocd=complete.get("argocd"),
        flux=complete.get("flux"),
    )


def _is_ssh(repository: str) -> bool:
    """Return whether git uses ssh for an address, such as `git@host:path` or `ssh://host/path`."""
    return not repository.startswith(("http://", "https://"))


def _code(code: Mapping[str, Any]) -> Code:
    git = code.get("git")
    if git is None:
        return FileCode(code["configMap"]["files"])
    return GitCode(git["repository"], git.get("folder", ""), git.get("secretName", ""))
