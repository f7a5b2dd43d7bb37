"""The gang schedulers: one module each, and the table of them.

A scheduler is what it puts into the graph: the object that is the gang, and what binds a pod to it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tfgen.graph.holes import Key, Node
from tfgen.graph.schedulers import coscheduling, kube_batch, kubernetes, kueue, volcano
from tfgen.graph.schedulers.gang import Gang
from tfgen.job.training_job import Scheduler, Structure

GANGS: dict[Scheduler, Gang] = {
    "volcano": volcano.GANG,
    "kube-batch": kube_batch.GANG,
    "coscheduling": coscheduling.GANG,
    "kubernetes": kubernetes.GANG,
    "kueue": kueue.GANG,
}


def queue_labels(structure: Structure) -> Mapping[Key, Node]:
    """The labels by which the one object that is the whole gang waits in its queue, where the scheduler has such."""
    return GANGS[structure.gang].object_labels() if structure.gang else {}
