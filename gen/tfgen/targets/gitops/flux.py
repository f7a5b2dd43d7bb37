"""Writes the objects of Flux for a job: the files in ``overlays/flux``, with a folder for each named cluster.

The files contain a Kustomization or a HelmRelease for each environment. Jobs share the files of the GitRepository and
the Namespace. The folders have no kustomization.yaml, so Flux applies all files of a folder. A list of the files in a
kustomization.yaml would cause a merge conflict between two authors who each add a job.

- ``ignore`` (since kustomize-controller 1.9) lists the fields that the finisher and queues change, so that Flux does
  not reset these fields.
- ``force`` is off, because it would delete an object whose immutable field changes, and create the object again.
- ``wait`` is off by default, because the reconciliation of each commit would wait until the training ends.
- ``postBuild`` is not set, because it would replace variables, such as ``${NAME}``, in a program.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, group
from tfgen.places import FLUX
from tfgen.schema.workload_kinds import RESOURCES
from tfgen.targets.gitops.delivery import ChangedField, Delivery, Site, controller_fields, pod_security

# A PodGroup without pods stays pending. Any phase shows that the scheduler has accepted the PodGroup.
_POD_GROUP: Final = {"current": "has(status.phase)"}
_HEALTH: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    # The PodGroup of Kubernetes has no phase. Without an expression, Flux takes an existing object as ready.
    ("scheduling.incubator.k8s.io", "PodGroup"): _POD_GROUP,
    ("scheduling.volcano.sh", "PodGroup"): _POD_GROUP,
    ("scheduling.x-k8s.io", "PodGroup"): _POD_GROUP,
    **{key: {"current": resource.completed, "failed": resource.failed} for key, resource in RESOURCES.items()},
}
"""(API group, kind) -> CEL expressions of the health check:
https://fluxcd.io/flux/components/kustomize/kustomizations/#health-check-expressions."""


def flux(sites: Sequence[Site]) -> Delivery:
    """Return the Flux files for the environments of a job. The job has the field ``gitops.flux``."""
    job_files: dict[str, tuple[Object, ...]] = {}
    shared_files: dict[str, tuple[Object, ...]] = {}
    for site in sites:
        folder = f"{FLUX}/{site.environment.cluster}" if site.environment.cluster else FLUX
        repository = git_repository(site)
        job_files[f"{folder}/{site.name}.yaml"] = (_release(site) if site.is_chart else _kustomization(site),)
        shared_files[f"{folder}/gitrepository-{repository['metadata']['name']}.yaml"] = (repository,)
        if site.gitops.create_namespace:
            shared_files[f"{folder}/namespace-{site.namespace}.yaml"] = (_namespace(site),)
    return Delivery(job_files, shared_files)


def git_repository(site: Site) -> Object:
    """Return the GitRepository, named by a digest of its spec. Jobs that need the same spec share the GitRepository."""
    settings = _settings(site)
    spec = {
        "interval": settings["interval"],
        "url": _url(site.gitops.repository),
        "ref": {"branch": site.gitops.branch},
        **({"secretRef": {"name": settings["secretName"]}} if settings["secretName"] else {}),
    }
    digest = hashlib.sha256(repr(spec).encode()).hexdigest()[:8]
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": f"tfgen-{digest}", "namespace": settings["namespace"]},
        "spec": spec,
    }


def _url(address: str) -> str:
    """Convert ``git@host:path``, which Flux does not accept, to ``ssh://git@host/path``. Other URLs remain unchanged.

    https://fluxcd.io/flux/components/source/gitrepositories/#url
    """
    if "://" in address:
        return address
    host, _, path = address.partition(":")
    return f"ssh://{host}/{path}"


def _kustomization(site: Site) -> Object:
    settings = _settings(site)
    ignored = ignore(controller_fields(site.objects))
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": site.name, "namespace": settings["namespace"]},
        "spec": {
            "interval": settings["interval"],
            "retryInterval": "1m",
            "timeout": settings["timeout"],
            "sourceRef": {"kind": "GitRepository", "name": git_repository(site)["metadata"]["name"]},
            "path": f"./{site.overlay}",
            "targetNamespace": site.namespace,
            **_account(settings),
            "prune": settings["prune"],
            "force": False,
            "wait": settings["wait"],
            **({"ignore": ignored} if ignored else {}),
            **_health(site),
        },
    }


def _release(site: Site) -> Object:
    """Return the HelmRelease. The chart's version changes with the chart's content, so that Flux applies each change.

    The values of the environment come from a file in the chart (``valuesFiles``), and not from the HelmRelease
    (``values``), because Flux fetches the chart and the HelmRelease at different times. If the HelmRelease contained
    the values, and a commit set a new run and a new image, Flux might start the new run with the chart of the previous
    commit. Then Flux could not change this run to the new chart.
    """
    settings = _settings(site)
    ignored = ignore(controller_fields(site.objects))
    step = {"disableWait": not settings["wait"], "disableWaitForJobs": not settings["wait"]}
    return {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": site.name, "namespace": settings["namespace"]},
        "spec": {
            "interval": settings["interval"],
            "timeout": settings["timeout"],
            "releaseName": site.job.name,
            "targetNamespace": site.namespace,
            "storageNamespace": site.namespace,
            **_account(settings),
            "chart": {
                "spec": {
                    "chart": f"./{site.chart}",
                    "sourceRef": {"kind": "GitRepository", "name": git_repository(site)["metadata"]["name"]},
                    "reconcileStrategy": "ChartVersion",
                    "valuesFiles": [f"{site.chart}/values.yaml", f"{site.chart}/values-{site.environment.name}.yaml"],
                }
            },
            "install": {**step, "strategy": {"name": "RetryOnFailure", "retryInterval": "1m"}},
            "upgrade": {**step, "force": False, "strategy": {"name": "RetryOnFailure", "retryInterval": "1m"}},
            "driftDetection": {"mode": "enabled", **({"ignore": ignored} if ignored else {})},
            **_health(site),
        },
    }


def _namespace(site: Site) -> Object:
    """Return the Namespace. Flux must not prune the Namespace, because it may contain unrelated objects."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": site.namespace,
            "labels": pod_security(site.job),
            "annotations": {keys.FLUX_PRUNE: "disabled"},
        },
    }


def _settings(site: Site) -> Mapping[str, Any]:
    return site.gitops.flux or {}


def _account(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"serviceAccountName": settings["serviceAccountName"]} if settings["serviceAccountName"] else {}


def ignore(fields: Iterable[ChangedField]) -> list[dict[str, Any]]:
    """Return the ``ignore`` of a Kustomization for the fields that a controller in the cluster changes."""
    return [{"paths": [field], "target": {"group": group, "kind": kind}} for group, kind, field in fields]


def _health(site: Site) -> dict[str, Any]:
    """Return the health checks of the job's custom kinds. Flux evaluates the checks only with ``wait``."""
    if not _settings(site)["wait"]:
        return {}
    checks = {
        (item["apiVersion"], item["kind"]): _HEALTH[group(item), item["kind"]]
        for item in site.objects
        if (group(item), item["kind"]) in _HEALTH
    }
    expressions = [{"apiVersion": version, "kind": kind, **check} for (version, kind), check in checks.items()]
    return {"healthCheckExprs": expressions} if expressions else {}
