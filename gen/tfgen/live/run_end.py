"""Reads the end of a run from the object that decides when the run ends, such as the chief's Job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from tfgen import data_path
from tfgen.kubernetes.object import Object
from tfgen.record import Record
from tfgen.schema.workload_kinds import RESOURCES

Result: TypeAlias = Literal["Succeeded", "Failed", "NotStarted"]

_BY_CONDITION: Final[Mapping[str, Result]] = {
    "Complete": "Succeeded",  # a Job
    "Completed": "Succeeded",  # a JobSet
    "Succeeded": "Succeeded",  # a TFJob
    "Failed": "Failed",
}
_BY_PHASE: Final[Mapping[str, Result]] = {
    "Succeeded": "Succeeded",  # a Pod
    "Completed": "Succeeded",  # a Volcano Job, as are the phases that follow
    "Failed": "Failed",
    "Aborted": "Failed",
    "Terminated": "Failed",
}


class End(Record):
    """The end of a run, read from the status of an object in the cluster.

    Attributes:
        result: Succeeded, Failed, or NotStarted for a run that missed its start deadline.
        at: time at which the run ended, in Kubernetes' format; empty if the object has no such time.
        message: message in the object's status.
    """

    result: Result
    at: str
    message: str


def end_of(item: Object) -> End | None:
    """Return the end of a run from the status of the object that decides when the run ends; None before the end.

    The object is a Job, a Pod, a TFJob or a similar object.
    """
    status = item.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition.get("status") == "True" and condition["type"] in _BY_CONDITION:
            text = condition.get("message") or condition.get("reason", "")
            return End(_BY_CONDITION[condition["type"]], condition.get("lastTransitionTime", ""), text)
    state = status.get("state", {})
    phase: str = status.get("phase") or (state.get("phase") if isinstance(state, Mapping) else "") or ""
    if phase not in _BY_PHASE:
        return None
    return End(_BY_PHASE[phase], status.get("lastTransitionTime", ""), status.get("message", ""))


def is_suspended(item: Object) -> bool:
    """Test whether an object is suspended, by the author of the job, by a queue or by the finisher."""
    path = suspend_path(item["apiVersion"], item["kind"])
    return bool(path) and data_path.at(item, path) is True


def suspend_path(api_version: str, kind: str) -> tuple[str, ...]:
    """Return the path of the field that suspends objects of a kind; empty for a kind without such a field."""
    resource = RESOURCES.get((api_version.rpartition("/")[0], kind))
    if resource:
        return tuple(resource.suspend.split("/")[1:])
    return ("spec", "suspend") if (api_version, kind) == ("batch/v1", "Job") else ()
