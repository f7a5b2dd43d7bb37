"""The content of a checked ``job.yaml`` as frozen records.

    job = TrainingJob.from_document(document.data)
    job.structure.roles                        -> (Role("chief", ...), Role("ps", ...), Role("worker", ...))
    job.values["roles"]["worker"]["replicas"]  -> 4

The two halves are independent. The `Structure` decides the number and the shape of the objects; the object graph
depends on nothing else. The values are the tunables of the chart and of the environments; they only fill holes. So two
jobs that differ only in their values have the same graph, and the chart is valid for all values.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tfgen.job.choices import OUTPUTS, PROFILES, ROLE_NAMES, Output, Profile, RoleName, Scheduler, Strategy
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema import tunables
from tfgen.schema import workload_kinds as kinds
from tfgen.schema.completion import ended_by, releases, serves
from tfgen.schema.workload_kinds.facts import CompletionBy, WorkloadKind

if TYPE_CHECKING:
    from tfgen.job.job_data import CloudData, CodeData, Metadata, PatchData, Spec

__all__ = [
    "OUTPUTS",
    "PROFILES",
    "ROLE_NAMES",
    "Code",
    "Containers",
    "Eci",
    "Environment",
    "FileCode",
    "GitCode",
    "GitOps",
    "Output",
    "Patch",
    "Profile",
    "Role",
    "RoleName",
    "Scheduler",
    "Strategy",
    "Structure",
    "TFJobShape",
    "TrainingJob",
]

Containers: TypeAlias = tuple[Mapping[str, Any], ...]


class Role(Record):
    """The part of a role that no environment changes.

    Attributes:
        serves: whether its tasks run until the job is complete; the tasks of other roles end by themselves.
        ports: more ports of the main container, as ContainerPort of Kubernetes.
        init_containers: as Container of Kubernetes; the init containers of the job come first.
        sidecars: containers next to the main container; the sidecars of the job come first.
        pod_template: a PodTemplateSpec of Kubernetes, merged over that of the job.
    """

    name: RoleName
    serves: bool
    ports: tuple[Mapping[str, Any], ...]
    init_containers: Containers
    sidecars: Containers
    pod_template: Mapping[str, Any]


class GitCode(Record):
    """Code that every pod fetches from a git repository.

    Attributes:
        folder: the folder of the repository that is mounted; empty for the whole repository.
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
    """Code in the job file: the text of each file by its name."""

    files: Mapping[str, str]


Code: TypeAlias = GitCode | FileCode


class TFJobShape(Record):
    """The settings that decide the shape of a TFJob.

    Attributes:
        api_version: the API version of kubeflow.org.
        leader: the name of the chief.
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
        makes_cache: whether the job creates a cache of its images.
    """

    makes_cache: bool


class Patch(Record):
    """A change of objects that tfgen generates.

    Attributes:
        name: the name of the patch in the job.
        kind: the kind of the objects.
        target: the name of one object, as its file is named without the ending; empty for all objects of the kind.
        merge: the data that is merged over each object.
        operations: the operations of RFC 6902 for each object, if nothing is merged.
    """

    name: str
    kind: str
    target: str
    merge: Mapping[str, Any]
    operations: tuple[Mapping[str, Any], ...]


class Structure(Record):
    """The structure of a job, which decides its objects.

    It is the same in every environment and for every user of the chart.

    Attributes:
        port: the TCP port of each TensorFlow server.
        roles: the roles of the job, in the order chief, ps, worker, evaluator.
        completion: the role whose end completes the job.
        releases: whether the remaining tasks are then released.
        kind: the workload kind.
        tf_job: the settings of a TFJob, for this workload kind.
        volcano_plugin: whether the plugin of Volcano sets TF_CONFIG of the tasks of a Volcano Job.
        ps_first: whether a JobSet creates the other roles after its ps are ready.
        in_place: whether a task starts again in its pod after an exit code that costs no retry.
        legacy_flags: whether each task also receives its place by the flags of TensorFlow 1.
        legacy_variables: whether each task also receives its place by variables with the names of these flags.
        gang: the gang scheduler, or None.
        tensorboard_port: the TCP port of TensorBoard, or None for a job without TensorBoard.
        disruption_budget: whether the tasks may be protected from eviction.
        profile: the Pod Security Standard for the pods of the job.
        code: the code that is mounted into the containers, or None.
        eci: the settings of pods on container instances of Alibaba Cloud, or None.
        pod_template: a PodTemplateSpec of Kubernetes for the pods of every role.
        patches: the patches of the objects, in the order of their names.
        environment_patches: the patches of each environment that sets its own patches.
    """

    name: str
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
        """The content without the name.

        Two structures have the same text if they are equal and have the same orders.
        """
        return repr(self.replaced(name=""))

    def patches_in(self, environment: str | None) -> tuple[Patch, ...]:
        """Return the patches of the objects in an environment, or in the job without an environment."""
        return self.environment_patches.get(environment or "", self.patches)

    def role(self, name: RoleName) -> Role | None:
        """Return the role with a name, if the job has it."""
        return next((role for role in self.roles if role.name == name), None)

    @property
    def ends(self) -> RoleName:
        """The role whose end completes the job."""
        return "chief" if self.completion == "Chief" else "worker"

    @property
    def is_distributed(self) -> bool:
        """True if the tasks form a cluster, which TF_CONFIG describes."""
        return self.strategy != "Single"


