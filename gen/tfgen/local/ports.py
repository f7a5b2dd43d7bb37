"""The ports at which the tasks listen, by which tfgen sees whether a program joins its TensorFlow cluster.

A program that never reads TF_CONFIG opens no server at its address in TF_CONFIG, and each of its tasks trains alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTENS: Final = "0A"
"""The state TCP_LISTEN in Linux' include/net/tcp_states.h."""


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
