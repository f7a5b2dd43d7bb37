"""The job: what a checked ``job.yaml`` says, as frozen records.

    job = TrainingJob.from_document(document.data)
    job.structure.roles                        -> (Role("chief", ...), Role("ps", ...), Role("worker", ...))
    job.values["roles"]["worker"]["replicas"]  -> 4

The two halves never meet. The `Structure` decides which objects there are and what shape they have; the graph is
built from it alone. The values are what a chart's user or an environment may set; they only ever fill holes. So
two jobs that differ in their values alone have one graph, and a chart is right for values that its job never had.
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


class GitCode(Record):
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
        """Whether git asks for it by ssh."""
        return _is_ssh(self.repository)


class FileCode(Record):
    """Code that stands in the job itself: the text of each file by its name."""

    files: Mapping[str, str]


Code: TypeAlias = GitCode | FileCode


class TFJobShape(Record):
    """What decides the shape of a TFJob.

    Attributes:
        api_version: of kubeflow.org.
        leader: what the chief is called.
        operator_gangs: whether the operator makes the gang's PodGroup.
        dynamic_workers: whether workers may come and go.
    """

    api_version: Literal["v1", "v1beta1"]
    leader: Literal["Chief", "Master"]
    operator_gangs: bool
    dynamic_workers: bool


class Eci(Record):
    """How the pods run on Alibaba Cloud's Elastic Container Instance.

    Attributes:
        makes_cache: whether the job makes a cache of its images.
    """

    makes_cache: bool


class Patch(Record):
    """A change of objects that tfgen makes.

    Attributes:
        name: the patch's own, in the job.
        kind: the kind of those objects.
        target: what one of them is in the job, as its file is called without the ending; empty for all of the kind.
        merge: what is merged over each.
        operations: what RFC 6902 does to each, where nothing is merged.
    """

    name: str
    kind: str
    target: str
    merge: Mapping[str, Any]
    operations: tuple[Mapping[str, Any], ...]


class Structure(Record):
    """What decides which objects a job has: the same in every environment and for every user of its chart.

    Attributes:
        port: the TCP port of each TensorFlow server.
        roles: in the order chief, ps, worker, evaluator; those that the job has.
        completion: whose end ends the job.
        releases: whether the tasks that still run are then released.
        kind: the kind that runs the tasks.
        tf_job: how a TFJob says it, where that is the kind.
        volcano_plugin: whether Volcano's own plugin tells the tasks of a Volcano Job their cluster.
        ps_first: whether a JobSet makes the others once its ps are ready.
        legacy_flags: whether each task is told its place by TensorFlow 1's flags too.
        legacy_variables: whether it is told it by variables of the same names too.
        gang: the gang scheduler, or none.
        tensorboard_port: the TCP port of TensorBoard, or none where the job has none.
        disruption_budget: whether the tasks may be kept from being evicted.
        service_account: whether the job may make the service account of its pods.
        profile: the Pod Security Standard that the job's pods are to meet.
        code: what is put into the image, or nothing.
        eci: how the pods run on Alibaba's container instances, or nothing.
        pod_template: Kubernetes' PodTemplateSpec for the pods of every role.
        patches: what is changed of the objects, in the order of the patches' names.
        environment_patches: the same of each environment that says patches of its own.
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
        """All that it says but the name: the same of two structures that are equal and have the same orders."""
        return repr(self.replaced(name=""))

    def patches_in(self, environment: str | None) -> tuple[Patch, ...]:
        """What is changed of the objects in an environment, or of the job's own."""
        return self.environment_patches.get(environment or "", self.patches)

    def role(self, name: RoleName) -> Role | None:
        """The role of that name, if the job has it."""
        return next((role for role in self.roles if role.name == name), None)

    @property
    def ends(self) -> RoleName:
        """The role whose end ends the job."""
        return "chief" if self.completion == "Chief" else "worker"

    @property
    def is_distributed(self) -> bool:
        """Whether the tasks form a cluster, of which TF_CONFIG tells them."""
        return self.strategy != "Single"


class GitOps(Record):
    """How a GitOps tool applies the job, from git to its clusters.

    Attributes:
        repository: its address.
        branch: the branch that the clusters follow.
        path: the folder in it that charts/ and overlays/ are in, or empty.
        is_chart: whether the chart is applied; else the overlay.
        create_namespace: whether the tool makes the namespaces.
        argocd: what job.yaml says of Argo CD, with the schema's defaults; or none.
        flux: what it says of Flux, in the same way.
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
        """Whether git asks for it by ssh."""
        return _is_ssh(self.repository)


class Environment(Record):
    """One environment.

    Attributes:
        namespace: its own or the job's, or none.
        cluster: the name of its cluster; none for that of the GitOps tool.
        enabled: whether the job runs there.
        overrides: what job.yaml says of the chart's values, as it stands: the content of ``values-NAME.yaml``.
        values: the complete values, as Helm would merge them.
    """

    name: str
    namespace: str | None
    cluster: str | None
    enabled: bool
    overrides: Mapping[str, Any]
    values: Mapping[str, Any]


class ChartPage(Record):
    """What Chart.yaml says for the people who find the chart.

    Attributes:
        home: the address of the project's page, or empty.
        sources: the addresses of the source code.
        maintainers: as Chart.yaml has them.
        icon: the address of a picture, or empty.
    """

    home: str
    sources: tuple[str, ...]
    keywords: tuple[str, ...]
    maintainers: tuple[Mapping[str, Any], ...]
    icon: str


class TrainingJob(Record):
    """A job: its structure, its complete values, its environments, and what is rendered of it."""

    structure: Structure
    namespace: str | None
    values: Mapping[str, Any]
    outputs: frozenset[Output]
    chart_page: ChartPage
    environments: tuple[Environment, ...]
    gitops: GitOps | None

    @property
    def name(self) -> str:
        """The job's name, which its chart and, by default, its release have too."""
        return self.structure.name

    def namespace_of(self, environment: str | None) -> str | None:
        """Return the namespace of an environment, or of the job itself (None); None for no namespace."""
        return next((form.namespace for form in self.environments if form.name == environment), self.namespace)

    @staticmethod
    def from_document(data: Mapping[str, Any]) -> TrainingJob:
        """The job of a document that the schema accepts. Rules, records and outputs ask for that of one in turn."""
        return _read(json.dumps(data))


@functools.lru_cache(maxsize=1)
def _read(document: str) -> TrainingJob:
    """The job of a document's text in JSON: the same one while it is asked for again, so nobody changes it."""
    data: Mapping[str, Any] = json.loads(document)
    metadata: Metadata = data["metadata"]
    # In the schema's order, whatever the file's: equal jobs are to be printed alike.
    spec: Spec = tunables.order_keys(data["spec"], schema_file.load()["properties"]["spec"])
    environments = spec.get("environments", {})
    own, by_environment = tunables.all_values(spec)
    overrides = tunables.chart_overrides(spec)
    return TrainingJob(
        structure=_structure(metadata["name"], spec),
        namespace=metadata.get("namespace"),
        values=own,
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
    """What the job says, else the repositories that it names, as far as a browser reaches them."""
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
    """Whether git asks for an address by ssh (`git@host:path` or `ssh://`)."""
    return not repository.startswith(("http://", "https://"))


def _eci(cloud: CloudData) -> Eci | None:
    return Eci(makes_cache="make" in cloud["eci"].get("imageCache", {})) if "eci" in cloud else None


def _code(code: CodeData) -> Code:
    git = code.get("git")
    if git is None:
        return FileCode(code["configMap"]["files"])
    return GitCode(git["repository"], git.get("folder", ""), git.get("secretName", ""))
