"""The values that only a chart has: a job says its name itself, so its file has no word for another.

Helm's own starter chart has both, and its users look for them: https://helm.sh/docs/chart_best_practices/conventions/.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tfgen.schema.file import Schema

_NAME_MAX: Final = 63
"""Characters of a label's value, and of a DNS label."""

CHART_VALUES: Final[Mapping[str, Schema]] = {
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
"""By their path. Each is empty where nobody sets it."""
