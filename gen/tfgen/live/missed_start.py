"""Detects a run that missed its start deadline. The finisher has released all tasks of such a run.

    missed_start(run, snapshot)  # End("NotStarted", at, "not started within 300 s: worker lacks 8 nvidia.com/gpu")

The finisher deletes the pods. tfgen reads the reason from the finisher's log and from the events of the pods, which
Kubernetes stores for an hour.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tfgen import data_path
from tfgen.kubernetes.keys import STARTED
from tfgen.kubernetes.object import Object, creation_time
from tfgen.kubernetes.pods import amount, pod_requests
from tfgen.live.run import DeclaredRun, End, Reason, Snapshot, end_of, event_reason, is_suspended
from tfgen.words import either

_DEADLINE: Final = re.compile(r"--start-deadline=(\d+)")
_MISSING: Final = re.compile(r"has not started within \d+ s, for want of (.*)")
_LACKING: Final = re.compile(r"Insufficient ([\w./-]*\w)")
_DELETION: Final = "skip schedule deleting pod"
"""First words of the scheduler's event for the deletion of a waiting pod (pkg/scheduler/schedule_one.go)."""


def end_of_run(run: DeclaredRun, snapshot: Snapshot) -> End | None:
    """Return the end of a run; None while the run continues. A run that missed its start deadline has ended as well."""
    return end_of(snapshot.find(run.deciding_object)) or missed_start(run, snapshot)


def missed_start(run: DeclaredRun, snapshot: Snapshot) -> End | None:
    """Return the end of a run that missed its start deadline; None for any other run."""
    lead, finisher = snapshot.find(run.deciding_object), snapshot.find(run.finisher)
    if lead is None or not is_suspended(lead) or end_of(lead):
        return None
    containers = data_path.at(finisher, ("spec", "template", "spec", "containers")) or ()
    arguments = [argument for container in containers for argument in container.get("args") or ()]
    seconds = next((match[1] for match in map(_DEADLINE.fullmatch, arguments) if match), "")
    has_started = STARTED in (lead["metadata"].get("annotations") or {})
    end = end_of(finisher)
    if not seconds or has_started or end is None or end.result != "Succeeded" or end.at < creation_time(lead):
        return None
    reasons = "; ".join(_reasons(run, snapshot))
    return End("NotStarted", end.at, f"not started within {seconds} s{': ' * bool(reasons)}{reasons}")


def _reasons(run: DeclaredRun, snapshot: Snapshot) -> Iterator[str]:
    texts: list[str] = _MISSING.findall(snapshot.log_of_finisher(run))
    missing = {thing for text in texts for thing in text.strip().split(", ")}
    missing = {thing for thing in missing if thing.startswith(("statefulsets/", "jobs/"))}
    for role, controller in run.controllers.items():
        if missing and f"{controller[1].lower()}s/{controller[2]}" not in missing:
            continue
        item = snapshot.find(controller)
        warnings = _pod_warnings(snapshot, controller[2], creation_time(item) if item else "")
        warning = warnings[-1] if warnings else snapshot.warning_of(item)
        lacking = _lacking_resources(item, warnings)
        if lacking:
            yield f"{role} lacks {either(lacking, 'and')}"
        elif warning:
            yield f"{role}: {warning.word}: {warning.message}"
        elif missing:
            yield f"some pods of {role} were not ready"


def _pod_warnings(snapshot: Snapshot, controller: str, since: str) -> list[Reason]:
    """Return the last warning of each pod of a controller.

    `controller` is the name of the controller. Events before the time `since` are left out. Warnings about the deletion
    of a pod are also left out, because they do not have the reason why the pod waited.
    """
    name = re.compile(rf"{re.escape(controller)}-\d+(-\w+)?")
    warnings: dict[str, Reason] = {}
    for event in snapshot.warnings:
        subject, warning = event["involvedObject"], event_reason(event)
        is_new = creation_time(event) >= since and not warning.message.startswith(_DELETION)
        if is_new and subject.get("kind") == "Pod" and name.fullmatch(subject.get("name", "")):
            warnings[subject["name"]] = warning
    return [*warnings.values()]


def _lacking_resources(controller: Object | None, warnings: Sequence[Reason]) -> list[str]:
    """Return the resources that the nodes lack for the pods of a controller, as texts such as "8 nvidia.com/gpu".

    Args:
        controller: object that creates the pods; None if the cluster does not have the object.
        warnings: last warning of each pod.
    """
    messages = [warning.message for warning in warnings if warning.word == "FailedScheduling"]
    lacking = [resource for message in messages for resource in dict.fromkeys(_LACKING.findall(message))]
    requests = pod_requests(data_path.at(controller, ("spec", "template", "spec")) or {})
    amounts = {name: requests[name] * lacking.count(name) for name in lacking if name in requests}
    return [f"{amount(name, total)} {name}" for name, total in amounts.items()]
