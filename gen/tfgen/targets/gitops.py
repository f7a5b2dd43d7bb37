"""Writes the objects that make a GitOps tool, Argo CD or Flux, apply a job."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.graph.schedulers import GANGS
from tfgen.job.training_job import Environment, GitOps, TrainingJob
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, group, literal_name
from tfgen.places import ARGOCD, CHARTS, FLUX, OVERLAYS, TOOLS
from tfgen.record import Record
from tfgen.schema.kinds import RESOURCES
from tfgen.text import yaml_text

# -- delivery ----------------------------------------------------------------------------------------------------------
#
# Several jobs may share a file if all these jobs render the same content for the file. So a shared file contains no
# list of jobs. Such a list would also cause a merge conflict between two authors who each add a job.


Files: TypeAlias = dict[str, Object]

ChangedField: TypeAlias = tuple[str, str, str]
"""(API group of an object, kind of the object, path of the field that a controller in the cluster changes)."""

REPLICAS: Final = "/spec/replicas"

SUSPENDED: Final[Mapping[tuple[str, str], str]] = {
    ("batch", "Job"): "/spec/suspend",
    **{key: resource.suspend for key, resource in sorted(RESOURCES.items()) if resource.suspend},
}
"""(API group, kind) -> path of the field that suspends an object of this kind."""


class Delivery(Record):
    """The files with the GitOps objects of a job. The keys are paths in the output folder.

    Attributes:
        job_files: the object in each file that only this job has.
        shared_files: the object in each file that several jobs share.
    """

    job_files: Files
    shared_files: Files


class DeployedVariant(Record):
    """A variant of a job that a GitOps tool applies, with the objects of the variant."""

    job: TrainingJob
    gitops: GitOps
    environment: Environment
    objects: tuple[Object, ...]

    @property
    def name(self) -> str:
        """Return the name of the Application, Kustomization or HelmRelease of the job in the environment."""
        return f"{self.job.name}-{self.environment.name}"

    @property
    def namespace(self) -> str:
        """Return the namespace of the job in the environment. A rule requires a namespace if the job has `gitops`."""
        return self.environment.namespace or "default"

    @property
    def is_chart(self) -> bool:
        """Return True if the GitOps tool applies the chart. For a retired job, the tool always applies the overlay."""
        return self.gitops.is_chart and self.environment.enabled

    def path(self, *parts: str) -> str:
        """Return the path of a file or folder from the root of the repository.

        `parts` contains the names of the path below the output folder, such as "charts" and "mnist".
        """
        return "/".join(part for part in (self.gitops.path, *parts) if part)

    @property
    def overlay(self) -> str:
        """Return the path of the overlay from the root of the repository."""
        return self.path(OVERLAYS, self.job.name, self.environment.name)

    @property
    def chart(self) -> str:
        """Return the path of the chart from the root of the repository."""
        return self.path(CHARTS, self.job.name)


def controller_fields(objects: Iterable[Object]) -> Iterator[ChangedField]:
    """Yield the fields that a controller in the cluster changes, and that a GitOps tool must not reset.

    For example, the finisher scales StatefulSets to 0, and Kueue resumes suspended Jobs. If the GitOps tool suspended
    the Job again, Kubernetes would kill the pods.
    """
    fields: dict[ChangedField, None] = {}
    for item in objects:
        key = (group(item), item["kind"])
        if item["kind"] == "Role" and literal_name(item) is None:
            resources = {resource for rule in item["rules"] for resource in rule["resources"]}
            if "statefulsets/scale" in resources:
                fields["apps", "StatefulSet", REPLICAS] = None
            if "deployments/scale" in resources:
                fields["apps", "Deployment", REPLICAS] = None
        elif key in SUSPENDED:
            field = SUSPENDED[key]
            if keys.QUEUE in item["metadata"]["labels"] or data_path.has(item, field.split("/")[1:]):
                fields[*key, field] = None
    yield from fields


def pod_security(job: TrainingJob) -> dict[str, str]:
    """Return the Pod Security label that a namespace needs for the pods of a job."""
    return {keys.POD_SECURITY: job.structure.profile}


# -- Argo CD -----------------------------------------------------------------------------------------------------------
#
# Writes the objects of Argo CD for a job: the files in ``overlays/argocd``.
#
# The files contain an Application for each job and environment, or an ApplicationSet for each environment. An
# ApplicationSet finds all jobs of the repository. A patch of Argo CD's ConfigMap adds health checks for custom kinds.
#
# - The Application ignores the fields that the finisher and queues change. Each entry of `ignoreDifferences` names the
#   API group and the kind of the object: an entry without the group has no effect. With RespectIgnoreDifferences, a
#   sync does not reset these fields.
# - Argo CD retries a failed sync without a limit and with the newest commit (``refresh``). So a later commit fixes a
#   failed sync, and a sync waits for the installation of a custom kind.
# - The Application uses no hook and no sync option `Replace`, because both would run a finished training again.


ARGOCD_VERSION: Final = "argoproj.io/v1alpha1"
IN_CLUSTER: Final = "https://kubernetes.default.svc"
"""The URL by which Argo CD addresses the cluster in which Argo CD runs."""

_FINALIZER: Final = "resources-finalizer.argocd.argoproj.io"
_RETRY: Final = {"limit": -1, "refresh": True, "backoff": {"duration": "10s", "factor": 2, "maxDuration": "3m"}}
_ANY_JOB: Final = (
    ("apps", "StatefulSet", REPLICAS),
    ("apps", "Deployment", REPLICAS),
    *((group, kind, field) for (group, kind), field in SUSPENDED.items()),
)
_ARGOCD_HEALTH: Final = Path(__file__).parent / "health"
# The names of the health checks by kind. All kinds of gangs share one check.
_OPERATORS: Final = {f"{group}_{kind}": resource.argocd_health for (group, kind), resource in RESOURCES.items()}


def _argocd(variants: Sequence[DeployedVariant], settings: Mapping[str, Any], job_files: Files, shared: Files) -> None:
    """Add the files in ``overlays/argocd`` for a job with the field ``gitops.argocd``, which contains `settings`."""
    shared[f"{ARGOCD}/patches/argocd-cm.yaml"] = health_checks()
    for variant in variants:
        if settings["generator"] == "ApplicationSet":
            path = f"{ARGOCD}/applicationset-{variant.environment.name}.yaml"
            shared[path] = _application_set(variant, settings)
        else:
            job_files[f"{ARGOCD}/{variant.name}.yaml"] = _application(variant, settings)


def _application(variant: DeployedVariant, settings: Mapping[str, Any]) -> Object:
    if variant.is_chart:
        values = [f"values-{variant.environment.name}.yaml"]
        source = {"path": variant.chart, "helm": {"releaseName": variant.job.name, "valueFiles": values}}
    else:
        source = {"path": variant.overlay}
    # The overlay of a retired job without claims is empty. Argo CD must prune all objects of such a job.
    metadata = {"name": variant.name, "namespace": settings["namespace"]}
    ignored, may_be_empty = controller_fields(variant.objects), not variant.environment.enabled
    parts = _application_parts(variant, settings, metadata, source, ignored, may_be_empty=may_be_empty)
    return {"apiVersion": ARGOCD_VERSION, "kind": "Application", **parts}


def _application_set(variant: DeployedVariant, settings: Mapping[str, Any]) -> Object:
    """Return the ApplicationSet of an environment, with an Application for each overlay of the environment.

    The folders of the GitOps objects may contain a subfolder for a cluster. Such a subfolder may have the same name as
    the environment, so the generator of the ApplicationSet excludes these folders.
    """
    overlays = variant.path(OVERLAYS)
    directories: list[dict[str, Any]] = [{"path": f"{overlays}/*/{variant.environment.name}"}]
    directories += [{"path": f"{overlays}/{tool}/*", "exclude": True} for tool in TOOLS]
    job = f"{{{{index .path.segments {overlays.count('/') + 1}}}}}"
    metadata, source = {"name": f"{job}-{{{{.path.basename}}}}"}, {"path": "{{.path.path}}"}
    generator = {"repoURL": variant.gitops.repository, "revision": variant.gitops.branch, "directories": directories}
    return {
        "apiVersion": ARGOCD_VERSION,
        "kind": "ApplicationSet",
        "metadata": {"name": f"tfgen-{variant.environment.name}", "namespace": settings["namespace"]},
        "spec": {
            "goTemplate": True,
            "goTemplateOptions": ["missingkey=error"],
            "generators": [{"git": generator}],
            "template": _application_parts(variant, settings, metadata, source, _ANY_JOB, may_be_empty=True),
        },
    }


def health_checks() -> Object:
    """Return a patch of Argo CD's ConfigMap with health checks for custom kinds, for ``kubectl patch --patch-file``.

    https://argo-cd.readthedocs.io/en/stable/operator-manual/health/
    """
    groups = {gang.group for gang in GANGS.values() if gang.group}
    checks = {**{f"{group}_PodGroup": "podgroup" for group in groups}, **_OPERATORS}
    data = {f"resource.customizations.health.{kind}": health_check(name) for kind, name in sorted(checks.items())}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cm"}, "data": data}


def health_check(name: str) -> str:
    """Return the Lua program of a health check, from the file NAME.lua."""
    return (_ARGOCD_HEALTH / f"{name}.lua").read_text(encoding="utf-8")


def _application_parts(
    variant: DeployedVariant,
    settings: Mapping[str, Any],
    metadata: Object,
    source: Object,
    ignored: Iterable[ChangedField],
    *,
    may_be_empty: bool,
) -> dict[str, Any]:
    """Return the fields of an Application, or of the template of an ApplicationSet.

    Args:
        variant: the variant that the Application applies. For an ApplicationSet, a variant of any of its jobs.
        settings: the field ``gitops.argocd`` of the job.
        metadata: the metadata that name the Application.
        source: the fields of the source that name the chart or the overlay.
        ignored: the fields that a sync must not reset.
        may_be_empty: whether the overlay may contain no object, so that Argo CD may prune all objects.
    """
    gitops = variant.gitops
    empty = {"allowEmpty": True} if may_be_empty else {}
    automated = {"prune": settings["prune"], "selfHeal": settings["selfHeal"], **empty}
    cluster = variant.environment.cluster
    options = {
        "CreateNamespace": gitops.create_namespace,
        "RespectIgnoreDifferences": True,
        "ServerSideApply": settings["serverSideApply"],
    }
    policy = {
        **({"automated": automated} if settings["automated"] else {}),
        "syncOptions": [f"{option}=true" for option, is_on in options.items() if is_on],
        **({"managedNamespaceMetadata": {"labels": pod_security(variant.job)}} if gitops.create_namespace else {}),
        "retry": _RETRY,
    }
    ignore = [{"group": group, "kind": kind, "jsonPointers": [field]} for group, kind, field in ignored]
    return {
        "metadata": {
            **metadata,
            "annotations": {keys.MANIFEST_PATHS: "." if variant.is_chart else ".;../base"},
            "finalizers": [_FINALIZER],
        },
        "spec": {
            "project": settings["project"],
            "destination": {
                **({"name": cluster} if cluster else {"server": IN_CLUSTER}),
                "namespace": variant.namespace,
            },
            "source": {"repoURL": gitops.repository, "targetRevision": gitops.branch, **source},
            "syncPolicy": policy,
            **({"ignoreDifferences": ignore} if ignore else {}),
        },
    }


# -- Flux --------------------------------------------------------------------------------------------------------------
#
# Writes the objects of Flux for a job: the files in ``overlays/flux``, with a folder for each named cluster.
#
# The files contain a Kustomization or a HelmRelease for each environment. Jobs share the files of the GitRepository and
# the Namespace. The folders have no kustomization.yaml, so Flux applies all files of a folder. A list of the files in a
# kustomization.yaml would cause a merge conflict between two authors who each add a job.
#
# - ``ignore`` (since kustomize-controller 1.9) lists the fields that the finisher and queues change, so that Flux does
#   not reset these fields.
# - ``force`` is off, because it would delete an object whose immutable field changes, and create the object again.
# - ``wait`` is off by default, because the reconciliation of each commit would wait until the training ends.
# - ``postBuild`` is not set, because it would replace variables, such as ``${NAME}``, in a program.


KUSTOMIZATION: Final = ("kustomize.toolkit.fluxcd.io/v1", "Kustomization")
RELEASE: Final = ("helm.toolkit.fluxcd.io/v2", "HelmRelease")

# A PodGroup without pods stays pending. Any phase shows that the scheduler has accepted the PodGroup.
_POD_GROUP: Final = {"current": "has(status.phase)"}
_FLUX_HEALTH: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    # The PodGroups of Kubernetes and KAI have no phase. Without an expression, Flux takes an existing object as ready.
    ("scheduling.incubator.k8s.io", "PodGroup"): _POD_GROUP,
    ("scheduling.sigs.k8s.io", "PodGroup"): _POD_GROUP,
    ("scheduling.volcano.sh", "PodGroup"): _POD_GROUP,
    ("scheduling.x-k8s.io", "PodGroup"): _POD_GROUP,
    **{key: {"current": resource.completed, "failed": resource.failed} for key, resource in RESOURCES.items()},
}
"""(API group, kind) -> CEL expressions of the health check:
https://fluxcd.io/flux/components/kustomize/kustomizations/#health-check-expressions."""


