"""The coscheduling plugin: https://scheduler-plugins.sigs.k8s.io/docs/plugins/coscheduling/.

A label of a pod names the PodGroup. The plugin usually runs in a second scheduler, whose name is in the plugin's chart
(manifests/install/charts/as-a-second-scheduler/values.yaml). If the plugin runs in the scheduler of the cluster, set
``gang.schedulerName: default-scheduler``. The plugin compares ``minResources`` with the free resources of the whole
cluster, and does not reserve the resources (pkg/coscheduling/core/core.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tfgen.graph.holes import Key, Node, if_set
from tfgen.graph.objects import names
from tfgen.graph.objects.values import value
from tfgen.graph.schedulers.gang import MIN_RESOURCES, Gang, GangBinding, min_members
from tfgen.job.training_job import Structure
from tfgen.kubernetes import keys


def _spec(structure: Structure) -> Mapping[Key, Node]:
    return {
        "minResources": MIN_RESOURCES,
        "minMember": min_members(structure),
        "scheduleTimeoutSeconds": if_set(value("gang.scheduleTimeoutSeconds")),
    }


def _task(_role: Node) -> GangBinding:
    return GangBinding(labels={keys.POD_GROUP: names.RUN})


GANG: Final = Gang(
    group="scheduling.x-k8s.io",
    version="v1alpha1",
    spec=_spec,
    task=_task,
    scheduler_name="scheduler-plugins-scheduler",
)
