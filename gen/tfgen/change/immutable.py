"""What Kubernetes refuses to change in a job's objects, or accepts and no running pod would ever see.

find_losses(before, after)
    ->  {"new-run": Loss("the pods of the StatefulSet mnist-ps would stay as they are", {...}, {...})}
"""

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
    CLAIM_CHANGE: "A claim that is made would change in more than its size, or become smaller.",
    NEW_RUN: "A run that is committed would change in what Kubernetes or its tasks cannot change while it lasts.",
    OBJECT_CHANGE: "An object that stands in the job would change in what Kubernetes never changes.",
    PRIORITY_CLASS_CHANGE: "A priority class that is made would change in what Kubernetes never changes.",
}
"""What each rule says; it begins the rule's section of docs/rules.md."""


class Loss(Record):
    """A change that Kubernetes refuses, or that reaches no running pod.

    Attributes:
        why: what happens instead.
        before: the object that is there; None where the change makes it.
        after: what it would become; None where it would go.
    """

    why: str
    before: Object | None
    after: Object | None


def find_losses(before: Iterable[Object], after: Iterable[Object]) -> dict[str, Loss]:
    """Return the rules that a change of objects breaks, each with the first object that breaks the rule.

    The finisher comes last, because a user knows the tasks better. A new or removed object breaks a rule only if the
    object makes tasks.
    """
    was, now = _by_name(before), _by_name(after)
    losses: dict[str, Loss] = {}
    objects = {**was, **now}
    for key in sorted(objects, key=lambda key: _is_of_finisher(objects[key])):
        _, kind, name = key
        one = was.get(key) or now[key]
        is_literal = literal_name(one) is not None
        if key in was and key in now:
            why = _why(was[key], now[key])
        elif not is_literal and _is_task(one):
            why = f"the {kind} {name} would {'go' if key in was else 'come'} while its run lasts"
        else:
            why = None
        if why:
            rule = OBJECT_CHANGE if is_literal else _RULE.get(kind, NEW_RUN)
            losses.setdefault(rule, Loss(why, was.get(key), now.get(key)))
    return losses


def _why(was: Object, now: Object) -> str | None:
    """Why an object cannot become another; None where it can."""
    if literal_name(was) is not None:
        return _literal(was, now)
    keeps = _KEPT.get((group(was), was["kind"]))
    return keeps(was["metadata"]["name"], was, now) if keeps else None


_RULE: Final = {"PersistentVolumeClaim": CLAIM_CHANGE, "PriorityClass": PRIORITY_CLASS_CHANGE}


def _by_name(objects: Iterable[Object]) -> dict[tuple[str, str, str], Object]:
    return {identity(item): item for item in objects}


def _is_task(item: Object) -> bool:
    """Whether an object makes the tasks of a role. The finisher does not, and may come and go."""
    if (group(item), item["kind"]) in RESOURCES:
        return True
    return _role(item) in get_args(RoleName)


def _role(item: Object) -> str | None:
    """Return the role of the pods that an object makes."""
    template = item if item["kind"] == "Pod" else item.get("spec", {}).get("template", {})
    labels: Mapping[str, str] = template.get("metadata", {}).get("labels", {})
    return labels.get(keys.ROLE)


def _is_of_finisher(item: Object) -> bool:
    return _role(item) == finisher.ROLE


def _config_map(name: str, was: Object, now: Object) -> str | None:
    """All ConfigMaps are immutable, and the others are named after their content.

    https://kubernetes.io/docs/concepts/configuration/configmap/#configmap-immutable
    """
    del name  # there is one in a run
    return None if was["data"] == now["data"] else "the tasks of a run keep their TF_CONFIG"


