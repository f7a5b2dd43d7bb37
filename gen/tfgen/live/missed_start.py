"""Detects a run that missed its start deadline. The finisher has released all tasks of such a run.

    missed_start(run, snapshot)  # End("NotStarted", at, "not started within 300 s: worker lacks 8 nvidia.com/gpu")

The finisher deletes the pods. tfgen reads the reason from the finisher's log and from the events of the pods, which
Kubernetes stores for an hour.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.kubernetes.keys import STARTED
from tfgen.kubernetes.object import Object
from tfgen.kubernetes.pods import amount, pod_requests
from tfgen.live.run import DeclaredRun, End, Snapshot, end_of, is_suspended
from tfgen.words import either

_DEADLINE: Final = re.compile(r"--start-deadline=(\d+)")
_MISSING: Final = re.compile(r"has not started within \d+ s, for want of (.*)")
_RESOURCES: Final = {"statefulsets": "StatefulSet", "jobs": "Job"}
_UNSCHEDULABLE: Final = "FailedScheduling"
_LACKING: Final = re.compile(r"Insufficient ([\w./-]*\w)")
_DELETION: Final = "skip schedule deleting pod"
"""First words of the scheduler's event for the deletion of a waiting pod (pkg/scheduler/schedule_one.go)."""


def end_of_run(run: DeclaredRun, snapshot: Snapshot) -> End | None:
    """Return the end of a run; None while the run continues. A run that missed its start deadline has ended as well."""
    lead = snapshot.deciding_object_of(run)
    return (end_of(lead) if lead else None) or missed_start(run, snapshot)


def missed_start(run: DeclaredRun, snapshot: Snapshot) -> End | None:
    """Return the end of a run that missed its start deadline; None for any other run."""
    lead = snapshot.deciding_object_of(run)
    finisher = snapshot.objects.get(run.finisher) if run.finisher else None
    if lead is None or finisher is None or not is_suspended(lead) or end_of(lead):
        return None
    seconds = _deadline(finisher)
    end = end_of(finisher)
    created = lead["metadata"]["creationTimestamp"]
    has_started = STARTED in (lead["metadata"].get("annotations") or {})
    if not seconds or has_started or end is None or end.result != "Succeeded" or end.at < created:
        return None
    reasons = "; ".join(_reasons(run, snapshot))
    return End("NotStarted", end.at, f"not started within {seconds} s{': ' * bool(reasons)}{reasons}")


def _deadline(finisher: Object) -> str:
    """Return the start deadline in seconds, from the arguments of a finisher; empty without a deadline."""
    containers = data_path.at(finisher, ("spec", "template", "spec", "containers")) or ()
    arguments = [argument for container in containers for argument in container.get("args") or ()]
    return next((match[1] for match in map(_DEADLINE.fullmatch, arguments) if match), "")


def _reasons(run: DeclaredRun, snapshot: Snapshot) -> Iterator[str]:
    missing = _missing(run, snapshot)
    for role, controller in run.controllers.items():
        if missing and (controller[1], controller[2]) not in missing:
            continue
        item = snapshot.objects.get(controller)
        warnings = _pod_warnings(snapshot, controller[2], item["metadata"]["creationTimestamp"] if item else "")
        event = snapshot.warning_of(item) if item else None
        if warnings:
            yield _scheduling_reason(role, item, warnings) or _text(role, [*warnings.values()][-1])
        elif event:
            yield _text(role, event)
        elif missing:
            yield f"some pods of {role} were not ready"


def _missing(run: DeclaredRun, snapshot: Snapshot) -> set[tuple[str, str]]:
    """Return the kind and the name of each controller whose pods have not started, according to the finisher's log.

    Example: {("StatefulSet", "mnist-worker")}.
    """
    texts: list[str] = _MISSING.findall(snapshot.log_of_finisher(run))
    things = [thing.split("/") for text in texts for thing in text.strip().split(", ")]
    return {(_RESOURCES[thing[0]], thing[1]) for thing in things if thing[0] in _RESOURCES and len(thing) == 2}


def _pod_warnings(snapshot: Snapshot, controller: str, since: str) -> dict[str, Object]:
    """Return the last warning event of each pod of a controller, by name of the pod.

    `controller` is the name of the controller. Events before the time `since` are left out. Warnings about the deletion
    of a pod are also left out, because they do not have the reason why the pod waited.
    """
    name = re.compile(rf"{re.escape(controller)}-\d+(-\w+)?")
    warnings: dict[str, Object] = {}
    for event in snapshot.warnings:
        subject = event["involvedObject"]
        is_new = str(event["metadata"]["creationTimestamp"]) >= since
        if str(event.get("message")).startswith(_DELETION):
            continue
        if is_new and subject.get("kind") == "Pod" and name.fullmatch(subject.get("name", "")):
            warnings[subject["name"]] = event
    return warnings


def _scheduling_reason(role: str, controller: Object | None, warnings: Mapping[str, Object]) -> str:
    """Return a text such as "worker lacks 8 nvidia.com/gpu"; empty if the pods of the role lack no resource.

    Args:
        role: name of the role.
        controller: object that creates the pods of the role; None if the cluster does not have the object.
        warnings: last warning event of each pod, by name of the pod.
    """
    messages = [str(event.get("message")) for event in warnings.values() if event.get("reason") == _UNSCHEDULABLE]
    lacking = [resource for message in messages for resource in dict.fromkeys(_LACKING.findall(message))]
    spec: Mapping[str, Any] = data_path.at(controller or {}, ("spec", "template", "spec")) or {}
    requests = pod_requests(spec)
    amounts = {name: requests[name] * lacking.count(name) for name in lacking if name in requests}
    texts = [f"{amount(name, total)} {name}" for name, total in amounts.items()]
    return f"{role} lacks {either(texts, 'and')}" if texts else ""


def _text(role: str, event: Object) -> str:
    return f"{role}: {event.get('reason', 'Warning')}: {event.get('message', '')}"
