"""The workload kinds, such as StatefulSet and JobSet.

A `Workload` describes the objects of a kind. `tfgen.schema.kinds` lists the fields that a kind does not
support.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tfgen.graph.workloads import elastic_dl, indexed_job, job_set, single_pod, stateful_set, tf_job, volcano_job
from tfgen.graph.workloads.workload import Workload
from tfgen.schema.kinds import WorkloadKind

WORKLOADS: Final[Mapping[WorkloadKind, Workload]] = {
    "StatefulSet": stateful_set.WORKLOAD,
    "Job": indexed_job.WORKLOAD,
    "TFJob": tf_job.WORKLOAD,
    "VolcanoJob": volcano_job.WORKLOAD,
    "JobSet": job_set.WORKLOAD,
    "Pod": single_pod.WORKLOAD,
    "ElasticDL": elastic_dl.WORKLOAD,
}
