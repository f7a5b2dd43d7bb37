"""The inventory of a job: a ConfigMap that lists the objects of the last apply."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from tfgen import data_path
from tfgen.commands.target import MANAGER, Target, apply_object, delete_object, find_object
from tfgen.kubernetes import keys
from tfgen.live.wanted_run import Identity

_KEY: Final = "objects"


def read_inventory(target: Target) -> list[Identity]:
    """Return the objects of the last apply.

    Raises:
        ApiError: the account may not read the ConfigMap.
        TfgenError: the server does not answer in time.
    """
    live = find_object(target, _identity(target))
    listed: list[list[str]] = json.loads(data_path.at(live, ("data", _KEY)) or "[]") if live else []
    return [(version, kind, name) for version, kind, name in listed]


def write_inventory(target: Target, identities: Iterable[Identity]) -> None:
    """Write the objects of an apply.

    Raises:
        ApiError: the account may not write the ConfigMap.
        TfgenError: the server does not answer in time.
    """
    version, kind, name = _identity(target)
    item = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "labels": {keys.NAME: target.job, keys.MANAGED_BY: MANAGER}},
        "data": {_KEY: json.dumps([list(item) for item in identities])},
    }
    apply_object(target, item, is_trial=False)


def delete_inventory(target: Target) -> None:
    """Delete the ConfigMap.

    Raises:
        ApiError: the account may not delete the ConfigMap.
        TfgenError: the server does not answer in time.
    """
    delete_object(target, _identity(target))


def _identity(target: Target) -> Identity:
    return "v1", "ConfigMap", f"{target.job}.tfgen"  # no name of a job has a dot
