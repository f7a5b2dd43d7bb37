"""Check if a policy or a binding applies to a request, by resource, object labels and namespace labels.

https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/. An answer is True or False, or a
text with the reason why only a cluster knows the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from tfgen.kubernetes.label_selector import matches
from tfgen.kubernetes.object import Object, group
from tfgen.kubernetes.scope import CLUSTER_KINDS
from tfgen.record import Record
from tfgen.words import shown

Answer: TypeAlias = bool | str

NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""Key of the label with the name of a namespace. The API server sets this label on each Namespace."""

_OPERATION: Final = "CREATE"


class Request(Record):
    """A request to create an object.

    Attributes:
        item: the object, with the defaults of the API server.
        owner: the object of the job that causes the request. For a pod of a controller, `owner` is the object that
            creates the pod, such as a StatefulSet.
        namespace: the namespace of the job; None if the job sets no namespace.
        is_of_pods: True for a pod that a controller creates.
    """

    item: Object
    owner: Object
    namespace: str | None
    is_of_pods: bool = False

    @property
    def group(self) -> str:
        """The API group of the object's kind."""
        return group(self.item)

    @property
    def version(self) -> str:
        """The version of the object's API group."""
        version: str = self.item["apiVersion"].rpartition("/")[2]
        return version

    @property
    def resource(self) -> str:
        """The plural name of the object's kind in the API.

        https://github.com/kubernetes/apimachinery/blob/v0.36.0/pkg/api/meta/restmapper.go (UnsafeGuessKindToResource)
        """
        kind: str = self.item["kind"].lower()
        if kind.endswith("s"):
            return f"{kind}es"
        return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"

    @property
    def is_cluster_wide(self) -> bool:
        """True for an object outside all namespaces."""
        return self.item["kind"] in CLUSTER_KINDS


def all_of(answers: Iterable[Answer]) -> Answer:
    """Combine answers with a logical "and".

    Return False if an answer is False, and True if all answers are True. In all other cases, return the first text,
    which is the reason why only a cluster knows the answer.
    """
    answers = tuple(answers)
    if False in answers:
        return False
    return next((answer for answer in answers if isinstance(answer, str)), True)


def any_of(answers: Iterable[Answer]) -> Answer:
    """Combine answers with a logical "or".

    Return True if an answer is True, and False if all answers are False. In all other cases, return the first text,
    which is the reason why only a cluster knows the answer.
    """
    answers = tuple(answers)
    if True in answers:
        return True
    return next((answer for answer in answers if isinstance(answer, str)), False)


def matches_resources(resources: Mapping[str, Any], request: Request, namespaces: Iterable[Object]) -> Answer:
    """Test whether `resources`, a part of a policy or of a binding, match a request.

    The answer is True, False, or a text with the reason why only a cluster knows the answer.

    Args:
        resources: the `spec.matchConstraints` of a policy, or the `spec.matchResources` of a binding.
        request: the request.
        namespaces: the manifests of namespaces in the folders of policies.
    """
    rules = resources.get("resourceRules") or ()
    excluded = any_of(_matches_rule(rule, request, resources) for rule in resources.get("excludeResourceRules") or ())
    return all_of(
        (
            any_of(_matches_rule(rule, request, resources) for rule in rules) if rules else True,
            (not excluded) if isinstance(excluded, bool) else excluded,
            matches(resources.get("objectSelector") or {}, request.item["metadata"].get("labels") or {}),
            _matches_namespace(resources.get("namespaceSelector") or {}, request, namespaces),
        )
    )


def _matches_rule(rule: Mapping[str, Any], request: Request, resources: Mapping[str, Any]) -> Answer:
    scope = rule.get("scope") or "*"
    names = rule.get("resourceNames")
    operations = rule.get("operations") or ()
    is_of_resource = (
        _has(rule.get("apiGroups"), request.group)
        and any(resource in ("*", "*/*", request.resource) for resource in rule.get("resources") or ())
        and scope in ("*", "Cluster" if request.is_cluster_wide else "Namespaced")
        and (not names or request.item["metadata"].get("name") in names)
    )
    if not is_of_resource:
        return False
    if not _has(operations, _OPERATION):
        return (
            "the policy applies to UPDATE requests, but tfgen checks only CREATE requests"
            if "UPDATE" in operations
            else False
        )
    if _has(rule.get("apiVersions"), request.version):
        return True
    if resources.get("matchPolicy") == "Exact":
        return False
    return f"the policy applies to versions of {request.resource} other than {request.version}"


def _has(names: Iterable[str] | None, name: str) -> bool:
    return any(candidate in ("*", name) for candidate in names or ())


def _matches_namespace(selector: Mapping[str, Any], request: Request, namespaces: Iterable[Object]) -> Answer:
    """Return True if `selector` matches the labels of the request's namespace, and False if not.

    If only a cluster knows these labels, return a text with the reason. Without a manifest of the namespace, tfgen
    knows only the label `kubernetes.io/metadata.name`.
    """
    if request.is_cluster_wide or not (selector.get("matchLabels") or selector.get("matchExpressions")):
        return True
    if request.namespace is None:
        return "the job sets no namespace, so tfgen does not know the labels of the namespace"
    namespace = find_namespace(request.namespace, namespaces)
    if namespace is not None:
        return matches(selector, namespace["metadata"]["labels"])
    labels = {NAMESPACE_NAME: request.namespace}
    requirements: list[Mapping[str, Any]] = [
        *({"matchLabels": {key: value}} for key, value in (selector.get("matchLabels") or {}).items()),
        *({"matchExpressions": [expression]} for expression in selector.get("matchExpressions") or ()),
    ]
    obstacle = (
        f"tfgen does not know the labels of the namespace {shown(request.namespace)}; add a manifest of the namespace "
        "to the folder of policies"
    )
    return all_of(
        matches(requirement, labels) if _keys(requirement) == {NAMESPACE_NAME} else obstacle
        for requirement in requirements
    )


def find_namespace(name: str, namespaces: Iterable[Object]) -> Object | None:
    """Return the manifest of the namespace `name`, or None without a manifest.

    The label `kubernetes.io/metadata.name` is added, as in the API server.
    """
    for namespace in namespaces:
        if namespace["metadata"]["name"] == name:
            metadata = namespace["metadata"]
            labels = {**(metadata.get("labels") or {}), NAMESPACE_NAME: name}
            return {**namespace, "metadata": {**metadata, "labels": labels}}
    return None


def _keys(requirement: Mapping[str, Any]) -> set[str]:
    expressions = requirement.get("matchExpressions") or ()
    return {*(requirement.get("matchLabels") or ()), *(expression["key"] for expression in expressions)}
