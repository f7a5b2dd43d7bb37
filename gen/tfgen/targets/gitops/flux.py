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
from tfgen.targets.gitops.delivery import ChangedField, Delivery, DeployedVariant, controller_fields, pod_security

KUSTOMIZATION: Final = ("kustomize.toolkit.fluxcd.io/v1", "Kustomization")
RELEASE: Final = ("helm.toolkit.fluxcd.io/v2", "HelmRelease")

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


def flux(variants: Sequence[DeployedVariant]) -> Delivery:
    """Return the files in ``overlays/flux`` for a job that has the field ``gitops.flux``.

    `variants` has a variant for each environment of the job.
    """
    job_files: dict[str, tuple[Object, ...]] = {}
    shared_files: dict[str, tuple[Object, ...]] = {}
    for variant in variants:
        folder = f"{FLUX}/{variant.environment.cluster}" if variant.environment.cluster else FLUX
        repository = git_repository(variant)
        job_files[f"{folder}/{variant.name}.yaml"] = (
            _release(variant) if variant.is_chart else _kustomization(variant),
        )
        shared_files[f"{folder}/gitrepository-{repository['metadata']['name']}.yaml"] = (repository,)
        if variant.gitops.create_namespace:
            shared_files[f"{folder}/namespace-{variant.namespace}.yaml"] = (_namespace(variant),)
    return Delivery(job_files, shared_files)


def git_repository(variant: DeployedVariant) -> Object:
    """Return the GitRepository of a variant. Variants of several jobs may share a GitRepository.

    The name contains a digest of the spec, so variants that need the same spec get the same GitRepository.
    """
    settings = _settings(variant)
    spec = {
        "interval": settings["interval"],
        "url": _url(variant.gitops.repository),
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


def _url(address: str) -> str:
    """Convert an address such as ``git@host:path`` to a URL such as ``ssh://git@host/path``, because Flux needs a URL.

    https://fluxcd.io/flux/components/source/gitrepositories/#url
    """
    if "://" in address:
        return address
    host, _, path = address.partition(":")
    return f"ssh://{host}/{path}"


def _kustomization(variant: DeployedVariant) -> Object:
    settings = _settings(variant)
    ignored = ignore(controller_fields(variant.objects))
    return {
        "apiVersion": KUSTOMIZATION[0],
        "kind": KUSTOMIZATION[1],
        "metadata": {"name": variant.name, "namespace": settings["namespace"]},
        "spec": {
            "interval": settings["interval"],
            "retryInterval": "1m",
            "timeout": settings["timeout"],
            "sourceRef": {"kind": "GitRepository", "name": git_repository(variant)["metadata"]["name"]},
            "path": f"./{variant.overlay}",
            "targetNamespace": variant.namespace,
            **_account(settings),
            "prune": settings["prune"],
            "force": False,
            "wait": settings["wait"],
            **({"ignore": ignored} if ignored else {}),
            **_health(variant),
        },
    }


def _release(variant: DeployedVariant) -> Object:
    """Return the HelmRelease. The chart's version changes with the chart's content, so that Flux applies each change.

    The values of the environment come from a file in the chart (``valuesFiles``), and not from the HelmRelease
    (``values``). The reason is that Flux fetches the chart and the HelmRelease at different times. For example, a
    commit sets a new run and a new image. With values in the HelmRelease, Flux might start the new run with the chart
    of the previous commit. Then Flux could not change this run to the new chart.
    """
    settings = _settings(variant)
    ignored = ignore(controller_fields(variant.objects))
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
                    "sourceRef": {"kind": "GitRepository", "name": git_repository(variant)["metadata"]["name"]},
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
            **_health(variant),
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


def _settings(variant: DeployedVariant) -> Mapping[str, Any]:
    return variant.gitops.flux or {}


def _account(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"serviceAccountName": settings["serviceAccountName"]} if settings["serviceAccountName"] else {}


def ignore(fields: Iterable[ChangedField]) -> list[dict[str, Any]]:
    """Return the ``ignore`` of a Kustomization or HelmRelease, so that Flux does not reset the given fields."""
    return [{"paths": [field], "target": {"group": group, "kind": kind}} for group, kind, field in fields]


def _health(variant: DeployedVariant) -> dict[str, Any]:
    """Return the health checks of the job's custom kinds. Flux evaluates the checks only with ``wait``."""
    if not _settings(variant)["wait"]:
        return {}
    checks = {
        (item["apiVersion"], item["kind"]): _HEALTH[group(item), item["kind"]]
        for item in variant.objects
        if (group(item), item["kind"]) in _HEALTH
    }
    expressions = [{"apiVersion": version, "kind": kind, **check} for (version, kind), check in checks.items()]
    return {"healthCheckExprs": expressions} if expressions else {}
