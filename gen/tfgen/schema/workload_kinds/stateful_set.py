"""Properties of the objects of a job with the workload kind StatefulSet, the default.

This workload kind runs each role as a StatefulSet, or as an Indexed Job if the tasks of the role exit by themselves.
"""

from __future__ import annotations

from typing import Final

from tfgen.schema.workload_kinds.facts import Facts
from tfgen.schema.workload_kinds.shared import JOB_KEYS

FACTS: Final = Facts(
    controller_keys=("statefulset.kubernetes.io/", "apps.kubernetes.io/", "controller-revision-hash", *JOB_KEYS),
    makes_object_per_role=True,
    has_pod_that_calls_api_server=True,
)
