"""Evaluation of the admission policies that tfgen.yaml names, for the objects of a job and for their pods.

The action `Deny` of a binding is an error, and `Warn` is a warning. `Audit` only writes to the log of the cluster, so
tfgen reports nothing. A policy that tfgen cannot evaluate gets a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.check.admission.expressions import fields
from tfgen.check.admission.folder import (
    BINDING,
    POLICY,
    PolicyFolder,
    PolicyFolders,
    find_duplicates,
    folders_of,
)
from tfgen.check.admission.matching import Request, all_of, matches_resources
from tfgen.check.admission.rules import POLICY_DENIED, POLICY_NOT_EVALUATED, POLICY_WARNING
from tfgen.check.admission.verdict import Decision, evaluate_policy
from tfgen.check.object_checks.pods import literal_pods, pods_of
from tfgen.data_path import Path
from tfgen.kubernetes.defaulted import defaulted
from tfgen.kubernetes.label_selector import matches
from tfgen.kubernetes.object import Object
from tfgen.kubernetes.scope import CLUSTER_KINDS
from tfgen.problems import Problem, Severity
from tfgen.text.document import Document
from tfgen.words import shown


class PolicyFault(NamedTuple):
    """A violation of a policy by an object.

    Attributes:
        item: the object that violates the policy; for a pod of a controller, the object that creates the pod.
        expression: the expressions of the policy variables that the failed expression reads, followed by the failed
            expression.
    """

    rule: str
    item: Object
    message: str
    expression: str


class _BoundPolicy(NamedTuple):
    """An admission policy with one of its bindings.

    `manifests` are all manifests that the binding may need: Namespaces, and objects such as the ConfigMap that
    `paramRef` names.
    """

    policy: Document
    binding: Document
    manifests: tuple[Document, ...]

    @property
    def actions(self) -> Sequence[str]:
        actions: Sequence[str] = self.binding.data["spec"]["validationActions"]
        return actions

    @property
    def namespaces(self) -> tuple[Object, ...]:
        return tuple(document.data for document in self.manifests if document.data["kind"] == "Namespace")


def find_policy_problems(document: Document, folders: PolicyFolders) -> Iterator[Problem]:
    """Yield the problems of the manifests in all policy folders that apply to a job."""
    job_folders = folders_of(document, folders)
    for folder in job_folders:
        yield from folder.problems
    yield from find_duplicates(job_folders)
    names = {binding.data["spec"]["policyName"] for folder in job_folders for binding in folder.of_kind(BINDING)}
    for folder in job_folders:
        for policy in folder.of_kind(POLICY):
            if policy.data["metadata"]["name"] not in names:
                message = f"no {BINDING} in the folders of policies names the policy; add a binding"
                yield _not_evaluated(policy, ("metadata", "name"), message)
    for manifests, binding in _bindings(job_folders):
        name = binding.data["spec"]["policyName"]
        if not any(policy.data["metadata"]["name"] == name for policy in _of_kind(manifests, POLICY)):
            message = (
                f"found no {POLICY} {shown(name)} in this folder or in the folders of policies of parent folders; add "
                "the policy, or correct policyName"
            )
            yield _not_evaluated(binding, ("spec", "policyName"), message)


def find_policy_faults(
    document: Document, folders: PolicyFolders, items: Sequence[Object], namespace: str | None
) -> Iterator[PolicyFault | Problem]:
    """Check the objects of one environment against the admission policies of a job.

    Yield a `PolicyFault` for each violation, and a `Problem` for each policy that tfgen cannot evaluate.

    Args:
        document: the job.
        folders: the policy folders of the repository.
        items: the objects.
        namespace: the namespace of the objects; None if the job sets no namespace.
    """
    bound_policies = [*_bound_policies(folders_of(document, folders))]
    requests = [request for item in items for request in requests_of(item, namespace)] if bound_policies else []
    for bound in bound_policies:
        for request in requests:
            yield from _evaluate(bound, request)


def _evaluate(bound: _BoundPolicy, request: Request) -> Iterator[PolicyFault | Problem]:
    policy, binding = bound.policy.data["spec"], bound.binding.data["spec"]
    is_matched = all_of(
        matches_resources(resources, request, bound.namespaces)
        for resources in (policy["matchConstraints"], binding.get("matchResources") or {})
    )
    if is_matched is False:
        return
    if isinstance(is_matched, str):
        yield _not_evaluated(bound.policy, ("spec", "matchConstraints"), is_matched)
        return
    params = _params(bound, request)
    if isinstance(params, str):
        yield _not_evaluated(bound.binding, ("spec", "paramRef"), params)
        return
    for param in params:
        for decision in evaluate_policy(policy, param, request, bound.namespaces):
            yield from _faults(bound, request, decision)


def _faults(bound: _BoundPolicy, request: Request, decision: Decision) -> Iterator[PolicyFault | Problem]:
    if not decision.is_known:
        yield _not_evaluated(bound.policy, decision.path, decision.message)
        return
    rule = POLICY_DENIED if "Deny" in bound.actions or decision.ignores_actions else POLICY_WARNING
    if rule == POLICY_DENIED or "Warn" in bound.actions:
        pods = ", for the pods" if request.is_of_pods else ""
        message = f"{decision.message} (by {bound.policy.place(decision.path)}{pods})"
        expression = data_path.follow(bound.policy.data, decision.path)
        yield PolicyFault(rule, request.owner, message, _whole_expression(bound.policy.data["spec"], expression))


def _whole_expression(policy: Mapping[str, Any], expression: str) -> str:
    """Return a text with the expressions of the policy variables that `expression` reads, followed by `expression`.

    The parameter `policy` is the spec of the policy.
    """
    variables = policy.get("variables") or ()
    read = [variable["expression"] for variable in variables if f"variables.{variable['name']}" in expression]
    return " ; ".join((*read, expression))


def _not_evaluated(document: Document, path: Path, message: str) -> Problem:
    severity: Severity = "warning"
    name = document.data["metadata"]["name"]
    return Problem(*document.place(path), f"tfgen does not evaluate {name}: {message}", POLICY_NOT_EVALUATED, severity)


# -- bindings and params -------------------------------------------------------------------------------------------


def _bindings(folders: Sequence[PolicyFolder]) -> Iterator[tuple[tuple[Document, ...], Document]]:
    """Yield each binding in the policy folders of a job, with the manifests to which the binding may refer.

    These manifests are in the policy folder of the binding, and in the policy folders of the tfgen.yaml files in parent
    folders. The first item of `folders` is the policy folder of the root tfgen.yaml.
    """
    manifests: tuple[Document, ...] = ()
    for folder in folders:
        manifests = (*manifests, *folder.documents)
        for binding in folder.of_kind(BINDING):
            yield manifests, binding


def _bound_policies(folders: Sequence[PolicyFolder]) -> Iterator[_BoundPolicy]:
    for manifests, binding in _bindings(folders):
        for policy in _of_kind(manifests, POLICY):
            if policy.data["metadata"]["name"] == binding.data["spec"]["policyName"]:
                yield _BoundPolicy(policy, binding, manifests)


def _of_kind(documents: Sequence[Document], kind: str) -> Iterator[Document]:
    return (document for document in documents if document.data["kind"] == kind)


def _params(bound: _BoundPolicy, request: Request) -> Sequence[Object | None] | str:
    """Return the objects that a policy receives as `params`, or the reason why tfgen does not know such an object.

    The result for a policy without params is (None,).
    """
    kind = bound.policy.data["spec"].get("paramKind")
    reference = bound.binding.data["spec"].get("paramRef")
    if kind is None or reference is None:
        return (None,)
    namespace = reference.get("namespace") or request.namespace
    items = [
        document.data
        for document in bound.manifests
        if (document.data["apiVersion"], document.data["kind"]) == (kind["apiVersion"], kind["kind"])
        and document.data["metadata"].get("namespace", namespace) == namespace
        and _is_referenced(reference, document.data)
    ]
    target = f"the {kind['kind']} {shown(reference['name'])}" if "name" in reference else f"a {kind['kind']}"
    return items or f"the folder of policies lacks {target}, which paramRef names; add a manifest"


def _is_referenced(reference: Mapping[str, Any], item: Object) -> bool:
    if "name" in reference:
        return bool(item["metadata"]["name"] == reference["name"])
    return matches(reference["selector"], item["metadata"].get("labels") or {})


# -- requests to the API server ------------------------------------------------------------------------------------


def requests_of(item: Object, namespace: str | None) -> Iterator[Request]:
    """Yield the request to create `item`, and then a request for each group of equal pods that `item` creates.

    Each request contains the object with the defaults that the API server adds.
    """
    # The API server leaves the namespace of a request for a cluster-wide object empty.
    request = Request(item, item, None if item["kind"] in CLUSTER_KINDS else namespace)
    where = {"namespace": request.namespace} if request.namespace else {}
    yield request.replaced(item=defaulted({**item, "metadata": {**item["metadata"], **where}}))
    for pods in () if item["kind"] == "Pod" else (*pods_of(item), *literal_pods(item)):
        metadata = {"labels": {**pods.labels}, "annotations": {**pods.annotations}, **where}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {key: value for key, value in metadata.items() if value},
            "spec": pods.spec,
        }
        yield Request(defaulted(pod), item, namespace, is_of_pods=True)


# -- fields of an expression ---------------------------------------------------------------------------------------


def field_names(expression: str) -> tuple[str, ...]:
    """Return the names of the fields that an expression reads, last name first, without common names such as `spec`."""
    return tuple(name for name in reversed(fields(expression)) if name not in _EVERYWHERE)


_EVERYWHERE: Final = ("spec", "template", "metadata", "name", "namespace", "variables", "object", "params")
