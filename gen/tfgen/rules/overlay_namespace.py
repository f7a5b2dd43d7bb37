"""Objects of the job that kustomize would move to the namespace of an overlay.

`namespace: ml` in a kustomization sets `metadata.namespace` of each object. kustomize also renames each Namespace to
ml, and replaces the namespaces in the fields that these files list:
https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/konfig/builtinpluginconsts/namespace.go
https://github.com/kubernetes-sigs/kustomize/blob/master/api/filters/namespace/namespace.go (setSubjectsNamedDefault)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import shown

_FIELDS: Final = {
    "APIService": ("spec", "service", "namespace"),
    "CustomResourceDefinition": ("spec", "conversion", "webhook", "clientConfig", "service", "namespace"),
}
_BINDINGS: Final = ("ClusterRoleBinding", "RoleBinding")


def _check(view: View) -> Iterator[Finding]:
    if not view.values["objects"] or "overlays" not in view.job.outputs:
        return
    namespace = view.job.namespace_of(view.environment)
    if namespace is None:
        return
    for name, item in view.values["objects"].items():
        for path, value in _namespaces(item):
            if value != namespace:
                message = (
                    f"found the namespace {shown(value)}, which kustomize replaces with the namespace of the overlay, "
                    f"{shown(namespace)}; apply this {item['kind']} separately from the job"
                )
                yield Finding(("objects", name, *path), message)


def _namespaces(item: Any) -> Iterator[tuple[Path, Any]]:
    """Yield the path and the value of each field of the object `item` in which kustomize replaces the namespace.

    Example: ``(("subjects", 0, "namespace"), "ml")``.
    """
    kind = item["kind"]
    if kind == "Namespace" and item["apiVersion"] == "v1":
        yield ("metadata", "name"), data_path.at(item, ("metadata", "name"))
    if kind in _FIELDS and data_path.has(item, _FIELDS[kind]):
        yield _FIELDS[kind], data_path.at(item, _FIELDS[kind])
    subjects = item.get("subjects") if kind in _BINDINGS else None
    for index, subject in enumerate(subjects if isinstance(subjects, list) else ()):
        if isinstance(subject, dict) and subject.get("name") == "default" and "namespace" in subject:
            yield ("subjects", index, "namespace"), subject["namespace"]


RULES: Final = (
    Rule("overlay-namespace", "error", "kustomize would move an object of the job to a different namespace.", _check),
)
