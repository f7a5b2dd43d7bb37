"""Kueue: https://kueue.sigs.k8s.io/docs/tasks/run/jobs/.

No scheduler, but what lets a job start: it keeps an object suspended until all of its pods have room in a queue. An
object is its unit, so a gang must be one object; a pod's owner is what it looks at, so a Job's pods make no group of
their own (https://kueue.sigs.k8s.io/docs/tasks/run/plain_pods/). Nothing is suspended here: its webhook does that at
the creation, and a field that is not in git is put back by no GitOps tool.

An evaluator that is a Job of its own does not wait in the queue. What Kueue has admitted it starts again when it is
suspended (`startJob` in pkg/controller/jobframework/reconciler.go), so nothing could release an evaluator there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tfgen.graph.holes import Key, Node, if_set
from tfgen.graph.objects.values import value
from tfgen.graph.schedulers.gang import PRIORITY, QUEUE, REQUIRED_TOPOLOGY, Binding, Gang
from tfgen.kubernetes import keys

_TOPOLOGY: Final[Mapping[Key, Node]] = {
    keys.REQUIRED_TOPOLOGY: if_set(REQUIRED_TOPOLOGY),
    keys.PREFERRED_TOPOLOGY: if_set(value("gang.preferredTopology")),
}


def _task(_role: Node) -> Binding:
    return Binding(annotations=_TOPOLOGY)


GANG: Final = Gang(
    task=_task,
    workload_labels={keys.QUEUE: if_set(QUEUE), keys.QUEUE_PRIORITY: if_set(PRIORITY)},
)
