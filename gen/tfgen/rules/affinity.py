"""An affinity in a shape that Kubernetes does not have.

The schema lets Kubernetes' three kinds through as they are written; this holds them to their types in
https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#scheduling.
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
    yield from _whole(view, ("affinity",), view.values["affinity"])
    for role in view.roles:
        path: Path = ("roles", role.name, "affinity")
        yield from _whole(view, path, view.values["roles"][role.name]["affinity"])


def _whole(view: View, path: Path, rules: Mapping[str, Any]) -> Iterator[Finding]:
    findings = list(_affinity(path, rules))
    yield from findings
    # Most affinities are empty, and the table need not be read.
    for misfit in kubernetes_fields.misfits(path, rules, "Affinity", view.text) if rules else ():
        around = {misfit.path[:end] for end in range(len(misfit.path) + 1)}
        if misfit.mistake == "shape" and not any(finding.path in around for finding in findings):
            yield Finding(misfit.path, misfit.message)


def _affinity(path: Path, rules: Mapping[str, Any]) -> Iterator[Finding]:
    for kind, rule in rules.items():
        yield from _of_nodes((*path, kind), rule) if kind == "nodeAffinity" else _of_pods((*path, kind), rule)


def _of_nodes(path: Path, rule: Any) -> Iterator[Finding]:
    yield from _mapping(path, rule, (_REQUIRED, _PREFERRED))
    if _REQUIRED in rule:
        here = (*path, _REQUIRED)
        yield from _mapping(here, rule[_REQUIRED], ("nodeSelectorTerms",), needs=("nodeSelectorTerms",))
        for place, term in _items(here, rule[_REQUIRED], "nodeSelectorTerms"):
            yield from _node_term(place, term)
        yield from _lists(here, rule[_REQUIRED], ("nodeSelectorTerms",), least=1)
    yield from _lists(path, rule, (_PREFERRED,))
    for place, wish in _items(path, rule, _PREFERRED):
        yield from _wish(place, wish, "preference")
        if isinstance(wish, Mapping) and "preference" in wish:
            yield from _node_term((*place, "preference"), wish["preference"])


def _node_term(path: Path, term: Any) -> Iterator[Finding]:
    yield from _mapping(path, term, _EXPRESSIONS)
    yield from _lists(path, term, _EXPRESSIONS)
    for key in _EXPRESSIONS:
        for place, expression in _items(path, term, key):
            yield from _expression(place, expression, _NUMBER_OPERATORS)


def _of_pods(path: Path, rule: Any) -> Iterator[Finding]:
    yield from _mapping(path, rule, (_REQUIRED, _PREFERRED))
    yield from _lists(path, rule, (_REQUIRED, _PREFERRED))
    for place, term in _items(path, rule, _REQUIRED):
        yield from _pod_term(place, term)
    for place, wish in _items(path, rule, _PREFERRED):
        yield from _wish(place, wish, "podAffinityTerm")
        if isinstance(wish, Mapping) and "podAffinityTerm" in wish:
            yield from _pod_term((*place, "podAffinityTerm"), wish["podAffinityTerm"])


def _pod_term(path: Path, term: Any) -> Iterator[Finding]:
    yield from _mapping(path, term, _TERM, needs=("topologyKey",))
    yield from _lists(path, term, ("namespaces", "matchLabelKeys", "mismatchLabelKeys"))
    for key in ("labelSelector", "namespaceSelector"):
        if isinstance(term, Mapping) and key in term:
            here = (*path, key)
            yield from _mapping(here, term[key], ("matchLabels", "matchExpressions"))
            yield from _lists(here, term[key], ("matchExpressions",))
            for place, expression in _items(here, term[key], "matchExpressions"):
                yield from _expression(place, expression, ())


def _wish(path: Path, wish: Any, what: str) -> Iterator[Finding]:
    yield from _mapping(path, wish, ("weight", what), needs=("weight", what))
    weight = wish.get("weight", 1) if isinstance(wish, Mapping) else 1
    if not isinstance(weight, int) or isinstance(weight, bool) or not 1 <= weight <= _WEIGHT_MAX:
        yield _expected((*path, "weight"), f"an integer from 1 to {_WEIGHT_MAX}")


def _expression(path: Path, expression: Any, more: tuple[str, ...]) -> Iterator[Finding]:
    yield from _mapping(path, expression, ("key", "operator", "values"), needs=("key", "operator"))
    yield from _lists(path, expression, ("values",))
    if not isinstance(expression, Mapping) or "operator" not in expression:
        return
    operator, values = expression["operator"], expression.get("values", [])
    if not isinstance(values, list):
        return
    if operator not in (known := (*_SET_OPERATORS, *_KEY_OPERATORS, *more)):
        yield _expected((*path, "operator"), f"one of {either(known)}")
    elif operator in _SET_OPERATORS and not values:
        yield _expected(path, f"values, which {operator} looks for")
    elif operator in _KEY_OPERATORS and values:
        yield _expected((*path, "values"), f"none, for {operator} looks at the key alone")
    elif operator in more and len(values) != 1:
        yield _expected(path, f"one value, with which {operator} compares")


def _mapping(path: Path, data: Any, known: tuple[str, ...], needs: tuple[str, ...] = ()) -> Iterator[Finding]:
    if not isinstance(data, Mapping):
        yield _expected(path, f"a mapping with {either(known, 'and')}" if needs else f"a mapping with {either(known)}")
        return
    for key in data:
        if key not in known:
            message = f"unknown key {shown(key)} in {path_name(path)}{did_you_mean(key, known)}"
            yield Finding((*path, key), message)
    for key in needs:
        # A misspelt key is one mistake, although its real name is missing now.
        if key not in data and all(other in known for other in data):
            yield _expected(path, f"the key {key} in it")


def _lists(path: Path, data: Any, keys: tuple[str, ...], least: int = 0) -> Iterator[Finding]:
    for key in keys:
        if isinstance(data, Mapping) and key in data:
            if not isinstance(data[key], list):
                yield _expected((*path, key), "a list")
            elif len(data[key]) < least:
                yield _expected((*path, key), "at least one item")


def _items(path: Path, data: Any, key: str) -> Iterator[tuple[Path, Any]]:
    items = data.get(key) if isinstance(data, Mapping) else None
    if isinstance(items, list):
        yield from (((*path, key, index), item) for index, item in enumerate(items))


def _expected(path: Path, what: str) -> Finding:
    return Finding(path, f"{path_name(path)}: expected {what}")


RULES: Final = (Rule("affinity", "error", "An affinity has a shape that Kubernetes does not have.", _check),)
