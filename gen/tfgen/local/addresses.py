"""Gives each host of the TensorFlow cluster a local address, which is a free port of the loopback interface.

If a program never reads TF_CONFIG, its tasks open no server at their addresses in TF_CONFIG, and train alone. tfgen
recognizes such a program by the ports at which processes listen.

local = loopback({"mnist": {"cluster": '{"worker":["mnist-worker-0.mnist:2222"]}'}})
replace_addresses("mnist-worker-0.mnist:2222", local)  # "127.0.0.1:21345"
"""

from __future__ import annotations

import json
import random
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tfgen.errors import TfgenError
from tfgen.graph.objects.cluster import CLUSTER, EVALUATOR_CLUSTER
from tfgen.local.variables import ConfigMaps

_LOOPBACK: Final = "127.0.0.1"
_PORTS: Final = range(20_000, 32_000)
"""Ports for the tasks, below the ports for outgoing connections (from 32768 on Linux, from 49152 on other systems).

Therefore, no outgoing connection can take a free port before the task listens on the port.
"""
_TRIES: Final = 200
_ADDRESS: Final = re.compile(r"[\w.-]+:\d+")
_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTENS: Final = "0A"
"""The state TCP_LISTEN in Linux' include/net/tcp_states.h."""


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
    for _ in range(_TRIES):
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
        for table in _TABLES:
            for line in table.read_text(encoding="ascii").splitlines()[1:]:
                _, local, _, state, *_ = line.split()
                if state == _LISTENS:
                    ports.add(int(local.rpartition(":")[2], 16))
    except OSError:
        return None
    return frozenset(ports)
