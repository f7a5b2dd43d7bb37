"""Whether a policy, or its binding, is about a request: by resource, by the labels of the object and of its namespace.

https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/. An answer is True, False, or the
reason why nobody here knows.
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
"""The label that the API server gives each namespace: its name."""

_OPERATION: Final = "CREATE"


class Request(Record):
    """An object on its way into the cluster.

    Attributes:
        item: the object, as the API server has it.
        owner: the object of the job that it is or, as a pod, is made of.
        namespace: None where the job leaves it to whoever applies it, or where the object is in none.
        is_of_pods: whether a controller sends it.
    """

    item: Object
    owner: Object
    namespace: str | None
    is_of_pods: bool = False

    @property
    def group(self) -> str:
        """The API group of its kind."""
        return group(self.item)

    @property
    def version(self) -> str:
        """The version of its API group."""
        version: str = self.item["apiVersion"].rpartition("/")[2]
        return version

    @property
    def resource(self) -> str:
        """The plural by which the API server calls its kind.

        https://github.com/kubernetes/apimachinery/blob/v0.36.0/pkg/api/meta/restmapper.go (UnsafeGuessKindToResource)
        """
        kind: str = self.item["kind"].lower()
        if kind.endswith("s"):
            return f"{kind}es"
        return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"

    @property
    def is_cluster_wide(self) -> bool:
        """Whether the object is in no namespace."""
        return self.item["kind"] in CLUSTER_KINDS

    @property
    def name(self) -> str:
        """The object in words."""
        name = f"{self.owner['kind']} {self.owner['metadata']['name']}"
        return f"a pod of {name}" if self.is_of_pods else name


def both(answers: Iterable[Answer]) -> Answer:
    """Whether all hold: not where one does not, and unknown where one is."""
    answers = tuple(answers)
    if False in answers:
        return False
    return next((answer for answer in answers if isinstance(answer, str)), True)


def either(answers: Iterable[Answer]) -> Answer:
    """Whether one holds, and unknown where none does and one is."""
    answers = tuple(answers)
    if True in answers:
        return True
    return next((answer for answer in answers if isinstance(answer, str)), False)


def is_about(resources: Mapping[str, Any], request: Request, namespaces: Iterable[Object]) -> Answer:
    """Whether the MatchResources of a policy or a binding match a request.

    Args:
        resources: `spec.matchConstraints`, or `spec.matchResources`.
        request: the object.
        namespaces: those that are known.
    """
    rules = resources.get("resourceRules") or ()
    excluded = either(_matches_rule(rule, request, resources) for rule in resources.get("excludeResourceRules") or ())
    return both(
        (
            either(_matches_rule(rule, request, resources) for rule in rules) if rules else True,
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
        return "it is for UPDATE, and tfgen looks at objects as they are created" if "UPDATE" in operations else False
    if _has(rule.get("apiVersions"), request.version):
        return True
    if resources.get("matchPolicy") == "Exact":
        return False
    return f"it is for another version of {request.resource} than {request.version}"


def _has(names: Iterable[str] | None, name: str) -> bool:
    return any(known in ("*", name) for known in names or ())


def _matches_namespace(selector: Mapping[str, Any], request: Request, namespaces: Iterable[Object]) -> Answer:
    """Whether the namespace has the labels. Of one that no file describes, the label of its name alone is known."""
    if request.is_cluster_wide or not (selector.get("matchLabels") or selector.get("matchExpressions")):
        return True
    if request.namespace is None:
        return "the job says no namespace, so its labels are not known"
    namespace = find_namespace(request.namespace, namespaces)
    if namespace is not None:
        return matches(selector, namespace["metadata"]["labels"])
    labels = {NAMESPACE_NAME: request.namespace}
    requirements: list[Mapping[str, Any]] = [
        *({"matchLabels": {key: value}} for key, value in (selector.get("matchLabels") or {}).items()),
        *({"matchExpressions": [expression]} for expression in selector.get("matchExpressions") or ()),
    ]
    unknown = (
        f"the labels of the namespace {shown(request.namespace)} are not known; put a manifest of the namespace beside "
        "the policies"
    )
    return both(
        matches(requirement, labels) if _keys(requirement) == {NAMESPACE_NAME} else unknown
        for requirement in requirements
    )


def find_namespace(name: str, namespaces: Iterable[Object]) -> Object | None:
    """A namespace that a file describes, with the label that the API server adds."""
    for namespace in namespaces:
        if namespace["metadata"]["name"] == name:
            metadata = namespace["metadata"]
            labels = {**(metadata.get("labels") or {}), NAMESPACE_NAME: name}
            return {**namespace, "metadata": {**metadata, "labels": labels}}
    return None


def _keys(requirement: Mapping[str, Any]) -> set[str]:
    expressions = requirement.get("matchExpressions") or ()
    return {*(requirement.get("matchLabels") or ()), *(expression["key"] for expression in expressions)}