def _flux(variants: Sequence[DeployedVariant], settings: Mapping[str, Any], job_files: Files, shared: Files) -> None:
    """Add the files in ``overlays/flux`` for a job with the field ``gitops.flux``, which contains `settings`."""
    for variant in variants:
        folder = f"{FLUX}/{variant.environment.cluster}" if variant.environment.cluster else FLUX
        repository = _git_repository(variant, settings)
        source = {"kind": "GitRepository", "name": repository["metadata"]["name"]}
        applied = _release(variant, settings, source) if variant.is_chart else _kustomization(variant, settings, source)
        job_files[f"{folder}/{variant.name}.yaml"] = applied
        shared[f"{folder}/gitrepository-{source['name']}.yaml"] = repository
        if variant.gitops.create_namespace:
            shared[f"{folder}/namespace-{variant.namespace}.yaml"] = _namespace(variant)


def _git_repository(variant: DeployedVariant, settings: Mapping[str, Any]) -> Object:
    """Return the GitRepository of a variant. Variants of several jobs may share a GitRepository.

    The name contains a digest of the spec, so variants that need the same spec get the same GitRepository.
    """
    url = variant.gitops.repository
    if "://" not in url:  # Flux needs ssh://git@host/path instead of git@host:path
        # https://fluxcd.io/flux/components/source/gitrepositories/#url
        host, _, path = url.partition(":")
        url = f"ssh://{host}/{path}"
    spec = {
        "interval": settings["interval"],
        "url": url,
        "ref": {"branch": variant.gitops.branch},
        **({"secretRef": {"name": settings["secretName"]}} if settings["secretName"] else {}),
    }
    digest = hashlib.sha256(repr(spec).encode()).hexdigest()[:8]
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": f"tfgen-{digest}", "namespace": settings["namespace"]},
        "spec": spec,
    }


