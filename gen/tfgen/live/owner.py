"""Who looks after an object that is in a cluster, by the marks that the tools leave on it."""

from __future__ import annotations

from typing import Final

from tfgen.kubernetes.object import Object

_MARKS: Final = (
    # https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/
    ("annotations", "argocd.argoproj.io/tracking-id", "Argo CD"),
    ("labels", "argocd.argoproj.io/instance", "Argo CD"),
    # https://fluxcd.io/flux/components/kustomize/kustomizations/ and .../helm/helmreleases/
    ("labels", "kustomize.toolkit.fluxcd.io/name", "Flux"),
    ("labels", "helm.toolkit.fluxcd.io/name", "Flux"),
    # https://helm.sh/docs/topics/advanced/#storage-backends: a release that Helm itself installed
    ("annotations", "meta.helm.sh/release-name", "Helm"),
)


def owner_of(item: Object) -> str:
    """The tool that would put an object back as it has it: Argo CD, Flux or Helm; empty where there is none."""
    metadata = item["metadata"]
    return next((tool for part, key, tool in _MARKS if key in (metadata.get(part) or {})), "")
