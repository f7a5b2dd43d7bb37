"""The number of GPUs that a container requests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tfgen.graph.objects.resources import IS_GPU
from tfgen.kubernetes import quantity


def gpu_count(container: Mapping[str, Any]) -> int:
    """Return the number of GPUs that a container requests. A share of a GPU, or of its memory, counts as one GPU."""
    limits = container.get("resources", {}).get("limits", {})
    amounts = {name: quantity.parse(amount) for name, amount in limits.items() if re.search(IS_GPU, name)}
    gpus = sum(int(amount) for name, amount in amounts.items() if name.endswith("/gpu"))
    return gpus or int(any(amounts.values()))
