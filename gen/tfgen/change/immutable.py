"""Changes of a job's objects that Kubernetes refuses, or accepts without an effect on running pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, get_args

from tfgen import data_path
from tfgen.graph.objects import finisher
from tfgen.job.training_job import RoleName
from tfgen.kubernetes import keys, quantity
from tfgen.kubernetes.object import Object, group, identity, literal_name
from tfgen.record import Record
from tfgen.schema.workload_kinds import RESOURCES

NEW_RUN: Final = "new-run"
CLAIM_CHANGE: Final = "claim-change"
OBJECT_CHANGE: Final = "object-change"
PRIORITY_CLASS_CHANGE: Final = "priority-class-change"

RULES: Final[Mapping[str, str]] = {
    CLAIM_CHANGE: "A change makes an existing claim smaller, or changes an immutable field of the claim.",
    NEW_RUN: (
        "A change of a committed run needs a new run, because Kubernetes refuses the change or the running tasks "
        "ignore the change."
    ),
    OBJECT_CHANGE: "A change of an object under `objects` changes an immutable field.",
    PRIORITY_CLASS_CHANGE: "A change of an existing priority class changes an immutable field.",
}
"""Summary of each rule, which is also the first line of the rule's section in docs/rules.md."""


class ForbiddenChange(Record):
    """A change that Kubernetes refuses, or that reaches no running pod.

    Attributes:
        effect: effect of the change as text for a message, such as `the claim model can only grow`.
        before: old object; None for a new object.
        after: new object; None for a removed object.
    """

    effect: str
    before: Object | None
    after: Object | None


def find_forbidden_changes(before: Iterable[Object], after: Iterable[Object]) -> dict[str, ForbiddenChange]:
    """Return the first forbidden change for each rule that the change from `before` to `after` breaks.

    The key is the id of the rule, such as `new-run`. The objects of the finisher come last. So if a change affects both
    a task and the finisher, the result has the change of the task, because a user knows the tasks better. A new or
    removed object breaks a rule only if the object creates tasks.
    """
    was, now = _by_name(before), _by_name(after)
    forbidden: dict[str, ForbiddenChange] = {}
    objects = {**was, **now}
    for key in sorted(objects, key=lambda key: _is_of_finisher(objects[key])):
        _, kind, name = key
        item = objects[key]
        is_literal = literal_name(item) is not None
        if key in was and key in now:
            effect = _effect(was[key], now[key])
        elif not is_literal and _is_task(item):
            effect = f"the change would {'delete' if key in was else 'add'} the {kind} {name} of a run that has started"
        else:
            effect = None
        if effect:
            rule = OBJECT_CHANGE if is_literal else _RULE.get(kind, NEW_RUN)
            forbidden.setdefault(rule, ForbiddenChange(effect, was.get(key), now.get(key)))
    return forbidden


def _effect(was: Object, now: Object) -> str | None:
    """Describe the effect of a change that Kubernetes refuses or ignores; None for a change that Kubernetes applies."""
    if literal_name(was) is not None:
        return _entry_of_objects(was, now)
    find_effect = _EFFECTS.get((group(was), was["kind"]))
    return find_effect(was["metadata"]["name"], was, now) if find_effect else None


_RULE: Final = {"PersistentVolumeClaim": CLAIM_CHANGE, "PriorityClass": PRIORITY_CLASS_CHANGE}


def _by_name(objects: Iterable[Object]) -> dict[tuple[str, str, str], Object]:
    return {identity(item): item for item in objects}


def _is_task(item: Object) -> bool:
    """Return True if an object creates the tasks of a role. The finisher creates no task."""
    if (group(item), item["kind"]) in RESOURCES:
        return True
    return _role(item) in get_args(RoleName)


def _role(item: Object) -> str | None:
    """Return the role of the pods that an object creates."""
    template = item if item["kind"] == "Pod" else item.get("spec", {}).get("template", {})
    labels: Mapping[str, str] = template.get("metadata", {}).get("labels", {})
    return labels.get(keys.ROLE)


