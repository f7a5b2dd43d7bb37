"""The priority classes that a job makes: each by the name that job.yaml gives it.

A class belongs to the whole cluster and other things name it, so it has neither the release's name nor the run's; two
jobs, or two environments in one cluster, that make the same one collide.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from tfgen.graph.holes import Bound, Default, ForEach, if_set
from tfgen.graph.objects import labels
from tfgen.graph.objects.values import value
from tfgen.kubernetes import keys

_CLASS: Final = "class"


@cache
def priority_classes() -> ForEach:
    """The classes, by name."""
    return ForEach(
        value("priorityClasses"),
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": labels.metadata(Bound("name"), annotations=keys.BEFORE_PODS),
            "value": Bound(_CLASS, "integer", "value"),
            "description": if_set(Bound(_CLASS, "string", "description")),
            "preemptionPolicy": Default(Bound(_CLASS, "string", "preemptionPolicy"), "PreemptLowerPriority"),
            "globalDefault": False,
        },
        item=_CLASS,
    )
