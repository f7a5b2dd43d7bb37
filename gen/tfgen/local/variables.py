"""Computes the environment variables of a task, as the kubelet does.

    variables(pod, {"mnist": {"cluster": "..."}}, {"TOKEN": "..."})
    # Variables({"TASK_INDEX": "1", "TF_CONFIG": '{"cluster":...', "TOKEN": "..."}, missing=())

Some values exist only in the cluster, for example in Secrets. The user can pass such values by the variable names.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import re
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from tfgen.errors import TfgenError
from tfgen.graph.cluster import CLUSTER, EVALUATOR_CLUSTER
from tfgen.graph.graph import Pod
from tfgen.kubernetes import quantity
from tfgen.kubernetes.pods import expand
from tfgen.record import Record

ConfigMaps: TypeAlias = Mapping[str, Mapping[str, str]]
"""The data of each ConfigMap of the job, by name of the ConfigMap."""

_ENTRY: Final = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]")


class Variables(Record):
    """The environment variables of a task.

    Attributes:
        values: the known values, by name of the variable.
        missing: the sources in words of the values that exist only in the cluster, by name of the variable. Example:
            {"TOKEN": "the key token of the Secret api"}.
    """

    values: Mapping[str, str]
    missing: Mapping[str, str]


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
    values, missing = dict(user_values), {}
    for source in pod.container.get("envFrom", ()):
        data = maps.get(source.get("configMapRef", {}).get("name"), {})
        values |= {f"{source.get('prefix', '')}{key}": value for key, value in data.items()}
    for variable in pod.container.get("env", ()):
        name, source = variable["name"], variable.get("valueFrom")
        if not source:
            values[name] = expand(variable.get("value", ""), values)
            continue
        value = _value(pod, source, maps)
        if value is not None:
            values[name] = value
        elif name not in user_values and not any(reference.get("optional", False) for reference in source.values()):
            ((kind, reference),) = source.items()
            noun = {"secretKeyRef": "Secret", "configMapKeyRef": "ConfigMap"}.get(kind, kind)
            missing[name] = f"the key {reference.get('key')} of the {noun} {reference.get('name')}"
    return Variables(values, missing)


def unknown_sources(pod: Pod, maps: ConfigMaps) -> Iterator[str]:
    """Yield a text such as "Secret api" for each ConfigMap or Secret in `envFrom` that exists only in the cluster."""
    for source in pod.container.get("envFrom", ()):
        for kind, noun in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            name = source.get(kind, {}).get("name")
            if name and not (kind == "configMapRef" and name in maps):
                yield f"{noun} {name}"


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


_LOOPBACK: Final = "127.0.0.1"
_PORTS: Final = range(20_000, 32_000)
"""Ports for the tasks, below the ports for outgoing connections (from 32768 on Linux, from 49152 on other systems).

Therefore, no outgoing connection can take a free port before the task listens on the port.
"""
_ADDRESS: Final = re.compile(r"[\w.-]+:\d+")


def loopback(maps: ConfigMaps) -> dict[str, str]:
    """Return a local address for each host in the job's ConfigMaps; empty without a TensorFlow cluster.

    Example: {"mnist-worker-0.mnist:2222": "127.0.0.1:21345"}.

    Raises:
        TfgenError: not enough consecutive ports are free.
    """
    hosts = dict.fromkeys(
        host
        for data in maps.values()
        for key in (CLUSTER, EVALUATOR_CLUSTER)
        for role_hosts in json.loads(data.get(key, "{}")).values()
        for host in role_hosts
    )
    return dict(zip(hosts, (f"{_LOOPBACK}:{port}" for port in _free_ports(len(hosts))), strict=True))


def replace_addresses(text: str, local: Mapping[str, str]) -> str:
    """Return a text with local addresses in place of the hosts. `local` has the local address of each host."""
    return _ADDRESS.sub(lambda match: local.get(match[0], match[0]), text) if local else text


def _free_ports(number: int) -> range:
    """Return `number` consecutive free ports.

    The first port is random, so that two simultaneous runs rarely use the same ports.
    """
    for _ in range(200):
        first = random.randrange(_PORTS.start, _PORTS.stop - number)  # noqa: S311 - no secret
        ports = range(first, first + number)
        if all(map(_is_free, ports)):
            return ports
    raise TfgenError(
        f"found no range of {number} free ports between {_PORTS.start} and {_PORTS.stop}; stop a program that uses "
        "these ports"
    )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # With this option, a port is free as soon as its server has ended. TensorFlow's servers set the option as well.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_LOOPBACK, port))
        except OSError:
            return False
        return True


def port_of(variables: Mapping[str, str]) -> int:
    """Return the port that a task, or the coordinator of keras.distribution, opens; 0 for a task without a cluster.

    >>> port_of({"TF_CONFIG": '{"cluster": {"ps": ["127.0.0.1:20001"]}, "task": {"type": "ps", "index": 0}}'})
    20001
    """
    try:
        config = json.loads(variables.get("TF_CONFIG", "{}"))
        task = config.get("task", {})
        hosts = config.get("cluster", {}).get(task.get("type"), ())
        address = hosts[task["index"]] if hosts else variables.get("KERAS_DISTRIBUTION_JOB_ADDRESSES", "").split(",")[0]
        return int(address.rpartition(":")[2] or 0)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # the job sets the variables itself
        return 0


def listening_ports() -> frozenset[int] | None:
    """Return the TCP ports at which a process of this machine listens; None on a system other than Linux."""
    ports = set()
    try:
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                _, local, _, state, *_ = line.split()
                if state == "0A":  # TCP_LISTEN in Linux' include/net/tcp_states.h
                    ports.add(int(local.rpartition(":")[2], 16))
    except OSError:
        return None
    return frozenset(ports)


VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
"""Environment variable that limits a process to the listed GPUs.

https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables
"""


def find_gpus() -> list[str]:
    """Return the indexes of the GPUs that this process may use; empty without NVIDIA's driver."""
    if VISIBLE in os.environ:
        # CUDA ignores the first invalid index, such as -1, and all later indexes.
        named = itertools.takewhile(lambda name: name and name != "-1", os.environ[VISIBLE].split(","))
        return [name.strip() for name in named]
    try:
        command = ("nvidia-smi", "--query-gpu=index", "--format=csv,noheader")
        listed = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return []
    return listed.stdout.split() if listed.returncode == 0 else []


def shares(numbers: Sequence[int], gpus: Sequence[str]) -> list[str]:
    """Return the GPU indexes for each task as text, such as "0,1". If the machine has too few GPUs, tasks share GPUs.

    Args:
        numbers: the number of GPUs that each task requests.
        gpus: the indexes of the GPUs of the machine.
    """
    turn = itertools.cycle(gpus)
    return [",".join(itertools.islice(turn, min(number, len(gpus)))) for number in numbers]
