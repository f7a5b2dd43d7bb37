"""What the policies of tfgen.yaml say of a job's objects, and of the pods that these make.

    find_policy_problems(document, built, folders)
      ->  (Problem("job.yaml", ..., "StatefulSet mnist-worker: only 5 replicas (policies/replicas.yaml:12:19)", ...),)

A binding's `Deny` is an error, and its `Warn` a warning. `Audit` alone is a matter of the cluster's log. What cannot be
evaluated is a warning at the policy, so that nothing passes for a verdict that is none.
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
    find_doubled,
    folders_of,
)
from tfgen.check.admission.matching import Request, both, is_about
from tfgen.check.admission.rules import POLICY_DENIED, POLICY_NOT_EVALUATED, POLICY_WARNING
from tfgen.check.admission.verdict import Decision, judge
from tfgen.check.object_checks.pods import literal_pods, pods_of
from tfgen.data_path import Path
from tfgen.kubernetes.defaulted import defaulted
from tfgen.kubernetes.label_selector import matches
from tfgen.kubernetes.object import Object
from tfgen.problems import Problem, Severity
from tfgen.text.document import Document
from tfgen.words import shown


class PolicyFault(NamedTuple):
    """What a policy says of an object.

    Attributes:
        item: the object of the job.
        expression: what does not hold; it names the fields that it is about.
    """

    rule: str
    item: Object
    message: str
    expression: str


class _Bound(NamedTuple):
    """A policy as a binding applies it, with all that the two may name."""

    policy: Document
    binding: Document
    around: tuple[Document, ...]

    @property
    def actions(self) -> Sequence[str]:
        actions: Sequence[str] = self.binding.data["spec"]["validationActions"]
        return actions

    @property
    def namespaces(self) -> tuple[Object, ...]:
        return tuple(document.data for document in self.around if document.data["kind"] == "Namespace")


def find_policy_problems(document: Document, folders: PolicyFolders) -> Iterator[Problem]:
    """What is wrong with the folders of policies themselves."""
    of_job = folders_of(document, folders)
    for folder in of_job:
        yield from folder.problems
    yield from find_doubled(of_job)
    names = {binding.data["spec"]["policyName"] for folder in of_job for binding in folder.of_kind(BINDING)}
    for folder in of_job:
        for policy in folder.of_kind(POLICY):
            if policy.data["metadata"]["name"] not in names:
                message = f"no {BINDING} names it, in this folder or in one of a tfgen.yaml above or below"
                yield _not_evaluated(policy, ("metadata", "name"), message)
    for known, binding in _bindings(of_job):
        name = binding.data["spec"]["policyName"]
        if not any(policy.data["metadata"]["name"] == name for policy in _of_kind(known, POLICY)):
            message = f"there is no {POLICY} {shown(name)} in this folder, nor in one of a tfgen.yaml above"
            yield _not_evaluated(binding, ("spec", "policyName"), message)


def find_policy_faults(
    document: Document, folders: PolicyFolders, items: Sequence[Object], namespace: str | None
) -> Iterator[PolicyFault | Problem]:
    """What the policies say of the objects of one environment: of an object, or of themselves.

    Args:
        document: the job.
        folders: those of the repository.
        items: the objects.
        namespace: what they go to; None where the job leaves it open.
    """
    bound = [*_bound(folders_of(document, folders))]
    requests = [request for item in items for request in requests_of(item, namespace)] if bound else []
    for one in bound:
        for request in requests:
            yield from _of_request(one, request)


def _of_request(bound: _Bound, request: Request) -> Iterator[PolicyFault | Problem]:
    policy, binding = bound.policy.data["spec"], bound.binding.data["spec"]
    is_matched = both(
        is_about(resources, request, bound.namespaces)
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
        for decision in judge(policy, param, request, bound.namespaces):
            yield from _faults(bound, request, decision)


def _faults(bound: _Bound, request: Request, decision: Decision) -> Iterator[PolicyFault | Problem]:
    if not decision.is_known:
        yield _not_evaluated(bound.policy, decision.path, decision.message)
        return
    rule = POLICY_DENIED if "Deny" in bound.actions or decision.is_strict else POLICY_WARNING
    if rule == POLICY_DENIED or "Warn" in bound.actions:
        message = f"{decision.message} (by {bound.policy.place(decision.path)})"
        expression = data_path.follow(bound.policy.data, decision.path)
        what = f"its pods: {message}" if request.is_of_pods else message
        yield PolicyFault(rule, request.owner, what, _whole_expression(bound.policy.data["spec"], expression))


def _whole_expression(policy: Mapping[str, Any], expression: str) -> str:
    """An expression with those of the variables that it reads before it."""
    variables = policy.get("variables") or ()
    read = [one["expression"] for one in variables if f"variables.{one['name']}" in expression]
    return " ; ".join((*read, expression))


def _not_evaluated(document: Document, path: Path, message: str) -> Problem:
    severity: Severity = "warning"
    name = document.data["metadata"]["name"]
    return Problem(*document.place(path), f"{name} is not evaluated: {message}", POLICY_NOT_EVALUATED, severity)


# -- what a binding names ------------------------------------------------------------------------------------------


def _bindings(folders: Sequence[PolicyFolder]) -> Iterator[tuple[tuple[Document, ...], Document]]:
    """Each binding with the manifests of its folder and of those above it."""
    known: tuple[Document, ...] = ()
    for folder in folders:
        known = (*known, *folder.documents)
        for binding in folder.of_kind(BINDING):
            yield known, binding


def _bound(folders: Sequence[PolicyFolder]) -> Iterator[_Bound]:
    for known, binding in _bindings(folders):
        for policy in _of_kind(known, POLICY):
            if policy.data["metadata"]["name"] == binding.data["spec"]["policyName"]:
                yield _Bound(policy, binding, known)


def _of_kind(documents: Sequence[Document], kind: str) -> Iterator[Document]:
    return (document for document in documents if document.data["kind"] == kind)


def _params(bound: _Bound, request: Request) -> Sequence[Object | None] | str:
    """What the policy gets as `params`, one after the other; or why that is not known."""
    kind = bound.policy.data["spec"].get("paramKind")
    reference = bound.binding.data["spec"].get("paramRef")
    if kind is None or reference is None:
        return (None,)
    namespace = reference.get("namespace") or request.namespace
    items = [
        document.data
        for document in bound.around
        if (document.data["apiVersion"], document.data["kind"]) == (kind["apiVersion"], kind["kind"])
        and document.data["metadata"].get("namespace", namespace) == namespace
        and _is_referenced(reference, document.data)
    ]
    wanted = f"the {kind['kind']} {shown(reference['name'])}" if "name" in reference else f"a {kind['kind']}"
    return items or f"{wanted} that paramRef names is no manifest beside the policies"


def _is_referenced(reference: Mapping[str, Any], item: Object) -> bool:
    if "name" in reference:
        return bool(item["metadata"]["name"] == reference["name"])
    return matches(reference["selector"], item["metadata"].get("labels") or {})


# -- what reaches the API server -----------------------------------------------------------------------------------


def requests_of(item: Object, namespace: str | None) -> Iterator[Request]:
    """An object as it is created, and its pods as their controller creates them, with what the API server fills in."""
    own = Request(item, item, namespace)
    where = {"namespace": namespace} if namespace and not own.is_cluster_wide else {}
    yield own.replaced(item=defaulted({**item, "metadata": {**item["metadata"], **where}}))
    for pods in () if item["kind"] == "Pod" else (*pods_of(item), *literal_pods(item)):
        metadata = {"labels": {**pods.labels}, "annotations": {**pods.annotations}, **where}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {key: value for key, value in metadata.items() if value},
            "spec": pods.spec,
        }
        yield Request(defaulted(pod), item, namespace, is_of_pods=True)


# -- where a job says it -------------------------------------------------------------------------------------------


def field_names(expression: str) -> tuple[str, ...]:
    """The fields that an expression is about, the innermost first, without those that any object has."""
    return tuple(name for name in reversed(fields(expression)) if name not in _EVERYWHERE)


_EVERYWHERE: Final = ("spec", "template", "metadata", "name", "namespace", "variables", "object", "params")