class GitOps(Record):
    """The settings with which a GitOps tool applies the job from git to its clusters.

    Attributes:
        repository: the address of the repository.
        branch: the branch that the clusters follow.
        path: the folder of the repository with charts/ and overlays/, or empty.
        is_chart: whether the tool applies the chart; otherwise it applies the overlay.
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
        namespace: the namespace of the environment or of the job, or None.
        cluster: the name of the cluster; None for the cluster of the GitOps tool.
        enabled: whether the job runs in the environment.
        overrides: the chart values that job.yaml sets for the environment: the content of ``values-NAME.yaml``.
        values: the complete values, as Helm merges them.
    """

    name: str
    namespace: str | None
    cluster: str | None
    enabled: bool
    overrides: Mapping[str, Any]
    values: Mapping[str, Any]


class ChartPage(Record):
    """The metadata of Chart.yaml for the people who find the chart.

    Attributes:
        home: the address of the project's page, or empty.
        sources: the addresses of the source code.
        maintainers: the maintainers in the format of Chart.yaml.
        icon: the address of a picture, or empty.
    """

    home: str
    sources: tuple[str, ...]
    keywords: tuple[str, ...]
    maintainers: tuple[Mapping[str, Any], ...]
    icon: str


class TrainingJob(Record):
    """A job: its structure, its complete values, its environments, and its outputs."""

    structure: Structure
    namespace: str | None
    values: Mapping[str, Any]
    outputs: frozenset[Output]
    chart_page: ChartPage
    environments: tuple[Environment, ...]
    gitops: GitOps | None

    @property
    def name(self) -> str:
        """The name of the job, of its chart and, by default, of the release of the chart."""
        return self.structure.name

    def namespace_of(self, environment: str | None) -> str | None:
        """Return the namespace of an environment, or of the job itself (None); None for no namespace."""
        return next((form.namespace for form in self.environments if form.name == environment), self.namespace)

    @staticmethod
    def from_document(data: Mapping[str, Any]) -> TrainingJob:
        """Return the job of a valid document. Rules, records and outputs read the same document in a row."""
        return _read(json.dumps(data))


@functools.lru_cache(maxsize=1)
def _read(document: str) -> TrainingJob:
    """Return the job of a document in JSON. The last job is cached and shared, so callers must not change it."""
    data: Mapping[str, Any] = json.loads(document)
    metadata: Metadata = data["metadata"]
    # In the order of the schema, not of the file, so that equal jobs have equal output.
    spec: Spec = tunables.order_keys(data["spec"], schema_file.load()["properties"]["spec"])
    environments = spec.get("environments", {})
    job_values, by_environment = tunables.all_values(spec)
    overrides = tunables.chart_overrides(spec)
    return TrainingJob(
        structure=_structure(metadata["name"], spec),
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


def _structure(name: str, spec: Spec) -> Structure:
    init_containers, sidecars = spec.get("initContainers", ()), spec.get("sidecars", ())
    roles = spec["roles"]
    return Structure(
        name=name,
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
        eci=_eci(spec.get("cloud", {})),
        pod_template=spec.get("podTemplate", {}),
        patches=_patches(spec.get("patches", {})),
        environment_patches={
            environment: _patches({**spec.get("patches", {}), **settings["patches"]})
            for environment, settings in sorted(spec.get("environments", {}).items())
            if "patches" in settings
        },
    )


def _patches(patches: Mapping[str, PatchData | None]) -> tuple[Patch, ...]:
    return tuple(_patch(name, patch) for name, patch in sorted(patches.items()) if patch is not None)


def _patch(name: str, patch: PatchData) -> Patch:
    target = patch["target"]
    return Patch(name, target["kind"], target.get("name", ""), patch.get("merge", {}), tuple(patch.get("json", ())))


def _chart_page(spec: Spec) -> ChartPage:
    """Return the metadata of the job; without sources, the repositories of the job that a browser can open."""
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
    """Return whether git uses ssh for an address (`git@host:path` or `ssh://`)."""
    return not repository.startswith(("http://", "https://"))


def _eci(cloud: CloudData) -> Eci | None:
    return Eci(makes_cache="make" in cloud["eci"].get("imageCache", {})) if "eci" in cloud else None


def _code(code: CodeData) -> Code:
    git = code.get("git")
    if git is None:
        return FileCode(code["configMap"]["files"])
    return GitCode(git["repository"], git.get("folder", ""), git.get("secretName", ""))
