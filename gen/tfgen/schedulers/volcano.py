"""Volcano: https://volcano.sh/en/docs/podgroup/.

Its scheduler groups by the annotation ``scheduling.k8s.io/group-name`` alone (pkg/scheduler/api/job_info.go); one
named ``scheduling.volcano.sh/group-name`` is read for nothing of the kind.
"""

from __future__ import annotations

from typing import Final

from tfgen.schedulers.gang import Gang

GANG: Final = Gang(
    api_version="scheduling.volcano.sh/v1beta1",
    scheduler_name="volcano",
    task_annotation="volcano.sh/task-spec",
    queue_annotation="scheduling.volcano.sh/queue-name",
    has_min_resources=True,
)