def _is_of_finisher(item: Object) -> bool:
    return _role(item) == finisher.ROLE


def _config_map(name: str, was: Object, now: Object) -> str | None:
    """Describe the effect of a changed ConfigMap with TF_CONFIG; None if the data is unchanged.

    All ConfigMaps of a run are immutable. The name of each other ConfigMap contains a digest of its content, so a
    change of the content creates a new ConfigMap.
    https://kubernetes.io/docs/concepts/configuration/configmap/#configmap-immutable
    """
    del name  # a run has a single ConfigMap with a fixed name
    return None if was["data"] == now["data"] else "running tasks keep their list of hosts"


# ValidateJobSpecUpdate in pkg/apis/batch/validation/validation.go of Kubernetes 1.31. The function also accepts a
# change of `completions` together with `parallelism`. But these fields are the size of the TensorFlow cluster, and
# running tasks cannot receive a new size.
_MUTABLE_IN_A_JOB: Final = frozenset(
    {
        "activeDeadlineSeconds",
        "backoffLimit",
        "maxFailedIndexes",
        "parallelism",
        "podReplacementPolicy",
        "suspend",
        "ttlSecondsAfterFinished",
    }
)


def _pod(name: str, was: Object, now: Object) -> str | None:
    """Describe the effect of a changed Pod; None if the spec is unchanged.

    Kubernetes accepts a new image (ValidatePodUpdate in pkg/apis/core/validation), and restarts the container.
    """
    return f"the Pod {name} cannot change without a restart" if was["spec"] != now["spec"] else None


def _job(name: str, was: Object, now: Object) -> str | None:
    field = next((field for field in _fields(was["spec"], now["spec"]) if field not in _MUTABLE_IN_A_JOB), None)
    return field and f"Kubernetes refuses to change the {field} of the Job {name}"


# Fields that the controller reads at each sync of the StatefulSet (pkg/controller/statefulset of Kubernetes).
_MUTABLE_IN_A_STATEFUL_SET: Final = frozenset(
    {"minReadySeconds", "persistentVolumeClaimRetentionPolicy", "revisionHistoryLimit"}
)


def _stateful_set(name: str, was: Object, now: Object) -> str | None:
    """Describe the effect of a changed StatefulSet; None if Kubernetes applies the change.

    A changed template changes the hash in the selector, and Kubernetes refuses to change the selector
    (`objects.pod_template_hash`). Kubernetes accepts a new number of replicas and a new update strategy. But the
    finisher sets the number of replicas to 0, and the update strategy has no effect on the pods of a run.
    """
    changed = set(_fields(was["spec"], now["spec"])) - _MUTABLE_IN_A_STATEFUL_SET
    if "template" in changed:
        return f"Kubernetes refuses to change the template of the StatefulSet {name}"
    return f"the pods of the StatefulSet {name} would stay unchanged" if changed else None


def _pod_group(name: str, was: Object, now: Object) -> str | None:
    """Describe the effect of a changed PodGroup; None if the PodGroup may change.

    The spec of a PodGroup of Kubernetes (`scheduling.k8s.io`) is immutable. A PodGroup of Volcano, for example, may
    change.
    """
    if not was["apiVersion"].startswith("scheduling.k8s.io/") or was["spec"] == now["spec"]:
        return None
    return f"Kubernetes refuses to change the spec of the PodGroup {name}"


def _claim(name: str, was: Object, now: Object) -> str | None:
    """Describe the effect of a changed PersistentVolumeClaim; None if Kubernetes applies the change.

    Kubernetes accepts only a larger size (ValidatePersistentVolumeClaimUpdate in pkg/apis/core/validation).
    """
    fields = set(_fields(was["spec"], now["spec"]))
    shrinks = quantity.parse(_size(now)) < quantity.parse(_size(was))
    return f"the claim {name} can only grow" if fields - {"resources"} or shrinks else None