# ValidateJobSpecUpdate in pkg/apis/batch/validation/validation.go of Kubernetes 1.31. It lets `completions` change
# too, together with `parallelism`; but that is the size of the cluster, which the tasks that run cannot learn.
_FREE_IN_A_JOB: Final = frozenset(
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
    """Kubernetes takes another image (ValidatePodUpdate in pkg/apis/core/validation), and kills the task for it."""
    return f"the Pod {name} cannot change without starting anew" if was["spec"] != now["spec"] else None


def _job(name: str, was: Object, now: Object) -> str | None:
    field = next((field for field in _fields(was["spec"], now["spec"]) if field not in _FREE_IN_A_JOB), None)
    return field and f"Kubernetes refuses another {field} for the Job {name}"


# What the controller reads anew each time that it looks at the StatefulSet (pkg/controller/statefulset of Kubernetes).
_HEEDED_IN_A_STATEFUL_SET: Final = frozenset(
    {"minReadySeconds", "persistentVolumeClaimRetentionPolicy", "revisionHistoryLimit"}
)


def _stateful_set(name: str, was: Object, now: Object) -> str | None:
    """Another template has another hash in the selector, which Kubernetes refuses (`objects.pod_template_hash`).

    It accepts another size, which is no matter of git while the finisher may scale to 0, and another way to update
    pods, which none of the run's is made by.
    """
    changed = set(_fields(was["spec"], now["spec"])) - _HEEDED_IN_A_STATEFUL_SET
    if "template" in changed:
        return f"Kubernetes refuses another template for the StatefulSet {name}"
    return f"the pods of the StatefulSet {name} would stay as they are" if changed else None


def _pod_group(name: str, was: Object, now: Object) -> str | None:
    """Kubernetes' own cannot be changed; those of the other schedulers can."""
    if not was["apiVersion"].startswith("scheduling.k8s.io/") or was["spec"] == now["spec"]:
        return None
    return f"Kubernetes refuses another spec for the PodGroup {name}"


def _claim(name: str, was: Object, now: Object) -> str | None:
    """Kubernetes lets a claim grow, and no more (ValidatePersistentVolumeClaimUpdate in pkg/apis/core/validation)."""
    fields = set(_fields(was["spec"], now["spec"]))
    shrinks = quantity.parse(_size(now)) < quantity.parse(_size(was))
    return f"the claim {name} can only grow" if fields - {"resources"} or shrinks else None


def _priority_class(name: str, was: Object, now: Object) -> str | None:
    """Neither number nor policy ever changes (ValidatePriorityClassUpdate in pkg/apis/scheduling/validation)."""
    field = next((field for field in ("value", "preemptionPolicy") if was[field] != now[field]), None)
    return field and f"Kubernetes refuses another {field} for the PriorityClass {name}"


# Of a part of an object, the fields that Kubernetes lets change, where it keeps the others (Validate...Update in
# pkg/apis/*/validation of Kubernetes 1.31).
_FREE: Final[Mapping[tuple[str, str], tuple[str, frozenset[str]]]] = {
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
    ("batch", "Job"): ("spec", _FREE_IN_A_JOB),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ("roleRef", frozenset()),
    ("rbac.authorization.k8s.io", "RoleBinding"): ("roleRef", frozenset()),
}


def _literal(was: Object, now: Object) -> str | None:
    """What stands in the job as it is may have any shape; where it has none that Kubernetes knows, nothing is kept."""
    kind, name = was["kind"], was["metadata"]["name"]
    if kind in ("ConfigMap", "Secret") and was.get("immutable") is True:
        field = next((field for field in _fields(was, now) if field != "metadata"), None)
        return field and f"the {kind} {name} is immutable, so that Kubernetes refuses another {field}"
    part, free = _FREE.get((group(was), kind), ("", frozenset[str]()))
    before, after = was.get(part), now.get(part)
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return None
    field = next((field for field in _fields(before, after) if field not in free), None)
    return field and f"Kubernetes refuses another {field} for the {kind} {name}"


def _size(claim: Object) -> str:
    size: str = claim["spec"]["resources"]["requests"]["storage"]
    return size


def _fields(was: Object, now: Object) -> Iterator[str]:
    """The fields in which two objects differ."""
    return (field for field in {**was, **now} if was.get(field) != now.get(field))


def _operated(free: Sequence[str], name: str, was: Object, now: Object) -> str | None:
    """An operator heeds the changes of its `free` fields. It refuses all others, or replaces no pod for them."""
    fixed_before, fixed_after = was["spec"], now["spec"]
    for path in free:
        fixed_before, fixed_after = (data_path.without(spec, path.split(".")) for spec in (fixed_before, fixed_after))
    return f"the pods of the {was['kind']} {name} would stay as they are" if fixed_before != fixed_after else None


_KEPT: Final[Mapping[tuple[str, str], Callable[[str, Object, Object], str | None]]] = {
    ("", "ConfigMap"): _config_map,
    ("batch", "Job"): _job,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("scheduling.k8s.io", "PodGroup"): _pod_group,
    ("scheduling.k8s.io", "PriorityClass"): _priority_class,
    ("apps", "StatefulSet"): _stateful_set,
    **{kind: partial(_operated, resource.free) for kind, resource in RESOURCES.items()},
}
"""By group and kind: why an object cannot become another, or None where it can. Of all other kinds it can."""
