"""What a policy says of a request: whether it holds, and with which message it does not.

    judge(policy, params, request, namespaces)
      ->  [Decision(("spec", "validations", 0, "expression"), "object.spec.replicas is more than 5")]

As the API server decides: https://github.com/kubernetes/apiserver/blob/v0.36.0/pkg/admission/plugin/policy/validating/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.check.admission.expressions import Result, evaluate, names
from tfgen.check.admission.matching import NAMESPACE_NAME, Request, find_namespace
from tfgen.data_path import Path
from tfgen.kubernetes.object import Object, group
from tfgen.record import Record
from tfgen.words import shown

_LONGEST_MESSAGE: Final = 5 * 1024
"""Characters of what a messageExpression gives; a longer one counts for nothing."""

_REQUEST: Final = ("kind", "resource", "subResource", "requestKind", "requestResource", "requestSubResource")
_REQUEST_NAMES: Final = (*_REQUEST, "name", "namespace", "operation")
"""What is known of a request before there is one."""

_OF_THE_SERVER: Final = (
    "uid",
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "ownerReferences",
)
"""Metadata that the API server, or a controller, gives an object."""

_OF_A_POD: Final = ("name", "generateName")
"""Metadata that a controller gives a pod."""


class Decision(Record):
    """Why a policy refuses an object, or cannot be evaluated.

    Attributes:
        path: of the expression in the policy.
        message: in words.
        is_known: whether it is a verdict.
        is_strict: whether the object is refused whatever the binding's actions are.
    """

    path: Path
    message: str
    is_known: bool = True
    is_strict: bool = False


def judge(
    policy: Mapping[str, Any], params: Object | None, request: Request, namespaces: Sequence[Object]
) -> Iterator[Decision]:
    """The decisions of a policy that is about a request; none where it admits the object.

    Args:
        policy: its spec.
        params: what the binding gives it.
        request: the object.
        namespaces: those that are known.
    """
    view = _View(policy, params, request, namespaces)
    conditions = [
        (("spec", "matchConditions", index, "expression"), view.result(condition["expression"]))
        for index, condition in enumerate(policy.get("matchConditions") or ())
    ]
    if any(not result.error and not result.unknown and result.value is False for _, result in conditions):
        return
    is_fatal = policy.get("failurePolicy") != "Ignore"
    for path, result in conditions:
        if result.unknown:
            yield Decision(path, result.unknown, is_known=False)
            return
    if wrong := next(((path, result) for path, result in conditions if result.error or result.value is not True), None):
        path, result = wrong
        if is_fatal:
            yield Decision(path, _failed(_expression(policy, path), result))
        return
    for index, validation in enumerate(policy.get("validations") or ()):
        path = ("spec", "validations", index, "expression")
        result = view.result(validation["expression"])
        if result.unknown:
            yield Decision(path, result.unknown, is_known=False)
        elif result.error and is_fatal:
            yield Decision(path, _failed(validation["expression"], result))
        elif not result.error and result.value is not True:
            yield Decision(path, _message(validation, view))
    for index, annotation in enumerate(policy.get("auditAnnotations") or ()):
        path = ("spec", "auditAnnotations", index, "valueExpression")
        result = view.result(annotation["valueExpression"])
        if result.unknown and is_fatal:
            yield Decision(path, result.unknown, is_known=False)
        elif is_fatal and (result.error or not isinstance(result.value, str | None)):
            yield Decision(path, _failed(annotation["valueExpression"], result), is_strict=True)


def _expression(policy: Mapping[str, Any], path: Path) -> str:
    _, key, index, field = path
    expression: str = policy[str(key)][index][field]
    return expression


def _failed(expression: str, result: Result) -> str:
    return f"the expression {shown(expression)} fails: {result.error or 'it gives no such value'}"


def _message(validation: Mapping[str, Any], view: _View) -> str:
    """What a validation says where it does not hold."""
    if expression := validation.get("messageExpression"):
        value = view.result(expression).value
        if isinstance(value, str) and value.strip() and "\n" not in value.strip() and len(value) <= _LONGEST_MESSAGE:
            return value.strip()
    message: str = validation.get("message") or ""
    return message.strip() or f"failed expression: {validation['expression'].strip()}"


class _View:
    """What the expressions of a policy see of one request."""

    def __init__(
        self, policy: Mapping[str, Any], params: Object | None, request: Request, namespaces: Sequence[Object]
    ) -> None:
        self._request = request
        self._namespace = _namespace_object(request, namespaces)
        self._unknown_variables: dict[str, str] = {}
        self._variables: dict[str, Any] = {}
        self._data = {
            "object": request.item,
            "oldObject": None,
            "request": _request_data(request),
            "params": params,
            "namespaceObject": self._namespace or _named_namespace(request),
            "variables": self._variables,
        }
        # A variable that fails is not there, so that whoever reads it fails, and nobody else.
        for variable in policy.get("variables") or ():
            result = self.result(variable["expression"])
            if result.unknown:
                self._unknown_variables[variable["name"]] = result.unknown
            elif not result.error:
                self._variables[variable["name"]] = result.value

    def result(self, expression: str) -> Result:
        """What an expression gives, where all that it reads is known."""
        unknown = next((reason for chain in names(expression) if (reason := self._unknown(chain))), "")
        return Result(unknown=unknown) if unknown else evaluate(expression, self._data)

    def _unknown(self, chain: tuple[str, ...]) -> str:
        """Why nobody here knows what a chain of names leads to; empty where it is known, or an error for everyone."""
        match chain:
            case ("variables", name, *_):
                return self._unknown_variables.get(name, "")
            case ("request", *rest) if not rest or rest[0] not in _REQUEST_NAMES:
                return f"it reads {'.'.join(chain[:2])}, which only a request to a cluster has"
            case ("request", "namespace", *_) | ("object", "metadata", "namespace", *_) if self._has_no_namespace:
                return "it reads the namespace, which the job does not say"
            case ("request", "name", *_) if self._request.is_of_pods:
                return "it reads request.name, which the controller of the pods gives them"
            case ("namespaceObject", *rest) if not (self._is_in_no_namespace or self._namespace):
                if self._has_no_namespace or rest != ["metadata", "name"]:
                    return (
                        "it reads namespaceObject, which is not known; put a manifest of the namespace beside the "
                        "policies"
                    )
            case ("object", "metadata", name, *_) if name in _OF_THE_SERVER:
                return f"it reads object.metadata.{name}, which only an object in a cluster has"
            case ("object", "metadata", name, *_) if name in _OF_A_POD and self._request.is_of_pods:
                return f"it reads object.metadata.{name}, which the controller of the pods gives them"
        return ""

    @property
    def _is_in_no_namespace(self) -> bool:
        return self._request.is_cluster_wide

    @property
    def _has_no_namespace(self) -> bool:
        return self._request.namespace is None and not self._is_in_no_namespace


def _namespace_object(request: Request, namespaces: Sequence[Object]) -> Object | None:
    return find_namespace(request.namespace, namespaces) if request.namespace else None


def _named_namespace(request: Request) -> Object | None:
    """A namespace of which the name alone is known."""
    name = request.namespace
    return {"metadata": {"name": name, "labels": {NAMESPACE_NAME: name}}} if name else None


def _request_data(request: Request) -> Mapping[str, Any]:
    of_group = {"group": group(request.item), "version": request.version}
    kind = {**of_group, "kind": request.item["kind"]}
    resource = {**of_group, "resource": request.resource}
    return {
        "kind": kind,
        "resource": resource,
        "subResource": "",
        "requestKind": kind,
        "requestResource": resource,
        "requestSubResource": "",
        "name": request.item["metadata"].get("name", ""),
        "namespace": request.namespace or "",
        "operation": "CREATE",
    }
