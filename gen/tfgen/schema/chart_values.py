"""The values that only a chart has. A job says its name itself, so its file has no word for another.

Helm's own starter chart has both names, and its users look for them:
https://helm.sh/docs/chart_best_practices/conventions/. Which environment it is, a chart must be told where it is not
the same in all: where one says patches of its own. The file of its values does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.schema.file import Schema

_NAME_MAX: Final = 63
"""Characters of a label's value, and of a DNS label."""

ENVIRONMENT: Final = "environment"
"""The value that says the environment."""

_NAMES: Final[Mapping[str, Schema]] = {
    "nameOverride": {
        "description": "Name in place of the chart's, in the objects' names behind the release's, and in their labels.",
        "type": "string",
        "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$",
        "maxLength": _NAME_MAX,
        "default": "",
    },
    "fullnameOverride": {
        "description": "Name in place of both the release's and the chart's, with which the objects' names begin.",
        "type": "string",
        "pattern": "^([a-z]([-a-z0-9]*[a-z0-9])?)?$",
        "maxLength": _NAME_MAX,
        "default": "",
    },
}


def chart_values(environments: Sequence[str]) -> Mapping[str, Schema]:
    """The values that only a chart has, by their path. Each is empty where nobody sets it.

    Args:
        environments: those that the chart is told, as `told_environments` has them.
    """
    if not environments:
        return _NAMES
    environment = {
        "description": "Environment whose patches the objects have. Empty means those of the job itself.",
        "type": "string",
        "enum": ["", *environments],
        "default": "",
    }
    return {**_NAMES, ENVIRONMENT: environment}


def told_environments(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The environments of which a job's chart is told which it is: all of them, where one says patches of its own."""
    environments = spec.get("environments", {})
    return tuple(sorted(environments)) if any("patches" in one for one in environments.values()) else ()
