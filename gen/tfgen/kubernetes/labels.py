"""Labels of objects: evaluation of selectors, and the labels that the controllers of Kubernetes add to their pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, group
from tfgen.record import EMPTY, Record

# -- selectors ---------------------------------------------------------------------------------------------------------
#
# https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a LabelSelector matches the labels of an object. An empty selector matches every object."""
    required: Mapping[str, str] = selector.get("matchLabels") or {}
    return required.items() <= labels.items() and meets(selector.get("matchExpressions") or (), labels)


def meets(expressions: Iterable[Mapping[str, Any]], labels: Mapping[str, str]) -> bool:
    """Return whether labels meet all expressions of a selector, including the operators Gt and Lt of node selectors."""
    return all(_holds(expression, labels) for expression in expressions)


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case "Gt" | "Lt" as operator:
            return _compares(operator, labels.get(key), values)
        case _:
            return False


def _compares(operator: str, label: str | None, values: Iterable[str]) -> bool:
    """Test whether `label`, the value of a label, is greater or less than the only item of `values`.

    The operator is `Gt` or `Lt`. The result is False if a value is not a number.
    """
    try:
        number, (bound,) = int(label or ""), map(int, values)
    except ValueError:
        return False
    return number > bound if operator == "Gt" else number < bound


# -- labels of controllers ---------------------------------------------------------------------------------------------
#
# https://kubernetes.io/docs/reference/labels-annotations-taints/


class AddedLabels(Record):
    """Labels that a controller adds to its pods.

    Attributes:
        common: the labels of every pod.
        numbered: one mapping for each pod, with the labels whose values differ between pods. Example for a StatefulSet:
            ({"apps.kubernetes.io/pod-index": "0"}, {"apps.kubernetes.io/pod-index": "1"}). If no label differs, the
            tuple is empty.
        opaque: the keys of labels whose values tfgen cannot predict, such as `pod-template-hash`. All pods of the
            controller have the same values.
        controller: the kind and the name of the controller, such as `StatefulSet mnist-ps`.
    """

    common: Mapping[str, str] = EMPTY
    numbered: tuple[Mapping[str, str], ...] = ()
    opaque: frozenset[str] = frozenset()
    controller: str = ""


def added_labels(owner: Object, count: int) -> AddedLabels:
    """Return the labels that a controller of Kubernetes adds to the pods of an object.

    Args:
        owner: the object that creates the pods, such as a StatefulSet. For an object of an operator, such as a TFJob,
            the result contains no labels.
        count: the number of pods.
    """
    added = _CONTROLLERS.get((group(owner), owner["kind"]), _no_labels)(owner, count)
    return added.replaced(controller=f"{owner['kind']} {owner['metadata']['name']}")


def _of_stateful_set(owner: Object, count: int) -> AddedLabels:
    start = (owner["spec"].get("ordinals") or {}).get("start", 0)
    name = owner["metadata"]["name"]
    numbered = (
        {keys.STATEFUL_SET_POD: f"{name}-{index}", keys.STATEFUL_SET_INDEX: str(index)}
        for index in range(start, start + count)
    )
    return AddedLabels(numbered=tuple(numbered), opaque=frozenset({"controller-revision-hash"}))


def _of_job(owner: Object, count: int) -> AddedLabels:
    is_indexed = owner["spec"].get("completionMode") == "Indexed"
    return AddedLabels(
        common=dict.fromkeys(keys.JOB_NAMES, owner["metadata"]["name"]),
        numbered=tuple({keys.JOB_INDEX: str(index)} for index in range(count)) if is_indexed else (),
        opaque=frozenset({"batch.kubernetes.io/controller-uid", "controller-uid"}),
    )


def _of_deployment(owner: Object, count: int) -> AddedLabels:
    del owner, count
    return AddedLabels(opaque=frozenset({"pod-template-hash"}))


def _of_daemon_set(owner: Object, count: int) -> AddedLabels:
    del owner, count
    return AddedLabels(opaque=frozenset({"controller-revision-hash", "pod-template-generation"}))


def _no_labels(owner: Object, count: int) -> AddedLabels:
    del owner, count
    return AddedLabels()


_CONTROLLERS: Final[Mapping[tuple[str, str], Callable[[Object, int], AddedLabels]]] = {
    ("apps", "StatefulSet"): _of_stateful_set,
    ("apps", "Deployment"): _of_deployment,
    ("apps", "DaemonSet"): _of_daemon_set,
    ("batch", "Job"): _of_job,
}
