"""Writes the objects of Argo CD for a job: the files in ``overlays/argocd``.

The files contain an Application for each job and environment, or an ApplicationSet for each environment. An
ApplicationSet finds all jobs of the repository. A patch of Argo CD's ConfigMap adds health checks for custom kinds.

- The Application ignores the fields that the finisher and queues change. Each entry of `ignoreDifferences` names the
  API group and the kind of the object: an entry without the group has no effect. With RespectIgnoreDifferences, a sync
  does not reset these fields.
- Argo CD retries a failed sync without a limit and with the newest commit (``refresh``). So a later commit fixes a
  failed sync, and a sync waits for the installation of a custom kind.
- The Application uses no hook and no sync option `Replace`, because both would run a finished training again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tfgen.graph.schedulers import GANGS
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object
from tfgen.places import ARGOCD, OVERLAYS, TOOLS
from tfgen.schema.workload_kinds import RESOURCES
from tfgen.targets.gitops.delivery import (
    SUSPENDED,
    ChangedField,
    Delivery,
    DeployedVariant,
    controller_fields,
    pod_security,
)

API_VERSION: Final = "argoproj.io/v1alpha1"
IN_CLUSTER: Final = "https://kubernetes.default.svc"
"""The URL by which Argo CD addresses the cluster in which Argo CD runs."""

_FINALIZER: Final = "resources-finalizer.argocd.argoproj.io"
_RETRY: Final = {"limit": -1, "refresh": True, "backoff": {"duration": "10s", "factor": 2, "maxDuration": "3m"}}
_ANY_JOB: Final = (
    ("apps", "StatefulSet", "/spec/replicas"),
    ("apps", "Deployment", "/spec/replicas"),
    *((group, kind, field) for (group, kind), field in SUSPENDED.items()),
)
_HEALTH: Final = Path(__file__).parent / "health"
# The names of the health checks by kind. All kinds of gangs share one check.
_OPERATORS: Final = {f"{group}_{kind}": resource.argocd_health for (group, kind), resource in RESOURCES.items()}


def argocd(variants: Sequence[DeployedVariant]) -> Delivery:
    """Return the files in ``overlays/argocd`` for a job that has the field ``gitops.argocd``.

    `variants` has a variant for each environment of the job.
    """
    job_files: dict[str, tuple[Object, ...]] = {}
    shared_files: dict[str, tuple[Object, ...]] = {f"{ARGOCD}/patches/argocd-cm.yaml": (health_checks(),)}
    for variant in variants:
        if _settings(variant)["generator"] == "ApplicationSet":
            shared_files[f"{ARGOCD}/applicationset-{variant.environment.name}.yaml"] = (application_set(variant),)
        else:
            job_files[f"{ARGOCD}/{variant.name}.yaml"] = (application(variant),)
    return Delivery(job_files, shared_files)


def application(variant: DeployedVariant) -> Object:
    """Return the Application of a job in an environment."""
    if variant.is_chart:
        values = [f"values-{variant.environment.name}.yaml"]
        source = {"path": variant.chart, "helm": {"releaseName": variant.job.name, "valueFiles": values}}
    else:
        source = {"path": variant.overlay}
    # The overlay of a retired job without claims is empty. Argo CD must prune all objects of such a job.
    parts = _application(
        variant, source, tuple(controller_fields(variant.objects)), may_be_empty=not variant.environment.enabled
    )
    parts["metadata"] = {"name": variant.name, "namespace": _settings(variant)["namespace"], **parts["metadata"]}
    return {"apiVersion": API_VERSION, "kind": "Application", **parts}


def application_set(variant: DeployedVariant) -> Object:
    """Return the ApplicationSet of an environment, with an Application for each overlay of the environment.

    The folders of the GitOps objects may contain a subfolder for a cluster. Such a subfolder may have the same name as
    the environment, so the generator of the ApplicationSet excludes these folders.
    """
    overlays = variant.path(OVERLAYS)
    directories: list[dict[str, Any]] = [{"path": f"{overlays}/*/{variant.environment.name}"}]
    directories += [{"path": f"{overlays}/{tool}/*", "exclude": True} for tool in TOOLS]
    job = f"{{{{index .path.segments {overlays.count('/') + 1}}}}}"
    parts = _application(variant, {"path": "{{.path.path}}"}, _ANY_JOB, may_be_empty=True)
    parts["metadata"] = {"name": f"{job}-{{{{.path.basename}}}}", **parts["metadata"]}
    generator = {"repoURL": variant.gitops.repository, "revision": variant.gitops.branch, "directories": directories}
    return {
        "apiVersion": API_VERSION,
        "kind": "ApplicationSet",
        "metadata": {"name": f"tfgen-{variant.environment.name}", "namespace": _settings(variant)["namespace"]},
        "spec": {
            "goTemplate": True,
            "goTemplateOptions": ["missingkey=error"],
            "generators": [{"git": generator}],
            "template": parts,
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
    return (_HEALTH / f"{name}.lua").read_text(encoding="utf-8")


def ignore_differences(fields: Iterable[ChangedField]) -> list[dict[str, Any]]:
    """Return the ``ignoreDifferences`` of an Application, so that a sync does not reset the given fields."""
    return [{"group": group, "kind": kind, "jsonPointers": [field]} for group, kind, field in fields]


def _settings(variant: DeployedVariant) -> Mapping[str, Any]:
    return variant.gitops.argocd or {}


def _application(
    variant: DeployedVariant, source: Object, ignored: Sequence[ChangedField], *, may_be_empty: bool
) -> dict[str, Any]:
    """Return the fields, except the name, that an Application and the template of an ApplicationSet have in common.

    Args:
        variant: the variant that the Application applies. For an ApplicationSet, a variant of any of its jobs.
        source: the fields of the source that name the chart or the overlay.
        ignored: the fields that a sync must not reset.
        may_be_empty: whether the overlay may contain no object, so that Argo CD may prune all objects.
    """
    settings, gitops = _settings(variant), variant.gitops
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
    ignore = ignore_differences(ignored)
    return {
        "metadata": {
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
