"""Affinities with unknown keys, or with values of a wrong type.

The schema of a job accepts any content under the three kinds of affinity. This rule validates the content against the
types in https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#scheduling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule, did_you_mean
from tfgen.rules.view import View
from tfgen.schema import kubernetes_fields
from tfgen.words import either, path_name, shown

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_EXPRESSIONS: Final = ("matchExpressions", "matchFields")
_TERM: Final = (
    "labelSelector",
    "topologyKey",
    "namespaces",
    "namespaceSelector",
    "matchLabelKeys",
    "mismatchLabelKeys",
)
_SET_OPERATORS: Final = ("In", "NotIn")
_KEY_OPERATORS: Final = ("Exists", "DoesNotExist")
_NUMBER_OPERATORS: Final = ("Gt", "Lt")
_WEIGHT_MAX: Final = 100


def _check(view: View) -> Iterator[Finding]:
    yield from _affinity_findings(view, ("affinity",), view.values["affinity"])
    for role in view.roles:
        path: Path = ("roles", role.name, "affinity")
        yield from _affinity_findings(view, path, view.values["roles"][role.name]["affinity"])


def _affinity_findings(view: View, path: Path, rules: Mapping[str, Any]) -> Iterator[Finding]:
    findings = list(_affinity(path, rules))
    yield from findings
    # Most affinities are empty. An empty affinity does not need the table of fields, which takes time to load.
    for misfit in kubernetes_fields.misfits(path, rules, "Affinity", view.text) if rules else ():
        parents = {misfit.path[:end] for end in range(len(misfit.path) + 1)}
        if misfit.mistake == "shape" and not any(finding.path in parents for finding in findings):
            yield Finding(misfit.path, misfit.message)


def _affinity(path: Path, rules: Mapping[str, Any]) -> Iterator[Finding]:
    for kind, rule in rules.items():
        yield from _node_affinity((*path, kind), rule) if kind == "nodeAffinity" else _pod_affinity((*path, kind), rule)


def _node_affinity(path: Path, rule: Any) -> Iterator[Finding]:
    yield from _mapping(path, rule, (_REQUIRED, _PREFERRED))
    if _REQUIRED in rule:
        required_path = (*path, _REQUIRED)
        yield from _mapping(required_path, rule[_REQUIRED], ("nodeSelectorTerms",), required=("nodeSelectorTerms",))
        for term_path, term in _items(required_path, rule[_REQUIRED], "nodeSelectorTerms"):
            yield from _node_term(term_path, term)
        yield from _lists(required_path, rule[_REQUIRED], ("nodeSelectorTerms",), min_length=1)
    yield from _lists(path, rule, (_PREFERRED,))
    for weighted_path, weighted in _items(path, rule, _PREFERRED):
        yield from _weighted_term(weighted_path, weighted, "preference")
        if isinstance(weighted, Mapping) and "preference" in weighted:
            yield from _node_term((*weighted_path, "preference"), weighted["preference"])


def _node_term(path: Path, term: Any) -> Iterator[Finding]:
    yield from _mapping(path, term, _EXPRESSIONS)
    yield from _lists(path, term, _EXPRESSIONS)
    for key in _EXPRESSIONS:
        for expression_path, expression in _items(path, term, key):
            yield from _expression(expression_path, expression, _NUMBER_OPERATORS)


def _pod_affinity(path: Path, rule: Any) -> Iterator[Finding]:
    yield from _mapping(path, rule, (_REQUIRED, _PREFERRED))
    yield from _lists(path, rule, (_REQUIRED, _PREFERRED))
    for term_path, term in _items(path, rule, _REQUIRED):
        yield from _pod_term(term_path, term)
    for weighted_path, weighted in _items(path, rule, _PREFERRED):
        yield from _weighted_term(weighted_path, weighted, "podAffinityTerm")
        if isinstance(weighted, Mapping) and "podAffinityTerm" in weighted:
            yield from _pod_term((*weighted_path, "podAffinityTerm"), weighted["podAffinityTerm"])


def _pod_term(path: Path, term: Any) -> Iterator[Finding]:
    yield from _mapping(path, term, _TERM, required=("topologyKey",))
    yield from _lists(path, term, ("namespaces", "matchLabelKeys", "mismatchLabelKeys"))
    for key in ("labelSelector", "namespaceSelector"):
        if isinstance(term, Mapping) and key in term:
            selector_path = (*path, key)
            yield from _mapping(selector_path, term[key], ("matchLabels", "matchExpressions"))
            yield from _lists(selector_path, term[key], ("matchExpressions",))
            for expression_path, expression in _items(selector_path, term[key], "matchExpressions"):
                yield from _expression(expression_path, expression, ())


def _weighted_term(path: Path, weighted: Any, term_key: str) -> Iterator[Finding]:
    yield from _mapping(path, weighted, ("weight", term_key), required=("weight", term_key))
    weight = weighted.get("weight", 1) if isinstance(weighted, Mapping) else 1
    if not isinstance(weight, int) or isinstance(weight, bool) or not 1 <= weight <= _WEIGHT_MAX:
        yield _expected((*path, "weight"), f"an integer from 1 to {_WEIGHT_MAX}")


def _expression(path: Path, expression: Any, number_operators: tuple[str, ...]) -> Iterator[Finding]:
    yield from _mapping(path, expression, ("key", "operator", "values"), required=("key", "operator"))
    yield from _lists(path, expression, ("values",))
    if not isinstance(expression, Mapping) or "operator" not in expression:
        return
    operator, values = expression["operator"], expression.get("values", [])
    if not isinstance(values, list):
        return
    if operator not in (allowed := (*_SET_OPERATORS, *_KEY_OPERATORS, *number_operators)):
        yield _expected((*path, "operator"), f"one of {either(allowed)}")
    elif operator in _SET_OPERATORS and not values:
        yield _expected(path, f"at least one item in values, because the operator {operator} compares with values")
    elif operator in _KEY_OPERATORS and values:
        yield _expected((*path, "values"), f"an empty list, because the operator {operator} reads only the key")
    elif operator in number_operators and len(values) != 1:
        yield _expected(path, f"one item in values, because the operator {operator} compares with one number")


def _mapping(path: Path, data: Any, allowed: tuple[str, ...], required: tuple[str, ...] = ()) -> Iterator[Finding]:
    if not isinstance(data, Mapping):
        yield _expected(path, f"a mapping with {either(allowed, 'and' if required else 'or')}")
        return
    for key in data:
        if key not in allowed:
            message = f"unknown key {shown(key)} in {path_name(path)}{did_you_mean(key, allowed)}"
            yield Finding((*path, key), message)
    for key in required:
        # A misspelt key is one mistake, although the correct key is missing as well.
        if key not in data and all(present in allowed for present in data):
            yield _expected(path, f"the key {key}")


def _lists(path: Path, data: Any, keys: tuple[str, ...], min_length: int = 0) -> Iterator[Finding]:
    for key in keys:
        if isinstance(data, Mapping) and key in data:
            if not isinstance(data[key], list):
                yield _expected((*path, key), "a list")
            elif len(data[key]) < min_length:
                yield _expected((*path, key), "at least one item")


def _items(path: Path, data: Any, key: str) -> Iterator[tuple[Path, Any]]:
    items = data.get(key) if isinstance(data, Mapping) else None
    if isinstance(items, list):
        yield from (((*path, key, index), item) for index, item in enumerate(items))


def _expected(path: Path, content: str) -> Finding:
    return Finding(path, f"{path_name(path)}: expected {content}")


RULES: Final = (Rule("affinity", "error", "An affinity has a shape that Kubernetes does not accept.", _check),)
