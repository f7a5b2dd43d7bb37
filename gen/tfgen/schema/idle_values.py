"""Finds idle values. An idle value has no effect, because no object of the job depends on the value.

    >>> [idle.path for idle in idle_values({"roles": {"worker": {}}, "completion": {"release": "Keep"}})]
    ['completion.evaluatorGrace', 'completion.onFailure']

A job may set an idle value, because layers set the same defaults for all jobs. A rule warns of idle values
(the rule `idle-value`). A gang value that the scheduler does not support is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from tfgen.record import Record
from tfgen.schema import workload_kinds as kinds
from tfgen.schema.completion import ended_by, releases, serves
from tfgen.schema.gang_fields import FIELDS, Field


class IdleValue(Record):
    """The values path of a value without effect, and the reason why the value has no effect."""

    path: str
    why: str


def idle_values(spec: Mapping[str, Any]) -> Iterator[IdleValue]:
    """Yield each value that has no effect in a job, with the reason.

    Some of these values are also values that the workload kind does not support.
    """
    roles, kind = spec["roles"], kinds.of_spec(spec)
    if "evaluator" not in roles:
        yield IdleValue("completion.evaluatorGrace", "the job has no evaluator")
    elif not releases(spec):
        why = "completion.release is Keep, so the evaluator is not ended"
        yield IdleValue("completion.evaluatorGrace", why)
    ends = "chief" if ended_by(spec) == "Chief" else "worker"
    if not releases(spec):
        yield IdleValue("completion.onFailure", "completion.release is Keep, so no task is released")
    elif not roles.keys() - {ends} and "tensorboard" not in spec:
        yield IdleValue("completion.onFailure", "one Job runs all tasks, so no task remains after the end of the Job")
    if kind == "StatefulSet" and not any(serves(spec, role) for role in roles):  # only serving roles use it
        why = "every role runs as a Job, whose tasks may not be evicted"
        yield IdleValue("podDisruptionBudget.maxUnavailable", why)
    if not kinds.FACTS[kind].has_pod_that_calls_api_server:
        yield IdleValue("network.egress.apiServer", f"no pod of a {kind} sends requests to the API server")
    if "gang" in spec:
        yield from _idle_in_gang(spec)


def _idle_in_gang(spec: Mapping[str, Any]) -> Iterator[IdleValue]:
    scheduler = spec["gang"]["scheduler"]
    for field in get_args(Field):
        if field not in FIELDS[scheduler]:
            yield IdleValue(f"gang.{field}", f"the scheduler {scheduler} does not support {field}")
    if spec.get("strategy", "ParameterServer") != "ParameterServer":
        yield IdleValue("gang.minAvailable", "the job has only equal workers, which start together")
