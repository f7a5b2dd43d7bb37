"""What Flux applies a job by: ``overlays/flux``, with a folder for each cluster that has a name.

A Kustomization or a HelmRelease for each environment; and the GitRepository and the Namespace, which jobs share. The
folders have no kustomization.yaml: Flux applies all that is in one, and a list of the files would be a place where two
authors who add a job each meet.

- The finisher's scale to 0, and the start of what is suspended, is ignored (``ignore``, since kustomize-controller
  1.9), and so not undone.
- ``force`` would delete and run again what cannot be changed in place; ``wait`` would hold up each commit for as long
  as a training takes, unless it is asked for; without ``postBuild`` no ``$`` of a program is Flux's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, group
from tfgen.places import FLUX
from tfgen.schema.workload_kinds import RESOURCES
from tfgen.targets.gitops.delivery import ChangedField, Delivery, Site, changed_outside, pod_security

# It goes on waiting for its pods where there are none yet: that it is known to its scheduler is all it can be.
_POD_GROUP: Final = {"current": "has(status.phase)"}
_HEALTH: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    # Not Kubernetes' own, which has no phase: to Flux it is ready once it is there, as any without an expression.
    ("scheduling.incubator.k8s.io", "PodGroup"): _POD_GROUP,
    ("scheduling.volcano.sh", "PodGroup"): _POD_GROUP,
    ("scheduling.x-k8s.io", "PodGroup"): _POD_GROUP,
    **{key: {"current": resource.completed, "failed": resource.failed} for key, resource in RESOURCES.items()},
}
"""CEL by group and kind: https://fluxcd.io/flux/components/kustomize/kustomizations/#health-check-expressions."""


def flux(sites: Sequence[Site]) -> Delivery:
    """The files for the environments of one job, which has ``gitops.flux``."""
    own: dict[str, tuple[Object, ...]] = {}
    shared: dict[str, tuple[Object, ...]] = {}
    for site in sites:
        folder = f"{FLUX}/{site.environment.cluster}" if site.environment.cluster else FLUX
        repository = git_repository(site)
        own[f"{folder}/{site.name}.yaml"] = (_release(site) if site.is_chart else _kustomization(site),)
        shared[f"{folder}/gitrepository-{repository['metadata']['name']}.yaml"] = (repository,)
        if site.gitops.create_namespace:
            shared[f"{folder}/namespace-{site.namespace}.yaml"] = (_namespace(site),)
    return Delivery(own, shared)


def git_repository(site: Site) -> Object:
    """The repository. Its name is made from all that it says, so that jobs which say the same share one."""
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
    """Flux knows no ``git@host:path``: https://fluxcd.io/flux/components/source/gitrepositories/#url."""
    if "://" in address:
        return address
    host, _, path = address.partition(":")
    return f"ssh://{host}/{path}"


def _kustomization(site: Site) -> Object:
    settings = _settings(site)
    ignored = ignore(changed_outside(site.objects))
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
    """The HelmRelease. Its chart's version changes with its content, so that Flux sees each change.

    The environment's values come with the chart (``valuesFiles``), and not with the release (``values``). Flux reads
    the two from sources that it asks at times of their own. With the values in the release, a commit of a new run and a
    new image was seen to start that run by the chart of the commit before; the chart that came next was then refused.
    """
    settings = _settings(site)
    ignored = ignore(changed_outside(site.objects))
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
    """The namespace. What is in it outlives what Flux knows of it."""
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
    """How the custom kinds that the job has are known to be done, for ``wait``: without it nothing looks."""
    if not _settings(site)["wait"]:
        return {}
    checks = {
        (item["apiVersion"], item["kind"]): _HEALTH[group(item), item["kind"]]
        for item in site.objects
        if (group(item), item["kind"]) in _HEALTH
    }
    expressions = [{"apiVersion": version, "kind": kind, **check} for (version, kind), check in checks.items()]
    return {"healthCheckExprs": expressions} if expressions else {}
