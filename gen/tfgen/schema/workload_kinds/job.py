"""Keys that a job with the workload kind Job cannot set, and properties of the objects of the job.

This workload kind runs each role as an Indexed Job of Kubernetes.
"""

from __future__ import annotations

from typing import Final

from tfgen.schema.workload_kinds.facts import Facts
from tfgen.schema.workload_kinds.shared import JOB_KEYS, WHOLE_BUDGET

FACTS: Final = Facts(
    unsupported_keys=(WHOLE_BUDGET,),
    controller_keys=JOB_KEYS,
    makes_object_per_role=True,
    has_pod_that_calls_api_server=True,
)
