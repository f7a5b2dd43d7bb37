"""Admission policies that a change removes or weakens.

base      spec: {policyName: gpus.example.com, validationActions: [Deny]}
change    spec: {policyName: gpus.example.com, validationActions: [Warn]}

tfgen cannot decide which of two expressions is stricter. So a changed expression is a loosening, and so is a changed
value in an object that a policy reads. An added validation, or a removed condition, only makes a policy stricter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.change.guard_rails.layers import Layers, Loosening
from tfgen.check.admission.folder import BINDING, KEY, POLICY, identity
from tfgen.data_path import Path
from tfgen.problems import Place
from tfgen.text.document import START, Document
from tfgen.words import path_name, shown

_ACTIONS: Final = ("Audit", "Warn", "Deny")
"""The values of `validationActions`, the weakest first."""

_WEAKER: Final[Mapping[Path, tuple[str, str]]] = {
    ("failurePolicy",): ("Fail", "Ignore"),
    ("paramRef", "parameterNotFoundAction"): ("Allow", "Allow"),
    ("matchConstraints", "matchPolicy"): ("Equivalent", "Exact"),
    ("matchResources", "matchPolicy"): ("Equivalent", "Exact"),
}
"""The default of a field, and the value with which a policy refuses fewer objects, by path of the field."""

_FIXED: Final[Sequence[Path]] = (
    ("policyName",),
    ("paramKind",),
    ("paramRef", "name"),
    ("paramRef", "namespace"),
    ("paramRef", "selector"),
)
"""Fields of a policy or a binding in which each change is a loosening, because no value is stricter than another."""

_SELECTORS: Final[Sequence[Path]] = tuple(
    (resources, selector)
    for resources in ("matchConstraints", "matchResources")
    for selector in ("namespaceSelector", "objectSelector")
)


def find_weaker_policies(layers: Layers) -> Iterator[Loosening]:
    """Yield a loosening for each manifest that a change removes, and for each changed field that weakens a policy."""
    after = {identity(new): new for folder in layers.policies_after.values() for new in folder.documents}
    for layer in layers.layers_before():
        folder = layers.policies_before.get(layer.file)
        for document in folder.documents if folder else ():
            changed = after.get(identity(document))
            if changed is None:
                yield _removed(layers, layer, document, {new.file for new in after.values()})
            else:
                for path, message in _weaker_fields(layers, document, changed):
                    yield Loosening(document.place(path), changed.place(path), message)


def _removed(layers: Layers, layer: Document, document: Document, files: set[str]) -> Loosening:
    rail = document.place(("metadata", "name"))
    message = f"{_name(document)} is removed, but {layers.in_base(rail)} contains the object"
    if not any(new.file == layer.file and KEY in new.data for new in layers.layers_after()):
        named_by = layer.place((KEY,))
        return layers.loosening(named_by, (KEY,), message).replaced(rail=rail)
    return Loosening(rail, Place(document.file, START) if document.file in files else rail, message)


def _weaker_fields(layers: Layers, old: Document, new: Document) -> Iterator[tuple[Path, str]]:
    """Yield the path and the message of each changed field that lets a policy refuse fewer objects."""
    kind = old.data["kind"]
    if kind not in (POLICY, BINDING):
        yield from _different_fields(layers, old, new)
        return
    before, after = old.data.get("spec") or {}, new.data.get("spec") or {}
    for path in (*_weaker_values(before, after), *_narrower_resources(before, after)):
        whole: Path = ("spec", *path)
        was = layers.in_base(old.place(whole))
        change = f"found {_shown_at(new.data, whole)}, but {was} has {_shown_at(old.data, whole)}"
        yield whole, f"{_name(old)}: {path_name(whole)}: {change}"
    for key in ("validations", "variables"):
        expressions = [_decisive_fields(key, item) for item in after.get(key) or ()]
        for index, item in enumerate(before.get(key) or ()):
            if _decisive_fields(key, item) not in expressions:
                was = layers.in_base(old.place(("spec", key, index, "expression")))
                change = f"the expression {shown(item['expression'])} is missing, but {was} has the expression"
                yield ("spec", key), f"{_name(old)}: spec.{key}: {change}"
    conditions = [item["expression"] for item in before.get("matchConditions") or ()]
    for index, item in enumerate(after.get("matchConditions") or ()):
        if item["expression"] not in conditions:
            path = ("spec", "matchConditions", index, "expression")
            message = f"the new condition {shown(item['expression'])} exempts objects from the policy"
            yield path, f"{_name(old)}: {path_name(path)}: {message}"


def _decisive_fields(key: str, item: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the fields of a validation or a variable that affect the decision of the policy.

    For a variable, these fields are the name and the expression. A validation has no name, so the first item is None.
    Example: (None, "object.spec.replicas < 9"). The parameter `key` is `validations` or `variables`.
    """
    return (item.get("name") if key == "variables" else None, item["expression"])


def _weaker_values(before: Any, after: Any) -> Iterator[Path]:
    for path, (default, weaker) in _WEAKER.items():
        old, new = (data_path.at(spec, path) or default for spec in (before, after))
        if new == weaker and old != weaker and data_path.has(after, path[:1]):
            yield path
    for path in _FIXED:
        if data_path.at(before, path) != data_path.at(after, path):
            yield path
    for path in _SELECTORS:
        if (selector := data_path.at(after, path)) and selector != data_path.at(before, path):
            yield path
    if _strength(after) < _strength(before):
        yield ("validationActions",)


def _strength(binding: Any) -> int:
    actions = binding.get("validationActions") or ()
    return max((_ACTIONS.index(action) for action in actions if action in _ACTIONS), default=0)


def _narrower_resources(before: Any, after: Any) -> Iterator[Path]:
    for resources in ("matchConstraints", "matchResources"):
        matched, excluded = ((resources, key) for key in ("resourceRules", "excludeResourceRules"))
        old, new = (data_path.at(spec, matched) or () for spec in (before, after))
        if new and (not old or any(rule not in new for rule in old)):
            yield matched
        old, new = (data_path.at(spec, excluded) or () for spec in (before, after))
        if any(rule not in old for rule in new):
            yield excluded


def _different_fields(layers: Layers, old: Document, new: Document) -> Iterator[tuple[Path, str]]:
    """Yield the path and the message of the first changed field in an object, such as a ConfigMap or a Namespace.

    A policy may read the object. A changed annotation does not count. If no other field changed, yield nothing.
    """
    for path in _differences(old.data, new.data, ()):
        if path[:2] != ("metadata", "annotations"):
            was = layers.in_base(old.place(path))
            change = f"found {_shown_at(new.data, path)}, but {was} has {_shown_at(old.data, path)}"
            yield (
                path,
                f"{_name(old)}: {path_name(path)}: {change}; an admission policy that reads this object may now accept "
                "more jobs",
            )
            return


def _differences(old: Any, new: Any, path: Path) -> Iterator[Path]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys((*old, *new)):
            yield from _differences(old.get(key), new.get(key), (*path, key))
    elif old != new:
        yield path


def _shown_at(data: Any, path: Path) -> str:
    return shown(data_path.at(data, path)) if data_path.has(data, path) else "no value"


def _name(document: Document) -> str:
    return f"{document.data['kind']} {document.data['metadata']['name']}"
