"""Computes the environment variables of a task, as the kubelet does.

    variables(pod, {"mnist": {"cluster": "..."}}, {"TOKEN": "..."})
    # Variables({"TASK_INDEX": "1", "TF_CONFIG": '{"cluster":...', "TOKEN": "..."}, missing=())

Some values exist only in the cluster, for example in Secrets. The user can pass such values by the variable names.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from tfgen.graph.task_pods import Pod
from tfgen.kubernetes import quantity
from tfgen.kubernetes.pods import expand
from tfgen.record import Record

ConfigMaps: TypeAlias = Mapping[str, Mapping[str, str]]
"""The data of each ConfigMap of the job, by name of the ConfigMap."""

_ENTRY: Final = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]")


class MissingVariable(Record):
    """The name of a variable whose value exists only in the cluster, and the source of the value in words.

    Example: MissingVariable("TOKEN", "the key token of the Secret api").
    """

    name: str
    source: str


class Variables(Record):
    """The environment variables of a task: the known values by name, and the variables with a missing value.

    A missing value exists only in the cluster.
    """

    values: Mapping[str, str]
    missing: tuple[MissingVariable, ...]


def config_maps(objects: Any) -> ConfigMaps:
    """Return the data of each ConfigMap among the objects of a job, by name of the ConfigMap."""
    data = {item["metadata"]["name"]: item.get("data") for item in objects if item["kind"] == "ConfigMap"}
    return {name: texts if isinstance(texts, Mapping) else {} for name, texts in data.items()}


def variables(pod: Pod, maps: ConfigMaps, user_values: Mapping[str, str]) -> Variables:
    """Return the environment variables of a pod's training container.

    Args:
        pod: the pod of the task.
        maps: the ConfigMaps of the job.
        user_values: the values that the user passes, by name of the variable. A value that the container's `env` or
            `envFrom` sets has priority.
    """
    values = {**user_values, **dict(_from_config_maps(pod, maps))}
    missing = []
    for variable in pod.container.get("env", ()):
        name, source = variable["name"], variable.get("valueFrom")
        if not source:
            values[name] = expand(variable.get("value", ""), values)
            continue
        value = _value(pod, source, maps)
        if value is not None:
            values[name] = value
        elif name not in user_values and not _is_optional(source):
            missing.append(MissingVariable(name, _source_name(source)))
    return Variables(values, tuple(missing))


def unknown_sources(pod: Pod, maps: ConfigMaps) -> Iterator[str]:
    """Yield a text such as "Secret api" for each ConfigMap or Secret in `envFrom` that exists only in the cluster."""
    for source in pod.container.get("envFrom", ()):
        for kind, noun in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            name = source.get(kind, {}).get("name")
            if name and not (kind == "configMapRef" and name in maps):
                yield f"{noun} {name}"


def _from_config_maps(pod: Pod, maps: ConfigMaps) -> Iterator[tuple[str, str]]:
    for source in pod.container.get("envFrom", ()):
        for key, value in maps.get(source.get("configMapRef", {}).get("name"), {}).items():
            yield f"{source.get('prefix', '')}{key}", value


def _value(pod: Pod, source: Mapping[str, Any], maps: ConfigMaps) -> str | None:
    if "fieldRef" in source:
        return _field(pod, source["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in source:
        return _resource(pod, source["resourceFieldRef"])
    reference = source.get("configMapKeyRef", {})
    return maps.get(reference.get("name", ""), {}).get(reference.get("key", ""))


def _field(pod: Pod, path: str) -> str:
    """Return the value of the pod's field `path`, as the downward API does. The node of the pod is this machine.

    https://kubernetes.io/docs/concepts/workloads/pods/downward-api/#available-fields
    """
    entry = _ENTRY.fullmatch(path)
    if entry:
        return (pod.labels if entry[1] == "labels" else pod.annotations).get(entry[2], "")
    fields: dict[str, str] = {
        "metadata.name": pod.name,
        "metadata.namespace": pod.namespace,
        "metadata.uid": pod.name,
        "spec.nodeName": "localhost",
        "spec.serviceAccountName": pod.spec.get("serviceAccountName", "default"),
    }
    return fields.get(path, "127.0.0.1")  # status.podIP, status.hostIP and their lists


def _resource(pod: Pod, reference: Mapping[str, Any]) -> str:
    """Return the limit or request that a variable refers to, divided by the divisor and rounded up.

    `reference` is the field `resourceFieldRef` of the variable, such as {"resource": "limits.cpu", "divisor": "1m"}. A
    missing limit or request has the value of this machine: the number of CPUs, or the size of the memory.
    """
    side, _, resource = reference["resource"].partition(".")
    amounts: Mapping[str, str] = pod.container.get("resources", {}).get(side, {})
    amount = quantity.parse(amounts[resource]) if resource in amounts else _of_machine(resource)
    divisor = quantity.parse(reference.get("divisor", 0)) or 1
    return str(math.ceil(amount / divisor))


def _of_machine(resource: str) -> int:
    if resource == "cpu":
        return os.cpu_count() or 1
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if resource == "memory" else 0


def _is_optional(source: Mapping[str, Any]) -> bool:
    return any(reference.get("optional", False) for reference in source.values())


def _source_name(source: Mapping[str, Any]) -> str:
    ((kind, reference),) = source.items()
    noun = {"secretKeyRef": "Secret", "configMapKeyRef": "ConfigMap"}.get(kind, kind)
    return f"the key {reference.get('key')} of the {noun} {reference.get('name')}"
