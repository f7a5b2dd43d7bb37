"""The priority classes of a job. The job file sets the names of the classes.

A priority class belongs to the whole cluster, and other objects refer to the class by its name. So the name contains
neither the Helm release nor the run, and two jobs or environments in a cluster must not create the same class.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from tfgen.graph.holes import Bound, Default, ForEach, if_set
from tfgen.graph.objects import labels
from tfgen.graph.objects.values import value

_CLASS: Final = "class"


@cache
def priority_classes() -> ForEach:
    """Return the PriorityClass objects that the job file defines, in the order of their names."""
    return ForEach(
        value("priorityClasses"),
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": labels.metadata(Bound("name"), annotations=labels.BEFORE_PODS),
            "value": Bound(_CLASS, "integer", "value"),
            "description": if_set(Bound(_CLASS, "string", "description")),
            "preemptionPolicy": Default(Bound(_CLASS, "string", "preemptionPolicy"), "PreemptLowerPriority"),
            "globalDefault": False,
        },
        item=_CLASS,
    )
