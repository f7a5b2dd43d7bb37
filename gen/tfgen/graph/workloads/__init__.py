"""The workload kinds, such as StatefulSet and JobSet.

A `Workload` describes the objects of a kind. `tfgen.schema.kinds` lists the fields that a kind does not support.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tfgen.graph.workloads import elastic_dl, workload
from tfgen.graph.workloads.workload import Workload
from tfgen.schema.kinds import WorkloadKind

WORKLOADS: Final[Mapping[WorkloadKind, Workload]] = {
    "StatefulSet": workload.STATEFUL_SET,
    "Job": workload.INDEXED_JOB,
    "TFJob": workload.TF_JOB,
    "VolcanoJob": workload.VOLCANO_JOB,
    "JobSet": workload.JOB_SET,
    "Pod": workload.SINGLE_POD,
    "ElasticDL": elastic_dl.WORKLOAD,
}
