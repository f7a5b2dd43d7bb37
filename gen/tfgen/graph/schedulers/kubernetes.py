"""Gang scheduling of Kubernetes: https://kubernetes.io/docs/concepts/scheduling-eviction/gang-scheduling/.

The API is an alpha API of Kubernetes 1.36 (``scheduling.k8s.io/v1alpha2``, which 1.37 does not serve) and a beta API of
1.37 (``v1beta1``). The rule ``gang-alpha`` names the feature gates. Both versions define the fields that this
module sets: types.go of https://github.com/kubernetes/api/tree/v0.36.3/scheduling/v1alpha2 and
.../tree/v0.37.2/scheduling/v1beta1. A PodGroup of v1alpha2 is immutable. A PodGroup of v1beta1 is immutable except for
``minCount``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tfgen.graph.holes import Default, Key, Node, When, if_set
from tfgen.graph.objects import names
from tfgen.graph.objects.values import value
from tfgen.graph.schedulers.gang import PRIORITY, REQUIRED_TOPOLOGY, Gang, GangBinding, min_members
from tfgen.job.training_job import Structure

_VERSION: Final = "v1alpha2"


def _spec(structure: Structure) -> Mapping[Key, Node]:
    return {
        "schedulingPolicy": {"gang": {"minCount": min_members(structure)}},
        "schedulingConstraints": When(REQUIRED_TOPOLOGY, {"topology": [{"key": REQUIRED_TOPOLOGY}]}),
        "priorityClassName": if_set(PRIORITY),
    }


def _task(_role: Node) -> GangBinding:
    return GangBinding(spec={"schedulingGroup": {"podGroupName": names.RUN}})


GANG: Final = Gang(
    group="scheduling.k8s.io",
    version=Default(value("gang.apiVersion"), _VERSION),
    spec=_spec,
    task=_task,
)