def _kustomization(variant: DeployedVariant, settings: Mapping[str, Any], source: Object) -> Object:
    ignored = _flux_ignore(variant)
    return {
        "apiVersion": KUSTOMIZATION[0],
        "kind": KUSTOMIZATION[1],
        "metadata": {"name": variant.name, "namespace": settings["namespace"]},
        "spec": {
            "interval": settings["interval"],
            "retryInterval": "1m",
            "timeout": settings["timeout"],
            "sourceRef": source,
            "path": f"./{variant.overlay}",
            "targetNamespace": variant.namespace,
            **_account(settings),
            "prune": settings["prune"],
            "force": False,
            "wait": settings["wait"],
            **({"ignore": ignored} if ignored else {}),
            **_health(variant, settings),
        },
    }


def _release(variant: DeployedVariant, settings: Mapping[str, Any], source: Object) -> Object:
    """Return the HelmRelease. The chart's version changes with the chart's content, so that Flux applies each change.

    The values of the environment come from a file in the chart (``valuesFiles``), and not from the HelmRelease
    (``values``). The reason is that Flux fetches the chart and the HelmRelease at different times. For example, a
    commit sets a new run and a new image. With values in the HelmRelease, Flux might start the new run with the chart
    of the previous commit. Then Flux could not change this run to the new chart.
    """
    ignored = _flux_ignore(variant)
    step = {"disableWait": not settings["wait"], "disableWaitForJobs": not settings["wait"]}
    return {
        "apiVersion": RELEASE[0],
        "kind": RELEASE[1],
        "metadata": {"name": variant.name, "namespace": settings["namespace"]},
        "spec": {
            "interval": settings["interval"],
            "timeout": settings["timeout"],
            "releaseName": variant.job.name,
            "targetNamespace": variant.namespace,
            "storageNamespace": variant.namespace,
            **_account(settings),
            "chart": {
                "spec": {
                    "chart": f"./{variant.chart}",
                    "sourceRef": source,
                    "reconcileStrategy": "ChartVersion",
                    "valuesFiles": [
                        f"{variant.chart}/values.yaml",
                        f"{variant.chart}/values-{variant.environment.name}.yaml",
                    ],
                }
            },
            "install": {**step, "strategy": {"name": "RetryOnFailure", "retryInterval": "1m"}},
            "upgrade": {**step, "force": False, "strategy": {"name": "RetryOnFailure", "retryInterval": "1m"}},
            "driftDetection": {"mode": "enabled", **({"ignore": ignored} if ignored else {})},
            **_health(variant, settings),
        },
    }


