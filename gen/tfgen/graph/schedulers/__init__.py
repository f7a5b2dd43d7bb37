"""The supported gang schedulers.

Each module describes a scheduler: the object of the gang, such as a PodGroup, and the fields that assign a pod to the
gang.
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
    """Return the labels that select the queue of the workload object; empty without a gang.

    If the scheduler queues pods instead of workload objects, the result is empty as well.
    """
    return GANGS[structure.gang].object_labels() if structure.gang else {}
