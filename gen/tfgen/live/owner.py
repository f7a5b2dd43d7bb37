"""The deployment tool that manages an object in a cluster, recognized by the tool's labels and annotations."""

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
    # An object that Helm installed: https://helm.sh/docs/topics/advanced/#storage-backends
    ("annotations", "meta.helm.sh/release-name", "Helm"),
)


def owner_of(item: Object) -> str:
    """Return the name of the tool that manages an object: Argo CD, Flux or Helm; empty for an unmanaged object.

    The tool would revert a change of the object.
    """
    metadata = item["metadata"]
    return next((tool for part, key, tool in _MARKS if key in (metadata.get(part) or {})), "")
