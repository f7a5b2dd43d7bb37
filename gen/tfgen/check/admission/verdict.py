"""Evaluation of a policy for a request, which returns the failed validations with their messages.

The module follows the code of the API server:
https://github.com/kubernetes/apiserver/blob/v0.36.0/pkg/admission/plugin/policy/validating/.
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

_MAX_MESSAGE_LENGTH: Final = 5 * 1024
"""Maximum length of the result of a messageExpression. The API server ignores a longer message."""

_REQUEST: Final = ("kind", "resource", "subResource", "requestKind", "requestResource", "requestSubResource")
_REQUEST_NAMES: Final = (*_REQUEST, "name", "namespace", "operation")
"""Fields of a request that tfgen knows without a cluster."""

_SERVER_METADATA: Final = (
    "uid",
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "ownerReferences",
)
"""Names of the metadata fields that the API server, or a controller, sets on an object."""

_POD_METADATA: Final = ("name", "generateName")
"""Names of the metadata fields that a controller sets on a pod."""


class Decision(Record):
    """The result of a policy for an object: a refusal, or the reason why tfgen cannot evaluate the policy.

    Attributes:
        path: the path of the expression in the policy.
        message: the message of the policy for a refusal, or the reason why tfgen cannot evaluate the policy.
        is_known: True for a refusal, False for a policy that tfgen cannot evaluate.
        ignores_actions: True for a refusal that does not depend on the actions of the binding. For example, the API
            server refuses an object if an audit annotation has an error, even if the only action is `Warn`.
    """

    path: Path
    message: str
    is_known: bool = True
    ignores_actions: bool = False


def evaluate_policy(
    policy: Mapping[str, Any], params: Object | None, request: Request, namespaces: Sequence[Object]
) -> Iterator[Decision]:
    """Evaluate a policy for a request to which the policy applies. Yield a decision for each failed validation.

    Args:
        policy: the spec of the policy.
        params: the object that the binding passes as `params`, or None.
        request: the request.
        namespaces: the manifests of namespaces in the folders of policies.
    """
    view = _View(policy, params, request, namespaces)
    conditions = [
        (("spec", "matchConditions", index, "expression"), view.result(condition["expression"]))
        for index, condition in enumerate(policy.get("matchConditions") or ())
    ]
    # The API server skips the policy if any condition is false, even if a different condition fails.
    if any(not result.error and not result.obstacle and result.value is False for _, result in conditions):
        return
    is_fatal = policy.get("failurePolicy") != "Ignore"
    for path, result in conditions:
        if result.obstacle:
            yield Decision(path, result.obstacle, is_known=False)
            return
    failure = next(((path, result) for path, result in conditions if result.error or result.value is not True), None)
    if failure is not None:
        path, result = failure
        if is_fatal:
            yield Decision(path, _failed(_expression(policy, path), result))
        return
    for index, validation in enumerate(policy.get("validations") or ()):
        path = ("spec", "validations", index, "expression")
        result = view.result(validation["expression"])
        if result.obstacle:
            yield Decision(path, result.obstacle, is_known=False)
        elif result.error and is_fatal:
            yield Decision(path, _failed(validation["expression"], result))
        elif not result.error and result.value is not True:
            yield Decision(path, _message(validation, view))
    for index, annotation in enumerate(policy.get("auditAnnotations") or ()):
        path = ("spec", "auditAnnotations", index, "valueExpression")
        result = view.result(annotation["valueExpression"])
        if result.obstacle and is_fatal:
            yield Decision(path, result.obstacle, is_known=False)
        elif is_fatal and (result.error or not isinstance(result.value, str | None)):
            yield Decision(path, _failed(annotation["valueExpression"], result), ignores_actions=True)


def _expression(policy: Mapping[str, Any], path: Path) -> str:
    _, key, index, field = path
    expression: str = policy[str(key)][index][field]
    return expression


def _failed(expression: str, result: Result) -> str:
    return f"the expression {shown(expression)} fails: {result.error or 'the value has a wrong type'}"


def _message(validation: Mapping[str, Any], view: _View) -> str:
    """Return the message of a failed validation."""
    if expression := validation.get("messageExpression"):
        value = view.result(expression).value
        if isinstance(value, str) and value.strip() and "\n" not in value.strip() and len(value) <= _MAX_MESSAGE_LENGTH:
            return value.strip()
    message: str = validation.get("message") or ""
    return message.strip() or f"failed expression: {validation['expression'].strip()}"


class _View:
    """Evaluator of the expressions of one policy for one request.

    The expressions read names such as `object`, `request`, `params` and `namespaceObject`.
    """

    def __init__(
        self, policy: Mapping[str, Any], params: Object | None, request: Request, namespaces: Sequence[Object]
    ) -> None:
        self._request = request
        self._namespace = _namespace_object(request, namespaces)
        self._obstacles: dict[str, str] = {}
        self._variables: dict[str, Any] = {}
        self._data = {
            "object": request.item,
            "oldObject": None,
            "request": _request_data(request),
            "params": params,
            "namespaceObject": self._namespace or _named_namespace(request),
            "variables": self._variables,
        }
        # Leave out a variable that fails, so that only the expressions that read the variable fail.
        for variable in policy.get("variables") or ():
            result = self.result(variable["expression"])
            if result.obstacle:
                self._obstacles[variable["name"]] = result.obstacle
            elif not result.error:
                self._variables[variable["name"]] = result.value

    def result(self, expression: str) -> Result:
        """Return the result of an expression, or an obstacle if the expression reads data that tfgen does not know."""
        obstacle = next((reason for chain in names(expression) if (reason := self._obstacle(chain))), "")
        return Result(obstacle=obstacle) if obstacle else evaluate(expression, self._data)

    def _obstacle(self, chain: tuple[str, ...]) -> str:
        """Return the reason why tfgen does not know a value such as `object.metadata.uid`; empty for a known value."""
        match chain:
            case ("variables", name, *_):
                return self._obstacles.get(name, "")
            case ("request", *fields) if not fields or fields[0] not in _REQUEST_NAMES:
                return f"the policy reads {'.'.join(chain[:2])}, which only a request to a cluster has"
            case ("request", "namespace", *_) | ("object", "metadata", "namespace", *_) if self._has_no_namespace:
                return "the policy reads the namespace, but the job sets no namespace"
            case ("request", "name", *_) if self._request.is_of_pods:
                return "the policy reads request.name, which the controller of the pods sets"
            case ("namespaceObject", *fields) if not (self._is_in_no_namespace or self._namespace):
                if self._has_no_namespace or fields != ["metadata", "name"]:
                    return "the policy reads namespaceObject; add a manifest of the namespace to the folder of policies"
            case ("object", "metadata", name, *_) if name in _SERVER_METADATA:
                return f"the policy reads object.metadata.{name}, which only an object in a cluster has"
            case ("object", "metadata", name, *_) if name in _POD_METADATA and self._request.is_of_pods:
                return f"the policy reads object.metadata.{name}, which the controller of the pods sets"
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
    """Return a Namespace object with only its name and the label of the name; None if the request has no namespace."""
    name = request.namespace
    return {"metadata": {"name": name, "labels": {NAMESPACE_NAME: name}}} if name else None


def _request_data(request: Request) -> Mapping[str, Any]:
    group_version = {"group": group(request.item), "version": request.version}
    kind = {**group_version, "kind": request.item["kind"]}
    resource = {**group_version, "resource": request.resource}
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
