"""Check that the security contexts in pod templates do not replace enforced keys of `spec.security`.

    tfgen.yaml      enforce: [spec.security]
                    spec: {security: {runAsUser: 1000}}
    job.yaml        podTemplate: {spec: {securityContext: {runAsUser: 2000}}}

Some keys of `spec.security`, such as `runAsUser`, are also fields of a security context. A pod template of a job, or of
a role, may set such a field only to the enforced value. In this example, `runAsUser: 2000` is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.check.enforced import ENFORCED
from tfgen.check.enforced_paths import SECURITY, Enforced, all_enforced
from tfgen.data_path import Path
from tfgen.graph.objects.names import CONTAINER
from tfgen.problems import Problem
from tfgen.text.document import Document
from tfgen.words import path_name, shown

_OF_POD: Final = ("runAsUser", "runAsGroup", "fsGroup")
_OF_CONTAINER: Final = ("runAsUser", "runAsGroup", "readOnlyRootFilesystem")
_KEYS: Final = dict.fromkeys((*_OF_POD, *_OF_CONTAINER))
"""The keys of `spec.security` that are fields of a security context."""


def find_security_overrides(document: Document) -> Iterator[Problem]:
    """Yield a problem for each field of a pod template that replaces an enforced key of `spec.security`.

    Args:
        document: a job or a tfgen.yaml that the schema accepts. The layers of the document have no errors.
    """
    written = document.alone()
    contexts = [*_contexts(written.data)]
    for enforced in all_enforced(document.under):
        block: Mapping[str, Any] = data_path.at(enforced.data, SECURITY) or {}
        for key in _enforced_keys(enforced, block):
            name = path_name((*SECURITY, key))
            rule = f"enforces {name} {shown(block[key])}" if key in block else f"lets no job set {name}"
            for path, fields, context in contexts:
                if key in fields and _differs(context, key, block.get(key)):
                    field = path if context is None else (*path, key)
                    value = shown(data_path.at(context, (key,)))
                    message = f"{path_name(field)}: found {value}, but {enforced.place} {rule}; remove the key"
                    yield Problem(*written.place(field), message, ENFORCED)


def _differs(context: Any, key: str, value: Any) -> bool:
    """Return True if a security context is null, or sets `key` to a value other than `value`, the enforced value."""
    return context is None or (data_path.has(context, (key,)) and context[key] != value)


def _enforced_keys(enforced: Enforced, block: Mapping[str, Any]) -> Iterator[str]:
    path, keys = enforced.path[: len(SECURITY)], enforced.path[len(SECURITY) :]
    for key in _KEYS if path == SECURITY else ():
        if keys:
            is_enforced = keys == (key,)
        elif enforced.excepted is not None:
            is_enforced = (key,) not in enforced.excepted
        else:
            is_enforced = key in block or not block
        if is_enforced:
            yield key


def _contexts(data: Any) -> Iterator[tuple[Path, tuple[str, ...], Any]]:
    """Yield each security context in the pod templates of a job or a tfgen.yaml.

    Example: (("spec", "podTemplate", "spec", "securityContext"), ("runAsUser", "runAsGroup", "fsGroup"), {"runAsUser":
    2000}), which lists the path, the keys and the security context. The keys are the keys of `spec.security` that the
    security context may replace.
    """
    templates: list[Path] = [("spec", "podTemplate")]
    templates += [("spec", "roles", role, "podTemplate") for role in data_path.at(data, ("spec", "roles")) or ()]
    for template in templates:
        spec: Path = (*template, "spec")
        if data_path.has(data, (*spec, "securityContext")):
            yield (*spec, "securityContext"), _OF_POD, data_path.at(data, (*spec, "securityContext"))
        containers = data_path.at(data, (*spec, "containers"))
        for index, item in enumerate(containers if isinstance(containers, list) else ()):
            if isinstance(item, Mapping) and item.get("name") == CONTAINER and "securityContext" in item:
                yield (*spec, "containers", index, "securityContext"), _OF_CONTAINER, item["securityContext"]
