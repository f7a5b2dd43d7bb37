"""Whether a run has ended, and how: judged by the one object whose end is the run's."""

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
    "Completed": "Succeeded",  # a Volcano Job, as the others below
    "Failed": "Failed",
    "Aborted": "Failed",
    "Terminated": "Failed",
}


class End(Record):
    """How a run ended.

    Attributes:
        at: when, as Kubernetes writes times; empty where the object does not say it.
        message: what the object says of it.
    """

    result: Result
    at: str
    message: str


def end_of(item: Object) -> End | None:
    """How the run ended whose last object this is: a Job, a Pod or an operator's; None while it goes on."""
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
    """Whether an object is held back: by its author, by a queue, or by a finisher that released it."""
    path = suspend_path(item["apiVersion"], item["kind"])
    return bool(path) and data_path.at(item, path) is True


def suspend_path(api_version: str, kind: str) -> tuple[str, ...]:
    """The field that holds an object of a kind back; empty where the kind has none."""
    own = RESOURCES.get((api_version.rpartition("/")[0], kind))
    if own:
        return tuple(own.suspend.split("/")[1:])
    return ("spec", "suspend") if (api_version, kind) == ("batch/v1", "Job") else ()
