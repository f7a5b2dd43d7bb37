"""The keys and the values of job.yaml that a workload kind, such as TFJob, does not support.

    >>> lacking({"workload": {"kind": "Job"}}, ("podDisruptionBudget", "maxUnavailable"))
    'maxUnavailable needs a controller with the subresource scale; remove the key, or use the kind StatefulSet'

The rule `workload-kind` (`rules.workload_kind`) refuses an unsupported field, and the chart has no value for the
field (`tunables`). Every kind supports all remaining fields. A path starts in the spec, may contain ``*`` for any
key, and includes all paths below this path. The objects of each kind are in `graph.workloads`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from tfgen import data_path
from tfgen.schema import file as schema_file
from tfgen.schema.workload_kinds import elastic_dl, job, job_set, pod, stateful_set, tf_job, volcano_job
from tfgen.schema.workload_kinds.facts import Condition, CustomResource, Facts, LimitedKey, UnsupportedKey, WorkloadKind

WORKLOAD_KINDS: Final[tuple[WorkloadKind, ...]] = get_args(WorkloadKind)

FACTS: Final[Mapping[WorkloadKind, Facts]] = {
    "StatefulSet": stateful_set.FACTS,
    "Job": job.FACTS,
    "TFJob": tf_job.FACTS,
    "VolcanoJob": volcano_job.FACTS,
    "JobSet": job_set.FACTS,
    "Pod": pod.FACTS,
    "ElasticDL": elastic_dl.FACTS,
}

RESOURCES: Final[Mapping[tuple[str, str], CustomResource]] = {
    (facts.resource.group, facts.resource.kind): facts.resource for facts in FACTS.values() if facts.resource
}
"""The custom resources by API group and kind, such as ``("kubeflow.org", "TFJob")``."""


def of_spec(spec: Mapping[str, Any]) -> WorkloadKind:
    """Return the workload kind of a spec."""
    kind: WorkloadKind = value_of(spec, "workload.kind")
    return kind


def value_of(spec: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path of a spec. For a missing value, return the default of the schema.

    Without a default, return None.
    """
    value = data_path.at(spec, path.split("."))
    return _default(path) if value is None else value


@functools.cache
def _default(path: str) -> Any:
    node = schema_file.node(schema_file.load(), ("spec", *path.split(".")))
    return node.get("default") if node else None


def unsupported_keys(spec: Mapping[str, Any]) -> Iterator[UnsupportedKey]:
    """Yield the keys that a job with this spec cannot set, because the workload kind does not support the keys."""
    kind = of_spec(spec)
    yield from _owned_by_others(kind)
    yield from (key for key in FACTS[kind].unsupported_keys if _holds(spec, key.when))


@functools.cache
def _owned_by_others(kind: WorkloadKind) -> tuple[UnsupportedKey, ...]:
    return tuple(
        UnsupportedKey(
            path, f"only {' and '.join(owners)} {'support' if len(owners) > 1 else 'supports'} this key; remove the key"
        )
        for path, owners in _owners().items()
        if kind not in owners
    )


def limited_keys(spec: Mapping[str, Any]) -> Iterator[LimitedKey]:
    """Yield each key, such as `strategy`, for which the workload kind of a job supports only some values."""
    yield from (key for key in FACTS[of_spec(spec)].limited_keys if _holds(spec, key.when))


def lacking(spec: Mapping[str, Any], path: Sequence[str | int]) -> str:
    """Return the reason why the workload kind does not support the key at `path`, and the fix; empty if supported."""
    return next((key.why for key in unsupported_keys(spec) if covers(key.path.split("."), path)), "")


def _holds(spec: Mapping[str, Any], when: Condition) -> bool:
    if when is None:
        return True
    path, required_value = when
    value = value_of(spec, path)
    return value is not None if required_value == "*" else value == required_value


def covers(steps: Sequence[str], path: Sequence[str | int]) -> bool:
    """Test whether the pattern `steps` matches `path` or a parent of `path`. The step ``*`` matches any key."""
    return len(steps) <= len(path) and all(step in ("*", key) for step, key in zip(steps, path, strict=False))


@functools.cache
def _owners() -> Mapping[str, tuple[WorkloadKind, ...]]:
    """Return the workload kinds that support each key, for the keys that only some workload kinds support.

    Example: ``{"workload.tfJob": ("TFJob",), ...}``.
    """
    paths = dict.fromkeys(path for facts in FACTS.values() for path in facts.supported_by_few)
    return {path: tuple(kind for kind, facts in FACTS.items() if path in facts.supported_by_few) for path in paths}
