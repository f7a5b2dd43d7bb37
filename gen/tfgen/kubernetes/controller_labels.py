"""Labels that the controllers of Kubernetes add to their pods, such as `apps.kubernetes.io/pod-index`.

https://kubernetes.io/docs/reference/labels-annotations-taints/
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, group
from tfgen.record import EMPTY, Record


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
