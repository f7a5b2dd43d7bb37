"""Read and write the inventory: a ConfigMap that lists the objects of the last `tfgen apply` for an environment."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from tfgen.commands.cluster.target import MANAGER, Target, apply_object, delete_object, find_object, name_of
from tfgen.errors import TfgenError
from tfgen.kubernetes import keys
from tfgen.live.declared_run import Identity

_KEY: Final = "objects"


def read_inventory(target: Target, environment: str | None) -> list[Identity]:
    """Return the objects of the last `tfgen apply` for an environment; empty if no inventory exists.

    Raises:
        ApiError: the user may not read the ConfigMap.
        TfgenError: the server does not answer in time, or the ConfigMap is not an inventory.
    """
    item = _identity(target, environment)
    live = find_object(target, item)
    if live is None:
        return []
    try:
        listed = json.loads(live["data"][_KEY])
        return [(str(version), str(kind), str(name)) for version, kind, name in listed]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise TfgenError(
            f"{name_of(item)} in {target.namespace} is not an inventory of tfgen; restore its key {_KEY}, or delete "
            "the ConfigMap"
        ) from error


def write_inventory(target: Target, identities: Iterable[Identity]) -> None:
    """Write the list of the applied objects to the inventory.

    Raises:
        ApiError: the user may not write the ConfigMap.
        TfgenError: the server does not answer in time.
    """
    version, kind, name = _identity(target, target.environment)
    item = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "labels": {keys.NAME: target.job, keys.MANAGED_BY: MANAGER}},
        "data": {_KEY: json.dumps([list(item) for item in identities])},
    }
    apply_object(target, item, is_dry_run=False)


def delete_inventory(target: Target) -> None:
    """Delete the inventory.

    Raises:
        ApiError: the user may not delete the ConfigMap.
        TfgenError: the server does not answer in time.
    """
    delete_object(target, _identity(target, target.environment))


def _identity(target: Target, environment: str | None) -> Identity:
    # The names of jobs and environments have no dot, so two environments never share a ConfigMap.
    return "v1", "ConfigMap", ".".join(filter(None, (target.job, environment, "tfgen")))
