"""The chart values without a key in the job file: nameOverride, fullnameOverride and the environment.

Helm's starter chart has nameOverride and fullnameOverride, and Helm users expect them:
https://helm.sh/docs/chart_best_practices/conventions/. A chart needs the name of its environment if the environments
have different patches. The values file of an environment sets the name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.schema.file import Schema

_NAME_MAX: Final = 63
"""Maximum number of characters of a label value and of a DNS label."""

ENVIRONMENT: Final = "environment"
"""The key of the chart value that contains the name of the environment."""

_NAMES: Final[Mapping[str, Schema]] = {
    "nameOverride": {
        "description": "Replaces the name of the chart in the names and labels of the objects.",
        "type": "string",
        "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$",
        "maxLength": _NAME_MAX,
        "default": "",
    },
    "fullnameOverride": {
        "description": "Replaces RELEASE-CHART at the start of the names of the objects.",
        "type": "string",
        "pattern": "^([a-z]([-a-z0-9]*[a-z0-9])?)?$",
        "maxLength": _NAME_MAX,
        "default": "",
    },
}


def chart_values(environments: Sequence[str]) -> Mapping[str, Schema]:
    """Return the schemas of the chart values that have no key in the job file, by the name of the value.

    Example: ``{"nameOverride": {"type": "string", "default": "", ...}, ...}``. Each value is empty by default.

    Args:
        environments: the result of `environments_if_patched`. If it is empty, the chart has no value `environment`.
    """
    if not environments:
        return _NAMES
    environment = {
        "description": (
            "Environment whose patches apply to the objects. Empty means that only the patches of the job apply."
        ),
        "type": "string",
        "enum": ["", *environments],
        "default": "",
    }
    return {**_NAMES, ENVIRONMENT: environment}


def environments_if_patched(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of all environments of a job if at least one environment sets `patches`, or else an empty tuple.

    Without `patches` in an environment, the objects of the chart do not depend on the name of the environment.
    """
    environments = spec.get("environments", {})
    return tuple(sorted(environments)) if any("patches" in environment for environment in environments.values()) else ()
