"""Kueue: https://kueue.sigs.k8s.io/docs/tasks/run/jobs/.

Kueue is not a scheduler. Kueue suspends a workload object until its queue has room for all pods of the object. So all
pods of a gang must belong to a single object. The pods of several Jobs cannot form a group, because Kueue queues a Job
and not its pods (https://kueue.sigs.k8s.io/docs/tasks/run/plain_pods/). The webhook of Kueue suspends the object at its
creation. tfgen does not set the field ``suspend``, so a GitOps tool does not revert the change that Kueue makes.

The separate Job of an evaluator has no queue label. With a queue label, Kueue would resume this Job after the finisher
suspends the Job to release the evaluator (`startJob` in pkg/controller/jobframework/reconciler.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tfgen.graph.holes import Key, Node, if_set
from tfgen.graph.objects.values import value
from tfgen.graph.schedulers.gang import PRIORITY, QUEUE, REQUIRED_TOPOLOGY, Gang, GangBinding
from tfgen.kubernetes import keys

_TOPOLOGY: Final[Mapping[Key, Node]] = {
    keys.REQUIRED_TOPOLOGY: if_set(REQUIRED_TOPOLOGY),
    keys.PREFERRED_TOPOLOGY: if_set(value("gang.preferredTopology")),
}


def _task(_role: Node) -> GangBinding:
    return GangBinding(annotations=_TOPOLOGY)


GANG: Final = Gang(
    task=_task,
    workload_labels={keys.QUEUE: if_set(QUEUE), keys.QUEUE_PRIORITY: if_set(PRIORITY)},
)
