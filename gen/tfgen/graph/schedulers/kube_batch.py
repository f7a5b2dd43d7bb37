"""kube-batch: https://github.com/kubernetes-retired/kube-batch, the predecessor of Volcano.

The API version of kube-batch's PodGroup is ``scheduling.incubator.k8s.io/v1alpha1`` (deployment/kube-batch/templates in
the repository of kube-batch).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tfgen.graph.holes import Key, Node, if_set
from tfgen.graph.objects import names
from tfgen.graph.schedulers.gang import PRIORITY, QUEUE, Gang, GangBinding, min_members
from tfgen.job.training_job import Structure
from tfgen.kubernetes import keys


def _spec(structure: Structure) -> Mapping[Key, Node]:
    return {"minMember": min_members(structure), "queue": if_set(QUEUE), "priorityClassName": if_set(PRIORITY)}


def _task(_role: Node) -> GangBinding:
    return GangBinding(annotations={keys.GROUP_NAME: names.RUN})


GANG: Final = Gang(
    group="scheduling.incubator.k8s.io",
    version="v1alpha1",
    spec=_spec,
    task=_task,
    scheduler_name="kube-batch",
)