def _priority_class(name: str, was: Object, now: Object) -> str | None:
    """Describe the effect of a changed PriorityClass; None if Kubernetes applies the change.

    The value and the preemption policy are immutable (ValidatePriorityClassUpdate in pkg/apis/scheduling/validation).
    """
    field = next((field for field in ("value", "preemptionPolicy") if was[field] != now[field]), None)
    return field and f"Kubernetes refuses to change the {field} of the PriorityClass {name}"


# For each kind: the part of the object that is immutable, and the fields of this part that are mutable nevertheless
# (Validate...Update in pkg/apis/*/validation of Kubernetes 1.31).
_MUTABLE_IN_OBJECTS: Final[Mapping[tuple[str, str], tuple[str, frozenset[str]]]] = {
    ("", "PersistentVolumeClaim"): ("spec", frozenset({"resources", "volumeAttributesClassName"})),
    ("", "Pod"): ("spec", frozenset()),
    ("apps", "StatefulSet"): (
        "spec",
        frozenset(
            {
                "minReadySeconds",
                "ordinals",
                "persistentVolumeClaimRetentionPolicy",
                "replicas",
                "revisionHistoryLimit",
                "template",
                "updateStrategy",
            }
        ),
    ),
    ("batch", "Job"): ("spec", _MUTABLE_IN_A_JOB),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ("roleRef", frozenset()),
    ("rbac.authorization.k8s.io", "RoleBinding"): ("roleRef", frozenset()),
}


def _entry_of_objects(was: Object, now: Object) -> str | None:
    """Describe the effect of a changed entry of `objects` in job.yaml; None if Kubernetes applies the change.

    The user writes such an entry, so the entry may be invalid. If the `spec` of the entry is a text, for example,
    return None.
    """
    kind, name = was["kind"], was["metadata"]["name"]
    if kind in ("ConfigMap", "Secret") and was.get("immutable") is True:
        field = next((field for field in _fields(was, now) if field != "metadata"), None)
        return field and f"the {kind} {name} is immutable, so Kubernetes refuses to change {field}"
    part, mutable = _MUTABLE_IN_OBJECTS.get((group(was), kind), ("", frozenset[str]()))
    before, after = was.get(part), now.get(part)
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return None
    field = next((field for field in _fields(before, after) if field not in mutable), None)
    return field and f"Kubernetes refuses to change the {field} of the {kind} {name}"


def _size(claim: Object) -> str:
    size: str = claim["spec"]["resources"]["requests"]["storage"]
    return size


def _fields(was: Object, now: Object) -> Iterator[str]:
    """Yield the names of the fields in which two objects differ."""
    return (field for field in {**was, **now} if was.get(field) != now.get(field))


def _operated(mutable: Sequence[str], name: str, was: Object, now: Object) -> str | None:
    """Describe the effect of a changed object of an operator, such as a TFJob; None if the operator applies the change.

    The parameter `mutable` lists the fields below `spec` whose changes the operator applies. If a different field
    changes, the operator refuses the change, or keeps the running pods.
    """
    fixed_before, fixed_after = was["spec"], now["spec"]
    for path in mutable:
        fixed_before, fixed_after = (data_path.without(spec, path.split(".")) for spec in (fixed_before, fixed_after))
    return f"the pods of the {was['kind']} {name} would stay unchanged" if fixed_before != fixed_after else None


_EFFECTS: Final[Mapping[tuple[str, str], Callable[[str, Object, Object], str | None]]] = {
    ("", "ConfigMap"): _config_map,
    ("batch", "Job"): _job,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("scheduling.k8s.io", "PodGroup"): _pod_group,
    ("scheduling.k8s.io", "PriorityClass"): _priority_class,
    ("apps", "StatefulSet"): _stateful_set,
    **{kind: partial(_operated, resource.free) for kind, resource in RESOURCES.items()},
}
"""Functions that describe the effect of a change, by API group and kind. Kubernetes applies changes of other kinds."""