def _namespace(variant: DeployedVariant) -> Object:
    """Return the Namespace. Flux must not prune the Namespace, because it may contain unrelated objects."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": variant.namespace,
            "labels": pod_security(variant.job),
            "annotations": {keys.FLUX_PRUNE: "disabled"},
        },
    }


def _account(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"serviceAccountName": settings["serviceAccountName"]} if settings["serviceAccountName"] else {}


def _flux_ignore(variant: DeployedVariant) -> list[dict[str, Any]]:
    """Return the ``ignore`` of a Kustomization or HelmRelease, so that Flux does not reset fields of controllers."""
    fields = controller_fields(variant.objects)
    return [{"paths": [field], "target": {"group": group, "kind": kind}} for group, kind, field in fields]


def _health(variant: DeployedVariant, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the health checks of the job's custom kinds. Flux evaluates the checks only with ``wait``."""
    if not settings["wait"]:
        return {}
    checks = {
        (item["apiVersion"], item["kind"]): _FLUX_HEALTH[group(item), item["kind"]]
        for item in variant.objects
        if (group(item), item["kind"]) in _FLUX_HEALTH
    }
    expressions = [{"apiVersion": version, "kind": kind, **check} for (version, kind), check in checks.items()]
    return {"healthCheckExprs": expressions} if expressions else {}


# -- all files ---------------------------------------------------------------------------------------------------------


def gitops(job: TrainingJob, environments: Mapping[str, Mapping[str, Object]]) -> Delivery:
    """Return the GitOps files of a job. A job without ``gitops`` has no such files.

    Args:
        job: the job.
        environments: the objects of each environment. Example: {"prod": {"worker": {"kind": "StatefulSet", ...}}}.
    """
    job_files: Files = {}
    shared_files: Files = {}
    if job.gitops is not None:
        variants = [
            DeployedVariant(job, job.gitops, environment, tuple(environments[environment.name].values()))
            for environment in job.environments
        ]
        if job.gitops.argocd is not None:
            _argocd(variants, job.gitops.argocd, job_files, shared_files)
        if job.gitops.flux is not None:
            _flux(variants, job.gitops.flux, job_files, shared_files)
    return Delivery(job_files, shared_files)


def yaml_texts(files: Files) -> dict[str, str]:
    """Return the YAML text of each file in `files`."""
    return {path: yaml_text.dump(dict(item)) for path, item in files.items()}
